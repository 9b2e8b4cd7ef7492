package session

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// Store keeps sessions beside memories.
type Store interface {
	// ViewSessions is memory.Store.View, with what is known of sessions.
	ViewSessions(ctx context.Context, org uuid.UUID, fn func(View) error) error
	// WriteSessions is memory.Store.Write, with what can be done to sessions. What changes who works where holds the project's space.
	WriteSessions(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, fn func(Tx) error) error
	// Beat notes a sign of life of a user's active session, found by name or by an id of the client, without waiting for the
	// disk. It gives the session as it is; false when there is none.
	Beat(ctx context.Context, org uuid.UUID, user, ref string, at time.Time) (Stored, bool, error)
	// Fold turns impressions that were last renewed before a moment into the counters of their memories, at most limit of them. It
	// gives how many there were.
	Fold(ctx context.Context, org uuid.UUID, before time.Time, limit int) (int, error)
	// DropSessions removes, in transactions of bounded size, follow-ups that were closed before a moment and sessions that ended
	// before it, with what hangs on them, and forgets the files that such sessions edited. Sessions that left something open stay,
	// and the newest with an outcome of each user and project, so many of them. What was removed before an error is counted.
	DropSessions(ctx context.Context, org uuid.UUID, before time.Time, newest int) (Dropped, error)
}

// Stored is a session as stored.
type Stored struct {
	ID        uuid.UUID
	Project   uuid.UUID
	Name      string
	State     State
	Agent     string
	Label     string
	User      string
	Door      memory.Origin
	Worktree  string
	Seen      memory.Seen // commit and branch
	StartedAt time.Time
	BeatAt    time.Time
	EndedAt   time.Time // zero while it is active
	Reporting bool
	Partial   bool
	Outcome   uuid.UUID // memory; uuid.Nil without one
	Body      Body
}

// Body is the free text of a session.
type Body struct {
	Task       string     `json:"task,omitempty"`
	Checkpoint Checkpoint `json:"checkpoint,omitzero"` // empty once an outcome says it
	Unmatched  []string   `json:"unmatched,omitempty"` // names its finish used that are no memory
	// Anchor is where the conversation of the session lies; its outcome leads there.
	Anchor   *memory.Anchor `json:"anchor,omitempty"`
	ForgotAt time.Time      `json:"forgot_at,omitzero"` // when the client last dropped what it had been shown
}

// Checkpoint is what a session last said about its work.
type Checkpoint struct {
	Summary   string   `json:"summary,omitempty"`
	Decisions []string `json:"decisions,omitempty"`
	FollowUps []string `json:"follow_ups,omitempty"`
}

// HeldLease is a lease with the session that has it.
type HeldLease struct {
	Session    uuid.UUID
	Element    uuid.UUID
	TakenAt    time.Time
	ReleasedAt time.Time // zero while it is held
	Soft       bool
	Exclusive  bool
}

// Edit is a file that a session edited.
type Edit struct {
	Session uuid.UUID
	Path    string
	At      time.Time
}

// Shown is what a session was shown of a memory through a door.
type Shown struct {
	Memory   uuid.UUID
	Door     memory.Door
	FirstAt  time.Time
	LastAt   time.Time
	Times    int
	Revision int       // at LastAt
	Doubted  time.Time // the newest doubt it had then; zero when there was none
	Cited    bool
	Observed bool
}

// Query selects sessions of a project, newest first.
type Query struct {
	Project  uuid.UUID
	State    State // "" = any
	Since    time.Time
	User     string
	Agent    *string // client program
	Worktree string
	Door     memory.Origin
	Outcomes bool        // only those with an outcome
	Elements []uuid.UUID // with a lease on any of these; nil = any
	Before   uuid.UUID   // older than this one
	Limit    int
}

// View reads sessions.
type View interface {
	memory.View
	// Session finds a session of a user by name or by an id of the client; user "" is anybody, by name only.
	Session(ctx context.Context, user, ref string) (Stored, bool, error)
	Sessions(ctx context.Context, q Query) ([]Stored, error)
	// Leases gives the leases of sessions.
	Leases(ctx context.Context, sessions []uuid.UUID) ([]HeldLease, error)
	// Edits gives the files that sessions edited since a moment, newest first.
	Edits(ctx context.Context, sessions []uuid.UUID, since time.Time) ([]Edit, error)
	// Overdue gives the active sessions that showed no life since a moment, of a project or, by uuid.Nil, of all.
	Overdue(ctx context.Context, project uuid.UUID, since time.Time, limit int) ([]Stored, error)
	// FollowUps gives the open follow-ups of a project whose outcome is live, newest first.
	FollowUps(ctx context.Context, project uuid.UUID, limit int) ([]FollowUp, error)
	// ShownTo gives what a session was shown, first shown first.
	ShownTo(ctx context.Context, session string) ([]Shown, error)
	// CitedBy gives the memories that a session relied on, first cited first.
	CitedBy(ctx context.Context, session string) ([]uuid.UUID, error)
	// Tally counts what is documented and in doubt, as the knowledge map does.
	Tally(ctx context.Context, project uuid.UUID, spaces []int32, at time.Time) (Tally, error)
}

// Tally is the headline of the knowledge map in numbers.
type Tally struct {
	Documented int
	Elements   int
	Doubted    int // memories
}

// Tx changes sessions.
type Tx interface {
	memory.Tx
	View
	// SaveSession stores a session as it has become.
	SaveSession(ctx context.Context, s Stored) error
	// AddAlias lets a user's client know a session by an id. What that id was shown and cited before becomes the session's.
	AddAlias(ctx context.Context, s Stored, alias string) error
	// TakeLeases gives a session leases; one that it has becomes the stronger of the two.
	TakeLeases(ctx context.Context, s Stored, leases []HeldLease) error
	// ReleaseLeases ends the leases of a session.
	ReleaseLeases(ctx context.Context, session uuid.UUID, at time.Time) error
	// NoteEdits keeps files that a session edited, not more than limit of them.
	NoteEdits(ctx context.Context, session uuid.UUID, paths []string, at time.Time, limit int) error
	OpenFollowUps(ctx context.Context, s Stored, texts []string, at time.Time) error
	// CloseFollowUps closes follow-ups; those of a session alone when no ids are given.
	CloseFollowUps(ctx context.Context, ids []uuid.UUID, by uuid.UUID, at time.Time) error
	// ForgetFollowUps closes what a session left, because its outcome is being replaced.
	ForgetFollowUps(ctx context.Context, session uuid.UUID, at time.Time) error
	// Report counts, for each memory that a reporting session was shown whole by recall, prompt or file, whether it was ignored.
	Report(ctx context.Context, session string) error
}
