package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// shownMemories is how many memories of a decision a list names.
const shownMemories = 100

// Decided lists decisions, newest first. Those about personal memories are told to their author only.
func (v *view) Decided(ctx context.Context, q review.DecisionQuery) ([]review.Stored, error) {
	rows, err := v.tx.Query(ctx, `
		SELECT d.decision_id, d.group_id, d.action, d.decided_at, d.agent, d.user_name, d.door, d.personal, d.note, d.detail, d.undone_at, d.undone_agent, d.undone_by,
			(SELECT count(*)::int FROM review_items i WHERE i.org_id = $1 AND i.decision_id = d.decision_id), about.handles, about.n
		FROM review_decisions d CROSS JOIN LATERAL (
			SELECT (array_agg(m.handle ORDER BY m.memory_id))[1:$11] AS handles, count(*)::int AS n FROM (
				SELECT i.memory_id FROM review_items i WHERE i.org_id = $1 AND i.decision_id = d.decision_id
				UNION SELECT c.memory_id FROM review_changes c WHERE c.org_id = $1 AND c.decision_id = d.decision_id AND c.before ->> 'status' <> '') a
			JOIN memories m ON m.org_id = $1 AND m.memory_id = a.memory_id
			JOIN spaces s ON s.org_id = m.org_id AND s.space_id = m.space_id AND (s.scope <> 'personal' OR s.owner = $3)) about
		WHERE d.org_id = $1 AND d.project_id = $2 AND (NOT d.personal OR d.user_name = $3)
		  AND ($4 = '' OR d.user_name = $4) AND ($5 = '' OR d.agent = $5)
		  AND ($6::uuid IS NULL OR EXISTS (SELECT 1 FROM review_items i WHERE i.org_id = $1 AND i.decision_id = d.decision_id AND i.memory_id = $6)
			OR EXISTS (SELECT 1 FROM review_changes c WHERE c.org_id = $1 AND c.decision_id = d.decision_id AND c.memory_id = $6))
		  AND ($7 = '' OR d.group_id = $7) AND ($8::timestamptz IS NULL OR d.decided_at >= $8)
		  AND ($9::uuid IS NULL OR d.decision_id < $9) AND ($10::uuid IS NULL OR d.decision_id = $10) AND (NOT $12 OR d.undone_at IS NULL)
		ORDER BY d.decision_id DESC LIMIT $13`,
		v.org, q.Project, q.User, q.ByUser, q.ByAgent, nullID(q.Memory), q.Group, nullTime(q.Since), nullID(q.Before), nullID(q.ID), shownMemories,
		q.OnlyStanding, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (review.Stored, error) {
		d := review.Stored{Project: q.Project}
		var note, detail []byte
		var undone *time.Time
		var undoneAgent, undoneBy string
		if err := row.Scan(&d.ID, &d.Group, &d.Action, &d.At, &d.Agent, &d.User, &d.Door, &d.Personal, &note, &detail, &undone, &undoneAgent, &undoneBy,
			&d.Items, &d.Memories, &d.Count); err != nil {
			return d, err
		}
		d.At = d.At.UTC()
		if note != nil {
			d.Note = v.openWords(noteLocation(d.ID), note)
		}
		if undone != nil {
			d.UndoneAt, d.UndoneBy = undone.UTC(), memory.AuthorName(undoneAgent, undoneBy)
		}
		return d, json.Unmarshal(detail, &d.Detail)
	})
}

// Changes gives what a decision did to memories.
func (v *view) Changes(ctx context.Context, decision uuid.UUID) ([]review.Change, error) {
	rows, err := v.tx.Query(ctx, `SELECT memory_id, before, after FROM review_changes WHERE org_id = $1 AND decision_id = $2 ORDER BY memory_id`, v.org, decision)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (review.Change, error) {
		var c review.Change
		var before, after []byte
		if err := row.Scan(&c.Memory, &before, &after); err != nil {
			return c, err
		}
		if err := json.Unmarshal(before, &c.Before); err != nil {
			return c, err
		}
		return c, json.Unmarshal(after, &c.After)
	})
}

// Items gives what a decision settled.
func (v *view) Items(ctx context.Context, decision uuid.UUID) ([]review.Settled, error) {
	rows, err := v.tx.Query(ctx, `SELECT memory_id, reason, evidence, hidden_until FROM review_items WHERE org_id = $1 AND decision_id = $2
		ORDER BY memory_id, reason, evidence`, v.org, decision)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (review.Settled, error) {
		var s review.Settled
		return s, row.Scan(&s.Memory, &s.Reason, &s.Evidence, &s.Until)
	})
}

// States tells how memories stand.
func (v *view) States(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]review.State, error) {
	out := map[uuid.UUID]review.State{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := v.tx.Query(ctx, `
		SELECT m.memory_id, m.status, m.revision, m.confirmations, m.confirmed_at, m.unreviewed, m.citations, m.changed,
			m.seen_commit, m.seen_branch, m.seen_tree, m.seen_assumed, m.expires_at, m.superseded_by,
			ARRAY(SELECT a.element_id FROM attachments a WHERE a.org_id = $1 AND a.memory_id = m.memory_id AND a.detached_at IS NULL ORDER BY 1),
			ARRAY(SELECT d.doubt_id FROM doubts d WHERE d.org_id = $1 AND d.memory_id = m.memory_id AND d.cleared_at IS NULL AND d.cause = 'disputed' ORDER BY 1),
			(SELECT jsonb_agg(jsonb_build_object('revision', e.revision, 'version', e.version, 'ordinal', e.ordinal) ORDER BY e.revision, e.version, e.ordinal)
				FROM evidence e WHERE e.org_id = $1 AND e.memory_id = m.memory_id AND e.state = 'gone')
		FROM memories m WHERE m.org_id = $1 AND m.memory_id = ANY ($2)`, v.org, ids)
	if err != nil {
		return nil, err
	}
	return out, each(rows, func() error {
		var id uuid.UUID
		var s review.State
		var successor *uuid.UUID
		var gone []byte
		if err := rows.Scan(&id, &s.Status, &s.Revision, &s.Confirmations, &s.ConfirmedAt, &s.Unreviewed, &s.Citations, &s.Changed,
			&s.Seen.Commit, &s.Seen.Branch, &s.Seen.Tree, &s.Seen.Assumed, &s.ExpiresAt, &successor, &s.Elements, &s.Disputes, &gone); err != nil {
			return err
		}
		s.Successor, s.ConfirmedAt = orNil(successor), s.ConfirmedAt.UTC()
		if s.ExpiresAt != nil {
			utc := s.ExpiresAt.UTC()
			s.ExpiresAt = &utc
		}
		if gone != nil {
			if err := json.Unmarshal(gone, &s.Gone); err != nil {
				return err
			}
		}
		out[id] = s
		return nil
	})
}

// AttachedAt gives the live memories that were attached to one of the elements at an instant.
func (v *view) AttachedAt(ctx context.Context, elements []uuid.UUID, at time.Time) ([]uuid.UUID, error) {
	rows, err := v.tx.Query(ctx, attachedToElements, v.org, elements, at)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// ProgressSince counts what happened. Whether a memory was live at the beginning follows from the trail.
func (v *view) ProgressSince(ctx context.Context, project uuid.UUID, spaces []int32, since, now time.Time) (review.Progress, error) {
	var p review.Progress
	b := &pgx.Batch{}
	b.Queue(`SELECT count(DISTINCT e.element_id)::int FROM elements e
		JOIN attachments a ON a.org_id = e.org_id AND a.element_id = e.element_id AND a.attached_at <= $4 AND (a.detached_at IS NULL OR a.detached_at > $4)
		JOIN memories m ON m.org_id = a.org_id AND m.memory_id = a.memory_id AND m.space_id = ANY ($3) AND m.created_at <= $4 AND m.status <> 'erased'
			AND m.kind <> 'session_outcome' AND NOT m.unreviewed AND (m.expires_at IS NULL OR m.expires_at > $4)
		WHERE e.org_id = $1 AND e.project_id = $2 AND e.removed_at IS NULL AND e.in_scope
		  AND coalesce((SELECT t.verb FROM audit t WHERE t.org_id = $1 AND t.subject_id = m.memory_id AND t.at <= $4
			AND t.verb IN ('supersede', 'retire', 'restore') ORDER BY t.at DESC, t.audit_id DESC LIMIT 1), 'restore') = 'restore'`, v.org, project, spaces, since).
		QueryRow(func(row pgx.Row) error { return row.Scan(&p.Before) })
	b.Queue(`SELECT count(*)::int FROM memories WHERE org_id = $1 AND space_id = ANY ($2) AND created_at > $3 AND created_at <= $4 AND kind <> 'session_outcome'`,
		v.org, spaces, since, now).QueryRow(func(row pgx.Row) error { return row.Scan(&p.Written) })
	b.Queue(`SELECT count(*)::int FROM review_decisions d JOIN review_items i ON i.org_id = d.org_id AND i.decision_id = d.decision_id
		WHERE d.org_id = $1 AND d.project_id = $2 AND NOT d.personal AND d.decided_at > $3 AND NOT i.undone`, v.org, project, since).
		QueryRow(func(row pgx.Row) error { return row.Scan(&p.Decided) })
	return p, v.tx.SendBatch(ctx, b).Close()
}

// SaveDecision stores a decision.
func (t *tx) SaveDecision(_ context.Context, d review.Stored) error {
	detail, err := json.Marshal(d.Detail)
	if err != nil {
		return err
	}
	var note []byte
	if d.Note != "" {
		if note, err = t.keys.Seal(noteLocation(d.ID), []byte(d.Note)); err != nil {
			return err
		}
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO review_decisions (org_id, decision_id, project_id, group_id, action, decided_at, agent, user_name, door, personal, note, detail)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		t.org, d.ID, d.Project, d.Group, d.Action, d.At, d.Agent, d.User, d.Door, d.Personal, note, detail)
	t.pipeline.later(b)
	return nil
}

// Settle adds to what a decision settled and changed.
func (t *tx) Settle(_ context.Context, id uuid.UUID, items []review.Settled, changes []review.Change) error {
	b := &pgx.Batch{}
	if len(items) > 0 {
		memories, reasons, evidence, until := make([]uuid.UUID, len(items)), make([]string, len(items)), make([]string, len(items)), make([]*time.Time, len(items))
		for i, s := range items {
			memories[i], reasons[i], evidence[i], until[i] = s.Memory, string(s.Reason), s.Evidence, s.Until
		}
		b.Queue(`INSERT INTO review_items (org_id, decision_id, memory_id, reason, evidence, hidden_until)
			SELECT o.org_id, $2, i.memory_id, i.reason, i.evidence, i.hidden_until
			FROM organizations o CROSS JOIN unnest($3::uuid[], $4::text[], $5::text[], $6::timestamptz[]) AS i (memory_id, reason, evidence, hidden_until)
			WHERE o.org_id = $1`,
			t.org, id, memories, reasons, evidence, until)
	}
	for _, c := range changes {
		before, err := json.Marshal(c.Before)
		if err != nil {
			return err
		}
		after, err := json.Marshal(c.After)
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO review_changes (org_id, decision_id, memory_id, before, after) VALUES ($1, $2, $3, $4, $5)`, t.org, id, c.Memory, before, after)
	}
	t.pipeline.later(b)
	return nil
}

// SaveDetail replaces the detail of a decision.
func (t *tx) SaveDetail(_ context.Context, id uuid.UUID, d review.Detail) error {
	detail, err := json.Marshal(d)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE review_decisions SET detail = $3 WHERE org_id = $1 AND decision_id = $2`, t.org, id, detail)
	t.pipeline.later(b)
	return nil
}

// UndoDecision marks a decision as undone.
func (t *tx) UndoDecision(_ context.Context, id uuid.UUID, by memory.Caller, now time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE review_decisions SET undone_at = $3, undone_agent = $4, undone_by = $5 WHERE org_id = $1 AND decision_id = $2`, t.org, id, now, by.Agent, by.User)
	b.Queue(`UPDATE review_items SET undone = true WHERE org_id = $1 AND decision_id = $2`, t.org, id)
	t.pipeline.later(b)
	return nil
}

// PutBack makes a memory stand as before a decision at an instant.
func (t *tx) PutBack(_ context.Context, c review.Change, at time.Time) error {
	b := &pgx.Batch{}
	s := c.Before
	b.Queue(`UPDATE doubts SET cleared_at = NULL WHERE org_id = $1 AND memory_id = $2 AND cleared_at = $3 AND NOT withdrawn AND since <= $3`, t.org, c.Memory, at)
	if opened := without(c.After.Disputes, s.Disputes); len(opened) > 0 {
		b.Queue(`UPDATE doubts SET cleared_at = $3, withdrawn = true WHERE org_id = $1 AND doubt_id = ANY ($2) AND cleared_at IS NULL`, t.org, opened, at)
	}
	for _, g := range s.Gone {
		b.Queue(`UPDATE evidence SET state = 'gone' WHERE org_id = $1 AND memory_id = $2 AND revision = $3 AND version = $4 AND ordinal = $5 AND state = 'forgotten'`,
			t.org, c.Memory, g.Revision, g.Version, g.Ordinal)
	}
	b.Queue(`DELETE FROM attachments WHERE org_id = $1 AND memory_id = $2 AND attached_at = $3 AND element_id <> ALL ($4)`, t.org, c.Memory, at, noIDs(s.Elements))
	b.Queue(`UPDATE attachments SET detached_at = NULL WHERE org_id = $1 AND memory_id = $2 AND detached_at = $3 AND element_id = ANY ($4)`,
		t.org, c.Memory, at, noIDs(s.Elements))
	// What a run counted, and who relied on it, since then stays.
	b.Queue(`UPDATE memories m SET confirmed_at = $3, confirmations = $4, expires_at = $5, unreviewed = $6 AND m.citations = 0,
			changed = CASE WHEN m.changed = $7 THEN $8 ELSE m.changed END,
			seen_commit = $9, seen_branch = $10, seen_tree = $11, seen_assumed = $12,
			verify = EXISTS (SELECT 1 FROM doubts d WHERE d.org_id = $1 AND d.memory_id = m.memory_id AND d.cleared_at IS NULL AND d.cause <> 'disputed'),
			disputed = EXISTS (SELECT 1 FROM doubts d WHERE d.org_id = $1 AND d.memory_id = m.memory_id AND d.cleared_at IS NULL AND d.cause = 'disputed')
		WHERE m.org_id = $1 AND m.memory_id = $2`,
		t.org, c.Memory, s.ConfirmedAt, s.Confirmations, s.ExpiresAt, s.Unreviewed, c.After.Changed, s.Changed,
		s.Seen.Commit, s.Seen.Branch, s.Seen.Tree, s.Seen.Assumed)
	t.pipeline.later(b)
	return nil
}

// without gives the ids of all that are not among some.
func without(all, some []uuid.UUID) []uuid.UUID {
	var out []uuid.UUID
	known := map[uuid.UUID]bool{}
	for _, id := range some {
		known[id] = true
	}
	for _, id := range all {
		if !known[id] {
			out = append(out, id)
		}
	}
	return out
}

// noIDs is a list that is never null: nothing is compared with null.
func noIDs(ids []uuid.UUID) []uuid.UUID {
	if ids == nil {
		return []uuid.UUID{}
	}
	return ids
}

// ReopenDoubts opens doubts that were withdrawn at an instant.
func (t *tx) ReopenDoubts(_ context.Context, doubts []uuid.UUID, at time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE doubts SET cleared_at = NULL, withdrawn = false WHERE org_id = $1 AND doubt_id = ANY ($2) AND cleared_at = $3 AND withdrawn`, t.org, doubts, at)
	b.Queue(`UPDATE memories m SET verify = true WHERE m.org_id = $1 AND m.memory_id IN (
		SELECT d.memory_id FROM doubts d WHERE d.org_id = $1 AND d.doubt_id = ANY ($2) AND d.cleared_at IS NULL)`, t.org, doubts)
	t.pipeline.later(b)
	return nil
}

// Unattach takes away what was attached to elements at an instant.
func (t *tx) Unattach(_ context.Context, elements []uuid.UUID, at time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`DELETE FROM attachments WHERE org_id = $1 AND element_id = ANY ($2) AND attached_at = $3 AND reason = 'path' AND detached_at IS NULL`, t.org, elements, at)
	t.pipeline.later(b)
	return nil
}
