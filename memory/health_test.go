package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Whatever two authors do in whatever order, the data is whole afterwards.
func TestRandomWorkLeavesTheDataWhole(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	rapid.Check(t, func(rt *rapid.T) { h.sequence(rt, "whole-"+uuid.NewString()) })
	ctx := context.Background()
	orgs, err := h.store.OrganizationIDs(ctx)
	if err != nil || len(orgs) < 50 {
		t.Fatalf("%d organizations, %v", len(orgs), err)
	}
	checked := map[string]int64{}
	for _, org := range orgs {
		found, err := h.store.Invariants(ctx, org, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range found {
			checked[i.ID] += i.Checked
			if i.Broken > 0 {
				t.Errorf("%s: %s: %v", org, i.Claim, i.Subjects)
			}
		}
	}
	for _, id := range []string{"ends", "versions", "titles", "spaces", "sequence", "events", "index", "postings", "frequencies", "confirmations", "doubts", "texts", "words"} {
		if checked[id] == 0 {
			t.Errorf("%s looked at nothing, so the work does not test it", id)
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	h, err := w.Health(ctx, w.c)
	w.must(err)
	if h.LastMemory != nil || h.LastServed != nil || h.Memories.Live != 0 || h.Backlog.Oldest != nil || len(h.Models) != 0 {
		t.Errorf("nothing was written: %+v", h)
	}
	if len(h.Projects) != 1 {
		t.Fatalf("%+v", h.Projects)
	}
	p := h.Projects[0]
	// Of the model's containers and components, those without a binding, on themselves or below.
	if p.Name != "shop" || p.Elements != 6 || !p.Bound || p.ImportedAt == nil || !p.ImportedAt.Equal(w.now) || p.RanAt != nil {
		t.Errorf("%+v", p)
	}
	w.now = w.now.Add(time.Hour)
	kept := w.remember(memory.RememberRequest{Content: "Stock is cached for 60 s.", Elements: []string{"shop.api"}})
	gone := w.remember(memory.RememberRequest{Content: "Prices are rounded down."})
	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: gone.Memory.Handle})
	w.must(err)
	c := w.c
	c.Session = "s1"
	w.now = w.now.Add(time.Hour)
	_, err = w.Get(ctx, c, []string{kept.Memory.Handle})
	w.must(err)
	h, err = w.Health(ctx, w.c)
	w.must(err)
	if h.Memories != (memory.StatusCounts{Live: 1, Retired: 1}) || h.LastMemory == nil || !h.LastMemory.Equal(w.now.Add(-time.Hour)) ||
		h.LastServed == nil || !h.LastServed.Equal(w.now) || h.Impressions != 1 || h.TextBytes == 0 || h.Postings == 0 {
		t.Errorf("%+v", h)
	}
	if h.Keys.DataKeys != 1 || h.Keys.Changes != 0 || h.Keys.MasterKey != w.h.master.KeyID() || h.Keys.IndexKey == "" || h.Keys.SealedOlder != 0 {
		t.Errorf("%+v", h.Keys)
	}
	w.must(w.h.store.RotateData(ctx, w.c.Org, nil))
	k, err := w.KeyHealth(ctx, w.c)
	w.must(err)
	if k.DataKeys != 1 || k.Changes == 0 {
		t.Errorf("%+v", k)
	}
}

// What waits for a vector is counted with the oldest of it.
func TestHealthOfTheBacklog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first := w.now
	w.remember(memory.RememberRequest{Content: "Stock is cached for 60 s."})
	w.now = w.now.Add(time.Hour)
	w.remember(memory.RememberRequest{Content: "Prices are rounded down."})
	late, err := w.h.store.Health(context.Background(), w.c.Org, "some-model")
	w.must(err)
	if b := late.Backlog; b.Model != "some-model" || b.Waiting != 2 || b.Oldest == nil || !b.Oldest.Equal(first) {
		t.Errorf("%+v", b)
	}
}

// Only an admin of the whole organization is told, and of no other.
func TestHealthIsForAdmins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	other := w.h.world(t, nil)
	other.remember(memory.RememberRequest{Content: "Elsewhere."})
	if h, err := w.Health(ctx, w.c); err != nil || h.Memories.Live != 0 {
		t.Errorf("%+v, %v", h.Memories, err)
	}
	bound := w.c
	bound.Bound = w.c.Project
	for _, role := range []memory.Role{memory.RoleAgent, memory.RoleCI, memory.RoleReviewer, memory.RoleAdmin} {
		c := w.c
		if c.Role = role; role == memory.RoleAdmin {
			c = bound
		}
		for name, ask := range map[string]func() error{
			"health":     func() error { _, err := w.Health(ctx, c); return err },
			"keys":       func() error { _, err := w.KeyHealth(ctx, c); return err },
			"invariants": func() error { _, err := w.Invariants(ctx, c, 0); return err },
		} {
			if err := ask(); !problem.Is(err, problem.Forbidden) {
				t.Errorf("%s as %s: %v", name, fmt.Sprint(role), err)
			}
		}
	}
	if found, err := w.Invariants(ctx, w.c, 10); err != nil || len(found) == 0 {
		t.Errorf("%v, %v", found, err)
	}
}
