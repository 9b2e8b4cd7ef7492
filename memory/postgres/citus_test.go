package postgres_test

import (
	"crypto/rand"
	"net/url"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// citusVariable names a cluster to try: the address, as a superuser, of a database on the coordinator that is empty but for
// the extension citus, with its workers added and pgvector installed on every node. The test leaves its tables there.
const citusVariable = "STELE_TEST_CITUS_URL"

var (
	distributes   = regexp.MustCompile(`(?m)^    ((?:SELECT create_(?:distributed|reference)_table\(|DROP TRIGGER )[^;]*;)$`)
	citusSettings = regexp.MustCompile("`ALTER DATABASE stele (SET citus\\.[^`]*)`")
)

// distribution are the statements that docs/operations.md tells people to run: those of the owner, in their order, and the
// settings of the database.
func distribution(t *testing.T) (tables, settings []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range distributes.FindAllStringSubmatch(string(text), -1) {
		tables = append(tables, m[1])
	}
	for _, m := range citusSettings.FindAllStringSubmatch(string(text), -1) {
		settings = append(settings, m[1])
	}
	if len(tables) < 2 || len(settings) == 0 {
		t.Fatalf("docs/operations.md gives %d statements and %d settings as this test reads them", len(tables), len(settings))
	}
	return tables, settings
}

// The migrations of this program, distributed as the documentation says, hold two organizations apart and whole.
func TestCitus(t *testing.T) {
	t.Parallel()
	tables, settings := distribution(t)
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
	run(owner, tables...)
	for _, s := range settings {
		run(admin, "ALTER DATABASE "+pgx.Identifier{name}.Sanitize()+" "+s)
	}
	db, err := postgres.Open(ctx, postgres.Config{URL: as(postgres.AppRole, roles.AppPassword)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
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
