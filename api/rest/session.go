package rest

import (
	"context"
	"net/http"
	"net/url"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// sessionService is what work sessions are asked of.
type sessionService interface {
	// Arrive is what every request that names a session passes: its sign of life.
	Arrive(ctx context.Context, c memory.Caller) (memory.Caller, error)
	StartSession(ctx context.Context, c memory.Caller, r session.StartRequest) (session.Started, error)
	HeartbeatSession(ctx context.Context, c memory.Caller, r session.HeartbeatRequest) (session.Status, error)
	FinishSession(ctx context.Context, c memory.Caller, r session.FinishRequest) (session.Ended, error)
	CancelSession(ctx context.Context, c memory.Caller, ref string) (session.Summary, error)
	Sessions(ctx context.Context, c memory.Caller, r session.ListRequest) (session.List, error)
	SessionReceipt(ctx context.Context, c memory.Caller, ref string) (session.Receipt, error)
}

// heartbeatSession is session.HeartbeatRequest without what the path says.
type heartbeatSession struct {
	Task      string   `json:"task"`
	Summary   string   `json:"summary"`
	Decisions []string `json:"decisions"`
	FollowUps []string `json:"follow_ups"`
	Elements  []string `json:"elements"`
	Paths     []string `json:"paths"`
	Edited    []string `json:"edited"`
}

// finishSession is session.FinishRequest without what the path says.
type finishSession struct {
	Summary      string          `json:"summary"`
	Decisions    []string        `json:"decisions"`
	FollowUps    []string        `json:"follow_ups"`
	UsedMemories []string        `json:"used_memories"` // null says nothing, an empty list that it was none
	Closes       []string        `json:"closes"`
	Outcome      session.Outcome `json:"outcome"`
	Seen         *memory.Seen    `json:"seen"`
}

type cancelSession struct{}

type singleSession struct {
	Session session.Summary `json:"session"`
}

// SessionPath names a work session of a project.
type SessionPath struct {
	ProjectPath

	Session string `path:"session" doc:"The work session: its name, or for the one it belongs to, an id of their client." example:"ws-4f2k7qa"`
}

// sessionQuery filters a list.
type sessionQuery struct {
	ProjectPath

	State   string  `query:"state" enum:"active,finished,expired,cancelled,all" doc:"Sessions of this state; active when left out."`
	Element string  `query:"element" doc:"Sessions that work, or worked, on this element, above or below it: key, name or id." example:"shop.api"`
	User    string  `query:"user" doc:"Sessions of this user." example:"alex"`
	Limit   Integer `query:"limit" doc:"Sessions of a page: 1 to 100; 100 when left out."`
	Cursor  string  `query:"cursor" doc:"next_cursor of the page before."`
}

// started is the answer to a start: 201, or 200 when nothing was made.
type started struct {
	Status   int
	Location string `header:"Location" doc:"Where the session is; absent when the gate denied it."`
	Body     session.Started
}

const (
	pathSessions = pathProject + "/sessions"
	pathSession  = pathSessions + "/{session}"
)

// sessions adds work sessions.
func (a *API) sessions() {
	type starting struct {
		ProjectPath
		JSON[session.StartRequest]
	}
	add(a, endpoint{id: "start-session", method: http.MethodPost, path: pathSessions, tag: tagSessions, writes: true, status: http.StatusCreated,
		summary: "Start a work session", description: "Begins a piece of work on elements: takes leases on them, tells who else works there, and answers with a briefing of what is " +
			"known. Where exclusive work meets other work the gate denies it (`gate.verdict` is `deny`, status 200) and nothing is stored. Where the caller has an open " +
			"session already (`Stele-Session`, `continues`, or one that a hook opened in the same working tree), that one goes on (`adopted`, status 200).",
		answers: "The session with its leases and its briefing.",
		example: map[string]any{"task": "Retry failed payments", "agent_name": "builder", "elements": []string{"shop.api"}}},
		func(ctx context.Context, x *exchange, in *starting) (*started, error) {
			out, err := a.service.StartSession(ctx, x.caller, in.Sent)
			if err != nil {
				return nil, err
			}
			made := &started{Status: http.StatusCreated, Body: out}
			if out.Adopted || out.SessionID == "" {
				made.Status = http.StatusOK
			}
			if out.SessionID != "" {
				made.Location = "/v1/projects/" + url.PathEscape(x.caller.Project.String()) + "/sessions/" + out.SessionID
			}
			return made, nil
		})
	add(a, endpoint{id: "list-sessions", method: http.MethodGet, path: pathSessions, tag: tagSessions,
		summary: "List work sessions", description: "Lists who works where: the work sessions of the project, newest first, in pages.", answers: "A page of sessions."},
		func(ctx context.Context, x *exchange, in *sessionQuery) (*answer[session.List], error) {
			r := session.ListRequest{State: session.State(in.State), Element: in.Element, User: in.User, Cursor: in.Cursor}
			var err error
			if r.Limit, err = in.Limit.value("limit"); err != nil {
				return nil, err
			}
			out, err := a.service.Sessions(ctx, x.caller, r)
			return &answer[session.List]{out}, err
		})
	add(a, endpoint{id: "get-session", method: http.MethodGet, path: pathSession, tag: tagSessions,
		summary: "Get a work session", description: "Gives a work session of the project with its receipt: which memories it was shown, when, through which door and at what cost, " +
			"and which of them it used. Of another user's session personal memories are left out.",
		answers: "The session and its receipt."},
		func(ctx context.Context, x *exchange, in *SessionPath) (*answer[session.Receipt], error) {
			out, err := a.service.SessionReceipt(ctx, x.caller, in.Session)
			return &answer[session.Receipt]{out}, aboutSession(err)
		})
	type beating struct {
		SessionPath
		JSON[heartbeatSession]
	}
	add(a, endpoint{id: "heartbeat-session", method: http.MethodPost, path: pathSession + "/heartbeat", tag: tagSessions,
		summary: "Keep a work session alive", description: "Shows life, keeps a checkpoint, takes leases on further elements, and tells who else works there. Whatever a session asks " +
			"or writes shows life as well; this is for long work without a question, and for what should be kept if the session never finishes. " +
			"What is left out stays as it was said before.",
		answers: "The session as it is now.",
		example: map[string]any{"summary": "The retries are written, their tests are not.", "edited": []string{"api/pay.go"}}},
		func(ctx context.Context, x *exchange, in *beating) (*answer[session.Status], error) {
			s := in.Sent
			out, err := a.service.HeartbeatSession(ctx, x.caller, session.HeartbeatRequest{Session: in.Session, Task: s.Task, Summary: s.Summary, Decisions: s.Decisions,
				FollowUps: s.FollowUps, Elements: s.Elements, Paths: s.Paths, Edited: s.Edited})
			return &answer[session.Status]{out}, aboutSession(err)
		})
	type finishing struct {
		SessionPath
		JSON[finishSession]
	}
	add(a, endpoint{id: "finish-session", method: http.MethodPost, path: pathSession + "/finish", tag: tagSessions,
		summary: "Finish a work session", description: "Ends a work session with one outcome, which every element it worked on remembers, with follow-ups, and with the memories it " +
			"relied on. `used_memories` may be empty, which says that it relied on none; left out it says nothing. Names that are no memory known here come back as `unmatched`. " +
			"Finishing again changes nothing and gives the first answer (`repeated`).",
		answers: "How the session ended.",
		example: map[string]any{"summary": "Failed payments are retried three times.", "decisions": []string{"Retries back off by a minute each."},
			"follow_ups": []string{"Alert when all retries fail."}, "used_memories": []string{"m-7k3f5qa"}}},
		func(ctx context.Context, x *exchange, in *finishing) (*answer[session.Ended], error) {
			s := in.Sent
			out, err := a.service.FinishSession(ctx, x.caller, session.FinishRequest{Session: in.Session, Summary: s.Summary, Decisions: s.Decisions,
				FollowUps: s.FollowUps, UsedMemories: s.UsedMemories, Closes: s.Closes, Outcome: s.Outcome, Seen: s.Seen})
			return &answer[session.Ended]{out}, aboutSession(err)
		})
	type cancelling struct {
		SessionPath
		JSON[cancelSession]
	}
	add(a, endpoint{id: "cancel-session", method: http.MethodPost, path: pathSession + "/cancel", tag: tagSessions,
		summary: "Cancel a work session", description: "Ends a work session without a trace of what it did: no outcome, no follow-ups. Cancelling again changes nothing. " +
			"One cancels one's own; a reviewer may cancel anybody's.",
		answers: "The session as it is now."},
		func(ctx context.Context, x *exchange, in *cancelling) (*answer[singleSession], error) {
			out, err := a.service.CancelSession(ctx, x.caller, in.Session)
			return &answer[singleSession]{singleSession{out}}, aboutSession(err)
		})
}

// aboutSession spells a problem of one session as its path does.
func aboutSession(err error) error { return spelled(err, "sessionId", "session") }
