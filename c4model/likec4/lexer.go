package likec4

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

type kind int

const (
	end    kind = iota // of the file
	word               // name or keyword
	text               // between quotes
	tag                // text is the name behind the #
	uri                // address or path, up to the next blank
	number             // with its unit, such as 10%
	mark               // anything else: a brace, an arrow, a single sign
)

// token is the smallest piece of the language; blanks and comments lie between tokens and mean nothing.
type token struct {
	kind kind
	text string
	line int
	// sticky tells of a dot that no blank separates from the name before it: "a.b" is a path, "a .b" is a relationship
	// of the kind b.
	sticky bool
}

func (t token) is(text string) bool { return t.kind == mark && t.text == text }

func (t token) word(text string) bool { return t.kind == word && t.text == text }

// show gives the token as a message names it.
func (t token) show() string {
	switch t.kind {
	case end:
		return "the end of the file"
	case text:
		return "the text " + c4model.Quote(t.text)
	case tag:
		return c4model.Quote("#" + t.text)
	case word, uri, number, mark:
	}
	return c4model.Quote(t.text)
}

// lexer gives the tokens of one file.
type lexer struct {
	file string
	rest string
	line int
	last rune // the sign just before rest
}

func newLexer(file, content string) *lexer { return &lexer{file: file, rest: content, line: 1} }

func (l *lexer) at(line int) c4model.Position { return c4model.Position{File: l.file, Line: line} }

// The terminals of LikeC4's grammar. A name may hold hyphens; one that would end in the arrow "->" stops before it.
var (
	wordPattern   = regexp.MustCompile(`^(?:[A-Za-z]|_+[A-Za-z0-9])[-\w]*`)
	iconPattern   = regexp.MustCompile(`^(?:aws|azure|bootstrap|gcp|tech):[-\w]+`)
	schemePattern = regexp.MustCompile(`^\w+://[^\s]+`)
	pathPattern   = regexp.MustCompile(`^(?:\.{0,2}/[^\s/*][^\s]*|@[-\w]*/[^\s]+)`)
	tagPattern    = regexp.MustCompile(`^#[-\w]+`)
	numberPattern = regexp.MustCompile(`^\d[\w.]*%?`)
)

var marks = []string{"<->", "->", "<-", "-["}

// take removes n bytes from the rest and counts their lines.
func (l *lexer) take(n int) string {
	taken := l.rest[:n]
	l.line += strings.Count(taken, "\n")
	if n > 0 {
		l.last, _ = utf8.DecodeLastRuneInString(taken)
	}
	l.rest = l.rest[n:]
	return taken
}

// next gives the next token; it fails only on a comment or text that is not closed.
func (l *lexer) next() (token, error) {
	if err := l.blanks(); err != nil {
		return token{}, err
	}
	t := token{line: l.line}
	switch {
	case l.rest == "":
		return t, nil
	case strings.HasPrefix(l.rest, `'''`) || strings.HasPrefix(l.rest, `"""`):
		return l.block(t)
	case l.rest[0] == '"' || l.rest[0] == '\'':
		return l.quoted(t)
	}
	for _, terminal := range []struct {
		kind    kind
		pattern *regexp.Regexp
	}{{uri, schemePattern}, {word, iconPattern}, {word, wordPattern}, {uri, pathPattern}, {tag, tagPattern}, {number, numberPattern}} {
		n := len(terminal.pattern.FindString(l.rest))
		if n == 0 {
			continue
		}
		if terminal.kind == word && l.rest[n-1] == '-' && strings.HasPrefix(l.rest[n:], ">") {
			n--
		}
		t.kind, t.text = terminal.kind, l.take(n)
		t.text = strings.TrimPrefix(t.text, "#")
		return t, nil
	}
	t.kind = mark
	for _, m := range marks {
		if strings.HasPrefix(l.rest, m) {
			t.text = l.take(len(m))
			return t, nil
		}
	}
	t.sticky = l.rest[0] == '.' && (l.last == '_' || l.last >= '0' && l.last <= '9' || l.last >= 'a' && l.last <= 'z' || l.last >= 'A' && l.last <= 'Z')
	_, size := utf8.DecodeRuneInString(l.rest)
	t.text = l.take(size)
	return t, nil
}

// blanks passes over blanks and comments.
func (l *lexer) blanks() error {
	for {
		l.take(len(l.rest) - len(strings.TrimLeft(l.rest, " \t\r\n\f\v\u00a0\ufeff")))
		switch {
		case strings.HasPrefix(l.rest, "//"):
			n := strings.IndexByte(l.rest, '\n')
			if n < 0 {
				n = len(l.rest)
			}
			l.take(n)
		case strings.HasPrefix(l.rest, "/*"):
			n := strings.Index(l.rest[len("/*"):], "*/")
			if n < 0 {
				return problem.Invalidf("", "%sfound the end of the file inside a comment; expected */", l.at(l.line)).
					Fix("close the comment that starts here with */")
			}
			l.take(n + len("/**/"))
		default:
			return nil
		}
	}
}

// block reads a text between three quotes, in which nothing is escaped.
func (l *lexer) block(t token) (token, error) {
	quotes := l.rest[:3]
	n := strings.Index(l.rest[3:], quotes)
	if n < 0 {
		return token{}, l.unclosed(quotes)
	}
	t.kind, t.text = text, l.rest[3:3+n]
	l.take(n + 2*len(quotes))
	return t, nil
}

func (l *lexer) quoted(t token) (token, error) {
	var b strings.Builder
	for i := 1; i < len(l.rest); i++ {
		switch c := l.rest[i]; {
		case c == l.rest[0]:
			t.kind, t.text = text, b.String()
			l.take(i + 1)
			return t, nil
		case c == '\\' && i+1 < len(l.rest):
			i++
			switch l.rest[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				b.WriteByte(l.rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return token{}, l.unclosed(l.rest[:1])
}

func (l *lexer) unclosed(quotes string) error {
	return problem.Invalidf("", "%sfound the end of the file inside a text; expected %s", l.at(l.line), quotes).
		Fix("close the text that starts here")
}
