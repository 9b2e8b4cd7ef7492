// Package retrieval holds what a measurement of recall needs besides recall itself: sets of memories and of questions with
// the memories that answer them, a reader and a check for such sets, the scores of a run, and labelled pairs of facts for
// the judgement of what is a duplicate.
//
// A set is JSON Lines, one record a line, so that a change shows as the lines it touches. Each line is an object with one
// key that names the record: "project", "element", "memory" or "query". The sets of this repository, and how their facts
// were found and can be checked, are described in testdata/retrieval/README.md.
//
// Nothing here knows how memories are stored or ranked: whoever runs the questions hands in the ids that came back.
package retrieval

import "time"

// Kind says what makes a query hard. Scores are given for each kind, since a mean over all of them hides the ones that fail.
type Kind string

// The kinds, in the order in which reports show them.
const (
	Paraphrase Kind = "paraphrase" // shares no term with the memory that answers it
	Identifier Kind = "identifier" // camelCase, snake_case and the abbreviations people type
	Path       Kind = "path"       // names a file, in the text or as a path to narrow by
	MultiHop   Kind = "multi_hop"  // needs two memories that a link or a common element connects
	Negation   Kind = "negation"   // asks which thing does not
	CJK        Kind = "cjk"        // Chinese, Japanese or Korean
	Italian    Kind = "italian"    // a language in Latin letters that an English encoder does not know
	NoAnswer   Kind = "no_answer"  // nothing in the project answers it: the right result is none
	Rival      Kind = "rival"      // a pitfall on something else must not come before the note that answers
	Doubt      Kind = "doubt"      // a disputed memory must not come before an undisputed one, and is found where it is the only one
)

// Kinds are all kinds in the order of reports.
var Kinds = []Kind{Paraphrase, Identifier, Path, MultiHop, Negation, CJK, Italian, NoAnswer, Rival, Doubt}

// Set is memories and queries over one or more projects. A query is asked within its project.
type Set struct {
	Projects []Project
	Elements []Element
	Memories []Memory
	Queries  []Query
}

// Project is the code base that memories are about, at the commit at which they are true.
type Project struct {
	ID         string `json:"id"` // first part of its element keys and of the ids of its memories and queries
	Name       string `json:"name"`
	About      string `json:"about"`                // what sort of software it is, a few words
	Repository string `json:"repository,omitempty"` // URL
	Commit     string `json:"commit,omitempty"`     // 40 hexadecimal digits
	License    string `json:"license,omitempty"`    // SPDX expression
	AsOf       Date   `json:"as_of"`                // the day on which the ages of its memories are to be counted
}

// Element is a node of the project's C4 model.
type Element struct {
	Project     string   `json:"project"`
	Key         string   `json:"key"`  // full path of identifiers, as c4model has it
	Kind        string   `json:"kind"` // system, container, component or code
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Technology  string   `json:"technology,omitempty"`
	Paths       []string `json:"paths,omitempty"` // repository-relative globs that it is bound to
}

// Memory is one fact, as it would be remembered.
type Memory struct {
	ID        string   `json:"id"`
	Project   string   `json:"project"`
	Kind      string   `json:"kind"`               // pitfall, convention, note or session_outcome
	Language  string   `json:"language,omitempty"` // ISO 639-1; English when empty
	Title     string   `json:"title,omitempty"`
	Content   string   `json:"content"`
	Why       string   `json:"why,omitempty"`
	Elements  []string `json:"elements,omitempty"` // keys
	Paths     []string `json:"paths,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	Created   Date     `json:"created"`
	Confirmed Date     `json:"confirmed"`
	Disputed  bool     `json:"disputed,omitempty"` // somebody said on the day of confirmed that it does not hold
	Source    string   `json:"source,omitempty"`   // "path:line" at the project's commit where the fact can be seen
}

// Query is one question.
type Query struct {
	ID       string   `json:"id"`
	Project  string   `json:"project"`
	Kind     Kind     `json:"kind,omitempty"`     // empty for a question of no special kind
	Language string   `json:"language,omitempty"` // ISO 639-1; English when empty
	Text     string   `json:"text"`
	Paths    []string `json:"paths,omitempty"`    // narrows recall to these paths
	Answers  []string `json:"answers,omitempty"`  // ids of the memories that answer it, none when nothing does
	Tempting []string `json:"tempting,omitempty"` // ids of memories that must not come before an answer
}

// Date is a day, written YYYY-MM-DD.
type Date struct{ time.Time }

// UnmarshalText reads a day.
func (d *Date) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return err
	}
	d.Time = t
	return nil
}

// UnmarshalJSON reads a day in quotes; without it the embedded time would read itself.
func (d *Date) UnmarshalJSON(text []byte) error {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return &time.ParseError{Layout: time.DateOnly, Value: string(text), Message: ": a date is a string such as \"2026-03-31\""}
	}
	return d.UnmarshalText(text[1 : len(text)-1])
}

// MarshalJSON writes what UnmarshalJSON reads.
func (d Date) MarshalJSON() ([]byte, error) { return []byte(`"` + d.Format(time.DateOnly) + `"`), nil }

// Texts are the parts of a memory that it is found by, besides the names of its elements.
func (m *Memory) Texts() []string {
	return append([]string{m.Title, m.Content, m.Why}, m.Tags...)
}
