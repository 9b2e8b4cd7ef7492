package imports

import (
	"slices"
	"strings"
)

// extractCSharp finds the using directives of C# (also global, static and aliases, of which the target is the Spec) with
// the namespace they stand in as Name, the namespaces that are declared and the types at their level. Both branches of #if
// are read.
func extractCSharp(text []byte) Facts {
	p := cSharpParser{cSharpScanner: cSharpScanner{text: string(text), line: 1, lineStart: true}}
	p.file()
	slices.Sort(p.facts.Packages)
	p.facts.Packages = slices.Compact(p.facts.Packages)
	slices.Sort(p.facts.Types)
	p.facts.Types = slices.Compact(p.facts.Types)
	return p.facts
}

type cSharpToken struct {
	kind byte   // one of the constants, or the character of punctuation; a pair of colons is '.', as it separates names too
	text string // of a name without @, of a directive of the preprocessor
	line int
}

const (
	cSharpEnd       byte = 0
	cSharpName      byte = 'a' // names, keywords and numbers
	cSharpString    byte = '"' // strings and characters
	cSharpDirective byte = '#' // its first word: #if
)

// cSharpScanner splits C# into tokens. Comments are not seen by its reader.
type cSharpScanner struct {
	text      string
	pos       int
	line      int
	lineStart bool // nothing but blanks was on this line yet
}

func (s *cSharpScanner) next() cSharpToken {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		first := s.lineStart
		s.lineStart = first && (c == ' ' || c == '\t')
		switch {
		case c == '\n':
			s.line++
			s.pos++
			s.lineStart = true
		case c == ' ', c == '\t', c == '\r', c == '\f':
			s.pos++
		case c == '/' && s.comment():
		case c == '#' && first:
			return s.directive()
		case c == '"' || c == '@' || c == '$':
			if s.literal(0) {
				return cSharpToken{kind: cSharpString, line: s.line}
			}
			s.pos++ // the @ of a name, or nothing that C# knows
		case c == '\'':
			s.character()
			return cSharpToken{kind: cSharpString, line: s.line}
		case isNameByte(c):
			start := s.pos
			for s.pos < len(s.text) && isNameByte(s.text[s.pos]) {
				s.pos++
			}
			return cSharpToken{kind: cSharpName, text: s.text[start:s.pos], line: s.line}
		case strings.HasPrefix(s.text[s.pos:], "::"):
			s.pos += 2
			return cSharpToken{kind: '.', line: s.line}
		default:
			s.pos++
			return cSharpToken{kind: c, line: s.line}
		}
	}
	return cSharpToken{kind: cSharpEnd, line: s.line}
}

// comment passes over a comment; false if there is none.
func (s *cSharpScanner) comment() bool {
	rest := s.text[s.pos:]
	switch {
	case strings.HasPrefix(rest, "//"):
		s.skipLine()
	case strings.HasPrefix(rest, "/*"):
		length := strings.Index(rest[2:], "*/")
		if length < 0 {
			length = len(rest) - 4
		}
		s.line += strings.Count(rest[:length+4], "\n")
		s.pos += length + 4
	default:
		return false
	}
	return true
}

func (s *cSharpScanner) skipLine() {
	if end := strings.IndexByte(s.text[s.pos:], '\n'); end >= 0 {
		s.pos += end
		return
	}
	s.pos = len(s.text)
}

func (s *cSharpScanner) directive() cSharpToken {
	start := s.pos + 1
	s.skipLine()
	word := strings.TrimLeft(s.text[start:s.pos], " \t")
	if end := strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }); end >= 0 {
		word = word[:end]
	}
	return cSharpToken{kind: cSharpDirective, text: word, line: s.line}
}

// character passes over 'a', '\” or '\u0041'; a quote that begins none is passed over alone.
func (s *cSharpScanner) character() {
	s.pos++
	const longest = 12 // '\U0001F600'
	for at := s.pos; at < len(s.text) && at < s.pos+longest && s.text[at] != '\n'; at++ {
		switch s.text[at] {
		case '\\':
			at++
		case '\'':
			s.pos = at + 1
			return
		}
	}
}

// maxHoleDepth bounds strings within the holes of strings; what is nested deeper is taken as one string.
const maxHoleDepth = 32

// literal passes over a string with its prefix of @ and $; false if there is none. depth counts the holes it stands in.
func (s *cSharpScanner) literal(depth int) bool {
	start, verbatim, holes := s.pos, false, false
	for s.pos < len(s.text) && (s.text[s.pos] == '@' || s.text[s.pos] == '$') {
		verbatim = verbatim || s.text[s.pos] == '@'
		holes = holes || s.text[s.pos] == '$'
		s.pos++
	}
	rest := s.text[s.pos:]
	if rest == "" || rest[0] != '"' {
		// Go on after the whole run, so that a long one is not looked at again from each of its characters.
		s.pos = max(start, s.pos-1)
		return false
	}
	if quotes := len(rest) - len(strings.TrimLeft(rest, `"`)); quotes >= 3 && !verbatim {
		s.raw(quotes)
		return true
	}
	s.pos++
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"' && verbatim && strings.HasPrefix(s.text[s.pos:], `""`):
			s.pos += 2
		case c == '"':
			s.pos++
			return true
		case c == '\\' && !verbatim:
			s.pos += 2
		case c == '\n' && !verbatim:
			return true // not closed
		case c == '{' && holes && strings.HasPrefix(s.text[s.pos:], "{{"):
			s.pos += 2
		case c == '{' && holes && depth < maxHoleDepth:
			s.hole(depth + 1)
		default:
			if c == '\n' {
				s.line++
			}
			s.pos++
		}
	}
	s.pos = len(s.text)
	return true
}

// raw passes over a string between runs of three or more quotes.
func (s *cSharpScanner) raw(quotes int) {
	s.pos += quotes
	length := strings.Index(s.text[s.pos:], strings.Repeat(`"`, quotes))
	if length < 0 {
		length = len(s.text) - s.pos
	}
	s.line += strings.Count(s.text[s.pos:s.pos+length], "\n")
	s.pos = min(s.pos+length+quotes, len(s.text))
	for s.pos < len(s.text) && s.text[s.pos] == '"' {
		s.pos++
	}
}

// hole passes over the {…} of an interpolated string.
func (s *cSharpScanner) hole(depth int) {
	for open := 0; s.pos < len(s.text); {
		switch c := s.text[s.pos]; {
		case c == '{':
			open++
			s.pos++
		case c == '}':
			s.pos++
			if open--; open == 0 {
				return
			}
		case c == '"' || c == '@' || c == '$':
			if !s.literal(depth) {
				s.pos++
			}
		case c == '\'':
			s.character()
		case c == '/' && s.comment():
		default:
			if c == '\n' {
				s.line++
			}
			s.pos++
		}
	}
}

// cSharpDepth is how many namespaces, and braces within the innermost, are open.
type cSharpDepth struct {
	namespaces, blocks int
}

type cSharpParser struct {
	cSharpScanner

	token, before cSharpToken
	facts         Facts
	namespaces    []string      // the full names of the namespaces that are open; the last is the one things are declared in
	blocks        int           // braces within the innermost namespace
	braced        []bool        // of each open namespace, whether a brace closes it
	brackets      int           // ( and [ that are open
	branches      []cSharpDepth // at each #if that is open
}

func (p *cSharpParser) advance() {
	p.before = p.token
	for {
		p.token = p.next()
		if p.token.kind != cSharpDirective {
			return
		}
		p.branch(p.token.text)
	}
}

// branch keeps the braces of one branch of an #if from being counted beside those of the other.
func (p *cSharpParser) branch(word string) {
	last := len(p.branches) - 1
	switch {
	case word == "if":
		p.branches = append(p.branches, cSharpDepth{len(p.namespaces), p.blocks})
	case (word == "elif" || word == "else") && last >= 0:
		before := p.branches[last]
		if len(p.namespaces) > before.namespaces {
			p.namespaces, p.braced = p.namespaces[:before.namespaces], p.braced[:before.namespaces]
			p.blocks = before.blocks
		}
		p.blocks = min(p.blocks, before.blocks)
	case word == "endif" && last >= 0:
		p.branches = p.branches[:last]
	}
}

func (p *cSharpParser) is(word string) bool {
	return p.token.kind == cSharpName && p.token.text == word
}

func (p *cSharpParser) file() {
	p.advance()
	for p.token.kind != cSharpEnd {
		switch p.token.kind {
		case '{':
			p.blocks++
		case '}':
			p.close()
		case '(', '[':
			p.brackets++
		case ')', ']':
			p.brackets = max(0, p.brackets-1)
		case ';':
			p.brackets = 0
		case cSharpName:
			if p.blocks == 0 && p.brackets == 0 && p.before.kind != '.' && p.declaration() {
				continue
			}
		}
		p.advance()
	}
}

func (p *cSharpParser) close() {
	p.brackets = 0
	if p.blocks > 0 {
		p.blocks--
		return
	}
	if last := len(p.namespaces) - 1; last >= 0 && p.braced[last] {
		p.namespaces, p.braced = p.namespaces[:last], p.braced[:last]
	}
}

// declaration reads what a keyword at the level of a namespace begins; false if it left the token for others to see.
func (p *cSharpParser) declaration() bool {
	switch p.token.text {
	case "using":
		p.using()
	case "namespace":
		p.namespace()
	case "class", "struct", "interface", "enum", "record":
		if p.before.kind == ':' || p.before.kind == ',' {
			return false // where T : class
		}
		p.advance()
		for p.is("class") || p.is("struct") {
			p.advance()
		}
		if p.token.kind == cSharpName {
			p.facts.Types = append(p.facts.Types, p.token.text)
			p.advance()
		}
	case "delegate":
		p.delegate()
	default:
		return false
	}
	return true
}

// using reads using a.b; using static a.b.C; using X = a.b; and passes over using (…) and using var x = ….
func (p *cSharpParser) using() {
	p.advance()
	for p.is("static") || p.is("unsafe") {
		p.advance()
	}
	line := p.token.line
	name := p.dotted()
	if p.token.kind == '=' && !strings.Contains(name, ".") {
		p.advance()
		line = p.token.line
		name = p.dotted()
		if p.token.kind == '(' || p.token.kind == cSharpName {
			return
		}
	}
	if name == "" || p.token.kind != ';' && p.token.kind != '<' && p.token.kind != '[' && p.token.kind != '?' {
		return
	}
	for p.token.kind != ';' && p.token.kind != cSharpEnd && p.token.kind != '{' && p.token.kind != '=' && p.token.kind != '(' {
		p.advance()
	}
	if p.token.kind == ';' {
		p.facts.Imports = append(p.facts.Imports, Import{Spec: name, Name: p.namespaceName(), Line: line})
	}
}

// namespaceName gives the full name of the namespace that is open; "" for none.
func (p *cSharpParser) namespaceName() string {
	if last := len(p.namespaces) - 1; last >= 0 {
		return p.namespaces[last]
	}
	return ""
}

func (p *cSharpParser) namespace() {
	p.advance()
	name := p.dotted()
	if name == "" {
		return
	}
	if outer := p.namespaceName(); outer != "" {
		name = outer + "." + name
	}
	if p.token.kind != '{' && p.token.kind != ';' || len(name) > maxName {
		return
	}
	p.namespaces, p.braced = append(p.namespaces, name), append(p.braced, p.token.kind == '{')
	p.facts.Packages = append(p.facts.Packages, name)
	p.advance()
}

// delegate reads delegate Result<T> Name<U>(…).
func (p *cSharpParser) delegate() {
	p.advance()
	name, angles := "", 0
	for ; p.token.kind != cSharpEnd && p.token.kind != ';' && p.token.kind != '{' && p.token.kind != '}'; p.advance() {
		switch p.token.kind {
		case '<':
			angles++
		case '>':
			angles--
		case cSharpName:
			if angles == 0 {
				name = p.token.text
			}
		case '(':
			if angles == 0 && name != "" {
				p.facts.Types = append(p.facts.Types, name)
				return
			}
		}
	}
}

// dotted reads a.b.c, and takes global::a.b for a.b.
func (p *cSharpParser) dotted() string {
	var name strings.Builder
	for p.token.kind == cSharpName {
		if p.token.text != "global" || name.Len() > 0 {
			name.WriteString(p.token.text)
		}
		p.advance()
		if p.token.kind != '.' {
			break
		}
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		p.advance()
	}
	return strings.TrimSuffix(name.String(), ".")
}
