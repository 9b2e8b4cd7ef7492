package postgres_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

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

// Whether a commit that got no answer happened cannot be known: a write says so, a read is run again.
func TestACutCommitIsNotRunAgain(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	admin := d.ConnectAdmin(t)
	for readOnly, want := range map[bool]int{false: 1, true: 2} {
		attempts := 0
		err := d.InOrg(t.Context(), uuid.New(), postgres.TxOptions{ReadOnly: readOnly}, func(tx pgx.Tx) error {
			if attempts++; attempts == 1 {
				cut(t, admin, tx)
			}
			return nil
		})
		if attempts != want {
			t.Errorf("read only %t: %d attempts, want %d", readOnly, attempts, want)
		}
		if !readOnly && !problem.Is(err, problem.Unavailable) || readOnly && err != nil {
			t.Errorf("read only %t: %v", readOnly, err)
		}
	}
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
