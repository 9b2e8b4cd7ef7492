package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// CreateToken stores a token with its line in the trail.
func (s *Store) CreateToken(ctx context.Context, by memory.Caller, t memory.StoredToken) error {
	return s.db.InOrg(ctx, by.Org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO tokens (org_id, token_id, hash, name, role, project_id, create_projects, created_at, created_by, expires_at, tracked)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (org_id, lower(name)) WHERE revoked_at IS NULL DO NOTHING`,
			by.Org, t.ID, t.Hash[:], t.Name, t.Role, t.ProjectID, t.CreateProjects, t.CreatedAt, t.CreatedBy, t.ExpiresAt, t.Tracked)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return problem.New(problem.Conflict, "name", fmt.Sprintf("there is a token %q already, and its text is not kept", t.Name),
				"choose another name", fmt.Sprintf("or revoke it first: stele token revoke %q", t.Name))
		}
		return trail(ctx, tx, by, memory.VerbCreateToken, t.ID, uuid.Nil, t.CreatedAt)
	})
}

// trail appends a line about something that is no memory.
func trail(ctx context.Context, tx pgx.Tx, by memory.Caller, verb memory.Verb, subject, project uuid.UUID, at time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO audit (org_id, audit_id, at, verb, subject_id, project_id, agent, user_name, door)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		by.Org, uuid.Must(uuid.NewV7()), at, verb, subject, nullID(project), by.Agent, by.User, by.Door)
	return err
}

// tokenColumns are read by scanToken.
//
//nolint:gosec // names of columns
const tokenColumns = `token_id, hash, name, role, project_id, create_projects, tracked, created_at, created_by, expires_at, used_at, revoked_at`

func scanToken(row pgx.Row) (memory.StoredToken, error) {
	var t memory.StoredToken
	var hash []byte
	err := row.Scan(&t.ID, &hash, &t.Name, &t.Role, &t.ProjectID, &t.CreateProjects, &t.Tracked, &t.CreatedAt, &t.CreatedBy, &t.ExpiresAt, &t.UsedAt, &t.RevokedAt)
	copy(t.Hash[:], hash)
	t.CreatedAt = t.CreatedAt.UTC()
	for _, at := range []**time.Time{&t.ExpiresAt, &t.UsedAt, &t.RevokedAt} {
		if *at != nil {
			utc := (*at).UTC()
			*at = &utc
		}
	}
	return t, err
}

// Tokens lists an organization's tokens, live ones first, then by age, the newest first.
func (s *Store) Tokens(ctx context.Context, org uuid.UUID) ([]memory.Token, error) {
	out := []memory.Token{}
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+tokenColumns+` FROM tokens WHERE org_id = $1 ORDER BY revoked_at IS NOT NULL, token_id DESC`, org)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.Token, error) {
			t, err := scanToken(row)
			return t.Token, err
		})
		return err
	})
	return out, err
}

// RevokeToken ends a token.
func (s *Store) RevokeToken(ctx context.Context, by memory.Caller, id uuid.UUID, now time.Time) error {
	return s.db.InOrg(ctx, by.Org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE tokens SET revoked_at = $3 WHERE org_id = $1 AND token_id = $2 AND revoked_at IS NULL`, by.Org, id, now)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return trail(ctx, tx, by, memory.VerbRevokeToken, id, uuid.Nil, now)
	})
}

// TokenByHash finds a token. An organization that does not exist has none.
func (s *Store) TokenByHash(ctx context.Context, org uuid.UUID, hash [sha256.Size]byte) (memory.StoredToken, bool, error) {
	var t memory.StoredToken
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) (err error) {
		t, err = scanToken(tx.QueryRow(ctx, `SELECT `+tokenColumns+` FROM tokens WHERE org_id = $1 AND hash = $2`, org, hash[:]))
		return err
	})
	if postgres.IsNoRows(err) {
		return memory.StoredToken{}, false, nil
	}
	return t, err == nil, err
}

// TouchToken notes that a token was used, unless another request of this minute did.
func (s *Store) TouchToken(ctx context.Context, org, id uuid.UUID, now time.Time) error {
	return s.db.InOrg(ctx, org, postgres.TxOptions{}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE tokens SET used_at = $3 WHERE org_id = $1 AND token_id = $2 AND (used_at IS NULL OR used_at <= $4)`,
			org, id, now, now.Add(-time.Minute))
		return err
	})
}
