package postgres

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// CreateSignIn stores a sign-in.
func (s *Store) CreateSignIn(ctx context.Context, org uuid.UUID, in memory.StoredSignIn) error {
	return s.db.InOrg(ctx, org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(`DELETE FROM sign_ins WHERE org_id = $1 AND expires_at < $2`, org, in.CreatedAt)
		b.Queue(`INSERT INTO sign_ins (org_id, sign_in_id, hash, token_id, link, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			org, in.ID, in.Hash[:], in.Token, in.Link, in.CreatedAt, in.ExpiresAt)
		return tx.SendBatch(ctx, b).Close()
	})
}

// SignInByHash finds the token behind a sign-in.
func (s *Store) SignInByHash(ctx context.Context, org uuid.UUID, hash [sha256.Size]byte, link bool, now time.Time) (memory.StoredToken, bool, error) {
	var t memory.StoredToken
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) (err error) {
		t, err = scanToken(tx.QueryRow(ctx, `SELECT `+tokenColumns+` FROM tokens WHERE org_id = $1 AND token_id = (
			SELECT token_id FROM sign_ins WHERE org_id = $1 AND hash = $2 AND link = $3 AND ended_at IS NULL AND expires_at > $4)`, org, hash[:], link, now))
		return err
	})
	if postgres.IsNoRows(err) {
		return memory.StoredToken{}, false, nil
	}
	return t, err == nil, err
}

// EndSignIn ends a sign-in.
func (s *Store) EndSignIn(ctx context.Context, org uuid.UUID, hash [sha256.Size]byte, now time.Time) (bool, error) {
	ended := false
	err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE sign_ins SET ended_at = $3 WHERE org_id = $1 AND hash = $2 AND ended_at IS NULL AND expires_at > $3`, org, hash[:], now)
		ended = tag.RowsAffected() == 1
		return err
	})
	return ended, err
}
