package memory_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestMap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	cells := func() map[string]memory.MapElement {
		m, err := w.Map(ctx, w.c)
		w.must(err)
		out := map[string]memory.MapElement{}
		for _, e := range m.Elements {
			out[e.Key] = e
		}
		return out
	}
	m, err := w.Map(ctx, w.c)
	w.must(err)
	if m.Headline != "0 of 5 elements documented" || len(m.Holes) != 5 || m.LastMemoryAt != nil {
		t.Errorf("empty map: %q, %d holes, last %v", m.Headline, len(m.Holes), m.LastMemoryAt)
	}
	// Most related first, then in order of declaration.
	if m.Holes[0].Key != "shop.web" || m.Holes[1].Key != "shop.api" || m.Holes[2].Key != "shop" {
		t.Errorf("holes %+v", m.Holes)
	}
	if want := `stele remember --element shop.web --kind pitfall "…"`; m.Holes[0].Command != want {
		t.Errorf("command %q, want %q", m.Holes[0].Command, want)
	}

	w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "Retries are not safe here", Elements: []string{"shop.api"}})
	note := w.remember(memory.RememberRequest{Content: "It logs to a file", Elements: []string{"shop.api", "shop.web"}, Expires: "20d"}).Memory
	w.remember(memory.RememberRequest{Content: "my own remark", Elements: []string{"shop.web.auth"}, Scope: memory.Personal})
	hook := w.c
	hook.Door = memory.FromHook
	_, err = w.Remember(ctx, hook, memory.RememberRequest{Content: "nobody looked at this", Elements: []string{"shop.api.auth"}})
	w.must(err)
	_, err = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: note.Handle, Note: "it logs elsewhere"})
	w.must(err)
	w.now = w.now.Add(15 * day)

	m, err = w.Map(ctx, w.c)
	w.must(err)
	if m.Headline != "2 of 5 elements documented" || m.Documented != 2 || m.Total != 5 {
		t.Errorf("headline %q, %d of %d", m.Headline, m.Documented, m.Total)
	}
	api := cells()["shop.api"]
	if diff := cmp.Diff(map[memory.Kind]int{memory.Pitfall: 1, memory.Note: 1, memory.Convention: 0, memory.SessionOutcome: 0}, api.Memories); diff != "" {
		t.Error(diff)
	}
	if api.Verify != 1 || api.Drift.State != "unknown" || api.Parent != "shop" {
		t.Errorf("cell %+v", api)
	}
	near(t, "freshness", api.Freshness, memory.DefaultRanking().Freshness(15*day))
	if c := cells()["shop.web.auth"]; c.Documented || c.Memories[memory.Note] != 0 {
		t.Errorf("a personal memory documents nothing: %+v", c)
	}
	if c := cells()["shop.api.auth"]; c.Documented || c.Memories[memory.Note] != 1 {
		t.Errorf("an unreviewed memory is counted and documents nothing: %+v", c)
	}
	if len(m.Holes) != 3 || m.LastMemoryAt == nil {
		t.Errorf("%d holes, last %v", len(m.Holes), m.LastMemoryAt)
	}
	w.now = w.now.Add(10 * day)
	if c := cells()["shop.web"]; c.Documented || c.Verify != 0 {
		t.Errorf("an expired memory documents nothing: %+v", c)
	}

	// Sessions count once each, whatever they did about however many memories of an element, and personal ones do not.
	as := func(session string) memory.Caller { c := w.c; c.Session = session; return c }
	for _, content := range []string{"Sessions end after an hour", "Passwords are hashed twice"} {
		kept, err := w.Remember(ctx, as("one"), memory.RememberRequest{Content: content, Elements: []string{"shop.web.auth"}})
		w.must(err)
		_, err = w.Confirm(ctx, as("two"), memory.ConfirmRequest{Memory: kept.Memory.Handle, Holds: true})
		w.must(err)
	}
	_, err = w.Remember(ctx, as("three"), memory.RememberRequest{Content: "ask Monday", Elements: []string{"shop.web.auth"}, Scope: memory.Personal})
	w.must(err)
	if n := cells()["shop.web.auth"].Activity.Sessions; n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
	w.now = w.now.Add(31 * day)
	if n := cells()["shop.web.auth"].Activity.Sessions; n != 0 {
		t.Errorf("%d sessions of a month ago", n)
	}

	nowhere := w.c
	nowhere.Project = [16]byte{}
	_, err = w.Map(ctx, nowhere)
	wants(t, err, problem.Invalid, "project")
}

func TestWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	say := func(r memory.RememberRequest) string {
		r.Separate = true
		w.now = w.now.Add(time.Minute)
		return w.remember(r).Memory.Handle
	}
	bound := say(memory.RememberRequest{Content: "tokens are opaque", Elements: []string{"shop.api.auth"}})
	named := say(memory.RememberRequest{Content: "the middleware runs twice", Paths: []string{"api/auth/mw.go"}, Kind: memory.Pitfall})
	glob := say(memory.RememberRequest{Content: "no globals in here", Paths: []string{"**/mw.go"}, Kind: memory.Convention})
	doubted := say(memory.RememberRequest{Content: "it caches for a minute", Paths: []string{"api/auth/**"}})
	later := say(memory.RememberRequest{Content: "it caches for an hour", Elements: []string{"shop.api.auth"}})
	say(memory.RememberRequest{Content: "elsewhere", Paths: []string{"web/index.ts"}})
	say(memory.RememberRequest{Content: "of the parent only", Elements: []string{"shop.api"}})
	for _, m := range []string{doubted, later} {
		w.now = w.now.Add(time.Minute)
		_, err := w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m, Note: "no longer"})
		w.must(err)
	}
	got, err := w.Why(ctx, w.c, "./api/auth/mw.go", 12)
	w.must(err)
	var order []string
	matched := map[string]string{}
	for _, e := range got.Entries {
		order = append(order, e.Memory.Handle)
		matched[e.Memory.Handle] = e.Matched
	}
	if diff := cmp.Diff([]string{later, doubted, named, glob, bound}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if got.Path != "api/auth/mw.go" || got.Line != 12 || len(got.Elements) != 1 || got.Elements[0].Key != "shop.api.auth" {
		t.Errorf("answer about %q line %d, elements %+v", got.Path, got.Line, got.Elements)
	}
	if matched[bound] != "shop.api.auth, bound by api/auth/**" || matched[glob] != "path **/mw.go" {
		t.Errorf("matched %v", matched)
	}
	if f := got.Entries[0].Memory.Flags; len(f) == 0 || f[0].Reason != "no longer" {
		t.Errorf("a doubt comes with its reason: %+v", f)
	}
	_, err = w.Why(ctx, w.c, "/etc/passwd", 0)
	wants(t, err, problem.Invalid, "path")
}

func TestContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	keys := func(task string) []string {
		got, err := w.Context(ctx, w.c, memory.ContextRequest{Task: task})
		w.must(err)
		var out []string
		for _, e := range got.Elements {
			out = append(out, e.Key)
			if len(e.Reasons) == 0 || e.Score <= 0 {
				t.Errorf("%q chose %s for %v, score %v", task, e.Key, e.Reasons, e.Score)
			}
		}
		return out
	}
	if got := keys("make the storefront faster"); len(got) != 1 || got[0] != "shop.web" {
		t.Errorf("by name: %v", got)
	}
	if got := keys("something about checkout"); len(got) != 0 {
		t.Errorf("nothing speaks of checkout: %v", got)
	}
	m := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "Checkout is slow when the card is foreign", Elements: []string{"shop.api"}}).Memory
	w.remember(memory.RememberRequest{Content: "Baskets are kept for a day", Elements: []string{"shop.web"}})
	got, err := w.Context(ctx, w.c, memory.ContextRequest{Task: "fix the checkout"})
	w.must(err)
	if len(got.Elements) != 1 || got.Elements[0].Key != "shop.api" {
		t.Fatalf("by memory: %+v", got.Elements)
	}
	e := got.Elements[0]
	if !slices.ContainsFunc(e.Reasons, func(r string) bool { return strings.Contains(r, m.Handle) }) || len(e.Memories) != 1 || e.Memories[0].Handle != m.Handle {
		t.Errorf("reasons %v, memories %+v", e.Reasons, e.Memories)
	}
	if len(e.Paths) != 1 || e.Paths[0] != "api/**" {
		t.Errorf("paths %v", e.Paths)
	}
	_, err = w.Context(ctx, w.c, memory.ContextRequest{Task: " "})
	wants(t, err, problem.Invalid, "task")
}
