package imports

import (
	"slices"
	"strings"
)

// extractPython finds the import statements of Python, wherever they stand: from a import b gives Spec "a" and Name "b",
// import a.b gives Spec "a.b". Those under if TYPE_CHECKING are TypeOnly; importlib.import_module and __import__ with a
// literal name are Dynamic.
func extractPython(text []byte) Facts {
	p := pythonParser{pythonScanner: pythonScanner{text: string(text), line: 1, fresh: true}, typeIndent: -1}
	p.file()
	slices.SortStableFunc(p.facts.Imports, func(a, b Import) int { return a.Line - b.Line })
	return p.facts
}

type pythonToken struct {
	kind byte   // one of the constants, or the character of an operator
	text string // of a name; the value of a literal without escapes, else ""
	line int
}

const (
	pythonEnd     byte = 0
	pythonName    byte = 'a' // names, keywords and numbers
	pythonString  byte = '"'
	pythonNewline byte = '\n' // the end of a logical line
)

// pythonScanner splits Python into tokens. Comments, blank lines and joined lines are not seen by its reader.
type pythonScanner struct {
	text   string
	pos    int
	line   int
	depth  int  // of brackets, in which lines do not end
	fresh  bool // at the start of a physical line
	indent int  // of the current logical line, in characters
}

func (s *pythonScanner) next() pythonToken {
	for s.pos < len(s.text) {
		if s.fresh {
			if s.startLine() {
				return pythonToken{kind: pythonNewline, line: s.line}
			}
			continue
		}
		c := s.text[s.pos]
		switch {
		case c == '\n':
			s.pos++
			s.line++
			s.fresh = true
			if s.depth == 0 {
				return pythonToken{kind: pythonNewline, line: s.line - 1}
			}
		case c == ' ', c == '\t', c == '\r', c == '\f':
			s.pos++
		case c == '#':
			s.skipComment()
		case c == '\\':
			s.pos++
			if rest := s.text[s.pos:]; len(rest) > 0 && (rest[0] == '\n' || strings.HasPrefix(rest, "\r\n")) {
				s.pos += strings.IndexByte(rest, '\n') + 1
				s.line++
			}
		case c == '"', c == '\'':
			return s.literal()
		case isNameByte(c):
			return s.name()
		default:
			return s.operator(c)
		}
	}
	return pythonToken{kind: pythonEnd, line: s.line}
}

// startLine reads the indentation of a physical line, and passes over one that is blank or a comment. It tells whether the
// line ends a logical one, since a bracket before it was never closed.
func (s *pythonScanner) startLine() (ends bool) {
	s.fresh = false
	start := s.pos
	for s.pos < len(s.text) && (s.text[s.pos] == ' ' || s.text[s.pos] == '\t' || s.text[s.pos] == '\f') {
		s.pos++
	}
	indent := s.pos - start
	if s.pos < len(s.text) && s.text[s.pos] == '#' {
		s.skipComment()
	}
	if rest := s.text[s.pos:]; len(rest) == 0 || rest[0] == '\n' || strings.HasPrefix(rest, "\r\n") {
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			s.pos += end + 1
			s.line++
			s.fresh = true
		}
		return false
	}
	if s.depth > 0 && indent == 0 && startsStatement(s.text[s.pos:]) {
		s.depth, ends = 0, true
	}
	if s.depth == 0 {
		s.indent = indent
	}
	return ends
}

// startsStatement tells whether a line begins with a word that cannot be within brackets.
func startsStatement(line string) bool {
	for _, word := range []string{"import ", "def ", "class "} {
		if strings.HasPrefix(line, word) {
			return true
		}
	}
	return false
}

func (s *pythonScanner) skipComment() {
	if end := strings.IndexByte(s.text[s.pos:], '\n'); end >= 0 {
		s.pos += end
		return
	}
	s.pos = len(s.text)
}

func (s *pythonScanner) name() pythonToken {
	start := s.pos
	for s.pos < len(s.text) && isNameByte(s.text[s.pos]) {
		s.pos++
	}
	if s.pos < len(s.text) && (s.text[s.pos] == '"' || s.text[s.pos] == '\'') && isStringPrefix(s.text[start:s.pos]) {
		return s.literal()
	}
	return pythonToken{kind: pythonName, text: s.text[start:s.pos], line: s.line}
}

// isStringPrefix tells whether letters before a quote belong to the literal: r, b, u, f, t and their pairs.
func isStringPrefix(letters string) bool {
	return len(letters) <= 2 && len(strings.Trim(letters, "rRbBuUfFtT")) == 0
}

// literal reads a string. One in single quotes that is not closed ends with its line.
func (s *pythonScanner) literal() pythonToken {
	token := pythonToken{kind: pythonString, line: s.line}
	quote := s.text[s.pos : s.pos+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.pos:], triple) {
		quote = triple
	}
	s.pos += len(quote)
	start, escaped := s.pos, false
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == quote[0] && strings.HasPrefix(s.text[s.pos:], quote):
			if !escaped {
				token.text = s.text[start:s.pos]
			}
			s.pos += len(quote)
			return token
		case c == '\\' && s.pos+1 < len(s.text):
			escaped = true
			if s.text[s.pos+1] == '\r' && s.pos+2 < len(s.text) {
				s.pos++
			}
			if s.text[s.pos+1] == '\n' {
				s.line++
			}
			s.pos += 2
		case c == '\n' && len(quote) == 1:
			return token
		default:
			if c == '\n' {
				s.line++
			}
			s.pos++
		}
	}
	return token
}

func (s *pythonScanner) operator(c byte) pythonToken {
	s.pos++
	switch c {
	case '(', '[', '{':
		s.depth++
	case ')', ']', '}':
		s.depth = max(0, s.depth-1)
	}
	return pythonToken{kind: c, line: s.line}
}

// isNameByte tells what names are made of; every letter beyond ASCII counts as one.
func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

type pythonParser struct {
	pythonScanner

	token      pythonToken // the one that is looked at
	facts      Facts
	typeIndent int // indentation of the if TYPE_CHECKING that is open; -1 for none
}

func (p *pythonParser) advance() { p.token = p.next() }

func (p *pythonParser) is(word string) bool {
	return p.token.kind == pythonName && p.token.text == word
}

func (p *pythonParser) file() {
	p.advance()
	for p.token.kind != pythonEnd {
		if p.typeIndent >= 0 && p.indent <= p.typeIndent {
			p.typeIndent = -1
		}
		if p.is("if") || p.is("elif") {
			p.condition()
		}
		p.statements()
	}
}

// condition looks whether an if asks for TYPE_CHECKING and nothing else, and opens its block.
func (p *pythonParser) condition() {
	indent := p.indent
	p.advance()
	first := p.token.text
	if p.token.kind != pythonName {
		return
	}
	p.advance()
	if p.token.kind == '.' {
		p.advance()
		first = p.token.text
		p.advance()
	}
	if first == "TYPE_CHECKING" && p.token.kind == ':' && p.typeIndent < 0 {
		p.typeIndent = indent
	}
}

// statements reads the rest of a logical line. A statement may begin at its start, after a semicolon, and after the colon of
// a compound statement.
func (p *pythonParser) statements() {
	start := true
	for p.token.kind != pythonEnd {
		begins := start
		start = p.token.kind == ';' || p.token.kind == ':' && p.depth == 0
		switch {
		case p.token.kind == pythonNewline:
			p.advance()
			return
		case begins && p.is("import"):
			p.importNames()
		case begins && p.is("from"):
			p.importFrom()
		case p.is("import_module"), p.is("__import__"):
			p.importCall()
		default:
			p.advance()
		}
	}
}

// importNames reads import a.b as c, d.
func (p *pythonParser) importNames() {
	p.advance()
	for {
		line := p.token.line
		name := p.dotted()
		if name == "" {
			return
		}
		p.add(Import{Spec: name, Line: line})
		p.alias()
		if p.token.kind != ',' {
			return
		}
		p.advance()
	}
}

// importFrom reads from ..a.b import (c as d, e) and from a import *.
func (p *pythonParser) importFrom() {
	p.advance()
	spec := strings.Builder{}
	for p.token.kind == '.' {
		spec.WriteByte('.')
		p.advance()
	}
	if !p.is("import") {
		spec.WriteString(p.dotted())
	}
	if spec.Len() == 0 || !p.is("import") {
		return
	}
	p.advance()
	if p.token.kind == '*' {
		p.add(Import{Spec: spec.String(), Name: "*", Line: p.token.line})
		p.advance()
		return
	}
	if p.token.kind == '(' {
		p.advance()
	}
	for p.token.kind == pythonName {
		p.add(Import{Spec: spec.String(), Name: p.token.text, Line: p.token.line})
		p.advance()
		p.alias()
		if p.token.kind == ',' {
			p.advance()
		}
	}
}

// importCall reads import_module("a.b") and __import__("a").
func (p *pythonParser) importCall() {
	p.advance()
	if p.token.kind != '(' {
		return
	}
	p.advance()
	literal := p.token
	if literal.kind != pythonString || !isDotted(literal.text) {
		return
	}
	p.advance()
	if p.token.kind == ')' || p.token.kind == ',' {
		p.facts.Imports = append(p.facts.Imports, Import{Spec: literal.text, Line: literal.line, Kind: Dynamic})
	}
}

// isDotted tells whether a literal may be the name of a module.
func isDotted(name string) bool {
	for i := range len(name) {
		if name[i] != '.' && !isNameByte(name[i]) {
			return false
		}
	}
	return name != ""
}

// dotted reads a.b.c; "" if there is no name.
func (p *pythonParser) dotted() string {
	var name strings.Builder
	for p.token.kind == pythonName {
		name.WriteString(p.token.text)
		p.advance()
		if p.token.kind != '.' {
			break
		}
		name.WriteByte('.')
		p.advance()
	}
	return strings.TrimSuffix(name.String(), ".")
}

func (p *pythonParser) alias() {
	if p.is("as") {
		p.advance()
		p.advance()
	}
}

func (p *pythonParser) add(i Import) {
	if p.typeIndent >= 0 {
		i.Kind = TypeOnly
	}
	p.facts.Imports = append(p.facts.Imports, i)
}
