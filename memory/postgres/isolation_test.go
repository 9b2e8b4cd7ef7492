package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

// secretWords stand in every field that a person or an agent may write. They are in no model and no dictionary.
var secretWords = []string{"quobblefrax", "zintharmole", "plivvenact", "drumquizzle", "yorbletwin", "snargvoxel", "fleebinthor", "wuxelgrond", "glimmertonk", "tribblenock", "vexomander", "hulgrasp", "thrumbleskip"}

// domain is the domain with the Store below it.
type domain struct {
	*memory.Service
	store *store.Store
	db    *postgres.DB
}

// serviceOn is the domain on a test's database, with a master key of its own.
func serviceOn(t *testing.T, d pgtest.Database) domain {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	own := store.New(d.DB, master)
	return domain{memory.New(own, memory.Options{}), own, d.DB}
}

// fill writes one of everything into an organization.
func fill(t *testing.T, s domain, name string) memory.Caller {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	org, err := s.EnsureOrganization(ctx, name)
	must(err)
	p, err := s.CreateProject(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin}, "shop", []string{"remote:example.org/shop"})
	must(err)
	c := memory.Caller{Org: org, Project: p.ID, User: "u1", Role: memory.RoleAdmin, Door: memory.FromCLI, Session: "s1"}
	for _, bank := range []string{"till", "bank"} { // the second import leaves an alias
		_, err = s.ImportModel(ctx, c, memory.ModelImport{Model: &c4model.Model{
			Elements:      []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System}, {Key: bank, Name: "Bank", Level: c4model.System}},
			Relationships: []c4model.Relationship{{Source: "shop", Destination: bank}},
			Decisions:     []c4model.Decision{{ID: "1", Title: "One"}},
		}, Bindings: []c4model.Binding{{Element: "shop", Pattern: "shop/**", Source: "model"}}, Source: "w.dsl"})
		must(err)
	}
	m, err := s.Remember(ctx, c, memory.RememberRequest{Content: secretWords[0] + " lives in [[" + secretWords[1] + "]]", Title: secretWords[2], Why: secretWords[3],
		Tags: []string{secretWords[4]}, Paths: []string{"shop/a.go"}, Elements: []string{"shop"}})
	must(err)
	_, err = s.Get(ctx, c, []string{m.Memory.Handle})
	must(err)
	_, err = s.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Memory.Handle, Holds: true, Note: secretWords[7]})
	must(err)
	_, err = s.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Memory.Handle, Holds: false, Note: secretWords[5]})
	must(err)
	c.Retry = "once"
	_, err = s.Remember(ctx, c, memory.RememberRequest{Content: secretWords[6] + " now", Supersedes: m.Memory.Handle})
	must(err)
	c.Retry = ""
	token, err := s.CreateToken(ctx, c, memory.TokenRequest{Name: "robot"})
	must(err)
	_, err = s.SignIn(ctx, token.Text)
	must(err)
	// The second of two equal records leaves its key alone.
	_, err = s.ImportMemories(ctx, c, memory.ImportRequest{Records: []memory.ImportRecord{{Key: "1", Content: "the bell rings"}, {Key: "2", Content: "The bell rings."}}})
	must(err)
	must(fillDrift(ctx, s, c))
	must(fillReviews(ctx, s, c))
	must(fillSessions(ctx, s, c))
	return c
}

// fillSessions finishes one work session and leaves another under way, with words of their own.
func fillSessions(ctx context.Context, s domain, c memory.Caller) error {
	sessions := session.New(s.Service, s.store)
	c.Session = "client-1"
	for n := range 2 {
		if _, err := sessions.StartSession(ctx, c, session.StartRequest{Task: secretWords[9], Elements: []string{"shop"}}); err != nil {
			return err
		}
		if _, err := sessions.HeartbeatSession(ctx, c, session.HeartbeatRequest{Summary: secretWords[10], Edited: []string{"shop/a.go"}}); err != nil {
			return err
		}
		if n == 0 {
			if _, err := sessions.FinishSession(ctx, c, session.FinishRequest{FollowUps: []string{secretWords[11]}, UsedMemories: []string{}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillReviews leaves a similar pair and a decision with a reason.
func fillReviews(ctx context.Context, s domain, c memory.Caller) error {
	for _, n := range []string{"three", "four"} {
		r := memory.RememberRequest{Content: "the clerk of the till counts " + n + " times before the evening comes", Elements: []string{"shop"}}
		if _, err := s.Remember(ctx, c, r); err != nil {
			return err
		}
	}
	reviews := review.New(s.Service, s.store)
	q, err := reviews.ReviewQueue(ctx, c, review.QueueRequest{Reasons: []review.Reason{review.Conflict}})
	if err != nil {
		return err
	}
	if len(q.Items) != 1 {
		return fmt.Errorf("the similar pair is in the queue as %+v", q.Items)
	}
	_, err = reviews.DecideReview(ctx, c, review.DecideRequest{Action: review.Confirm, Items: []string{q.Items[0].ID}, Reason: secretWords[12]})
	return err
}

// fillDrift pushes runs: the code supports what a memory quotes, then an element drifts, which one memory was written knowing
// and the other not, then the quoted code is gone and a model comes that would drop most elements.
func fillDrift(ctx context.Context, s domain, c memory.Caller) error {
	branch := "main"
	if _, err := s.ChangeDriftSettings(ctx, c, memory.DriftSettingsChange{TrackedBranch: &branch}); err != nil {
		return err
	}
	for _, content := range []string{"`" + secretWords[8] + "()` waits for the till", "nobody waits for the till"} {
		if _, err := s.Remember(ctx, c, memory.RememberRequest{Content: content, Elements: []string{"shop"}, Separate: true}); err != nil {
			return err
		}
	}
	ci := c
	ci.Role, ci.Tracked = memory.RoleCI, true
	ancestors := []string{}
	for n := range 3 {
		commit, score := fmt.Sprintf("%040d", n), 100
		ancestors = append([]string{commit}, ancestors...)
		push := memory.RunPush{
			Repository: "example.org/shop", Branch: branch, DefaultBranch: branch, Ancestors: ancestors, Tracked: true,
			Report: drift.Report{Status: drift.Checked, Score: &score, Commit: commit, CommittedAt: time.Now(), InputHash: commit, EngineVersion: 1, History: "full"},
		}
		if n == 1 {
			push.Report.Findings = []drift.Finding{{
				Fingerprint: "gone", Check: drift.Existence, Outcome: drift.Missing, Element: "shop", Subject: "shop/**", Message: "no file matches", Weight: 3,
				Since: &drift.Since{Commit: commit, Time: time.Now(), Author: "Kim", Subject: "Tidy", Cause: drift.CodeChanged},
			}}
		}
		if n == 2 {
			push.Model = &c4model.Model{Elements: []c4model.Element{{Key: "yard", Name: "Yard", Level: c4model.System}}}
			push.Source = "w.dsl"
			push.Owners = []memory.OwnerRule{{Pattern: "*", Owners: []string{"@u1"}}}
		}
		list, err := s.Watch(ctx, ci, "")
		if err != nil {
			return err
		}
		for i, m := range list.Memories {
			v := evidence.Verdict{ID: m.ID, Commit: commit, Tree: commit, AsSeen: n == 1 && i == 0}
			for _, claim := range m.Claims {
				state := evidence.Holds
				if n == 2 {
					state = evidence.Gone
				}
				v.Claims = append(v.Claims, evidence.ClaimVerdict{Claim: evidence.Claim{Text: claim.Text, Kind: claim.Kind}, State: state, Evidence: n < 2, Before: []string{"shop/a.go"}})
			}
			push.Verdicts = append(push.Verdicts, v)
		}
		if _, err := s.PushRun(ctx, ci, push); err != nil {
			return err
		}
	}
	return nil
}

// tenantTables asks the catalogue, so that a new table cannot be forgotten.
func tenantTables(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(context.Background(), `
		SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped
		WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 20 {
		t.Fatalf("only %v are tables of a tenant", names)
	}
	return names
}

// As stele_app nothing is visible without an organization, and with one nothing of another, through every table.
func TestEveryTableIsOfOneTenant(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	s := serviceOn(t, d)
	a, b := fill(t, s, "a"), fill(t, s, "b")
	ctx := context.Background()
	app := d.ConnectApp(t)
	empty := map[string]bool{"vectors": true, "element_vectors": true} // filled by providers
	for _, table := range tenantTables(t, app) {
		name := pgx.Identifier{table}.Sanitize()
		count := func(q pgx.Tx, where string, args ...any) (n int) {
			t.Helper()
			if err := q.QueryRow(ctx, `SELECT count(*) FROM `+name+where, args...).Scan(&n); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			return n
		}
		for _, org := range []uuid.UUID{uuid.Nil, a.Org, b.Org} {
			tx, err := app.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if org != uuid.Nil {
				if _, err := tx.Exec(ctx, `SELECT set_config('app.org_id', $1, true)`, org.String()); err != nil {
					t.Fatal(err)
				}
			}
			switch n := count(tx, ``); {
			case org == uuid.Nil && n != 0:
				t.Errorf("%s shows %d rows without an organization", table, n)
			case org != uuid.Nil && n == 0 && !empty[table]:
				t.Errorf("%s is empty: the test would see no leak there", table)
			}
			if n := count(tx, ` WHERE org_id <> $1`, org); n != 0 {
				t.Errorf("%s shows %d rows of another organization", table, n)
			}
			if tag, err := tx.Exec(ctx, `UPDATE `+name+` SET org_id = org_id WHERE org_id <> $1`, org); err == nil && tag.RowsAffected() != 0 {
				t.Errorf("%s: %d rows of another organization could be updated", table, tag.RowsAffected())
			}
			_ = tx.Rollback(ctx)
		}
	}
	if _, err := app.Exec(ctx, `SELECT name FROM organization_names`); err == nil {
		t.Error("stele_app can list the names of the organizations")
	}
	// Handles and ids of another tenant do not exist.
	list, err := s.List(ctx, a, memory.ListRequest{Status: "all"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Memories {
		for _, ref := range []string{m.Handle, m.ID.String()} {
			if _, err := s.Get(ctx, b, []string{ref}); !problem.Is(err, problem.NotFound) {
				t.Errorf("another organization asks for %s: %v", ref, err)
			}
		}
	}
	stranger := a
	stranger.Project = b.Project
	if v, err := s.Model(ctx, stranger); err != nil || len(v.Elements) != 0 {
		t.Errorf("another organization's project shows %d elements, %v", len(v.Elements), err)
	}
}

// The trail only grows: the service itself could not rewrite it.
func TestAuditOnlyGrows(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	app := d.ConnectApp(t)
	for _, statement := range []string{`UPDATE audit SET verb = 'x'`, `DELETE FROM audit`, `TRUNCATE audit`, `DELETE FROM memories`, `DELETE FROM memory_versions`} {
		if _, err := app.Exec(context.Background(), statement); err == nil {
			t.Errorf("stele_app may %s", statement)
		}
	}
}

// A dump of the whole database holds no word of any memory.
func TestDumpHoldsNoWord(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	s := serviceOn(t, d)
	c := fill(t, s, "a")
	dump := strings.ToLower(pgDump(t, d.Admin))
	if !strings.Contains(dump, strings.ToLower(c.Project.String())) || !strings.Contains(dump, "shop/a.go") {
		t.Fatal("the dump does not hold the data at all")
	}
	for _, word := range secretWords {
		forms := []string{word, fmt.Sprintf("%x", word), word[:6]}
		for _, form := range forms {
			if strings.Contains(dump, form) {
				t.Errorf("the dump holds %q (as %q)", word, form)
			}
		}
		found, err := s.Recall(context.Background(), c, memory.RecallRequest{Query: secretWords[6]})
		if err != nil || len(found.Results) != 1 {
			t.Fatalf("recall does not find what the dump hides: %v, %v", found, err)
		}
	}
}

func pgDump(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "pg_dump", "--dbname", url)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, errs.String())
	}
	return out.String()
}

// A wrong master key opens nothing, and says so.
func TestWrongMasterKey(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	c := fill(t, serviceOn(t, d), "a")
	_, err := serviceOn(t, d).List(context.Background(), c, memory.ListRequest{})
	p, ok := problem.As(err)
	if !ok || len(p.Fixes) == 0 || !strings.Contains(p.Error(), "master key") {
		t.Errorf("with another master key: %v", err)
	}
}
