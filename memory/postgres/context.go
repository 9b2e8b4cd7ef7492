package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/stele-dev/stele/memory"
)

// ElementVectors gives what is kept of the elements of a project under a model: an exact scan, since a model has some hundreds.
func (v *view) ElementVectors(ctx context.Context, project uuid.UUID, model string, vector []float32) (map[uuid.UUID]memory.ElementVector, error) {
	rows, err := v.tx.Query(ctx, `
		SELECT e.element_id, x.text_hash, 1 - (x.embedding <=> $4::halfvec)
		FROM elements e JOIN element_vectors x ON x.org_id = $1 AND x.element_id = e.element_id AND x.model = $3
		WHERE e.org_id = $1 AND e.project_id = $2 AND e.removed_at IS NULL`, v.org, project, model, halfVector(vector))
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID]memory.ElementVector{}
	var id uuid.UUID
	var x memory.ElementVector
	_, err = pgx.ForEachRow(rows, []any{&id, &x.TextHash, &x.Cosine}, func() error {
		out[id] = x
		x = memory.ElementVector{}
		return nil
	})
	return out, err
}

// SaveElementVectors replaces vectors of elements, in the order given.
func (t *tx) SaveElementVectors(_ context.Context, model string, vectors []memory.NewElementVector) error {
	b := &pgx.Batch{}
	for _, x := range vectors {
		b.Queue(`INSERT INTO element_vectors (org_id, element_id, model, text_hash, embedding) VALUES ($1, $2, $3, $4, $5::halfvec)
			ON CONFLICT (org_id, element_id) DO UPDATE SET model = excluded.model, text_hash = excluded.text_hash, embedding = excluded.embedding`,
			t.org, x.Element, model, x.TextHash, halfVector(x.Vector))
	}
	t.pipeline.later(b)
	return nil
}

// halfVector is null for no vector.
func halfVector(vector []float32) *pgvector.HalfVector {
	if vector == nil {
		return nil
	}
	h := pgvector.NewHalfVector(vector)
	return &h
}
