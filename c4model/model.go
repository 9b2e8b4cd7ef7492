// Package c4model holds a C4 architecture model as Stele uses it: elements, relationships, decisions and bindings, with
// the rules of identity on re-import. Readers of the source formats are in its sub-packages; they all produce a Model.
// Sub-package formats chooses among them.
package c4model

// Level is the C4 level of an element.
type Level string

// The levels. Person is in the model but carries no binding and does not count for coverage.
const (
	Person    Level = "person"
	System    Level = "system"
	Container Level = "container"
	Component Level = "component"
	Code      Level = "code"
)

// Element is one node of a model as a reader found it.
type Element struct {
	Key         string            `json:"key"`  // full path of DSL identifiers ("bank.api.auth"); "parent.~slug(name)" without one
	Name        string            `json:"name"` // display name; may repeat
	Level       Level             `json:"level"`
	Description string            `json:"description,omitempty"`
	Technology  string            `json:"technology,omitempty"`
	Tags        []string          `json:"tags,omitempty"`   // as written, without the format's implicit tags
	Parent      string            `json:"parent,omitempty"` // key of the parent element, "" at the top
	Group       string            `json:"group,omitempty"`  // group path, separator "/"
	URL         string            `json:"url,omitempty"`
	Properties  map[string]string `json:"properties,omitempty"`
	External    bool              `json:"external,omitempty"` // outside the project: location External, tagged so, or inside an element that is out of scope
	Source      Position          `json:"source"`             // where it is declared
}

// Position is a place in a source file; File is relative to the model's root folder.
type Position struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // 1-based
}

// Relationship is a documented dependency between two elements, by key. Implied relationships (made by a tool from
// those of descendants) are not in a Model.
type Relationship struct {
	Source      string   `json:"source"`
	Destination string   `json:"destination"`
	Description string   `json:"description,omitempty"`
	Technology  string   `json:"technology,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Position    Position `json:"position"`
}

// Decision is an architecture decision record that belongs to the model.
type Decision struct {
	ID      string `json:"id"`     // number as written, without leading zeros where numeric ("17"); links name it "ADR-17"
	Title   string `json:"title"`  // without the number
	Status  string `json:"status"` // "" when the record names none
	Date    string `json:"date,omitempty"`
	Summary string `json:"summary"` // first paragraph of the record's context or body
	File    string `json:"file"`    // relative to the model's root folder or the imported folder
	Element string `json:"element,omitempty"`
}

// Model is one architecture model, read whole or not at all.
type Model struct {
	Name          string         `json:"name"`
	Description   string         `json:"description,omitempty"`
	Elements      []Element      `json:"elements"` // parents before children, in order of declaration
	Relationships []Relationship `json:"relationships"`
	Decisions     []Decision     `json:"decisions,omitempty"`
	Warnings      []Warning      `json:"warnings"`
}

// Warning is something a reader left out or could not settle, with its place.
type Warning struct {
	Position
	Message string `json:"message"`
	// NotIncluded says that a part of the model was left unread (a URL, a file outside the root folder, a script), so
	// that an answer "all is documented" would rest on a model that is known to be incomplete.
	NotIncluded bool `json:"not_included,omitempty"`
}

// String gives the warning as one line with its place first.
func (w Warning) String() string { return w.Position.String() + w.Message }
