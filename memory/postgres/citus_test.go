package postgres_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/embedding/embedtest"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

// citusVariable names a cluster to try: the address, as a superuser, of a database on the coordinator that is empty but for
// the extension citus, with its workers added and pgvector installed on every node. The test leaves its tables there.
const citusVariable = "STELE_TEST_CITUS_URL"

// distribution are the statements that docs/operations.md tells people to run, in their order: those of the owner, and then those of
// a superuser, which set up roles and the database.
func distribution(t *testing.T) (owners, superusers []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Distributing by org_id on Citus\n")
	section, _, _ = strings.Cut(section, "\n## ")
	statement := ""
	for line := range strings.Lines(section) {
		code, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		statement += code
		if !strings.HasSuffix(code, ";\n") || strings.Count(statement, "$$")%2 == 1 {
			continue
		}
		if strings.HasPrefix(statement, "ALTER ") || strings.HasPrefix(statement, "REVOKE ") {
			superusers = append(superusers, statement)
		} else {
			owners = append(owners, statement)
		}
		statement = ""
	}
	if len(owners) < 2 || len(superusers) == 0 || statement != "" {
		t.Fatalf("docs/operations.md gives %d statements for the owner, %d for a superuser and %q as this test reads them", len(owners), len(superusers), statement)
	}
	return owners, superusers
}

// The migrations of this program, distributed as the documentation says, hold two organizations apart and whole.
func TestCitus(t *testing.T) {
	t.Parallel()
	owners, superusers := distribution(t)
	admin := os.Getenv(citusVariable)
	if admin == "" {
		t.Log("no cluster was tried: set " + citusVariable + " to try one")
		return
	}
	ctx := t.Context()
	address, err := url.Parse(admin)
	if err != nil {
		t.Fatalf("%s is not the address of a database", citusVariable)
	}
	name := address.Path[1:]
	roles := postgres.Roles{Database: name, OwnerPassword: rand.Text(), AppPassword: rand.Text()}
	if err := postgres.Bootstrap(ctx, admin, roles); err != nil {
		t.Fatal(err)
	}
	as := func(role, password string) string {
		u := *address
		u.User = url.UserPassword(role, password)
		return u.String()
	}
	owner := as(postgres.OwnerRole, roles.OwnerPassword)
	if before, err := postgres.Migrate(ctx, owner); err != nil || before.Current != 0 {
		t.Fatalf("the database was at %+v, want an empty one: %v", before, err)
	}
	run := func(address string, statements ...string) {
		t.Helper()
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(ctx) }() // it is read from no more
		for _, sql := range statements {
			if _, err := conn.Exec(ctx, sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	run(owner, owners...)
	for _, sql := range superusers {
		run(admin, strings.ReplaceAll(sql, "DATABASE stele ", "DATABASE "+pgx.Identifier{name}.Sanitize()+" "))
	}
	// What belongs to one organization is asked of one shard. Citus fails whatever would ask several.
	run(admin, "ALTER ROLE "+postgres.AppRole+" IN DATABASE "+pgx.Identifier{name}.Sanitize()+" SET citus.multi_task_query_log_level = 'error'")
	db, err := postgres.Open(ctx, postgres.Config{URL: as(postgres.AppRole, roles.AppPassword)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := db.Verify(ctx); err != nil {
		t.Error(err)
	}
	twoOrganizations(t, serviceOn(t, pgtest.Database{DB: db}))
}

// What a cluster is asked holds on one server too.
func TestTwoOrganizations(t *testing.T) {
	t.Parallel()
	twoOrganizations(t, serviceOn(t, pgtest.NewDatabase(t)))
}

// twoOrganizations is a short pass over everything: both write, push runs, recall, confirm and retire; neither sees the other;
// and what each has contradicts itself nowhere.
func twoOrganizations(t *testing.T, s domain) {
	t.Helper()
	ctx := t.Context()
	a, b := fill(t, s, "north"), fill(t, s, "south")
	const text = "The ferry to the island leaves at seven."
	made, err := s.Remember(ctx, a, memory.RememberRequest{Content: text})
	if err != nil {
		t.Fatal(err)
	}
	handle := made.Memory.Handle
	if m, err := s.Confirm(ctx, a, memory.ConfirmRequest{Memory: handle, Holds: true}); err != nil || m.Confirmations != 1 {
		t.Errorf("confirm: %+v, %v", m, err)
	}
	sees := func(c memory.Caller) bool {
		t.Helper()
		found, err := s.Recall(ctx, c, memory.RecallRequest{Query: "when does the ferry to the island leave"})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(found.Results, func(r memory.Result) bool { return r.Content == text })
	}
	if !sees(a) || sees(b) {
		t.Errorf("its own organization finds it: %t, the other: %t", sees(a), sees(b))
	}
	foreign := a
	foreign.Org = b.Org // the project of one organization, asked for by the other
	for name, c := range map[string]memory.Caller{"handle": b, "project": foreign} {
		if _, err := s.Get(ctx, c, []string{handle}); !problem.Is(err, problem.NotFound) {
			t.Errorf("the other organization asks by %s: %v", name, err)
		}
		if _, err := s.Confirm(ctx, c, memory.ConfirmRequest{Memory: handle, Holds: true}); !problem.Is(err, problem.NotFound) {
			t.Errorf("the other organization confirms by %s: %v", name, err)
		}
	}
	for _, d := range doors(s, a, handle) {
		if err := d.open(ctx); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
	}
	if _, err := s.Forget(ctx, a, memory.ForgetRequest{Memory: handle, Reason: "it sails no more"}); err != nil {
		t.Error(err)
	}
	if sees(a) {
		t.Error("what was retired is recalled")
	}
	for _, c := range []memory.Caller{a, b} {
		if broken := brokenOf(t, s, c.Org); len(broken) > 0 {
			t.Errorf("%v", broken)
		}
	}
}

// door is something that is asked of an organization.
type door struct {
	name string
	open func(context.Context) error
}

// doors are what people and servers ask of an organization beyond what fill does, and what upkeep does there, each of which
// has statements of its own. One that works changes nothing that another looks for.
func doors(s domain, c memory.Caller, handle string) []door {
	at := time.Now()
	provider := &embedtest.Provider{}
	encoding := domain{memory.New(s.store, memory.Options{Embedder: provider, EmbedWait: time.Minute}), s.store, s.db}
	sessions, reviews := session.New(s.Service, s.store), review.New(s.Service, s.store)
	working := c
	working.Session = "client-1"
	asking := func(name string, err func(context.Context) error) door { return door{name, err} }
	return []door{
		asking("recall as of a moment", func(ctx context.Context) error {
			_, err := s.Recall(ctx, c, memory.RecallRequest{Query: "when does the ferry leave", AsOf: &at})
			return err
		}),
		asking("recall within an element, path, kind and tag", func(ctx context.Context) error {
			_, err := s.Recall(ctx, working, memory.RecallRequest{Query: "the ferry", Element: "shop", Paths: []string{"shop/a.go"},
				Kinds: []memory.Kind{"note"}, Tags: []string{secretWords[4]}, Explain: true})
			return err
		}),
		asking("list", func(ctx context.Context) error {
			_, err := s.List(ctx, c, memory.ListRequest{Status: "all", Element: "shop", Limit: 100})
			return err
		}),
		asking("timeline", func(ctx context.Context) error { _, err := s.Timeline(ctx, c, handle, 20); return err }),
		asking("history", func(ctx context.Context) error { _, err := s.History(ctx, c, handle); return err }),
		asking("events", func(ctx context.Context) error { _, err := s.Events(ctx, c, memory.Beginning, 200); return err }),
		asking("earlier events", func(ctx context.Context) error { _, err := s.EarlierEvents(ctx, c, "", 200); return err }),
		asking("trail", func(ctx context.Context) error {
			_, err := s.AuditLog(ctx, c, memory.AuditRequest{Author: "u1", Since: &time.Time{}})
			return err
		}),
		asking("why", func(ctx context.Context) error { _, err := s.Why(ctx, c, "shop/a.go", 0); return err }),
		asking("map", func(ctx context.Context) error { _, err := s.Map(ctx, c); return err }),
		asking("model", func(ctx context.Context) error { _, err := s.Model(ctx, c); return err }),
		asking("context", func(ctx context.Context) error {
			_, err := s.Context(ctx, c, memory.ContextRequest{Task: "open the shop"})
			return err
		}),
		asking("plan", func(ctx context.Context) error {
			_, err := s.Plan(ctx, c, memory.PlanRequest{Task: "open the shop"})
			return err
		}),
		asking("impact", func(ctx context.Context) error {
			_, err := s.Impact(ctx, c, memory.ImpactRequest{Element: "shop"})
			return err
		}),
		asking("diagram", func(ctx context.Context) error {
			_, err := s.Diagram(ctx, c, memory.DiagramRequest{Element: "shop", View: diagram.Context})
			return err
		}),
		asking("usage", func(ctx context.Context) error { _, err := s.Usage(ctx, c, handle); return err }),
		asking("figures", func(ctx context.Context) error { _, err := s.Stats(ctx, c); return err }),
		asking("titles", func(ctx context.Context) error { _, err := s.Titles(ctx, c, []string{handle}); return err }),
		asking("health", func(ctx context.Context) error { _, err := s.Health(ctx, c); return err }),
		asking("health of keys", func(ctx context.Context) error { _, err := s.KeyHealth(ctx, c); return err }),
		asking("organizations", func(ctx context.Context) error { _, err := s.Organizations(ctx); return err }),
		asking("projects", func(ctx context.Context) error { _, err := s.Projects(ctx, c); return err }),
		asking("project settings", func(ctx context.Context) error {
			yes := true
			_, err := s.ChangeProjectSettings(ctx, c, memory.ProjectSettingsChange{WithoutOrganization: &yes})
			return err
		}),
		asking("identities", func(ctx context.Context) error {
			return s.AddIdentities(ctx, c, c.Project, []string{"remote:example.org/other"})
		}),
		asking("bind", func(ctx context.Context) error {
			_, err := s.Bind(ctx, c, memory.BindRequest{Element: "shop", Patterns: []string{"counter/**"}})
			return err
		}),
		asking("edit", func(ctx context.Context) error {
			paths, tags := []string{"counter/b.go"}, []string{"boats"}
			_, err := s.Edit(ctx, c, memory.EditRequest{Memory: handle, Paths: &paths, Tags: &tags, Elements: &[]string{"shop"}})
			return err
		}),
		asking("code of a memory", func(ctx context.Context) error { _, err := s.CodeSpan(ctx, c, handle); return err }),
		asking("promote and erase", func(ctx context.Context) error {
			made, err := s.Remember(ctx, c, memory.RememberRequest{Content: "Umbrellas stand behind the third door.", Title: "Umbrellas"})
			if err != nil {
				return err
			}
			raised, err := s.Promote(ctx, c, made.Memory.Handle)
			if err != nil {
				return err
			}
			_, err = s.Forget(ctx, c, memory.ForgetRequest{Memory: raised.Handle, Erase: true, Reason: "they are gone"})
			return err
		}),
		asking("retire and restore", func(ctx context.Context) error {
			if _, err := s.Forget(ctx, c, memory.ForgetRequest{Memory: handle, Reason: "it was thought to be wrong"}); err != nil {
				return err
			}
			_, err := s.Restore(ctx, c, handle)
			return err
		}),
		asking("absorb", func(ctx context.Context) error {
			made, err := s.Remember(ctx, c, memory.RememberRequest{Content: "At seven a boat leaves for the island.", Separate: true})
			if err != nil {
				return err
			}
			_, err = s.Absorb(ctx, c, made.Memory.Handle, handle)
			return err
		}),
		asking("undo of an author", func(ctx context.Context) error {
			other := c
			other.User = "u2"
			if _, err := s.Remember(ctx, other, memory.RememberRequest{Content: "Lanterns hang over the quay at night."}); err != nil {
				return err
			}
			_, err := s.Undo(ctx, c, memory.UndoRequest{Author: "u2", Since: at, Reason: "they hang elsewhere"})
			return err
		}),
		asking("tokens", func(ctx context.Context) error {
			made, err := s.CreateToken(ctx, c, memory.TokenRequest{Name: "reader"})
			if err != nil {
				return err
			}
			if _, _, err = s.Authenticate(ctx, made.Text); err != nil {
				return err
			}
			in, err := s.SignIn(ctx, made.Text)
			if err != nil {
				return err
			}
			if err := s.SignOut(ctx, in.Text); err != nil {
				return err
			}
			_, err = s.RevokeToken(ctx, c, "reader")
			return err
		}),
		asking("score and runs", func(ctx context.Context) error {
			if _, err := s.DriftScore(ctx, c); err != nil {
				return err
			}
			runs, err := s.DriftHistory(ctx, c, memory.RunQuery{})
			if err != nil {
				return err
			}
			for _, r := range runs {
				if _, err := s.DriftRun(ctx, c, r.ID); err != nil {
					return err
				}
			}
			_, err = s.DriftProjects(ctx, c.Org)
			return err
		}),
		asking("held model", func(ctx context.Context) error { _, err := s.DecideModel(ctx, c, true); return err }),
		asking("sessions", func(ctx context.Context) error {
			if _, err := sessions.Sessions(ctx, working, session.ListRequest{State: "all"}); err != nil {
				return err
			}
			if _, err := sessions.SessionConflicts(ctx, working); err != nil {
				return err
			}
			if _, _, err := sessions.Recollect(ctx, working); err != nil {
				return err
			}
			if _, err := sessions.Standing(ctx, working); err != nil {
				return err
			}
			_, err := sessions.CancelSession(ctx, working, "")
			return err
		}),
		asking("reviews", func(ctx context.Context) error {
			if _, err := reviews.ReviewQueue(ctx, c, review.QueueRequest{}); err != nil {
				return err
			}
			if _, err := reviews.ReviewDigest(ctx, c, review.DigestRequest{Titles: true}); err != nil {
				return err
			}
			past, err := reviews.ReviewHistory(ctx, c, review.HistoryRequest{})
			if err != nil {
				return err
			}
			_, err = reviews.UndoReview(ctx, c, past.Decisions[0].ID)
			return err
		}),
		asking("vectors", func(ctx context.Context) error {
			if _, err := encoding.Backfill(ctx, c.Org, time.Time{}, nil); err != nil {
				return err
			}
			if _, err := encoding.BackfillElements(ctx, c.Org); err != nil {
				return err
			}
			if _, err := encoding.Remember(ctx, c, memory.RememberRequest{Content: "Ropes are kept dry in the shed."}); err != nil {
				return err
			}
			if _, err := encoding.Recall(ctx, c, memory.RecallRequest{Query: "where are ropes kept"}); err != nil {
				return err
			}
			if _, err := encoding.Context(ctx, c, memory.ContextRequest{Task: "open the shop"}); err != nil {
				return err
			}
			if _, err := encoding.Health(ctx, c); err != nil {
				return err
			}
			if _, err := s.store.CountVectors(ctx, c.Org); err != nil {
				return err
			}
			_, err := s.store.DropVectors(ctx, c.Org, "another", 1000)
			return err
		}),
		asking("rotation of data keys", func(ctx context.Context) error { return s.store.RotateData(ctx, c.Org, nil) }),
		asking("rotation of index keys", func(ctx context.Context) error { return s.store.RotateIndex(ctx, c.Org, nil) }),
		asking("state of keys", func(ctx context.Context) error { _, err := s.store.KeyStatus(ctx, c.Org); return err }),
		asking("keys of all", s.store.CheckKeys),
		asking("sweep of sessions", func(ctx context.Context) error { return sessions.Sweep(ctx, c.Org) }),
		asking("folding of impressions", func(ctx context.Context) error {
			_, err := s.store.Fold(ctx, c.Org, at.AddDate(1, 0, 0), 1000)
			return err
		}),
		asking("retention of sessions", func(ctx context.Context) error {
			_, err := s.store.DropSessions(ctx, c.Org, at.AddDate(1, 0, 0), 0)
			return err
		}),
		asking("retention of runs", func(ctx context.Context) error {
			_, err := s.store.DropRuns(ctx, c.Org, at.AddDate(1, 0, 0), 0)
			return err
		}),
		asking("retention of candidates", func(ctx context.Context) error { return s.DropCandidates(ctx, c.Org) }),
		asking("retention of answers", func(ctx context.Context) error {
			_, err := s.store.DropAnswers(ctx, c.Org, at.AddDate(1, 0, 0))
			return err
		}),
	}
}
