package imports

import "bytes"

// beginsJSX says whether the < at the position opens a JSX element, in a place where an operand may begin. In TypeScript it
// may as well open a type assertion or the type parameters of an arrow function; there is no other way to tell than that an
// element has attributes or a closing tag. On true the position is behind the name and the tag is open.
func (l *jsLexer) beginsJSX() bool {
	from := l.pos + 1
	to := from
	for to < len(l.text) && (isJSWordByte(l.text[to]) || l.text[to] == '.' || l.text[to] == '-' || l.text[to] == ':') {
		to++
	}
	if to > from && l.text[from] >= '0' && l.text[from] <= '9' {
		return false
	}
	after := to
	for after < len(l.text) && (l.text[after] == ' ' || l.text[after] == '\t' || l.text[after] == '\r' || l.text[after] == '\n') {
		after++
	}
	switch c := l.at(after); {
	case c == '>':
		if !l.closes(from, to) {
			return false
		}
	case to == from:
		return false
	case c == '/':
		if next := l.at(after + 1); next != '>' && next != '*' && next != '/' {
			return false
		}
	case c == '{':
	case isJSWordByte(c):
		switch string(l.text[from:to]) {
		case "const", "readonly", "keyof", "typeof", "unique", "infer", "in", "out", "new", "abstract":
			return false
		}
		if after == to || bytes.HasPrefix(l.text[after:], []byte("extends ")) {
			return false
		}
	default:
		return false
	}
	l.openTag(from, to)
	return true
}

// closes says whether </name follows further down.
func (l *jsLexer) closes(from, to int) bool {
	if l.closers == nil {
		l.closers = make(map[string]int)
		for pos := 0; ; {
			i := bytes.Index(l.text[pos:], []byte("</"))
			if i < 0 {
				break
			}
			start := pos + i + 2
			for start < len(l.text) && (l.text[start] == ' ' || l.text[start] == '\n') {
				start++
			}
			end := start
			for end < len(l.text) && (isJSWordByte(l.text[end]) || l.text[end] == '.' || l.text[end] == '-' || l.text[end] == ':') {
				end++
			}
			l.closers[string(l.text[start:end])] = start
			pos = end
		}
	}
	return l.closers[string(l.text[from:to])] > to
}

func (l *jsLexer) openTag(from, to int) {
	l.stack = append(l.stack, jsFrame{kind: jsxTag, function: l.inFunction(), nameFrom: from, nameTo: to})
	l.moveTo(to)
	l.operand = true
}

// scanTag reads one thing within <name …>: attribute names and their values are of no interest, but { opens an expression.
func (l *jsLexer) scanTag(c byte) (jsToken, bool) {
	t := jsToken{jsPunct, l.pos, l.pos + 1, l.line}
	switch c {
	case '{':
		l.pos++
		l.push(jsxExpression, l.inFunction())
		l.operand = true
		return t, true
	case '"', '\'': // no escapes, and lines may end within
		end := len(l.text)
		if i := bytes.IndexByte(l.text[l.pos+1:], c); i >= 0 {
			end = l.pos + 1 + i + 1
		}
		l.moveTo(end)
		return t, false
	case '>':
		l.pos++
		frame := l.stack[len(l.stack)-1]
		l.pop()
		if l.at(l.pos-2) == '/' || !l.closes(frame.nameFrom, frame.nameTo) {
			l.operand = false
			t.kind = jsOperand
			return t, true
		}
		l.push(jsxChildren, frame.function)
		return t, true
	case '<':
		l.operand = true
		if l.beginsJSX() { // an element as the value of an attribute
			return t, true
		}
		l.typeArguments()
		return t, false
	}
	l.pos++
	return t, false
}

// typeArguments moves behind the <…> of <Name<T> …>.
func (l *jsLexer) typeArguments() {
	depth := 0
	for ; l.pos < len(l.text); l.pos++ {
		switch l.text[l.pos] {
		case '\n':
			l.line++
		case '<':
			depth++
		case '>':
			if l.at(l.pos-1) == '=' {
				continue
			}
			if depth--; depth == 0 {
				l.pos++
				return
			}
		}
	}
}

// scanChildren reads on within the text of an element, up to an expression or a tag.
func (l *jsLexer) scanChildren() (jsToken, bool) {
	for ; l.pos < len(l.text); l.pos++ {
		switch l.text[l.pos] {
		case '\n':
			l.line++
		case '{':
			t := jsToken{jsPunct, l.pos, l.pos + 1, l.line}
			l.pos++
			l.push(jsxExpression, l.inFunction())
			l.operand = true
			return t, true
		case '<':
			t := jsToken{jsPunct, l.pos, l.pos + 1, l.line}
			if l.at(l.pos+1) == '/' {
				end := len(l.text)
				if i := bytes.IndexByte(l.text[l.pos:], '>'); i >= 0 {
					end = l.pos + i + 1
				}
				l.moveTo(end)
				l.pop()
				l.operand = false
				t.kind = jsOperand
				return t, true
			}
			from := l.pos + 1
			to := from
			for to < len(l.text) && (isJSWordByte(l.text[to]) || l.text[to] == '.' || l.text[to] == '-' || l.text[to] == ':') {
				to++
			}
			l.openTag(from, to)
			return t, true
		}
	}
	return jsToken{kind: jsEOF, start: len(l.text), end: len(l.text), line: l.line}, true
}
