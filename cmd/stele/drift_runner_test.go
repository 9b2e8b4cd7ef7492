package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift/github"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

const runnerModel = `workspace {
  model {
    shop = softwareSystem "Shop" {
      api = container "API" "Takes orders" "Go" {
        properties {
          path "api"
        }
      }
      web = container "Web" "Shows them" "Go" {
        properties {
          path "web"
        }
      }
    }
  }
}
`

// runnerTest is a runner on a database of its own, with a project whose repository is a folder of the test.
func runnerTest(t *testing.T, g *gittest.Repo) (*driftRunner, memory.Caller) {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(pgtest.New(t), master)
	b := &backend{local: memory.New(s, memory.Options{}), store: s, config: config.Config{DataDir: t.TempDir()}}
	ctx := context.Background()
	org, err := b.local.EnsureOrganization(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	c := memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := b.local.CreateProject(ctx, c, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Project = p.ID
	// The domain takes no address of this machine, which a test needs.
	err = s.Write(ctx, org, []memory.SpaceKey{{Scope: memory.Project, Owner: p.ID.String()}}, func(tx memory.Tx) error {
		return tx.SetDriftSettings(ctx, p.ID, memory.DriftSettings{CloneURL: "file://" + g.Dir, Schedule: "* * * * *"})
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newDriftRunner(b, slog.New(slog.DiscardHandler))
	r.protocols = []string{"file"}
	return r, c
}

func TestRunnerComparesWhatItReadsItself(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("workspace.dsl", runnerModel).Write("go.mod", "module example.org/shop\n").Write("api/a.go", "package api\n").
		Write("web/w.go", "package web\n").Commit("Open")
	r, c := runnerTest(t, g)
	ctx := context.Background()
	if err := r.run(ctx, c.Org, c.Project); err != nil {
		t.Fatal(err)
	}
	score, err := r.b.local.DriftScore(ctx, c)
	if err != nil || score.Score == nil || *score.Score != 100 {
		t.Fatalf("%+v, %v", score, err)
	}
	model, err := r.b.local.Model(ctx, c)
	if err != nil || len(model.Elements) != 3 {
		t.Fatalf("the model of the repository became the project's: %+v, %v", model, err)
	}
	m, err := r.b.local.Remember(ctx, c, memory.RememberRequest{Content: "the API takes orders twice on retry", Elements: []string{"api"}, Seen: &memory.Seen{Commit: g.Head()}})
	if err != nil {
		t.Fatal(err)
	}
	g.Remove("api/a.go").Commit("Drop the API")
	if err := r.run(ctx, c.Org, c.Project); err != nil {
		t.Fatal(err)
	}
	got, err := r.b.local.Get(ctx, c, []string{m.Memory.Handle})
	if err != nil || len(got[0].Flags) != 1 || got[0].Flags[0].Flag != "verify" {
		t.Fatalf("%+v, %v", got, err)
	}
	g.Write("workspace.dsl", "workspace {").Commit("Break the model")
	if err := r.run(ctx, c.Org, c.Project); err != nil {
		t.Fatal(err)
	}
	if score, err = r.b.local.DriftScore(ctx, c); err != nil || score.Score != nil || score.Reason == "" {
		t.Errorf("a broken model: %+v, %v", score, err)
	}
}

func TestRunnerQueuesWhatIsDue(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a", "").Commit("one")
	r, c := runnerTest(t, g)
	ctx := context.Background()
	if err := r.due(ctx, c.Org); err != nil || len(r.queue) > 1 {
		t.Fatalf("%d waiting, %v", len(r.queue), err)
	}
	r.started = time.Now().Add(-time.Hour)
	for range 3 {
		if err := r.due(ctx, c.Org); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.queue) != 1 {
		t.Errorf("%d are waiting, and one project was due", len(r.queue))
	}
	if n, err := r.Pushed(ctx, github.Push{Repository: "github.com/other/repo", Branch: "main"}); n != 0 || err != nil {
		t.Errorf("a push to another repository queued %d, %v", n, err)
	}
	for range maxQueued - 1 {
		if err := r.Queue(ctx, uuid.New(), uuid.New()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Queue(ctx, uuid.New(), uuid.New()); err == nil {
		t.Error("the queue has no end")
	}
}

// The mirrors of projects that are not read any more go; those that are stay.
func TestRunnerRemovesMirrors(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("workspace.dsl", runnerModel).Write("api/a.go", "package api\n").Write("web/w.go", "package web\n").Commit("Open")
	r, c := runnerTest(t, g)
	if err := r.run(t.Context(), c.Org, c.Project); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(r.dir, uuid.NewString())
	if err := os.MkdirAll(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(r.dir)
	if err != nil || len(left) != 1 || left[0].Name() != c.Project.String() {
		t.Errorf("%v, %v", left, err)
	}
}
