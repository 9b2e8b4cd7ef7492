package session_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// What all sessions meet, asked at once, is what each of them is told when it says all it works on and edited.
func TestConflictsAtOnceAreThoseOfEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	none := 0
	elsewhere := w.c
	p, err := w.memory.CreateProject(ctx, memory.Caller{Org: w.c.Org, User: "operator", Role: memory.RoleAdmin}, "bank", nil)
	w.must(err)
	elsewhere.Project = p.ID
	rapid.Check(t, func(t *rapid.T) {
		keys := []string{"shop", "shop.web", "shop.api", "shop.api.auth", "shop.mail"}
		files := []string{"README.md", "Makefile", "LICENSE"} // no element owns them
		type worker struct {
			caller          memory.Caller
			elements, files []string
		}
		workers := map[string]worker{}
		for _, user := range []string{"ana", "bob", "cleo", "dan"}[:rapid.IntRange(0, 4).Draw(t, "sessions")] {
			k := worker{caller: w.as(user, "")}
			k.elements = rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 3, rapid.ID[string]).Draw(t, "elements")
			k.files = rapid.SliceOfNDistinct(rapid.SampledFrom(files), 0, 2, rapid.ID[string]).Draw(t, "files")
			began, err := w.StartSession(ctx, k.caller, session.StartRequest{Task: "Work of " + user, Elements: k.elements, MaxTokens: &none})
			w.must(err)
			k.caller.Session = began.SessionID
			_, err = w.HeartbeatSession(ctx, k.caller, session.HeartbeatRequest{Edited: k.files})
			w.must(err)
			if rapid.IntRange(0, 3).Draw(t, "finish") == 0 { // it is over, and meets nobody
				_, err := w.FinishSession(ctx, k.caller, session.FinishRequest{Summary: "Done."})
				w.must(err)
				continue
			}
			workers[began.SessionID] = k
		}
		got, err := w.SessionConflicts(ctx, w.c)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]session.Conflict{}
		for name, k := range workers {
			now, err := w.HeartbeatSession(ctx, k.caller, session.HeartbeatRequest{Elements: k.elements, Edited: k.files})
			if err != nil {
				t.Fatal(err)
			}
			if len(now.Conflicts) > 0 {
				want[name] = now.Conflicts
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if met, err := w.SessionConflicts(ctx, elsewhere); err != nil || len(met) != 0 {
			t.Fatalf("another project has %v, %v", met, err)
		}
		for _, k := range workers {
			_, err := w.CancelSession(ctx, k.caller, k.caller.Session)
			w.must(err)
		}
	})
}
