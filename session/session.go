// Package session is work sessions: declared units of agent work on elements of the model. A session holds leases, so that
// agents learn of each other; begins with a briefing; shows life by whatever it does; and ends with one outcome, which every
// element it worked on remembers, and with testimony about the memories it relied on.
package session

import (
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// State is the life of a session.
type State string

// The states. An expired session goes on with its next sign of life; a finished or cancelled one is over.
const (
	Active    State = "active"
	Finished  State = "finished"
	Expired   State = "expired"
	Cancelled State = "cancelled"
)

// Times of a session. Constants of the contract.
const (
	// Lifetime is how long a session lives without a sign of life. Longer than the builds and test runs that agents wait for.
	Lifetime = 30 * time.Minute
	// SameFileWindow is how long ago another session must have edited a file for an edit of it to be warned about.
	SameFileWindow = 30 * time.Minute
)

// Limits of what a session can say. Each is refused with the number in the error.
const (
	MaxTaskBytes     = 2000
	MaxSummaryBytes  = 8000
	MaxItemBytes     = 500 // of a decision or follow-up: one sentence each
	MaxItems         = 20  // decisions, and follow-ups
	MaxUsedMemories  = 500
	MaxEdits         = 2000 // files a session is known to have edited; later ones are not kept
	maxPaths         = 100  // of one call
	maxWorktreeBytes = 200
	maxListed        = 100
)

// StartRequest begins a session, or goes on with one.
type StartRequest struct {
	Task      string   `json:"task"`
	AgentName string   `json:"agent_name"` // what the agent calls itself; "" = the client program
	Elements  []string `json:"elements"`   // keys, names or ids to work on
	Paths     []string `json:"paths"`      // files, whose elements to work on
	Exclusive bool     `json:"exclusive"`  // nobody else may work there meanwhile
	// Worktree says where the work happens, opaquely; sessions of one client, user and worktree that a hook opened are adopted.
	Worktree string `json:"worktree"`
	// Continues is a session or an id of the client that this one goes on from: a conversation that was resumed under a new id.
	Continues string `json:"continues"`
	// Source is why it starts, as clients tell: startup, resume, clear or compact. It decides how far back the briefing looks.
	Source    string       `json:"source"`
	MaxTokens *int         `json:"max_tokens"` // of the briefing; nil = DefaultBriefingTokens, 0 = none
	Unseen    bool         `json:"-"`          // nobody reads the briefing: nothing was shown
	Seen      *memory.Seen `json:"seen"`
}

// Started tells what became of a start.
type Started struct {
	SessionID string     `json:"session_id"` // "" when the gate denied it
	Adopted   bool       `json:"adopted"`    // it goes on with a session that was open
	Gate      Gate       `json:"gate"`
	Leases    []Lease    `json:"leases"`
	Conflicts []Conflict `json:"conflicts"`
	Briefing  string     `json:"briefing"`
	Warnings  []string   `json:"warnings"`

	within []memory.ElementDistance // the elements of Leases with those above and below, as they were read with them
}

// Verdict is what a gate says.
type Verdict string

// The verdicts. Deny comes only when exclusive work meets other work.
const (
	Allow Verdict = "allow"
	Warn  Verdict = "warn"
	Deny  Verdict = "deny"
)

// Gate says whether a session may begin where it wants to, and why not.
type Gate struct {
	Verdict Verdict  `json:"verdict"`
	Reasons []string `json:"reasons"`
}

// Lease says that a session works on an element.
type Lease struct {
	Element   memory.ElementRef `json:"element"`
	TakenAt   time.Time         `json:"taken_at"`
	Soft      bool              `json:"soft"` // observed by a hook, not declared
	Exclusive bool              `json:"exclusive"`
}

// Conflict is another session that works on the same, above or below it.
type Conflict struct {
	SessionID string            `json:"session_id"`
	Author    string            `json:"author"` // agent/user
	Task      string            `json:"task"`
	Element   memory.ElementRef `json:"element"` // of the other session
	With      string            `json:"with"`    // key of the element it meets
	Since     time.Time         `json:"since"`
	Soft      bool              `json:"soft"`
	Exclusive bool              `json:"exclusive"`
	File      string            `json:"file,omitempty"` // that both edited lately
}

// HeartbeatRequest shows life, and may say how far the work is: what it says last is kept as an outcome marked partial when the
// session never finishes.
type HeartbeatRequest struct {
	Session   string   `json:"session"` // "" = the caller's
	Task      string   `json:"task"`    // what it works on, when its start did not say so
	Summary   string   `json:"summary"` // of the work so far; "" leaves what was said before
	Decisions []string `json:"decisions"`
	FollowUps []string `json:"follow_ups"`
	Elements  []string `json:"elements"` // works on these too
	Paths     []string `json:"paths"`    // works on the elements of these files too
	Edited    []string `json:"edited"`   // files it has edited
	// Anchor is the turn of the conversation that this was said in; nil leaves the one before.
	Anchor *memory.Anchor `json:"anchor,omitempty"`
}

// Status is a session as it is.
type Status struct {
	Summary
	Conflicts []Conflict `json:"conflicts"`
	Warnings  []string   `json:"warnings"`
}

// Outcome is how a session says it ended.
type Outcome string

// The outcomes.
const (
	Done       Outcome = "done"
	Incomplete Outcome = "partial"
	Failed     Outcome = "failed"
)

// FinishRequest ends a session.
type FinishRequest struct {
	Session   string   `json:"session"` // "" = the caller's
	Summary   string   `json:"summary"`
	Decisions []string `json:"decisions"`
	FollowUps []string `json:"follow_ups"` // what is left to do
	// UsedMemories are handles, ids or titles of what the session relied on. Nil says nothing; empty says that it was none.
	UsedMemories []string     `json:"used_memories"`
	Closes       []string     `json:"closes"`  // open follow-ups that are done: their words, or the handle of the outcome that left them
	Outcome      Outcome      `json:"outcome"` // Done when empty
	Seen         *memory.Seen `json:"seen"`
}

// Ended tells how a session ended.
type Ended struct {
	SessionID string             `json:"session_id"`
	Memory    *memory.Memory     `json:"memory"`    // the outcome; null when there was nothing to say
	Cited     []string           `json:"cited"`     // handles that count as relied on
	Unmatched []string           `json:"unmatched"` // names that are no memory known here
	FollowUps []FollowUp         `json:"follow_ups"`
	Closed    []FollowUp         `json:"closed"`   // follow-ups that this session did
	Repeated  bool               `json:"repeated"` // it had ended before; nothing was done
	Redacted  []memory.Redaction `json:"redacted"`
	Warnings  []string           `json:"warnings"`
}

// FollowUp is a piece of work that a session left open.
type FollowUp struct {
	ID        uuid.UUID `json:"id"`
	Text      string    `json:"text"`
	SessionID string    `json:"session_id"` // that left it
	Outcome   string    `json:"outcome"`    // handle of that session's outcome
	OpenedAt  time.Time `json:"opened_at"`
}

// Summary is a session in a list.
type Summary struct {
	SessionID string     `json:"session_id"`
	State     State      `json:"state"`
	Task      string     `json:"task"`
	Author    string     `json:"author"` // agent/user
	Door      string     `json:"door"`   // that opened it
	StartedAt time.Time  `json:"started_at"`
	BeatAt    time.Time  `json:"beat_at"` // last sign of life
	EndedAt   *time.Time `json:"ended_at"`
	Leases    []Lease    `json:"leases"` // held; of a session that is over, those it had
	Reporting bool       `json:"reporting"`
	Partial   bool       `json:"partial"` // its outcome is what its last checkpoint said
	Outcome   string     `json:"outcome"` // handle of its outcome, "" without one
}

// ListRequest selects sessions of the project, newest first.
type ListRequest struct {
	State   State  `json:"state"`   // Active when empty; "all" for every state
	Element string `json:"element"` // that works, or worked, on this element, above or below it
	User    string `json:"user"`
	Limit   int    `json:"limit"`  // 1..100; 0 = 100
	Cursor  string `json:"cursor"` // next_cursor of the page before
}

// List is a page of sessions.
type List struct {
	Sessions   []Summary `json:"sessions"`
	NextCursor string    `json:"next_cursor,omitempty"`
}

// Receipt is a session with what it was shown and what it used of that.
type Receipt struct {
	Summary
	Edited    []string   `json:"edited"`
	FollowUps []FollowUp `json:"follow_ups"` // that it left and that are open
	Served    []Served   `json:"served"`     // first shown first
	Tokens    int        `json:"tokens"`     // of all that was served
	Cited     []string   `json:"cited"`      // handles of all that it relied on, served or not
}

// Served is a memory that a session was shown.
type Served struct {
	Handle   string      `json:"handle"`
	Kind     memory.Kind `json:"kind"`
	Title    string      `json:"title"` // or the first line
	Door     memory.Door `json:"door"`
	FirstAt  time.Time   `json:"first_at"`
	Times    int         `json:"times"`
	Tokens   int         `json:"tokens"` // of one showing, in full or as a line
	Cited    bool        `json:"cited"`
	Observed bool        `json:"observed"` // the citation was seen in what it wrote, not reported
}
