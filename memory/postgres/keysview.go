package postgres

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
)

// snapshot is the transaction of a View that uses keys which may be old by now. The first question asks for their
// identity as well, in the same round trip; when it is another one the question fails with errStale, nothing of its answer is used, and
// the View runs again with the right keys.
type snapshot struct {
	pgx.Tx
	org   uuid.UUID
	from  identity // of the keysets of the keys in use
	asked bool
	stale bool
}

var errStale = errors.New("the keys of the organization are others by now")

// first sends the first questions; the results that it gives are those of b.
func (s *snapshot) first(ctx context.Context, b *pgx.Batch) (pgx.BatchResults, error) {
	s.asked = true
	all := &pgx.Batch{}
	all.Queue(readIdentity, s.org)
	all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
	results := s.Tx.SendBatch(ctx, all)
	var from identity
	err := scanIdentity(results.QueryRow(), &from)
	if s.stale = err == nil && from != s.from; s.stale {
		err = errStale
	}
	if err != nil {
		for _, q := range b.QueuedQueries {
			q.Fn = nil // closing would hand out the rows
		}
		_ = results.Close() // it has the same error, or none
		return nil, err
	}
	return results, nil
}

// SendBatch sends a batch.
func (s *snapshot) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if s.asked {
		return s.Tx.SendBatch(ctx, b)
	}
	results, err := s.first(ctx, b)
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return results
}

// Query sends a query.
func (s *snapshot) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if s.asked {
		return s.Tx.Query(ctx, sql, args...)
	}
	b := &pgx.Batch{}
	b.Queue(sql, args...)
	results, err := s.first(ctx, b)
	if err != nil {
		return nil, err
	}
	return postgres.RowsOf(results)
}

// QueryRow sends a query for one row.
func (s *snapshot) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if s.asked {
		return s.Tx.QueryRow(ctx, sql, args...)
	}
	return postgres.RowOf(s.Query(ctx, sql, args...))
}
