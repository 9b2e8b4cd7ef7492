package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/session"
)

// Fold implements session.Store. Locks are taken in order of memories, as everywhere; what somebody else folds is left to them.
func (s *Store) Fold(ctx context.Context, org uuid.UUID, before time.Time, limit int) (int, error) {
	n := 0
	err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
		return t.QueryRow(ctx, `
			WITH old AS (
				SELECT memory_id, session_id, door FROM impressions WHERE org_id = $1 AND last_at < $2
				ORDER BY memory_id LIMIT $3 FOR UPDATE SKIP LOCKED),
			gone AS (
				DELETE FROM impressions i USING old WHERE i.org_id = $1 AND i.memory_id = old.memory_id AND i.session_id = old.session_id AND i.door = old.door
				RETURNING i.memory_id, i.times),
			counted AS (SELECT memory_id, sum(times)::int AS times FROM gone GROUP BY memory_id),
			kept AS (UPDATE memories m SET served = served + c.times FROM counted c WHERE m.org_id = $1 AND m.memory_id = c.memory_id)
			SELECT count(*)::int FROM gone`, org, before, limit).Scan(&n)
	})
	return n, err
}

// SaveSession implements session.Tx.
func (t *tx) SaveSession(_ context.Context, st session.Stored) error {
	text, err := json.Marshal(st.Body)
	if err != nil {
		return err
	}
	body, err := t.keys.Seal(sessionLocation(st.ID), text)
	if err != nil {
		return err
	}
	var ended *time.Time
	if !st.EndedAt.IsZero() {
		ended = &st.EndedAt
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO work_sessions (org_id, session_id, project_id, name, state, agent, label, user_name, door, worktree, seen_commit, seen_branch,
			started_at, beat_at, ended_at, reporting, partial, outcome_id, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
		ON CONFLICT (org_id, session_id) DO UPDATE SET state = excluded.state, label = excluded.label, door = excluded.door, worktree = excluded.worktree,
			seen_commit = excluded.seen_commit, seen_branch = excluded.seen_branch, beat_at = greatest(work_sessions.beat_at, excluded.beat_at),
			ended_at = excluded.ended_at, reporting = excluded.reporting, partial = excluded.partial, outcome_id = excluded.outcome_id, body = excluded.body`,
		t.org, st.ID, st.Project, st.Name, st.State, st.Agent, st.Label, st.User, st.Door, st.Worktree, st.Seen.Commit, st.Seen.Branch,
		st.StartedAt, st.BeatAt, ended, st.Reporting, st.Partial, nullID(st.Outcome), body)
	t.pipeline.later(b)
	return nil
}

// AddAlias implements session.Tx.
func (t *tx) AddAlias(ctx context.Context, st session.Stored, alias string) error {
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO session_aliases (org_id, user_name, alias, session_id) VALUES ($1, $2, $3, $4)
		ON CONFLICT (org_id, user_name, alias) DO UPDATE SET session_id = excluded.session_id`, t.org, st.User, alias, st.ID)
	// Only what was shown while no session had the id is under it.
	b.Queue(`INSERT INTO impressions (org_id, memory_id, session_id, door, first_at, last_at, times, revision, doubted_at)
		SELECT org_id, memory_id, $3, door, first_at, last_at, times, revision, doubted_at FROM impressions WHERE org_id = $1 AND session_id = $2
		ON CONFLICT (org_id, memory_id, session_id, door) DO UPDATE SET first_at = least(impressions.first_at, excluded.first_at),
			times = impressions.times + excluded.times`, t.org, alias, st.Name)
	b.Queue(`DELETE FROM impressions WHERE org_id = $1 AND session_id = $2`, t.org, alias)
	b.Queue(`INSERT INTO citations (org_id, memory_id, session_id, cited_at, observed)
		SELECT org_id, memory_id, $3, cited_at, observed FROM citations WHERE org_id = $1 AND session_id = $2
		ON CONFLICT (org_id, memory_id, session_id) DO NOTHING`, t.org, alias, st.Name)
	// One session that cited a memory under both ids is one.
	b.Queue(`WITH gone AS (DELETE FROM citations WHERE org_id = $1 AND session_id = $2 RETURNING memory_id)
		UPDATE memories m SET citations = (SELECT count(*) FROM citations c WHERE c.org_id = $1 AND c.memory_id = m.memory_id AND c.session_id <> $2)
		FROM gone WHERE m.org_id = $1 AND m.memory_id = gone.memory_id`, t.org, alias)
	return t.tx.SendBatch(ctx, b).Close()
}

// TakeLeases implements session.Tx.
func (t *tx) TakeLeases(_ context.Context, st session.Stored, leases []session.HeldLease) error {
	b := &pgx.Batch{}
	for _, l := range leases {
		// Held already: it stays since when it was, declared beats observed, alone beats with others. Released: it is new.
		b.Queue(`INSERT INTO leases (org_id, project_id, element_id, session_id, taken_at, soft, exclusive) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (org_id, session_id, element_id) DO UPDATE SET
				taken_at = CASE WHEN leases.released_at IS NULL THEN leases.taken_at ELSE excluded.taken_at END,
				soft = CASE WHEN leases.released_at IS NULL THEN leases.soft AND excluded.soft ELSE excluded.soft END,
				exclusive = CASE WHEN leases.released_at IS NULL THEN leases.exclusive OR excluded.exclusive ELSE excluded.exclusive END,
				released_at = NULL`,
			t.org, st.Project, l.Element, st.ID, l.TakenAt, l.Soft, l.Exclusive)
	}
	if b.Len() > 0 {
		t.pipeline.later(b)
	}
	return nil
}

// ReleaseLeases implements session.Tx.
func (t *tx) ReleaseLeases(_ context.Context, id uuid.UUID, at time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE leases SET released_at = $3 WHERE org_id = $1 AND session_id = $2 AND released_at IS NULL`, t.org, id, at)
	t.pipeline.later(b)
	return nil
}

// NoteEdits implements session.Tx.
func (t *tx) NoteEdits(_ context.Context, id uuid.UUID, paths []string, at time.Time, most int) error {
	if len(paths) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO session_edits (org_id, session_id, path, edited_at)
		SELECT s.org_id, s.session_id, p, $4 FROM work_sessions s CROSS JOIN (SELECT DISTINCT p FROM unnest($3::text[]) AS u (p)) AS new
		WHERE s.org_id = $1 AND s.session_id = $2
		  AND (EXISTS (SELECT FROM session_edits WHERE org_id = $1 AND session_id = $2 AND path = new.p)
		   OR (SELECT count(*) FROM session_edits WHERE org_id = $1 AND session_id = $2) < $5)
		ON CONFLICT (org_id, session_id, path) DO UPDATE SET edited_at = excluded.edited_at`, t.org, id, paths, at, most)
	t.pipeline.later(b)
	return nil
}

// OpenFollowUps implements session.Tx.
func (t *tx) OpenFollowUps(_ context.Context, st session.Stored, texts []string, at time.Time) error {
	b := &pgx.Batch{}
	for _, text := range texts {
		id := uuid.Must(uuid.NewV7())
		body, err := t.keys.Seal(followUpLocation(id), []byte(text))
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO follow_ups (org_id, follow_up_id, project_id, session_id, body, opened_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			t.org, id, st.Project, st.ID, body, at)
	}
	if b.Len() > 0 {
		t.pipeline.later(b)
	}
	return nil
}

// CloseFollowUps implements session.Tx.
func (t *tx) CloseFollowUps(_ context.Context, ids []uuid.UUID, by uuid.UUID, at time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE follow_ups SET closed_at = $3, closed_by = $4 WHERE org_id = $1 AND follow_up_id = ANY ($2) AND closed_at IS NULL`, t.org, ids, at, by)
	t.pipeline.later(b)
	return nil
}

// ForgetFollowUps implements session.Tx.
func (t *tx) ForgetFollowUps(_ context.Context, id uuid.UUID, at time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE follow_ups SET closed_at = $3, closed_by = $2 WHERE org_id = $1 AND session_id = $2 AND closed_at IS NULL`, t.org, id, at)
	t.pipeline.later(b)
	return nil
}

// Report implements session.Tx. The memories are taken in order of their ids, as every session does.
func (t *tx) Report(ctx context.Context, name string) error {
	_, err := t.tx.Exec(ctx, `
		WITH served AS (
			SELECT i.memory_id, bool_or(i.ignored) AS before,
			       NOT EXISTS (SELECT FROM citations c WHERE c.org_id = $1 AND c.memory_id = i.memory_id AND c.session_id = $2) AS now
			FROM impressions i
			WHERE i.org_id = $1 AND i.session_id = $2 AND i.door IN ('recall', 'prompt', 'file')
			GROUP BY i.memory_id),
		changed AS (SELECT memory_id, now FROM served WHERE before <> now),
		locked AS (SELECT m.memory_id FROM memories m JOIN changed c ON c.memory_id = m.memory_id WHERE m.org_id = $1 ORDER BY m.memory_id FOR UPDATE OF m),
		marked AS (
			UPDATE impressions i SET ignored = c.now FROM changed c
			WHERE i.org_id = $1 AND i.session_id = $2 AND i.memory_id = c.memory_id AND i.door IN ('recall', 'prompt', 'file') RETURNING 1)
		UPDATE memories m SET ignored_by = greatest(0, m.ignored_by + CASE WHEN c.now THEN 1 ELSE -1 END)
		FROM changed c, locked l WHERE m.org_id = $1 AND m.memory_id = c.memory_id AND l.memory_id = c.memory_id`, t.org, name)
	return err
}
