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
	b.Queue(`
		SELECT e.element_id, m.kind, count(*)::int, count(*) FILTER (WHERE NOT m.unreviewed)::int, max(m.confirmed_at),
		       count(*) FILTER (WHERE m.verify OR m.disputed)::int
		FROM elements e
		JOIN attachments a ON a.org_id = $1 AND a.element_id = e.element_id AND a.detached_at IS NULL
		JOIN memories m ON m.org_id = $1 AND m.memory_id = a.memory_id
		WHERE e.org_id = $1 AND e.project_id = $2 AND e.removed_at IS NULL
		  AND m.space_id = ANY ($3) AND m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > $4)
		GROUP BY e.element_id, m.kind`, v.org, project, spaces, at).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var id uuid.UUID
			var kind memory.Kind
			var n, reviewed, doubted int
			var newest time.Time
			if err := rows.Scan(&id, &kind, &n, &reviewed, &newest, &doubted); err != nil {
				return err
			}
			c := of(id)
			c.Counts[kind], c.Doubted = n, c.Doubted+doubted
			if kind != memory.SessionOutcome {
				c.Facts += reviewed
				if newest = newest.UTC(); c.Freshest == nil || newest.After(*c.Freshest) {
					c.Freshest = &newest
				}
			}
			return nil
		})
	})
	b.Queue(`
		SELECT e.element_id, count(DISTINCT s.session_id)::int
		FROM (
			SELECT i.memory_id, i.session_id FROM impressions i
			JOIN memories m ON m.org_id = $1 AND m.memory_id = i.memory_id AND m.space_id = ANY ($3)
			WHERE i.org_id = $1 AND i.last_at > $4
			UNION ALL
			SELECT m.memory_id, u.session_id FROM audit u
			JOIN memories m ON m.org_id = $1 AND m.memory_id = u.subject_id AND m.space_id = ANY ($3)
			WHERE u.org_id = $1 AND u.project_id = $2 AND u.at > $4 AND u.session_id <> '') s
		JOIN attachments a ON a.org_id = $1 AND a.memory_id = s.memory_id AND a.detached_at IS NULL
		JOIN elements e ON e.org_id = $1 AND e.element_id = a.element_id AND e.project_id = $2 AND e.removed_at IS NULL
		GROUP BY e.element_id`, v.org, project, spaces, at.Add(-activityWindow)).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var id uuid.UUID
			var n int
			if err := rows.Scan(&id, &n); err != nil {
				return err
			}
			of(id).Sessions = n
			return nil
		})
	})
	if err := v.tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	out := make([]memory.ElementCoverage, len(order))
	for i, id := range order {
		out[i] = *byElement[id]
	}
	return out, nil
}

// LastMemoryAt tells when a memory of the spaces was last written; nil when none was.
func (v *view) LastMemoryAt(ctx context.Context, spaces []int32) (*time.Time, error) {
	var at *time.Time
	err := v.tx.QueryRow(ctx, `SELECT max(created_at) FROM memories WHERE org_id = $1 AND space_id = ANY ($2)`, v.org, spaces).Scan(&at)
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
