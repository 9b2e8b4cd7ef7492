package postgres

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stele-dev/stele/memory"
)

// What a remember asks is answered without sending the rows that wait: those of the model cannot be changed by them, and what is asked of
// memories is looked up among them, too. So the memories of a whole group are sent together.

// aside reads past the rows that wait. Statements are sent first: they may change anything.
type aside struct{ *pipeline }

// to is where to send a query.
func (a aside) to() interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
} {
	if a.pending.Len() > 0 {
		return a.pipeline
	}
	return a.Tx
}

// Query sends a query.
func (a aside) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return a.to().Query(ctx, sql, args...)
}

// QueryRow sends a query.
func (a aside) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return a.to().QueryRow(ctx, sql, args...)
}

// SendBatch sends queries.
func (a aside) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return a.to().SendBatch(ctx, b)
}

// past is a view that reads past the rows that wait.
func (t *tx) past() *view {
	v := t.view
	v.tx = aside{t.pipeline}
	return &v
}

// FindElements is that of the view; no row that waits is of the model.
func (t *tx) FindElements(ctx context.Context, project uuid.UUID, name string) ([]memory.Element, error) {
	return t.past().FindElements(ctx, project, name)
}

// LatestCompared is known of a project whose space is held.
func (t *tx) LatestCompared(ctx context.Context, project uuid.UUID) (memory.Compared, error) {
	if sp := t.spaces[memory.SpaceKey{Scope: memory.Project, Owner: project.String()}]; sp != nil {
		return sp.compared, nil
	}
	return t.past().LatestCompared(ctx, project)
}

// ByTitle is that of the view. A title that waits is sent first.
func (t *tx) ByTitle(ctx context.Context, spaces []int32, folded string) (uuid.UUID, error) {
	title := t.titleHash(folded)
	for m := range t.waiting() {
		if m.Status == memory.Live && slices.Contains(spaces, m.Space) && slices.Equal(m.found.title, title) {
			return t.view.ByTitle(ctx, spaces, folded)
		}
	}
	return t.past().ByTitle(ctx, spaces, folded)
}

// waiting are the memories that are added and not sent.
func (t *tx) waiting() func(yield func(*newMemory) bool) {
	return func(yield func(*newMemory) bool) {
		for _, f := range []*fresh{&t.pipeline.earlier, &t.pipeline.own} {
			for i := range f.memories {
				if !yield(&f.memories[i]) {
					return
				}
			}
		}
	}
}

// waitingVector is the vector of a memory that waits; nil for none. It is stored in half precision, which tells in the fourth digit of a
// cosine.
func (t *tx) waitingVector(m *newMemory, model string) []float32 {
	for _, f := range []*fresh{&t.pipeline.earlier, &t.pipeline.own} {
		for i := range f.vectors {
			if v := &f.vectors[i]; v.space == m.Space && v.seq == m.Seq && v.model == model {
				return v.embedding
			}
		}
	}
	return nil
}
