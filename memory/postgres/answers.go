package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
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

// Answered finds what a write was answered. The body is nil when a memory was erased since, or when it does not open.
func (v *view) Answered(ctx context.Context, key [sha256.Size]byte) (memory.Answer, bool, error) {
	a := memory.Answer{Key: key}
	var at *time.Time
	var sealed []byte
	err := v.tx.QueryRow(ctx, `
		SELECT o.erasures, a.answered_at, CASE WHEN a.erasures >= o.erasures THEN a.body END
		FROM organizations o LEFT JOIN answers a ON a.org_id = o.org_id AND a.key_hash = $2
		WHERE o.org_id = $1`, v.org, key[:]).Scan(&v.erasures, &at, &sealed)
	if err != nil || at == nil {
		return a, false, err
	}
	a.At = at.UTC()
	if sealed != nil {
		if body, err := v.keys.Open(answerLocation(key[:]), sealed); err == nil {
			a.Body = body
		}
	}
	return a, true, nil
}

// Answer keeps what a write was answered, sealed. Two requests under one key that meet fail here with memory.ErrTaken; the
// second attempt of the loser finds the answer. The write has asked for an earlier answer before it read anything that this
// one may quote: a memory that is erased meanwhile takes the answer with it.
func (t *tx) Answer(_ context.Context, a memory.Answer) error {
	sealed, err := t.keys.Seal(answerLocation(a.Key[:]), a.Body)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO answers (org_id, key_hash, answered_at, erasures, body) VALUES ($1, $2, $3, $4, $5)`, t.org, a.Key[:], a.At, t.erasures, sealed)
	t.pipeline.later(b)
	return nil
}

// answersPage is how many answers are removed or destroyed in one transaction.
const answersPage = 1000

// DropAnswers removes the stored answers of an organization from before a moment, destroys those that erasing has left
// behind, and gives the number of the removed ones.
func (s *Store) DropAnswers(ctx context.Context, org uuid.UUID, before time.Time) (int64, error) {
	n, err := s.inPages(ctx, org, `DELETE FROM answers WHERE org_id = $1 AND key_hash IN (
		SELECT key_hash FROM answers WHERE org_id = $1 AND answered_at < $3 ORDER BY answered_at LIMIT $2 FOR UPDATE SKIP LOCKED)`, before)
	if err != nil {
		return n, fmt.Errorf("drop answers: %w", err)
	}
	return n, s.destroyAnswers(ctx, org)
}

// destroyAnswers destroys the bodies of the answers that are older than an erasure and are given no more.
func (s *Store) destroyAnswers(ctx context.Context, org uuid.UUID) error {
	_, err := s.inPages(ctx, org, `UPDATE answers SET body = NULL WHERE org_id = $1 AND key_hash IN (
		SELECT key_hash FROM answers WHERE org_id = $1 AND body IS NOT NULL
			AND erasures < (SELECT erasures FROM organizations WHERE org_id = $1) LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)`)
	if err != nil {
		return fmt.Errorf("destroy answers: %w", err)
	}
	return nil
}

// inPages runs a statement that changes at most $2 rows of organization $1 until it finds no more, each time in a
// transaction of its own, and gives the number of rows.
func (s *Store) inPages(ctx context.Context, org uuid.UUID, sql string, args ...any) (int64, error) {
	args = append([]any{org, answersPage}, args...)
	for total := int64(0); ; {
		var n int64
		err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
			tag, err := t.Exec(ctx, sql, args...)
			n = tag.RowsAffected()
			return err
		})
		if total += n; err != nil || n < answersPage {
			return total, err
		}
	}
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
