package imports

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsKind is the kind of a token of TypeScript or JavaScript.
type jsKind byte

const (
	jsEOF      jsKind = iota
	jsWord            // identifier or keyword
	jsString          // string literal, or template literal without substitution
	jsOperand         // number, regular expression, the end of a template with substitutions or of a JSX element
	jsPunct           // one byte of punctuation; => ++ -- are one token
	jsTripleSl        // a /// comment before the first statement
)

// jsToken is one token. Comments and white space are not tokens, and neither is the text of JSX elements.
type jsToken struct {
	kind       jsKind
	start, end int // offsets into the text
	line       int
}

// jsFrame is one open bracket, template substitution or JSX construct.
type jsFrame struct {
	kind     jsFrameKind
	function bool // within the body of a function
	nameFrom int  // of a JSX tag: its name, text[nameFrom:nameTo]
	nameTo   int
}

type jsFrameKind byte

const (
	jsBlock       jsFrameKind = iota // { of statements or of a class
	jsObject                         // { of an expression or a type
	jsParen                          // (
	jsControl                        // ( of if, for, while, with, switch and catch
	jsBracket                        // [
	jsTemplate                       // ${ within a template literal
	jsxTag                           // within <name …>
	jsxChildren                      // between <name> and </name>
	jsxExpression                    // { within a JSX tag or its children
)

// jsLexer splits TypeScript or JavaScript into tokens in one pass. It knows regular expressions from divisions and JSX from
// comparisons by the tokens before them, which is right for all but contrived programs; a wrong guess costs at most the rest
// of a line, or of an element that is closed further down.
type jsLexer struct {
	text    []byte
	pos     int
	line    int
	stack   []jsFrame
	operand bool    // an operand may begin here, so that / begins a regular expression and < begins JSX
	started bool    // a token that is not a comment was seen
	prev    jsToken // the last token
	// returnType is the depth of the stack at which ")" ":" was seen: a { at that depth opens a function; -1 for none.
	returnType int
	// closers holds, per name, the last offset of </name; made when the first candidate for JSX is met.
	closers map[string]int
}

func newJSLexer(text []byte, line int) *jsLexer {
	l := &jsLexer{text: text, line: line, operand: true, returnType: -1}
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		l.pos = 3
	}
	if bytes.HasPrefix(text[l.pos:], []byte("#!")) {
		l.skipLine()
	}
	return l
}

// inFunction says whether the lexer stands within the body of a function.
func (l *jsLexer) inFunction() bool {
	return len(l.stack) > 0 && l.stack[len(l.stack)-1].function
}

func (l *jsLexer) top() (jsFrameKind, bool) {
	if len(l.stack) == 0 {
		return 0, false
	}
	return l.stack[len(l.stack)-1].kind, true
}

func (l *jsLexer) push(kind jsFrameKind, function bool) {
	l.stack = append(l.stack, jsFrame{kind: kind, function: function})
}

func (l *jsLexer) pop() { l.stack = l.stack[:len(l.stack)-1] }

func (l *jsLexer) skipLine() {
	if i := bytes.IndexByte(l.text[l.pos:], '\n'); i >= 0 {
		l.pos += i
	} else {
		l.pos = len(l.text)
	}
}

// moveTo moves to an offset further on and counts the lines between.
func (l *jsLexer) moveTo(pos int) {
	l.line += bytes.Count(l.text[l.pos:pos], []byte{'\n'})
	l.pos = pos
}

func (l *jsLexer) at(pos int) byte {
	if pos < len(l.text) {
		return l.text[pos]
	}
	return 0
}

// is says whether a token is this word or punctuation.
func (l *jsLexer) is(t jsToken, text string) bool {
	return (t.kind == jsWord || t.kind == jsPunct) && string(l.text[t.start:t.end]) == text
}

// next gives the next token; jsEOF at the end and ever after.
func (l *jsLexer) next() jsToken {
	for {
		t, ok := l.scan()
		if !ok {
			continue
		}
		if t.kind != jsTripleSl {
			l.started = true
			l.prev = t
		}
		return t
	}
}

// scan reads one token, or something that is none: then ok is false and the position has moved.
func (l *jsLexer) scan() (t jsToken, ok bool) {
	if kind, open := l.top(); open && kind == jsxChildren {
		return l.scanChildren()
	}
	for l.pos < len(l.text) {
		switch l.text[l.pos] {
		case '\n':
			l.line++
			l.pos++
			continue
		case ' ', '\t', '\r', '\f', '\v':
			l.pos++
			continue
		}
		break
	}
	if l.pos >= len(l.text) {
		return jsToken{kind: jsEOF, start: len(l.text), end: len(l.text), line: l.line}, true
	}
	c := l.text[l.pos]
	if c == '/' {
		switch l.at(l.pos + 1) {
		case '/':
			start := l.pos
			l.skipLine()
			if !l.started && bytes.HasPrefix(l.text[start:l.pos], []byte("///")) {
				return jsToken{jsTripleSl, start, l.pos, l.line}, true
			}
			return t, false
		case '*':
			end := len(l.text)
			if i := bytes.Index(l.text[l.pos+2:], []byte("*/")); i >= 0 {
				end = l.pos + 2 + i + 2
			}
			l.moveTo(end)
			return t, false
		}
	}
	if kind, open := l.top(); open && kind == jsxTag {
		return l.scanTag(c)
	}
	return l.scanToken(c)
}

func (l *jsLexer) scanToken(c byte) (jsToken, bool) {
	start, line := l.pos, l.line
	switch {
	case isJSWordByte(c) && (c < '0' || c > '9'):
		for l.pos++; l.pos < len(l.text) && isJSWordByte(l.text[l.pos]); l.pos++ {
		}
		t := jsToken{jsWord, start, l.pos, line}
		l.operand = !l.afterDot() && isOperandKeyword(l.text[start:l.pos])
		return t, true
	case c >= '0' && c <= '9':
		for l.pos++; l.pos < len(l.text) && (isJSWordByte(l.text[l.pos]) || l.text[l.pos] == '.'); l.pos++ {
		}
		l.operand = false
		return jsToken{jsOperand, start, l.pos, line}, true
	case c == '"' || c == '\'':
		l.quoted(c)
		l.operand = false
		return jsToken{jsString, start, l.pos, line}, true
	case c == '`':
		l.pos++
		return l.template(start, line)
	case c == '/' && l.operand:
		l.regexp()
		l.operand = false
		return jsToken{jsOperand, start, l.pos, line}, true
	case c == '<' && l.operand && !l.is(l.prev, "}") && l.beginsJSX():
		return jsToken{jsPunct, start, start + 1, line}, true
	}
	return l.punctuation(c), true
}

// quoted moves behind a string literal. A string that is not closed ends with its line.
func (l *jsLexer) quoted(quote byte) {
	for l.pos++; l.pos < len(l.text); l.pos++ {
		switch l.text[l.pos] {
		case quote:
			l.pos++
			return
		case '\n':
			return
		case '\\':
			l.pos++
			if l.at(l.pos) == '\r' && l.at(l.pos+1) == '\n' {
				l.pos++
			}
			if l.at(l.pos) == '\n' {
				l.line++
			}
		}
	}
	l.pos = len(l.text)
}

// template reads on within a template literal, whose literal or last substitution ended just before the position.
func (l *jsLexer) template(start, line int) (jsToken, bool) {
	for ; l.pos < len(l.text); l.pos++ {
		switch l.text[l.pos] {
		case '\n':
			l.line++
		case '\\':
			l.pos++
			if l.at(l.pos) == '\n' {
				l.line++
			}
		case '`':
			l.pos++
			l.operand = false
			kind := jsOperand
			if l.at(start) == '`' {
				kind = jsString
			}
			return jsToken{kind, start, l.pos, line}, true
		case '$':
			if l.at(l.pos+1) == '{' {
				l.pos += 2
				l.push(jsTemplate, l.inFunction())
				l.operand = true
				// The opening of a substitution counts as punctuation, so that no statement is read across it.
				return jsToken{jsPunct, l.pos - 2, l.pos, line}, true
			}
		}
	}
	l.pos = len(l.text)
	return jsToken{jsOperand, start, l.pos, line}, true
}

// regexp moves behind a regular expression and its flags; one that is not closed ends with its line.
func (l *jsLexer) regexp() {
	class := false
	for l.pos++; l.pos < len(l.text); l.pos++ {
		switch l.text[l.pos] {
		case '\n':
			return
		case '\\':
			if l.at(l.pos+1) != '\n' {
				l.pos++
			}
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if class {
				continue
			}
			for l.pos++; l.pos < len(l.text) && isJSWordByte(l.text[l.pos]); l.pos++ {
			}
			return
		}
	}
	l.pos = len(l.text)
}

func (l *jsLexer) punctuation(c byte) jsToken {
	t := jsToken{jsPunct, l.pos, l.pos + 1, l.line}
	next := l.at(l.pos + 1)
	operand := true
	switch c {
	case '{':
		object := l.opensObject()
		function := l.inFunction() || !object && l.opensFunction()
		if object {
			l.push(jsObject, function)
		} else {
			l.returnType = -1
			l.push(jsBlock, function)
		}
	case '(':
		if l.prev.kind == jsWord && isControlKeyword(l.text[l.prev.start:l.prev.end]) {
			l.push(jsControl, l.inFunction())
		} else {
			l.push(jsParen, l.inFunction())
		}
	case '[':
		l.push(jsBracket, l.inFunction())
	case '}':
		return l.closeBrace(t)
	case ')', ']':
		operand = false
		if kind, open := l.top(); open && (kind == jsParen || kind == jsControl || kind == jsBracket) {
			operand = kind == jsControl
			l.pop()
		}
	case ':':
		if l.is(l.prev, ")") {
			l.returnType = len(l.stack)
		}
	case ';':
		l.returnType = -1
	case '=':
		if next == '>' {
			t.end++
		}
		l.returnType = -1
	case '+', '-':
		if next == c {
			t.end++
			operand = l.operand // postfix after an operand, prefix before one
		}
	case '!':
		operand = l.operand || next == '=' // a postfix ! asserts in TypeScript
	}
	l.pos = t.end
	l.operand = operand
	return t
}

// closeBrace closes a brace. That of a substitution leads back into its template.
func (l *jsLexer) closeBrace(t jsToken) jsToken {
	l.pos = t.end
	l.operand = true
	// A bracket left open within the braces does not hide them.
	for len(l.stack) > 0 {
		kind, _ := l.top()
		if kind == jsxTag || kind == jsxChildren {
			return t
		}
		l.pop()
		if kind == jsTemplate {
			back, _ := l.template(t.start, t.line)
			return back
		}
		if kind == jsObject || kind == jsxExpression {
			l.operand = false
			return t
		}
		if kind == jsBlock {
			return t
		}
	}
	return t
}

// opensObject says whether a { at the position begins an object or a type rather than statements.
func (l *jsLexer) opensObject() bool {
	if !l.operand || l.prev.kind == jsEOF || l.returnType == len(l.stack) && (l.is(l.prev, ">") || l.is(l.prev, "}")) {
		return false
	}
	switch {
	case l.prev.kind != jsWord && l.prev.kind != jsPunct:
		return true
	case l.is(l.prev, "{"):
		kind, _ := l.top()
		return kind != jsBlock
	}
	switch string(l.text[l.prev.start:l.prev.end]) {
	case ";", "}", "=>", ")", "else", "do":
		return false
	}
	return true
}

// opensFunction says whether a { that begins statements begins the body of a function.
func (l *jsLexer) opensFunction() bool {
	if l.returnType == len(l.stack) {
		return true
	}
	// After the ) of if and the like an operand may follow, after that of a parameter list none.
	return l.is(l.prev, "=>") || l.is(l.prev, ")") && !l.operand
}

func (l *jsLexer) afterDot() bool {
	return l.prev.kind == jsPunct && l.prev.end-l.prev.start == 1 && l.text[l.prev.start] == '.' &&
		(l.prev.start < 2 || string(l.text[l.prev.start-2:l.prev.start]) != "..") // a spread: ...require("x")
}

func isJSWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '#' ||
		c >= utf8.RuneSelf
}

// isOperandKeyword says whether an operand follows the keyword.
func isOperandKeyword(word []byte) bool {
	switch string(word) {
	case "return", "typeof", "case", "do", "else", "in", "instanceof", "new", "void", "delete", "throw", "yield", "await",
		"default", "of", "extends":
		return true
	}
	return false
}

func isControlKeyword(word []byte) bool {
	switch string(word) {
	case "if", "for", "while", "with", "switch", "catch", "await": // for await (
		return true
	}
	return false
}

// unquote gives the value of a string token.
func (l *jsLexer) unquote(t jsToken) string {
	raw := l.text[t.start:t.end]
	quote := raw[0]
	raw = raw[1:]
	if n := len(raw); n > 0 && raw[n-1] == quote {
		raw = raw[:n-1]
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			b.WriteByte(raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '\n', '\r': // a continued line
		case 'x', 'u':
			r, n := jsEscape(raw[i:])
			b.WriteRune(r)
			i += n - 1
		default:
			b.WriteByte(raw[i])
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// jsEscape reads x41, u0041 or u{41} and gives the rune and the bytes it took.
func jsEscape(s []byte) (rune, int) {
	digits, from := 4, 1
	if s[0] == 'x' {
		digits = 2
	} else if len(s) > 1 && s[1] == '{' {
		from = 2
		digits = bytes.IndexByte(s, '}') - from
	}
	if digits <= 0 || from+digits > len(s) {
		return rune(s[0]), 1
	}
	n, err := strconv.ParseInt(string(s[from:from+digits]), 16, 32)
	if err != nil {
		return rune(s[0]), 1
	}
	if from == 2 {
		digits++
	}
	return rune(n), from + digits
}
