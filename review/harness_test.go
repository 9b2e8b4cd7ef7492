package review_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/review"
)

// world is one project with the shop model, its queue, and a clock that stands still unless it is moved.
type world struct {
	*review.Service
	memories *memory.Service
	store    *postgres.Store
	database pgtest.Database
	t        testing.TB
	now      time.Time
	c        memory.Caller // a reviewer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, database: pgtest.NewDatabase(t), now: time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC)}
	w.store = postgres.New(w.database.DB, master)
	w.memories = memory.New(w.store, memory.Options{RewriteDoubt: 50, Now: func() time.Time { return w.now }})
	w.Service = review.New(w.memories, w.store)
	w.c = w.tenant("org")
	return w
}

// tenant makes an organization with a project of the shop model.
func (w *world) tenant(name string) memory.Caller {
	w.t.Helper()
	ctx := context.Background()
	org, err := w.memories.EnsureOrganization(ctx, name+"-"+uuid.NewString())
	w.must(err)
	return w.project(org, "shop")
}

func (w *world) project(org uuid.UUID, name string) memory.Caller {
	w.t.Helper()
	ctx := context.Background()
	p, err := w.memories.CreateProject(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin}, name, nil)
	w.must(err)
	c := memory.Caller{Org: org, Project: p.ID, User: "kim", Role: memory.RoleReviewer, Door: memory.FromCLI}
	w.model(c, "shop.web", "shop.api", "shop.api.auth")
	return c
}

// model makes the project's model that of some components of the shop.
func (w *world) model(c memory.Caller, keys ...string) {
	w.t.Helper()
	m := &c4model.Model{Name: "Shop", Elements: []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System}}}
	var bindings []c4model.Binding
	for _, key := range keys {
		parent := key[:strings.LastIndexByte(key, '.')]
		level := c4model.Container
		if strings.Count(key, ".") == 2 {
			level = c4model.Component
		}
		m.Elements = append(m.Elements, c4model.Element{Key: key, Name: "The " + key[len(parent)+1:], Level: level, Parent: parent})
		bindings = append(bindings, c4model.Binding{Element: key, Pattern: folder(key) + "/**", Source: "model"})
	}
	_, err := w.memories.ImportModel(context.Background(), c, memory.ModelImport{Model: m, Bindings: bindings, Source: "workspace.dsl"})
	w.must(err)
}

// folder is where the files of an element are.
func folder(key string) string { return strings.ReplaceAll(strings.TrimPrefix(key, "shop."), ".", "/") }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remember(r memory.RememberRequest) memory.Memory {
	w.t.Helper()
	return w.rememberAs(w.c, r)
}

func (w *world) rememberAs(c memory.Caller, r memory.RememberRequest) memory.Memory {
	w.t.Helper()
	if r.Kind == "" && r.Supersedes == "" {
		r.Kind = memory.Pitfall
	}
	out, err := w.memories.Remember(context.Background(), c, r)
	w.must(err)
	return out.Memory
}

// served notes that memories were served to a session now.
func (w *world) served(session string, door memory.Door, ms ...memory.Memory) {
	w.t.Helper()
	var shown []memory.Impression
	for _, m := range ms {
		shown = append(shown, memory.Impression{Memory: m.ID, Revision: m.Revision, Door: door})
	}
	w.must(w.store.Impress(context.Background(), w.c.Org, session, w.now, shown))
}

// sql runs a statement as the administrator, for what only time or other programs bring about.
func (w *world) sql(statement string, args ...any) {
	w.t.Helper()
	conn := w.database.ConnectAdmin(w.t)
	_, err := conn.Exec(context.Background(), statement, args...)
	w.must(err)
	w.must(conn.Close(context.Background()))
}

func (w *world) later(d time.Duration) { w.now = w.now.Add(d) }

// queue reads the whole queue as a caller.
func (w *world) queue(c memory.Caller) review.Queue {
	w.t.Helper()
	q, err := w.ReviewQueue(context.Background(), c, review.QueueRequest{All: true, PerGroup: review.MaxLimit, Limit: review.MaxLimit})
	w.must(err)
	return q
}

// reasons are those for which a memory is in the queue.
func (w *world) reasons(m memory.Memory) []review.Reason {
	w.t.Helper()
	var out []review.Reason
	for _, i := range w.queue(w.c).Items {
		if i.Memory.ID == m.ID || i.Other != nil && i.Other.ID == m.ID {
			out = append(out, i.Reason)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// item is the item of a memory for a reason.
func (w *world) item(m memory.Memory, r review.Reason) review.Item {
	w.t.Helper()
	for _, i := range w.queue(w.c).Items {
		if i.Memory.ID == m.ID && i.Reason == r {
			return i
		}
	}
	w.t.Fatalf("%s is not in the queue as %s", m.Handle, r)
	return review.Item{}
}

func (w *world) decide(r review.DecideRequest) review.Decision {
	w.t.Helper()
	w.later(time.Minute)
	d, err := w.DecideReview(context.Background(), w.c, r)
	w.must(err)
	return d
}

func (w *world) undo(d review.Decision) {
	w.t.Helper()
	w.later(time.Minute)
	_, err := w.UndoReview(context.Background(), w.c, d.ID)
	w.must(err)
}

// records loads memories as stored.
func (w *world) records(ids ...uuid.UUID) []memory.Record {
	w.t.Helper()
	var out []memory.Record
	w.must(w.store.View(context.Background(), w.c.Org, func(v memory.View) (err error) {
		out, err = v.Records(context.Background(), ids)
		return err
	}))
	return out
}

func commit(n int) string { return fmt.Sprintf("%040x", n) }

// push sends a tracked run of a commit of a straight history.
func (w *world) push(n int, change func(*memory.RunPush)) {
	w.t.Helper()
	w.later(time.Minute)
	score := 100
	p := memory.RunPush{
		Repository: "example.org/shop", Branch: "main", DefaultBranch: "main", Tracked: true,
		Report: drift.Report{Status: drift.Checked, Score: &score, Commit: commit(n), CommittedAt: w.now, InputHash: fmt.Sprint("input", n), EngineVersion: 1, History: "full"},
	}
	for i := n; i >= 1; i-- {
		p.Ancestors = append(p.Ancestors, commit(i))
	}
	if change != nil {
		change(&p)
	}
	c := w.c
	c.Role, c.Tracked = memory.RoleCI, true
	_, err := w.memories.PushRun(context.Background(), c, p)
	w.must(err)
}

// gone is the finding that an element has no files since a commit.
func gone(w *world, element string, since int) drift.Finding {
	return drift.Finding{
		Fingerprint: "existence-" + element, Check: drift.Existence, Outcome: drift.Missing, Element: element, Subject: folder(element) + "/**",
		Message: "no file matches " + folder(element) + "/**", Weight: 3,
		Since: &drift.Since{Commit: commit(since), Time: w.now.Add(-time.Hour), Author: "Ana", Subject: "Move things", Cause: drift.CodeChanged},
	}
}

// moved is the finding that the files of an element are elsewhere since a commit.
func moved(w *world, element, to string, since int) drift.Finding {
	f := gone(w, element, since)
	f.Outcome, f.MovedTo = drift.Moved, to
	f.Fix = drift.Fix{File: "workspace.dsl", Action: "change", Old: f.Subject, New: to + "/**"}
	return f
}

// drifted makes an element drift with the next commit after n.
func (w *world) drifted(n int, findings ...drift.Finding) {
	w.t.Helper()
	w.push(n, func(p *memory.RunPush) { p.Report.Findings = findings })
}

// verdicts answers the watch list by a function.
func (w *world) verdicts(n int, judge func(evidence.Watched) evidence.Verdict) {
	w.t.Helper()
	c := w.c
	c.Role, c.Tracked = memory.RoleCI, true
	list, err := w.memories.Watch(context.Background(), c, "")
	w.must(err)
	w.push(n, func(p *memory.RunPush) {
		for _, m := range list.Memories {
			v := judge(m)
			v.ID, v.SeenIn = m.ID, true
			p.Verdicts = append(p.Verdicts, v)
		}
	})
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
