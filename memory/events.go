package memory

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// StreamEvent is one change of what a caller can see: ids and verbs, never content. ID is the position behind it.
type StreamEvent struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Verb     Verb      `json:"verb"`
	Memory   string    `json:"memory,omitempty"` // handle
	Kind     Kind      `json:"kind,omitempty"`
	Scope    Scope     `json:"scope"` // of the memory, or project for what concerns the model
	Revision int       `json:"revision,omitempty"`
	Author   string    `json:"author"` // who did it
	Door     string    `json:"door,omitempty"`
}

// EventsResponse is a page of events, oldest first, and the position behind them to go on from.
type EventsResponse struct {
	Events   []StreamEvent `json:"events"`
	Position string        `json:"position"`
}

// SpaceEvent is an event as stored: Number counts the events of its space in the order of their commits, from 1, without
// gaps.
type SpaceEvent struct {
	StreamEvent
	Space  int32
	Number int64
}

// eventView reads the events of spaces.
type eventView interface {
	// LastEvents gives the number of the newest event of each space; a space without events has 0.
	LastEvents(ctx context.Context, spaces []int32) (map[int32]int64, error)
	// SpaceEvents gives at most limit events of a space with a number above after, by number.
	SpaceEvents(ctx context.Context, space int32, after int64, limit int) ([]SpaceEvent, error)
}

// FromNow is the position behind everything there is.
const FromNow = "now"

// MaxEvents bounds a page of events.
const MaxEvents = 500

// Events gives what happened in the project, the organization and the caller's own memories after a position: that of an
// event or a page, "" for the beginning, FromNow for the end. No event is ever skipped: numbers are given in the order of
// commits.
func (s *Service) Events(ctx context.Context, c Caller, after string, limit int) (EventsResponse, error) {
	if err := c.check(); err != nil {
		return EventsResponse{}, err
	}
	if limit <= 0 || limit > MaxEvents {
		limit = MaxEvents
	}
	from, err := parsePosition(after)
	if err != nil {
		return EventsResponse{}, err
	}
	var out EventsResponse
	err = s.view(ctx, c, func(v View) error {
		out = EventsResponse{Events: []StreamEvent{}}
		at := from
		keys := c.spaceKeys()
		spaces, err := v.Spaces(ctx, keys)
		if err != nil {
			return err
		}
		ids := make([]int32, len(spaces))
		scopeOf := map[int32]Scope{}
		for i, sp := range spaces {
			ids[i], scopeOf[sp.ID] = sp.ID, sp.Scope
		}
		last, err := v.LastEvents(ctx, ids)
		if err != nil {
			return err
		}
		for id, n := range last {
			switch slot := slot(scopeOf[id]); {
			case after == FromNow:
				at[slot] = n
			case at[slot] > n: // going on from there would skip what is written until the numbers meet again
				return problem.New(problem.Conflict, "after", "this position is ahead of everything there is, as after the restore of a backup",
					"begin anew: leave the position out")
			}
		}
		if after == FromNow {
			out.Position = at.String()
			return nil
		}
		queues := make([][]SpaceEvent, 0, len(ids))
		for _, id := range ids {
			es, err := v.SpaceEvents(ctx, id, at[slot(scopeOf[id])], limit)
			if err != nil {
				return err
			}
			queues = append(queues, es)
		}
		for len(out.Events) < limit {
			e, ok := earliest(queues)
			if !ok {
				break
			}
			at[slot(scopeOf[e.Space])] = e.Number
			e.ID = at.String()
			out.Events = append(out.Events, e.StreamEvent)
		}
		out.Position = at.String()
		return nil
	})
	if err != nil {
		return EventsResponse{}, fmt.Errorf("events: %w", err)
	}
	return out, nil
}

// earliest takes the event that happened first from the heads of the queues. The order within a queue stays whatever the
// clocks of several servers said.
func earliest(queues [][]SpaceEvent) (SpaceEvent, bool) {
	best := -1
	for i, q := range queues {
		if len(q) > 0 && (best < 0 || q[0].At.Before(queues[best][0].At)) {
			best = i
		}
	}
	if best < 0 {
		return SpaceEvent{}, false
	}
	e := queues[best][0]
	queues[best] = queues[best][1:]
	return e, true
}

// position is the number of the last event seen of project, personal and organization memories. As text the three numbers
// are joined by dots.
type position [3]int64

func slot(s Scope) int {
	switch s {
	case Project:
		return 0
	case Personal:
		return 1
	default:
		return 2
	}
}

func (p position) String() string { return fmt.Sprintf("%d.%d.%d", p[0], p[1], p[2]) }

func parsePosition(s string) (position, error) {
	var p position
	if s == "" || s == FromNow {
		return p, nil
	}
	parts := strings.Split(s, ".")
	bad := problem.Invalidf("after", "it is not a position of this stream").Fix("send the id of the last event you saw, or leave it out")
	if len(parts) != len(p) {
		return p, bad
	}
	for i, part := range parts {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 {
			return p, bad
		}
		p[i] = n
	}
	return p, nil
}

// AuditLine is one line of the organization's trail.
type AuditLine struct {
	ID       uuid.UUID         `json:"id"`
	At       time.Time         `json:"at"`
	Verb     Verb              `json:"verb"`
	Subject  uuid.UUID         `json:"subject"`          // memory, project or token; all zeros when none
	Memory   string            `json:"memory,omitempty"` // handle
	Project  uuid.UUID         `json:"project_id"`
	Revision int               `json:"revision,omitempty"`
	Author   string            `json:"author"`
	Door     string            `json:"door,omitempty"`
	Session  string            `json:"session_id,omitempty"`
	Detail   map[string]string `json:"detail"` // ids, commits and counts
}

// AuditRequest selects lines of the trail, newest first.
type AuditRequest struct {
	Author string     `json:"author"` // user, or agent/user; "" = anyone
	Since  *time.Time `json:"since"`
	Limit  int        `json:"limit"`
	Cursor string     `json:"cursor"`
}

// AuditResponse is one page.
type AuditResponse struct {
	Lines      []AuditLine `json:"lines"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// AuditQuery is an AuditRequest, resolved.
type AuditQuery struct {
	Agent, User string
	Since       time.Time // zero = from the beginning
	Before      uuid.UUID // uuid.Nil = from the newest
	Spaces      []int32   // nil = everything of the organization
	Limit       int
}

// auditView reads the trail.
type auditView interface {
	// AuditLines gives lines of the trail, newest first.
	AuditLines(ctx context.Context, q AuditQuery) ([]AuditLine, error)
}

// AuditLog reads the organization's append-only trail, newest first.
func (s *Service) AuditLog(ctx context.Context, c Caller, r AuditRequest) (AuditResponse, error) {
	if err := c.administers("reading the audit log"); err != nil {
		return AuditResponse{}, err
	}
	if r.Limit < 0 || r.Limit > MaxLimit {
		return AuditResponse{}, problem.Invalidf("limit", "%d is not between 1 and %d", r.Limit, MaxLimit).Fix("leave it out for %d", MaxLimit)
	}
	q := AuditQuery{Limit: r.Limit}
	if q.Limit == 0 {
		q.Limit = MaxLimit
	}
	q.Agent, q.User = splitAuthor(r.Author)
	if r.Since != nil {
		q.Since = *r.Since
	}
	if r.Cursor != "" {
		id, err := uuid.Parse(r.Cursor)
		if err != nil {
			return AuditResponse{}, problem.Invalidf("cursor", "it is not one this list gave out").Fix("leave it out to start at the newest")
		}
		q.Before = id
	}
	out := AuditResponse{Lines: []AuditLine{}}
	err := s.view(ctx, c, func(v View) (err error) {
		out = AuditResponse{}
		out.Lines, err = v.AuditLines(ctx, q)
		return err
	})
	if len(out.Lines) == q.Limit {
		out.NextCursor = out.Lines[len(out.Lines)-1].ID.String()
	}
	return out, wrap("audit log", err)
}

// splitAuthor takes "agent/user" apart; a name alone is a user through any program.
func splitAuthor(author string) (agent, user string) {
	if agent, user, ok := strings.Cut(author, "/"); ok {
		return agent, user
	}
	return "", author
}
