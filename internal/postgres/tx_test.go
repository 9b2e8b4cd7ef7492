package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
)

func insertOrganization(ctx context.Context, tx pgx.Tx, org uuid.UUID) error {
	_, err := tx.Exec(ctx, `INSERT INTO organizations (org_id, name, created_at, master_key_id, data_keyset, index_keyset)
		VALUES ($1, $2, $3, 'k', '', '')`, org, "org "+org.String(), time.Unix(0, 0))
	return err
}

func organizations(t *testing.T, db *postgres.DB, org uuid.UUID) (n int) {
	t.Helper()
	err := db.InOrg(context.WithoutCancel(t.Context()), org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT count(*) FROM organizations").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func onlyOneConnection(cfg *postgres.Config) { cfg.MaxConns = 1 }

// TestTransactionEnds: however fn ends, the transaction ends with it, and the one connection serves the next.
func TestTransactionEnds(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		end  func(cancel func()) error
		rows int
	}{
		"commit":                  {func(func()) error { return nil }, 1},
		"error":                   {func(func()) error { return boom }, 0},
		"panic":                   {func(func()) error { panic(boom) }, 0},
		"caller gave up":          {func(cancel func()) error { cancel(); return boom }, 0},
		"caller gave up silently": {func(cancel func()) error { cancel(); return nil }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t, onlyOneConnection)
			org := uuid.New()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				return db.InOrg(ctx, org, postgres.TxOptions{}, func(tx pgx.Tx) error {
					if err := insertOrganization(ctx, tx, org); err != nil {
						return err
					}
					return test.end(cancel)
				})
			}()
			if (err == nil) != (test.rows == 1) {
				t.Errorf("InOrg gave %v", err)
			}
			if got := organizations(t, db, org); got != test.rows {
				t.Errorf("%d rows afterwards, want %d", got, test.rows)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for name, test := range map[string]struct {
		code     string
		losses   int // attempts that fail with code
		attempts int // that are made
		want     problem.Code
	}{
		"serialization failure": {"40001", 2, 3, ""},
		"deadlock":              {"40P01", 5, 6, ""},
		"never wins":            {"40001", 1000, 6, problem.Conflict},
		"another error":         {"23505", 1, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			org, attempts := uuid.New(), 0
			err := db.InOrg(t.Context(), org, postgres.TxOptions{}, func(tx pgx.Tx) error {
				attempts++
				// The row of a lost attempt must be gone in the next one.
				if err := insertOrganization(t.Context(), tx, org); err != nil {
					return err
				}
				if attempts <= test.losses {
					return &pgconn.PgError{Code: test.code}
				}
				return nil
			})
			if attempts != test.attempts {
				t.Errorf("%d attempts, want %d", attempts, test.attempts)
			}
			switch {
			case test.want != "" && !problem.Is(err, test.want):
				t.Errorf("got %v, want a problem %s", err, test.want)
			case test.want == "" && test.attempts > test.losses && err != nil:
				t.Errorf("got %v after it had won", err)
			case test.attempts <= test.losses && err == nil:
				t.Error("the last loss was not reported")
			}
		})
	}
}

// TestWriteSkew: two transactions that each read what the other writes; under SERIALIZABLE one of them loses for real and
// is run again.
func TestWriteSkew(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	org := uuid.New()
	if err := db.InOrg(t.Context(), org, postgres.TxOptions{}, func(tx pgx.Tx) error { return insertOrganization(t.Context(), tx, org) }); err != nil {
		t.Fatal(err)
	}
	var bothRead sync.WaitGroup
	bothRead.Add(2)
	runs := make([]int, 2)
	failures := make([]error, 2)
	var done sync.WaitGroup
	for n := range 2 {
		done.Go(func() {
			failures[n] = db.InOrg(t.Context(), org, postgres.TxOptions{Isolation: pgx.Serializable}, func(tx pgx.Tx) error {
				var projects int
				if err := tx.QueryRow(t.Context(), "SELECT count(*) FROM projects").Scan(&projects); err != nil {
					return err
				}
				if runs[n]++; runs[n] == 1 {
					bothRead.Done()
					bothRead.Wait()
				}
				// The number depends on what was read, so the two must not have read the same.
				_, err := tx.Exec(t.Context(), "INSERT INTO projects (org_id, project_id, space_id, name, created_at) VALUES ($1, $2, $3, $4, $5)",
					org, uuid.New(), projects, uuid.NewString(), time.Unix(0, 0))
				return err
			})
		})
	}
	done.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	if runs[0]+runs[1] != 3 {
		t.Errorf("%d and %d runs, want one of them to have lost once", runs[0], runs[1])
	}
	var distinct int
	err := db.InOrg(t.Context(), org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT count(DISTINCT space_id) FROM projects").Scan(&distinct)
	})
	if err != nil || distinct != 2 {
		t.Errorf("%d distinct numbers, %v; want 2", distinct, err)
	}
}

func TestTransactionLimits(t *testing.T) { //nolint:tparallel // one connection serves all
	t.Parallel()
	db := pgtest.New(t, onlyOneConnection)
	t.Run("statement timeout", func(t *testing.T) { //nolint:paralleltest // in order
		err := db.WithoutOrg(t.Context(), postgres.TxOptions{StatementTimeout: 20 * time.Millisecond}, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "SELECT pg_sleep(60)")
			return err
		})
		if !problem.Is(err, problem.Unavailable) || !postgres.IsTimeout(err) {
			t.Errorf("got %v, want a problem that says it took too long", err)
		}
	})
	t.Run("cancelled statement", func(t *testing.T) { //nolint:paralleltest // in order
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := db.WithoutOrg(ctx, postgres.TxOptions{}, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT pg_sleep(60)")
			return err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
	t.Run("read only", func(t *testing.T) { //nolint:paralleltest // in order
		org := uuid.New()
		err := db.InOrg(t.Context(), org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error { return insertOrganization(t.Context(), tx, org) })
		if postgres.SQLState(err) != "25006" {
			t.Errorf("got %v, want read_only_sql_transaction", err)
		}
	})
	t.Run("no organization", func(t *testing.T) { //nolint:paralleltest // in order
		err := db.InOrg(t.Context(), uuid.Nil, postgres.TxOptions{}, func(pgx.Tx) error { return nil })
		if err == nil {
			t.Error("the nil organization was accepted")
		}
	})
}

// A transaction whose client fell silent, as one does that lost its network, must not keep others from what it locked: the
// server ends it, and a client that was merely slow runs it again.
func TestASilentTransactionLetsGo(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, func(cfg *postgres.Config) { cfg.SilenceTimeout = 100 * time.Millisecond })
	org := uuid.New()
	ctx := t.Context()
	if err := db.InOrg(ctx, org, postgres.TxOptions{}, func(tx pgx.Tx) error { return insertOrganization(ctx, tx, org) }); err != nil {
		t.Fatal(err)
	}
	rename := func(tx pgx.Tx, name string) error {
		_, err := tx.Exec(ctx, `UPDATE organizations SET name = $2 WHERE org_id = $1`, org, name)
		return err
	}
	attempts, let := 0, false
	err := db.InOrg(ctx, org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		attempts++
		if err := rename(tx, "silent"); err != nil || attempts > 1 {
			return err
		}
		err := db.InOrg(ctx, org, postgres.TxOptions{StatementTimeout: 20 * time.Second}, func(other pgx.Tx) error { return rename(other, "other") })
		let = err == nil
		return err
	})
	if err != nil || attempts != 2 {
		t.Errorf("%d attempts, %v; want the second to come after the other", attempts, err)
	}
	if !let {
		t.Error("the other waited for whom nobody heard of")
	}
}

// A connection that was ended before the commit was sent has stored nothing, so the work is run again: also where the reason the server
// gave was lost with it.
func TestACommitThatWasNotSentIsRunAgain(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	org, ctx := uuid.New(), t.Context()
	attempts := 0
	err := db.InOrg(ctx, org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		if err := insertOrganization(ctx, tx, org); err != nil {
			return err
		}
		if attempts++; attempts > 1 {
			return nil
		}
		var pid int
		if err := tx.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			return err
		}
		return db.WithoutOrg(ctx, postgres.TxOptions{}, func(other pgx.Tx) error {
			gone := false // the process, and with it the connection
			if err := other.QueryRow(ctx, `SELECT pg_terminate_backend($1, 60000)`, pid).Scan(&gone); err != nil || !gone {
				return fmt.Errorf("process %d goes on: %w", pid, err)
			}
			return nil
		})
	})
	if err != nil || attempts != 2 {
		t.Errorf("%d attempts, %v; want the second to succeed", attempts, err)
	}
}
