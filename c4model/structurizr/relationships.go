package structurizr

import (
	"strings"

	"github.com/stele-dev/stele/c4model"
)

// arrow tells whether token i is "->", "-/>" or an archetype of a relationship, "--name->".
func arrow(s statement, i int) bool {
	if len(s.tokens) <= i || s.tokens[i].quoted {
		return false
	}
	text := s.tokens[i].text
	return text == kwArrow || text == kwRemove || arrowArchetype(text) != ""
}

func arrowArchetype(text string) string {
	name, ok := strings.CutPrefix(text, "--")
	if !ok {
		return ""
	}
	if name, ok = strings.CutSuffix(name, kwArrow); !ok {
		return ""
	}
	return strings.ToLower(name)
}

const relationshipForm = "[source] -> <destination> [description] [technology] [tags]"

// relationship handles "a -> b …" and, inside an element, "-> b …".
func (p *parser) relationship(b *block, s statement) error {
	at := 1
	if arrow(s, 0) {
		at = 0
	}
	operator := s.arg(at)
	arguments := s.tokens[at+1:]
	if len(arguments) < 1 || len(arguments) > 4 {
		return p.refuse(s, c4model.Quote(s.text()), relationshipForm).Fix("put arguments that contain blanks into quotes")
	}
	var sources []*node
	var err error
	if at == 0 {
		sources = b.nodes
	} else if sources, err = p.ends(b, s, s.arg(0)); err != nil {
		return err
	}
	destinations, err := p.ends(b, s, arguments[0].text)
	if err != nil {
		return err
	}
	if err := p.step(s, len(sources)*len(destinations)); err != nil {
		return err
	}
	if operator == kwRemove {
		return p.removeRelationships(b, s, sources, destinations, argument(arguments, 1))
	}
	var links []*link
	for _, source := range sources {
		for _, destination := range destinations {
			l := &link{source: source, destination: destination}
			l.Position = s.at
			l.Description, l.Technology = argument(arguments, 1), argument(arguments, 2)
			if err := p.applyArrowArchetype(s, operator, l); err != nil {
				return err
			}
			if l.Tags, err = p.addTags(s.at, l.Tags, impliedRelationshipTag, argument(arguments, 3)); err != nil {
				return err
			}
			if l, err = p.addLink(l); err != nil {
				return err
			}
			if l != nil {
				links = append(links, l)
			}
		}
	}
	if s.identifier != "" {
		e := entity{at: s.at}
		if len(links) == 1 {
			e.link = links[0]
		}
		if err := p.register(strings.ToLower(s.identifier), e); err != nil { // never hierarchical
			return err
		}
	}
	if !s.opens {
		return nil
	}
	return p.push(s, &block{kind: inRelationship, links: links})
}

func argument(tokens []token, i int) string {
	if i >= len(tokens) {
		return ""
	}
	return tokens[i].text
}

// ends gives the elements that one side of a relationship names; none for a deployment node.
func (p *parser) ends(b *block, s statement, name string) ([]*node, error) {
	if strings.EqualFold(name, "this") && len(b.nodes) > 0 {
		return b.nodes, nil
	}
	if strings.EqualFold(name, "this") && b.kind == inElements { // an expression that matched nothing
		return nil, nil
	}
	e, ok := p.resolve(name, b)
	switch {
	case !ok:
		return nil, p.unknown(s, name)
	case e.group != nil || e.link != nil:
		return nil, p.refuse(s, c4model.Quote(name)+", which is a group or a relationship", "the identifier of an element")
	case e.node == nil:
		p.warn(s.at, "%s is a deployment node; the relationship with it is no part of the model and was left out", c4model.Quote(name))
		return nil, nil
	}
	return []*node{e.node}, nil
}

// removeRelationships handles "a -/> b [description]"; its block holds what stands in their place.
func (p *parser) removeRelationships(b *block, s statement, sources, destinations []*node, description string) error {
	pairs := make(map[[2]*node]bool)
	for _, source := range sources {
		for _, destination := range destinations {
			pairs[[2]*node{source, destination}] = true
		}
	}
	removed := 0
	for _, l := range p.links {
		if pairs[[2]*node{l.source, l.destination}] && !l.removed && (description == "" || l.Description == description) {
			l.removed = true
			removed++
		}
	}
	if removed == 0 {
		p.warn(s.at, "%s removes no relationship, since none is declared above", c4model.Quote(s.text()))
	}
	p.steps += len(p.links)
	if err := p.step(s, 2); err != nil {
		return err
	}
	if !s.opens {
		return nil
	}
	return p.push(s, &block{kind: b.kind, nodes: b.nodes, groups: b.groups, within: b.within})
}

func (p *parser) inRelationship(b *block, s statement) error {
	if err := p.step(s, len(b.links)*max(1, len(s.tokens))); err != nil {
		return err
	}
	switch word := s.word(); word {
	case "description", "technology":
		var value string
		if err := p.text(s, &value); err != nil {
			return err
		}
		for _, l := range b.links {
			if word == "description" {
				l.Description = value
			} else {
				l.Technology = value
			}
		}
		return nil
	case "tags", "tag":
		for _, l := range b.links {
			for _, t := range s.tokens[1:] {
				var err error
				if l.Tags, err = p.addTags(s.at, l.Tags, impliedRelationshipTag, t.text); err != nil {
					return err
				}
				if err := p.step(s, cost(t.text)); err != nil {
					return err
				}
			}
		}
		return nil
	case "url":
		var ignored string
		return p.text(s, &ignored)
	case "properties", "perspectives":
		return p.skip(s)
	}
	return p.unexpected(s, "description, technology, tags, url, properties or perspectives")
}

// archetype is a word of the model's own for a kind of element or relationship, with defaults.
type archetype struct {
	keyword                 string     // of the language, in the end
	base                    *archetype // nil when it extends the keyword itself
	depth                   int
	description, technology string
	tags                    []string
	url                     string
	properties              map[string]string
}

// maxArchetypeDepth bounds archetypes of archetypes, which are walked for every element.
const maxArchetypeDepth = 16

// keywords that an archetype may extend.
var archetypeKeywords = map[string]bool{
	kwPerson: true, kwSystem: true, kwContainer: true, kwComponent: true, kwCustom: true, kwGroup: true, kwArrow: true,
	"deploymentenvironment": true, "deploymentnode": true, "infrastructurenode": true, "deploymentgroup": true,
}

// base gives the keyword of the language that a word stands for, the word itself when it is no archetype.
func (p *parser) base(word string) string {
	if a, ok := p.archetypes[word]; ok && word != kwArrow {
		return a.keyword
	}
	return word
}

// inArchetypes handles "name = keyword {", "keyword {", "-> {", "name = -> {" and "name = --other-> {".
func (p *parser) inArchetypes(s statement) error {
	if len(s.tokens) != 1 {
		return p.unexpected(s, "<name> = <keyword or archetype> {")
	}
	word := s.word()
	if name := arrowArchetype(word); name != "" {
		word = kwArrow + name
	}
	a := &archetype{keyword: word}
	if !archetypeKeywords[word] {
		known, ok := p.archetypes[word]
		if !ok {
			return p.unexpected(s, "a keyword such as container or ->, or an archetype declared above")
		}
		a.base, a.keyword, a.depth = known, known.keyword, known.depth+1
		if a.depth > maxArchetypeDepth {
			return p.refuse(s, "archetypes that extend each other more than 16 deep", "fewer")
		}
	}
	name := strings.ToLower(s.identifier)
	switch {
	case name == "" && a.base != nil:
		return p.unexpected(s, "<name> = <keyword or archetype> {")
	case name == "":
		name = word
	case archetypeKeywords[name]:
		return p.refuse(s, "the archetype name "+c4model.Quote(name), "a word that is no keyword")
	case a.keyword == kwArrow:
		name = kwArrow + name // relationships have names of their own: "--name->"
	}
	p.archetypes[name] = a
	if !s.opens {
		return nil
	}
	return p.push(s, &block{kind: inArchetype, archetype: a})
}

func (p *parser) inArchetype(b *block, s statement) error {
	a := b.archetype
	switch s.word() {
	case "description":
		return p.text(s, &a.description)
	case "technology":
		return p.text(s, &a.technology)
	case "url":
		return p.text(s, &a.url)
	case "metadata", "instances":
		var ignored string
		return p.text(s, &ignored)
	case "tags", "tag":
		for _, t := range s.tokens[1:] {
			var err error
			if a.tags, err = p.addTags(s.at, a.tags, "", t.text); err != nil {
				return err
			}
		}
		return nil
	case "properties":
		return p.push(s, &block{kind: inProperties, set: func(name, value string) {
			if a.properties == nil {
				a.properties = make(map[string]string)
			}
			a.properties[name] = value
		}})
	case "perspectives":
		return p.skip(s)
	}
	return p.unexpected(s, "description, technology, tags, url, properties or perspectives")
}

// chain gives the defaults that apply to a word, the most general first.
func (p *parser) chain(word string) []*archetype {
	var chain []*archetype
	keyword := word
	if a := p.archetypes[word]; a != nil && !archetypeKeywords[word] {
		keyword = a.keyword
		for ; a != nil; a = a.base {
			chain = append([]*archetype{a}, chain...)
		}
	}
	if general := p.archetypes[keyword]; general != nil {
		chain = append([]*archetype{general}, chain...)
	}
	return chain
}

// applyArchetype fills what the line of the element leaves open; tags and properties add up.
func (p *parser) applyArchetype(word string, n *node) error {
	described, built := n.Description != "", n.Technology != ""
	for _, a := range p.chain(word) {
		if !described && a.description != "" {
			n.Description = a.description
		}
		if !built && a.technology != "" && shapes[keywordOf[n.Level]].technology {
			n.Technology = a.technology
		}
		if a.url != "" {
			n.URL = a.url
		}
		for name, value := range a.properties {
			n.setProperty(name, value)
		}
		p.steps += len(a.properties) + len(a.tags)
		var err error
		if n.Tags, err = p.addTags(n.Source, n.Tags, impliedTag[n.Level], strings.Join(a.tags, ",")); err != nil {
			return err
		}
	}
	return p.step(statement{at: n.Source}, 0)
}

func (p *parser) applyArrowArchetype(s statement, operator string, l *link) error {
	word := kwArrow
	if name := arrowArchetype(operator); name != "" {
		word = kwArrow + name
		if p.archetypes[word] == nil {
			return p.refuse(s, "the unknown archetype "+c4model.Quote(operator), "-> or an archetype declared above")
		}
	}
	described, built := l.Description != "", l.Technology != ""
	for _, a := range p.chain(word) {
		if !described && a.description != "" {
			l.Description = a.description
		}
		if !built && a.technology != "" {
			l.Technology = a.technology
		}
		var err error
		p.steps += len(a.tags)
		if l.Tags, err = p.addTags(l.Position, l.Tags, impliedRelationshipTag, strings.Join(a.tags, ",")); err != nil {
			return err
		}
	}
	return nil
}
