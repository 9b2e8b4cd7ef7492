package likec4

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// source is all files of a model as they were written.
type source struct {
	files         []*file
	kinds         map[string]kindOf // of elements
	relationKinds map[string]kindOf
	elements      int
	relations     int
}

func newSource() *source {
	return &source{kinds: make(map[string]kindOf), relationKinds: make(map[string]kindOf)}
}

// parser reads one file into a source by recursive descent.
type parser struct {
	*source
	file    *file
	lexer   *lexer
	ahead   []token
	failed  error // of the lexer, which ends the file where it happens
	nesting int
}

// parse adds one file to the source.
func (s *source) parse(name, content string) error {
	p := &parser{source: s, file: &file{name: name}, lexer: newLexer(name, content)}
	s.files = append(s.files, p.file)
	for {
		var err error
		switch t := p.peek(0); {
		case t.kind == end:
			return p.failed
		case t.word("specification"):
			err = p.specification()
		case t.word("model"):
			err = p.model()
		case t.word("import"):
			err = p.imports()
		case t.word("views") || t.word("deployment") || t.word("global") || t.word("likec4lib"):
			p.next()
			if p.peek(0).kind == text { // folder of the views
				p.next()
			}
			err = p.skipBraces(t.text)
		default:
			err = p.refuse(t, "specification, model, views, deployment, global or import")
		}
		if err != nil {
			return err
		}
	}
}

// peek gives the i-th token ahead without taking it.
func (p *parser) peek(i int) token {
	for len(p.ahead) <= i {
		t, err := p.lexer.next()
		if err != nil && p.failed == nil {
			p.failed = err
		}
		if p.failed != nil {
			t = token{line: p.lexer.line}
		}
		p.ahead = append(p.ahead, t)
	}
	return p.ahead[i]
}

func (p *parser) next() token {
	t := p.peek(0)
	p.ahead = slices.Delete(p.ahead, 0, 1)
	return t
}

// accept takes the next token when it is that mark.
func (p *parser) accept(m string) bool {
	if !p.peek(0).is(m) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(m, expected string) error {
	if !p.accept(m) {
		return p.refuse(p.peek(0), expected)
	}
	return nil
}

func (p *parser) at(t token) c4model.Position { return p.lexer.at(t.line) }

func (p *parser) refuse(t token, expected string) error {
	if p.failed != nil {
		return p.failed
	}
	e := problem.Invalidf("", "%sfound %s; expected %s", p.at(t), t.show(), expected)
	switch {
	case t.kind == end:
		return e.Fix("close every { with a }")
	case strings.ContainsAny(t.text, "“”„‘’"):
		return e.Fix("use straight quotes")
	}
	return e.Fix("correct this line or the one before it")
}

// open takes a { and counts it; close takes the } to it.
func (p *parser) open(of string) error {
	if err := p.expect("{", "{ after "+of); err != nil {
		return err
	}
	if p.nesting++; p.nesting > MaxNesting {
		return problem.Invalidf("", "%sfound more than %d nested blocks; expected at most that many", p.lexer.at(p.lexer.line), MaxNesting).
			Fix("declare deep elements with extend")
	}
	return nil
}

func (p *parser) close() error {
	p.nesting--
	return p.expect("}", "}")
}

// skipBraces passes over a block.
func (p *parser) skipBraces(of string) error {
	if err := p.expect("{", "{ after "+of); err != nil {
		return err
	}
	for depth := 1; depth > 0; {
		switch t := p.next(); {
		case t.kind == end:
			return p.refuse(t, "} to close "+of)
		case t.is("{"):
			depth++
		case t.is("}"):
			depth--
		}
	}
	return nil
}

// name takes a name that an element, kind or tag may have.
func (p *parser) name(expected string) (string, error) {
	t := p.peek(0)
	if t.kind != word || strings.Contains(t.text, ":") {
		return "", p.refuse(t, expected)
	}
	if len(t.text) > MaxIdentifierBytes {
		return "", p.refuse(t, "a name of at most "+strconv.Itoa(MaxIdentifierBytes)+" bytes")
	}
	p.next()
	return t.text, nil
}

// path takes names joined by dots.
func (p *parser) path(expected string) ([]string, error) {
	var path []string
	for {
		name, err := p.name(expected)
		if err != nil {
			return nil, err
		}
		path = append(path, name)
		if len(path) > MaxNesting {
			return nil, p.refuse(p.peek(0), "a path of at most "+strconv.Itoa(MaxNesting)+" names")
		}
		if t := p.peek(0); !t.is(".") || !t.sticky {
			return path, nil
		}
		p.next()
	}
}

func (p *parser) imports() error {
	p.next()
	braces := p.accept("{")
	var names []imported
	for {
		at := p.at(p.peek(0))
		name, err := p.name("the name of an element of another project")
		if err != nil {
			return err
		}
		names = append(names, imported{name: name, at: at})
		if !p.accept(",") || p.peek(0).is("}") {
			break
		}
	}
	p.accept(";")
	if braces {
		if err := p.expect("}", "a comma or } in an import"); err != nil {
			return err
		}
	}
	if !p.peek(0).word("from") {
		return p.refuse(p.peek(0), "from and the name of a project")
	}
	p.next()
	project := p.next()
	if project.kind != text {
		return p.refuse(project, "the name of a project in quotes")
	}
	p.accept(";")
	for _, n := range names {
		n.project = project.text
		p.file.imports = append(p.file.imports, n)
	}
	return nil
}

func (p *parser) specification() error {
	p.next()
	if err := p.open("specification"); err != nil {
		return err
	}
	for !p.peek(0).is("}") {
		var err error
		switch t := p.peek(0); {
		case t.word("element"):
			err = p.kind(p.kinds, "element")
		case t.word("relationship"):
			err = p.kind(p.relationKinds, "relationship")
		case t.word("deploymentNode"):
			err = p.kind(nil, "deploymentNode")
		case t.word("tag"):
			p.next()
			if _, err = p.name("the name of a tag"); err == nil && p.peek(0).is("{") {
				err = p.skipBraces("tag")
			}
		case t.word("color"):
			err = p.color()
		case p.accept(";"):
		default:
			err = p.refuse(t, "element, relationship, deploymentNode, tag, color or } in specification")
		}
		if err != nil {
			return err
		}
	}
	return p.close()
}

// kind reads "element name {…}" and keeps it in into, unless that is nil.
func (p *parser) kind(into map[string]kindOf, of string) error {
	at := p.at(p.next())
	name, err := p.name("the name of a kind after " + of)
	if err != nil {
		return err
	}
	k := kindOf{at: at}
	if p.peek(0).is("{") {
		if err := p.open(of); err != nil {
			return err
		}
		for !p.peek(0).is("}") {
			if known, err := p.property(&k.properties); err != nil {
				return err
			} else if !known {
				return p.refuse(p.peek(0), "a property (technology, notation, style, …) or } in "+of+" "+name)
			}
		}
		if err := p.close(); err != nil {
			return err
		}
	}
	if into == nil {
		return nil
	}
	if first, ok := into[name]; ok {
		return problem.Invalidf("", "%sfound the kind %s a second time; expected one declaration of it (the other: %s)", at, c4model.Quote(name), first.at.Place()).
			Fix("remove one of the two")
	}
	into[name] = k
	return nil
}

func (p *parser) color() error {
	p.next()
	if _, err := p.name("the name of a color"); err != nil {
		return err
	}
	value := p.next()
	if value.kind != tag && value.kind != word {
		return p.refuse(value, "a color such as #6bd731 or rgba(…)")
	}
	if p.accept("(") {
		for !p.accept(")") {
			if t := p.next(); t.kind == end || t.is("}") {
				return p.refuse(t, ")")
			}
		}
	}
	return nil
}

func (p *parser) model() error {
	p.next()
	b := &body{file: p.file.name}
	if err := p.open("model"); err != nil {
		return err
	}
	for !p.peek(0).is("}") {
		var err error
		switch t := p.peek(0); {
		case t.word("extend") && p.peek(1).kind == word:
			err = p.extension(b)
		case t.kind == word:
			err = p.declaration(b)
		case p.accept(";"):
		default:
			err = p.refuse(t, "an element, a relationship, extend or } in model")
		}
		if err != nil {
			return err
		}
	}
	p.file.models = append(p.file.models, b)
	return p.close()
}
