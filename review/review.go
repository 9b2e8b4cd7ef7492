// Package review is the queue of memories that a person should look at, and what is decided about them. Nothing is put into
// the queue: its items are derived from what is stored, each time it is read, so that none can be forgotten and none outlives
// its cause. What is stored are the decisions. An item that was decided comes back on new evidence only.
package review

import (
	"time"

	"github.com/stele-dev/stele/memory"
)

// Reason is why a memory is in the queue.
type Reason string

// The reasons. The first four are doubts that are open.
const (
	Drifted      Reason = "drifted"       // an element it is attached to, or a dependency it speaks of, drifted
	EvidenceGone Reason = "evidence_gone" // what it quotes left the code
	Rewritten    Reason = "rewritten"     // the code it was written about was rewritten
	Disputed     Reason = "disputed"      // somebody said that it does not hold
	Conflict     Reason = "conflict"      // another memory is similar, and nobody said which of the two holds
	Ignored      Reason = "ignored"       // served to sessions that reported what they used, and never used
	Stale        Reason = "stale"         // served lately, and not confirmed for long
	Orphaned     Reason = "orphaned"      // every element it was attached to left the model
	Expired      Reason = "expired"       // it was to hold until a moment that has passed
	DanglingLink Reason = "dangling_link" // a [[link]] in it leads nowhere, or to several things
	Unreviewed   Reason = "unreviewed"    // an import or a hook wrote it, and nobody confirmed or cited it
	Candidate    Reason = "candidate"     // a hook took a sentence for something to remember
)

// Reasons lists all, in the order of the contract.
var Reasons = []Reason{Drifted, EvidenceGone, Rewritten, Disputed, Conflict, Ignored, Stale, Orphaned, Expired, DanglingLink, Unreviewed, Candidate}

// Action is what can be done about items.
type Action string

// The actions. Agents may confirm and dispute; the others need the reviewer role, except that authors may edit, merge, retire,
// restore, snooze, keep and reattach what is theirs alone.
const (
	Confirm       Action = "confirm"        // it holds: doubts are cleared
	Dispute       Action = "dispute"        // it does not hold
	Edit          Action = "edit"           // a new text supersedes it
	Merge         Action = "merge"          // two memories become one of the two, or a new text that supersedes both
	Retire        Action = "retire"         // it leaves recall
	Restore       Action = "restore"        // it comes back into recall
	Snooze        Action = "snooze"         // not before a moment, or new evidence
	Reattach      Action = "reattach"       // it is about these elements
	AcceptBinding Action = "accept_binding" // the element is bound to where its files went
	Promote       Action = "promote"        // it becomes the organization's
	Keep          Action = "keep"           // nothing is wrong with it; only the item is settled
)

// Actions lists all.
var Actions = []Action{Confirm, Dispute, Edit, Merge, Retire, Restore, Snooze, Reattach, AcceptBinding, Promote, Keep}

// Times and bounds of the queue. Constants of the contract, but for what says otherwise.
const (
	// StaleFreshness is the freshness under which a memory that is still served is stale.
	StaleFreshness = 0.1
	// StaleServed is how lately a stale memory must have been served: what nobody reads may grow old in peace.
	StaleServed = 90 * 24 * time.Hour
	// ServedWindow is the time in which being served counts for the order.
	ServedWindow = 30 * 24 * time.Hour
	// BriefingWindow is how lately a memory stood in a briefing to come first.
	BriefingWindow = 24 * time.Hour
	// DanglingGrace is how long a [[link]] may lead nowhere before somebody is asked: links to what is written tomorrow attach
	// themselves. Not in the contract; a week is the time between two looks at the queue.
	DanglingGrace = 7 * 24 * time.Hour
	// BulkReason is from how many memories on a decision needs a reason in words.
	BulkReason = 11
	// DefaultLimit and MaxLimit bound a page, in groups or items.
	DefaultLimit = 50
	MaxLimit     = 200
	// GroupItems is how many items of each group a page of the queue holds, unless the caller says otherwise.
	GroupItems = 3
	// MaxNoteBytes bounds the reason of a decision.
	MaxNoteBytes = 4096
)

// Item is one memory with one reason to look at it. ID is the same for as long as the evidence is.
type Item struct {
	ID       string         `json:"id"`
	Group    string         `json:"group"` // id of its Group
	Reason   Reason         `json:"reason"`
	Evidence string         `json:"evidence"` // words
	Memory   memory.Memory  `json:"memory"`
	Other    *memory.Memory `json:"other,omitempty"` // of a conflict
	Since    time.Time      `json:"since"`
	Served   int            `json:"served_30d"` // times in 30 days, to anyone
}

// Group is items with one cause, to be decided together or opened.
type Group struct {
	ID      string    `json:"id"`
	Reason  Reason    `json:"reason"`
	Line    string    `json:"line"`   // the cause in words
	Count   int       `json:"count"`  // items
	Served  int       `json:"served"` // times its memories were served in 30 days
	Today   bool      `json:"today"`  // one of them stands in a briefing of the last 24 hours
	CanWait bool      `json:"can_wait"`
	Since   time.Time `json:"since"`            // of the oldest item
	Commit  string    `json:"commit,omitempty"` // that caused it
	Actions []Action  `json:"actions"`          // that make sense for it, as far as the caller may
}

// QueueRequest asks for a page of the queue.
type QueueRequest struct {
	All      bool     `json:"all"`       // also what is not the caller's; else what they wrote or own by CODEOWNERS
	Reasons  []Reason `json:"reasons"`   // only these; none = all
	Limit    int      `json:"limit"`     // groups; 0 = DefaultLimit
	PerGroup int      `json:"per_group"` // items shown of each group, 1 to MaxLimit; 0 = GroupItems
	Cursor   string   `json:"cursor"`
}

// Queue is one page: groups in order, with the first items of each.
type Queue struct {
	Items      []Item         `json:"items"`
	Groups     []Group        `json:"groups"`
	Counts     map[Reason]int `json:"counts"` // open items of the whole queue as filtered, by reason
	Total      int            `json:"total"`  // groups
	CanWait    int            `json:"can_wait"`
	NotMine    int            `json:"not_mine"` // items that the filter hid
	NextCursor string         `json:"next_cursor,omitempty"`
}

// GroupRequest opens a group, page by page.
type GroupRequest struct {
	Group  string `json:"group"`
	Limit  int    `json:"limit"` // items; 0 = DefaultLimit
	Cursor string `json:"cursor"`
}

// GroupPage is a page of the items of a group, weightiest first.
type GroupPage struct {
	Group      Group  `json:"group"`
	Items      []Item `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// DecideRequest decides about a group, about items, or about memories with all their items. Exactly one of the three is given;
// restore takes memories, since what left recall is in no queue.
type DecideRequest struct {
	Action   Action   `json:"action"`
	Group    string   `json:"group"`
	Items    []string `json:"items"`
	Memories []string `json:"memories"` // handles, ids or titles
	// Expected is how many items of the group the caller was shown; when it has more by now, nothing is decided. 0 = any number.
	Expected int    `json:"expected"`
	Reason   string `json:"reason"` // why; over 10 memories it must be given

	Until    *time.Time `json:"until"`    // snooze
	Elements []string   `json:"elements"` // reattach: keys, names or ids; all it is to be attached to
	Into     string     `json:"into"`     // merge: the memory that stays
	// Text of edit and of a merge into a new one. What is empty is taken from the memory that is superseded.
	Title   string       `json:"title"`
	Content string       `json:"content"`
	Why     string       `json:"why"`
	Seen    *memory.Seen `json:"seen"` // confirm: the state of the code the caller has before them
}

// Decision is what was decided, and what of it could not be done.
type Decision struct {
	ID       string    `json:"id"`
	Action   Action    `json:"action"`
	Group    string    `json:"group,omitempty"`
	At       time.Time `json:"at"`
	Author   string    `json:"author"`
	Door     string    `json:"door,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Items    int       `json:"items"`    // settled
	Memories []string  `json:"memories"` // handles; the first 100
	Count    int       `json:"count"`    // memories
	// Into is the memory that stands for them now: of edit, merge and promote.
	Into     string     `json:"into,omitempty"`
	Until    *time.Time `json:"until,omitempty"` // of snooze
	Kept     []Kept     `json:"kept"`            // what was left as it is
	UndoneAt *time.Time `json:"undone_at,omitempty"`
	UndoneBy string     `json:"undone_by,omitempty"`
}

// Kept is a memory that a decision left as it was.
type Kept struct {
	Memory string `json:"memory"` // handle
	Reason string `json:"reason"`
}

// HistoryRequest asks for decisions, newest first.
type HistoryRequest struct {
	Author string `json:"author"` // user, or agent/user; "" = anyone
	Memory string `json:"memory"` // handle, id or title; "" = any
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// History is one page.
type History struct {
	Decisions  []Decision `json:"decisions"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// DigestRequest asks for a summary of a time.
type DigestRequest struct {
	Since  time.Time `json:"since"`  // zero = a week ago
	Titles bool      `json:"titles"` // also the titles of memories; their content is in no digest
}

// Digest says in a few lines how the knowledge of a project stands: how much is documented, the three causes to look at first,
// and the hole that is worth filling. It holds handles, kinds, keys of elements, commits and counts, no content.
type Digest struct {
	Project    string         `json:"project"`
	Since      time.Time      `json:"since"`
	At         time.Time      `json:"at"`
	Documented int            `json:"documented"`
	Before     int            `json:"documented_before"` // at Since, of the elements there are now
	Elements   int            `json:"elements"`
	Written    int            `json:"written"` // memories since
	Decided    int            `json:"decided"` // items since
	Open       map[Reason]int `json:"open"`
	Causes     []DigestCause  `json:"causes"` // at most three
	Hole       *memory.Hole   `json:"hole"`   // nil when every element is documented
	Markdown   string         `json:"markdown"`
}

// DigestCause is a group without a word of its memories.
type DigestCause struct {
	Group    string         `json:"group"`
	Reason   Reason         `json:"reason"`
	Count    int            `json:"count"`
	Commit   string         `json:"commit,omitempty"`
	Elements []string       `json:"elements"` // keys; at most five
	Memories []DigestMemory `json:"memories"` // at most five
}

// DigestMemory names a memory.
type DigestMemory struct {
	Handle string      `json:"handle"`
	Kind   memory.Kind `json:"kind"`
	Title  string      `json:"title,omitempty"` // when titles were asked for
}
