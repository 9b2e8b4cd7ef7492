package faults_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/migrations"
)

// oldSchema is the migration from which these tests go on: the last one before work sessions and reviews.
const oldSchema = 4

// past is a database as an older release left it, with data.
type past struct {
	pgtest.Database
	settings []string
	facts    []memory.Memory
	master   *secret.Master
}

// newPast makes one: what today's program stores, as far as the old schema has a place for it.
func newPast(t *testing.T) past {
	t.Helper()
	ctx := t.Context()
	dir := pgtest.Dir(t)
	key := filepath.Join(dir, "master.key")
	master, _, err := secret.LoadMaster("", key)
	if err != nil {
		t.Fatal(err)
	}
	now := pgtest.NewDatabase(t)
	s := memory.New(store.New(now.DB, master), memory.Options{})
	org, err := s.EnsureOrganization(ctx, memory.DefaultOrganization)
	if err != nil {
		t.Fatal(err)
	}
	admin := memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	project, err := s.CreateProject(ctx, admin, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	admin.Project = project.ID
	p := past{Database: pgtest.NewEmpty(t), master: master}
	for n := range 20 {
		m, err := s.Remember(ctx, admin, memory.RememberRequest{Content: fmt.Sprintf("Shelf %d holds parcel number %d.", n, n*n), Separate: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Confirm(ctx, admin, memory.ConfirmRequest{Memory: m.Memory.Handle, Holds: true}); err != nil {
			t.Fatal(err)
		}
		p.facts = append(p.facts, m.Memory)
	}
	config, err := pgx.ParseConfig(p.Owner)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(ctx, oldSchema); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, "GRANT SELECT ON goose_db_version TO "+postgres.AppRole); err != nil {
		t.Fatal(err)
	}
	carry(t, now.ConnectAdmin(t), p.ConnectAdmin(t), db)
	p.settings = []string{"STELE_DATABASE_URL=" + p.App, "STELE_DATABASE_OWNER_URL=" + p.Owner, "STELE_MASTER_KEY_FILE=" + key, "XDG_CONFIG_HOME=" + dir, "STELE_EMBEDDING_PROVIDER=none"}
	return p
}

// before says what the rows of tables are made of that are no more.
var before = map[string]string{
	"postings":         "(SELECT org_id, space_id, term, unnest(seqs) AS seq FROM posting_blocks) AS p",
	"term_frequencies": "(SELECT org_id, space_id, term, df FROM posting_blocks WHERE upto = 2147483647) AS f",
}

// carry copies rows from a database of today into one that is older, table by table and column by column as far as both
// have them.
func carry(t *testing.T, from, to *pgx.Conn, old *sql.DB) {
	t.Helper()
	ctx := t.Context()
	if _, err := to.Exec(ctx, "SET session_replication_role = replica"); err != nil { // the order of tables does not matter then
		t.Fatal(err)
	}
	rows, err := old.QueryContext(ctx, `SELECT c.relname, string_agg(quote_ident(a.attname), ',' ORDER BY a.attnum) FROM pg_class c
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'goose_db_version' GROUP BY c.relname`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, columns string
		if err := rows.Scan(&table, &columns); err != nil {
			t.Fatal(err)
		}
		var data strings.Builder
		if _, err := from.PgConn().CopyTo(ctx, &data, fmt.Sprintf("COPY (SELECT %s FROM %s) TO STDOUT", columns, cmp.Or(before[table], table))); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		if _, err := to.PgConn().CopyFrom(ctx, strings.NewReader(data.String()), fmt.Sprintf("COPY %s (%s) FROM STDIN", table, columns)); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// whole tells whether everything is there and readable, and nothing contradicts itself.
func (p past) whole(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	db, err := postgres.Open(ctx, postgres.Config{URL: p.App})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	v, err := db.Version(ctx)
	if err != nil || v.Current != v.Wanted {
		t.Errorf("the schema is at %+v, %v", v, err)
	}
	s := memory.New(store.New(db, p.master), memory.Options{})
	org, err := s.EnsureOrganization(ctx, memory.DefaultOrganization)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Projects(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d projects, %v", len(all), err)
	}
	c := memory.Caller{Org: org, Project: all[0].ID, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	for _, f := range p.facts {
		ms, err := s.Get(ctx, c, []string{f.Handle})
		if err != nil || ms[0].Content != f.Content || ms[0].Confirmations != 1 {
			t.Errorf("%s: %+v, %v", f.Handle, ms, err)
		}
	}
	found, err := s.Recall(ctx, c, memory.RecallRequest{Query: p.facts[7].Content})
	if err != nil || !slices.ContainsFunc(found.Results, func(r memory.Result) bool { return r.Handle == p.facts[7].Handle }) {
		t.Errorf("%s is not found: %v", p.facts[7].Handle, err)
	}
	doctor(t, p.settings)
}

// A migration that is killed in the middle is taken up where it was, and nothing of the data is lost.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	ctx := t.Context()
	watch, lock := p.ConnectAdmin(t), p.ConnectAdmin(t)
	// One migration after another has to wait for somebody who reads the table that it changes, and is killed there.
	killed := 0
	for _, table := range []string{"impressions", "stamps", "projects"} {
		if _, err := lock.Exec(ctx, "BEGIN; LOCK TABLE "+table+" IN ACCESS SHARE MODE"); err != nil {
			t.Fatal(err)
		}
		cmd := command(context.WithoutCancel(ctx), t, p.settings, "db", "migrate")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the migration waits for "+table, func() bool {
			var waits bool
			if err := watch.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
				WHERE c.relname = $1 AND NOT l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))`, table).Scan(&waits); err != nil {
				t.Fatal(err)
			}
			return waits
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("the migration that waited for %s ended by itself", table)
		}
		killed++
		if _, err := lock.Exec(ctx, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
	v, err := postgres.ReadVersion(ctx, watch)
	if err != nil || v.Current >= v.Wanted {
		t.Errorf("after %d kills the schema is at %+v, %v", killed, v, err)
	}
	if out, err := command(ctx, t, p.settings, "db", "migrate").CombinedOutput(); err != nil {
		t.Fatalf("migrating at last: %v\n%s", err, out)
	}
	t.Logf("killed %d times, the last at migration %d", killed, v.Current)
	p.whole(t)
}

// Two servers of a new release are started at the same moment on the database of an old one: one migrates, both serve.
func TestTwoServersMigrate(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	servers := []*server{newServer(t, "one server", p.settings...), newServer(t, "another server", p.settings...)}
	var all sync.WaitGroup
	for _, s := range servers {
		all.Go(func() {
			if err := s.launch(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, s := range servers {
		await(t, s.name+" is ready", func() bool { return s.ready(t.Context()) })
	}
	p.whole(t)
}
