package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// What the domain of memories stores for reviews: similar pairs, owners of files, what a promoted memory inherits.

// AddConflicts notes similar pairs; those that are known stay as they are.
func (t *tx) AddConflicts(_ context.Context, pairs []memory.SimilarPair) error {
	if len(pairs) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	for _, p := range pairs {
		if bytes.Compare(p.Newer[:], p.Older[:]) < 0 { // a pair has one row, whichever of the two got its vector last
			p.Newer, p.Older = p.Older, p.Newer
		}
		b.Queue(`INSERT INTO conflicts (org_id, memory_id, other_id, since, source, similarity) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (org_id, memory_id, other_id) DO NOTHING`, t.org, p.Newer, p.Older, p.Since, p.Source, p.Similarity)
	}
	t.pipeline.later(b)
	return nil
}

// Embedded tells which of the memories have a vector of some model.
func (v *view) Embedded(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	rows, err := v.tx.Query(ctx, `SELECT m.memory_id FROM memories m WHERE m.org_id = $1 AND m.memory_id = ANY ($2)
		AND EXISTS (SELECT 1 FROM vectors x WHERE x.org_id = m.org_id AND x.space_id = m.space_id AND x.seq = m.seq)`, v.org, ids)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID]bool{}
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		out[id] = true
		return nil
	})
	return out, err
}

// SaveOwners replaces what is known of who owns the files of a repository.
func (t *tx) SaveOwners(_ context.Context, project uuid.UUID, repository string, rules []memory.OwnerRule) error {
	encoded, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO code_owners (org_id, project_id, repository, rules) VALUES ($1, $2, $3, $4)
		ON CONFLICT (org_id, project_id, repository) DO UPDATE SET rules = excluded.rules`, t.org, project, repository, encoded)
	t.pipeline.later(b)
	return nil
}

// Carry makes a new memory inherit what another earned.
func (t *tx) Carry(_ context.Context, from, to *memory.Record, now time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE memories n SET confirmations = o.confirmations, citations = o.citations, ignored_by = o.ignored_by, changed = o.changed, refused_by = o.refused_by
		FROM memories o WHERE n.org_id = $1 AND n.memory_id = $3 AND o.org_id = $1 AND o.memory_id = $2`, t.org, from.ID, to.ID)
	b.Queue(`INSERT INTO citations (org_id, memory_id, session_id, cited_at, observed)
		SELECT org_id, $3, session_id, cited_at, observed FROM citations WHERE org_id = $1 AND memory_id = $2`, t.org, from.ID, to.ID)
	b.Queue(`INSERT INTO vectors (org_id, model, space_id, seq, embedding)
		SELECT org_id, model, $4, $5, embedding FROM vectors WHERE org_id = $1 AND space_id = $2 AND seq = $3`, t.org, from.Space, from.Seq, to.Space, to.Seq)
	b.Queue(`UPDATE memory_versions SET recorded_at = $3 WHERE org_id = $1 AND memory_id = $2`, t.org, to.ID, now)
	// The claims of its text are in the order they had: title, content and reason are the same.
	b.Queue(`INSERT INTO evidence (org_id, memory_id, revision, version, ordinal, state, found_in)
		SELECT org_id, $3, 1, version, ordinal, state, found_in FROM evidence WHERE org_id = $1 AND memory_id = $2 AND revision = $4`,
		t.org, from.ID, to.ID, from.Revision)
	t.pipeline.later(b)
	return nil
}
