package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// pipeline is a transaction that collects statements whose result nobody looks at, and sends them together before the next
// one that is looked at and at the end. A remember holds its space for one round trip less per statement so collected.
type pipeline struct {
	pgx.Tx
	pending pgx.Batch
}

// later adds statements to what is sent next.
func (p *pipeline) later(b *pgx.Batch) {
	p.pending.QueuedQueries = append(p.pending.QueuedQueries, b.QueuedQueries...)
}

// queue adds one statement without parameters to what is sent next.
func (p *pipeline) queue(sql string) { p.pending.Queue(sql) }

// discard forgets what was collected and not sent.
func (p *pipeline) discard() { p.pending = pgx.Batch{} }

// unsent forgets what was collected from the statement on, and tells whether that was still unsent.
func (p *pipeline) unsent(sql string) bool {
	for i, q := range p.pending.QueuedQueries {
		if q.SQL == sql {
			p.pending.QueuedQueries = p.pending.QueuedQueries[:i]
			return true
		}
	}
	return false
}

// flush sends what was collected. A unique key that is taken is memory.ErrTaken: names and titles are compared before a
// write, so it is the random part of a new row that met another.
func (p *pipeline) flush(ctx context.Context) error {
	if p.pending.Len() == 0 {
		return nil
	}
	b := p.pending
	p.pending = pgx.Batch{}
	err := p.Tx.SendBatch(ctx, &b).Close()
	switch {
	case err == nil:
		return nil
	case postgres.IsUniqueViolation(err):
		return fmt.Errorf("%w: %w", memory.ErrTaken, err)
	default:
		return fmt.Errorf("write: %w", err)
	}
}

// Exec sends what was collected, then the statement.
func (p *pipeline) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := p.flush(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return p.Tx.Exec(ctx, sql, args...)
}

// Query sends what was collected, then the query.
func (p *pipeline) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := p.flush(ctx); err != nil {
		return nil, err
	}
	return p.Tx.Query(ctx, sql, args...)
}

// QueryRow sends what was collected, then the query.
func (p *pipeline) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := p.flush(ctx); err != nil {
		return failedRow{err}
	}
	return p.Tx.QueryRow(ctx, sql, args...)
}

// SendBatch sends what was collected, then the batch.
func (p *pipeline) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if err := p.flush(ctx); err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return p.Tx.SendBatch(ctx, b)
}

// failedRow is the row of a query that could not be sent.
type failedRow struct{ err error }

func (f failedRow) Scan(...any) error { return f.err }
