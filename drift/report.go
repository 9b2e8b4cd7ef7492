package drift

import (
	"time"

	"github.com/stele-dev/stele/c4model"
)

// Check is one kind of comparison.
type Check string

// The checks. Each compares one statement of the model, or one fact of the code, with the other side.
const (
	Existence              Check = "existence"               // a binding matches no file
	LanguageMismatch       Check = "language_mismatch"       // the technology names a language that the files do not hold
	AbsentDependency       Check = "absent_dependency"       // a documented relationship that no import shows
	UndocumentedDependency Check = "undocumented_dependency" // an import between two elements that the model does not know
	UndocumentedCode       Check = "undocumented_code"       // source files that no element owns
	AmbiguousBinding       Check = "ambiguous_binding"       // two elements claim the same files equally
	DanglingReference      Check = "dangling_reference"      // stele.yaml speaks of an element that is not in the model
)

// Checks lists them in the order of reports.
var Checks = []Check{
	Existence, LanguageMismatch, AbsentDependency, UndocumentedDependency, UndocumentedCode, AmbiguousBinding, DanglingReference,
}

// Outcome says more about a failed existence check. It comes from history, so that a shallow clone may not know it.
type Outcome string

// The outcomes of existence.
const (
	Missing      Outcome = "missing"       // files were there and are gone
	Moved        Outcome = "moved"         // most of them are elsewhere
	NeverMatched Outcome = "never_matched" // no commit ever had such files
)

// Cause is the side whose change made the finding.
type Cause string

// The causes. Only a finding that the code caused says anything about memories of that code.
const (
	CodeChanged  Cause = "code"
	ModelChanged Cause = "model" // the model, a binding or another setting
)

// Status tells whether there is a score.
type Status string

// The statuses.
const (
	Checked    Status = "checked"
	NotChecked Status = "not_checked"
)

// Report is the result of a run. Two runs over the same input give the same report, byte for byte, apart from what history
// tells: Since, New, Outcome and History itself.
type Report struct {
	Status        Status            `json:"status"`
	Reason        string            `json:"reason,omitempty"` // why it was not checked
	Fixes         []string          `json:"fixes,omitempty"`  // what to do then, commands first
	Score         *int              `json:"score"`            // 0 to 100, null when not checked; 100 means the code matches the model
	Passed        int               `json:"passed"`           // weight of the checks that pass
	Weight        int               `json:"weight"`           // of all checks that apply
	Coverage      *int              `json:"coverage"`         // 0 to 100: how much of the model in scope is bound to code
	Commit        string            `json:"commit"`
	CommittedAt   time.Time         `json:"committed_at"`
	Branch        string            `json:"branch,omitempty"`
	Base          string            `json:"base,omitempty"`       // commit that New compares with
	BaseScore     *int              `json:"base_score,omitempty"` // its score
	InputHash     string            `json:"input_hash"`
	EngineVersion int               `json:"engine_version"`
	EvaluatedOn   string            `json:"evaluated_on"` // the day waivers expire against
	ModelFile     string            `json:"model_file,omitempty"`
	Totals        Totals            `json:"totals"`
	Levels        map[string]Tally  `json:"levels"`   // by C4 level
	Elements      map[string]Tally  `json:"elements"` // by key
	History       string            `json:"history"`  // full, shallow, or none when it was not read
	Findings      []Finding         `json:"findings"`
	Waived        []WaivedFinding   `json:"waived"`
	Unverified    []Unverified      `json:"unverified"`
	Unbound       []string          `json:"unbound"`        // keys of elements in scope without code and without a reason for it
	None          map[string]string `json:"none,omitempty"` // keys of elements that have no code, and why
	Files         FileTotals        `json:"files"`
	Imports       ImportTotals      `json:"imports"`
	Skipped       []Skip            `json:"skipped"`
	Warnings      []string          `json:"warnings"`
}

// Totals count elements in scope.
type Totals struct {
	Elements      int `json:"elements"`
	Matched       int `json:"matched"`         // bound, and every binding matches
	MissingInCode int `json:"missing_in_code"` // with a binding that matches nothing
	NewInCode     int `json:"new_in_code"`     // findings of undocumented code and dependencies
	Drifted       int `json:"drifted"`         // elements that a finding names
}

// Tally is the formula on a part of the checks.
type Tally struct {
	Score  int `json:"score"`
	Passed int `json:"passed"` // weight
	Weight int `json:"weight"` // of all applicable checks
}

// FileTotals count tracked source files below the root of the project.
type FileTotals struct {
	Source int `json:"source"` // that a model should own: generated, vendored and test files, and unowned examples, documents and scripts apart
	Owned  int `json:"owned"`
}

// ImportTotals count what the source files import.
type ImportTotals struct {
	Internal   int `json:"internal"`
	External   int `json:"external"`
	Unresolved int `json:"unresolved"`
}

// Finding is a check that failed.
type Finding struct {
	// Fingerprint is a hash of check, element and subject: the same in every clone and for every wording.
	Fingerprint string  `json:"fingerprint"`
	Check       Check   `json:"check"`
	Outcome     Outcome `json:"outcome,omitempty"`
	Element     string  `json:"element,omitempty"` // key; of a dependency, its source
	Subject     string  `json:"subject"`           // pattern, language, other element, folder
	Message     string  `json:"message"`
	Fix         Fix     `json:"fix"`
	File        string  `json:"file,omitempty"` // where it shows: of the code if there is any, else of the model
	Line        int     `json:"line,omitempty"`
	Weight      int     `json:"weight"`
	Gain        float64 `json:"gain"` // points of the score that fixing it is worth, one decimal
	New         bool    `json:"new"`  // not among the findings of the base
	Since       *Since  `json:"since"`
	Evidence    []Place `json:"evidence,omitempty"` // imports that show a dependency, at most ten
	MovedTo     string  `json:"moved_to,omitempty"` // folder or file that most of the files went to
}

// Place is a line of the code.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text,omitempty"` // what is imported, as written
}

// Fix says how to make the two sides agree again by changing the model or stele.yaml.
type Fix struct {
	File   string `json:"file"`             // model file or stele.yaml; "" when the model is not tracked
	Action string `json:"action"`           // add, change, remove; "" when another fix settles it
	Line   int    `json:"line,omitempty"`   // of the line to change or remove, or of the element it belongs to; 0 for one to add
	Old    string `json:"old,omitempty"`    // what is there
	New    string `json:"new,omitempty"`    // what should be
	Advice string `json:"advice,omitempty"` // in words, when code and not model should change or a person has to choose
	// Section and Element say where in stele.yaml: bindings, none or ignore, and the key there. Old and New are then patterns
	// relative to its folder. Section is "" for a fix of the model.
	Section string `json:"section,omitempty"`
	Element string `json:"element,omitempty"`
}

// Since is the commit that made a check fail, on the first-parent chain of the analysed branch.
type Since struct {
	Commit     string    `json:"commit"`
	Time       time.Time `json:"time"` // of the committer, UTC
	Author     string    `json:"author"`
	Subject    string    `json:"subject"`
	Cause      Cause     `json:"cause"`
	LastGood   string    `json:"last_good,omitempty"` // its first parent
	AtOrBefore bool      `json:"at_or_before,omitempty"`
}

// WaivedFinding is one that is accepted for a while. It counts nowhere.
type WaivedFinding struct {
	Finding
	WaiverReason string `json:"waiver_reason"`
	Expires      string `json:"expires"` // day
}

// Unverified is a documented dependency that imports could not show, and why.
type Unverified struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Reason      string `json:"reason"`
}

// Skip is something that was not looked at.
type Skip struct {
	Path   string `json:"path,omitempty"`
	Count  int    `json:"count,omitempty"` // of files that one line stands for
	Reason string `json:"reason"`
}

// weights of existence by level, and of the other checks.
var existenceWeight = map[c4model.Level]int{c4model.System: 8, c4model.Container: 5, c4model.Component: 3, c4model.Code: 1}

const (
	languageWeight      = 1
	edgeWeight          = 1 // each distinct pair of elements
	directoryWeight     = 2 // each undocumented folder
	contradictionWeight = 1
)
