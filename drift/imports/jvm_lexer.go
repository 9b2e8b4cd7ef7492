package imports

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// jvmKind is the kind of a token of Java, Kotlin or Scala.
type jvmKind byte

const (
	jvmEOF jvmKind = iota
	jvmWord
	jvmLiteral // a string (or what stands before, between or behind its substitutions), a character, a number
	jvmPunct   // one byte of punctuation; the ends of a substitution in a string count as { and }
)

// jvmToken is one token. Comments and white space are not tokens.
type jvmToken struct {
	kind       jvmKind
	start, end int // offsets into the text
	line       int
	indent     int // bytes before the first token of its line
}

// jvmLexer splits Java, Kotlin or Scala into tokens in one pass.
type jvmLexer struct {
	text          []byte
	pos           int
	line          int
	lineStart     int // offset
	indent        int // of the current line; -1 before its first token
	nested        bool
	substitutions func(l *jvmLexer, quote int) bool // whether the string whose quote is at an offset has ${…}
	stack         []jvmFrame
}

// jvmFrame is an open brace; of a substitution it says how its string goes on.
type jvmFrame struct{ inString, raw bool }

// next gives the next token; jvmEOF at the end and ever after.
func (l *jvmLexer) next() jvmToken {
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		switch {
		case c == '\n':
			l.pos++
			l.newLine()
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == ';':
			// A semicolon separates like the end of a line, and nothing here needs to see it.
			l.pos++
			continue
		case c == '/' && l.at(l.pos+1) == '/' || c == '#' && l.pos == 0:
			if i := bytes.IndexByte(l.text[l.pos:], '\n'); i >= 0 {
				l.pos += i
			} else {
				l.pos = len(l.text)
			}
			continue
		case c == '/' && l.at(l.pos+1) == '*':
			l.comment()
			continue
		}
		if l.indent < 0 {
			l.indent = l.pos - l.lineStart
		}
		return l.token(c)
	}
	return jvmToken{jvmEOF, len(l.text), len(l.text), l.line, l.indent}
}

func (l *jvmLexer) newLine() {
	l.line++
	l.lineStart = l.pos
	l.indent = -1
}

func (l *jvmLexer) at(pos int) byte {
	if pos < len(l.text) {
		return l.text[pos]
	}
	return 0
}

func (l *jvmLexer) value(t jvmToken) string {
	return strings.ToValidUTF8(strings.Trim(string(l.text[t.start:t.end]), "`"), "\uFFFD")
}

// is says whether a token is this word or punctuation.
func (l *jvmLexer) is(t jvmToken, text string) bool {
	return (t.kind == jvmWord || t.kind == jvmPunct) && string(l.text[t.start:t.end]) == text
}

func (l *jvmLexer) comment() {
	depth := 0
	for ; l.pos < len(l.text); l.pos++ {
		switch c := l.text[l.pos]; {
		case c == '\n':
			l.line++
			l.lineStart = l.pos + 1
			l.indent = -1
		case c == '/' && l.at(l.pos+1) == '*' && (depth == 0 || l.nested):
			depth++
			l.pos++
		case c == '*' && l.at(l.pos+1) == '/':
			l.pos++
			if depth--; depth == 0 {
				l.pos++
				return
			}
		}
	}
}

func (l *jvmLexer) token(c byte) jvmToken {
	t := jvmToken{jvmPunct, l.pos, l.pos + 1, l.line, l.indent}
	switch {
	case isJVMWordByte(c):
		t.kind = jvmWord
		if c >= '0' && c <= '9' {
			t.kind = jvmLiteral
		}
		for l.pos++; l.pos < len(l.text) && isJVMWordByte(l.text[l.pos]); l.pos++ {
		}
		t.end = l.pos
		return t
	case c == '`':
		l.pos++
		if i := bytes.IndexAny(l.text[l.pos:], "`\n"); i >= 0 && l.text[l.pos+i] == '`' {
			l.pos += i + 1
			t.kind = jvmWord
		}
		t.end = l.pos
		return t
	case c == '"':
		return l.openString(t)
	case c == '\'':
		l.character()
		t.kind, t.end = jvmLiteral, l.pos
		return t
	case c == '{':
		l.stack = append(l.stack, jvmFrame{})
	case c == '}' && len(l.stack) > 0:
		frame := l.stack[len(l.stack)-1]
		l.stack = l.stack[:len(l.stack)-1]
		if frame.inString {
			l.pos++
			if l.readString(frame.raw, true) {
				t.kind = jvmLiteral // from one substitution to the next
			}
			return t
		}
	}
	l.pos++
	return t
}

// openString reads a string from its opening quotes.
func (l *jvmLexer) openString(t jvmToken) jvmToken {
	substitutions := l.substitutions != nil && l.substitutions(l, l.pos)
	raw := bytes.HasPrefix(l.text[l.pos:], []byte(`"""`))
	l.pos++
	if raw {
		l.pos += 2
	}
	t.kind = jvmLiteral
	if l.readString(raw, substitutions) {
		t.kind = jvmPunct
		t.start, t.end = l.pos-1, l.pos // the { of the substitution
		return t
	}
	t.end = l.pos
	return t
}

// readString reads on within a string, up to its end or the next substitution: then it gives true and stands behind the {.
// A string of one line that is not closed ends with its line.
func (l *jvmLexer) readString(raw, substitutions bool) bool {
	for ; l.pos < len(l.text); l.pos++ {
		switch l.text[l.pos] {
		case '\n':
			if !raw {
				return false
			}
			l.line++
			l.lineStart = l.pos + 1
		case '\\':
			// Kotlin and Scala know no escapes in raw strings, but there a \ before quotes is as good as never.
			if l.at(l.pos+1) != '\n' && (!raw || l.substitutions == nil) {
				l.pos++
			}
		case '$':
			if substitutions && l.at(l.pos+1) == '{' {
				l.pos += 2
				l.stack = append(l.stack, jvmFrame{inString: true, raw: raw})
				return true
			}
		case '"':
			if !raw {
				l.pos++
				return false
			}
			if bytes.HasPrefix(l.text[l.pos:], []byte(`"""`)) {
				for l.pos += 3; l.at(l.pos) == '"'; l.pos++ { // quotes right before the closing ones belong to the string
				}
				return false
			}
		}
	}
	l.pos = len(l.text)
	return false
}

// character moves behind a character literal, or behind the ' that begins none (a symbol, a quotation or a type in Scala).
func (l *jvmLexer) character() {
	l.pos++
	if l.at(l.pos) == '\\' {
		const longest = 12
		for i := l.pos + 2; i < min(len(l.text), l.pos+longest); i++ {
			if l.text[i] == '\'' {
				l.pos = i + 1
				return
			}
		}
		return
	}
	_, size := utf8.DecodeRune(l.text[l.pos:])
	if size > 0 && l.at(l.pos) != '\n' && l.at(l.pos+size) == '\'' {
		l.pos += size + 1
	}
}

func isJVMWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= utf8.RuneSelf
}

// jvmScanner is a jvmLexer with one token of look-ahead and a count of open brackets.
type jvmScanner struct {
	lex    jvmLexer
	before jvmToken // the token before tok
	tok    jvmToken
	depth  int // brackets of any kind open before tok
	facts  Facts
}

func (s *jvmScanner) advance() {
	if s.tok.kind == jvmPunct {
		switch s.lex.text[s.tok.start] {
		case '{', '(', '[':
			s.depth++
		case '}', ')', ']':
			s.depth = max(0, s.depth-1)
		}
	}
	s.before = s.tok
	s.tok = s.lex.next()
}

func (s *jvmScanner) is(text string) bool { return s.lex.is(s.tok, text) }

// dotted reads a.b.c. A last dot that no word follows is read too: then more is true.
func (s *jvmScanner) dotted() (name string, more bool) {
	var b strings.Builder
	for s.tok.kind == jvmWord {
		b.WriteString(s.lex.value(s.tok))
		s.advance()
		if !s.is(".") {
			return b.String(), false
		}
		s.advance()
		if s.tok.kind == jvmWord {
			b.WriteByte('.')
		}
	}
	return b.String(), b.Len() > 0
}

func (s *jvmScanner) declare(name string) { s.facts.Types = append(s.facts.Types, name) }

func (s *jvmScanner) add(spec string, line int) {
	s.facts.Imports = append(s.facts.Imports, Import{Spec: spec, Line: line})
}
