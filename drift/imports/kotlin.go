package imports

// extractKotlin finds the package, the imports and the top-level declarations of a file of Kotlin: types, and functions and
// properties too, which other files import by name. @file:JvmName adds the name under which Java sees the latter.
func extractKotlin(text []byte) Facts {
	s := jvmScanner{lex: jvmLexer{
		text: text, line: 1, indent: -1, nested: true,
		substitutions: func(*jvmLexer, int) bool { return true },
	}}
	s.advance()
	header := true // imports stand before all declarations
	for s.tok.kind != jvmEOF {
		if s.depth > 0 || s.tok.kind != jvmWord || s.lex.is(s.before, ".") || s.lex.is(s.before, ":") {
			if s.is("@") {
				s.fileAnnotation()
				continue
			}
			s.advance()
			continue
		}
		first := s.tok.start == s.tok.indent+s.lex.lineStart
		word, line := s.lex.value(s.tok), s.tok.line
		s.advance()
		switch word {
		case "package":
			if header && first && len(s.facts.Packages) == 0 {
				if name, _ := s.dotted(); name != "" {
					s.facts.Packages = []string{name}
				}
			}
		case "import":
			if header && s.tok.line == line {
				s.kotlinImport(line)
			}
		case "class", "interface", "object", "typealias":
			header = false
			if s.tok.kind == jvmWord && s.tok.line == line {
				s.declare(s.lex.value(s.tok))
				s.advance()
			}
		case "fun", "val", "var":
			header = false
			s.kotlinCallable(word == "fun")
		}
	}
	return s.facts
}

func (s *jvmScanner) kotlinImport(line int) {
	name, more := s.dotted()
	switch {
	case more && s.is("*"):
		s.advance()
		s.add(name+".*", line)
	case !more && name != "":
		s.add(name, line)
		if s.is("as") && s.tok.line == line {
			s.advance()
			s.advance() // the alias, which must not be read as a keyword
		}
	}
}

// kotlinCallable reads the name of a function or property, behind its type parameters and the type that it extends.
func (s *jvmScanner) kotlinCallable(function bool) {
	line, depth, angles := s.tok.line, s.depth, 0
	name := ""
	for s.tok.kind != jvmEOF && (function || s.tok.line == line) {
		switch {
		case s.is("<"):
			angles++
		case s.is(">"):
			if !s.lex.is(s.before, "-") { // no arrow
				angles--
			}
		case angles > 0 || s.depth > depth:
		case s.is("interface") && name == "": // fun interface
			return
		case s.tok.kind == jvmWord:
			name = s.lex.value(s.tok)
		case s.is("("):
			if name != "" && !s.lex.is(s.before, "@") {
				s.declare(name)
				return
			}
		case s.is(".") || s.is("?") || s.is(")") || s.is("@") || s.is("&"):
		default: // the = or : of a property, or nothing that could be read
			if !function && name != "" {
				s.declare(name)
			}
			return
		}
		s.advance()
		if !function && name != "" && (s.is("by") || s.is("get") || s.is("set")) {
			break
		}
	}
	if !function && name != "" {
		s.declare(name)
	}
}

// fileAnnotation reads an @, and behind it file:JvmName("x").
func (s *jvmScanner) fileAnnotation() {
	for _, want := range []string{"@", "file", ":", "JvmName", "("} {
		if !s.is(want) {
			if want == "@" {
				s.advance()
			}
			return
		}
		s.advance()
	}
	if s.tok.kind == jvmLiteral && s.tok.end-s.tok.start > 2 {
		s.declare(string(s.lex.text[s.tok.start+1 : s.tok.end-1]))
	}
}
