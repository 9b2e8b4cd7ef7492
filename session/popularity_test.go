package session_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// cited lets many sessions rely on a memory.
func (w *world) cited(m memory.Memory, sessions int) {
	w.t.Helper()
	ctx := context.Background()
	w.must(w.store.WriteSessions(ctx, w.c.Org, []memory.SpaceKey{{Scope: memory.Project, Owner: w.c.Project.String()}}, func(tx session.Tx) error {
		for i := range sessions {
			if err := tx.Cite(ctx, m.ID, fmt.Sprintf("ws-%07d", i), false, w.clock()); err != nil {
				return err
			}
		}
		return nil
	}))
}

// A thousand citations do not bury what corrects a memory: what supersedes it takes its place, and beside a newer trap it ranks as
// the formula says, with a gain that has an end.
func TestPopularityBuriesNoCorrection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	old, err := w.memory.Remember(ctx, w.c, memory.RememberRequest{Kind: memory.Convention, Content: "retry uploads three times", Elements: []string{"shop.api"}})
	w.must(err)
	w.cited(old.Memory, 1000)
	explained := func() []memory.Result {
		out, err := w.memory.Recall(ctx, w.as("zoe", ""), memory.RecallRequest{Query: "retry uploads", Explain: true})
		w.must(err)
		return out.Results
	}
	r := memory.DefaultRanking()
	if f := explained()[0].Factors; math.Abs(f.Citation-(1+r.CitationGain)) > 1e-12 {
		t.Errorf("a thousand citations multiply by %v", f.Citation)
	}
	w.pass(90 * 24 * time.Hour)
	trap, err := w.memory.Remember(ctx, w.c, memory.RememberRequest{Kind: memory.Pitfall, Content: "never retry uploads: the store keeps both", Elements: []string{"shop.api"}, Separate: true})
	w.must(err)
	got := explained()
	if len(got) != 2 {
		t.Fatalf("%d results", len(got))
	}
	for _, res := range got {
		f := *res.Factors
		want := f.Relevance * f.Kind * f.Freshness * f.Citation * f.Ignored * f.Doubt * f.Trust
		if math.Abs(res.Score-want) > 1e-12 {
			t.Errorf("%s scores %v, its factors give %v", res.Handle, res.Score, want)
		}
	}
	if got[0].Handle != trap.Memory.Handle {
		t.Errorf("what was relied on a thousand times stands before the trap: %v, %v", got[0], got[1])
	}
	next, err := w.memory.Remember(ctx, w.c, memory.RememberRequest{Content: "retry uploads once", Supersedes: old.Memory.Handle})
	w.must(err)
	var handles []string
	for _, res := range explained() {
		handles = append(handles, res.Handle)
	}
	slices.Sort(handles)
	want := []string{trap.Memory.Handle, next.Memory.Handle}
	slices.Sort(want)
	if !slices.Equal(handles, want) {
		t.Errorf("recalled %v, want %v without %s", handles, want, old.Memory.Handle)
	}
}
