package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
)

// trips counts what waits for an answer.
type trips struct{ atomic.Int64 }

func (n *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	n.Add(1)
	return ctx
}
func (n *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (n *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	n.Add(1)
	return ctx
}
func (n *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (n *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

const settingsNow = `SELECT current_setting('app.org_id'), current_setting('statement_timeout'), current_setting('transaction_isolation'), current_setting('transaction_read_only')`

// A transaction begins with its first question, whichever way that is asked, and costs no round trip of its own.
func TestATransactionBeginsWithItsFirstQuestion(t *testing.T) {
	t.Parallel()
	var n trips
	db := pgtest.New(t, onlyOneConnection, func(cfg *postgres.Config) { cfg.Tracer = &n })
	org := uuid.New()
	want := [4]string{org.String(), "1234ms", "repeatable read", "on"}
	opts := postgres.TxOptions{ReadOnly: true, Isolation: pgx.RepeatableRead, StatementTimeout: 1234e6}
	check := func(t *testing.T, row pgx.Row) error {
		t.Helper()
		var got [4]string
		if err := row.Scan(&got[0], &got[1], &got[2], &got[3]); err != nil {
			return err
		}
		if got != want {
			t.Errorf("%v, want %v", got, want)
		}
		return nil
	}
	row := func(tx pgx.Tx) error { return check(t, tx.QueryRow(t.Context(), settingsNow)) }
	for name, test := range map[string]struct {
		trips int64
		fn    func(pgx.Tx) error
	}{
		"nothing": {0, func(pgx.Tx) error { return nil }},
		"row":     {2, row},
		"rows": {2, func(tx pgx.Tx) error {
			rows, err := tx.Query(t.Context(), settingsNow+` FROM generate_series(1, $1)`, 3)
			if err != nil {
				return err
			}
			got, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (int, error) { return 1, check(t, r) })
			if len(got) != 3 {
				t.Errorf("%d rows", len(got))
			}
			return err
		}},
		"batch": {3, func(tx pgx.Tx) error {
			b := &pgx.Batch{}
			for range 2 {
				b.Queue(settingsNow).QueryRow(func(r pgx.Row) error { return check(t, r) })
			}
			if err := tx.SendBatch(t.Context(), b).Close(); err != nil {
				return err
			}
			return row(tx)
		}},
		"statement": {3, func(tx pgx.Tx) error {
			if tag, err := tx.Exec(t.Context(), `SELECT $1::int`, 1); err != nil || tag.RowsAffected() != 1 {
				return fmt.Errorf("%s: %w", tag, err)
			}
			return row(tx)
		}},
		"several statements": {4, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SELECT 1; SELECT 2`); err != nil {
				return err
			}
			return row(tx)
		}},
		"simple protocol": {3, func(tx pgx.Tx) error {
			return check(t, tx.QueryRow(t.Context(), settingsNow, pgx.QueryExecModeSimpleProtocol))
		}},
		"savepoint": {5, func(tx pgx.Tx) error {
			return pgx.BeginFunc(t.Context(), tx, row)
		}},
	} {
		before := n.Load()
		if err := db.InOrg(t.Context(), org, opts, test.fn); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := n.Load() - before; got != test.trips {
			t.Errorf("%s: %d round trips, want %d", name, got, test.trips)
		}
	}
	// What fails with the first question leaves the connection usable, and the next transaction without its settings.
	for _, sql := range []string{`SELECT no_such_column`, `SELECT 1/0`} {
		if err := db.InOrg(t.Context(), org, opts, func(tx pgx.Tx) error { return tx.QueryRow(t.Context(), sql).Scan(new(int)) }); err == nil {
			t.Errorf("%s succeeded", sql)
		}
	}
	err := db.WithoutOrg(t.Context(), postgres.TxOptions{}, func(tx pgx.Tx) error {
		var got [4]string
		err := tx.QueryRow(t.Context(), settingsNow).Scan(&got[0], &got[1], &got[2], &got[3])
		if got != [4]string{"", "30s", "read committed", "off"} {
			t.Errorf("the next transaction has %v", got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A batch of its own is one round trip, whole or not at all.
func TestBatchIsOneTransaction(t *testing.T) {
	t.Parallel()
	var n trips
	db := pgtest.New(t, onlyOneConnection, func(cfg *postgres.Config) { cfg.Tracer = &n })
	const add = `INSERT INTO organizations (org_id, name, created_at, master_key_id, data_keyset, index_keyset) VALUES ($1, $1::uuid::text, now(), 'k', '', '')`
	org, before := uuid.New(), n.Load()
	err := db.Batch(t.Context(), org, postgres.TxOptions{}, func(b *pgx.Batch) { b.Queue(add, org) })
	if err != nil || n.Load() != before+1 {
		t.Errorf("%d round trips, %v", n.Load()-before, err)
	}
	if organizations(t, db, org) != 1 {
		t.Error("nothing is stored")
	}
	for name, test := range map[string]struct {
		sql   string
		lost  bool
		fills int
	}{
		"a statement that fails":     {sql: `SELECT 1/0`, fills: 1},
		"a row that is there":        {sql: `INSERT INTO organizations SELECT * FROM organizations`, fills: 1},
		"a connection that is cut":   {sql: `SELECT pg_terminate_backend(pg_backend_pid())`, lost: true, fills: 1},
		"a serialization that fails": {sql: `DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$`, fills: 6},
	} {
		fills, other := 0, uuid.New()
		err := db.Batch(t.Context(), other, postgres.TxOptions{}, func(b *pgx.Batch) {
			fills++
			b.Queue(add, other)
			b.Queue(test.sql)
		})
		if err == nil || fills != test.fills || test.lost != problem.Is(err, problem.Unavailable) {
			t.Errorf("%s: filled %d times, want %d; %v", name, fills, test.fills, err)
		}
		if n := organizations(t, db, other); n != 0 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
	if err := db.Batch(t.Context(), uuid.Nil, postgres.TxOptions{}, func(*pgx.Batch) {}); err == nil {
		t.Error("a batch of no organization")
	}
}
