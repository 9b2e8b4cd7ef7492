package plantuml

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// node is what the declarations of one alias in all diagrams describe.
type node struct {
	c4model.Element
	alias        string
	declarations []*declaration
	boundary     bool // it is declared only as a boundary
	group        bool // and it stands for no element, only for a name around some
	parent       *node
	chain        []*node // boundaries around it, innermost first
	sameAs       *node   // the element that this boundary is the inside of
	children     []*node
}

// merger makes one model of the diagrams.
type merger struct {
	*reader
	nodes   []*node
	of      map[*declaration]*node
	byAlias map[string][]*node
	model   *c4model.Model
	stated  map[statement]bool
}

// statement is what makes a relationship the same as another.
type statement struct{ source, destination, description, technology string }

// merge gives the model that all diagrams describe together, checked.
func (r *reader) merge() (*c4model.Model, error) {
	m := &merger{
		reader: r, of: make(map[*declaration]*node), byAlias: make(map[string][]*node), stated: make(map[statement]bool),
		model: &c4model.Model{Elements: []c4model.Element{}, Relationships: []c4model.Relationship{}, Warnings: []c4model.Warning{}},
	}
	m.collect()
	for _, n := range m.nodes {
		m.describe(n)
	}
	for _, n := range m.nodes {
		m.enclose(n)
	}
	m.raise()
	m.identify()
	for _, n := range m.nodes {
		n.standing()
	}
	if err := m.elements(); err != nil {
		return nil, err
	}
	for _, d := range r.diagrams {
		m.relationships(d)
	}
	if len(r.diagrams) == 1 {
		m.model.Name = r.diagrams[0].title
	}
	if len(m.model.Elements) == 0 {
		r.warnf(c4model.Position{}, "the model has no elements")
	}
	m.model.Warnings = append(m.model.Warnings, r.warnings...)
	if r.unheard > 0 {
		m.model.Warnings = append(m.model.Warnings, c4model.Warning{Message: fmt.Sprintf("%d more warnings", r.unheard)})
	}
	c4model.MarkScope(m.model.Elements)
	if err := m.model.Check(); err != nil {
		return nil, err
	}
	return m.model, nil
}

// collect joins the declarations of one alias. Diagrams reuse short aliases: when declarations of one alias stand in
// different boundaries and have different names, they are different elements.
func (m *merger) collect() {
	aliases := make(map[string][]*declaration)
	var order []string
	for _, d := range m.diagrams {
		instances := 0
		for _, x := range d.declarations {
			if x.instance {
				if !x.boundary {
					instances++
				}
				continue
			}
			if aliases[x.alias] == nil {
				order = append(order, x.alias)
			}
			aliases[x.alias] = append(aliases[x.alias], x)
		}
		if instances > 0 {
			m.warnf(d.firstInstance(), "what stands inside deployment nodes are instances, no elements; %d were left out", instances)
		}
	}
	for _, alias := range order {
		var nodes []*node
		for _, x := range aliases[alias] {
			n := fitting(nodes, x)
			if n == nil {
				n = &node{alias: alias}
				nodes = append(nodes, n)
				m.nodes = append(m.nodes, n)
			}
			n.declarations = append(n.declarations, x)
			m.of[x] = n
		}
		m.byAlias[alias] = nodes
	}
}

func (d *diagram) firstInstance() c4model.Position {
	for _, x := range d.declarations {
		if x.instance && !x.boundary {
			return x.at
		}
	}
	return c4model.Position{}
}

// fitting finds the node that a declaration belongs to: one of the same name, else the first unless both stand in
// boundaries that differ.
func fitting(nodes []*node, x *declaration) *node {
	for _, n := range nodes {
		for _, other := range n.declarations {
			if c4model.FoldName(other.label) == c4model.FoldName(x.label) {
				return n
			}
		}
	}
	for _, n := range nodes {
		for _, other := range n.declarations {
			if other.within == nil || x.within == nil || other.within.alias == x.within.alias {
				return n
			}
		}
	}
	return nil
}

// describe takes from each declaration what those before it leave open: an element says more than a boundary, and a
// deeper one more than what a context diagram simplifies.
func (m *merger) describe(n *node) {
	ordered := slices.Clone(n.declarations)
	slices.SortStableFunc(ordered, func(a, b *declaration) int {
		if a.boundary != b.boundary {
			if b.boundary {
				return -1
			}
			return 1
		}
		return depth[b.level] - depth[a.level]
	})
	first := ordered[0]
	n.Name, n.Level, n.Source, n.boundary = first.label, first.level, first.at, first.boundary
	n.External = !first.boundary
	for _, x := range ordered {
		if n.Name == n.alias {
			n.Name = x.label
		}
		if n.Description == "" {
			n.Description = x.description
		}
		if n.Technology == "" {
			n.Technology = x.technology
		}
		if n.URL == "" {
			n.URL = x.url
		}
		for _, tag := range x.tags {
			if !slices.Contains(n.Tags, tag) && len(n.Tags) < MaxTags {
				n.Tags = append(n.Tags, tag)
			}
		}
		for name, value := range x.properties {
			if n.Properties == nil {
				n.Properties = make(map[string]string)
			}
			if _, ok := n.Properties[name]; !ok {
				n.Properties[name] = value
			}
		}
		n.External = n.External && (x.external || x.boundary)
		if !x.boundary && x.level != n.Level {
			m.warnf(x.at, "%s is a %s here and a %s in %s; the latter counts", n.alias, x.level, n.Level, first.at.Place())
		}
	}
}

// enclose notes the boundaries around a node, those of the first diagram that draws any.
func (m *merger) enclose(n *node) {
	for _, x := range n.declarations {
		if x.within == nil {
			continue
		}
		var chain []*node
		for w := x.within; w != nil; w = w.within {
			if b := m.of[w]; b != nil && b != n && !slices.Contains(chain, b) {
				chain = append(chain, b)
			}
		}
		if len(n.chain) == 0 {
			n.chain = chain
		} else if len(chain) > 0 && chain[0] != n.chain[0] {
			m.warnf(x.at, "%s stands in %s here and in %s elsewhere; the latter counts", n.alias, chain[0].alias, n.chain[0].alias)
		}
	}
}

// raise gives boundaries the level that their content needs: a container boundary around containers is that of a system,
// and a boundary around systems is only a group.
func (m *merger) raise() {
	shallowest := make(map[*node]int)
	for _, n := range m.nodes {
		if n.boundary || n.Level == c4model.Person || len(n.chain) == 0 {
			continue
		}
		for _, around := range n.chain {
			if !around.boundary || around.Level == "" {
				continue
			}
			if level := depth[n.Level]; shallowest[around] == 0 || level < shallowest[around] {
				shallowest[around] = level
			}
			break
		}
	}
	for _, n := range m.nodes {
		if !n.boundary {
			continue
		}
		level := depth[n.Level]
		if s := shallowest[n]; s > 0 && s <= level {
			level = s - 1
		}
		if n.group = level == 0; !n.group {
			n.Level = byDepth[level]
		}
	}
}

// identify finds the element that a boundary with an alias of its own is the inside of: the only one of its name and
// level.
func (m *merger) identify() {
	type identity struct {
		name  string
		level c4model.Level
	}
	elements, boundaries := make(map[identity][]*node), make(map[identity]int)
	for _, n := range m.nodes {
		switch id := (identity{c4model.FoldName(n.Name), n.Level}); {
		case !n.boundary:
			elements[id] = append(elements[id], n)
		case !n.group:
			boundaries[id]++
		}
	}
	for _, n := range m.nodes {
		id := identity{c4model.FoldName(n.Name), n.Level}
		if n.boundary && !n.group && boundaries[id] == 1 && len(elements[id]) == 1 {
			n.sameAs = elements[id][0]
		}
	}
}

// element gives the node that stands for n in the model.
func (n *node) element() *node {
	if n.sameAs != nil {
		return n.sameAs
	}
	return n
}

// standing settles the parent of a node, the nearest boundary around it that is an element of a higher level, and names
// the boundaries passed on the way as its group.
func (n *node) standing() {
	if n.sameAs != nil {
		return
	}
	for _, b := range n.chain {
		around := b.element()
		if around == n {
			continue
		}
		if !around.group && depth[around.Level] < depth[n.Level] && around.Level != c4model.Person {
			n.parent = around
			break
		}
		n.Group = strings.TrimSuffix(around.Name+"/"+n.Group, "/")
	}
}

// elements adds the nodes to the model, parents first, otherwise in order of their declaration.
func (m *merger) elements() error {
	var roots []*node
	for _, n := range m.nodes {
		switch {
		case n.sameAs != nil || n.group:
		case n.parent != nil:
			n.parent.children = append(n.parent.children, n)
		default:
			roots = append(roots, n)
		}
	}
	taken := make(map[string]*node)
	var add func(n *node, prefix string) error
	add = func(n *node, prefix string) error {
		n.Key = prefix + segment(n.alias)
		if n.parent != nil {
			n.Parent = n.parent.Key
		}
		if other, ok := taken[c4model.FoldKey(n.Key)]; ok {
			return problem.Invalidf("", "%sfound the alias %s, which %s uses too when case does not count; expected an alias of its own for each element",
				n.Source, c4model.Quote(n.alias), other.Source.Place()).
				Fix("give one of the two another alias")
		}
		taken[c4model.FoldKey(n.Key)] = n
		m.model.Elements = append(m.model.Elements, n.Element)
		for _, c := range n.children {
			if err := add(c, n.Key+"."); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range roots {
		if err := add(n, ""); err != nil {
			return err
		}
	}
	return nil
}

// segment gives an alias as part of a key: letters, digits, hyphens and underscores stay.
func segment(alias string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, alias)
}

// relationships adds those of a diagram.
func (m *merger) relationships(d *diagram) {
	if d.dynamic {
		if len(d.relations) > 0 {
			m.warnf(d.relations[0].at, "the %d relationships of a dynamic or sequence diagram are steps of one run; they were left out", len(d.relations))
		}
		return
	}
	strange := make(map[string]bool)
	for _, r := range d.relations {
		source, from := m.end(d, r, r.from, strange)
		destination, to := m.end(d, r, r.to, strange)
		if !from || !to {
			continue
		}
		m.relate(r, source, destination)
	}
	if len(strange) > 0 && len(d.remote) > 0 {
		m.warn(c4model.Warning{Position: d.remote[0], NotIncluded: true, Message: "this file was not included, since only files of the root folder are read; it may declare " +
			strings.Join(slices.Sorted(maps.Keys(strange)), ", ")})
	}
}

// end gives the node that an alias means in a diagram; ok is false for what is no element.
func (m *merger) end(d *diagram, r *relation, alias string, strange map[string]bool) (n *node, ok bool) {
	x := d.byAlias[alias]
	switch {
	case x != nil && x.instance:
		return nil, false
	case x != nil:
		n = m.of[x].element()
	case len(m.byAlias[alias]) > 0: // of another diagram of the model
		n = m.byAlias[alias][0].element()
	default:
		if !strange[alias] {
			strange[alias] = true
			m.warn(c4model.Warning{Position: r.at, NotIncluded: true, Message: fmt.Sprintf("no diagram declares the alias %s; relationships with it were left out", c4model.Quote(alias))})
		}
		return nil, false
	}
	if n.group {
		m.warnf(r.at, "%s is only a group; the relationship with it is no part of the model and was left out", c4model.Quote(alias))
		return nil, false
	}
	return n, true
}

func (m *merger) relate(r *relation, source, destination *node) {
	if source != destination && (within(source, destination) || within(destination, source)) {
		if !r.native {
			m.warnf(r.at, "the relationship %s -> %s is between an element and what it contains, which a C4 model does not have; it was left out", source.Key, destination.Key)
		}
		return
	}
	s := statement{source.Key, destination.Key, r.description, r.technology}
	if m.stated[s] {
		return // other diagrams of the model say it too
	}
	m.stated[s] = true
	m.model.Relationships = append(m.model.Relationships, c4model.Relationship{
		Source: source.Key, Destination: destination.Key, Description: r.description, Technology: r.technology, Tags: r.tags, Position: r.at,
	})
}

func within(n, ancestor *node) bool {
	for ; n != nil; n = n.parent {
		if n == ancestor {
			return true
		}
	}
	return false
}
