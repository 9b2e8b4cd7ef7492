package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// Usage implements memory.View.
func (v *view) Usage(ctx context.Context, q memory.UsageQuery) (memory.Usage, error) {
	out := memory.Usage{Doors: []memory.DoorUsage{}, Servings: []memory.Serving{}, Citations: []memory.Citation{}}
	b := &pgx.Batch{}
	b.Queue(`SELECT served, (SELECT count(DISTINCT session_id)::int FROM impressions WHERE org_id = $1 AND memory_id = $2)
		FROM memories WHERE org_id = $1 AND memory_id = $2`, v.org, q.Memory).
		QueryRow(func(row pgx.Row) error { return row.Scan(&out.Counted, &out.Sessions) })
	b.Queue(`SELECT door, sum(times)::int, coalesce(sum(times) FILTER (WHERE last_at > $3), 0)::int, count(*)::int, max(last_at)
		FROM impressions WHERE org_id = $1 AND memory_id = $2 GROUP BY door ORDER BY 2 DESC, door`, v.org, q.Memory, q.Since).
		Query(func(rows pgx.Rows) (err error) {
			out.Doors, err = pgx.AppendRows(out.Doors, rows, func(row pgx.CollectableRow) (d memory.DoorUsage, err error) {
				err = row.Scan(&d.Door, &d.Times, &d.Recent, &d.Sessions, &d.LastAt)
				d.LastAt = d.LastAt.UTC()
				return d, err
			})
			return err
		})
	b.Queue(`SELECT i.door, i.first_at, i.last_at, i.times, i.revision, c.memory_id IS NOT NULL, `+sessionName+`
		FROM impressions i
		LEFT JOIN citations c ON c.org_id = $1 AND c.memory_id = i.memory_id AND c.session_id = i.session_id
		LEFT JOIN work_sessions s ON s.org_id = $1 AND s.name = i.session_id AND s.project_id = $3
		WHERE i.org_id = $1 AND i.memory_id = $2 ORDER BY i.last_at DESC, i.session_id, i.door LIMIT $4`, v.org, q.Memory, q.Project, q.Limit).
		Query(func(rows pgx.Rows) (err error) {
			out.Servings, err = pgx.AppendRows(out.Servings, rows, func(row pgx.CollectableRow) (s memory.Serving, err error) {
				var agent, user string
				err = row.Scan(&s.Door, &s.FirstAt, &s.LastAt, &s.Times, &s.Revision, &s.Cited, &s.SessionID, &agent, &user)
				s.Author, s.FirstAt, s.LastAt = memory.AuthorName(agent, user), s.FirstAt.UTC(), s.LastAt.UTC()
				return s, err
			})
			return err
		})
	b.Queue(`SELECT c.cited_at, c.observed, `+sessionName+` FROM citations c
		LEFT JOIN work_sessions s ON s.org_id = $1 AND s.name = c.session_id AND s.project_id = $3
		WHERE c.org_id = $1 AND c.memory_id = $2 ORDER BY c.cited_at DESC, c.session_id LIMIT $4`, v.org, q.Memory, q.Project, q.Limit).
		Query(func(rows pgx.Rows) (err error) {
			out.Citations, err = pgx.AppendRows(out.Citations, rows, func(row pgx.CollectableRow) (c memory.Citation, err error) {
				var agent, user string
				err = row.Scan(&c.At, &c.Observed, &c.SessionID, &agent, &user)
				c.Author, c.At = memory.AuthorName(agent, user), c.At.UTC()
				return c, err
			})
			return err
		})
	return out, v.tx.SendBatch(ctx, b).Close()
}

// sessionName is how a session s that was joined on the left is named, with agent and user; all empty without one.
const sessionName = `coalesce(s.name, ''), coalesce(nullif(s.label, ''), s.agent, ''), coalesce(s.user_name, '')`
