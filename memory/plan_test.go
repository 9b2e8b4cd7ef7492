package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	w, m := newMill(t)
	ctx := context.Background()
	_, err := w.ImportDecisions(ctx, w.c, []c4model.Decision{
		{ID: "1", Title: "Flour is sold by the sack", Status: "accepted"}, {ID: "2", Title: "Flour is sold by weight", Status: "Superseded by ADR-1"},
		{ID: "3", Title: "The stone is dressed in spring", Status: "accepted", Element: "mill.stone"}, {ID: "4", Title: "Cats live in the attic", Status: "accepted"},
	}, "docs/adr")
	w.must(err)
	rule := w.remember(memory.RememberRequest{Kind: memory.Convention, Content: "sacks are of linen", Elements: []string{"mill"}}).Memory.Handle
	trap := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "flour dust burns near the stone", Elements: []string{"mill.stone"}}).Memory.Handle
	open := w.remember(memory.RememberRequest{Kind: memory.Note, Content: "the stone makes forty turns for flour", Elements: []string{"mill.stone"}}).Memory.Handle
	_, err = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: open, Note: "thirty"})
	w.must(err)

	const task = "sell finer flour: set the stone closer, and keep it apart in store and ledger"
	got, err := w.Plan(ctx, w.c, memory.PlanRequest{Task: task})
	w.must(err)
	type short struct{ Element, Order string }
	var order []short
	for _, s := range got.Steps {
		order = append(order, short{s.Element.Key, s.Order})
	}
	want := []short{
		{"mill.stone", "mill.store, mill.ledger build on it"},
		{"mill.store", "it and mill.ledger depend on each other; the task is more about it"},
		{"mill.ledger", "it and mill.store depend on each other; the task is more about it"},
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	stone := got.Steps[0]
	known := func(list []memory.KnownMemory) (handles []string) {
		for _, k := range list {
			handles = append(handles, k.Handle)
		}
		return handles
	}
	if !slices.Equal(known(stone.Bound), []string{trap, rule}) || !slices.Equal(known(stone.Verify), []string{open}) {
		t.Errorf("the stone is bound by %v, and %v is to be verified; want %s, %s and %s", known(stone.Bound), known(stone.Verify), trap, rule, open)
	}
	if len(stone.Decisions) != 1 || stone.Decisions[0].Handle != "ADR-3" {
		t.Errorf("decisions on the stone: %+v", stone.Decisions)
	}
	if len(got.Decisions) != 1 || got.Decisions[0].Handle != "ADR-1" {
		t.Errorf("decisions of the project: %+v", got.Decisions)
	}
	if store := got.Steps[1]; len(store.Check) != 0 {
		t.Errorf("the ledger is a step itself, and the store says to look at %+v", store.Check)
	}
	if len(got.Work) != 1 || len(m.asked) != 3 {
		t.Errorf("work %+v, asked about %d elements", got.Work, len(m.asked))
	}
	again, err := w.Plan(ctx, w.c, memory.PlanRequest{Task: task})
	w.must(err)
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("the same question has another answer (-first +second):\n%s", diff)
	}

	wheel, err := w.Plan(ctx, w.c, memory.PlanRequest{Task: "grease the wheel", Limit: 1})
	w.must(err)
	if len(wheel.Steps) != 1 || len(wheel.Steps[0].Check) != 2 || wheel.Steps[0].Check[0].Because != "lets water onto" {
		t.Errorf("after the wheel, look at gate and stone: %+v", wheel.Steps)
	}
	none, err := w.Plan(ctx, w.c, memory.PlanRequest{Task: "zzz"})
	w.must(err)
	if len(none.Steps) != 0 || none.Note == "" {
		t.Errorf("about nothing: %+v", none)
	}
	for field, r := range map[string]memory.PlanRequest{"task": {}, "limit": {Task: "x", Limit: memory.MaxPlanLimit + 1}} {
		_, err := w.Plan(ctx, w.c, r)
		wants(t, err, problem.Invalid, field)
	}
}

// Whatever depends on whatever: every element comes once, and none before another that it builds on, unless that builds on it, too.
func TestPlanOrderKeepsDependencies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "elements")
		var elements []memory.Element
		var keys []string
		for i := range n {
			e := memory.Element{ID: uuid.UUID{byte(i + 1)}, Element: c4model.Element{Key: fmt.Sprint("e", i), Name: fmt.Sprint("E", i), Level: c4model.Container}}
			elements, keys = append(elements, e), append(keys, e.Key)
		}
		key := rapid.SampledFrom(keys)
		reach := map[[2]string]bool{}
		var relationships []c4model.Relationship
		for range rapid.IntRange(0, 12).Draw(t, "relationships") {
			r := c4model.Relationship{Source: key.Draw(t, "source"), Destination: key.Draw(t, "destination")}
			relationships = append(relationships, r)
			reach[[2]string{r.Source, r.Destination}] = true
		}
		for _, via := range keys {
			for _, a := range keys {
				for _, b := range keys {
					if reach[[2]string{a, via}] && reach[[2]string{via, b}] {
						reach[[2]string{a, b}] = true
					}
				}
			}
		}
		chosen := rapid.Permutation(keys).Draw(t, "chosen")[:rapid.IntRange(1, n).Draw(t, "steps")]
		got := memory.PlanOrder(elements, relationships, chosen)
		if sorted, want := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(chosen)); !slices.Equal(sorted, want) {
			t.Fatalf("%v became %v", chosen, got)
		}
		for i, a := range got {
			for _, b := range got[i+1:] {
				if reach[[2]string{a, b}] && !reach[[2]string{b, a}] {
					t.Fatalf("%s builds on %s and comes first in %v", a, b, got)
				}
			}
		}
	})
}
