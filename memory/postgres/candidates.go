package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// Candidates gives candidates, oldest first.
func (v *view) Candidates(ctx context.Context, q memory.CandidateQuery) ([]memory.Proposed, error) {
	var before *time.Time
	if !q.Before.IsZero() {
		before = &q.Before
	}
	rows, err := v.tx.Query(ctx, `
		SELECT m.memory_id, s.scope, s.owner FROM memories m JOIN spaces s ON s.org_id = m.org_id AND s.space_id = m.space_id
		WHERE m.org_id = $1 AND m.status = 'candidate' AND ($2::int[] IS NULL OR m.space_id = ANY ($2))
		  AND ($3::uuid IS NULL OR m.batch_id = $3) AND ($4::timestamptz IS NULL OR m.created_at < $4)
		ORDER BY m.created_at, m.memory_id LIMIT $5`, v.org, q.Spaces, nullID(q.Batch), before, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.Proposed, error) {
		var p memory.Proposed
		return p, row.Scan(&p.ID, &p.Space.Scope, &p.Space.Owner)
	})
}

// WasProposed tells whether a space has a candidate, or one that was dismissed, with the same normalised text.
func (v *view) WasProposed(ctx context.Context, space int32, normal string) (found bool, err error) {
	err = v.tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM memories
		WHERE org_id = $1 AND space_id = $2 AND text_hash = $3 AND origin = 'hook' AND status IN ('candidate', 'retired'))`,
		v.org, space, v.hash128(textDomain, normal)).Scan(&found)
	return found, err
}
