package memory

import (
	"time"

	"github.com/google/uuid"
)

// RememberRequest is one fact to store. Elements are keys, names or ids; Paths are repository-relative.
type RememberRequest struct {
	Kind       Kind      `json:"kind"` // Note when empty
	Title      string    `json:"title"`
	Content    string    `json:"content"`
	Why        string    `json:"why"`
	Scope      Scope     `json:"scope"` // Project when empty
	Elements   []string  `json:"elements"`
	Paths      []string  `json:"paths"`
	Tags       []string  `json:"tags"`
	Expires    string    `json:"expires"` // "3d", "12h", "2w", RFC 3339 or YYYY-MM-DD (end of that day, UTC)
	Supersedes string    `json:"supersedes"`
	Separate   bool      `json:"separate"` // store it even when it restates an existing memory
	Seen       *Seen     `json:"seen"`
	Anchor     *Anchor   `json:"anchor,omitempty"`
	Imported   *Imported `json:"-"` // set by imports only
}

// Imported keeps what an import knows about a record's origin: a known key is skipped before anything else.
type Imported struct {
	Key       string // source and native id
	CreatedAt time.Time
	Agent     string
	User      string
	Batch     uuid.UUID
}

// RememberResponse tells what became of it.
type RememberResponse struct {
	Memory       Memory      `json:"memory"`
	Deduplicated bool        `json:"deduplicated"`   // it restated an existing memory, which Memory shows
	Echo         bool        `json:"echo,omitempty"` // and this session had just been served it: nothing changed
	Restated     *Restated   `json:"restated,omitempty"`
	SimilarTo    []Similar   `json:"similar_to"`
	Redacted     []Redaction `json:"redacted"`
	Warnings     []string    `json:"warnings"`
}

// Restated shows both first lines of a merge; RememberRequest.Separate keeps them apart.
type Restated struct {
	Yours    string `json:"yours"`
	Existing string `json:"existing"`
}

// Similar is a near memory the writer may want to supersede.
type Similar struct {
	ID      uuid.UUID `json:"-"`
	Handle  string    `json:"handle"`
	Title   string    `json:"title"`
	Excerpt string    `json:"excerpt"`           // first line
	Cosine  float64   `json:"cosine"`            // of the vectors
	Overlap float64   `json:"overlap,omitempty"` // Jaccard of the terms, when there were no vectors
	Differs string    `json:"differs,omitempty"` // what the same-facts guard found: "numbers: 3 against 4"
}

// Redaction counts what was removed from a text.
type Redaction struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// ConfirmRequest says that a memory holds or does not.
type ConfirmRequest struct {
	Memory   string `json:"memory"` // handle, id or title
	Holds    bool   `json:"holds"`
	Note     string `json:"note"`
	Revision int    `json:"revision"` // what the caller was shown; 0 = what its session was last shown, if anything
	Seen     *Seen  `json:"seen"`
}

// EditRequest changes what is around a memory's text. The text itself is changed by superseding. Nil leaves a field.
type EditRequest struct {
	Memory   string    `json:"memory"`
	Revision int       `json:"revision"` // 0 = any
	Elements *[]string `json:"elements"`
	Paths    *[]string `json:"paths"`
	Tags     *[]string `json:"tags"`
	Expires  *string   `json:"expires"` // "" = never
}

// ForgetRequest retires a memory, or erases it for good.
type ForgetRequest struct {
	Memory string `json:"memory"`
	Erase  bool   `json:"erase"`
	Reason string `json:"reason"`
}

// ForgetResponse tells what is left.
type ForgetResponse struct {
	Memory   Memory   `json:"memory"`
	Warnings []string `json:"warnings"`
}

// RecallRequest asks for what is known. Zero values mean the defaults below.
type RecallRequest struct {
	Query          string     `json:"query"`
	Element        string     `json:"element"`
	Paths          []string   `json:"paths"`
	Kinds          []Kind     `json:"kinds"`
	Tags           []string   `json:"tags"`
	Projects       []string   `json:"projects"` // further projects, ids or names
	Limit          int        `json:"limit"`
	MaxTokens      *int       `json:"max_tokens"` // nil = default; 0 = the index alone
	IncludeExpired bool       `json:"include_expired"`
	AsOf           *time.Time `json:"as_of"`
	Explain        bool       `json:"explain"`
	Door           string     `json:"-"` // impression door: recall unless a hook says prompt or file
	// Within narrows to what is attached to any of these elements; Families gives them.
	Within []ElementDistance `json:"-"`
	// Continuing weighs outcomes of work sessions as much as pitfalls: the question is about earlier work.
	Continuing bool `json:"-"`
}

// Bounds and defaults of a recall.
const (
	DefaultLimit     = 8
	MaxLimit         = 100
	DefaultMaxTokens = 1500
	MaxMaxTokens     = 100_000
)

// RecallResponse is what came back, best first.
type RecallResponse struct {
	Results     []Result     `json:"results"`
	Index       []IndexEntry `json:"index"`
	TotalTokens int          `json:"total_tokens"`
	Degraded    *Degraded    `json:"degraded"`
	Approximate bool         `json:"approximate"`
	Empty       string       `json:"empty,omitempty"` // why nothing came back, in words
}

// Degraded says why the answer may miss something.
type Degraded struct {
	Reason    string `json:"reason"` // no vectors, language, not indexed yet
	Unindexed int    `json:"unindexed"`
}

// Via says which direct hit linked to a result.
type Via struct {
	Handle string `json:"handle"`
	Title  string `json:"title"`
}

// Result is a memory with its score.
type Result struct {
	Memory
	Score     float64  `json:"score"`
	Via       *Via     `json:"via"`
	AgeDays   int      `json:"age_days"` // since confirmed_at
	Tokens    int      `json:"tokens"`   // ⌈bytes ÷ 4⌉ of the shown text
	Truncated bool     `json:"truncated"`
	Folded    []string `json:"folded,omitempty"` // handles of less relevant results that say nearly the same
	Factors   *Factors `json:"factors,omitempty"`
}

// Factors take a score apart; their product with relevance is the score.
type Factors struct {
	Semantic  float64 `json:"semantic"`
	Lexical   float64 `json:"lexical"`
	Relevance float64 `json:"relevance"`
	Kind      float64 `json:"kind"`
	Freshness float64 `json:"freshness"` // the multiplier 0.3 + 0.7·f, as it counted beside more relevant results
	Citation  float64 `json:"citation"`
	Ignored   float64 `json:"ignored"`
	Doubt     float64 `json:"doubt"`
	Trust     float64 `json:"trust"`
}

// IndexEntry stands for a result that did not fit the budget; get_memories opens it.
type IndexEntry struct {
	Handle string `json:"handle"`
	Kind   Kind   `json:"kind"`
	Title  string `json:"title"` // or the first line
	Tokens int    `json:"tokens"`
}

// ListRequest filters memories, newest first.
type ListRequest struct {
	Kinds   []Kind     `json:"kinds"`
	Status  Status     `json:"status"` // Live when empty; "all" for every status
	Author  string     `json:"author"` // user name, or agent/user
	Origin  Origin     `json:"origin"`
	Element string     `json:"element"`
	Since   *time.Time `json:"since"`
	Limit   int        `json:"limit"`
	Cursor  string     `json:"cursor"`
}

// ListResponse is one page.
type ListResponse struct {
	Memories   []Memory `json:"memories"`
	NextCursor string   `json:"next_cursor,omitempty"`
}

// TimelineEntry is what was recorded on the same elements around a memory.
type TimelineEntry struct {
	At     time.Time `json:"at"`
	Handle string    `json:"handle"`
	Kind   Kind      `json:"kind"`
	Status Status    `json:"status"`
	Title  string    `json:"title"` // or the first line
	Author string    `json:"author"`
	Anchor bool      `json:"anchor,omitempty"` // the memory asked about
}

// TimelineResponse is oldest first.
type TimelineResponse struct {
	Entries []TimelineEntry `json:"entries"`
}

// Event is one line of a memory's history.
type Event struct {
	At       time.Time `json:"at"`
	Verb     string    `json:"verb"`
	Author   string    `json:"author"`
	Door     string    `json:"door,omitempty"`
	Revision int       `json:"revision,omitempty"`
	Detail   string    `json:"detail,omitempty"` // words: "superseded by m-2b7c1xd", "disputed: …"
}

// HistoryResponse is a memory with its versions and events, oldest first.
type HistoryResponse struct {
	Memory   Memory    `json:"memory"`
	Versions []Version `json:"versions"`
	Events   []Event   `json:"events"`
}

// Version is the text of one revision.
type Version struct {
	Revision   int       `json:"revision"`
	RecordedAt time.Time `json:"recorded_at"`
	Author     string    `json:"author"`
	Title      string    `json:"title,omitempty"`
	Content    string    `json:"content"`
	Why        string    `json:"why,omitempty"`
	Tags       []string  `json:"tags"`
	Erased     bool      `json:"erased,omitempty"`
	Unreadable bool      `json:"unreadable,omitempty"` // its text cannot be opened with the keys at hand
}

// ContextElement is an element that find_relevant_context chose, with its reasons.
type ContextElement struct {
	ElementRef
	Score    float64      `json:"score"`
	Reasons  []string     `json:"reasons"`
	Paths    []string     `json:"paths"`
	Memories []IndexEntry `json:"memories"`
}

// ContextResponse is the elements a task is about, best first.
type ContextResponse struct {
	Elements []ContextElement `json:"elements"`
	Degraded *Degraded        `json:"degraded"`
}

// WhyEntry is one thing known or doubted about a file.
type WhyEntry struct {
	Memory  Memory `json:"memory"`
	Matched string `json:"matched"` // "path auth/mw.go" or "bank.api.auth, bound by auth/**"
}

// WhyResponse is everything known about a file: newest doubt first, then kind weight, then newest.
type WhyResponse struct {
	Path     string       `json:"path"`
	Line     int          `json:"line,omitempty"`
	Elements []ElementRef `json:"elements"`
	Entries  []WhyEntry   `json:"entries"`
}

// Map is the knowledge map.
type Map struct {
	Headline     string       `json:"headline"`
	Documented   int          `json:"documented"`
	Total        int          `json:"total"`
	LastMemoryAt *time.Time   `json:"last_memory_at"`
	Elements     []MapElement `json:"elements"`
	Holes        []Hole       `json:"holes"` // busiest first
}

// MapElement is one cell.
type MapElement struct {
	Key        string       `json:"key"`
	Name       string       `json:"name"`
	Level      string       `json:"level"`
	Parent     string       `json:"parent"`
	Documented bool         `json:"documented"`
	Memories   map[Kind]int `json:"memories"`
	Freshness  float64      `json:"freshness"` // f of the freshest live pitfall, convention or note, 0..1
	Verify     int          `json:"verify"`    // memories in doubt or disputed
	Drift      DriftState   `json:"drift"`
	Activity   Activity     `json:"activity"`
}

// DriftState says whether code and model agree at an element, by the latest tracked run of each repository.
type DriftState struct {
	State string     `json:"state"`
	Since *time.Time `json:"since"`
}

// Activity of an element in the last 30 days.
type Activity struct {
	Sessions int `json:"sessions_30d"`
	Commits  int `json:"commits_30d"`
}

// Hole is an element nobody wrote anything about, with the line that would fill it.
type Hole struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Command string `json:"command"`
}
