package likec4

import (
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// declaration reads an element or a relationship.
func (p *parser) declaration(b *body) error {
	first := p.peek(0)
	switch second := p.peek(1); {
	case p.arrow(0):
		return p.relation(b)
	case second.is("="):
		name, err := p.name("the name of an element")
		if err != nil {
			return err
		}
		p.next()
		at := p.at(p.peek(0))
		kind, err := p.name("the kind of the element after =")
		if err != nil {
			return err
		}
		return p.element(b, name, kind, at)
	case second.is("."), p.arrow(1):
		return p.relation(b)
	case second.kind == word:
		at := p.at(p.peek(0))
		kind, err := p.name("the kind of an element")
		if err != nil {
			return err
		}
		name, err := p.name("the name of an element after its kind")
		if err != nil {
			return err
		}
		return p.element(b, name, kind, at)
	}
	p.next()
	return p.refuse(p.peek(0), "= and a kind, a name, or an arrow after "+c4model.Quote(first.text))
}

// element reads what follows the name and kind: title, summary, technology, a text that LikeC4 ignores, and a body.
func (p *parser) element(b *body, name, kind string, at c4model.Position) error {
	if p.elements++; p.elements > MaxElements {
		return problem.Invalidf("", "%sfound more than %d elements; expected at most that many", at, MaxElements).
			Fix("split the model, one folder for each project")
	}
	e := &element{name: name, kind: kind, at: at}
	b.elements = append(b.elements, e)
	stated := p.texts(4)
	if p.peek(0).is("{") {
		e.body = &body{file: p.file.name, outer: b, owner: e}
		if err := p.inside(e.body, &e.properties, "element "+name); err != nil {
			return err
		}
	}
	stated.over(&e.title, 0)
	stated.over(&e.summary, 1)
	stated.over(&e.technology, 2)
	return nil
}

// positional are the texts behind a declaration. They win over the properties of the body.
type positional []string

func (p *parser) texts(most int) positional {
	var texts positional
	for len(texts) < most && p.peek(0).kind == text {
		texts = append(texts, p.next().text)
	}
	return texts
}

func (texts positional) over(property *string, i int) {
	if i < len(texts) && texts[i] != "" {
		*property = texts[i]
	}
}

// inside reads the body of an element or extension: properties, then elements and relationships; the order is free.
func (p *parser) inside(b *body, properties *properties, of string) error {
	if err := p.open(of); err != nil {
		return err
	}
	for !p.peek(0).is("}") {
		var err error
		switch t := p.peek(0); {
		case p.accept(";"):
		case p.arrow(0):
			err = p.relation(b)
		case t.kind == word && (p.peek(1).is("=") || p.peek(1).is(".") || p.arrow(1)):
			err = p.declaration(b)
		default:
			var known bool
			if known, err = p.property(properties); err == nil && !known {
				if t.kind != word {
					return p.refuse(t, "a property, an element, a relationship or } in "+of)
				}
				err = p.declaration(b)
			}
		}
		if err != nil {
			return err
		}
	}
	return p.close()
}

// extension reads "extend path {…}" and "extend a -> b 'title' {…}".
func (p *parser) extension(b *body) error {
	at := p.at(p.next())
	path, err := p.path("the path of an element after extend")
	if err != nil {
		return err
	}
	if p.arrow(0) {
		r := &relation{source: path, at: at, extends: true}
		b.relations = append(b.relations, r)
		return p.afterSource(r)
	}
	x := &extension{path: path, at: at, body: &body{file: p.file.name, outer: b, extends: true}}
	b.extensions = append(b.extensions, x)
	return p.inside(x.body, &x.properties, "extend "+path[len(path)-1])
}

// arrow tells whether the i-th token ahead starts an arrow: "->", "-[kind]->" or ".kind" after a blank.
func (p *parser) arrow(i int) bool {
	t := p.peek(i)
	return t.is("->") || t.is("-[") || t.is(".") && !t.sticky
}

// relation reads "[source] -> target 'title' 'description' 'technology' #tags {…}".
func (p *parser) relation(b *body) error {
	r := &relation{at: p.at(p.peek(0))}
	if !p.arrow(0) {
		var err error
		if r.source, err = p.path("the path of an element"); err != nil {
			return err
		}
	} else if b.outer == nil {
		return p.refuse(p.peek(0), "the element that the relationship starts from")
	}
	b.relations = append(b.relations, r)
	return p.afterSource(r)
}

func (p *parser) afterSource(r *relation) error {
	if p.relations++; p.relations > MaxRelationships {
		return problem.Invalidf("", "%sfound more than %d relationships; expected at most that many", r.at, MaxRelationships).
			Fix("split the model, one folder for each project")
	}
	var err error
	switch {
	case p.accept("->"):
	case p.accept("-["):
		if r.kind, err = p.name("the kind of the relationship"); err != nil {
			return err
		}
		if err := p.expect("]", "]->"); err != nil {
			return err
		}
		if err := p.expect("->", "-> after the kind of the relationship"); err != nil {
			return err
		}
	case p.peek(0).is(".") && !p.peek(0).sticky:
		p.next()
		if r.kind, err = p.name("the kind of the relationship after the dot"); err != nil {
			return err
		}
	default:
		return p.refuse(p.peek(0), "->, -[kind]-> or .kind")
	}
	if r.target, err = p.path("the path of the element that the relationship leads to"); err != nil {
		return err
	}
	stated := p.texts(3)
	for p.peek(0).kind == tag {
		if err := p.tags(&r.properties); err != nil {
			return err
		}
	}
	if p.peek(0).is("{") {
		if err := p.open("relationship"); err != nil {
			return err
		}
		for !p.peek(0).is("}") {
			if known, err := p.property(&r.properties); err != nil {
				return err
			} else if !known && !p.accept(";") {
				return p.refuse(p.peek(0), "a property or } in a relationship")
			}
		}
		if err := p.close(); err != nil {
			return err
		}
	}
	stated.over(&r.title, 0)
	stated.over(&r.description, 1)
	stated.over(&r.technology, 2)
	return nil
}
