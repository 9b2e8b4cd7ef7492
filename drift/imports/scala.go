package imports

import (
	"slices"
	"strings"
)

// extractScala finds the packages, the imports and the top-level declarations of a file of Scala 2 or 3, those of a package
// object included. Every selector of import a.{b, c => d} is an import of its own: "a.b", "a.c". Packages has each package
// clause with its whole name, outer before inner: package a and then package b give "a" and "a.b".
func extractScala(text []byte) Facts {
	s := scalaScanner{jvmScanner: jvmScanner{lex: jvmLexer{
		text: text, line: 1, indent: -1, nested: true,
		substitutions: func(l *jvmLexer, quote int) bool { return quote > 0 && isJVMWordByte(l.text[quote-1]) },
	}}, packages: map[string]bool{}}
	s.advance()
	for s.tok.kind != jvmEOF {
		s.statement()
	}
	return s.facts
}

type scalaScanner struct {
	jvmScanner
	scopes   []scalaScope
	packages map[string]bool // those in facts
}

// scalaScope is a package clause. depth is that of its members.
type scalaScope struct {
	name  string
	depth int
}

func (s *scalaScanner) scope() scalaScope {
	for len(s.scopes) > 0 && s.scopes[len(s.scopes)-1].depth > s.depth {
		s.scopes = s.scopes[:len(s.scopes)-1]
	}
	if len(s.scopes) == 0 {
		return scalaScope{}
	}
	return s.scopes[len(s.scopes)-1]
}

func (s *scalaScanner) statement() {
	if s.tok.kind != jvmWord || s.lex.is(s.before, ".") {
		s.advance()
		return
	}
	word := s.lex.text[s.tok.start:s.tok.end]
	if len(word) > len("package") {
		s.advance()
		return
	}
	scope, line := s.scope(), s.tok.line
	top := scope.depth == s.depth && (s.depth > 0 || s.tok.indent == 0)
	switch string(word) {
	case "import":
		s.advance()
		if s.tok.kind == jvmWord && s.tok.line == line {
			s.importAll(line)
		}
	case "package":
		s.advance()
		if top {
			s.packageClause(scope)
		}
	case "class", "trait", "object", "enum", "type", "def", "val", "var":
		s.advance()
		if top && s.tok.kind == jvmWord {
			s.declare(s.lex.value(s.tok))
			s.advance()
		}
	default:
		s.advance()
	}
}

// packageClause reads what follows the word package.
func (s *scalaScanner) packageClause(scope scalaScope) {
	object := s.is("object")
	if object {
		s.advance()
	}
	name, _ := s.dotted()
	if name != "" && scope.name != "" {
		name = scope.name + "." + name
	}
	// Clauses nest as deep as a text likes, and each has the names of all around it.
	const longest = 1000
	if name == "" || len(name) > longest {
		return
	}
	if !s.packages[name] {
		s.packages[name] = true
		s.facts.Packages = append(s.facts.Packages, name)
	}
	// The body of a package object is a scope in braces; where its brace is comes after what the object extends.
	for object && s.tok.kind != jvmEOF && (s.depth > scope.depth || !s.is("{") && !s.startsStatement()) {
		s.advance()
	}
	switch {
	case s.is("{"):
		s.scopes = append(s.scopes, scalaScope{name, s.depth + 1})
		s.advance()
	case !object:
		s.scopes = append(s.scopes, scalaScope{name, s.depth})
	}
}

func (s *scalaScanner) startsStatement() bool {
	return slices.ContainsFunc([]string{"import", "package", "class", "trait", "object", "def", "val"}, s.is)
}

// importAll reads a.b, c.{d, e}.
func (s *scalaScanner) importAll(line int) {
	for {
		s.importOne(line)
		if !s.is(",") {
			return
		}
		s.advance()
	}
}

func (s *scalaScanner) importOne(line int) {
	name, more := s.dotted()
	switch {
	case name == "":
	case !more:
		s.add(name, line)
		if s.is("as") { // Scala 3
			s.advance()
			s.advance()
		}
	case s.is("*"):
		s.advance()
		s.add(name+".*", line)
	case s.is("{"):
		s.advance()
		s.selectors(name, line)
	}
}

// selectors reads a, b => c, d as e, _ and given T, up to and including the closing brace.
func (s *scalaScanner) selectors(prefix string, line int) {
	var words []string // of one selector
	flush := func() {
		if len(words) == 1 || len(words) > 1 && words[len(words)-1] != "_" { // a => _ leaves a out
			s.add(prefix+"."+words[0], line)
		}
		words = nil
	}
	for s.tok.kind != jvmEOF {
		switch {
		case s.is("}"):
			flush()
			s.advance()
			return
		case s.is(","):
			flush()
		case s.tok.kind == jvmWord && !s.is("as"):
			words = append(words, strings.Clone(s.lex.value(s.tok)))
		case s.is("*"):
			words = append(words, "*")
		case s.is("=") || s.is(">") || s.is("as") || s.is("[") || s.is("]") || s.is(".") || s.is("?"):
		default: // no selectors
			return
		}
		s.advance()
	}
}
