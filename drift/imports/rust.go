package imports

import (
	"slices"
	"strings"
)

// extractRust finds what a Rust file uses: use trees, unfolded to one Import for each leaf ("crate::a::b", "super::*");
// extern crate a (Spec "a"); mod a; (Kind Module, with the #[path] as Name); and paths written out in code (Kind Path).
// What is renamed has its new name as Name.
//
// Paths that begin with self or super within mod a { … }, or with the name of such a module, are written as the file would
// write them, so that super::x there is "self::x" here. Macros are not expanded, but what is within the brackets of a call is read as code; what
// a macro quotes (macro_rules!, quote!) is not.
func extractRust(text []byte) Facts {
	p := rustParser{rustScanner: rustScanner{text: string(text), line: 1}, inline: map[string]bool{}, seen: map[string]bool{}}
	p.file()
	p.tidy()
	return p.facts
}

type rustToken struct {
	kind byte   // one of the constants, or the character of punctuation; a pair of colons is ':', a single one ','.
	text string // of a name without r#; the value of a literal without escapes
	line int
}

const (
	rustEnd    byte = 0
	rustName   byte = 'a' // names, keywords and numbers
	rustString byte = '"' // strings and characters
)

// rustScanner splits Rust into tokens. Comments and lifetimes are not seen by its reader.
type rustScanner struct {
	text string
	pos  int
	line int
}

func (s *rustScanner) next() rustToken {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		rest := s.text[s.pos:]
		switch {
		case c == '\n':
			s.line++
			s.pos++
		case c == ' ', c == '\t', c == '\r':
			s.pos++
		case strings.HasPrefix(rest, "//"):
			s.skipLine()
		case strings.HasPrefix(rest, "/*"):
			s.skipBlock()
		case strings.HasPrefix(rest, "#!") && s.pos == 0 && !strings.HasPrefix(rest, "#!["):
			s.skipLine() // of a script
		case c == '"':
			return s.literal()
		case c == '\'':
			if s.quoted() {
				return rustToken{kind: rustString, line: s.line}
			}
		case isNameByte(c):
			return s.name()
		case strings.HasPrefix(rest, "::"):
			s.pos += 2
			return rustToken{kind: ':', line: s.line}
		case c == ':':
			s.pos++
			return rustToken{kind: ',', line: s.line}
		default:
			s.pos++
			return rustToken{kind: c, line: s.line}
		}
	}
	return rustToken{kind: rustEnd, line: s.line}
}

func (s *rustScanner) skipLine() {
	if end := strings.IndexByte(s.text[s.pos:], '\n'); end >= 0 {
		s.pos += end
		return
	}
	s.pos = len(s.text)
}

// skipBlock passes over a block comment; they nest.
func (s *rustScanner) skipBlock() {
	depth := 0
	for s.pos < len(s.text) {
		switch rest := s.text[s.pos:]; {
		case strings.HasPrefix(rest, "/*"):
			depth++
			s.pos += 2
		case strings.HasPrefix(rest, "*/"):
			depth--
			s.pos += 2
			if depth == 0 {
				return
			}
		default:
			if rest[0] == '\n' {
				s.line++
			}
			s.pos++
		}
	}
}

// quoted passes over a character, or over the quote of a lifetime or label, for which it is false.
func (s *rustScanner) quoted() bool {
	s.pos++
	rest := s.text[s.pos:]
	if len(rest) == 0 {
		return false
	}
	if rest[0] == '\\' {
		// An escape ends with the next quote after the escaped character.
		s.pos = min(s.pos+2, len(s.text))
		for s.pos < len(s.text) && s.text[s.pos] != '\'' && s.text[s.pos] != '\n' {
			s.pos++
		}
		s.pos = min(s.pos+1, len(s.text))
		return true
	}
	width := 1
	for width < len(rest) && width < 4 && rest[width]&0xC0 == 0x80 {
		width++
	}
	if width < len(rest) && rest[width] == '\'' {
		if rest[0] == '\n' {
			s.line++
		}
		s.pos += width + 1
		return true
	}
	return false
}

func (s *rustScanner) name() rustToken {
	start := s.pos
	for s.pos < len(s.text) && isNameByte(s.text[s.pos]) {
		s.pos++
	}
	word := s.text[start:s.pos]
	rest := s.text[s.pos:]
	if len(rest) == 0 {
		return rustToken{kind: rustName, text: word, line: s.line}
	}
	switch word {
	case "r", "br", "cr":
		hashes := len(rest) - len(strings.TrimLeft(rest, "#"))
		if hashes < len(rest) && rest[hashes] == '"' {
			return s.rawLiteral(hashes)
		}
		if word == "r" && hashes == 1 && hashes < len(rest) && isNameByte(rest[1]) {
			s.pos++
			return s.rawName()
		}
	case "b", "c":
		if rest[0] == '"' {
			return s.literal()
		}
		if word == "b" && rest[0] == '\'' && s.quoted() {
			return rustToken{kind: rustString, line: s.line}
		}
	}
	return rustToken{kind: rustName, text: word, line: s.line}
}

// rawName reads the name after r#.
func (s *rustScanner) rawName() rustToken {
	start := s.pos
	for s.pos < len(s.text) && isNameByte(s.text[s.pos]) {
		s.pos++
	}
	return rustToken{kind: rustName, text: s.text[start:s.pos], line: s.line}
}

func (s *rustScanner) literal() rustToken {
	token := rustToken{kind: rustString, line: s.line}
	s.pos++
	start := s.pos
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case '"':
			token.text = s.text[start:s.pos]
			s.pos++
			return token
		case '\\':
			s.pos++
			if s.pos < len(s.text) && s.text[s.pos] == '\n' {
				s.line++
			}
		case '\n':
			s.line++
		}
		s.pos++
	}
	s.pos = len(s.text)
	return token
}

func (s *rustScanner) rawLiteral(hashes int) rustToken {
	token := rustToken{kind: rustString, line: s.line}
	end := `"` + strings.Repeat("#", hashes)
	s.pos += hashes + 1
	length := strings.Index(s.text[s.pos:], end)
	if length < 0 {
		s.pos = len(s.text)
		return token
	}
	token.text = s.text[s.pos : s.pos+length]
	s.line += strings.Count(token.text, "\n")
	s.pos += length + len(end)
	return token
}

// A rustScope is an open brace: the name of the module it is the body of, or "".
type rustScope struct {
	module string
}

type rustParser struct {
	rustScanner

	token, before rustToken
	facts         Facts
	scopes        []rustScope
	modules       []string        // the inline modules that are open
	attribute     string          // the value of a #[path] that waits for its mod
	inline        map[string]bool // the names of all inline modules
	seen          map[string]bool // paths in code that are noted already
}

func (p *rustParser) advance() {
	p.before = p.token
	p.token = p.next()
}

func (p *rustParser) is(word string) bool { return p.token.kind == rustName && p.token.text == word }

func (p *rustParser) file() {
	p.advance()
	for p.token.kind != rustEnd {
		switch p.token.kind {
		case '{':
			p.open("")
			p.advance()
		case '}':
			p.close()
			p.advance()
		case '#':
			p.attributes()
		case rustName:
			p.word()
		default:
			p.advance()
		}
	}
}

func (p *rustParser) open(module string) {
	if len(p.modules) >= maxModuleDepth {
		module = ""
	}
	p.scopes = append(p.scopes, rustScope{module})
	if module != "" {
		p.modules = append(p.modules, module)
	}
}

func (p *rustParser) close() {
	if len(p.scopes) == 0 {
		return
	}
	if p.scopes[len(p.scopes)-1].module != "" {
		p.modules = p.modules[:len(p.modules)-1]
	}
	p.scopes = p.scopes[:len(p.scopes)-1]
}

// attributes looks for #[path = "x.rs"], also within #[cfg_attr(…)].
func (p *rustParser) attributes() {
	p.advance()
	if p.token.kind == '!' {
		p.advance()
	}
	if p.token.kind != '[' {
		return
	}
	for depth := 0; p.token.kind != rustEnd; p.advance() {
		switch p.token.kind {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				p.advance()
				return
			}
		case rustString:
			if p.before.kind == '=' && p.attribute == "=" {
				p.attribute = p.token.text
			}
		case rustName:
			if p.token.text == "path" {
				p.attribute = "="
			}
		}
	}
}

// word reads what a name begins: an item, a macro or a path.
func (p *rustParser) word() {
	switch begins := p.beginsItem(); {
	case begins && p.is("use"):
		p.use()
	case begins && p.is("mod"):
		p.module()
	case begins && p.is("extern"):
		p.externCrate()
	default:
		if p.token.text != "pub" && p.token.text != "unsafe" && p.token.text != "in" && p.before.kind != '(' {
			p.attribute = ""
		}
		p.path()
	}
}

// beginsItem tells whether what was before can stand before an item.
func (p *rustParser) beginsItem() bool {
	switch p.before.kind {
	case rustEnd, ';', '{', '}', ']', ')':
		return true
	case rustName:
		return p.before.text == "pub" || p.before.text == "unsafe" || p.before.text == "crate"
	}
	return false
}

func (p *rustParser) module() {
	p.advance()
	name, line := p.token.text, p.token.line
	if p.token.kind != rustName {
		return
	}
	p.advance()
	switch p.token.kind {
	case ';':
		spec := strings.Join(append(slices.Clone(p.modules), name), "::")
		file := strings.TrimPrefix(p.attribute, "=")
		p.facts.Imports = append(p.facts.Imports, Import{Spec: spec, Name: file, Line: line, Kind: Module})
	case '{':
		p.inline[name] = true
		p.open(name)
		p.advance()
	}
	p.attribute = ""
}

func (p *rustParser) externCrate() {
	p.advance()
	if !p.is("crate") {
		return
	}
	p.advance()
	if p.token.kind == rustName && p.token.text != "self" {
		i := Import{Spec: p.token.text, Line: p.token.line}
		p.advance()
		if p.is("as") {
			p.advance()
			i.Name = p.token.text
		}
		p.facts.Imports = append(p.facts.Imports, i)
	}
}

// use reads a tree and notes each leaf. Groups are kept on a stack of their own, so that no text makes it recurse.
func (p *rustParser) use() {
	p.advance()
	if p.token.kind == '<' {
		return // impl Trait + use<'a>
	}
	var groups []int // lengths of prefix at which groups began
	var prefix []string
	start := 0 // length of prefix at which this branch began
	renamed := ""
	leaf := func(line int) {
		if len(prefix) > start {
			p.add(prefix, Import{Name: renamed, Line: line})
		}
		prefix, renamed = prefix[:start], ""
	}
	line := p.token.line
	for ; p.token.kind != rustEnd; p.advance() {
		switch p.token.kind {
		case rustName:
			if p.token.text == "as" {
				p.advance()
				renamed = p.token.text
				continue
			}
			line = p.token.line
			prefix = append(prefix, p.token.text)
		case '*':
			line = p.token.line
			prefix = append(prefix, "*")
		case ':':
			if len(prefix) > maxUseDepth {
				return
			}
			if len(prefix) == 0 {
				prefix = append(prefix, "") // ::name, a crate for sure
				start = 0
			}
		case '{':
			if len(groups) >= maxUseDepth {
				return
			}
			groups = append(groups, start)
			start = len(prefix)
		case ',':
			leaf(line)
		case '}':
			leaf(line)
			if len(groups) == 0 {
				return
			}
			start, groups = groups[len(groups)-1], groups[:len(groups)-1]
			prefix = prefix[:start]
		case ';':
			leaf(line)
			return
		default:
			return // not a use after all
		}
	}
}

// maxUseDepth bounds the groups within each other, and the names of a path, far beyond what a person writes.
const maxUseDepth = 64

// path notes a::b::c in code, or passes over one name. What a quoting macro holds is passed over.
func (p *rustParser) path() {
	first, line := p.token, p.token.line
	qualified := p.before.kind == ':' || p.before.kind == '.' || p.before.kind == '$'
	p.advance()
	if p.token.kind == '!' && quotes[first.text] {
		p.skipQuoted()
		return
	}
	segments := []string{first.text}
	for p.token.kind == ':' {
		p.advance()
		if p.token.kind != rustName {
			break
		}
		segments = append(segments, p.token.text)
		p.advance()
	}
	if !qualified && len(segments) > 1 && mayNameModule(first.text) {
		p.add(segments, Import{Line: line, Kind: Path})
	}
}

// quotes are the macros whose brackets hold text for elsewhere.
var quotes = map[string]bool{
	"macro_rules": true, "quote": true, "quote_spanned": true, "parse_quote": true, "parse_quote_spanned": true, "stringify": true,
}

// skipQuoted passes over name! name? (…), with any brackets.
func (p *rustParser) skipQuoted() {
	p.advance()
	if p.token.kind == rustName {
		p.advance()
	}
	depth := 0
	for ; p.token.kind != rustEnd; p.advance() {
		switch p.token.kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth <= 0 {
			p.advance()
			return
		}
	}
}

// mayNameModule tells whether a path in code may begin with it: a keyword of paths, or a name as modules and crates have.
func mayNameModule(name string) bool {
	return name[0] >= 'a' && name[0] <= 'z' && !primitives[name] && !keywordsBeforePaths[name]
}

// primitives are the types of Rust that have paths of their own, as u8::MAX.
var primitives = map[string]bool{
	"bool": true, "char": true, "f16": true, "f32": true, "f64": true, "f128": true, "i8": true, "i16": true, "i32": true, "i64": true, "i128": true, "isize": true,
	"str": true, "u8": true, "u16": true, "u32": true, "u64": true, "u128": true, "usize": true,
}

// keywordsBeforePaths may stand before a path that begins with colons, and are no part of it: &mut ::c_void.
var keywordsBeforePaths = map[string]bool{
	"as": true, "async": true, "await": true, "break": true, "const": true, "dyn": true, "else": true, "for": true, "if": true,
	"impl": true, "in": true, "let": true, "match": true, "move": true, "mut": true, "ref": true, "return": true, "static": true,
	"unsafe": true, "where": true, "while": true, "yield": true,
}

// add notes a path as the file would write it from outside its inline modules.
func (p *rustParser) add(segments []string, i Import) {
	i.Spec = strings.TrimSuffix(strings.Join(p.fromFile(segments), "::"), "::self")
	if i.Spec == "" || i.Spec == "self" {
		return
	}
	if i.Kind == Path {
		if p.seen[i.Spec] {
			return
		}
		p.seen[i.Spec] = true
	}
	p.facts.Imports = append(p.facts.Imports, i)
}

// fromFile rewrites a path within inline modules: there self is the module, and each super one further out.
func (p *rustParser) fromFile(segments []string) []string {
	open := p.modules
	if len(open) == 0 || segments[0] != "self" && segments[0] != "super" {
		return segments
	}
	rest := segments
	if rest[0] == "self" {
		rest = rest[1:]
	}
	for len(open) > 0 && len(rest) > 0 && rest[0] == "super" {
		open, rest = open[:len(open)-1], rest[1:]
	}
	if len(rest) > 0 && rest[0] == "super" {
		return rest
	}
	return slices.Concat([]string{"self"}, open, rest)
}

// tidy leaves out the paths in code that begin with a name that a use or an inline module of the file brings, since these
// say it already, and writes uses of inline modules from the file.
func (p *rustParser) tidy() {
	brought := map[string]bool{}
	for _, i := range p.facts.Imports {
		switch {
		case i.Kind == Path, i.Kind == Module:
		case i.Name != "":
			brought[i.Name] = true
		default:
			brought[i.Spec[strings.LastIndexByte(i.Spec, ':')+1:]] = true
		}
	}
	p.facts.Imports = slices.DeleteFunc(p.facts.Imports, func(i Import) bool {
		first, _, _ := strings.Cut(i.Spec, "::")
		return i.Kind == Path && first != "crate" && first != "self" && first != "super" && (brought[first] || p.inline[first])
	})
	for n, i := range p.facts.Imports {
		if first, _, deeper := strings.Cut(i.Spec, "::"); i.Kind == "" && deeper && p.inline[first] {
			p.facts.Imports[n].Spec = "self::" + i.Spec
		}
	}
	slices.SortStableFunc(p.facts.Imports, func(a, b Import) int { return a.Line - b.Line })
}
