package structurizr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// node is an element while the model is being read.
type node struct {
	c4model.Element
	parent *node
	path   string   // what hierarchical identifiers of children start with, lower case
	groups []string // names of the enclosing groups inside the parent, outermost first
	stands int      // how many of them it stands in; a component may name one more for itself
	custom bool     // a custom element: known by name, in no level, left out of the model
}

// link is a relationship while the model is being read.
type link struct {
	c4model.Relationship
	source, destination *node
	removed             bool
}

// entity is what an identifier stands for: exactly one of its fields, or none for deployment nodes and other things that
// are no part of the model.
type entity struct {
	node  *node
	link  *link
	group []string // members are the nodes whose groups start with it, inside parent
	owner *node    // the element in which the group stands
	at    c4model.Position
	weak  bool // registered as a convenience; a real registration replaces it
}

// builder collects a model. Both readers end in it, so that a DSL file and the JSON exported from it give the same model.
type builder struct {
	name, description string
	nodes             []*node
	links             []*link
	decisions         []c4model.Decision
	warnings          []c4model.Warning
	unheard           int // warnings beyond MaxWarnings
	identifiers       map[string]entity
	keys              map[string]c4model.Position
	slugs             map[string]int // last number given to a slug among siblings
	stated            map[relationshipStatement]*link
	separator         string // of nested groups in one name, "" when the model sets none
	enterprise        bool   // an old enterprise block exists: what stands outside is external
	inEnterprise      map[*node]bool
}

// relationshipStatement is what makes a relationship the same as another.
type relationshipStatement struct {
	source, destination     *node
	description, technology string
}

func newBuilder() *builder {
	return &builder{
		identifiers:  make(map[string]entity),
		keys:         make(map[string]c4model.Position),
		slugs:        make(map[string]int),
		stated:       make(map[relationshipStatement]*link),
		inEnterprise: make(map[*node]bool),
	}
}

func (b *builder) warn(at c4model.Position, format string, args ...any) {
	b.addWarning(at, false, format, args...)
}

// leftOut warns about a part of the model that was not read.
func (b *builder) leftOut(at c4model.Position, format string, args ...any) {
	b.addWarning(at, true, format, args...)
}

func (b *builder) addWarning(at c4model.Position, notIncluded bool, format string, args ...any) {
	if len(b.warnings) >= MaxWarnings {
		b.unheard++
		return
	}
	b.warnings = append(b.warnings, c4model.Warning{Position: at, Message: fmt.Sprintf(format, args...), NotIncluded: notIncluded})
}

// addNode gives the node its key and appends it. The identifier may be empty.
func (b *builder) addNode(n *node, identifier string) error {
	if len(b.nodes) >= MaxElements {
		return problem.Invalidf("", "%sfound more than %d elements; expected at most that many", n.Source, MaxElements).
			Fix("split the model, one workspace for each project")
	}
	prefix := ""
	if n.parent != nil {
		prefix = n.parent.Key + "."
		n.Parent = n.parent.Key
	}
	if identifier == "" {
		n.Key = b.slugKey(prefix, n.Name)
	} else {
		n.Key = prefix + identifier
		if other, ok := b.keys[c4model.FoldKey(n.Key)]; ok {
			return problem.Invalidf("", "%sfound the identifier %s a second time in the same place; expected one that is not used yet (first use: %s)",
				n.Source, c4model.Quote(identifier), other.Place()).Fix("give one of the two another identifier")
		}
	}
	b.keys[c4model.FoldKey(n.Key)] = n.Source
	b.nodes = append(b.nodes, n)
	return nil
}

// slugKey gives an element without identifier its key. Identifiers cannot start with "~", so a slug collides only with
// another slug, and then it is numbered in order of declaration.
func (b *builder) slugKey(prefix, name string) string {
	base := prefix + "~" + c4model.Slug(name)
	for {
		b.slugs[base]++
		key := base
		if n := b.slugs[base]; n > 1 {
			key = base + "-" + strconv.Itoa(n)
		}
		if _, taken := b.keys[c4model.FoldKey(key)]; !taken {
			return key
		}
	}
}

// addLink appends a relationship. It returns nil for one that is no part of the model: between an element and its own
// descendant, with a custom element, or stated before.
func (b *builder) addLink(l *link) (*link, error) {
	if l.source.custom || l.destination.custom {
		return nil, nil
	}
	if within(l.source, l.destination) || within(l.destination, l.source) {
		if l.source != l.destination {
			b.warn(l.Position, "the relationship %s -> %s is between an element and what it contains, which a C4 model does not have; it was left out", l.source.Key, l.destination.Key)
			return nil, nil
		}
	}
	l.Source, l.Destination = l.source.Key, l.destination.Key
	statement := relationshipStatement{l.source, l.destination, l.Description, l.Technology}
	if first, ok := b.stated[statement]; ok && !first.removed {
		b.warn(l.Position, "the relationship %s -> %s %s is stated again (first: %s); it counts once", l.Source, l.Destination, c4model.Quote(l.Description), first.Position.Place())
		return first, nil
	}
	if len(b.links) >= MaxRelationships {
		return nil, problem.Invalidf("", "%sfound more than %d relationships; expected at most that many", l.Position, MaxRelationships).
			Fix("split the model, one workspace for each project")
	}
	b.stated[statement] = l
	b.links = append(b.links, l)
	return l, nil
}

func within(n, ancestor *node) bool {
	for ; n != nil; n = n.parent {
		if n == ancestor {
			return true
		}
	}
	return false
}

// addTags adds comma-separated tags that are neither blank, nor there, nor implied by the kind of thing.
func (b *builder) addTags(at c4model.Position, tags []string, implied string, list string) ([]string, error) {
	for list != "" {
		var tag string
		tag, list, _ = strings.Cut(list, ",")
		tag = strings.TrimSpace(strings.Trim(strings.TrimSpace(tag), `"`)) // `"a","b"` leaves quotes on the second
		if tag == "" || tag == implied || tag == "Element" || slices.Contains(tags, tag) {
			continue
		}
		if len(tags) >= MaxTags {
			return nil, problem.Invalidf("", "%sfound more than %d tags on one element or relationship; expected at most that many", at, MaxTags)
		}
		tags = append(tags, tag)
	}
	return tags, nil
}

// impliedTag is the tag that Structurizr gives to every element of a level; it is not part of a Model.
var impliedTag = map[c4model.Level]string{
	c4model.Person:    "Person",
	c4model.System:    "Software System",
	c4model.Container: "Container",
	c4model.Component: "Component",
}

const impliedRelationshipTag = "Relationship"

// model gives the finished model, checked.
func (b *builder) model() (*c4model.Model, error) {
	m := &c4model.Model{
		Name: b.name, Description: b.description,
		Elements: make([]c4model.Element, 0, len(b.nodes)), Relationships: make([]c4model.Relationship, 0, len(b.links)),
		Decisions: b.decisions, Warnings: []c4model.Warning{},
	}
	for _, n := range b.nodes {
		if n.custom {
			continue
		}
		n.Group = b.groupPath(n.groups)
		if b.enterprise && n.parent == nil && !b.inEnterprise[n] {
			n.External = true
		}
		m.Elements = append(m.Elements, n.Element)
	}
	c4model.MarkScope(m.Elements)
	for _, l := range b.links {
		if !l.removed {
			m.Relationships = append(m.Relationships, l.Relationship)
		}
	}
	if len(b.nodes) == 0 {
		b.warn(c4model.Position{}, "the model has no elements")
	}
	m.Warnings = append(m.Warnings, b.warnings...)
	if b.unheard > 0 {
		m.Warnings = append(m.Warnings, c4model.Warning{Message: fmt.Sprintf("%d more warnings", b.unheard)})
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m, nil
}

// groupPath joins nested groups with "/", the separator of a Model, whatever the file uses.
func (b *builder) groupPath(groups []string) string {
	path := strings.Join(groups, "/")
	if b.separator != "" && b.separator != "/" {
		path = strings.ReplaceAll(path, b.separator, "/")
	}
	return path
}
