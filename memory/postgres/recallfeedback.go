package postgres

import (
	"context"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/index"
)

// traitsByID looks memories up one by one; a vector's binary form travels in a fraction of the time of its text.
const traitsByID = `
	SELECT m.memory_id, t.terms, v.embedding
	FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT memory_id, space_id, seq FROM memories WHERE org_id = $1 AND memory_id = i.memory_id OFFSET 0) m
	CROSS JOIN LATERAL (SELECT terms FROM memory_terms WHERE org_id = $1 AND space_id = m.space_id AND seq = m.seq OFFSET 0) t
	LEFT JOIN LATERAL (SELECT halfvec_send(embedding) AS embedding FROM vectors
		WHERE org_id = $1 AND model = $3 AND space_id = m.space_id AND seq = m.seq OFFSET 0) v ON true`

// traitsAmong is traitsByID for memories that are known by their numbers, as far as they have a vector.
const traitsAmong = `
	SELECT c.space_id, c.seq, t.terms, v.embedding
	FROM unnest($2::int[], $4::int[]) AS c (space_id, seq)
	CROSS JOIN LATERAL (SELECT halfvec_send(embedding) AS embedding FROM vectors
		WHERE org_id = $1 AND model = $3 AND space_id = c.space_id AND seq = c.seq OFFSET 0) v
	CROSS JOIN LATERAL (SELECT terms FROM memory_terms WHERE org_id = $1 AND space_id = c.space_id AND seq = c.seq OFFSET 0) t`

// Traits gives the terms of memories, and their vectors of a model.
func (v *view) Traits(ctx context.Context, ids []uuid.UUID, model string) (map[uuid.UUID]memory.Traits, error) {
	out := make(map[uuid.UUID]memory.Traits, len(ids))
	if len(v.searched) > 0 && v.searched[0].model == model {
		maps.Copy(out, v.traits)
	}
	var missing []uuid.UUID
	for _, id := range ids {
		if _, ok := out[id]; !ok {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	rows, err := v.tx.Query(ctx, traitsByID, v.org, missing, model)
	if err != nil {
		return nil, err
	}
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

// exactCosines compares the query's vector with those of some memories, and keeps what feedback asks for next.
func (v *view) exactCosines(ctx context.Context, s memory.Search, of []index.Open) (map[index.Place]float64, error) {
	spaces, seqs, ids := make([]int32, len(of)), make([]int32, len(of)), make(map[index.Place]uuid.UUID, len(of))
	for i, p := range of {
		spaces[i], seqs[i] = p.Space, p.Seq
		ids[p.Place] = p.ID
	}
	rows, err := v.tx.Query(ctx, traitsAmong, v.org, spaces, s.Model, seqs)
	if err != nil {
		return nil, err
	}
	out := make(map[index.Place]float64, len(of))
	v.traits = make(map[uuid.UUID]memory.Traits, len(of))
	var p index.Place
	var t memory.Traits
	var vector []byte
	_, err = pgx.ForEachRow(rows, []any{&p.Space, &p.Seq, &t.Terms, &vector}, func() error {
		var err error
		if t.Vector, err = readHalf(vector); err != nil {
			return err
		}
		out[p] = memory.Cosine(s.Vector, t.Vector)
		v.traits[ids[p]] = t
		t = memory.Traits{}
		return nil
	})
	return out, err
}
