package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// Watched lists the live memories that runs of a project look after: attached to its elements, or written in it.
func (v *view) Watched(ctx context.Context, project, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := v.tx.Query(ctx, `SELECT m.memory_id FROM memories m
		WHERE m.org_id = $1 AND m.status = 'live' AND m.kind <> 'session_outcome' AND m.memory_id > $3
		  AND (m.project_id = $2 OR EXISTS (
			SELECT 1 FROM attachments a JOIN elements e ON e.org_id = a.org_id AND e.element_id = a.element_id
			WHERE a.org_id = $1 AND a.memory_id = m.memory_id AND a.detached_at IS NULL AND e.project_id = $2))
		ORDER BY m.memory_id LIMIT $4`, v.org, project, after, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// EvidenceOf gives what is known of the claims of memories' current texts.
func (v *view) EvidenceOf(ctx context.Context, ids []uuid.UUID, version int) (map[uuid.UUID]map[int]memory.EvidenceState, error) {
	out := map[uuid.UUID]map[int]memory.EvidenceState{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := v.tx.Query(ctx, `SELECT e.memory_id, e.ordinal, e.state, e.found_in FROM evidence e
		JOIN memories m ON m.org_id = e.org_id AND m.memory_id = e.memory_id AND m.revision = e.revision
		WHERE e.org_id = $1 AND e.memory_id = ANY ($2) AND e.version = $3`, v.org, ids, version)
	if err != nil {
		return nil, err
	}
	var id uuid.UUID
	var ordinal int
	var s memory.EvidenceState
	_, err = pgx.ForEachRow(rows, []any{&id, &ordinal, &s.State, &s.FoundIn}, func() error {
		if out[id] == nil {
			out[id] = map[int]memory.EvidenceState{}
		}
		out[id][ordinal] = memory.EvidenceState{State: s.State, FoundIn: slices.Clone(s.FoundIn)}
		return nil
	})
	return out, err
}

// SaveEvidence notes what became of claims.
func (t *tx) SaveEvidence(_ context.Context, id uuid.UUID, revision, version int, states map[int]memory.EvidenceState) error {
	b := &pgx.Batch{}
	for _, ordinal := range slices.Sorted(maps.Keys(states)) {
		found := states[ordinal].FoundIn
		if found == nil {
			found = []string{}
		}
		b.Queue(`INSERT INTO evidence (org_id, memory_id, revision, version, ordinal, state, found_in) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (org_id, memory_id, revision, version, ordinal) DO UPDATE SET state = excluded.state, found_in = excluded.found_in`,
			t.org, id, revision, version, ordinal, states[ordinal].State, found)
	}
	t.pipeline.later(b)
	return nil
}

// SetChanged notes how many percent of the lines a memory was written about are gone.
func (t *tx) SetChanged(_ context.Context, id uuid.UUID, percent int) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE memories SET changed = $3 WHERE org_id = $1 AND memory_id = $2 AND changed <> $3`, t.org, id, percent)
	t.pipeline.later(b)
	return nil
}

// SeeAt says that the files that the writer of a memory had are those of a commit.
func (t *tx) SeeAt(_ context.Context, id uuid.UUID, commit, branch string) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE memories SET seen_commit = $3, seen_branch = $4 WHERE org_id = $1 AND memory_id = $2`, t.org, id, commit, branch)
	t.pipeline.later(b)
	return nil
}

// AddStamps stores moments at which drift began.
func (t *tx) AddStamps(_ context.Context, project uuid.UUID, stamps []memory.Stamp) error {
	if len(stamps) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	for _, s := range stamps {
		b.Queue(`INSERT INTO stamps (org_id, project_id, stamp_id, element_id, stamped_at, fingerprint, commit, run_id, reason, moved, origin)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			t.org, project, s.ID, s.Element, s.At, s.Fingerprint, s.Commit, s.Run, s.Reason, s.Moved, s.Origin)
	}
	t.pipeline.later(b)
	return nil
}

// Excuse says that memories were written knowing what a stamp stands for.
func (t *tx) Excuse(_ context.Context, stamp uuid.UUID, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO stamp_excuses (org_id, stamp_id, memory_id) SELECT o.org_id, $2, m
		FROM organizations o CROSS JOIN unnest($3::uuid[]) AS m WHERE o.org_id = $1 ON CONFLICT DO NOTHING`, t.org, stamp, ids)
	t.pipeline.later(b)
	return nil
}

// Owed lists the doubts that stamps make and that were never opened.
func (v *view) Owed(ctx context.Context, project uuid.UUID) ([]memory.OwedDoubt, error) {
	rows, err := v.tx.Query(ctx, `SELECT DISTINCT ON (m.memory_id, s.stamp_id)
			m.memory_id, m.handle, m.kind, m.space_id, s.stamp_id, s.element_id, s.stamped_at, s.fingerprint, s.commit, s.reason, s.moved, s.origin, e.key
		FROM stamps s
		JOIN elements e ON e.org_id = s.org_id AND e.element_id = s.element_id AND e.removed_at IS NULL
		JOIN attachments a ON a.org_id = s.org_id AND a.element_id = s.element_id AND a.detached_at IS NULL
		JOIN memories m ON m.org_id = a.org_id AND m.memory_id = a.memory_id AND m.status = 'live' AND m.kind <> 'session_outcome'
			AND m.confirmed_at < s.stamped_at
		WHERE s.org_id = $1 AND s.project_id = $2
		  AND NOT EXISTS (SELECT 1 FROM stamp_excuses x WHERE x.org_id = s.org_id AND x.stamp_id = s.stamp_id AND x.memory_id = m.memory_id)
		  AND NOT EXISTS (SELECT 1 FROM doubts d WHERE d.org_id = s.org_id AND d.memory_id = m.memory_id AND d.stamp_id = s.stamp_id)
		ORDER BY m.memory_id, s.stamp_id`, v.org, project)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.OwedDoubt, error) {
		var o memory.OwedDoubt
		err := row.Scan(&o.Memory, &o.Handle, &o.Kind, &o.Space, &o.Stamp.ID, &o.Stamp.Element, &o.Stamp.At, &o.Stamp.Fingerprint, &o.Stamp.Commit,
			&o.Stamp.Reason, &o.Stamp.Moved, &o.Stamp.Origin, &o.ElementKey)
		return o, err
	})
}

// openDoubts is written as recordDoubts is.
const openDoubts = `
	SELECT d.doubt_id, d.memory_id, d.cause, s.element_id, coalesce(s.moved, false) FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT doubt_id, memory_id, cause, since, stamp_id FROM doubts
		WHERE org_id = $1 AND memory_id = i.memory_id AND cleared_at IS NULL AND cause <> 'disputed' ORDER BY since OFFSET 0) d
	LEFT JOIN LATERAL (SELECT element_id, moved FROM stamps WHERE org_id = $1 AND stamp_id = d.stamp_id OFFSET 0) s ON true
	ORDER BY d.memory_id, d.since, d.doubt_id`

// OpenDoubts lists the open doubts of memories, disputes apart.
func (v *view) OpenDoubts(ctx context.Context, ids []uuid.UUID) ([]memory.OpenDoubt, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := v.tx.Query(ctx, openDoubts, v.org, ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.OpenDoubt, error) {
		var d memory.OpenDoubt
		var element *uuid.UUID
		err := row.Scan(&d.ID, &d.Memory, &d.Cause, &element, &d.Moved)
		d.Element = orNil(element)
		return d, err
	})
}

// Withdraw closes doubts whose reason went away. The memory stays in doubt while another one is open.
func (t *tx) Withdraw(_ context.Context, doubts []uuid.UUID, now time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE doubts SET cleared_at = $3, withdrawn = true WHERE org_id = $1 AND doubt_id = ANY ($2) AND cleared_at IS NULL`, t.org, doubts, now)
	b.Queue(`UPDATE memories m SET verify = EXISTS (
			SELECT 1 FROM doubts o WHERE o.org_id = $1 AND o.memory_id = m.memory_id AND o.cleared_at IS NULL AND o.cause <> 'disputed')
		WHERE m.org_id = $1 AND m.memory_id IN (SELECT d.memory_id FROM doubts d WHERE d.org_id = $1 AND d.doubt_id = ANY ($2))`, t.org, doubts)
	t.pipeline.later(b)
	return nil
}
