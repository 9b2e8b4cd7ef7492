package memory_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestForgetRestoreErase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "the vault is in cellar two", Title: "Vault", Paths: []string{"api/vault.go"}}).Memory
	other := w.c
	other.User, other.Role = "u2", memory.RoleAgent

	_, err := w.Forget(ctx, other, memory.ForgetRequest{Memory: m.Handle})
	wants(t, err, problem.Forbidden, "reviewer")
	_, err = w.Forget(ctx, other, memory.ForgetRequest{Memory: m.Handle, Erase: true})
	wants(t, err, problem.Forbidden, "reviewer")

	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: "Vault"})
	w.must(err)
	if got := w.get(m.Handle); got.Status != memory.Retired || got.Content != m.Content {
		t.Errorf("forgotten: %+v", got)
	}
	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: m.Handle})
	wants(t, err, problem.Conflict, "already")
	taken := w.remember(memory.RememberRequest{Content: "another vault", Title: "vault"}).Memory
	_, err = w.Restore(ctx, w.c, m.Handle)
	wants(t, err, problem.Conflict, taken.Handle)
	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: taken.Handle, Erase: true})
	w.must(err)
	back, err := w.Restore(ctx, w.c, m.Handle)
	w.must(err)
	if back.Status != memory.Live {
		t.Errorf("restored: %+v", back)
	}
	if found, err := w.Recall(ctx, w.c, memory.RecallRequest{Query: "vault cellar"}); err != nil || len(found.Results) != 1 || found.Results[0].Handle != m.Handle {
		t.Errorf("recall after restoring: %+v, %v", found, err)
	}

	out, err := w.Forget(ctx, w.c, memory.ForgetRequest{Memory: m.Handle, Erase: true})
	w.must(err)
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "backups") {
		t.Errorf("erasing warns %q", out.Warnings)
	}
	gone := w.get(m.Handle)
	if gone.Status != memory.Erased || gone.Content != "" || gone.Title != "" || len(gone.Paths) != 0 {
		t.Errorf("a tombstone with %+v", gone)
	}
	h, err := w.History(ctx, w.c, m.Handle)
	w.must(err)
	if len(h.Versions) != 1 || !h.Versions[0].Erased || h.Versions[0].Content != "" {
		t.Errorf("history keeps %+v", h.Versions)
	}
	_, err = w.Restore(ctx, w.c, m.Handle)
	wants(t, err, problem.Conflict, "erased")
}

func TestHistoryTellsWhatHappened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "caches live 5 minutes", Seen: &memory.Seen{Commit: "abc123"}}).Memory
	step := func() { w.now = w.now.Add(time.Minute) }
	step()
	_, err := w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: false, Note: "I saw 10"})
	w.must(err)
	step()
	_, err = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true, Note: "it was a test run"})
	w.must(err)
	step()
	n := w.remember(memory.RememberRequest{Content: "caches live 10 minutes", Supersedes: m.Handle}).Memory
	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: n.Handle, Reason: "measured wrongly"})
	w.must(err)
	if h, err := w.History(ctx, w.c, n.Handle); err != nil || h.Events[len(h.Events)-1].Detail != "measured wrongly" {
		t.Errorf("events %+v, %v", h.Events, err)
	}
	h, err := w.History(ctx, w.c, m.Handle)
	w.must(err)
	var got []string
	for _, e := range h.Events {
		got = append(got, strings.TrimSpace(e.Verb+" "+e.Detail))
	}
	if want := []string{"remember commit abc123", "dispute I saw 10", "confirm it was a test run", "supersede by " + n.Handle}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	line, err := w.Timeline(ctx, w.c, m.Handle, 0)
	w.must(err)
	if len(line.Entries) != 2 || !line.Entries[0].Anchor || line.Entries[1].Handle != n.Handle {
		t.Errorf("timeline %+v", line.Entries)
	}
}

func TestListFiltersAndPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	var handles []string
	for _, r := range []memory.RememberRequest{
		{Content: "one", Kind: memory.Pitfall, Elements: []string{"shop.api"}},
		{Content: "two", Kind: memory.Note},
		{Content: "three", Kind: memory.Pitfall},
	} {
		handles = append(handles, w.remember(r).Memory.Handle)
		w.now = w.now.Add(time.Hour)
	}
	list := func(r memory.ListRequest) (got []string, next string) {
		out, err := w.List(ctx, w.c, r)
		w.must(err)
		for _, m := range out.Memories {
			got = append(got, m.Handle)
		}
		return got, out.NextCursor
	}
	since := w.now.Add(-90 * time.Minute)
	for name, tc := range map[string]struct {
		r    memory.ListRequest
		want []string
	}{
		"all":     {memory.ListRequest{}, []string{handles[2], handles[1], handles[0]}},
		"kind":    {memory.ListRequest{Kinds: []memory.Kind{memory.Pitfall}}, []string{handles[2], handles[0]}},
		"element": {memory.ListRequest{Element: "Orders"}, []string{handles[0]}},
		"since":   {memory.ListRequest{Since: &since}, []string{handles[2]}},
		"author":  {memory.ListRequest{Author: "nobody"}, nil},
		"status":  {memory.ListRequest{Status: memory.Retired}, nil},
	} {
		if got, _ := list(tc.r); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	page, next := list(memory.ListRequest{Limit: 2})
	rest, end := list(memory.ListRequest{Limit: 2, Cursor: next})
	if !slices.Equal(append(page, rest...), []string{handles[2], handles[1], handles[0]}) || end != "" {
		t.Errorf("pages %v and %v, then cursor %q", page, rest, end)
	}
	_, err := w.List(ctx, w.c, memory.ListRequest{Status: "gone"})
	wants(t, err, problem.Invalid, "status")
}

// What one user keeps to themself, and what another project holds, does not exist for others.
func TestScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	mine := w.remember(memory.RememberRequest{Content: "my editor needs tabs", Title: "Tabs", Scope: memory.Personal}).Memory
	ours := w.remember(memory.RememberRequest{Content: "all services log json", Title: "Logs", Scope: memory.Organization}).Memory
	here := w.remember(memory.RememberRequest{Content: "orders are idempotent", Title: "Orders twice"}).Memory

	other := w.c
	other.User = "u2"
	_, err := w.Get(ctx, other, []string{mine.Handle})
	wants(t, err, problem.NotFound, mine.Handle)
	_, err = w.Confirm(ctx, other, memory.ConfirmRequest{Memory: mine.ID.String(), Holds: true})
	wants(t, err, problem.NotFound)
	_, err = w.Remember(ctx, other, memory.RememberRequest{Content: "x", Supersedes: "Tabs"})
	wants(t, err, problem.NotFound)

	p, err := w.CreateProject(ctx, w.c, "warehouse", nil)
	w.must(err)
	elsewhere := w.c
	elsewhere.Project, elsewhere.Bound = p.ID, p.ID
	_, err = w.Get(ctx, elsewhere, []string{here.Handle})
	wants(t, err, problem.NotFound)
	ms, err := w.Get(ctx, elsewhere, []string{mine.Handle, ours.Handle})
	w.must(err)
	if len(ms) != 2 {
		t.Errorf("personal and organization memories follow into another project: got %d", len(ms))
	}
	// The same title may be used once in each place.
	for _, scope := range []memory.Scope{memory.Project, memory.Personal} {
		if _, err := w.Remember(ctx, w.c, memory.RememberRequest{Content: "local logs are text", Title: "Logs", Scope: scope}); err != nil {
			t.Errorf("title in scope %s: %v", scope, err)
		}
	}
}

func TestProjectsAreFoundByWhatTheyAreKnownBy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	p, err := w.CreateProject(ctx, w.c, "depot", []string{"remote:example.org/depot", "gitdir:/src/depot/.git"})
	w.must(err)
	for _, ref := range []string{"DEPOT", p.ID.String(), "remote:example.org/depot"} {
		if got, err := w.FindProject(ctx, w.c, ref); err != nil || got.ID != p.ID {
			t.Errorf("%q leads to %v, %v", ref, got.ID, err)
		}
	}
	same, err := w.CreateProject(ctx, w.c, "clone", []string{"remote:example.org/depot"})
	w.must(err)
	if same.ID != p.ID {
		t.Error("a clone of one repository became another project")
	}
	_, err = w.CreateProject(ctx, w.c, "Depot", []string{"gitdir:/other/depot/.git"})
	wants(t, err, problem.Conflict, "Depot")
	_, err = w.FindProject(ctx, w.c, "depo")
	wants(t, err, problem.NotFound, "depot", "shop")
}

// Whoever changed a memory knows it: their own change is no reason to read it again before they confirm it.
func TestOnesOwnEditIsNoSurprise(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "Parcels are weighed twice."}).Memory
	mine, other := w.c, w.c
	mine.Session, other.Session = "s1", "s2"
	for _, c := range []memory.Caller{mine, other} {
		_, err := w.Get(ctx, c, []string{m.Handle})
		w.must(err)
	}
	_, err := w.Edit(ctx, mine, memory.EditRequest{Memory: m.Handle, Tags: &[]string{"scale"}})
	w.must(err)
	_, err = w.Confirm(ctx, mine, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	w.must(err)
	_, err = w.Confirm(ctx, other, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	wants(t, err, problem.Stale, "revision 1, now 2")
	_, err = w.Confirm(ctx, mine, memory.ConfirmRequest{Memory: m.Handle, Holds: true, Revision: 9})
	wants(t, err, problem.Stale, "revision 2, not 9")
}

// No project can be called what means another one.
func TestAProjectCannotTakeAnothersPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	for _, name := range []string{w.c.Project.String(), strings.ToUpper(w.c.Project.String()), "remote:example.org/shop", "a:b"} {
		_, err := w.CreateProject(ctx, w.c, name, nil)
		wants(t, err, problem.Invalid, "looks like an id")
	}
	for _, identity := range []string{"shop", w.c.Project.String(), "", ":x", "Remote:x", "id:nonsense"} {
		_, err := w.CreateProject(ctx, w.c, "aaa", []string{identity})
		wants(t, err, problem.Invalid, "identities")
		wants(t, w.AddIdentities(ctx, w.c, w.c.Project, []string{identity}), problem.Invalid, "identities")
	}
	_, err := w.CreateProject(ctx, w.c, "aaa", []string{"id:" + w.c.Project.String()})
	wants(t, err, problem.Conflict, "another project")
	w.must(w.AddIdentities(ctx, w.c, w.c.Project, []string{"id:" + w.c.Project.String(), "id:01920000-0000-7000-8000-000000000000"}))
	for _, ref := range []string{"shop", "SHOP", w.c.Project.String(), "id:01920000-0000-7000-8000-000000000000"} {
		p, err := w.FindProject(ctx, w.c, ref)
		if err != nil || p.ID != w.c.Project {
			t.Errorf("%s: %s, %v", ref, p.ID, err)
		}
		ps, err := w.Projects(ctx, w.c)
		w.must(err)
		if m, ok := memory.MatchProject(ps, ref); !ok || m.ID != p.ID {
			t.Errorf("%s is matched to %s", ref, m.ID)
		}
	}
	c := w.c
	c.Retry = "k"
	_, err = w.CreateProject(ctx, c, "one", nil)
	w.must(err)
	_, err = w.CreateProject(ctx, c, "two", nil)
	wants(t, err, problem.Conflict, "another request")
}
