package postgres

import (
	"context"

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
func (v *view) Waiting(ctx context.Context, model string, after uuid.UUID, limit int) (ids []uuid.UUID, total int, err error) {
	b := &pgx.Batch{}
	b.Queue(`SELECT m.memory_id`+waiting+` ORDER BY m.memory_id LIMIT $4`, v.org, model, after, limit).Query(func(rows pgx.Rows) error {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	b.Queue(`SELECT count(*)::int`+waiting, v.org, model, after).QueryRow(func(row pgx.Row) error { return row.Scan(&total) })
	err = v.tx.SendBatch(ctx, b).Close()
	return ids, total, err
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
