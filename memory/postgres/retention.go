package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// What is past its time, in statements of which each removes at most $2 rows of organization $1 from before $3 (see inPages).
const (
	// staleRuns had effects. Their place is counted from the newest of their like, $4 of which stay.
	staleRuns = `DELETE FROM drift_runs WHERE org_id = $1 AND run_id = ANY (ARRAY(
		SELECT run_id FROM (
			SELECT run_id, arrived_at, row_number() OVER (PARTITION BY project_id, repository, branch, status ORDER BY arrived_at DESC, run_id DESC) AS place
			FROM drift_runs WHERE org_id = $1 AND tracked AND NOT late) r
		WHERE r.place > $4 AND r.arrived_at < $3 AND r.run_id NOT IN (
			SELECT s.run_id FROM doubts d JOIN stamps s ON s.org_id = $1 AND s.stamp_id = d.stamp_id
			WHERE d.org_id = $1 AND d.stamp_id IS NOT NULL AND d.cleared_at IS NULL AND s.run_id IS NOT NULL
			UNION ALL SELECT h.run_id FROM held_models h WHERE h.org_id = $1 AND h.decided_at IS NULL)
		LIMIT $2))`
	// idleRuns were of another branch, or late. The newest run of a project says when it was last compared.
	idleRuns = `DELETE FROM drift_runs WHERE org_id = $1 AND run_id = ANY (ARRAY(
		SELECT r.run_id FROM drift_runs r WHERE r.org_id = $1 AND NOT (r.tracked AND NOT r.late) AND r.arrived_at < $3
			AND r.arrived_at < (SELECT max(n.arrived_at) FROM drift_runs n WHERE n.org_id = $1 AND n.project_id = r.project_id)
		ORDER BY r.arrived_at LIMIT $2))`
	decidedModels = `DELETE FROM held_models WHERE org_id = $1 AND held_id = ANY (ARRAY(
		SELECT held_id FROM held_models WHERE org_id = $1 AND decided_at IS NOT NULL AND decided_at < $3 ORDER BY decided_at LIMIT $2))`
	// The newest import says which model a project has.
	pastImports = `DELETE FROM model_imports WHERE org_id = $1 AND import_id = ANY (ARRAY(
		SELECT i.import_id FROM model_imports i WHERE i.org_id = $1 AND i.imported_at < $3
			AND i.imported_at < (SELECT max(n.imported_at) FROM model_imports n WHERE n.org_id = $1 AND n.project_id = i.project_id)
		LIMIT $2))`
	closedFollowUps = `DELETE FROM follow_ups WHERE org_id = $1 AND follow_up_id = ANY (ARRAY(
		SELECT follow_up_id FROM follow_ups WHERE org_id = $1 AND closed_at IS NOT NULL AND closed_at < $3 ORDER BY closed_at LIMIT $2))`

	// endedSessions is a page of the sessions that ended before $3, behind the session $5 that ended at $4, with whether one is
	// still needed: it left something open, or is among the newest $6 with an outcome of its user in its project. It is locked, so
	// that it does not come back to life meanwhile; what somebody else holds is left for the next time.
	endedSessions = `SELECT s.session_id, s.ended_at,
			EXISTS (SELECT FROM follow_ups f WHERE f.org_id = $1 AND f.session_id = s.session_id AND f.closed_at IS NULL)
			OR s.outcome_id IS NOT NULL AND $6 > (SELECT count(*) FROM (SELECT FROM work_sessions n WHERE n.org_id = $1 AND n.project_id = s.project_id
				AND n.user_name = s.user_name AND n.outcome_id IS NOT NULL AND n.session_id > s.session_id LIMIT $6) newer)
		FROM work_sessions s WHERE s.org_id = $1 AND s.state <> 'active' AND s.ended_at < $3 AND (s.ended_at, s.session_id) > ($4, $5)
		ORDER BY s.ended_at, s.session_id LIMIT $2 FOR UPDATE OF s SKIP LOCKED`
)

// DropRuns implements memory.Store.
func (s *Store) DropRuns(ctx context.Context, org uuid.UUID, before time.Time, newest int) (memory.DroppedRuns, error) {
	var out memory.DroppedRuns
	for _, drop := range []struct {
		n    *int64
		sql  string
		args []any
	}{
		{&out.Runs, staleRuns, []any{before, newest}}, {&out.Runs, idleRuns, []any{before}},
		{&out.Models, decidedModels, []any{before}}, {&out.Imports, pastImports, []any{before}},
	} {
		n, err := s.inPages(ctx, org, drop.sql, drop.args...)
		if *drop.n += n; err != nil {
			return out, err
		}
	}
	return out, nil
}

// sessionsPage is how many sessions one transaction looks at: each has up to some hundred edited files.
const sessionsPage = 200

// DropSessions implements session.Store.
func (s *Store) DropSessions(ctx context.Context, org uuid.UUID, before time.Time, newest int) (session.Dropped, error) {
	var out session.Dropped
	var err error
	if out.FollowUps, err = s.inPages(ctx, org, closedFollowUps, before); err != nil {
		return out, err
	}
	for last := (endedSession{}); ; {
		var page []endedSession
		var gone int64
		err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) (err error) {
			if page, err = sessionsEnded(ctx, t, org, before, last, newest); err != nil {
				return err
			}
			gone, err = dropSessions(ctx, t, org, page)
			return err
		})
		if err != nil {
			return out, err
		}
		if out.Sessions += gone; len(page) < sessionsPage {
			return out, nil
		}
		last = page[len(page)-1]
	}
}

// endedSession is one of a page of endedSessions.
type endedSession struct {
	id     uuid.UUID
	at     time.Time
	needed bool
}

// sessionsEnded reads a page behind one of its sessions.
func sessionsEnded(ctx context.Context, t pgx.Tx, org uuid.UUID, before time.Time, after endedSession, newest int) ([]endedSession, error) {
	rows, err := t.Query(ctx, endedSessions, org, sessionsPage, before, after.at, after.id, newest)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e endedSession, err error) {
		return e, row.Scan(&e.id, &e.at, &e.needed)
	})
}

// dropSessions forgets which files sessions edited, and removes those that are not needed with all that hangs on them. It gives how
// many it removed.
func dropSessions(ctx context.Context, t pgx.Tx, org uuid.UUID, page []endedSession) (int64, error) {
	var all, gone []uuid.UUID
	for _, e := range page {
		if all = append(all, e.id); !e.needed {
			gone = append(gone, e.id)
		}
	}
	if len(all) == 0 {
		return 0, nil
	}
	b := &pgx.Batch{}
	b.Queue(`DELETE FROM session_edits WHERE org_id = $1 AND session_id = ANY ($2)`, org, all)
	if len(gone) > 0 {
		for _, table := range []string{"leases", "session_aliases", "follow_ups", "work_sessions"} {
			b.Queue(`DELETE FROM `+table+` WHERE org_id = $1 AND session_id = ANY ($2)`, org, gone)
		}
	}
	return int64(len(gone)), t.SendBatch(ctx, b).Close()
}
