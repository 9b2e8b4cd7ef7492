package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// healthTimeout bounds one count over an organization: whoever asks how it stands is waiting.
const healthTimeout = 30 * time.Second

// KeyHealth tells how the keys of an organization stand. What an older key sealed is counted only while there is one.
func (s *Store) KeyHealth(ctx context.Context, org uuid.UUID) (memory.KeyHealth, error) {
	var out memory.KeyHealth
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true, Isolation: pgx.RepeatableRead, StatementTimeout: healthTimeout}, func(t pgx.Tx) (err error) {
		out, err = s.keyHealth(ctx, t, org)
		return err
	})
	return out, err
}

func (s *Store) keyHealth(ctx context.Context, t pgx.Tx, org uuid.UUID) (memory.KeyHealth, error) {
	var out memory.KeyHealth
	keys, err := s.keysOf(ctx, t, org)
	if err != nil {
		return out, err
	}
	if err := t.QueryRow(ctx, `SELECT created_at, key_generation - 1, master_key_id FROM organizations WHERE org_id = $1`, org).
		Scan(&out.Since, &out.Changes, &out.MasterKey); err != nil {
		return out, err
	}
	out.Since, out.IndexKey, out.DataKeys = out.Since.UTC(), keys.IndexID(), keys.DataKeys()
	if out.DataKeys > 1 {
		out.SealedOlder, err = countOlder(ctx, t, org, keys)
	}
	return out, err
}

// Health counts what an organization has.
func (s *Store) Health(ctx context.Context, org uuid.UUID, model string) (memory.Health, error) {
	var out memory.Health
	opts := postgres.TxOptions{ReadOnly: true, Isolation: pgx.RepeatableRead, StatementTimeout: healthTimeout}
	err := s.db.InOrg(ctx, org, opts, func(t pgx.Tx) (err error) {
		out = memory.Health{Backlog: memory.BacklogHealth{Model: model}}
		if out.Keys, err = s.keyHealth(ctx, t, org); err != nil {
			return err
		}
		b := &pgx.Batch{}
		b.Queue(`SELECT count(*) FILTER (WHERE status = 'live')::int, count(*) FILTER (WHERE status = 'superseded')::int, count(*) FILTER (WHERE status = 'retired')::int,
				count(*) FILTER (WHERE status = 'erased')::int, count(*) FILTER (WHERE status = 'live' AND $2 <> '' AND refused_by = $2)::int, max(created_at),
				coalesce(sum(term_count) FILTER (WHERE status = 'live'), 0)::bigint
			FROM memories WHERE org_id = $1`, org, model).QueryRow(func(row pgx.Row) error {
			m := &out.Memories
			return row.Scan(&m.Live, &m.Superseded, &m.Retired, &m.Erased, &out.Backlog.Refused, &out.LastMemory, &out.Postings)
		})
		b.Queue(`SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM memory_versions WHERE org_id = $1`, org).QueryRow(func(row pgx.Row) error { return row.Scan(&out.TextBytes) })
		b.Queue(`SELECT count(*), max(last_at) FROM impressions WHERE org_id = $1`, org).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Impressions, &out.LastServed) })
		b.Queue(`SELECT (SELECT count(*) FROM work_sessions WHERE org_id = $1), (SELECT count(*) FROM drift_runs WHERE org_id = $1),
			(SELECT count(*) FROM audit WHERE org_id = $1)`, org).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Sessions, &out.Runs, &out.Trail) })
		// The vectors themselves are looked at once for each model.
		b.Queue(`SELECT c.model, c.n, (SELECT vector_dims(embedding) FROM vectors v WHERE v.org_id = $1 AND v.model = c.model LIMIT 1)
			FROM (SELECT model, count(*)::int AS n FROM vectors WHERE org_id = $1 GROUP BY model) c ORDER BY c.model`, org).Query(func(rows pgx.Rows) error {
			out.Models, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c memory.VectorCount, err error) {
				return c, row.Scan(&c.Model, &c.Vectors, &c.Dimensions)
			})
			return err
		})
		if model != "" {
			b.Queue(`SELECT count(*)::int, min(m.created_at)`+waiting, org, model, uuid.Nil).QueryRow(func(row pgx.Row) error {
				return row.Scan(&out.Backlog.Waiting, &out.Backlog.Oldest)
			})
		}
		b.Queue(projectHealth, org).Query(func(rows pgx.Rows) error {
			out.Projects, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p memory.ProjectHealth, err error) {
				err = row.Scan(&p.ID, &p.Name, &p.Elements, &p.Unbound, &p.Bound, &p.ImportedAt, &p.RanAt)
				p.ImportedAt, p.RanAt = utc(p.ImportedAt), utc(p.RanAt)
				return p, err
			})
			return err
		})
		if err := t.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		out.LastMemory, out.LastServed, out.Backlog.Oldest = utc(out.LastMemory), utc(out.LastServed), utc(out.Backlog.Oldest)
		return nil
	})
	return out, err
}

// projectHealth counts the models of the projects. Unbound is what stands for code itself, inside what the model is about: a
// container or component that nothing binds, neither itself nor anything below it.
const projectHealth = `
	WITH RECURSIVE covered AS (
		SELECT e.element_id, e.parent_id FROM elements e
		WHERE e.org_id = $1 AND e.removed_at IS NULL AND EXISTS (SELECT FROM bindings b WHERE b.org_id = $1 AND b.element_id = e.element_id)
		UNION
		SELECT e.element_id, e.parent_id FROM covered c JOIN elements e ON e.org_id = $1 AND e.element_id = c.parent_id)
	SELECT p.project_id, p.name, coalesce(e.n, 0)::int, coalesce(e.unbound, 0)::int,
		EXISTS (SELECT FROM bindings b WHERE b.org_id = $1 AND b.project_id = p.project_id),
		(SELECT max(imported_at) FROM model_imports i WHERE i.org_id = $1 AND i.project_id = p.project_id),
		(SELECT max(arrived_at) FROM drift_runs r WHERE r.org_id = $1 AND r.project_id = p.project_id)
	FROM projects p LEFT JOIN (
		SELECT project_id, count(*) AS n, count(*) FILTER (WHERE in_scope AND NOT external AND level IN ('container', 'component')
			AND element_id NOT IN (SELECT element_id FROM covered)) AS unbound
		FROM elements WHERE org_id = $1 AND removed_at IS NULL GROUP BY project_id) e ON e.project_id = p.project_id
	WHERE p.org_id = $1 ORDER BY lower(p.name)`

// utc is a moment without a zone of its own.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
