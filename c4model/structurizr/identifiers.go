package structurizr

import (
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// scoped gives the name under which an identifier declared inside an element is registered.
func (p *parser) scoped(identifier string, parent *node) string {
	identifier = strings.ToLower(identifier)
	if p.hierarchical && parent != nil {
		return parent.path + "." + identifier
	}
	return identifier
}

// registerNode registers the identifier of an element and settles what those of its children start with.
func (p *parser) registerNode(s statement, n *node) error {
	n.path = c4model.FoldKey(n.Key) // cannot be written in a file: it holds a "~" when the element has no identifier
	if s.identifier == "" {
		return nil
	}
	n.path = p.scoped(s.identifier, n.parent)
	if err := p.register(n.path, entity{node: n, at: s.at}); err != nil {
		return err
	}
	if plain := strings.ToLower(s.identifier); plain != n.path && n.parent != nil && strings.Contains(n.parent.path, "~") {
		// Nobody can write the path of a parent without identifier; older files name its children directly.
		if _, taken := p.identifiers[plain]; !taken {
			p.identifiers[plain] = entity{node: n, at: s.at, weak: true}
		}
	}
	return nil
}

func (p *parser) register(path string, e entity) error {
	if other, taken := p.identifiers[path]; taken && !other.weak && !other.same(e) {
		return problem.Invalidf("", "%sfound the identifier %s a second time; expected one that is not used yet (first use: %s)", e.at, c4model.Quote(path), other.at.Place()).
			Fix("give one of the two another identifier, or use !identifiers hierarchical")
	}
	p.identifiers[path] = e
	return nil
}

func (e entity) same(other entity) bool {
	return e.node != nil && e.node == other.node || e.link != nil && e.link == other.link
}

// resolve finds what an identifier means inside a block: with hierarchical identifiers first inside the open element and
// then inside each that encloses it, then as a full path.
func (p *parser) resolve(identifier string, b *block) (entity, bool) {
	identifier = strings.ToLower(identifier)
	if p.hierarchical && b != nil {
		for n := b.scope(); n != nil; n = n.parent {
			if e, ok := p.identifiers[n.path+"."+identifier]; ok {
				return e, true
			}
		}
	}
	e, ok := p.identifiers[identifier]
	return e, ok
}

// scope gives the element inside which identifiers are looked up first, nil outside every element.
func (b *block) scope() *node {
	if b.kind == inElement {
		return b.nodes[0]
	}
	return b.standsIn
}

// unknown refuses an identifier that names nothing, with those that end alike.
func (p *parser) unknown(s statement, name string) error {
	e := p.refuse(s, "the unknown identifier "+c4model.Quote(name), "the identifier of something declared above")
	suffix := "." + strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	var near []string
	for path, other := range p.identifiers {
		if (strings.HasSuffix(path, suffix) || path == suffix[1:]) && other.node != nil {
			near = append(near, other.node.path)
		}
	}
	slices.Sort(near)
	near = slices.Compact(near)
	for _, path := range near[:min(len(near), 3)] {
		e.Fix("did you mean %s?", path)
	}
	if len(near) == 0 {
		e.Fix("declare it before this line, or correct the name")
	}
	if i := slices.IndexFunc(p.warnings, func(w c4model.Warning) bool { return w.NotIncluded }); i >= 0 {
		e.Fix("it may be in what was not included: %s", p.warnings[i])
	}
	return e
}
