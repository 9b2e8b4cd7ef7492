package postgres_test

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
)

// cut ends the connection of a transaction from the outside, as a server that restarts does.
func cut(t *testing.T, admin *pgx.Conn, tx pgx.Tx) {
	t.Helper()
	if _, err := admin.Exec(context.WithoutCancel(t.Context()), `SELECT pg_terminate_backend($1, 5000)`, tx.Conn().PgConn().PID()); err != nil {
		t.Fatal(err)
	}
}

// A transaction whose connection is cut off before its commit did nothing: it is run again.
func TestACutTransactionIsRunAgain(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	admin := d.ConnectAdmin(t)
	org, attempts := uuid.New(), 0
	err := d.InOrg(t.Context(), org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		attempts++
		if err := insertOrganization(t.Context(), tx, org); err != nil {
			return err
		}
		if attempts == 1 {
			cut(t, admin, tx)
			_, err := tx.Exec(t.Context(), "SELECT 1")
			return err
		}
		return nil
	})
	if err != nil || attempts != 2 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
	if n := organizations(t, d.DB, org); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// Whether a commit that got no answer happened cannot be known, be it that the server never heard of it or that its answer
// was lost: a write says so, a read is run again.
func TestACutCommitIsNotRunAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name              string
		readOnly, arrives bool
		attempts, rows    int
	}{
		{"a write that never arrived", false, false, 1, 0},
		{"a write without an answer", false, true, 1, 1},
		{"a read that never arrived", true, false, 2, 0},
		{"a read without an answer", true, true, 2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var cuts atomic.Int32
			d := pgtest.NewDatabase(t, func(cfg *postgres.Config) { cfg.URL = cuttingCommits(t, cfg.URL, test.arrives, &cuts) })
			org, attempts := uuid.New(), 0
			err := d.InOrg(t.Context(), org, postgres.TxOptions{ReadOnly: test.readOnly}, func(tx pgx.Tx) error {
				if attempts++; attempts == 1 {
					cuts.Store(1)
				}
				if test.readOnly {
					_, err := tx.Exec(t.Context(), "SELECT 1")
					return err
				}
				return insertOrganization(t.Context(), tx, org)
			})
			if attempts != test.attempts || cuts.Load() != 0 {
				t.Errorf("%d attempts, want %d; %d cuts did not happen", attempts, test.attempts, cuts.Load())
			}
			if !test.readOnly && !problem.Is(err, problem.Unavailable) || test.readOnly && err != nil {
				t.Error(err)
			}
			if n := organizations(t, d.DB, org); n != test.rows {
				t.Errorf("%d rows, want %d", n, test.rows)
			}
		})
	}
}

// cuttingCommits stands between a client and the database and gives the address to reach it by. It ends as many connections
// as cuts says when they commit: before the server hears of it or, where it arrives, before the client hears of the answer.
func cuttingCommits(t *testing.T, address string, arrives bool, cuts *atomic.Int32) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		t.Fatal(err)
	}
	network, at := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	workers.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, at) //nolint:noctx // a server of this machine answers or refuses at once
			if err != nil {
				t.Error(err)
				_ = client.Close()
				return
			}
			var mute atomic.Bool
			end := func() { _, _ = client.Close(), server.Close() }
			workers.Go(func() { // what the client says
				defer end()
				for buffer := make([]byte, 64<<10); ; {
					n, err := client.Read(buffer)
					if err != nil {
						return
					}
					if bytes.Contains(buffer[:n], []byte("commit\x00")) && cuts.CompareAndSwap(1, 0) {
						if mute.Store(true); !arrives {
							return
						}
					}
					if _, err := server.Write(buffer[:n]); err != nil {
						return
					}
				}
			})
			workers.Go(func() { // what the server answers
				defer end()
				for buffer := make([]byte, 64<<10); ; {
					n, err := server.Read(buffer)
					if err != nil || mute.Load() {
						return
					}
					if _, err := client.Write(buffer[:n]); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		workers.Wait() // the pool is closed by then
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.RawQuery = l.Addr().String(), "sslmode=disable"
	return u.String()
}

// A connection that was cut while nobody used it is replaced without anybody noticing.
func TestACutIdleConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t, onlyOneConnection)
	admin := d.ConnectAdmin(t)
	org := uuid.New()
	var pid uint32
	err := d.InOrg(t.Context(), org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		pid = tx.Conn().PgConn().PID()
		return insertOrganization(t.Context(), tx, org)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend($1, 5000)`, pid); err != nil {
		t.Fatal(err)
	}
	if n := organizations(t, d.DB, org); n != 1 {
		t.Errorf("%d rows", n)
	}
}
