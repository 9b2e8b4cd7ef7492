package client

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// onSession is a request about one work session: the one that is named, else that of the caller.
func onSession(c memory.Caller, method, ref string, body any, path ...string) (request, error) {
	switch ref = cmp.Or(strings.TrimSpace(ref), c.Session); {
	case ref == "":
		return request{}, problem.Invalidf("sessionId", "no work session is named").Fix("pass the session_id that its start gave")
	case len(ref) > maxReference:
		return request{}, problem.New(problem.NotFound, "sessionId", "no work session has so long a name", "pass the session_id that its start gave")
	}
	return inProject(c, method, body, append([]string{"sessions", ref}, path...)...)
}

// Arrive gives the caller as it is: the server lets every request arrive by itself, with the session that the request names.
func (c *Client) Arrive(_ context.Context, by memory.Caller) (memory.Caller, error) { return by, nil }

// StartSession begins a work session, or goes on with one.
func (c *Client) StartSession(ctx context.Context, by memory.Caller, r session.StartRequest) (session.Started, error) {
	q, err := inProject(by, http.MethodPost, r, "sessions")
	q.lost = "see `stele session list --mine`: if it was started, go on with that one"
	return write[session.Started](ctx, c, q, err)
}

// HeartbeatSession shows life. Said twice it is as said once.
func (c *Client) HeartbeatSession(ctx context.Context, by memory.Caller, r session.HeartbeatRequest) (session.Status, error) {
	ref := r.Session
	r.Session = "" // the path says it
	q, err := onSession(by, http.MethodPost, ref, r, "heartbeat")
	q.lost = repeatable
	return read[session.Status](ctx, c, q, err)
}

// FinishSession ends a work session. The server knows one that has ended already.
func (c *Client) FinishSession(ctx context.Context, by memory.Caller, r session.FinishRequest) (session.Ended, error) {
	ref := r.Session
	r.Session = ""
	q, err := onSession(by, http.MethodPost, ref, r, "finish")
	q.lost = repeatable
	return read[session.Ended](ctx, c, q, err)
}

// CancelSession ends a work session without a trace.
func (c *Client) CancelSession(ctx context.Context, by memory.Caller, ref string) (session.Summary, error) {
	type answer struct {
		Session session.Summary `json:"session"`
	}
	q, err := onSession(by, http.MethodPost, ref, struct{}{}, "cancel")
	q.lost = repeatable
	a, err := read[answer](ctx, c, q, err)
	return a.Session, err
}

// Sessions lists work sessions, newest first.
func (c *Client) Sessions(ctx context.Context, by memory.Caller, r session.ListRequest) (session.List, error) {
	q, err := inProject(by, http.MethodGet, nil, "sessions")
	q.query = query(map[string]string{"state": string(r.State), "element": r.Element, "user": r.User, "limit": number(r.Limit), "cursor": r.Cursor})
	return read[session.List](ctx, c, q, err)
}

// SessionReceipt shows a work session with what it was shown and used.
func (c *Client) SessionReceipt(ctx context.Context, by memory.Caller, ref string) (session.Receipt, error) {
	q, err := onSession(by, http.MethodGet, ref, nil)
	return read[session.Receipt](ctx, c, q, err)
}
