package faults_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/session"
)

// jumps are how far a clock may be off: by a daylight saving that was none, by a battery that was empty, by a typing error.
var jumps = []time.Duration{0, time.Hour, -time.Hour, 3 * 24 * time.Hour, -3 * 24 * time.Hour, 10 * 365 * 24 * time.Hour, -10 * 365 * 24 * time.Hour}

// The clock of a server jumps between any two calls, and another server has the right one. Every write is there afterwards
// with its counts, a retry is recognised, work sessions end, and the data contradicts itself nowhere.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	_, seed := duration(t)
	dice := rand.New(rand.NewPCG(seed, 0))
	t.Logf("FAULTS_SEED=%d", seed)
	ctx := t.Context()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	kept := store.New(pgtest.New(t), master)
	base := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	var off time.Duration
	wrong := memory.New(kept, memory.Options{Now: func() time.Time { return base.Add(off) }})
	right := memory.New(kept, memory.Options{Now: func() time.Time { return base }})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	org, err := right.EnsureOrganization(ctx, memory.DefaultOrganization)
	must(err)
	c := memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI, Session: "client-1"}
	p, err := right.CreateProject(ctx, c, "shop", nil)
	must(err)
	c.Project = p.ID
	_, err = right.ImportModel(ctx, c, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System}}}, Source: "w.dsl"})
	must(err)

	var facts []*fact
	for n := range 60 {
		off = jumps[dice.IntN(len(jumps))]
		at := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("step %d, the clock off by %s: %s: %v", n, off, what, err)
			}
		}
		by := c
		by.Retry = fmt.Sprintf("key-%d", n)
		f := &fact{word: fmt.Sprintf("mark%dx", n), status: memory.Live}
		f.content = fmt.Sprintf("Shelf %d holds the parcel with %s.", n, f.word)
		q := memory.RememberRequest{Content: f.content, Elements: []string{"shop"}, Separate: true}
		made, err := wrong.Remember(ctx, by, q)
		at("remember", err)
		f.handle = made.Memory.Handle
		facts = append(facts, f)
		again, err := right.Remember(ctx, by, q) // the answer was lost, and the other server is asked
		at("retry", err)
		if again.Memory.Handle != f.handle {
			t.Errorf("a retry stored %s beside %s", again.Memory.Handle, f.handle)
		}
		old := facts[dice.IntN(len(facts))]
		off = jumps[dice.IntN(len(jumps))]
		if old.status == memory.Live {
			_, err = wrong.Confirm(ctx, c, memory.ConfirmRequest{Memory: old.handle, Holds: true})
			at("confirm", err)
			old.confirmations++
			for name, s := range map[string]*memory.Service{"wrong": wrong, "right": right} {
				found, err := s.Recall(ctx, c, memory.RecallRequest{Query: old.word})
				at("recall", err)
				if !slices.ContainsFunc(found.Results, func(r memory.Result) bool { return r.Handle == old.handle && r.Score > 0 }) {
					t.Errorf("step %d, the clock off by %s: the %s one does not find %s: %+v", n, off, name, old.handle, found)
				}
			}
		}
		if n%10 == 9 {
			_, err = wrong.Forget(ctx, c, memory.ForgetRequest{Memory: f.handle, Reason: "it is over"})
			at("retire", err)
			f.status = memory.Retired
		}
	}

	// Work that a server began whose clock was ahead is finished by one whose clock is right.
	off = jumps[5]
	_, err = session.New(wrong, kept).StartSession(ctx, c, session.StartRequest{Task: "sort the shelves", Elements: []string{"shop"}})
	must(err)
	_, err = session.New(right, kept).FinishSession(ctx, c, session.FinishRequest{Summary: "sorted"})
	must(err)

	for _, f := range facts {
		ms, err := right.Get(ctx, c, []string{f.handle})
		if err != nil || ms[0].Content != f.content || ms[0].Confirmations != f.confirmations || ms[0].Status != f.status {
			t.Errorf("%+v is stored as %+v, %v", *f, ms, err)
		}
	}
	found, err := kept.Invariants(ctx, org, 0)
	must(err)
	for _, i := range found {
		if i.Broken > 0 {
			t.Errorf("it is not so that %s: %v", i.Claim, i.Subjects)
		}
	}
}
