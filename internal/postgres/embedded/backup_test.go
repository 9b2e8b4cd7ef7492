//go:build unix

package embedded_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
)

// TestBackupAndRestore: a restore brings back the data of the backup, or leaves the data that is there.
func TestBackupAndRestore(t *testing.T) { //nolint:tparallel // one cluster, one step after the other
	t.Parallel()
	c := pgtest.NewCluster(t, embedded.Config{Unsafe: true}) // no crash in this test
	dsns, db := mustStart(t, c)
	keep(t, dsns)
	dir := t.TempDir()
	good := filepath.Join(dir, "good.dump")
	if err := c.Backup(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(good); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %v, %v", info.Mode(), err)
	}
	keep(t, dsns)

	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	backupOf := func(name, change string) string {
		asOwner(t, dsns, func(conn *pgx.Conn) error {
			_, err := conn.Exec(t.Context(), change)
			return err
		})
		path := filepath.Join(dir, name)
		if err := c.Backup(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const floor = "CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT %d::bigint'"
	newer := backupOf("newer.dump", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true);"+fmt.Sprintf(floor, 99999))
	open := backupOf("open.dump", "DELETE FROM goose_db_version WHERE version_id = 99999; GRANT SELECT ON kept TO stele_app;"+fmt.Sprintf(floor, 1))
	asOwner(t, dsns, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), "REVOKE SELECT ON kept FROM stele_app")
		return err
	})
	for name, test := range map[string]struct{ file, want string }{ //nolint:paralleltest // in order
		"missing":            {filepath.Join(dir, "missing.dump"), "cannot read the backup"},
		"not a backup":       {write("text.dump", []byte("hello")), "is no backup"},
		"cut off":            {write("cut.dump", whole[:len(whole)-100]), "cannot be restored"},
		"flipped":            {write("flipped.dump", flip(whole)), "cannot be restored"},
		"of a newer version": {newer, "newer than this stele"},
		"without isolation":  {open, "does not keep organizations apart"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Restore(t.Context(), test.file); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that says %q", err, test.want)
			} else if _, ok := problem.As(err); !ok {
				t.Errorf("got %v, want a problem", err)
			}
			if n := kept(t, dsns); n != 2 {
				t.Errorf("%d rows are left of 2", n)
			}
		})
	}

	before, err := c.Restore(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if n := kept(t, dsns); n != 1 {
		t.Errorf("%d rows after the restore, want the one of the backup", n)
	}
	// The running process goes on with the restored data.
	eventually(t, "the pool serves again", func() bool { return db.Ping(t.Context()) == nil })
	if _, err := c.Restore(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if n := kept(t, dsns); n != 2 {
		t.Errorf("%d rows after taking the restore back, want 2", n)
	}
	if names := databases(t, dsns); !slices.Equal(names, []string{"postgres", "stele"}) {
		t.Errorf("databases %v are left", names)
	}
}

// flip damages the data of a backup and not its table of contents.
func flip(whole []byte) []byte {
	damaged := bytes.Clone(whole)
	for n := len(damaged) - 100; n < len(damaged); n++ {
		damaged[n] ^= 0xff
	}
	return damaged
}

func databases(t *testing.T, dsns embedded.DSNs) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsns.Admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), "SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestNightlyBackups and upgrades share a cluster: both are about what lies in the backup folder.
func TestNightlyBackupsAndUpgrade(t *testing.T) { //nolint:tparallel // one cluster, one step after the other
	t.Parallel()
	c := pgtest.NewCluster(t, embedded.Config{Unsafe: true}) // no crash in this test
	dsns, err := c.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := c.NightlyBackup(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if n := len(backups(t, c)); n != 0 {
		t.Errorf("%d backups of a database that holds nothing", n)
	}
	if _, err := postgres.Migrate(t.Context(), dsns.Owner); err != nil {
		t.Fatal(err)
	}
	keep(t, dsns)
	for night := range 7 {
		at := now.Add(-time.Duration(night+1) * 25 * time.Hour)
		file := filepath.Join(c.BackupDir(), "nightly-"+at.UTC().Format("20060102")+".dump")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	old := backups(t, c)
	for range 2 { // the second is not due
		if err := c.NightlyBackup(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	if files := backups(t, c); len(files) != 7 || !slices.Equal(files[:6], old[1:]) {
		t.Fatalf("backups %v after another night, before there were %v", files, old)
	}
	keep(t, dsns) // after the last backup
	inst, err := installation.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("nothing to do", func(t *testing.T) { //nolint:paralleltest // in order
		var report strings.Builder
		err := c.Upgrade(t.Context(), func(line string) { report.WriteString(line) })
		if err != nil || !strings.Contains(report.String(), "nothing to do") {
			t.Errorf("%v, report %q", err, report.String())
		}
	})
	t.Run("old programs present", func(t *testing.T) { //nolint:paralleltest // in order
		var report strings.Builder
		err := c.CarryOver(t.Context(), inst.Major, &inst, inst, func(line string) { report.WriteString(line + "\n") })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := kept(t, dsns); n != 2 {
			t.Errorf("%d rows after the upgrade, want 2; report: %s", n, report.String())
		}
	})
	t.Run("old programs gone", func(t *testing.T) { //nolint:paralleltest // in order
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.ServerData(), "PG_VERSION"), []byte("14\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		// Only the nightly backups are left, which lack the second row.
		for _, file := range backups(t, c) {
			if strings.HasPrefix(filepath.Base(file), "before-") {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
		}
		var report strings.Builder
		if err := c.Upgrade(t.Context(), func(line string) { report.WriteString(line + "\n") }); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"PostgreSQL 14 is not installed any more", "nightly-", "the old cluster is kept"} {
			if !strings.Contains(report.String(), want) {
				t.Errorf("the report does not say %q: %s", want, report.String())
			}
		}
		if _, err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := kept(t, dsns); n != 1 {
			t.Errorf("%d rows after the upgrade, want the one of the backup", n)
		}
	})
	t.Run("no backup", func(t *testing.T) { //nolint:paralleltest // in order
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, file := range backups(t, c) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		version := filepath.Join(c.ServerData(), "PG_VERSION")
		if err := os.WriteFile(version, []byte("14\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := c.Upgrade(t.Context(), func(string) {})
		if !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "install PostgreSQL 14") {
			t.Errorf("got %v, want a problem that says what to install", err)
		}
		if _, err := os.Stat(version); err != nil {
			t.Errorf("the old cluster is gone: %v", err)
		}
	})
}

func backups(t *testing.T, c *embedded.Cluster) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.BackupDir(), "*.dump"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}
