package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/postgres/verify"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

// fixture is a database that two organizations use, with a text in every column that holds any.
type fixture struct {
	pgtest.Database
	server  verify.Server
	service *memory.Service
	callers []memory.Caller
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	d := pgtest.NewDatabase(t)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := postgres.ClientPrograms(t.Context(), d.Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{Database: d, server: verify.Server{Programs: programs, AdminURL: d.Admin, Master: master}, service: memory.New(store.New(d.DB, master), memory.Options{})}
	for _, name := range []string{"north", "south"} {
		org, err := f.service.EnsureOrganization(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		c := memory.Caller{Org: org, User: "ana", Role: memory.RoleAdmin, Door: memory.FromCLI, Retry: "first"}
		p, err := f.service.CreateProject(t.Context(), c, "mill", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Project = p.ID
		m, err := f.service.Remember(t.Context(), c, memory.RememberRequest{Content: "The " + name + " wheel turns left, see [[Weir]]."})
		if err != nil {
			t.Fatal(err)
		}
		c.Retry = ""
		if _, err := f.service.Confirm(t.Context(), c, memory.ConfirmRequest{Memory: m.Memory.Handle, Holds: true, Note: "heard it"}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.service.Confirm(t.Context(), c, memory.ConfirmRequest{Memory: m.Memory.Handle, Holds: false, Note: "it stopped"}); err != nil {
			t.Fatal(err)
		}
		f.callers = append(f.callers, c)
	}
	return f
}

// scratches lists what a verification may have left on the server.
func (f fixture) scratches(t *testing.T) []string {
	t.Helper()
	rows, err := f.ConnectAdmin(t).Query(context.WithoutCancel(t.Context()), "SELECT datname FROM pg_database WHERE datname LIKE $1", f.Name+"\\_%")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (f fixture) count(t *testing.T) postgres.Contents {
	t.Helper()
	c, err := postgres.Count(t.Context(), f.ConnectAdmin(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBackupProvesItself: a good backup is proved and leaves the data as it was; every way in which it can be worth nothing
// is found and named.
func TestBackupProvesItself(t *testing.T) { //nolint:tparallel // one database, one step after the other
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	before := f.count(t)
	good := filepath.Join(dir, "good.dump")
	r, err := f.server.Backup(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	// For each organization: a text, a link, a doubt, a remark, an answer.
	if !r.Compared || r.Organizations != 2 || r.Texts < 10 || r.Opened != r.Texts || r.Rows != before.Total() || r.Migration != postgres.WantedVersion() || r.SizeBytes == 0 {
		t.Errorf("report %+v of %d rows", r, before.Total())
	}
	if again, err := f.server.File(t.Context(), good); err != nil || again.Compared || again.Rows != r.Rows || again.Opened != r.Opened {
		t.Errorf("the file by itself: %+v, %v", again, err)
	}
	if d := before.Differences(f.count(t)); len(d) > 0 {
		t.Errorf("the data changed: %v", d)
	}

	other, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	stranger := f.server
	stranger.Master = other
	_, err = stranger.File(t.Context(), good)
	if p, ok := problem.As(err); !ok || !strings.Contains(p.Detail, good) || !strings.Contains(p.Detail, other.KeyID()) {
		t.Errorf("with another master key: %v", err)
	}

	// What is wrong with the data is in the backup, and nobody has noticed yet.
	for _, test := range []struct{ name, damage, mend, want string }{ //nolint:paralleltest // in order
		{
			"a text that was moved", "UPDATE memory_versions SET revision = revision + 100 WHERE revision = 1",
			"UPDATE memory_versions SET revision = revision - 100 WHERE revision > 100", "a text in memory_versions",
		},
		{
			"a text of another organization", "UPDATE remarks r SET body = s.body FROM remarks s WHERE s.org_id > r.org_id",
			"", "a text in remarks",
		},
		{"keys of another organization", "UPDATE organizations o SET data_keyset = p.data_keyset FROM organizations p WHERE p.org_id > o.org_id", "", "the keys of organization"},
	} {
		t.Run(test.name, func(t *testing.T) {
			admin := f.ConnectAdmin(t)
			if _, err := admin.Exec(t.Context(), "SET session_replication_role = replica; "+test.damage); err != nil {
				t.Fatal(err)
			}
			_, err := f.server.Backup(t.Context(), filepath.Join(dir, test.name))
			if p, ok := problem.As(err); !ok || !strings.Contains(p.Detail, test.want) || !strings.Contains(p.Detail, "cannot be relied on") {
				t.Errorf("got %v, want a problem that says %q", err, test.want)
			}
			if _, err := admin.Exec(t.Context(), test.mend); err != nil {
				t.Fatal(err)
			}
		})
	}
	if left := f.scratches(t); len(left) > 0 {
		t.Errorf("scratch databases are left: %v", left)
	}
}

// TestDifferences: a backup that lacks or has something is told from one that does not.
func TestDifferences(t *testing.T) {
	t.Parallel()
	c := postgres.Contents{Migration: 2, Rows: map[string]int64{"a": 1, "b": 2}}
	if d := c.Differences(c); len(d) > 0 {
		t.Errorf("the same differs: %v", d)
	}
	got := strings.Join(c.Differences(postgres.Contents{Migration: 1, Rows: map[string]int64{"a": 1, "b": 1, "c": 3}}), "; ")
	if want := "it is at migration 1, the database was at 2; b has 1 rows, the database had 2; c has 3 rows, the database had 0"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBackupUnderTraffic: what is written while a backup is taken is in it whole or not at all, and the counts fit.
func TestBackupUnderTraffic(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	written := make([]int, len(f.callers))
	failures := make([]error, len(f.callers))
	begun := make(chan struct{}, len(f.callers))
	for w, c := range f.callers {
		writers.Go(func() {
			for ctx.Err() == nil {
				_, err := f.service.Remember(ctx, c, memory.RememberRequest{Content: fmt.Sprintf("Sack%d of cart%d holds %d pounds.", written[w], w, 7*written[w])})
				if err != nil && ctx.Err() == nil {
					failures[w] = err
					begun <- struct{}{}
					return
				}
				if written[w]++; written[w] == 3 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range f.callers {
		<-begun
	}
	r, err := f.server.Backup(t.Context(), filepath.Join(t.TempDir(), "busy.dump"))
	stop()
	writers.Wait()
	if err := errors.Join(append([]error{err}, failures...)...); err != nil {
		t.Fatal(err)
	}
	if now := f.count(t); !r.Compared || r.Rows >= now.Total() {
		t.Errorf("the backup holds %d rows of the %d there are now: nothing was written meanwhile", r.Rows, now.Total())
	}
}

// TestInterruptedVerification: whenever it is interrupted, nothing is left and the data is there.
func TestInterruptedVerification(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "stele.dump")
	if err := postgres.Backup(t.Context(), f.server.Programs, f.Admin, file); err != nil {
		t.Fatal(err)
	}
	before := f.count(t)
	ctx, stop := context.WithCancel(t.Context())
	err := postgres.InScratch(ctx, f.server.Programs, f.Admin, file, func(ctx context.Context, conn *pgx.Conn) error {
		if left := f.scratches(t); len(left) != 1 { //nolint:contextcheck // the context that is given ends below
			t.Errorf("databases %v beside the data, want the scratch alone", left)
		}
		// Two at once would drop each other's.
		if _, err := f.server.File(t.Context(), file); !problem.Is(err, problem.Conflict) { //nolint:contextcheck // as above
			t.Errorf("a second verification: %v, want a conflict", err)
		}
		stop()
		_, err := conn.Exec(ctx, "SELECT 1")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was interrupted", err)
	}
	if left := f.scratches(t); len(left) > 0 {
		t.Errorf("scratch databases are left: %v", left)
	}

	// A process that was killed left its scratch; the next verification drops it and goes on.
	if _, err := f.ConnectAdmin(t).Exec(t.Context(), "CREATE DATABASE "+f.Name+"_scratch"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.server.File(t.Context(), file); err != nil {
		t.Error(err)
	}
	if left := f.scratches(t); len(left) > 0 {
		t.Errorf("scratch databases are left: %v", left)
	}
	if d := before.Differences(f.count(t)); len(d) > 0 {
		t.Errorf("the data changed: %v", d)
	}
}

// TestOlderBackup: what was taken before a migration is proved by what there was then.
func TestOlderBackup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.ConnectOwner(t).Exec(t.Context(), "DROP TABLE answers; DELETE FROM goose_db_version WHERE version_id > 1; DROP FUNCTION schema_floor"); err != nil {
		t.Fatal(err)
	}
	r, err := f.server.Backup(t.Context(), filepath.Join(t.TempDir(), "older.dump"))
	if err != nil || r.Migration != 1 || r.Opened != r.Texts || r.Texts < 8 {
		t.Errorf("report %+v, %v", r, err)
	}
}

// TestSample: where there are many texts, some of them are opened.
func TestSample(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n := range 60 {
		if _, err := f.service.Remember(t.Context(), f.callers[0], memory.RememberRequest{Content: fmt.Sprintf("Nail%d is %d inches long.", n, n)}); err != nil {
			t.Fatal(err)
		}
	}
	f.server.Sample = 30
	r, err := f.server.Backup(t.Context(), filepath.Join(t.TempDir(), "many.dump"))
	// Of 70 texts each with a probability of 3 in 7: none, or all, happens less often than once in 10^16 runs.
	if err != nil || r.Texts < 70 || r.Opened == 0 || r.Opened == r.Texts {
		t.Errorf("report %+v, %v", r, err)
	}
}

// TestVerifyRefusals: what cannot be verified says why.
func TestVerifyRefusals(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	programs, err := postgres.ClientPrograms(t.Context(), d.Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text.dump")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := verify.Server{Programs: programs, AdminURL: d.Admin, Master: master}
	if _, err := admin.File(t.Context(), text); !problem.Is(err, problem.Invalid) {
		t.Errorf("no backup: %v", err)
	}
	if _, err := admin.File(t.Context(), text+".gone"); !problem.Is(err, problem.Invalid) {
		t.Errorf("no file: %v", err)
	}
	// Row-level security hides the rows from the owner: a backup taken so would be empty.
	owner := verify.Server{Programs: programs, AdminURL: d.Owner, Master: master}
	if _, err := owner.Backup(t.Context(), filepath.Join(t.TempDir(), "owner.dump")); !problem.Is(err, problem.Forbidden) || !strings.Contains(err.Error(), "superuser") {
		t.Errorf("as the owner: %v", err)
	}
}
