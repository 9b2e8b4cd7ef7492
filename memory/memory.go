// Package memory is the domain of Stele: typed facts attached to elements of a C4 model, how they are written,
// deduplicated, superseded, doubted, linked and found again. It declares the Store it needs; doors only translate.
package memory

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Kind is the type of a memory; it weighs its rank (see Ranking.Kind).
type Kind string

// The kinds. SessionOutcome is written by finishing work sessions only.
const (
	Pitfall        Kind = "pitfall"
	Convention     Kind = "convention"
	Note           Kind = "note"
	SessionOutcome Kind = "session_outcome"
)

// DecisionKind marks an architecture decision in a recall answer; it is not a kind of memory.
const DecisionKind Kind = "decision"

// Kinds lists the kinds of memories, weightiest first.
var Kinds = []Kind{Pitfall, Convention, Note, SessionOutcome}

// Scope says who a memory is served to.
type Scope string

// The scopes.
const (
	Personal     Scope = "personal"     // its author only, in every project
	Project      Scope = "project"      // everyone in the project
	Organization Scope = "organization" // everyone in the organization
)

// Status is the life of a memory.
type Status string

// The statuses. Only Live memories are recalled; Erased ones are tombstones without text. One of CandidateStatus is a sentence that a hook
// took for something to remember: it is a memory once somebody confirms it.
const (
	CandidateStatus Status = "candidate"
	Live            Status = "live"
	Superseded      Status = "superseded"
	Retired         Status = "retired"
	Erased          Status = "erased"
)

// Origin is the door a memory came through. Memories of origin import and hook are unreviewed until cited or confirmed.
type Origin string

// The origins.
const (
	FromMCP     Origin = "mcp"
	FromAPI     Origin = "api"
	FromWeb     Origin = "web"
	FromCLI     Origin = "cli"
	FromHook    Origin = "hook"
	FromImport  Origin = "import"
	FromSession Origin = "session"
)

var origins = []Origin{FromMCP, FromAPI, FromWeb, FromCLI, FromHook, FromImport, FromSession}

// Role is what a caller may do; each role includes those before it, except CI, which stands apart.
type Role string

// The roles.
const (
	RoleAgent    Role = "agent"
	RoleCI       Role = "ci"
	RoleReviewer Role = "reviewer"
	RoleAdmin    Role = "admin"
)

// Caller is who asks, for which tenant and project, through which door. Doors build it from a token or the local user.
type Caller struct {
	Org     uuid.UUID
	Project uuid.UUID // the project asked about; uuid.Nil when only the organization is known
	Agent   string    // client program ("claude-code"), "" for a person
	User    string    // token name, else git name, else OS user; never empty
	Role    Role
	Door    Origin
	Session string // work session or connection the call belongs to, "" when none: impressions, echo and lost confirms need it

	// Retry is the caller's idempotency key: a write under a key that was used before gives the first answer again and
	// writes nothing. "" = none. At most MaxRetryBytes.
	Retry string
	// Bound is the one project the caller may know of; uuid.Nil = every project of the organization.
	Bound uuid.UUID
	// CreateProjects lets a caller of role ci create a project.
	CreateProjects bool
	// Tracked lets a caller of role ci speak for the tracked branch of a project: its runs put memories in doubt.
	Tracked bool
}

// Seen is the state of the code a writer had before them.
type Seen struct {
	Commit  string `json:"commit"`
	Branch  string `json:"branch"`
	Tree    string `json:"tree"`              // hash of the bound files
	Assumed bool   `json:"assumed,omitempty"` // taken from the last tracked run, not from the writer
	// TreeOf tells Tree of the working tree by the patterns of the files that count, which are known only when the memory has
	// its elements; nil where there is no working tree, "" when it cannot be told.
	TreeOf func(ctx context.Context, patterns []string) string `json:"-"`
}

// Anchor leads from a memory to the turn of a conversation that it came from. Conversations are not kept: it says where one lies.
type Anchor struct {
	Client     string `json:"client,omitempty"`     // whose conversation: claude-code, codex, …
	Session    string `json:"session,omitempty"`    // the client's id of it
	Turn       string `json:"turn,omitempty"`       // the client's id of the turn
	Transcript string `json:"transcript,omitempty"` // the file, on the machine of the author
}

// MaxAnchorBytes bounds each part of an Anchor: the longest path of a file system in use.
const MaxAnchorBytes = 1024

// ElementRef names an element of the model that a memory is attached to.
type ElementRef struct {
	ID     uuid.UUID `json:"-"`
	Of     uuid.UUID `json:"-"` // project
	Key    string    `json:"key"`
	Name   string    `json:"name"`
	Level  string    `json:"level"`
	Reason string    `json:"reason,omitempty"` // why it is attached, when not by the writer: "by auth/mw.go"
	Orphan bool      `json:"orphan,omitempty"` // the element left the model
}

// Link is a [[reference]] in a memory's content, resolved at the moment of reading.
type Link struct {
	Text   string `json:"text"`             // as written between the brackets
	Kind   string `json:"kind,omitempty"`   // memory, element, decision; "" while nothing bears that name
	Target string `json:"target,omitempty"` // handle, element key or "ADR-17"; the live successor for a superseded memory
	Title  string `json:"title,omitempty"`
	Note   string `json:"note,omitempty"` // "ambiguous: …" when several things bear the name
}

// Memory is one typed fact as doors show it.
type Memory struct {
	ID            uuid.UUID    `json:"id"`
	Handle        string       `json:"handle"`
	Kind          Kind         `json:"kind"`
	Title         string       `json:"title"`
	Content       string       `json:"content"`
	Why           string       `json:"why"`
	Scope         Scope        `json:"scope"`
	Status        Status       `json:"status"`
	Elements      []ElementRef `json:"elements"`
	Paths         []string     `json:"paths"`
	Tags          []string     `json:"tags"`
	Author        string       `json:"author"` // "agent/user", or "user" for a person
	Origin        Origin       `json:"origin"`
	Unreviewed    bool         `json:"unreviewed,omitempty"`
	CreatedAt     time.Time    `json:"created_at"`
	ConfirmedAt   time.Time    `json:"confirmed_at"`
	Confirmations int          `json:"confirmations"`
	Revision      int          `json:"revision"`
	ExpiresAt     *time.Time   `json:"expires_at"`
	SupersededBy  string       `json:"superseded_by"` // handle
	Seen          *Seen        `json:"seen"`
	Anchor        *Anchor      `json:"anchor,omitempty"`
	DoubtedAt     time.Time    `json:"-"`     // the newest open doubt; zero when there is none
	Flags         []Flag       `json:"flags"` // doubts in words; "verify" or "disputed" demote
	Links         []Link       `json:"links"`
}

// Flag is a doubt or a mark on a memory, always with words.
type Flag struct {
	Flag   string `json:"flag"` // verify, disputed, unreviewed, expired, personal, organization, superseded, retired, unreadable
	Reason string `json:"reason"`
}

// Limits of what can be stored. Each is refused with the number in the error.
const (
	MaxContentBytes = 16384
	MaxTitleBytes   = 200  // one line that a list can show
	MaxWhyBytes     = 4096 // a reason, not a second memory
	MaxPaths        = 20
	MaxPathBytes    = 512
	MaxTags         = 10
	MaxTagBytes     = 64
	MaxElements     = 64 // an outcome on every element of a session fits; a list of the whole model does not
)
