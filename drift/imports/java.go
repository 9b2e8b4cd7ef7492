package imports

// extractJava finds the package, the imports and the top-level types of a file of Java. A static import is an import of a
// member: "a.b.Type.member"; imports of modules are left out.
func extractJava(text []byte) Facts {
	s := jvmScanner{lex: jvmLexer{text: text, line: 1, indent: -1}}
	s.advance()
	for s.tok.kind != jvmEOF {
		if s.depth > 0 || s.tok.kind != jvmWord || s.lex.is(s.before, ".") {
			s.advance()
			continue
		}
		word, line := s.lex.value(s.tok), s.tok.line
		s.advance()
		switch word {
		case "package":
			if name, _ := s.dotted(); name != "" && len(s.facts.Packages) == 0 {
				s.facts.Packages = []string{name}
			}
		case "import":
			s.javaImport(line)
		case "class", "interface", "enum", "record":
			if s.tok.kind != jvmWord {
				continue
			}
			name := s.lex.value(s.tok)
			s.advance()
			if word != "record" || s.is("(") || s.is("<") {
				s.declare(name)
			}
		}
	}
	return s.facts
}

func (s *jvmScanner) javaImport(line int) {
	if s.is("static") {
		s.advance()
	}
	if s.is("module") {
		s.advance()
		if s.tok.kind == jvmWord {
			s.dotted()
			return
		}
		// a package named module: the word was its first segment
		if !s.is(".") {
			return
		}
		s.advance()
		s.javaName("module.", line)
		return
	}
	s.javaName("", line)
}

func (s *jvmScanner) javaName(prefix string, line int) {
	name, more := s.dotted()
	switch {
	case name == "" && prefix == "":
	case more && s.is("*"):
		s.advance()
		s.add(prefix+name+".*", line)
	case !more:
		s.add(prefix+name, line)
	}
}
