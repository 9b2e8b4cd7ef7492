package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
)

// TestMigrationRace: several start at once on an empty database; every one of them can serve afterwards.
func TestMigrationRace(t *testing.T) {
	t.Parallel()
	d := pgtest.NewEmpty(t)
	const racers = 6
	failures := make([]error, racers)
	var done sync.WaitGroup
	for n := range racers {
		done.Go(func() {
			db, err := postgres.Open(t.Context(), postgres.Config{URL: d.App, OwnerURL: d.Owner})
			if err == nil {
				db.Close()
			}
			failures[n] = err
		})
	}
	done.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	var applied, distinct int
	err := d.ConnectApp(t).QueryRow(t.Context(), "SELECT count(*), count(DISTINCT version_id) FROM goose_db_version").Scan(&applied, &distinct)
	if err != nil || applied != distinct || int64(applied) <= 1 {
		t.Errorf("%d migrations applied, %d of them distinct, %v", applied, distinct, err)
	}
}

func TestVersionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	t.Run("behind without an owner", func(t *testing.T) {
		t.Parallel()
		d := pgtest.NewEmpty(t)
		_, err := postgres.Open(t.Context(), postgres.Config{URL: d.App})
		p, ok := problem.As(err)
		if !ok || p.Field != "STELE_DATABASE_OWNER_URL" || !strings.Contains(p.Error(), "stele db migrate") {
			t.Errorf("got %v, want a problem that names the migration", err)
		}
	})
	t.Run("newer than this binary", func(t *testing.T) {
		t.Parallel()
		d := pgtest.NewDatabase(t)
		raiseFloor(t, d, 99999)
		_, open := postgres.Open(t.Context(), postgres.Config{URL: d.App, OwnerURL: d.Owner})
		_, migrate := postgres.Migrate(t.Context(), d.Owner)
		for _, err := range []error{open, migrate} {
			p, ok := problem.As(err)
			if !ok || !strings.Contains(p.Detail, "99999, newer than this stele") || len(p.Fixes) == 0 {
				t.Errorf("got %v, want a problem that says the database is newer", err)
			}
		}
	})
	t.Run("newer and stating no floor", func(t *testing.T) {
		t.Parallel()
		d := pgtest.NewDatabase(t)
		raiseFloor(t, d, 0)
		if _, err := d.ConnectOwner(t).Exec(t.Context(), "DROP FUNCTION schema_floor"); err != nil {
			t.Fatal(err)
		}
		if _, err := postgres.Open(t.Context(), postgres.Config{URL: d.App}); !problem.Is(err, problem.Unavailable) {
			t.Errorf("got %v, want a problem: nothing says that this binary can serve it", err)
		}
	})
	t.Run("migrated by another role", func(t *testing.T) {
		t.Parallel()
		d := pgtest.NewEmpty(t)
		for _, address := range []string{d.Admin, d.App} {
			if _, err := postgres.Migrate(t.Context(), address); !problem.Is(err, problem.Forbidden) {
				t.Errorf("got %v, want a problem", err)
			}
		}
	})
}

// raiseFloor makes the database one that a newer binary migrated, to 99999, and that needs a binary of at least the floor.
func raiseFloor(t *testing.T, d pgtest.Database, floor int64) {
	t.Helper()
	_, err := d.ConnectOwner(t).Exec(t.Context(), fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true);
		CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT %d::bigint'`, floor))
	if err != nil {
		t.Fatal(err)
	}
}

// TestServes: behind never, ahead as long as the floor is known.
func TestServes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		v      postgres.Version
		serves bool
	}{
		{postgres.Version{Current: 5, Wanted: 5, Floor: 3}, true},
		{postgres.Version{Current: 4, Wanted: 5, Floor: 3}, false},
		{postgres.Version{Current: 0, Wanted: 5}, false},
		{postgres.Version{Current: 6, Wanted: 5, Floor: 3}, true},
		{postgres.Version{Current: 6, Wanted: 5, Floor: 5}, true},
		{postgres.Version{Current: 6, Wanted: 5, Floor: 6}, false},
	} {
		if err := test.v.Serves(); (err == nil) != test.serves {
			t.Errorf("%+v: %v", test.v, err)
		}
	}
}

// TestFailedMigration: what fails is rolled back whole, and the error names the file.
func TestFailedMigration(t *testing.T) {
	t.Parallel()
	d := pgtest.NewEmpty(t)
	files := fstest.MapFS{
		"00001_first.sql":  {Data: []byte("-- +goose Up\nCREATE TABLE first (n int);\n")},
		"00002_second.sql": {Data: []byte("-- +goose Up\nCREATE TABLE second (n int);\nSELECT 1/0;\n")},
	}
	_, err := postgres.MigrateFS(t.Context(), d.Owner, files)
	p, ok := problem.As(err)
	if !ok || !strings.Contains(p.Detail, "00002_second.sql") || !strings.Contains(p.Detail, "division by zero") {
		t.Errorf("got %v, want a problem that names the file and the cause", err)
	}
	var first, second bool
	err = d.ConnectOwner(t).QueryRow(t.Context(), "SELECT to_regclass('first') IS NOT NULL, to_regclass('second') IS NOT NULL").Scan(&first, &second)
	if err != nil || !first || second {
		t.Errorf("first %v, second %v, %v; want only the first", first, second, err)
	}
}

// TestBackupBeforeMigrating: data that is there is backed up first, and when that fails it stays as it is.
func TestBackupBeforeMigrating(t *testing.T) {
	t.Parallel()
	d := pgtest.NewEmpty(t)
	refuse := errors.New("no room for a backup")
	for name, test := range map[string]struct {
		current int64
		backups int
		want    error
	}{
		"with data": {1, 1, refuse},
		"empty":     {0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backups := 0
			err := postgres.BringForward(t.Context(), postgres.Version{Current: test.current, Wanted: 2}, postgres.Config{
				OwnerURL:      d.Owner,
				BeforeMigrate: func(context.Context, int64, int64) error { backups++; return refuse },
			})
			if !errors.Is(err, test.want) || backups != test.backups {
				t.Errorf("%d backups and %v, want %d and %v", backups, err, test.backups, test.want)
			}
		})
	}
}

func TestRolesFor(t *testing.T) {
	t.Parallel()
	got, err := postgres.RolesFor("postgres://stele_app:one@db:5432/memory", "postgres://stele_owner:two@db:5432/memory")
	if want := (postgres.Roles{Database: "memory", AppPassword: "one", OwnerPassword: "two"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for name, test := range map[string]struct{ app, owner, field string }{
		"unreadable":       {"postgres://[", "", "STELE_DATABASE_URL"},
		"another database": {"postgres://stele_app@db/memory", "postgres://stele_owner@db/other", "STELE_DATABASE_OWNER_URL"},
	} {
		_, err := postgres.RolesFor(test.app, test.owner)
		if p, ok := problem.As(err); !ok || p.Field != test.field {
			t.Errorf("%s: got %v, want a problem about %s", name, err, test.field)
		}
	}
}
