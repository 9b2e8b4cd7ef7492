package memory_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestARetryGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	other := memory.New(w.h.store, memory.Options{Now: func() time.Time { return w.now }}) // the retry meets another server
	c := w.c
	c.Retry = "7d1c"
	r := memory.RememberRequest{Content: "Stock is cached for 60 s.", Elements: []string{"shop.api"}, Tags: []string{"cache"}}
	first, err := w.Remember(ctx, c, r)
	w.must(err)
	w.now = w.now.Add(time.Minute)
	again, err := other.Remember(ctx, c, r)
	w.must(err)
	if diff := cmp.Diff(asJSON(t, first), asJSON(t, again)); diff != "" {
		t.Errorf("the retry was answered differently:\n%s", diff)
	}
	if m := w.get(first.Memory.Handle); m.Confirmations != 0 || m.Revision != 1 {
		t.Errorf("the retry changed it: %+v", m)
	}

	r.Content = "Stock is cached for 90 s."
	_, err = w.Remember(ctx, c, r)
	wants(t, err, problem.Conflict, "another request")
	c.User = "u2" // another caller's key is another key
	second, err := w.Remember(ctx, c, r)
	w.must(err)
	if second.Memory.Handle == first.Memory.Handle {
		t.Error("another caller's key gave the first answer")
	}
}

func TestEveryWriteIsDoneOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "Orders are queued."}).Memory
	n := 0
	twice := func(what string, call func(c memory.Caller) error) {
		t.Helper()
		n++
		c := w.c
		c.Retry = strings.Repeat("k", n)
		for range 2 {
			if err := call(c); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	twice("confirm", func(c memory.Caller) error {
		got, err := w.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
		if got.Confirmations != 1 {
			t.Errorf("%d confirmations", got.Confirmations)
		}
		return err
	})
	twice("edit", func(c memory.Caller) error {
		got, err := w.Edit(ctx, c, memory.EditRequest{Memory: m.Handle, Tags: &[]string{"queue"}, Revision: 1})
		if got.Revision != 2 {
			t.Errorf("revision %d", got.Revision)
		}
		return err
	})
	twice("retire", func(c memory.Caller) error {
		_, err := w.Forget(ctx, c, memory.ForgetRequest{Memory: m.Handle})
		return err
	})
	twice("restore", func(c memory.Caller) error { _, err := w.Restore(ctx, c, m.Handle); return err })
	twice("supersede", func(c memory.Caller) error {
		_, err := w.Remember(ctx, c, memory.RememberRequest{Content: "Orders are queued twice.", Supersedes: m.Handle})
		return err
	})
	twice("erase", func(c memory.Caller) error {
		_, err := w.Forget(ctx, c, memory.ForgetRequest{Memory: m.Handle, Erase: true})
		return err
	})
	var id string
	twice("create project", func(c memory.Caller) error {
		p, err := w.CreateProject(ctx, c, "yard", nil)
		if id != "" && p.ID.String() != id {
			t.Errorf("another project %s, before %s", p.ID, id)
		}
		id = p.ID.String()
		return err
	})
}

// Erasing a memory takes the answers that may quote it; that they were given is not forgotten.
func TestAnAnswerThatWasErased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	c := w.c
	c.Retry = "k"
	r := memory.RememberRequest{Content: "The vault code is on the desk."}
	m, err := w.Remember(ctx, c, r)
	w.must(err)
	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: m.Memory.Handle, Erase: true})
	w.must(err)
	_, err = w.Remember(ctx, c, r)
	wants(t, err, problem.Conflict, "carried out", "erased")
}

// Retries that overtake the first attempt wait for it.
func TestRetriesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	other := memory.New(w.h.store, memory.Options{Now: func() time.Time { return w.now }})
	c := w.c
	c.Retry = "k"
	handles := make([]string, 16)
	var all sync.WaitGroup
	for i := range handles {
		all.Go(func() {
			s := []*memory.Service{w.Service, other}[i%2]
			out, err := s.Remember(ctx, c, memory.RememberRequest{Content: "Prices are in cents.", Separate: true})
			if err != nil {
				t.Error(err)
			}
			handles[i] = out.Memory.Handle
		})
	}
	all.Wait()
	for _, h := range handles {
		if h != handles[0] {
			t.Fatalf("different answers: %v", handles)
		}
	}
	l, err := w.List(ctx, w.c, memory.ListRequest{})
	w.must(err)
	if len(l.Memories) != 1 {
		t.Errorf("%d memories", len(l.Memories))
	}
}

// A write that failed has no answer: the retry does it.
func TestAFailedWriteIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	c := w.c
	c.Retry = "k"
	r := memory.RememberRequest{Content: "Bills are rounded down.", Elements: []string{"shop.billing"}}
	_, err := w.Remember(ctx, c, r)
	wants(t, err, problem.NotFound, "shop.billing")
	im := shopModel()
	im.Model.Elements = append(im.Model.Elements, elementOf("shop.billing"))
	_, err = w.ImportModel(ctx, w.c, im)
	w.must(err)
	out, err := w.Remember(ctx, c, r)
	w.must(err)
	if len(out.Memory.Elements) != 1 {
		t.Errorf("attached to %+v", out.Memory.Elements)
	}
}

func TestAnswersArePruned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	c := w.c
	c.Retry = "old"
	_, err := w.Remember(ctx, c, memory.RememberRequest{Content: "One."})
	w.must(err)
	w.now = w.now.Add(memory.AnswerLife)
	c.Retry = "new"
	_, err = w.Remember(ctx, c, memory.RememberRequest{Content: "Two."})
	w.must(err)
	n, err := w.h.store.DropAnswers(ctx, w.c.Org, w.now)
	w.must(err)
	if n != 1 {
		t.Errorf("%d answers were dropped, want the old one", n)
	}
}

func TestRetryKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, key := range []string{strings.Repeat("k", memory.MaxRetryBytes+1), "schlüssel", "a\nb", "\x00"} {
		c := w.c
		c.Retry = key
		_, err := w.Remember(context.Background(), c, memory.RememberRequest{Content: "x"})
		wants(t, err, problem.Invalid, "Idempotency-Key")
		_, err = w.CreateProject(context.Background(), c, "yard", nil)
		wants(t, err, problem.Invalid, "Idempotency-Key")
	}
}

// A title may name something else by the time of a retry, or nothing.
func TestARetryByTitle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	w.remember(memory.RememberRequest{Content: "Tea is kept dry.", Title: "Tea"})
	c := w.c
	c.Retry = "k"
	first, err := w.Forget(ctx, c, memory.ForgetRequest{Memory: "Tea"})
	w.must(err)
	again, err := w.Forget(ctx, c, memory.ForgetRequest{Memory: "Tea"})
	w.must(err)
	other := w.remember(memory.RememberRequest{Content: "Tea is drunk at five.", Title: "Tea"}).Memory
	third, err := w.Forget(ctx, c, memory.ForgetRequest{Memory: "Tea"})
	w.must(err)
	if again.Memory.Handle != first.Memory.Handle || third.Memory.Handle != first.Memory.Handle || w.get(other.Handle).Status != memory.Live {
		t.Errorf("retired %s, then %s, then %s", first.Memory.Handle, again.Memory.Handle, third.Memory.Handle)
	}
}

// A late retry of an import does not put an older model back.
func TestARetryOfAnImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	c := w.c
	c.Retry = "k"
	older, newer := shopModel(), shopModel()
	older.Source, newer.Source = "a.dsl", "b.dsl"
	newer.Model.Elements = append(newer.Model.Elements, elementOf("shop.mobile"))
	first, err := w.ImportModel(ctx, c, older)
	w.must(err)
	_, err = w.ImportModel(ctx, w.c, newer)
	w.must(err)
	again, err := w.ImportModel(ctx, c, older)
	w.must(err)
	if asJSON(t, first) != asJSON(t, again) {
		t.Errorf("answered %s, then %s", asJSON(t, first), asJSON(t, again))
	}
	model, err := w.Model(ctx, w.c)
	w.must(err)
	if len(model.Elements) != len(newer.Model.Elements) {
		t.Errorf("the model has %d elements, want %d", len(model.Elements), len(newer.Model.Elements))
	}
	_, err = w.ImportModel(ctx, c, newer)
	wants(t, err, problem.Conflict, "another request")
	c.Retry = "d"
	for range 2 {
		got, err := w.ImportDecisions(ctx, c, []c4model.Decision{{ID: "9", Title: "Nine"}}, "docs")
		w.must(err)
		if len(got.Added) != 1 {
			t.Errorf("decisions %+v", got)
		}
	}
}

// One key, used at once for memories of different places: one is done, the others are told.
func TestOneKeyForManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	ms := []memory.Memory{
		w.remember(memory.RememberRequest{Content: "One."}).Memory,
		w.remember(memory.RememberRequest{Content: "Two.", Scope: memory.Organization}).Memory,
		w.remember(memory.RememberRequest{Content: "Three.", Scope: memory.Personal}).Memory,
	}
	for n := range 10 {
		c := w.c
		c.Retry = strings.Repeat("k", n+1)
		var all sync.WaitGroup
		for _, m := range ms {
			all.Go(func() {
				if _, err := w.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Handle, Holds: true}); err != nil && !problem.Is(err, problem.Conflict) {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
	}
	total := 0
	for _, m := range ms {
		total += w.get(m.Handle).Confirmations
	}
	if total != 10 {
		t.Errorf("%d confirmations under 10 keys", total)
	}
}
