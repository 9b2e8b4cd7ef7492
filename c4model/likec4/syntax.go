package likec4

import "github.com/stele-dev/stele/c4model"

// element is one declaration of an element; once placed it also knows where in the whole model it stands.
type element struct {
	properties
	name string
	kind string
	at   c4model.Position
	body *body

	parent   *element
	key      string // path of names
	depth    int    // number of ancestors
	children []*element
	byName   map[string]*element
	below    map[string]*element // see descendants
	level    c4model.Level
}

// properties are what an element, kind, extension or relationship says about itself.
type properties struct {
	title, summary, description, technology, notation string

	tags     []string
	links    []link
	metadata []entry
}

// link is an address, or a path relative to the file that states it.
type link struct{ target, file string }

type entry struct{ key, value string }

// body is what stands between the braces of a model, an element or an extension.
type body struct {
	file       string
	outer      *body    // nil for a model
	owner      *element // nil for a model; for an extension known once it is placed
	extends    bool     // body of an extension
	elements   []*element
	extensions []*extension // in a model only
	relations  []*relation
	scope      map[string]*element // see visible
}

// extension adds to an element that is declared elsewhere.
type extension struct {
	properties
	path []string
	at   c4model.Position
	body *body
}

// relation is one declaration of a relationship, or, with extends, what adds to one declared elsewhere.
type relation struct {
	properties
	source  []string // empty: the element around it
	target  []string
	kind    string
	at      c4model.Position
	extends bool
}

// imported is a name of another project.
type imported struct {
	name, project string
	at            c4model.Position
}

// file is one file as it was written.
type file struct {
	name    string
	models  []*body
	imports []imported
	scope   map[string]*element // what lies in its models, as far as the name is unique
}

// kindOf is a kind of element or relationship with its defaults.
type kindOf struct {
	properties
	at c4model.Position
}
