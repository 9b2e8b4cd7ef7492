package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// opening is a transaction that begins with the first thing it is asked, in the same round trip: to begin, to name the
// organization and to set the limits costs no waiting of its own. One that is asked nothing never begins.
type opening struct {
	begun pgx.Tx // nil until then
	conn  *pgx.Conn
	mode  pgx.TxOptions
	limit string // settings, as set_config takes them
	quiet string
	org   string // "" = none
	over  bool   // it was committed with its last question
}

// settings are those of one transaction. An empty organization is none: row-level security then shows nothing.
const settings = `SELECT set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true), set_config('app.org_id', $3, true)`

func (db *DB) opening(conn *pgx.Conn, org uuid.UUID, opts TxOptions) *opening {
	t := &opening{conn: conn, mode: pgx.TxOptions{IsoLevel: opts.Isolation}, limit: milliseconds(opts.StatementTimeout), quiet: milliseconds(db.silence)}
	if opts.ReadOnly {
		t.mode.AccessMode = pgx.ReadOnly
	}
	if org != uuid.Nil {
		t.org = org.String()
	}
	return t
}

// milliseconds is at least one: 0 means no limit.
func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// lead gives a batch that begins the transaction, then asks what the given ones ask.
func (t *opening) lead(b *pgx.Batch) *pgx.Batch {
	all := &pgx.Batch{}
	all.BeginTx(t.mode)
	all.Queue(settings, t.limit, t.quiet, t.org)
	all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
	return all
}

// open begins, and asks what b asks; the results that it gives are those of b.
func (t *opening) open(ctx context.Context, b *pgx.Batch) (pgx.BatchResults, error) {
	results := t.conn.SendBatch(ctx, t.lead(b))
	t.begun = results.Tx()
	for range 2 {
		if _, err := results.Exec(); err != nil {
			for _, q := range b.QueuedQueries {
				q.Fn = nil // closing would hand out the rows
			}
			_ = results.Close() // it has the same error
			return nil, err
		}
	}
	return results, nil
}

// start begins in a round trip of its own, for what cannot be asked in one with others.
func (t *opening) start(ctx context.Context) error {
	if t.begun != nil {
		return nil
	}
	results, err := t.open(ctx, &pgx.Batch{})
	if err != nil {
		return err
	}
	return results.Close()
}

// SendBatch sends a batch.
func (t *opening) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if t.begun != nil {
		return t.begun.SendBatch(ctx, b)
	}
	results, err := t.open(ctx, b)
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return results
}

// Query sends a query.
func (t *opening) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if !batchable(args) {
		if err := t.start(ctx); err != nil {
			return nil, err
		}
	}
	if t.begun != nil {
		return t.begun.Query(ctx, sql, args...)
	}
	b := &pgx.Batch{}
	b.Queue(sql, args...)
	results, err := t.open(ctx, b)
	if err != nil {
		return nil, err
	}
	return RowsOf(results)
}

// QueryRow sends a query for one row.
func (t *opening) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if t.begun != nil {
		return t.begun.QueryRow(ctx, sql, args...)
	}
	return RowOf(t.Query(ctx, sql, args...))
}

// batchable tells whether a question can be one of several: without options of the driver before its arguments.
func batchable(args []any) bool {
	if len(args) == 0 {
		return true
	}
	switch args[0].(type) {
	case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
		return false
	}
	return true
}

// Exec sends a statement. One without arguments may be several, which only go by themselves.
func (t *opening) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if t.begun == nil && len(args) > 0 && batchable(args) {
		b := &pgx.Batch{}
		b.Queue(sql, args...)
		results, err := t.open(ctx, b)
		if err != nil {
			return pgconn.CommandTag{}, err
		}
		tag, err := results.Exec()
		return tag, errors.Join(err, results.Close())
	}
	if err := t.start(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.begun.Exec(ctx, sql, args...)
}

// Begin sets a savepoint.
func (t *opening) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := t.start(ctx); err != nil {
		return nil, err
	}
	return t.begun.Begin(ctx)
}

// CopyFrom sends rows.
func (t *opening) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, from pgx.CopyFromSource) (int64, error) {
	if err := t.start(ctx); err != nil {
		return 0, err
	}
	return t.begun.CopyFrom(ctx, table, columns, from)
}

// Prepare prepares a statement.
func (t *opening) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := t.start(ctx); err != nil {
		return nil, err
	}
	return t.begun.Prepare(ctx, name, sql)
}

// LargeObjects are those of a transaction that has begun.
func (t *opening) LargeObjects() pgx.LargeObjects {
	if t.begun == nil {
		return pgx.LargeObjects{}
	}
	return t.begun.LargeObjects()
}

// Conn is the connection.
func (t *opening) Conn() *pgx.Conn { return t.conn }

// Commit makes what was done last.
func (t *opening) Commit(ctx context.Context) error {
	if t.begun == nil || t.over {
		return nil
	}
	return t.begun.Commit(ctx)
}

// Rollback takes back what was done.
func (t *opening) Rollback(ctx context.Context) error {
	if t.begun == nil || t.over {
		return nil
	}
	return t.begun.Rollback(ctx)
}

// whole begins, asks what b asks and commits, all in one round trip. Where the connection is lost on the way, nobody knows whether
// the commit happened.
func (t *opening) whole(ctx context.Context, b *pgx.Batch) error {
	all := t.lead(b)
	all.Queue("COMMIT")
	before, known := sentOn(t.conn)
	results := t.conn.SendBatch(ctx, all)
	t.begun = results.Tx()
	err := results.Close()
	if after, _ := sentOn(t.conn); err != nil && t.conn.IsClosed() && (!known || after != before) {
		return fmt.Errorf("%w: %w", errLostCommit, err)
	}
	t.over = err == nil
	return err
}

// RowsOf are the rows of the next query of a batch; reading or closing them ends the batch.
func RowsOf(results pgx.BatchResults) (pgx.Rows, error) {
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // it has the same error
		return nil, err
	}
	return &batchRows{Rows: rows, results: results}, nil
}

type batchRows struct {
	pgx.Rows
	results pgx.BatchResults
}

func (r *batchRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *batchRows) Close() {
	r.Rows.Close()
	_ = r.results.Close() // Err tells the same
}

// RowOf is the first of some rows, as pgx.Row gives it.
func RowOf(rows pgx.Rows, err error) pgx.Row { return firstRow{rows, err} }

type firstRow struct {
	rows pgx.Rows
	err  error
}

func (r firstRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
