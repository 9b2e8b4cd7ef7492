package postgres

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

func answerLocation(key []byte) secret.Location {
	return secret.Location{Table: "answers", Column: "body", Row: secret.Row(uuid.UUID(key[:16]))}
}

// Answered finds what a write was answered.
func (v *view) Answered(ctx context.Context, key [sha256.Size]byte) (memory.Answer, bool, error) {
	a := memory.Answer{Key: key}
	var sealed []byte
	err := v.tx.QueryRow(ctx, `SELECT answered_at, body FROM answers WHERE org_id = $1 AND key_hash = $2`, v.org, key[:]).
		Scan(&a.At, &sealed)
	if postgres.IsNoRows(err) {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	if sealed != nil {
		a.Body, err = v.keys.Open(answerLocation(key[:]), sealed)
	}
	return a, err == nil, err
}

// Answer keeps what a write was answered, sealed. Two requests under one key that meet fail here with memory.ErrTaken; the
// second attempt of the loser finds the answer.
func (t *tx) Answer(_ context.Context, a memory.Answer) error {
	sealed, err := t.keys.Seal(answerLocation(a.Key[:]), a.Body)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO answers (org_id, key_hash, answered_at, body) VALUES ($1, $2, $3, $4)`, t.org, a.Key[:], a.At, sealed)
	t.pipeline.later(b)
	return nil
}

// DropAnswers removes the stored answers of an organization from before a moment and gives their number.
func (s *Store) DropAnswers(ctx context.Context, org uuid.UUID, before time.Time) (int64, error) {
	var n int64
	err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
		tag, err := t.Exec(ctx, `DELETE FROM answers WHERE org_id = $1 AND answered_at < $2`, org, before)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

// OrganizationIDs lists the organizations there are, for work that belongs to none of them in particular.
func (s *Store) OrganizationIDs(ctx context.Context) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	err := s.db.WithoutOrg(ctx, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
		rows, err := t.Query(ctx, `SELECT organization_ids()`)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	return ids, err
}
