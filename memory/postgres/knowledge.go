package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// activityWindow is how far back the map looks for activity.
const activityWindow = 30 * 24 * time.Hour

// coverage gives, for the elements $2 has in the spaces $3, how many memories of each kind count at $4, and with no kind how many
// sessions had to do with any of them since $5. What belongs to the project is read once. OFFSET 0 keeps the parts of a join
// as they are written: without statistics, a planner that may look for a memory by way of its space, once for each attachment,
// does so, and the map of 20,000 memories takes minutes.
const coverage = `
	WITH known AS MATERIALIZED (
		SELECT a.element_id, m.*
		FROM (SELECT e.element_id, a.memory_id FROM elements e
			CROSS JOIN LATERAL (SELECT a.memory_id FROM attachments a
				WHERE a.org_id = $1 AND a.element_id = e.element_id AND a.detached_at IS NULL OFFSET 0) a
			WHERE e.org_id = $1 AND e.project_id = $2 AND e.removed_at IS NULL OFFSET 0) a
		JOIN (SELECT m.memory_id, m.kind, m.unreviewed, m.confirmed_at, m.verify OR m.disputed AS doubted,
				m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > $4) AS counts
			FROM memories m WHERE m.org_id = $1 AND m.space_id = ANY ($3) OFFSET 0) m USING (memory_id))
	SELECT element_id, kind, count(*)::int, count(*) FILTER (WHERE NOT unreviewed)::int, max(confirmed_at), count(*) FILTER (WHERE doubted)::int
	FROM known WHERE counts GROUP BY element_id, kind
	UNION ALL
	SELECT element_id, NULL, count(*)::int, 0, NULL, 0
	FROM (SELECT DISTINCT k.element_id, s.session_id
		FROM (SELECT i.memory_id, i.session_id FROM impressions i WHERE i.org_id = $1 AND i.last_at > $5
			UNION ALL
			SELECT u.subject_id, u.session_id FROM audit u WHERE u.org_id = $1 AND u.project_id = $2 AND u.at > $5 AND u.session_id <> '') s
		JOIN known k USING (memory_id)) active
	GROUP BY element_id`

// coveragePlans leaves coverage one plan, which reads no more than the project, the spaces and the recent impressions.
const coveragePlans = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_nestloop', 'off', true), set_config('enable_mergejoin', 'off', true)`

// Coverage counts what is known at each element of the project.
func (v *view) Coverage(ctx context.Context, project uuid.UUID, spaces []int32, at time.Time) ([]memory.ElementCoverage, error) {
	byElement := map[uuid.UUID]*memory.ElementCoverage{}
	var order []uuid.UUID
	of := func(id uuid.UUID) *memory.ElementCoverage {
		c := byElement[id]
		if c == nil {
			c = &memory.ElementCoverage{Element: id, Counts: map[memory.Kind]int{}}
			byElement[id] = c
			order = append(order, id)
		}
		return c
	}
	b := &pgx.Batch{}
	b.Queue(`SAVEPOINT coverage`)
	b.Queue(coveragePlans)
	b.Queue(coverage, v.org, project, spaces, at, at.Add(-activityWindow)).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var id uuid.UUID
			var kind *memory.Kind // nil: n are sessions
			var n, reviewed, doubted int
			var newest *time.Time
			if err := rows.Scan(&id, &kind, &n, &reviewed, &newest, &doubted); err != nil {
				return err
			}
			c := of(id)
			if kind == nil {
				c.Sessions = n
				return nil
			}
			c.Counts[*kind], c.Doubted = n, c.Doubted+doubted
			if *kind != memory.SessionOutcome {
				c.Facts += reviewed
				if c.Freshest == nil || newest.After(*c.Freshest) {
					utc := newest.UTC()
					c.Freshest = &utc
				}
			}
			return nil
		})
	})
	b.Queue(`ROLLBACK TO SAVEPOINT coverage`) // takes the settings back
	b.Queue(`RELEASE SAVEPOINT coverage`)
	if err := v.tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	out := make([]memory.ElementCoverage, len(order))
	for i, id := range order {
		out[i] = *byElement[id]
	}
	return out, nil
}

// lastMemoryAt looks into the index once for each space.
const lastMemoryAt = `SELECT max(last.created_at) FROM unnest($2::int[]) AS s (space_id)
	CROSS JOIN LATERAL (SELECT m.created_at FROM memories m WHERE m.org_id = $1 AND m.space_id = s.space_id ORDER BY m.created_at DESC LIMIT 1) last`

// LastMemoryAt tells when a memory of the spaces was last written; nil when none was.
func (v *view) LastMemoryAt(ctx context.Context, spaces []int32) (*time.Time, error) {
	var at *time.Time
	err := v.tx.QueryRow(ctx, lastMemoryAt, v.org, spaces).Scan(&at)
	if at != nil {
		utc := at.UTC()
		at = &utc
	}
	return at, err
}

// DoubtsSince gives when the newest open doubt of each memory was opened.
func (v *view) DoubtsSince(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]time.Time, error) {
	rows, err := v.tx.Query(ctx, `SELECT memory_id, max(since) FROM doubts
		WHERE org_id = $1 AND memory_id = ANY ($2) AND cleared_at IS NULL GROUP BY memory_id`, v.org, ids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[uuid.UUID]time.Time{}
	return out, each(rows, func() error {
		var id uuid.UUID
		var since time.Time
		if err := rows.Scan(&id, &since); err != nil {
			return err
		}
		out[id] = since.UTC()
		return nil
	})
}
