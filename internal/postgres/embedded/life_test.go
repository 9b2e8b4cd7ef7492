//go:build unix

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
)

// TestSeveralProcesses: four start at once on an empty folder and share one server; killed, they do not keep it; and
// whoever comes later starts it again.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	c, dir := newCluster(t, shortIdle)
	var clients []*client
	for range 4 {
		clients = append(clients, startClient(t, dir))
	}
	for _, client := range clients {
		client.waitReady(t)
	}
	s := mustStatus(t, c)
	if !s.Running || s.Migration == nil || s.Migration.Current != s.Migration.Wanted || s.Vector == "" || s.Connections < 4 || s.SizeBytes == 0 {
		t.Errorf("status %+v", s)
	}
	if n := len(postmasters(c)); n != 1 {
		t.Errorf("%d servers run", n)
	}
	for _, client := range clients[1:] {
		client.kill()
	}
	// One client is enough to keep it up for longer than the idle time.
	deadline := time.Now().Add(2 * shortIdle)
	eventually(t, "twice the idle time passes", func() bool { return time.Now().After(deadline) })
	if again := mustStatus(t, c); again.Server != s.Server {
		t.Fatalf("the server changed from process %d to %d while it was in use", s.Server, again.Server)
	}
	clients[0].kill()
	eventually(t, "the supervisor stops when nobody is left", func() bool {
		supervised, err := c.Supervised()
		return err == nil && !supervised
	})
	if pids := c.ServerProcesses(); len(pids) != 0 {
		t.Errorf("processes %v remain", pids)
	}
	late := startClient(t, dir)
	late.waitReady(t)
	if again := mustStatus(t, c); !again.Running || again.Server == s.Server {
		t.Errorf("status %+v after a new start", again)
	}
}

// postmasters gives the servers' first processes: those whose parent is no server process.
func postmasters(c *embedded.Cluster) []int {
	pids := c.ServerProcesses()
	all := map[int]bool{}
	for _, pid := range pids {
		all[pid] = true
	}
	var first []int
	for _, pid := range pids {
		// A process that ended meanwhile has no parent.
		if p := parent(pid); p != 0 && !all[p] {
			first = append(first, pid)
		}
	}
	return first
}

func parent(pid int) (ppid int) {
	out, err := exec.CommandContext(context.Background(), "ps", "-o", "ppid=", "-p", fmt.Sprint(pid)).Output()
	if err == nil {
		_, _ = fmt.Sscan(string(out), &ppid)
	}
	return ppid
}

// TestRecovery: whatever is killed, damaged or left behind, the next use finds a server and every acknowledged row.
func TestRecovery(t *testing.T) { //nolint:tparallel // one cluster, one step after the other
	t.Parallel()
	c, dir := newCluster(t, 10*time.Second)
	dsns, db := mustStart(t, c)
	rows := 0
	for _, test := range []struct { //nolint:paralleltest // in order
		name   string
		damage func(t *testing.T, s embedded.Status)
	}{
		{"server killed while four write", func(t *testing.T, s embedded.Status) {
			t.Helper()
			acknowledged := writeUntilKilled(t, db, func() { kill(t, s.Server) })
			eventually(t, "the supervisor starts another", func() bool {
				now, err := c.Status(t.Context())
				return err == nil && now.Running && now.Server != s.Server
			})
			for _, org := range acknowledged {
				err := db.InOrg(t.Context(), org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
					return tx.QueryRow(t.Context(), "SELECT org_id FROM organizations").Scan(&org)
				})
				if err != nil {
					t.Fatalf("a write that was acknowledged: %v", err)
				}
			}
		}},
		{"supervisor killed", func(t *testing.T, s embedded.Status) {
			t.Helper()
			killSupervisor(t, c, s)
		}},
		{"both killed", func(t *testing.T, s embedded.Status) {
			t.Helper()
			killSupervisor(t, c, s)
			kill(t, s.Server)
		}},
		{"supervisor and every process of the server killed", func(t *testing.T, s embedded.Status) {
			t.Helper()
			killSupervisor(t, c, s)
			for _, pid := range append(c.ServerProcesses(), s.Server) {
				kill(t, pid)
			}
		}},
		{"stopped, and a pool that was open is used", func(t *testing.T, _ embedded.Status) {
			t.Helper()
			if err := c.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if mustStatus(t, c).Running {
				t.Fatal("it still runs")
			}
			// The pool learns that a connection is lost by using it, once for each.
			eventually(t, "the pool serves again", func() bool { return db.Ping(t.Context()) == nil })
			if !mustStatus(t, c).Running {
				t.Fatal("the pool did not start it")
			}
		}},
		{"pid file of a process that is something else now", func(t *testing.T, s embedded.Status) {
			t.Helper()
			if err := c.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			other := sleeper(t, c.ServerData()) // PostgreSQL would take it for a server
			content := fmt.Sprintf("%d\n%s\n1700000000\n5432\n%s\n\n\nready   \n", other, c.ServerData(), s.SocketDir)
			writeAsServer(t, filepath.Join(c.ServerData(), "postmaster.pid"), content)
		}},
		{"passwords lost", func(t *testing.T, _ embedded.Status) {
			t.Helper()
			if err := c.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(c.PasswordFile()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			keep(t, dsns)
			rows++
			before := mustStatus(t, c)
			test.damage(t, before)
			var err error
			if dsns, err = c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			after := mustStatus(t, c)
			if !after.Running || after.Server == before.Server {
				t.Errorf("before %+v, after %+v", before, after)
			}
			if n := kept(t, dsns); n != rows {
				t.Errorf("%d rows are left of %d", n, rows)
			}
			if n := len(postmasters(c)); n != 1 {
				t.Errorf("%d servers run", n)
			}
		})
	}
	t.Run("data folder removed", func(t *testing.T) {
		s := mustStatus(t, c)
		db.Close()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		eventually(t, "nothing runs on a folder that is gone", func() bool {
			return errors.Is(syscall.Kill(s.Server, 0), syscall.ESRCH)
		})
	})
}

// writeUntilKilled runs four writers, kills the server when they have had some hundred writes acknowledged, lets them write
// on once it is back, and returns what was acknowledged.
func writeUntilKilled(t *testing.T, db *postgres.DB, kill func()) []uuid.UUID {
	t.Helper()
	const enough, afterwards = 300, 100
	var (
		mu           sync.Mutex
		acknowledged []uuid.UUID
		killed       sync.Once
		writers      sync.WaitGroup
	)
	for range 4 {
		writers.Go(func() {
			for {
				org := uuid.New()
				err := db.InOrg(t.Context(), org, postgres.TxOptions{}, func(tx pgx.Tx) error {
					_, err := tx.Exec(t.Context(), `INSERT INTO organizations (org_id, name, created_at, master_key_id, data_keyset, index_keyset)
						VALUES ($1, $2, $3, 'k', '', '')`, org, org.String(), time.Unix(0, 0))
					return err
				})
				switch {
				case problem.Is(err, problem.Unavailable): // cut off during its commit: nobody knows
					continue
				case err != nil:
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, org)
				n := len(acknowledged)
				mu.Unlock()
				if n >= enough {
					killed.Do(kill)
				}
				if n >= enough+afterwards {
					return
				}
			}
		})
	}
	writers.Wait()
	return acknowledged
}

// killSupervisor returns when the kernel has dropped its lock.
func killSupervisor(t *testing.T, c *embedded.Cluster, s embedded.Status) {
	t.Helper()
	kill(t, s.Supervisor)
	eventually(t, "the lock falls with the process", func() bool {
		supervised, err := c.Supervised()
		return err == nil && !supervised
	})
}

// sleeper is a process of the server's account that has nothing to do with it.
func sleeper(t *testing.T, like string) int {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "sleep", "600")
	if os.Geteuid() == 0 {
		info, err := os.Stat(like)
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func writeAsServer(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		info, err := os.Stat(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		if err := os.Chown(path, int(stat.Uid), int(stat.Gid)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPrivate: files, socket and access are the owner's alone, and the roles are bound by row-level security.
func TestPrivate(t *testing.T) { //nolint:tparallel // one cluster, one step after the other
	t.Parallel()
	// A socket's path has room for about 100 bytes; a data folder's may be longer.
	dir := filepath.Join(pgtest.Dir(t), strings.Repeat("long", 25), "with spaces and 'quotes'")
	c := pgtest.NewCluster(t, embedded.Config{DataDir: dir})
	// A setting of the owner's, which Stele's do not overwrite.
	if err := os.MkdirAll(filepath.Join(dir, "postgres"), 0o711); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "postgres", "local.conf"), []byte("work_mem = '7MB'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	dsns, _ := mustStart(t, c)
	s := mustStatus(t, c)
	if socket := filepath.Join(s.SocketDir, ".s.PGSQL.5432"); len(socket) >= 100 || strings.HasPrefix(s.SocketDir, dir) {
		t.Errorf("the socket is %s", socket)
	}
	for path, want := range map[string]os.FileMode{
		c.PasswordFile(): 0o600,
		c.ServerData():   0o700,
		s.SocketDir:      0o700,
		filepath.Join(s.SocketDir, ".s.PGSQL.5432"): 0o700,
		c.BackupDir(): 0o700,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode().Perm(), err, want)
		}
	}
	if _, err := pgx.Connect(t.Context(), strings.Replace(dsns.Admin, "//postgres:", "//postgres:x", 1)); postgres.SQLState(err) != "28P01" {
		t.Errorf("a wrong password gave %v", err)
	}
	admin, err := pgx.Connect(t.Context(), dsns.Admin)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	settings := map[string]string{"listen_addresses": "", "fsync": "on", "synchronous_commit": "on", "data_checksums": "on", "jit": "off", "work_mem": "7MB", "password_encryption": "scram-sha-256"}
	for name, want := range settings {
		var got string
		if err := admin.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	// Somebody gives the service more than it may have: it is refused until the roles are made again.
	if _, err := admin.Exec(t.Context(), "ALTER ROLE stele_app BYPASSRLS"); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(t.Context(), postgres.Config{URL: dsns.App}); !problem.Is(err, problem.Forbidden) {
		t.Errorf("a role with BYPASSRLS gave %v", err)
	}
	for range 2 {
		if err := postgres.Bootstrap(t.Context(), dsns.Admin, postgres.Roles{}); err != nil {
			t.Fatal(err)
		}
	}
	db, err := postgres.Open(t.Context(), postgres.Config{URL: dsns.App})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("socket folder taken", func(t *testing.T) { //nolint:paralleltest // in order
		if _, err := os.Lstat(s.SocketDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket's folder outlived the server: %v", err)
		}
		// Somebody else took the name meanwhile, to listen in the server's place.
		if err := os.Mkdir(s.SocketDir, 0o777); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(s.SocketDir)
		if err := os.Chmod(s.SocketDir, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Start(t.Context()); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), s.SocketDir) {
			t.Errorf("an open socket folder gave %v, want a problem that names it", err)
		}
	})
	t.Run("data of another release", func(t *testing.T) { //nolint:paralleltest // in order
		if err := os.WriteFile(filepath.Join(c.ServerData(), "PG_VERSION"), []byte("14\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Start(t.Context()); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "stele db upgrade") {
			t.Errorf("got %v, want a problem that names the upgrade", err)
		}
	})
}

func TestFoldersThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(pgtest.Dir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(pgtest.Dir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{file + "/stele": "cannot make the data folder"}
	if os.Geteuid() == 0 {
		tests[filepath.Join(closed, "stele")] = "cannot enter " + closed
	}
	for dir, want := range tests {
		c, err := embedded.New(embedded.Config{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Start(t.Context())
		p, ok := problem.As(err)
		if !ok || p.Field != "STELE_DATA_DIR" || !strings.Contains(p.Detail, want) || len(p.Fixes) == 0 {
			t.Errorf("%s gave %v, want a problem that says %q", dir, err, want)
		}
	}
}

// TestLookingStartsNothing: status and stop of a folder that is not there leave it so.
// An initdb goes on when the process that started it is killed, and clears its folder away when it fails.
func TestAnUnfinishedClusterIsNotInTheWay(t *testing.T) {
	t.Parallel()
	c, err := embedded.New(embedded.Config{DataDir: filepath.Join(pgtest.Dir(t), "data"), Idle: shortIdle})
	if err != nil {
		t.Fatal(err)
	}
	unfinished, err := c.FreshDir()
	if err != nil {
		t.Fatal(err)
	}
	writeAsServer(t, filepath.Join(unfinished, "PG_VERSION"), "15\n")
	fresh, err := c.FreshDir()
	if err != nil || fresh == unfinished {
		t.Errorf("the next attempt uses %s, the one before %s: %v", fresh, unfinished, err)
	}
	if _, err := os.Stat(unfinished); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unfinished cluster stays: %v", err)
	}
	if entries, err := os.ReadDir(fresh); err != nil || len(entries) > 0 {
		t.Errorf("the new folder is not empty: %v, %v", entries, err)
	}
}

func TestLookingStartsNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(pgtest.Dir(t), "stele")
	c := pgtest.NewCluster(t, embedded.Config{DataDir: dir})
	if s := mustStatus(t, c); s.Running || s.Major != 0 || s.DataDir != dir {
		t.Errorf("status %+v", s)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Errorf("stopping nothing: %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestSuperviseIsNotForPeople(t *testing.T) {
	t.Parallel()
	if err := embedded.Supervise(t.Context()); !problem.Is(err, problem.Invalid) {
		t.Errorf("got %v", err)
	}
}
