package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// LastEvents gives the number of the newest event of each space.
func (v *view) LastEvents(ctx context.Context, spaces []int32) (map[int32]int64, error) {
	rows, err := v.tx.Query(ctx, `SELECT space_id, next_event - 1 FROM spaces WHERE org_id = $1 AND space_id = ANY ($2)`, v.org, spaces)
	if err != nil {
		return nil, err
	}
	out := map[int32]int64{}
	var space int32
	var last int64
	_, err = pgx.ForEachRow(rows, []any{&space, &last}, func() error {
		out[space] = last
		return nil
	})
	return out, err
}

// SpaceEvents gives the events of a space by number.
func (v *view) SpaceEvents(ctx context.Context, space int32, after int64, limit int) ([]memory.SpaceEvent, error) {
	return v.spaceEvents(ctx, space, `a.event > $3 ORDER BY a.event LIMIT $4`, after, limit)
}

// EarlierSpaceEvents gives the events of a space backwards.
func (v *view) EarlierSpaceEvents(ctx context.Context, space int32, upTo int64, limit int) ([]memory.SpaceEvent, error) {
	return v.spaceEvents(ctx, space, `a.event <= $3 ORDER BY a.event DESC LIMIT $4`, upTo, limit)
}

// spaceEvents gives events of a space with the names of what they are about. A run is named by its id alone; a session that is kept no
// more by what the entry about it says.
func (v *view) spaceEvents(ctx context.Context, space int32, which string, number int64, limit int) ([]memory.SpaceEvent, error) {
	rows, err := v.tx.Query(ctx, `
		SELECT a.event, a.at, a.verb, a.revision, a.agent, a.user_name, a.door, coalesce(m.handle, ''), coalesce(m.kind, ''),
			coalesce(w.name, CASE WHEN a.verb LIKE '%\_session' THEN a.session_id END, ''), coalesce(e.key, ''),
			CASE WHEN a.verb = $5 THEN coalesce(a.subject_id::text, '') ELSE '' END, s.scope
		FROM audit a
		JOIN spaces s ON s.org_id = a.org_id AND s.space_id = a.space_id
		LEFT JOIN memories m ON m.org_id = a.org_id AND m.memory_id = a.subject_id
		LEFT JOIN work_sessions w ON w.org_id = a.org_id AND w.session_id = a.subject_id
		LEFT JOIN elements e ON e.org_id = a.org_id AND e.element_id = a.subject_id
		WHERE a.org_id = $1 AND a.space_id = $2 AND `+which, v.org, space, number, limit, memory.VerbPushRun)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.SpaceEvent, error) {
		e := memory.SpaceEvent{Space: space}
		var agent, user string
		err := row.Scan(&e.Number, &e.At, &e.Verb, &e.Revision, &agent, &user, &e.Door, &e.Memory, &e.Kind, &e.Session, &e.Element, &e.Run, &e.Scope)
		e.At, e.Author = e.At.UTC(), memory.AuthorName(agent, user)
		return e, err
	})
}

// AuditLines gives lines of the trail, newest first. A line about a memory belongs to the memory's space, also when it was
// written before lines had one.
func (v *view) AuditLines(ctx context.Context, q memory.AuditQuery) ([]memory.AuditLine, error) {
	var since *time.Time
	if !q.Since.IsZero() {
		since = &q.Since
	}
	rows, err := v.tx.Query(ctx, `
		SELECT a.audit_id, a.at, a.verb, a.subject_id, a.project_id, a.revision, a.agent, a.user_name, a.door, a.session_id, a.detail, coalesce(m.handle, '')
		FROM audit a
		LEFT JOIN memories m ON m.org_id = a.org_id AND m.memory_id = a.subject_id
		WHERE a.org_id = $1
		  AND ($2::uuid IS NULL OR a.audit_id < $2)
		  AND ($3::timestamptz IS NULL OR a.at >= $3)
		  AND ($4 = '' OR a.user_name = $4) AND ($5 = '' OR a.agent = $5)
		  AND ($6::integer[] IS NULL OR m.space_id = ANY ($6))
		ORDER BY a.audit_id DESC LIMIT $7`, v.org, nullID(q.Before), since, q.User, q.Agent, q.Spaces, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.AuditLine, error) {
		var l memory.AuditLine
		var subject, project *uuid.UUID
		var agent, user string
		err := row.Scan(&l.ID, &l.At, &l.Verb, &subject, &project, &l.Revision, &agent, &user, &l.Door, &l.Session, &l.Detail, &l.Memory)
		if subject != nil {
			l.Subject = *subject
		}
		if project != nil {
			l.Project = *project
		}
		l.At, l.Author = l.At.UTC(), memory.AuthorName(agent, user)
		return l, err
	})
}
