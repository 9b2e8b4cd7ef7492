// Package diagram draws a C4 model: which elements and relations belong to a view, where they stand, and the view as SVG. It
// reads nothing and keeps nothing. The same view gives the same bytes.
package diagram

import (
	"github.com/stele-dev/stele/c4model"
)

// Kind is one of the views that C4 has of a model.
type Kind string

// The kinds, from far to near.
const (
	Landscape  Kind = "landscape"  // people and systems
	Context    Kind = "context"    // an element and what it is related to
	Containers Kind = "containers" // what is in a system
	Components Kind = "components" // what is in a container
	Code       Kind = "code"       // what is in a component
)

// Kinds lists them.
var Kinds = []Kind{Landscape, Context, Containers, Components, Code}

// Place says where a node stands in a view.
type Place string

// The places.
const (
	Subject Place = "subject" // what the view is of, drawn as a box
	Inside  Place = "inside"  // in the subject, which is drawn as a boundary
	Outside Place = "outside" // everything else
)

// View is what a diagram shows.
type View struct {
	Kind    Kind   `json:"view"`
	Element string `json:"element"` // key of what it is of; "" for the landscape
	Name    string `json:"name"`    // of that element
	Level   string `json:"level"`
	Kinds   []Kind `json:"views"` // the views there are of the element
	Nodes   []Node `json:"nodes"` // in the order of the model
	Edges   []Edge `json:"edges"` // by the order of their ends
	Whole   int    `json:"whole"` // relations that name the subject itself and nothing in it, where it is drawn as a boundary
}

// Node is an element of a view.
type Node struct {
	Key         string `json:"key"`
	Name        string `json:"name"`
	Level       string `json:"level"`
	Description string `json:"description"`
	Technology  string `json:"technology"`
	Place       Place  `json:"place"`
	External    bool   `json:"external"` // outside the project
	Inside      int    `json:"inside"`   // elements directly in it
	Known       *Known `json:"known"`    // nil for people and what is outside the project
}

// Known is what is known at an element, as the knowledge map tells it.
type Known struct {
	Pitfalls    int    `json:"pitfalls"`
	Conventions int    `json:"conventions"`
	Notes       int    `json:"notes"`
	Doubts      int    `json:"doubts"`    // memories in doubt or disputed
	Freshness   string `json:"freshness"` // fresh, ageing, old, none
	Drift       string `json:"drift"`     // unknown, unbound, matched, drifted, missing
}

// State says whether model and code agree on an edge.
type State string

// The states.
const (
	InModel    State = "in_model"
	NotInModel State = "not_in_model" // the code has the dependency, the model has not
	NotInCode  State = "not_in_code"  // the model has the relation, no import shows it
)

// Edge is everything that relates one node with another, their insides counted for them.
type Edge struct {
	Source       string   `json:"source"`
	Destination  string   `json:"destination"`
	State        State    `json:"state"`
	Relations    int      `json:"relations"`    // of the model
	Absent       int      `json:"absent"`       // of those, how many no import shows
	Undocumented int      `json:"undocumented"` // dependencies of the code that the model does not have
	Descriptions []string `json:"descriptions"` // of the relations, each once, in the order of the model
}

// Dependency is a dependency between two elements, by key.
type Dependency struct{ Source, Destination string }

// Input is what a view is made of.
type Input struct {
	Elements      []c4model.Element
	Relationships []c4model.Relationship
	Known         map[string]Known // by key
	Undocumented  []Dependency     // of the code, which the model does not have
	Absent        []Dependency     // of the model, which no import shows
}
