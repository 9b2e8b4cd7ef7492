//go:build unix

package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// clientArgument makes the test binary a client of the cluster in the folder that follows: it says "ready" when it has
// opened the database and holds it until its standard input ends.
const clientArgument = "embedded-client"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == clientArgument {
		if err := beClient(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beClient(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// What pgtest.Supervisor gives, which needs a test.
	c, err := embedded.New(embedded.Config{DataDir: dir, Idle: shortIdle, Supervisor: []string{self, "pgtest-supervise"}})
	if err != nil {
		return err
	}
	db, err := c.Open(context.Background())
	if err != nil {
		return err
	}
	defer db.Close()
	fmt.Fprintln(os.Stdout, "ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, c.Close())
}

// shortIdle is short enough to wait for and long enough not to fall between two steps of a test.
const shortIdle = 500 * time.Millisecond

// patience bounds every wait; nothing takes as long unless it never happens.
const patience = 60 * time.Second

// client is another process that uses a cluster.
type client struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	said  chan string // its one line
}

func startClient(t *testing.T, dir string) *client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{cmd: exec.CommandContext(context.Background(), self, clientArgument, dir), said: make(chan string, 1)}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stderr = os.Stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		c.said <- strings.TrimSpace(line)
	}()
	t.Cleanup(c.kill)
	return c
}

func (c *client) waitReady(t *testing.T) {
	t.Helper()
	select {
	case line := <-c.said:
		if line != "ready" {
			t.Fatalf("the client said %q", line)
		}
	case <-time.After(patience):
		t.Fatal("the client is not ready")
	}
}

// kill ends the client without a chance to clean up.
func (c *client) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// newCluster gives a cluster and the folder for other handles on it.
func newCluster(t *testing.T, idle time.Duration) (*embedded.Cluster, string) {
	t.Helper()
	dir := filepath.Join(pgtest.Dir(t), "stele")
	return pgtest.NewCluster(t, embedded.Config{DataDir: dir, Idle: idle}), dir
}

// mustStart starts the cluster and opens its database, migrated.
func mustStart(t *testing.T, c *embedded.Cluster) (embedded.DSNs, *postgres.DB) {
	t.Helper()
	db, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	dsns, err := c.DSNs()
	if err != nil {
		t.Fatal(err)
	}
	return dsns, db
}

func mustStatus(t *testing.T, c *embedded.Cluster) embedded.Status {
	t.Helper()
	s, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		pause := time.NewTimer(5 * time.Millisecond)
		<-pause.C
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("no process %d to kill", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}

// keep writes something that must be there afterwards, acknowledged; kept counts such things.
func keep(t *testing.T, dsns embedded.DSNs) {
	t.Helper()
	asOwner(t, dsns, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS kept (n int); INSERT INTO kept VALUES (1)")
		return err
	})
}

func kept(t *testing.T, dsns embedded.DSNs) (n int) {
	t.Helper()
	asOwner(t, dsns, func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&n)
	})
	return n
}

func asOwner(t *testing.T, dsns embedded.DSNs, do func(*pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsns.Owner)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := do(conn); err != nil {
		t.Fatal(err)
	}
}
