package session_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/session"
)

// world is one project with a small model, and a clock that is moved by hand.
type world struct {
	*session.Service
	memory *memory.Service
	store  *postgres.Store
	master *secret.Master
	d      pgtest.Database
	t      testing.TB
	c      memory.Caller

	mu  sync.Mutex
	now time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	d := pgtest.NewDatabase(t)
	w := &world{t: t, d: d, store: postgres.New(d.DB, master), master: master, now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	w.memory = memory.New(w.store, memory.Options{Now: w.clock})
	w.Service = session.New(w.memory, w.store)
	ctx := context.Background()
	org, err := w.memory.EnsureOrganization(ctx, "org-"+uuid.NewString())
	w.must(err)
	p, err := w.memory.CreateProject(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin}, "shop", nil)
	w.must(err)
	admin := memory.Caller{Org: org, Project: p.ID, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	_, err = w.memory.ImportModel(ctx, admin, memory.ModelImport{
		Model: &c4model.Model{Elements: []c4model.Element{
			{Key: "shop", Name: "Shop", Level: c4model.System},
			{Key: "shop.web", Name: "Storefront", Level: c4model.Container, Parent: "shop"},
			{Key: "shop.api", Name: "Orders", Level: c4model.Container, Parent: "shop"},
			{Key: "shop.api.auth", Name: "Auth", Level: c4model.Component, Parent: "shop.api"},
			{Key: "shop.mail", Name: "Mail", Level: c4model.Container, Parent: "shop"},
		}},
		Bindings: []c4model.Binding{{Element: "shop.web", Pattern: "web/**"}, {Element: "shop.api", Pattern: "api/**"}, {Element: "shop.api.auth", Pattern: "api/auth/**"}},
		Source:   "w.dsl",
	})
	w.must(err)
	w.c = memory.Caller{Org: org, Project: p.ID, User: "ana", Agent: "codex", Role: memory.RoleAgent, Door: memory.FromMCP}
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// as is the caller as somebody else, or in a session.
func (w *world) as(user, client string) memory.Caller {
	c := w.c
	c.User, c.Session = user, client
	return c
}

func (w *world) start(c memory.Caller, r session.StartRequest) session.Started {
	w.t.Helper()
	out, err := w.StartSession(context.Background(), c, r)
	w.must(err)
	return out
}

func (w *world) finish(c memory.Caller, r session.FinishRequest) session.Ended {
	w.t.Helper()
	out, err := w.FinishSession(context.Background(), c, r)
	w.must(err)
	return out
}

func (w *world) remember(content string, elements ...string) memory.Memory {
	w.t.Helper()
	out, err := w.memory.Remember(context.Background(), w.c, memory.RememberRequest{Kind: memory.Pitfall, Content: content, Elements: elements, Separate: true})
	w.must(err)
	return out.Memory
}

// recall asks as a session, through the door that every call passes.
func (w *world) recall(c memory.Caller, query string) memory.RecallResponse {
	w.t.Helper()
	c, err := w.Arrive(context.Background(), c)
	w.must(err)
	out, err := w.memory.Recall(context.Background(), c, memory.RecallRequest{Query: query})
	w.must(err)
	return out
}

func (w *world) record(handle string) memory.Record {
	w.t.Helper()
	var rec memory.Record
	w.must(w.store.View(context.Background(), w.c.Org, func(v memory.View) error {
		id, err := v.ByHandle(context.Background(), handle)
		if err != nil {
			return err
		}
		recs, err := v.Records(context.Background(), []uuid.UUID{id})
		if len(recs) == 1 {
			rec = recs[0]
		}
		return err
	}))
	return rec
}

func (w *world) outcomes() []memory.Memory {
	w.t.Helper()
	list, err := w.memory.List(context.Background(), w.c, memory.ListRequest{Kinds: []memory.Kind{memory.SessionOutcome}})
	w.must(err)
	return list.Memories
}

// wants checks an error's code and that its text has the words.
func wants(t testing.TB, err error, code problem.Code, words ...string) {
	t.Helper()
	if !problem.Is(err, code) {
		t.Fatalf("got %v, want a problem of code %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %q", err, word)
		}
	}
	if p, _ := problem.As(err); len(p.Fixes) == 0 {
		t.Errorf("%q offers no fix", err)
	}
}
