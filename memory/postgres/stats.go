package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// Stats counts what there is in some spaces.
func (v *view) Stats(ctx context.Context, spaces []int32, model string, at time.Time) (memory.Stats, error) {
	out := memory.Stats{Kinds: map[memory.Kind]int{}, Models: []memory.ModelCount{}}
	for _, k := range memory.Kinds {
		out.Kinds[k] = 0
	}
	byStatus := map[memory.Status]*int{
		memory.Live: &out.Memories.Live, memory.Superseded: &out.Memories.Superseded, memory.Retired: &out.Memories.Retired, memory.Erased: &out.Memories.Erased,
		memory.CandidateStatus: &out.Memories.Candidates,
	}
	b := &pgx.Batch{}
	b.Queue(`SELECT status, kind, count(*)::int, coalesce(sum(term_count) FILTER (WHERE status = 'live'), 0)::bigint,
			count(*) FILTER (WHERE status = 'live' AND $3 <> '' AND refused_by = $3)::int
		FROM memories WHERE org_id = $1 AND space_id = ANY ($2) GROUP BY status, kind`, v.org, spaces, model).Query(func(rows pgx.Rows) error {
		var status memory.Status
		var kind memory.Kind
		var n, refused int
		var terms int64
		_, err := pgx.ForEachRow(rows, []any{&status, &kind, &n, &terms, &refused}, func() error {
			if count := byStatus[status]; count != nil {
				*count += n
			}
			if status == memory.Live {
				out.Kinds[kind] += n
			}
			out.Postings += terms
			out.Embedding.Refused += refused
			return nil
		})
		return err
	})
	b.Queue(`SELECT coalesce(sum(octet_length(t.body)), 0)::bigint FROM memories m
		JOIN memory_versions t ON t.org_id = m.org_id AND t.memory_id = m.memory_id
		WHERE m.org_id = $1 AND m.space_id = ANY ($2)`, v.org, spaces).QueryRow(func(row pgx.Row) error { return row.Scan(&out.TextBytes) })
	dimensions := 0
	b.Queue(`SELECT model, count(*)::int, sum(pg_column_size(embedding))::bigint, max(CASE WHEN model = $3 THEN vector_dims(embedding) ELSE 0 END)
		FROM vectors WHERE org_id = $1 AND space_id = ANY ($2) GROUP BY model ORDER BY model`, v.org, spaces, model).Query(func(rows pgx.Rows) error {
		var m memory.ModelCount
		var bytes int64
		var length int
		_, err := pgx.ForEachRow(rows, []any{&m.Model, &m.Vectors, &bytes, &length}, func() error {
			out.Models = append(out.Models, m)
			out.VectorBytes += bytes
			if m.Model == model {
				out.Embedding.Vectors, dimensions = m.Vectors, length
			}
			return nil
		})
		return err
	})
	if err := v.tx.SendBatch(ctx, b).Close(); err != nil {
		return memory.Stats{}, err
	}
	out.Embedding.Model, out.Embedding.Compared = model, memory.ComparedNone
	if model == "" {
		return out, nil
	}
	var err error
	if out.Embedding.Waiting, err = v.Unindexed(ctx, spaces, model, at); err != nil {
		return memory.Stats{}, err
	}
	if out.Embedding.Vectors > 0 {
		out.Embedding.Compared, err = v.compared(ctx, postgres.VectorModel{Model: model, Dimensions: dimensions}, out.Memories.Live)
	}
	return out, err
}

// compared tells how a recall over so many memories would compare vectors.
func (v *view) compared(ctx context.Context, m postgres.VectorModel, scope int) (memory.Comparison, error) {
	if float64(scope) <= float64(v.exact) {
		return memory.ComparedAll, nil
	}
	there, err := postgres.VectorIndexes(ctx, v.tx)
	if err != nil {
		return "", err
	}
	index := there[m.IndexName()]
	switch {
	case !v.exact.pays(float64(scope), max(index.Tuples, float64(scope))):
		return memory.ComparedAll, nil
	case index.Ready:
		return memory.ComparedIndex, nil
	}
	return memory.ComparedUnindexed, nil
}
