package imports

import (
	"bytes"
	"strings"
)

// extractTypeScript finds the imports of TypeScript and of JavaScript, with or without JSX or the types of Flow: import and export … from statements,
// import x = require("y"); calls of require("y") and import("y"), the latter in types too; and /// <reference path>. Calls whose
// argument is no literal, require.resolve, jest.mock and modules that are declared are no imports.
func extractTypeScript(text []byte) Facts {
	return Facts{Imports: scanTypeScript(text, 1)}
}

// scanTypeScript is extractTypeScript for a part of a file that begins at a line.
func scanTypeScript(text []byte, line int) []Import {
	s := jsScanner{lex: newJSLexer(text, line)}
	s.advance()
	for s.tok.kind != jsEOF {
		s.statement()
	}
	return s.imports
}

type jsScanner struct {
	lex     *jsLexer
	before  jsToken // the token before tok
	tok     jsToken
	imports []Import
}

func (s *jsScanner) advance() {
	s.before = s.tok
	s.tok = s.lex.next()
}

func (s *jsScanner) is(text string) bool { return s.lex.is(s.tok, text) }

func (s *jsScanner) add(spec string, line int, kind Kind) {
	if spec != "" {
		s.imports = append(s.imports, Import{Spec: spec, Line: line, Kind: kind})
	}
}

// statement reads one token that begins no import, or an import as far as it is one.
func (s *jsScanner) statement() {
	if s.tok.kind == jsTripleSl {
		s.reference()
		return
	}
	if s.tok.kind != jsWord {
		s.advance()
		return
	}
	word := s.lex.text[s.tok.start:s.tok.end]
	if len(word) < len("import") || len(word) > len("require") {
		s.advance()
		return
	}
	before, afterDot := s.before, s.afterDot()
	switch string(word) {
	case "import":
		line := s.tok.line
		s.advance()
		if !afterDot {
			s.importAfter(before, line)
		}
	case "export":
		line := s.tok.line
		s.advance()
		if !afterDot {
			s.export(line)
		}
	case "require":
		line, dynamic := s.tok.line, s.lex.inFunction() || s.lex.is(before, "=>")
		s.advance()
		if afterDot || s.lex.is(before, "function") {
			return
		}
		if spec, ok := s.callArgument(); ok && s.is(")") {
			kind := Kind("")
			if dynamic {
				kind = Dynamic
			}
			s.add(spec, line, kind)
		}
	default:
		s.advance()
	}
}

// afterDot says whether the token before names an object whose member this is; the three dots of a spread do not.
func (s *jsScanner) afterDot() bool {
	b := s.before
	return s.lex.is(b, ".") && (b.start < 2 || string(s.lex.text[b.start-2:b.start]) != "..")
}

// callArgument reads ( and a literal, and stands behind them.
func (s *jsScanner) callArgument() (string, bool) {
	if !s.is("(") {
		return "", false
	}
	s.advance()
	if s.tok.kind != jsString {
		return "", false
	}
	spec := s.lex.unquote(s.tok)
	s.advance()
	return spec, true
}

// importAfter reads what follows the word import.
func (s *jsScanner) importAfter(before jsToken, line int) {
	switch {
	case s.tok.kind == jsString:
		s.add(s.lex.unquote(s.tok), line, "")
		s.advance()
		return
	case s.is("("):
		spec, ok := s.callArgument()
		if ok && (s.is(")") || s.is(",")) {
			s.add(spec, line, s.callKind(before))
		}
		return
	}
	typeOnly := false
	var name jsToken // the default import
	if s.is("type") || s.is("typeof") {
		name = s.tok
		s.advance()
		typeOnly = s.tok.kind == jsWord && !s.is("from") || s.is("{") || s.is("*")
		if s.is("from") { // a default import called type, or a type called from
			s.advance()
			if s.tok.kind == jsString {
				s.add(s.lex.unquote(s.tok), line, "")
				s.advance()
				return
			}
			if typeOnly = s.is("from") || s.is("=") || s.is(","); !typeOnly {
				return
			}
		}
	} else if s.is("defer") || s.is("source") {
		name = s.tok
		s.advance()
	}
	if s.tok.kind == jsWord && !s.is("from") {
		name = s.tok
		s.advance()
	}
	if name.kind == jsWord && s.is("=") {
		s.advance()
		if !s.is("require") {
			return
		}
		s.advance()
		if spec, ok := s.callArgument(); ok {
			s.addTyped(spec, line, "", typeOnly)
		}
		return
	}
	if s.is(",") {
		s.advance()
	}
	allTypes := false
	switch {
	case s.is("*"):
		s.advance()
		if !s.is("as") {
			return
		}
		s.advance()
		s.advance()
	case s.is("{"):
		var ok bool
		if allTypes, ok = s.specifiers(); !ok {
			return
		}
		allTypes = allTypes && name.kind != jsWord
	case name.kind != jsWord:
		return
	}
	s.from(line, "", typeOnly || allTypes)
}

// from reads from "x".
func (s *jsScanner) from(line int, kind Kind, typeOnly bool) {
	if !s.is("from") {
		return
	}
	s.advance()
	if s.tok.kind != jsString {
		return
	}
	s.addTyped(s.lex.unquote(s.tok), line, kind, typeOnly)
	s.advance()
}

func (s *jsScanner) addTyped(spec string, line int, kind Kind, typeOnly bool) {
	if typeOnly {
		kind = TypeOnly
	}
	s.add(spec, line, kind)
}

// specifiers reads {a, type b, c as d} and says whether all of them are types.
func (s *jsScanner) specifiers() (allTypes, ok bool) {
	s.advance()
	types, values := 0, 0
	for {
		words, first := 0, s.tok
		for s.tok.kind == jsWord || s.tok.kind == jsString {
			words++
			s.advance()
		}
		switch {
		case words == 0:
		case (s.lex.is(first, "type") || s.lex.is(first, "typeof")) && words%2 == 0: // type a, type a as b
			types++
		default:
			values++
		}
		switch {
		case s.is(","):
			s.advance()
		case s.is("}"):
			s.advance()
			return types > 0 && values == 0, true
		default:
			return false, false
		}
	}
}

// callKind is the kind of an import("x") that was just read up to its ")" or ",": in a type it is gone after compilation.
func (s *jsScanner) callKind(before jsToken) Kind {
	if s.lex.is(before, "typeof") {
		return TypeOnly
	}
	if !s.is(")") || s.lex.is(before, "await") {
		return Dynamic
	}
	s.advance()
	if !s.is(".") {
		return Dynamic
	}
	s.advance()
	// A promise has three members; whatever else is taken from it is taken from a module's types.
	if s.tok.kind == jsWord && !s.is("then") && !s.is("catch") && !s.is("finally") {
		return TypeOnly
	}
	return Dynamic
}

// export reads what follows the word export, as far as it is a re-export.
func (s *jsScanner) export(line int) {
	typeOnly := false
	if s.is("type") {
		s.advance()
		if typeOnly = s.is("{") || s.is("*"); !typeOnly {
			return
		}
	}
	switch {
	case s.is("*"):
		s.advance()
		if s.is("as") {
			s.advance()
			s.advance()
		}
		s.from(line, Reexport, typeOnly)
	case s.is("{"):
		allTypes, ok := s.specifiers()
		if ok {
			s.from(line, Reexport, typeOnly || allTypes)
		}
	}
}

// reference reads /// <reference path="x" />, whose path is relative to the file also without a leading dot.
func (s *jsScanner) reference() {
	line := s.tok.line
	comment := s.lex.text[s.tok.start:s.tok.end]
	s.advance()
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(comment, "/ \t"), []byte("<reference"))
	if !ok {
		return
	}
	i := bytes.Index(rest, []byte("path"))
	if i < 0 {
		return
	}
	rest = bytes.TrimLeft(rest[i+len("path"):], "= \t")
	if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return
	}
	path, _, ok := bytes.Cut(rest[1:], rest[:1])
	if !ok || len(path) == 0 {
		return
	}
	spec := strings.ToValidUTF8(string(path), "\uFFFD")
	if spec[0] != '.' && spec[0] != '/' {
		spec = "./" + spec
	}
	s.add(spec, line, TypeOnly)
}
