package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
	storage "github.com/stele-dev/stele/memory/postgres"
)

// beside is the world as another process serves it: it shares the database and nothing else.
func (w *world) beside() *memory.Service {
	w.t.Helper()
	db, err := postgres.Open(context.Background(), postgres.Config{URL: w.h.database.App})
	w.must(err)
	w.t.Cleanup(db.Close)
	return memory.New(storage.New(db, w.h.master), memory.Options{Now: func() time.Time { return w.now }})
}

// What has expired is kept between recalls. Whatever a process or the clock changes about it, the next recall of another
// process answers as one does that has never been asked: the same memories with the same weights of the words.
func TestRecallKeepsWhatExpiredOnlyWhileItHolds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	other := w.beside()
	for _, content := range []string{"lantern of brass", "lantern of copper", "kettle of copper", "kettle of iron"} {
		w.remember(memory.RememberRequest{Content: content})
	}
	name := func(element string) error {
		_, err := other.ImportModel(ctx, w.c, memory.ModelImport{Source: "w.dsl", Model: &c4model.Model{Elements: []c4model.Element{{Key: "shop", Name: element, Level: c4model.System}}}})
		return err
	}
	w.must(name("Copper"))
	first := w.remember(memory.RememberRequest{Content: "lantern of iron", Expires: "1h", Elements: []string{"shop"}}).Memory.Handle
	second := w.remember(memory.RememberRequest{Content: "kettle of brass", Expires: "2h"}).Memory.Handle
	third := w.remember(memory.RememberRequest{Content: "copper of the lantern", Expires: "3h", Scope: memory.Personal}).Memory.Handle

	never, later := "", w.now.Add(100*time.Hour).Format(time.RFC3339)
	tags := []string{"brass"}
	edit := func(handle string, expires *string, tags *[]string) func() error {
		return func() error {
			_, err := other.Edit(ctx, w.c, memory.EditRequest{Memory: handle, Expires: expires, Tags: tags})
			return err
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"one expires", func() error { w.now = w.now.Add(90 * time.Minute); return nil }},
		{"one more expires", func() error { w.now = w.now.Add(time.Hour); return nil }},
		{"one of another space expires", func() error { w.now = w.now.Add(time.Hour); return nil }},
		{"the element of an expired one is renamed", func() error { return name("Brass") }},
		{"an expired one gets a word", edit(first, nil, &tags)},
		{"one lives on", edit(second, &never, nil)},
		{"another lives for a while", edit(third, &later, nil)},
		{"one is retired", func() error {
			_, err := other.Forget(ctx, w.c, memory.ForgetRequest{Memory: first})
			return err
		}},
		{"it comes back", func() error { _, err := other.Restore(ctx, w.c, first); return err }},
		{"all expire", func() error { w.now = w.now.Add(200 * time.Hour); return nil }},
	} {
		w.must(step.do())
		for _, with := range []bool{false, true} {
			ask := func(s *memory.Service) memory.RecallResponse {
				out, err := s.Recall(ctx, w.c, memory.RecallRequest{Query: "lantern copper brass iron", Explain: true, IncludeExpired: with, Limit: 20})
				w.must(err)
				return out
			}
			want := ask(w.beside())
			for range 2 {
				if diff := cmp.Diff(want, ask(w.Service)); diff != "" {
					t.Errorf("after %q, with expired ones %t (-never asked +asked before):\n%s", step.name, with, diff)
				}
			}
		}
	}
}
