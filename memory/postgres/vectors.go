package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
)

// waiting are the live memories that should have a vector of a model ($2) and have none.
const waiting = `
	FROM memories m
	WHERE m.org_id = $1 AND m.status = 'live' AND m.refused_by <> $2 AND m.memory_id > $3
	  AND NOT EXISTS (SELECT FROM vectors x WHERE x.org_id = $1 AND x.model = $2 AND x.space_id = m.space_id AND x.seq = m.seq)`

// Waiting gives live memories without a vector.
func (v *view) Waiting(ctx context.Context, model string, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := v.tx.Query(ctx, `SELECT m.memory_id`+waiting+` ORDER BY m.memory_id LIMIT $4`, v.org, model, after, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// CountWaiting counts them.
func (v *view) CountWaiting(ctx context.Context, model string, after uuid.UUID) (n int, err error) {
	err = v.tx.QueryRow(ctx, `SELECT count(*)::int`+waiting, v.org, model, after).Scan(&n)
	return n, err
}

// Unindexed counts live memories without a vector that are to get one. Mostly there is none: then the counts of memories and
// vectors are equal, which is known without looking at each.
func (v *view) Unindexed(ctx context.Context, spaces []int32, model string, at time.Time) (int, error) {
	var live, vectors, n int
	if v.knows(spaces, model) {
		for _, r := range v.searched {
			n += r.Unindexed(at)
		}
		return n, nil
	}
	err := v.tx.QueryRow(ctx, `SELECT
			(SELECT coalesce(sum(live), 0)::int FROM spaces WHERE org_id = $1 AND space_id = ANY ($2)),
			(SELECT count(*)::int FROM vectors WHERE org_id = $1 AND model = $3 AND space_id = ANY ($2))`, v.org, spaces, model).Scan(&live, &vectors)
	if err != nil || live == vectors {
		return 0, err
	}
	err = v.tx.QueryRow(ctx, `
		SELECT count(*)::int FROM memories m
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > $4)
		  AND m.refused_by <> $3
		  AND NOT EXISTS (SELECT FROM vectors x WHERE x.org_id = $1 AND x.model = $3 AND x.space_id = m.space_id AND x.seq = m.seq)`,
		v.org, spaces, model, at).Scan(&n)
	return n, err
}

// RefuseVector notes that a model cannot embed the current text of a memory.
func (t *tx) RefuseVector(_ context.Context, memory uuid.UUID, model string) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE memories SET refused_by = $3 WHERE org_id = $1 AND memory_id = $2`, t.org, memory, model)
	t.pipeline.later(b)
	return nil
}

// DropVectors removes vectors of other models than the given one, at most limit, and gives their number: after a change of
// model, once every memory has a vector of the new one.
func (s *Store) DropVectors(ctx context.Context, org uuid.UUID, model string, limit int) (int64, error) {
	var n int64
	err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
		tag, err := t.Exec(ctx, `
			DELETE FROM vectors v USING (SELECT model, space_id, seq FROM vectors WHERE org_id = $1 AND model <> $2 LIMIT $3) AS old
			WHERE v.org_id = $1 AND v.model = old.model AND v.space_id = old.space_id AND v.seq = old.seq`, org, model, limit)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

// ModelVectors is how many vectors of a model an organization has.
type ModelVectors struct {
	postgres.VectorModel
	Vectors int
}

// CountVectors counts an organization's vectors by model.
func (s *Store) CountVectors(ctx context.Context, org uuid.UUID) ([]ModelVectors, error) {
	var out []ModelVectors
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true, StatementTimeout: countTimeout}, func(t pgx.Tx) error {
		// The vectors themselves are looked at once for each model: the count is one of keys.
		rows, err := t.Query(ctx, `
			SELECT c.model, c.n, (SELECT vector_dims(embedding) FROM vectors v WHERE v.org_id = $1 AND v.model = c.model LIMIT 1)
			FROM (SELECT model, count(*)::int AS n FROM vectors WHERE org_id = $1 GROUP BY model) c ORDER BY c.model`, org)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (ModelVectors, error) {
			var m ModelVectors
			return m, row.Scan(&m.Model, &m.Vectors, &m.Dimensions)
		})
		return err
	})
	return out, err
}

// countTimeout bounds counting millions of keys.
const countTimeout = 5 * time.Minute

// VectorIndexes gives the models whose vectors should have an index: those for which it is faster than comparing all (see
// ExactVectors) in some organization. One that is there stays until it is clearly not, so that none comes and goes.
func (s *Store) VectorIndexes(ctx context.Context) ([]postgres.VectorModel, error) {
	orgs, err := s.OrganizationIDs(ctx)
	if err != nil {
		return nil, err
	}
	type scopes struct{ largest, total float64 }
	models := map[postgres.VectorModel]scopes{}
	for _, org := range orgs {
		counted, err := s.CountVectors(ctx, org)
		if err != nil {
			return nil, fmt.Errorf("count vectors: %w", err)
		}
		for _, c := range counted {
			n := float64(c.Vectors)
			m := models[c.VectorModel]
			models[c.VectorModel] = scopes{max(m.largest, n), m.total + n}
		}
	}
	there, err := s.db.VectorIndexes(ctx)
	if err != nil {
		return nil, err
	}
	var out []postgres.VectorModel
	for m, n := range models {
		bound := s.exact
		if there[m.IndexName()].Ready {
			bound /= 2
		}
		if bound.pays(n.largest, n.total) {
			out = append(out, m)
		}
	}
	return out, nil
}
