// Package hook is what Stele does when the client of a coding agent tells what happens: a conversation begins, somebody asks, a file is
// about to be edited, was edited, the agent pauses, the conversation ends. What is known then arrives by itself, each thing once; what
// was done is kept without anybody having to say it. Conversations are read where they lie, by the program that the client calls; here
// comes only what counts of them.
package hook

import (
	"github.com/stele-dev/stele/memory"
)

// Event is what happened.
type Event string

// The events, whatever clients call them.
const (
	Start      Event = "start"       // a conversation begins, or goes on
	Prompt     Event = "prompt"      // a person asks
	BeforeEdit Event = "before_edit" // files are about to be edited
	AfterEdit  Event = "after_edit"  // files were edited
	Pause      Event = "pause"       // the agent, or one it called, has answered
	End        Event = "end"         // the conversation is over
)

// Events lists all.
var Events = []Event{Start, Prompt, BeforeEdit, AfterEdit, Pause, End}

// Bounds of a request and of what is injected. The counts and budgets are constants of the contract.
const (
	MaxPromptBytes = 16 << 10  // what is longer is cut by whoever asks: nobody asks with a book
	MaxSaidBytes   = 256 << 10 // of what was said since the last pause; the end of it counts
	MaxPaths       = 100

	// PromptMemories and PromptTokens bound what is injected beside a prompt, FileTokens beside an edit.
	PromptMemories = 3
	PromptTokens   = 600
	FileTokens     = 600

	// The briefings of a conversation that begins, one that forgot most, and one that has most of it before it.
	startTokens   = 1100
	compactTokens = 2000
	resumeTokens  = 600
)

// Request tells of an event.
type Request struct {
	Event Event `json:"event"`
	// Conversation is the client's id of it; "" = the caller's session.
	Conversation string       `json:"conversation"`
	Worktree     string       `json:"worktree"`  // opaque
	Source       string       `json:"source"`    // of a start: startup, resume, clear or compact
	Continues    string       `json:"continues"` // of a start: the client's id of a conversation that this one goes on from
	Prompt       string       `json:"prompt"`    // of a prompt
	Paths        []string     `json:"paths"`     // of before_edit: the files
	Edited       []string     `json:"edited"`    // files that were edited since the last event
	Said         string       `json:"said"`      // what the assistant wrote and put into files since the last pause
	Asked        string       `json:"asked"`     // what the person wrote since the last pause
	Progress     *Progress    `json:"progress"`  // of the conversation so far; nil says nothing of it
	Seen         *memory.Seen `json:"seen"`
	// Anchor is where the conversation lies, and the last turn of it.
	Anchor *memory.Anchor `json:"anchor"`
	// Guard asks before an edit where another session works alone.
	Guard bool `json:"guard"`
	// Observe tells what would be injected, and counts it as shown to nobody.
	Observe bool `json:"observe"`
	// Propose looks for candidates in what was said.
	Propose bool `json:"propose"`
	// Commands names commands in what is injected, for clients that have no tools.
	Commands bool `json:"commands"`
}

// Progress is a conversation so far in what can be said of it without a model, and beside that what a model said.
type Progress struct {
	Asked  []string `json:"asked"`  // what the person asked; the first and the last count
	Answer string   `json:"answer"` // the last answer of the assistant
	Failed []string `json:"failed"` // commands that failed and did not succeed later
	Worked bool     `json:"worked"` // tools were used: there is something to remember
	// Summary is what a model on the machine of the client says of it, SummaryBy the name of that model; "" where none was asked. Then
	// they are left out: an older server refuses what it does not know.
	Summary   string `json:"summary,omitempty"`
	SummaryBy string `json:"summary_by,omitempty"`
}

// Response is what the client is told.
type Response struct {
	SessionID  string   `json:"session_id"` // the work session
	Context    string   `json:"context"`    // for the model; "" for nothing
	Notice     string   `json:"notice"`     // for the person; "" for nothing
	Ask        string   `json:"ask"`        // why a person should be asked before this edit; "" lets it pass
	Shown      []Shown  `json:"shown"`      // what Context holds, or would
	Cited      []string `json:"cited"`      // handles that the conversation was seen to rely on
	Candidates []string `json:"candidates"` // handles of what was proposed now
	Outcome    string   `json:"outcome"`    // of an end: handle of what is remembered of it
	Standing   Standing `json:"standing"`
}

// Shown is a memory in Context.
type Shown struct {
	Handle string      `json:"handle"`
	Kind   memory.Kind `json:"kind"`
	Tokens int         `json:"tokens"` // of its line
	Why    string      `json:"why"`    // how it got there: "prompt", or what ties it to the file
}

// Standing is how the project stands, for a line of status.
type Standing struct {
	Documented int `json:"documented"`
	Elements   int `json:"elements"`
	Doubted    int `json:"doubted"`
}
