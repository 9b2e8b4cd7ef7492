package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func elementOf(key string) c4model.Element {
	return c4model.Element{Key: key, Name: key[strings.LastIndexByte(key, '.')+1:], Level: c4model.Container, Parent: key[:strings.LastIndexByte(key, '.')]}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	now, err := w.Events(ctx, w.c, memory.FromNow, 0)
	w.must(err)
	if len(now.Events) != 0 {
		t.Errorf("from now on there are %+v", now.Events)
	}
	a := w.remember(memory.RememberRequest{Content: "Carts expire after an hour."}).Memory
	b := w.remember(memory.RememberRequest{Content: "Carts never expire.", Scope: memory.Organization}).Memory
	mine := w.remember(memory.RememberRequest{Content: "I like carts.", Scope: memory.Personal}).Memory
	_, err = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: a.Handle, Holds: false, Note: "no"})
	w.must(err)
	got, err := w.Events(ctx, w.c, now.Position, 0)
	w.must(err)
	var lines []string
	for _, e := range got.Events {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", e.Verb, e.Memory, e.Scope, e.Author))
	}
	want := []string{"remember " + a.Handle + " project u1", "remember " + b.Handle + " organization u1", "remember " + mine.Handle + " personal u1", "dispute " + a.Handle + " project u1"}
	if len(lines) != len(want) {
		t.Fatalf("got %q, want %q", lines, want)
	}
	seen := map[string]bool{}
	for _, l := range lines {
		seen[l] = true
	}
	for _, l := range want {
		if !seen[l] {
			t.Errorf("%q lacks %q", lines, l)
		}
	}
	if strings.Contains(asJSON(t, got), "arts") {
		t.Errorf("events tell content: %s", asJSON(t, got))
	}

	// From any event on comes exactly what follows it.
	for i, e := range got.Events {
		rest, err := w.Events(ctx, w.c, e.ID, 0)
		w.must(err)
		if len(rest.Events) != len(got.Events)-i-1 || rest.Position != got.Position {
			t.Errorf("after event %d come %d", i, len(rest.Events))
		}
	}

	c := w.c
	c.User = "u2"
	others, err := w.Events(ctx, c, now.Position, 0)
	w.must(err)
	if strings.Contains(asJSON(t, others), mine.Handle) {
		t.Error("another user sees a personal event")
	}
	_, err = w.Events(ctx, w.c, "1000.0.0", 0)
	wants(t, err, problem.Conflict, "restore")
	for _, bad := range []string{"x", "1.2", "1.2.3.4", "-1.0.0", "9999999999999999999.0.0", "1.2.3 "} {
		_, err := w.Events(ctx, w.c, bad, 0)
		wants(t, err, problem.Invalid)
	}
}

// Readers that follow while several servers write, whose clocks disagree, see every event once and in one order.
func TestNoEventIsMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	start, err := w.Events(ctx, w.c, memory.FromNow, 0)
	w.must(err)
	const servers, each = 4, 12
	var writers sync.WaitGroup
	done := make(chan struct{})
	for n := range servers {
		s := memory.New(w.h.store, memory.Options{Now: func() time.Time { return time.Now().Add(time.Duration(n) * time.Hour) }})
		writers.Go(func() {
			for i := range each {
				scope := []memory.Scope{memory.Project, memory.Organization, memory.Personal}[i%3]
				if _, err := s.Remember(ctx, w.c, memory.RememberRequest{Content: fmt.Sprintf("Fact %d of server %d.", i, n), Scope: scope, Separate: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		writers.Wait()
		close(done)
	}()
	at, seen, last := start.Position, map[string]int{}, false
	for !last {
		select {
		case <-done:
			last = true // once more, for what was committed before
		default:
		}
		for {
			page, err := w.Events(ctx, w.c, at, 5)
			w.must(err)
			if len(page.Events) == 0 {
				break
			}
			for _, e := range page.Events {
				seen[e.Memory]++
			}
			at = page.Position
		}
	}
	if len(seen) != servers*each {
		t.Errorf("%d memories were seen, %d written", len(seen), servers*each)
	}
	for handle, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", handle, n)
		}
	}
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "Ships on Friday."}).Memory
	_, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "robot"})
	w.must(err)
	log, err := w.AuditLog(ctx, w.c, memory.AuditRequest{})
	w.must(err)
	verbs := map[memory.Verb]memory.AuditLine{}
	for _, l := range log.Lines {
		verbs[l.Verb] = l
	}
	for _, v := range []memory.Verb{memory.VerbCreateProject, memory.VerbImportModel, memory.VerbRemember, memory.VerbCreateToken} {
		if l, ok := verbs[v]; !ok || l.Author == "" || l.At.IsZero() {
			t.Errorf("%s: %+v", v, l)
		}
	}
	if verbs[memory.VerbRemember].Memory != m.Handle || verbs[memory.VerbCreateProject].Author != "operator" {
		t.Errorf("lines %+v", log.Lines)
	}
	if strings.Contains(asJSON(t, log), "Friday") {
		t.Error("the trail tells content")
	}
	// Page by page it is the same.
	var paged []memory.AuditLine
	for r := (memory.AuditRequest{Limit: 1}); ; {
		page, err := w.AuditLog(ctx, w.c, r)
		w.must(err)
		paged = append(paged, page.Lines...)
		if r.Cursor = page.NextCursor; r.Cursor == "" {
			break
		}
	}
	if asJSON(t, paged) != asJSON(t, log.Lines) {
		t.Errorf("by pages: %s", asJSON(t, paged))
	}
	none, err := w.AuditLog(ctx, w.c, memory.AuditRequest{Author: "mcp/u1"})
	w.must(err)
	if len(none.Lines) != 0 {
		t.Errorf("of another program: %+v", none.Lines)
	}
	_, err = w.AuditLog(ctx, w.c, memory.AuditRequest{Cursor: "x"})
	wants(t, err, problem.Invalid)
}

// Backwards in pages comes what comes forwards, and each id leads to exactly what is newer.
func TestEarlierEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	var made []string
	for i := range 9 {
		scope := []memory.Scope{memory.Project, memory.Organization, memory.Personal}[i%3]
		made = append(made, w.remember(memory.RememberRequest{Title: fmt.Sprintf("Cart %d", i), Content: fmt.Sprintf("Cart %d has %d wheels.", i, i+3), Scope: scope, Separate: true}).Memory.Handle)
	}
	last := made[8]
	all, err := w.Events(ctx, w.c, "", 0)
	w.must(err)
	what := func(e memory.StreamEvent) string { return string(e.Verb) + " " + e.Memory + " " + e.Author }
	want := map[string]int{}
	for _, e := range all.Events {
		want[what(e)]++
	}
	got := map[string]int{}
	var back []memory.StreamEvent
	for upTo := memory.FromNow; upTo != memory.Beginning; {
		page, err := w.EarlierEvents(ctx, w.c, upTo, 4)
		w.must(err)
		if len(page.Events) == 0 {
			t.Fatalf("nothing lies before %s", upTo)
		}
		back, upTo = append(back, page.Events...), page.Position
	}
	for i, e := range back {
		got[what(e)]++
		newer, err := w.Events(ctx, w.c, e.ID, 0)
		w.must(err)
		if len(newer.Events) != i || newer.Position != all.Position {
			t.Errorf("after the event %d from the end come %d", i, len(newer.Events))
		}
	}
	if asJSON(t, got) != asJSON(t, want) || len(back) != len(all.Events) {
		t.Errorf("backwards come %v, forwards %v", got, want)
	}
	if back[0].ID != all.Position {
		t.Errorf("the newest is %+v", back[0])
	}
	if page, err := w.EarlierEvents(ctx, w.c, memory.Beginning, 0); err != nil || len(page.Events) != 0 || page.Position != memory.Beginning {
		t.Errorf("before the beginning lies %+v, %v", page, err)
	}
	_, err = w.EarlierEvents(ctx, w.c, "1000.0.0", 0)
	wants(t, err, problem.Conflict, "restore")
	_, err = w.EarlierEvents(ctx, w.c, "x", 0)
	wants(t, err, problem.Invalid)

	// Another user sees neither the personal events nor the titles behind their handles.
	c := w.c
	c.User = "u2"
	others, err := w.EarlierEvents(ctx, c, memory.FromNow, 0)
	w.must(err)
	if len(others.Events) != len(all.Events)-3 || strings.Contains(asJSON(t, others), last) {
		t.Errorf("another user sees %s", asJSON(t, others))
	}
	titles, err := w.Titles(ctx, c, []string{last, made[7], "m-aaaaaaa"})
	w.must(err)
	if len(titles) != 1 || titles[made[7]] != "Cart 7" {
		t.Errorf("another user is told the titles %v", titles)
	}
	if titles, err = w.Titles(ctx, w.c, []string{last}); err != nil || titles[last] != "Cart 8" {
		t.Errorf("the owner is told the titles %v, %v", titles, err)
	}
}
