package memory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

// harness is a Store on a database of its own.
type harness struct {
	store    *postgres.Store
	master   *secret.Master
	database pgtest.Database
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	d := pgtest.NewDatabase(t)
	return &harness{store: postgres.New(d.DB, master), master: master, database: d}
}

// world is one project with the shop model, and a clock that stands still unless it is moved.
type world struct {
	*memory.Service
	t   testing.TB
	h   *harness
	now time.Time
	c   memory.Caller

	provider embedding.Provider
}

func newWorld(t testing.TB, provider embedding.Provider) *world {
	t.Helper()
	return newHarness(t).world(t, provider)
}

func (h *harness) world(t testing.TB, provider embedding.Provider) *world {
	t.Helper()
	w := &world{t: t, h: h, provider: provider, now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	w.Service = memory.New(h.store, memory.Options{Embedder: provider, RewriteDoubt: 50, Now: func() time.Time { return w.now }})
	ctx := context.Background()
	org, err := w.EnsureOrganization(ctx, "org-"+uuid.NewString())
	w.must(err)
	p, err := w.CreateProject(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin}, "shop", nil)
	w.must(err)
	w.c = memory.Caller{Org: org, Project: p.ID, User: "u1", Role: memory.RoleAdmin, Door: memory.FromCLI}
	_, err = w.ImportModel(ctx, w.c, shopModel())
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remember(r memory.RememberRequest) memory.RememberResponse {
	w.t.Helper()
	out, err := w.Remember(context.Background(), w.c, r)
	w.must(err)
	return out
}

func (w *world) get(ref string) memory.Memory {
	w.t.Helper()
	c := w.c
	c.Session = "" // looking on, not a session that is served
	ms, err := w.Get(context.Background(), c, []string{ref})
	w.must(err)
	return ms[0]
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

// shopModel is a small model with bindings.
func shopModel() memory.ModelImport {
	return memory.ModelImport{
		Model: &c4model.Model{Name: "Shop", Elements: []c4model.Element{
			{Key: "customer", Name: "Customer", Level: c4model.Person},
			{Key: "shop", Name: "Shop", Level: c4model.System},
			{Key: "shop.web", Name: "Storefront", Level: c4model.Container, Parent: "shop"},
			{Key: "shop.api", Name: "Orders", Level: c4model.Container, Parent: "shop", Technology: "Go"},
			{Key: "shop.api.auth", Name: "Auth", Level: c4model.Component, Parent: "shop.api"},
			{Key: "shop.web.auth", Name: "Auth", Level: c4model.Component, Parent: "shop.web"},
		}, Relationships: []c4model.Relationship{{Source: "shop.web", Destination: "shop.api", Description: "places orders"}},
			Decisions: []c4model.Decision{{ID: "4", Title: "Queue the orders", Status: "accepted", Summary: "Orders wait in a queue."}}},
		Bindings: []c4model.Binding{
			{Element: "shop.web", Pattern: "web/**", Source: "model"},
			{Element: "shop.api", Pattern: "api/**", Source: "model"},
			{Element: "shop.api.auth", Pattern: "api/auth/**", Source: "model"},
		},
		Source: "workspace.dsl",
	}
}
