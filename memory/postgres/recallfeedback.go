package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// traits looks memories up one by one; a vector's binary form travels in a fraction of the time of its text.
const traits = `
	SELECT m.memory_id, t.terms, v.embedding
	FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT memory_id, space_id, seq FROM memories WHERE org_id = $1 AND memory_id = i.memory_id OFFSET 0) m
	CROSS JOIN LATERAL (SELECT terms FROM memory_terms WHERE org_id = $1 AND space_id = m.space_id AND seq = m.seq OFFSET 0) t
	LEFT JOIN LATERAL (SELECT halfvec_send(embedding) AS embedding FROM vectors
		WHERE org_id = $1 AND model = $3 AND space_id = m.space_id AND seq = m.seq OFFSET 0) v ON true`

// Traits gives the terms of memories, and their vectors of a model.
func (v *view) Traits(ctx context.Context, ids []uuid.UUID, model string) (map[uuid.UUID]memory.Traits, error) {
	rows, err := v.tx.Query(ctx, traits, v.org, ids, model)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]memory.Traits, len(ids))
	var id uuid.UUID
	var of memory.Traits
	var vector []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &of.Terms, &vector}, func() error {
		var err error
		if of.Vector, err = readHalf(vector); err != nil {
			return err
		}
		out[id] = of
		of = memory.Traits{}
		return nil
	})
	return out, err
}
