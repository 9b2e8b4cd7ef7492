package structurizr

import (
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
)

// bulk handles !elements and !relationships: a block about everything that an expression matches. An expression that
// this reader does not know is a warning, since guessing would change the model.
func (p *parser) bulk(b *block, s statement, elements bool, expression string) error {
	if !s.opens {
		return nil
	}
	if elements {
		nodes, known, err := p.matchNodes(b, s, expression)
		if err != nil {
			return err
		}
		if known {
			return p.push(s, &block{kind: inElements, nodes: nodes, standsIn: b.scope()})
		}
	} else {
		links, known, err := p.matchLinks(b, s, expression)
		if err != nil {
			return err
		}
		if known {
			return p.push(s, &block{kind: inRelationship, links: links})
		}
	}
	p.leftOut(s.at, "the expression %s is not known; what the block says about its matches is missing", c4model.Quote(expression))
	return p.skip(s)
}

func (p *parser) matchNodes(b *block, s statement, expression string) (nodes []*node, known bool, err error) {
	test, cost := p.nodeTest(b, expression)
	if test == nil {
		return nil, false, nil
	}
	p.steps += cost * len(p.nodes)
	if err := p.step(s, 0); err != nil {
		return nil, false, err
	}
	for _, n := range p.nodes {
		if !n.custom && test(n) {
			nodes = append(nodes, n)
		}
	}
	return nodes, true, nil
}

func (p *parser) matchLinks(b *block, s statement, expression string) (links []*link, known bool, err error) {
	test, cost := p.linkTest(b, expression)
	if test == nil {
		return nil, false, nil
	}
	p.steps += cost * len(p.links)
	if err := p.step(s, 0); err != nil {
		return nil, false, err
	}
	for _, l := range p.links {
		if !l.removed && test(l) {
			links = append(links, l)
		}
	}
	return links, true, nil
}

// maxExpressionBytes bounds an expression, whose parts nest.
const maxExpressionBytes = 4096

// combine builds the test of "a && b || c", where && binds closer; nil when an atom is unknown. The cost of one test is
// bounded by the length of the text.
func combine[T any](expression string, atom func(string) func(T) bool) (func(T) bool, int) {
	if len(expression) > maxExpressionBytes {
		return nil, 0
	}
	var alternatives []func(T) bool
	for alternative := range strings.SplitSeq(expression, "||") {
		var all []func(T) bool
		for text := range strings.SplitSeq(alternative, "&&") {
			t := atom(strings.TrimSpace(text))
			if t == nil {
				return nil, 0
			}
			all = append(all, t)
		}
		alternatives = append(alternatives, func(x T) bool {
			return !slices.ContainsFunc(all, func(t func(T) bool) bool { return !t(x) })
		})
	}
	return func(x T) bool {
		return slices.ContainsFunc(alternatives, func(t func(T) bool) bool { return t(x) })
	}, cost(expression)
}

// cost bounds how many comparisons one test of an expression makes.
func cost(expression string) int { return 1 + len(expression)/8 }

// comparison splits "left==right" and "left!=right".
func comparison(text string) (left, right string, negated, ok bool) {
	if left, right, ok = strings.Cut(text, "=="); ok {
		return strings.TrimSpace(left), strings.TrimSpace(right), false, true
	}
	if left, right, ok = strings.Cut(text, "!="); ok {
		return strings.TrimSpace(left), strings.TrimSpace(right), true, true
	}
	return "", "", false, false
}

func not[T any](test func(T) bool, negated bool) func(T) bool {
	if !negated || test == nil {
		return test
	}
	return func(x T) bool { return !test(x) }
}

func (p *parser) nodeTest(b *block, expression string) (func(*node) bool, int) {
	return combine(expression, func(text string) func(*node) bool { return p.nodeAtom(b, text) })
}

func (p *parser) nodeAtom(b *block, text string) func(*node) bool {
	if left, right, negated, ok := comparison(text); ok {
		return not(p.nodeComparison(b, strings.ToLower(left), right), negated)
	}
	if strings.Contains(text, kwArrow) {
		return p.neighbours(b, text)
	}
	if text == "*" {
		return func(*node) bool { return true }
	}
	e, ok := p.resolve(text, b)
	switch {
	case ok && e.node != nil:
		return func(n *node) bool { return n == e.node }
	case ok && e.group != nil:
		return func(n *node) bool {
			return n.parent == e.owner && len(n.groups) >= len(e.group) && slices.Equal(n.groups[:len(e.group)], e.group)
		}
	}
	return nil
}

func (p *parser) nodeComparison(b *block, left, right string) func(*node) bool {
	switch left {
	case "element":
		return p.nodeAtom(b, right)
	case "element.type":
		return func(n *node) bool {
			return strings.EqualFold(strings.TrimSuffix(canonicalKind[n.Level], "://"), strings.ReplaceAll(right, " ", ""))
		}
	case "element.tag":
		return func(n *node) bool { return hasTags(n.Tags, right, impliedTag[n.Level], "Element") }
	case "element.technology":
		return func(n *node) bool { return n.Technology == right }
	case "element.group":
		return func(n *node) bool { return p.groupPath(n.groups) == right }
	case "element.parent":
		e, ok := p.resolve(right, b)
		if !ok || e.node == nil {
			return nil
		}
		return func(n *node) bool { return n.parent == e.node }
	}
	if name, ok := propertyName(left, "element"); ok {
		return func(n *node) bool { return foldedProperty(n.Properties, name) == right }
	}
	return nil
}

// propertyName takes the name out of "element.properties[name]".
func propertyName(left, of string) (string, bool) {
	name, ok := strings.CutPrefix(left, of+".properties[")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "]")
}

func foldedProperty(properties map[string]string, name string) string {
	for key, value := range properties {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// hasTags tells whether all tags of a comma-separated list are there, implied ones included.
func hasTags(tags []string, list string, implied ...string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimSpace(tag)
		if !slices.Contains(tags, tag) && !slices.Contains(implied, tag) {
			return false
		}
	}
	return true
}

// neighbours tests "->a", "a->" and "->a->": a and what depends on it, what it depends on, or both.
func (p *parser) neighbours(b *block, text string) func(*node) bool {
	inner, before := strings.CutPrefix(text, kwArrow)
	inner, after := strings.CutSuffix(inner, kwArrow)
	if !before && !after || strings.Contains(inner, kwArrow) {
		return nil
	}
	centre := p.nodeAtom(b, strings.TrimSpace(inner))
	if centre == nil {
		return nil
	}
	matched := make(map[*node]bool)
	for _, l := range p.links {
		if before && centre(l.destination) {
			matched[l.source] = true
		}
		if after && centre(l.source) {
			matched[l.destination] = true
		}
	}
	p.steps += len(p.links) * cost(text)
	return func(n *node) bool { return matched[n] || centre(n) }
}

func (p *parser) linkTest(b *block, expression string) (func(*link) bool, int) {
	return combine(expression, func(text string) func(*link) bool { return p.linkAtom(b, text) })
}

func (p *parser) linkAtom(b *block, text string) func(*link) bool {
	if text == "*" {
		return func(*link) bool { return true }
	}
	if source, destination, ok := strings.Cut(text, kwArrow); ok && !strings.Contains(text, "==") {
		from, to := p.endTest(b, source), p.endTest(b, destination)
		if from == nil || to == nil {
			return nil
		}
		return func(l *link) bool { return from(l.source) && to(l.destination) }
	}
	if left, right, negated, ok := comparison(text); ok {
		return not(p.linkComparison(b, strings.ToLower(left), right), negated)
	}
	if e, ok := p.resolve(text, b); ok && e.link != nil {
		return func(l *link) bool { return l == e.link }
	}
	return nil
}

func (p *parser) endTest(b *block, text string) func(*node) bool {
	if text = strings.TrimSpace(text); text == "" {
		text = "*"
	}
	return p.nodeAtom(b, text)
}

func (p *parser) linkComparison(b *block, left, right string) func(*link) bool {
	switch left {
	case "relationship":
		return p.linkAtom(b, right)
	case "relationship.tag":
		return func(l *link) bool { return hasTags(l.Tags, right, impliedRelationshipTag) }
	case "relationship.technology":
		return func(l *link) bool { return l.Technology == right }
	case "relationship.source", "relationship.destination":
		end := p.nodeAtom(b, right)
		if end == nil {
			return nil
		}
		if left == "relationship.source" {
			return func(l *link) bool { return end(l.source) }
		}
		return func(l *link) bool { return end(l.destination) }
	}
	return nil
}
