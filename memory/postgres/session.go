package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

var _ session.Store = (*Store)(nil)

// ViewSessions implements session.Store.
func (s *Store) ViewSessions(ctx context.Context, org uuid.UUID, fn func(session.View) error) error {
	return s.View(ctx, org, func(v memory.View) error {
		own, ok := v.(*view)
		if !ok {
			return fmt.Errorf("a view of another store: %T", v)
		}
		return fn(own)
	})
}

// WriteSessions implements session.Store.
func (s *Store) WriteSessions(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, fn func(session.Tx) error) error {
	return s.Write(ctx, org, spaces, func(t memory.Tx) error {
		own, ok := t.(*tx)
		if !ok {
			return fmt.Errorf("a transaction of another store: %T", t)
		}
		return fn(own)
	})
}

// sessionOf gives the condition that work_sessions is the session that $2, a user, knows as $3; by name also anybody's.
func sessionOf(ref string, anybody bool) string {
	switch {
	case anybody:
		return `org_id = $1 AND $2::text = '' AND name = $3`
	case session.IsName(ref):
		return `org_id = $1 AND user_name = $2 AND name = $3`
	default:
		return `org_id = $1 AND session_id = (SELECT session_id FROM session_aliases WHERE org_id = $1 AND user_name = $2 AND alias = $3)`
	}
}

// Beat notes a sign of life. It does not wait for the disk, and is written once in a while only: another minute of life is
// not worth a write.
func (s *Store) Beat(ctx context.Context, org uuid.UUID, user, ref string, at time.Time) (session.Stored, bool, error) {
	var st session.Stored
	found := false
	err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
		found = false
		b := &pgx.Batch{}
		b.Queue(`SET LOCAL synchronous_commit = off`)
		b.Queue(`UPDATE work_sessions SET beat_at = $4 WHERE `+sessionOf(ref, false)+` AND state = 'active' AND beat_at < $4::timestamptz - interval '1 minute'`,
			org, user, ref, at)
		b.Queue(`SELECT `+sessionColumns+` FROM work_sessions WHERE `+sessionOf(ref, false), org, user, ref).QueryRow(func(row pgx.Row) error {
			var body []byte
			err := scanSession(row, &st, &body)
			if postgres.IsNoRows(err) {
				return nil
			}
			found = err == nil
			return err
		})
		return t.SendBatch(ctx, b).Close()
	})
	return st, found, err
}

const sessionColumns = `session_id, project_id, name, state, agent, label, user_name, door, worktree, seen_commit, seen_branch,
	started_at, beat_at, ended_at, reporting, partial, outcome_id, body`

// scanSession reads the columns; the text stays sealed.
func scanSession(row pgx.Row, st *session.Stored, body *[]byte) error {
	var ended *time.Time
	var outcome *uuid.UUID
	*st = session.Stored{}
	if err := row.Scan(&st.ID, &st.Project, &st.Name, &st.State, &st.Agent, &st.Label, &st.User, &st.Door, &st.Worktree, &st.Seen.Commit, &st.Seen.Branch,
		&st.StartedAt, &st.BeatAt, &ended, &st.Reporting, &st.Partial, &outcome, body); err != nil {
		return err
	}
	st.StartedAt, st.BeatAt = st.StartedAt.UTC(), st.BeatAt.UTC()
	if ended != nil {
		st.EndedAt = ended.UTC()
	}
	if outcome != nil {
		st.Outcome = *outcome
	}
	return nil
}

func sessionLocation(id uuid.UUID) secret.Location {
	return secret.Location{Table: "work_sessions", Column: "body", Row: secret.Row(id)}
}

func followUpLocation(id uuid.UUID) secret.Location {
	return secret.Location{Table: "follow_ups", Column: "body", Row: secret.Row(id)}
}

// sessions reads sessions with their text.
func (v *view) sessions(ctx context.Context, query string, args ...any) ([]session.Stored, error) {
	rows, err := v.tx.Query(ctx, `SELECT `+sessionColumns+` FROM work_sessions WHERE `+query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (session.Stored, error) {
		var st session.Stored
		var body []byte
		if err := scanSession(row, &st, &body); err != nil || body == nil {
			return st, err
		}
		text, err := v.keys.Open(sessionLocation(st.ID), body)
		if err != nil {
			return st, err
		}
		return st, json.Unmarshal(text, &st.Body)
	})
}

// Session implements session.View.
func (v *view) Session(ctx context.Context, user, ref string) (session.Stored, bool, error) {
	found, err := v.sessions(ctx, sessionOf(ref, user == ""), v.org, user, ref)
	if err != nil || len(found) == 0 {
		return session.Stored{}, false, err
	}
	return found[0], true, nil
}

// Sessions implements session.View.
func (v *view) Sessions(ctx context.Context, q session.Query) ([]session.Stored, error) {
	args := []any{v.org, q.Project}
	where := `org_id = $1 AND project_id = $2`
	add := func(condition string, arg any) {
		args = append(args, arg)
		where += fmt.Sprintf(" AND "+condition, len(args))
	}
	if q.State == session.Active {
		where += ` AND state = 'active'` // a literal, so that the partial index is taken
	} else if q.State != "" {
		add(`state = $%d`, string(q.State))
	}
	if !q.Since.IsZero() {
		add(`beat_at > $%d`, q.Since)
	}
	if q.User != "" {
		add(`user_name = $%d`, q.User)
	}
	if q.Agent != nil {
		add(`agent = $%d`, *q.Agent)
	}
	if q.Worktree != "" {
		add(`worktree = $%d`, q.Worktree)
	}
	if q.Door != "" {
		add(`door = $%d`, string(q.Door))
	}
	if q.Outcomes {
		where += ` AND outcome_id IS NOT NULL`
	}
	if q.Elements != nil {
		add(`session_id IN (SELECT session_id FROM leases WHERE org_id = $1 AND element_id = ANY ($%d)`, q.Elements)
		if q.State == session.Active {
			where += ` AND released_at IS NULL`
		}
		where += `)`
	}
	if q.Before != uuid.Nil {
		add(`session_id < $%d`, q.Before)
	}
	args = append(args, q.Limit)
	return v.sessions(ctx, fmt.Sprintf(`%s ORDER BY session_id DESC LIMIT $%d`, where, len(args)), args...)
}

// Overdue implements session.View.
func (v *view) Overdue(ctx context.Context, project uuid.UUID, since time.Time, limit int) ([]session.Stored, error) {
	if project == uuid.Nil {
		return v.sessions(ctx, `org_id = $1 AND state = 'active' AND beat_at <= $2 ORDER BY beat_at LIMIT $3`, v.org, since, limit)
	}
	return v.sessions(ctx, `org_id = $1 AND state = 'active' AND beat_at <= $2 AND project_id = $4 ORDER BY beat_at LIMIT $3`, v.org, since, limit, project)
}

// Leases implements session.View.
func (v *view) Leases(ctx context.Context, sessions []uuid.UUID) ([]session.HeldLease, error) {
	rows, err := v.tx.Query(ctx, `SELECT session_id, element_id, taken_at, released_at, soft, exclusive FROM leases
		WHERE org_id = $1 AND session_id = ANY ($2) ORDER BY taken_at, session_id, element_id`, v.org, sessions)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (session.HeldLease, error) {
		var l session.HeldLease
		var released *time.Time
		err := row.Scan(&l.Session, &l.Element, &l.TakenAt, &released, &l.Soft, &l.Exclusive)
		l.TakenAt = l.TakenAt.UTC()
		if released != nil {
			l.ReleasedAt = released.UTC()
		}
		return l, err
	})
}

// Edits implements session.View.
func (v *view) Edits(ctx context.Context, sessions []uuid.UUID, since time.Time) ([]session.Edit, error) {
	rows, err := v.tx.Query(ctx, `SELECT session_id, path, edited_at FROM session_edits
		WHERE org_id = $1 AND session_id = ANY ($2) AND edited_at >= $3 ORDER BY edited_at DESC, path`, v.org, sessions, since)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (session.Edit, error) {
		var e session.Edit
		err := row.Scan(&e.Session, &e.Path, &e.At)
		e.At = e.At.UTC()
		return e, err
	})
}

// FollowUps implements session.View.
func (v *view) FollowUps(ctx context.Context, project uuid.UUID, limit int) ([]session.FollowUp, error) {
	rows, err := v.tx.Query(ctx, `SELECT f.follow_up_id, f.body, s.name, m.handle, f.opened_at
		FROM follow_ups f
		JOIN work_sessions s ON s.org_id = $1 AND s.session_id = f.session_id
		JOIN memories m ON m.org_id = $1 AND m.memory_id = s.outcome_id AND m.status = 'live'
		WHERE f.org_id = $1 AND f.project_id = $2 AND f.closed_at IS NULL AND f.body IS NOT NULL
		ORDER BY f.opened_at DESC, f.follow_up_id LIMIT $3`, v.org, project, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (session.FollowUp, error) {
		var f session.FollowUp
		var body []byte
		if err := row.Scan(&f.ID, &body, &f.SessionID, &f.Outcome, &f.OpenedAt); err != nil {
			return f, err
		}
		f.OpenedAt = f.OpenedAt.UTC()
		text, err := v.keys.Open(followUpLocation(f.ID), body)
		f.Text = string(text)
		return f, err
	})
}

// ShownTo implements session.View.
func (v *view) ShownTo(ctx context.Context, name string) ([]session.Shown, error) {
	rows, err := v.tx.Query(ctx, `SELECT i.memory_id, i.door, i.first_at, i.last_at, i.times, i.revision, i.doubted_at, c.memory_id IS NOT NULL, coalesce(c.observed, false)
		FROM impressions i
		LEFT JOIN citations c ON c.org_id = $1 AND c.memory_id = i.memory_id AND c.session_id = i.session_id
		WHERE i.org_id = $1 AND i.session_id = $2 ORDER BY i.first_at, i.memory_id, i.door`, v.org, name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (session.Shown, error) {
		var s session.Shown
		var doubted *time.Time
		err := row.Scan(&s.Memory, &s.Door, &s.FirstAt, &s.LastAt, &s.Times, &s.Revision, &doubted, &s.Cited, &s.Observed)
		s.FirstAt, s.LastAt = s.FirstAt.UTC(), s.LastAt.UTC()
		if doubted != nil {
			s.Doubted = doubted.UTC()
		}
		return s, err
	})
}

// CitedBy implements session.View.
func (v *view) CitedBy(ctx context.Context, name string) ([]uuid.UUID, error) {
	rows, err := v.tx.Query(ctx, `SELECT memory_id FROM citations WHERE org_id = $1 AND session_id = $2 ORDER BY cited_at, memory_id`, v.org, name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// Tally implements session.View.
func (v *view) Tally(ctx context.Context, project uuid.UUID, spaces []int32, at time.Time) (session.Tally, error) {
	var t session.Tally
	b := &pgx.Batch{}
	b.Queue(`SELECT count(*)::int, count(*) FILTER (WHERE EXISTS (
			SELECT FROM attachments a JOIN memories m ON m.org_id = $1 AND m.memory_id = a.memory_id
			WHERE a.org_id = $1 AND a.element_id = e.element_id AND a.detached_at IS NULL AND m.space_id = ANY ($3) AND m.status = 'live'
			  AND NOT m.unreviewed AND m.kind <> 'session_outcome' AND (m.expires_at IS NULL OR m.expires_at > $4)))::int
		FROM elements e WHERE e.org_id = $1 AND e.project_id = $2 AND e.removed_at IS NULL AND e.in_scope`, v.org, project, spaces, at).
		QueryRow(func(row pgx.Row) error { return row.Scan(&t.Elements, &t.Documented) })
	b.Queue(`SELECT count(DISTINCT d.memory_id)::int FROM doubts d JOIN memories m ON m.org_id = $1 AND m.memory_id = d.memory_id
		WHERE d.org_id = $1 AND d.cleared_at IS NULL AND m.space_id = ANY ($2) AND m.status = 'live'`, v.org, spaces).
		QueryRow(func(row pgx.Row) error { return row.Scan(&t.Doubted) })
	return t, v.tx.SendBatch(ctx, b).Close()
}
