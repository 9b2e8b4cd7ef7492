package structurizr

import (
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// Keywords of the language, lower case, that elements and archetypes are made of.
const (
	kwPerson     = "person"
	kwSystem     = "softwaresystem"
	kwContainer  = "container"
	kwComponent  = "component"
	kwCustom     = "element"
	kwGroup      = "group"
	kwEnterprise = "enterprise"
	kwArrow      = "->"
	kwRemove     = "-/>"
)

// shape says how the line of an element is written.
type shape struct {
	level      c4model.Level
	arguments  string // after the keyword, for messages
	technology bool   // the third argument is the technology, the fourth the tags
}

var shapes = map[string]shape{
	kwPerson:    {c4model.Person, "<name> [description] [tags]", false},
	kwSystem:    {c4model.System, "<name> [description] [tags]", false},
	kwContainer: {c4model.Container, "<name> [description] [technology] [tags]", true},
	kwComponent: {c4model.Component, "<name> [description] [technology] [tags]", true},
}

const (
	workspaceChildren = "name, description, properties, model, views, configuration, !identifiers, !docs, !adrs or !include"
	modelChildren     = "person, softwareSystem, group, element, deploymentEnvironment, archetypes, properties, !element, !elements, !relationships or a relationship (a -> b)"
	describing        = "description, tags, url, properties, perspectives, !docs, !adrs, !element or a relationship (-> b)"
)

var elementChildren = map[c4model.Level]string{
	c4model.Person:    describing,
	c4model.System:    "container, group, " + describing,
	c4model.Container: "component, group, technology, " + describing,
	c4model.Component: "group, technology, " + describing,
}

func (p *parser) inWorkspace(b *block, s statement) error {
	word := s.word()
	switch word {
	case "name":
		return p.text(s, &p.name)
	case "description":
		return p.text(s, &p.description)
	case "model", "views", "configuration":
		if !s.opens || len(s.tokens) != 1 {
			return p.refuse(s, c4model.Quote(s.text()), word+" {")
		}
		if b.seen[word] && word != "configuration" {
			return p.refuse(s, "a second "+word+" block", "one in a workspace").Fix("merge the two blocks")
		}
		b.seen[word] = true
		if word == "model" {
			return p.push(s, &block{kind: inModel})
		}
		return p.skip(s)
	case "properties", "branding":
		return p.skip(s)
	}
	return p.unexpected(s, workspaceChildren)
}

func (p *parser) inModel(b *block, s statement) error {
	if arrow(s, 1) {
		return p.relationship(b, s)
	}
	word := s.word()
	switch kind := p.base(word); kind {
	case kwPerson, kwSystem:
		return p.element(b, s, nil, kind)
	case kwCustom:
		return p.customElement(s)
	case kwGroup:
		return p.groupBlock(b, s)
	case "deploymentenvironment":
		return p.deployment(s, &block{path: ""})
	}
	switch word {
	case kwEnterprise:
		if !s.opens {
			return p.refuse(s, c4model.Quote(s.text()), "enterprise <name> {")
		}
		p.enterprise = true
		return p.push(s, &block{kind: inModel, groups: b.groups, within: true})
	case "archetypes":
		return p.push(s, &block{kind: inArchetypes})
	case "properties":
		return p.push(s, &block{kind: inProperties, set: func(name, value string) {
			if name == "structurizr.groupSeparator" {
				p.separator = value
			}
		}})
	}
	if done, err := p.find(b, s); done || err != nil {
		return err
	}
	return p.unexpected(s, modelChildren)
}

// element handles the line that declares a person, software system, container or component.
func (p *parser) element(b *block, s statement, parent *node, keyword string) error {
	form := shapes[keyword]
	most := 4
	if form.technology {
		most = 5
	}
	if len(s.tokens) > most || s.arg(1) == "" {
		e := p.refuse(s, c4model.Quote(s.text()), s.tokens[0].text+" "+form.arguments)
		if s.arg(1) == "" {
			return e.Fix("give the element a name")
		}
		return e.Fix("put arguments that contain blanks into quotes")
	}
	n := &node{parent: parent, groups: b.groups, stands: len(b.groups)}
	n.Name, n.Level, n.Source = s.arg(1), form.level, s.at
	n.Description = s.arg(2)
	tags := s.arg(3)
	if form.technology {
		n.Technology, tags = s.arg(3), s.arg(4)
	}
	if err := p.applyArchetype(s.word(), n); err != nil {
		return err
	}
	var err error
	if n.Tags, err = p.addTags(s.at, n.Tags, impliedTag[n.Level], tags); err != nil {
		return err
	}
	if err := p.addNode(n, s.identifier); err != nil {
		return err
	}
	p.inEnterprise[n] = b.within
	if err := p.registerNode(s, n); err != nil {
		return err
	}
	if s.opens {
		return p.push(s, &block{kind: inElement, nodes: []*node{n}})
	}
	return nil
}

// customElement handles "element", which stands outside the C4 levels.
func (p *parser) customElement(s statement) error {
	if s.arg(1) == "" || len(s.tokens) > 5 {
		return p.refuse(s, c4model.Quote(s.text()), "element <name> [metadata] [description] [tags]")
	}
	n := &node{custom: true}
	n.Name, n.Source = s.arg(1), s.at
	p.warn(s.at, "the custom element %s is in no C4 level and is left out, with its relationships", c4model.Quote(n.Name))
	if err := p.addNode(n, s.identifier); err != nil {
		return err
	}
	if err := p.registerNode(s, n); err != nil {
		return err
	}
	return p.skip(s)
}

// groupBlock opens a group: a block like the one it stands in, whose members carry its name.
func (p *parser) groupBlock(b *block, s statement) error {
	if !s.opens || len(s.tokens) != 2 || s.arg(1) == "" {
		return p.refuse(s, c4model.Quote(s.text()), "group <name> {")
	}
	inner := &block{kind: b.kind, nodes: b.nodes, within: b.within, group: true, groups: append(slices.Clone(b.groups), s.arg(1))}
	if s.identifier != "" {
		e := entity{group: inner.groups, at: s.at}
		if b.kind == inElement {
			e.owner = b.nodes[0]
		}
		if err := p.register(p.scoped(s.identifier, e.owner), e); err != nil {
			return err
		}
	}
	return p.push(s, inner)
}

// inElement handles a line about one element, or about all that an !elements block matched.
func (p *parser) inElement(b *block, s statement) error {
	if arrow(s, 0) || arrow(s, 1) {
		return p.relationship(b, s)
	}
	expected := "description, technology, tags, url, properties, perspectives or a relationship"
	if b.kind == inElement {
		expected = elementChildren[b.nodes[0].Level]
		if done, err := p.member(b, s); done || err != nil {
			return err
		}
	}
	if b.group {
		return p.unexpected(s, "members of the group: elements, groups and relationships")
	}
	if err := p.step(s, len(b.nodes)); err != nil {
		return err
	}
	switch word := s.word(); word {
	case "description", "url", "technology":
		if word == "technology" && b.kind == inElement && !shapes[keywordOf[b.nodes[0].Level]].technology {
			break
		}
		return p.describe(b, s)
	case "tags", "tag":
		return p.tag(b, s)
	case "properties":
		return p.push(s, &block{kind: inProperties, nodes: b.nodes, set: func(name, value string) {
			for _, n := range b.nodes {
				n.setProperty(name, value)
			}
		}})
	case "perspectives":
		return p.skip(s)
	}
	return p.unexpected(s, expected)
}

// member handles what stands inside one element: children, groups, and the words that reopen something.
func (p *parser) member(b *block, s statement) (done bool, err error) {
	n := b.nodes[0]
	switch kind := p.base(s.word()); {
	case kind == kwContainer && n.Level == c4model.System, kind == kwComponent && n.Level == c4model.Container:
		return true, p.element(b, s, n, kind)
	case kind == kwGroup && (n.Level == c4model.System || n.Level == c4model.Container):
		return true, p.groupBlock(b, s)
	case kind == kwGroup && !s.opens && len(s.tokens) == 2: // a component names the group it stands in
		n.groups = append(slices.Clone(n.groups[:n.stands]), s.arg(1))
		return true, nil
	}
	return p.find(b, s)
}

func (p *parser) describe(b *block, s statement) error {
	var value string
	if err := p.text(s, &value); err != nil {
		return err
	}
	for _, n := range b.nodes {
		switch s.word() {
		case "description":
			n.Description = value
		case "url":
			n.URL = value
		case "technology":
			n.Technology = value
		}
	}
	return nil
}

func (p *parser) tag(b *block, s statement) error {
	for _, n := range b.nodes {
		for _, t := range s.tokens[1:] {
			var err error
			if n.Tags, err = p.addTags(s.at, n.Tags, impliedTag[n.Level], t.text); err != nil {
				return err
			}
			if err := p.step(s, cost(t.text)); err != nil {
				return err
			}
		}
	}
	return nil
}

var keywordOf = map[c4model.Level]string{
	c4model.Person: kwPerson, c4model.System: kwSystem, c4model.Container: kwContainer, c4model.Component: kwComponent,
}

func (n *node) setProperty(name, value string) {
	if n.Properties == nil {
		n.Properties = make(map[string]string)
	}
	n.Properties[name] = value
}

// text takes the one argument of a describing line.
func (p *parser) text(s statement, value *string) error {
	if len(s.tokens) != 2 || s.opens {
		return p.refuse(s, c4model.Quote(s.text()), s.tokens[0].text+" <text>").Fix("put text that contains blanks into quotes")
	}
	*value = s.arg(1)
	return nil
}

func (p *parser) property(b *block, s statement) error {
	if len(s.tokens) != 2 || s.opens || s.identifier != "" {
		return p.refuse(s, c4model.Quote(s.text()), "<name> <value>").Fix("put a value that contains blanks into quotes")
	}
	if err := p.step(s, len(b.nodes)); err != nil {
		return err
	}
	b.set(s.arg(0), s.arg(1))
	return nil
}

// step counts the work of bulk operations.
func (p *parser) step(s statement, n int) error {
	if n > 1 {
		p.steps += n
	}
	if p.steps > MaxBulkSteps {
		return problem.Invalidf("", "%sfound bulk operations that touch more than %d things; expected at most that many in one model", s.at, MaxBulkSteps)
	}
	return p.ctx.Err()
}

// find handles the words that reopen something: !element, !elements, !relationship, !relationships, !ref, !extend.
func (p *parser) find(b *block, s statement) (done bool, err error) {
	word := s.word()
	switch word {
	case "!element", "!ref", "!extend", "!relationship":
		if len(s.tokens) != 2 {
			return true, p.refuse(s, c4model.Quote(s.text()), s.tokens[0].text+" <identifier or canonical name>")
		}
		return true, p.reopen(b, s)
	case "!elements", "!relationships":
		if len(s.tokens) < 2 {
			return true, p.refuse(s, c4model.Quote(s.text()), s.tokens[0].text+" <expression> {")
		}
		words := make([]string, 0, len(s.tokens)-1)
		for _, t := range s.tokens[1:] {
			words = append(words, t.text)
		}
		return true, p.bulk(b, s, word == "!elements", strings.Join(words, " "))
	}
	return false, nil
}

func (p *parser) reopen(b *block, s statement) error {
	name := s.arg(1)
	var e entity
	var ok bool
	if kind, _, canonical := strings.Cut(name, "://"); canonical {
		switch strings.ToLower(kind) {
		case "relationship":
			p.leftOut(s.at, "the relationship %s was not found by its canonical name; what the block says about it is missing", c4model.Quote(name))
			return p.skip(s)
		case "person", "softwaresystem", "container", "component":
			e, ok = p.byCanonicalName(name)
		default: // deployment and custom elements
			ok = true
		}
	} else {
		e, ok = p.resolve(name, b)
	}
	switch {
	case !ok:
		return p.unknown(s, name)
	case e.group != nil:
		return p.refuse(s, "the group "+c4model.Quote(name), "an element or a relationship").Fix("use !elements %s", name)
	}
	if s.identifier != "" {
		e.at = s.at
		if err := p.register(strings.ToLower(s.identifier), e); err != nil {
			return err
		}
	}
	switch {
	case !s.opens:
		return nil
	case e.node != nil && e.node.custom:
		return p.skip(s)
	case e.node != nil:
		return p.push(s, &block{kind: inElement, nodes: []*node{e.node}})
	case e.link != nil:
		return p.push(s, &block{kind: inRelationship, links: []*link{e.link}})
	}
	return p.push(s, &block{kind: inDeployment, path: strings.ToLower(name)})
}

// byCanonicalName finds "Container://System.Container"; names lose dots and slashes there.
func (p *parser) byCanonicalName(name string) (entity, bool) {
	if p.canonicalOf != len(p.nodes) {
		p.canonical, p.canonicalOf = make(map[string]*node, len(p.nodes)), len(p.nodes)
		p.steps += len(p.nodes)
		for _, n := range p.nodes {
			p.canonical[strings.ToLower(n.canonicalName())] = n
		}
	}
	n, ok := p.canonical[strings.ToLower(name)]
	return entity{node: n}, ok
}

var canonicalKind = map[c4model.Level]string{
	c4model.Person: "Person://", c4model.System: "SoftwareSystem://", c4model.Container: "Container://", c4model.Component: "Component://",
}

var canonicalStrip = strings.NewReplacer(".", "", "/", "")

func (n *node) canonicalName() string {
	name := canonicalStrip.Replace(n.Name)
	for a := n.parent; a != nil; a = a.parent {
		name = canonicalStrip.Replace(a.Name) + "." + name
	}
	return canonicalKind[n.Level] + name
}

// deployment registers the identifier of an environment, node or instance, which no relationship of the model reaches
// but which !element may name, and opens its block.
func (p *parser) deployment(s statement, b *block) error {
	path := b.path + ".~"
	if s.identifier != "" {
		path = strings.ToLower(s.identifier)
		if p.hierarchical && b.path != "" {
			path = b.path + "." + path
		}
		if _, taken := p.identifiers[path]; !taken && p.expanded < MaxExpandedBytes {
			p.identifiers[path] = entity{at: s.at, weak: true}
			p.expanded += len(path) // deep paths on short lines multiply as constants do
		}
	}
	if !s.opens {
		return nil
	}
	return p.push(s, &block{kind: inDeployment, path: path})
}

func (p *parser) inDeployment(b *block, s statement) error {
	if word := s.word(); word == "properties" || word == "perspectives" {
		return p.skip(s)
	}
	return p.deployment(s, b)
}
