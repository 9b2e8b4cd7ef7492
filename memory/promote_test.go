package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// What is promoted keeps text, author, times, confirmations and citations, and is recalled in every project; the old one is
// superseded by it.
func TestPromote(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	author := w.c
	author.User, author.Agent = "ana", "robot"
	out, err := w.Remember(ctx, author, memory.RememberRequest{Kind: memory.Convention, Title: "Tags", Content: "tags are folded before they are compared", Why: "people write them as they like",
		Tags: []string{"search"}, Elements: []string{"shop.api"}, Paths: []string{"api/tags.go"}})
	w.must(err)
	m := out.Memory
	w.now = w.now.Add(time.Hour)
	_, err = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true, Seen: &memory.Seen{Commit: commit(1)}})
	w.must(err)
	w.must(w.h.store.Write(ctx, w.c.Org, []memory.SpaceKey{{Scope: memory.Project, Owner: w.c.Project.String()}}, func(tx memory.Tx) error {
		return tx.Cite(ctx, m.ID, "s1", false, w.now)
	}))
	before := w.record(m.ID)
	promotedAt := w.now.Add(time.Hour)
	w.now = promotedAt
	c := w.c
	c.Retry = "key"
	p, err := w.Promote(ctx, c, m.Handle)
	w.must(err)
	again, err := w.Promote(ctx, c, m.Handle)
	w.must(err)
	if again.ID != p.ID {
		t.Error("a retry promotes again")
	}
	after := w.record(p.ID)
	ignore := cmpopts.IgnoreFields(memory.Record{}, "Space", "Seq")
	same := cmpopts.IgnoreFields(memory.Memory{}, "ID", "Handle", "Scope", "Elements")
	if diff := cmp.Diff(before, after, ignore, same, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("promoting changes\n%s", diff)
	}
	if after.Scope != memory.Organization || len(after.Elements) != 1 || after.Elements[0].Key != "shop.api" || after.Citations != 1 || after.Confirmations != 1 {
		t.Errorf("it is %+v", after)
	}
	if old := w.record(m.ID); old.Status != memory.Superseded || old.Successor != p.ID {
		t.Errorf("the old one is %s, superseded by %s", old.Status, old.Successor)
	}
	project, err := w.CreateProject(ctx, memory.Caller{Org: w.c.Org, User: "operator", Role: memory.RoleAdmin}, "depot", nil)
	w.must(err)
	other := w.c
	other.Project = project.ID
	found, err := w.Recall(ctx, other, memory.RecallRequest{Query: "tags folded"})
	w.must(err)
	if len(found.Results) != 1 || found.Results[0].ID != p.ID {
		t.Errorf("another project recalls %+v", found.Results)
	}
	t.Log("the logs know when it was promoted")
	for at, want := range map[time.Time]uuid.UUID{promotedAt.Add(-time.Minute): m.ID, promotedAt: p.ID} {
		got, err := w.Recall(ctx, w.c, memory.RecallRequest{Query: "tags folded", AsOf: &at})
		w.must(err)
		if len(got.Results) != 1 || got.Results[0].ID != want || got.Results[0].Confirmations != 1 {
			t.Errorf("as of %s: %+v", at, got.Results)
		}
	}
}

// record loads a memory as stored.
func (w *world) record(id uuid.UUID) memory.Record {
	w.t.Helper()
	var out []memory.Record
	w.must(w.h.store.View(context.Background(), w.c.Org, func(v memory.View) (err error) {
		out, err = v.Records(context.Background(), []uuid.UUID{id})
		return err
	}))
	return out[0]
}

func TestPromoteRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	remember := func(r memory.RememberRequest) string { return w.remember(r).Memory.Handle }
	plain := remember(memory.RememberRequest{Title: "Plain", Content: "plain"})
	doubted := remember(memory.RememberRequest{Content: "doubted"})
	_, err := w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: doubted})
	w.must(err)
	expired := remember(memory.RememberRequest{Content: "expired", Expires: "1h"})
	retired := remember(memory.RememberRequest{Content: "retired"})
	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: retired})
	w.must(err)
	personal := remember(memory.RememberRequest{Content: "personal", Scope: memory.Personal})
	known := remember(memory.RememberRequest{Content: "known everywhere"})
	remember(memory.RememberRequest{Content: "known everywhere", Scope: memory.Organization})
	titled := remember(memory.RememberRequest{Title: "Taken", Content: "titled"})
	remember(memory.RememberRequest{Title: "Taken", Content: "something else", Scope: memory.Organization})
	session := w.c
	session.Door = memory.FromSession
	outcome, err := w.Remember(ctx, session, memory.RememberRequest{Kind: memory.SessionOutcome, Content: "did it"})
	w.must(err)
	w.now = w.now.Add(2 * time.Hour)
	agent, bound := w.c, w.c
	agent.Role = memory.RoleAgent
	bound.Bound = bound.Project
	for _, test := range []struct {
		name, ref string
		c         memory.Caller
		code      problem.Code
		word      string
	}{
		{"doubted", doubted, w.c, problem.Conflict, "in doubt"},
		{"expired", expired, w.c, problem.Conflict, "expired"},
		{"retired", retired, w.c, problem.Conflict, "retired"},
		{"personal", personal, w.c, problem.Invalid, "personal"},
		{"known", known, w.c, problem.Conflict, "same text"},
		{"titled", titled, w.c, problem.Conflict, "Taken"},
		{"outcome", outcome.Memory.Handle, w.c, problem.Invalid, "outcome"},
		{"agent", plain, agent, problem.Forbidden, "reviewer"},
		{"reviewer of one project", plain, bound, problem.Forbidden, "every project"},
		{"nothing", "m-aaaaaaa", w.c, problem.NotFound, "no memory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := w.Promote(ctx, test.c, test.ref)
			wants(t, err, test.code, test.word)
		})
	}
}

// Absorbing lets one memory stand for both.
func TestAbsorb(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	goes := w.remember(memory.RememberRequest{Title: "Retry", Content: "the client retries", Elements: []string{"shop.web"}}).Memory
	stays := w.remember(memory.RememberRequest{Content: "the client tries again", Elements: []string{"shop.api"}}).Memory
	link := w.remember(memory.RememberRequest{Content: "see [[" + goes.Handle + "]]"}).Memory
	for _, refused := range [][2]string{{stays.Handle, stays.Handle}, {"m-aaaaaaa", stays.Handle}} {
		if _, err := w.Absorb(ctx, w.c, refused[0], refused[1]); err == nil {
			t.Errorf("%v merges", refused)
		}
	}
	m, err := w.Absorb(ctx, w.c, goes.Handle, stays.Handle)
	w.must(err)
	var keys []string
	for _, e := range m.Elements {
		keys = append(keys, e.Key)
	}
	slices.Sort(keys) // both were attached in one instant
	if m.ID != stays.ID || !slices.Equal(keys, []string{"shop.api", "shop.web"}) || m.Revision != stays.Revision {
		t.Errorf("what stays is %+v", m)
	}
	if r := w.record(goes.ID); r.Status != memory.Superseded || r.Successor != stays.ID {
		t.Errorf("what goes is %s by %s", r.Status, r.Successor)
	}
	if got := w.get(link.Handle).Links[0].Target; got != stays.Handle {
		t.Errorf("a link to it leads to %s", got)
	}
	found, err := w.Recall(ctx, w.c, memory.RecallRequest{Query: "storefront"})
	w.must(err)
	if len(found.Results) != 1 || found.Results[0].ID != stays.ID {
		t.Errorf("by its new element it is found as %+v", found.Results)
	}
	_, err = w.Absorb(ctx, w.c, stays.Handle, goes.Handle)
	wants(t, err, problem.Conflict, "superseded")
}

// Pairs that are similar are noted once: when the newer is written, or when it gets its vector.
func TestSimilarPairsAreNoted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	conflicts := func(w *world) (out []string) {
		conn := w.h.database.ConnectAdmin(t) //nolint:contextcheck // it has the test's
		rows, err := conn.Query(ctx, `SELECT source || ' ' || m.handle || ' ' || o.handle FROM conflicts c
			JOIN memories m ON m.memory_id = c.memory_id JOIN memories o ON o.memory_id = c.other_id ORDER BY 1`)
		w.must(err)
		for rows.Next() {
			var s string
			w.must(rows.Scan(&s))
			out = append(out, s)
		}
		w.must(conn.Close(ctx))
		return out
	}
	texts := map[string][]float32{"the first fact": {1, 0, 0}, "another fact with the number 7": {0.9, 0.436, 0}, "far away": {0, 0, 1}}
	provider := &laterProvider{vectors: texts}
	w := newWorld(t, provider)
	provider.away = true
	var handles []string
	for _, text := range []string{"the first fact", "another fact with the number 7", "far away"} {
		handles = append(handles, w.remember(memory.RememberRequest{Content: text}).Memory.Handle)
	}
	if got := conflicts(w); len(got) != 0 {
		t.Fatalf("without vectors %v are similar", got)
	}
	provider.away = false
	_, err := w.Backfill(ctx, w.c.Org, time.Time{}, nil)
	w.must(err)
	want := []string{fmt.Sprintf("vector %s %s", handles[1], handles[0])}
	if got := conflicts(w); !slices.Equal(got, want) {
		t.Errorf("late vectors note %v, want %v", got, want)
	}
	provider.model = "next"
	_, err = w.Backfill(ctx, w.c.Org, time.Time{}, nil)
	w.must(err)
	if got := conflicts(w); !slices.Equal(got, want) {
		t.Errorf("another model notes %v", got)
	}
}

// laterProvider gives known vectors, unless it is away.
type laterProvider struct {
	vectors map[string][]float32
	away    bool
	model   string
}

func (p *laterProvider) Model() string { return "later" + p.model }

func (p *laterProvider) Thresholds() embedding.Thresholds {
	return embedding.Thresholds{Dedupe: 0.94, Similar: 0.82}
}

func (p *laterProvider) Embed(_ context.Context, texts []string) ([]embedding.Vector, error) {
	if p.away {
		return nil, errors.New("away")
	}
	out := make([]embedding.Vector, len(texts))
	for i, t := range texts {
		out[i] = p.vectors[t]
	}
	return out, nil
}
