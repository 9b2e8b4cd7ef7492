package review

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// Store keeps decisions beside memories, and derives what is open.
type Store interface {
	// ViewReviews is memory.Store.View, with what there is to decide and what was decided.
	ViewReviews(ctx context.Context, org uuid.UUID, fn func(View) error) error
	// WriteReviews is memory.Store.Write, with what decisions store.
	WriteReviews(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, fn func(Tx) error) error
}

// View reads what there is to decide and what was decided.
type View interface {
	memory.View
	reader
}

// Tx stores decisions as well.
type Tx interface {
	memory.Tx
	reader
	writer
}

// OpenQuery asks for the open items that a caller sees.
type OpenQuery struct {
	Project  uuid.UUID
	Spaces   []int32
	Now      time.Time
	Dangling [][]byte    // hashes of link targets that lead nowhere
	Memories []uuid.UUID // only these; nil = all
	Reasons  []Reason    // only these; nil = all

	ConfirmedBefore time.Time // stale when confirmed before, …
	ServedSince     time.Time // … and served since
	IgnoredFrom     int       // sessions
	LinkedBefore    time.Time // a link is given until then
	CountSince      time.Time // times served count since
	BriefedSince    time.Time
}

// Open is an open item as derived, without a word of its memory.
type Open struct {
	Reason   Reason
	Memory   uuid.UUID
	Handle   string
	Kind     memory.Kind
	User     string
	Evidence string // tells this occurrence of the reason from the next
	Cause    string // the same for all items of a group
	Since    time.Time
	Doubt    uuid.UUID // of the four reasons that are doubts
	Stamp    uuid.UUID // that made the doubt
	Element  uuid.UUID // of the doubt
	Commit   string    // of the stamp
	Moved    bool      // the stamp is of files that are elsewhere
	Other    uuid.UUID // of a conflict
	Amount   float64   // similarity of a conflict, impressions of an ignored memory
	Sessions int       // that ignored it
	At       time.Time // when it expired, was confirmed
	Batch    uuid.UUID
	Origin   memory.Origin
	Link     memory.Link // that leads nowhere, or to several things; the Store leaves it out
	Served   int         // times since CountSince
	Today    bool        // in a briefing since BriefedSince
}

// LinkTarget is a text that links of live memories name.
type LinkTarget struct {
	Hash []byte
	Text string
}

// Ground is where a memory lies in the repositories of a project.
type Ground struct {
	Paths    []string    // files and globs it names
	Elements []uuid.UUID // of the project that it is attached to
}

// Stored is a decision as stored.
type Stored struct {
	ID       uuid.UUID
	Project  uuid.UUID
	Group    string
	Action   Action
	At       time.Time
	Agent    string
	User     string
	Door     memory.Origin
	Personal bool // about personal memories of the author
	Note     string
	Detail   Detail
	UndoneAt time.Time // zero while it stands
	UndoneBy string    // agent/user
	Items    int       // settled
	Memories []string  // handles of the first 100 memories it is about
	Count    int       // of all
}

// Detail is what a decision is undone by, beside the changes of memories: ids, times, patterns.
type Detail struct {
	Into      uuid.UUID   `json:"into,omitzero"`
	Until     *time.Time  `json:"until,omitempty"`
	Bindings  []Binding   `json:"bindings,omitempty"`
	Withdrawn []uuid.UUID `json:"withdrawn,omitempty"` // doubts that a binding ended
}

// Binding is what an element was bound to on the server before and after a decision.
type Binding struct {
	Element uuid.UUID `json:"element"`
	Before  []string  `json:"before"`
	After   []string  `json:"after"`
}

// Settled is an item that a decision settled.
type Settled struct {
	Memory   uuid.UUID
	Reason   Reason
	Evidence string
	Until    *time.Time // of a snooze
}

// State is how a memory stands, in what decisions change.
type State struct {
	Status        memory.Status `json:"status"`
	Revision      int           `json:"revision"`
	Confirmations int           `json:"confirmations"`
	ConfirmedAt   time.Time     `json:"confirmed_at"`
	Unreviewed    bool          `json:"unreviewed,omitempty"`
	Citations     int           `json:"citations,omitempty"`
	Changed       int           `json:"changed,omitempty"`
	Seen          memory.Seen   `json:"seen"`
	ExpiresAt     *time.Time    `json:"expires_at,omitempty"`
	Successor     uuid.UUID     `json:"successor,omitzero"`
	Elements      []uuid.UUID   `json:"elements"`       // attached, in order of ids
	Gone          []Claim       `json:"gone,omitempty"` // evidence that is gone and not forgotten
	Disputes      []uuid.UUID   `json:"disputes,omitempty"`
}

// Claim names a claim of a text by its place.
type Claim struct {
	Revision int `json:"revision"`
	Version  int `json:"version"`
	Ordinal  int `json:"ordinal"`
}

// Change is what a decision did to a memory. A memory that did not exist before has a Before without status.
type Change struct {
	Memory uuid.UUID
	Before State
	After  State
}

// DecisionQuery selects decisions of a project, newest first.
type DecisionQuery struct {
	Project      uuid.UUID
	User         string // whose personal memories may be told of
	ByUser       string // "" = anybody
	ByAgent      string
	Memory       uuid.UUID // uuid.Nil = any
	Group        string    // "" = any
	Since        time.Time
	Before       uuid.UUID // uuid.Nil = from the newest
	ID           uuid.UUID // only this one
	OnlyStanding bool      // not undone
	Limit        int
}

// Progress is what happened in a project since a moment.
type Progress struct {
	Before  int // elements that were documented at that moment
	Written int // memories written since, outcomes apart
	Decided int // items settled since
}

// reader reads reviews.
type reader interface {
	// OpenItems derives the open items, in no order.
	OpenItems(ctx context.Context, q OpenQuery) ([]Open, error)
	// LinkTargets gives the distinct targets of links of live, reviewed memories that were written in a project before a moment.
	LinkTargets(ctx context.Context, project uuid.UUID, spaces []int32, before time.Time) ([]LinkTarget, error)
	// DoubtReasons gives the words of doubts.
	DoubtReasons(ctx context.Context, doubts []uuid.UUID) (map[uuid.UUID]string, error)
	// CodeOwners gives who owns the files of a project, by repository.
	CodeOwners(ctx context.Context, project uuid.UUID) (map[string][]memory.OwnerRule, error)
	// Grounds tells where memories lie.
	Grounds(ctx context.Context, project uuid.UUID, memories []uuid.UUID) (map[uuid.UUID]Ground, error)
	// StampOf gives a stamp.
	StampOf(ctx context.Context, id uuid.UUID) (memory.Stamp, error)
	// StampDoubts gives the open doubts that a stamp makes, of every memory, with whether a claim of the memory fails.
	StampDoubts(ctx context.Context, stamp uuid.UUID) ([]StampDoubt, error)
	// Decided lists decisions, newest first.
	Decided(ctx context.Context, q DecisionQuery) ([]Stored, error)
	// Changes gives what a decision did to memories, in order of ids.
	Changes(ctx context.Context, decision uuid.UUID) ([]Change, error)
	// Items gives what a decision settled.
	Items(ctx context.Context, decision uuid.UUID) ([]Settled, error)
	// States tells how memories stand.
	States(ctx context.Context, memories []uuid.UUID) (map[uuid.UUID]State, error)
	// AttachedAt gives the live memories that were attached to one of the elements at an instant.
	AttachedAt(ctx context.Context, elements []uuid.UUID, at time.Time) ([]uuid.UUID, error)
	// ProgressSince counts what happened.
	ProgressSince(ctx context.Context, project uuid.UUID, spaces []int32, since, now time.Time) (Progress, error)
}

// StampDoubt is an open doubt of a stamp.
type StampDoubt struct {
	Doubt  uuid.UUID
	Memory uuid.UUID
	Fails  bool // a claim of the memory is gone
}

// writer stores decisions and takes back what they did.
type writer interface {
	// SaveDecision stores a decision.
	SaveDecision(ctx context.Context, d Stored) error
	// SaveDetail replaces the detail of a decision.
	SaveDetail(ctx context.Context, id uuid.UUID, d Detail) error
	// Settle adds to what a decision settled and changed.
	Settle(ctx context.Context, id uuid.UUID, items []Settled, changes []Change) error
	// UndoDecision marks a decision as undone; its items are open again.
	UndoDecision(ctx context.Context, id uuid.UUID, by memory.Caller, now time.Time) error
	// PutBack makes a memory stand as before a decision at an instant: confirmation, expiry, what was seen, evidence, attachments
	// and doubts that the decision ended or opened at that instant. Status and revision are not its business.
	PutBack(ctx context.Context, c Change, at time.Time) error
	// ReopenDoubts opens doubts that were closed at an instant.
	ReopenDoubts(ctx context.Context, doubts []uuid.UUID, at time.Time) error
	// Unattach takes away what was attached to elements at an instant.
	Unattach(ctx context.Context, elements []uuid.UUID, at time.Time) error
}
