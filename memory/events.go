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
	Session  string    `json:"session,omitempty"` // name of the work session it is about
	Element  string    `json:"element,omitempty"` // key of the element it is about
	Run      string    `json:"run_id,omitempty"`  // of the run it is about
	Scope    Scope     `json:"scope"`             // of the memory, or project for what concerns the model
	Revision int       `json:"revision,omitempty"`
	Author   string    `json:"author"` // who did it
	Door     string    `json:"door,omitempty"`
}

// EventsResponse is a page of events in the order that was asked for, and the position to go on from in that order.
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
	// EarlierSpaceEvents gives at most limit events of a space with a number up to upTo, newest first.
	EarlierSpaceEvents(ctx context.Context, space int32, upTo int64, limit int) ([]SpaceEvent, error)
}

// The positions behind everything there is, and before it.
const (
	FromNow   = "now"
	Beginning = "0.0.0"
)

// MaxEvents bounds a page of events.
const MaxEvents = 500

// Events gives what happened in the project, the organization and the caller's own memories after a position: that of an
// event or a page, "" for the beginning, FromNow for the end. No event is ever skipped: numbers are given in the order of
// commits.
func (s *Service) Events(ctx context.Context, c Caller, after string, limit int) (EventsResponse, error) {
	if err := c.check(); err != nil {
		return EventsResponse{}, err
	}
	var out EventsResponse
	err := s.view(ctx, c, func(v View) error {
		out = EventsResponse{Events: []StreamEvent{}}
		at, spaces, err := placeIn(ctx, v, c, "after", after)
		if err != nil {
			return err
		}
		if after == FromNow {
			out.Position = at.String()
			return nil
		}
		heads, err := queues(spaces, func(sp Space) ([]SpaceEvent, error) {
			return v.SpaceEvents(ctx, sp.ID, at[slot(sp.Scope)], eventsOf(limit))
		})
		if err != nil {
			return err
		}
		for len(out.Events) < eventsOf(limit) {
			e, ok := next(heads, time.Time.Before)
			if !ok {
				break
			}
			at[slot(e.Scope)] = e.Number
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

// EarlierEvents is Events the other way: newest first, up to and with what lies at a position; FromNow begins at the
// newest. Events after the id of the first one are what a stream goes on with. The position of the answer is Beginning
// when nothing lies before.
func (s *Service) EarlierEvents(ctx context.Context, c Caller, upTo string, limit int) (EventsResponse, error) {
	if err := c.check(); err != nil {
		return EventsResponse{}, err
	}
	var out EventsResponse
	err := s.view(ctx, c, func(v View) error {
		out = EventsResponse{Events: []StreamEvent{}}
		at, spaces, err := placeIn(ctx, v, c, "before", upTo)
		if err != nil {
			return err
		}
		heads, err := queues(spaces, func(sp Space) ([]SpaceEvent, error) {
			return v.EarlierSpaceEvents(ctx, sp.ID, at[slot(sp.Scope)], eventsOf(limit))
		})
		if err != nil {
			return err
		}
		for len(out.Events) < eventsOf(limit) {
			e, ok := next(heads, notBefore)
			if !ok {
				break
			}
			e.ID = at.String()
			at[slot(e.Scope)] = e.Number - 1
			out.Events = append(out.Events, e.StreamEvent)
		}
		out.Position = at.String()
		return nil
	})
	if err != nil {
		return EventsResponse{}, fmt.Errorf("earlier events: %w", err)
	}
	return out, nil
}

// Titles gives what memories are called, by handle: those of the handles that the caller sees. It counts as no use of them.
func (s *Service) Titles(ctx context.Context, c Caller, handles []string) (map[string]string, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(handles) > MaxEvents {
		return nil, problem.Invalidf("memories", "%d memories are more than the %d of one call", len(handles), MaxEvents).Fix("ask in several calls")
	}
	var out map[string]string
	err := s.view(ctx, c, func(v View) error {
		out = make(map[string]string, len(handles))
		ids := make([]uuid.UUID, 0, len(handles))
		for _, handle := range handles {
			id, err := v.ByHandle(ctx, handle)
			if err != nil {
				return err
			}
			ids = append(ids, id) // that of none is of no record
		}
		recs, err := v.Records(ctx, ids)
		for i := range recs {
			if c.sees(&recs[i]) {
				out[recs[i].Handle] = titleOf(recs[i].Memory)
			}
		}
		return err
	})
	return out, wrap("titles", err)
}

// notBefore takes the queues in the other order than time.Time.Before also where times are the same.
func notBefore(a, b time.Time) bool { return !a.Before(b) }

func eventsOf(limit int) int {
	if limit <= 0 || limit > MaxEvents {
		return MaxEvents
	}
	return limit
}

// placeIn reads a position against the spaces of a caller; field is what the caller calls it.
func placeIn(ctx context.Context, v View, c Caller, field, text string) (position, []Space, error) {
	at, err := parsePosition(field, text)
	if err != nil {
		return at, nil, err
	}
	spaces, err := v.Spaces(ctx, c.spaceKeys())
	if err != nil {
		return at, nil, err
	}
	ids := make([]int32, len(spaces))
	for i, sp := range spaces {
		ids[i] = sp.ID
	}
	last, err := v.LastEvents(ctx, ids)
	if err != nil {
		return at, nil, err
	}
	for _, sp := range spaces {
		switch slot := slot(sp.Scope); {
		case text == FromNow:
			at[slot] = last[sp.ID]
		case at[slot] > last[sp.ID]: // going on from there would skip what is written until the numbers meet again
			return at, nil, problem.New(problem.Conflict, field, "this position is ahead of everything there is, as after the restore of a backup",
				"begin anew: leave the position out")
		}
	}
	return at, spaces, nil
}

// queues gives the events of each space.
func queues(spaces []Space, read func(Space) ([]SpaceEvent, error)) ([][]SpaceEvent, error) {
	out := make([][]SpaceEvent, 0, len(spaces))
	for _, sp := range spaces {
		es, err := read(sp)
		if err != nil {
			return nil, err
		}
		out = append(out, es)
	}
	return out, nil
}

// next takes the event from the heads of the queues whose time goes before the others'. The order within a queue stays
// whatever the clocks of several servers said.
func next(queues [][]SpaceEvent, before func(a, b time.Time) bool) (SpaceEvent, bool) {
	best := -1
	for i, q := range queues {
		if len(q) > 0 && (best < 0 || before(q[0].At, queues[best][0].At)) {
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

func parsePosition(field, s string) (position, error) {
	var p position
	if s == "" || s == FromNow {
		return p, nil
	}
	parts := strings.Split(s, ".")
	bad := problem.Invalidf(field, "it is not a position of this stream").Fix("send the id of the last event you saw, or leave it out")
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
