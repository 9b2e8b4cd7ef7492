package structurizr

import (
	"strings"
	"unicode"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// token is one word of a line. A quoted token is never a brace.
type token struct {
	text   string
	quoted bool
}

func (t token) is(punctuation string) bool { return !t.quoted && t.text == punctuation }

// keyword gives the token as keywords and identifiers are compared: without case.
func (t token) keyword() string { return strings.ToLower(t.text) }

// logicalLine is what the language calls a line: continuation lines joined, a text block as one token.
type logicalLine struct {
	at       c4model.Position
	tokens   []token // at least one
	unclosed bool    // a quoted token runs to the end of the line without its closing quote
}

// lexer gives the logical lines of one file, without blank lines and comments.
type lexer struct {
	file string
	rest string
	line int // number of the last physical line taken
	done bool
}

func newLexer(file, text string) *lexer { return &lexer{file: file, rest: text} }

// physical takes the next physical line without its ending.
func (l *lexer) physical() (string, bool) {
	if l.done {
		return "", false
	}
	line, rest, more := strings.Cut(l.rest, "\n")
	l.rest, l.done = rest, !more
	l.line++
	return strings.TrimSuffix(line, "\r"), true
}

func (l *lexer) at(line int) c4model.Position { return c4model.Position{File: l.file, Line: line} }

// next gives the next logical line; ok is false at the end of the file.
func (l *lexer) next() (line logicalLine, ok bool, err error) {
	for {
		text, more := l.physical()
		if !more {
			return logicalLine{}, false, nil
		}
		start := l.line
		trimmed := strings.TrimSpace(text)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "#"):
			continue
		case strings.HasPrefix(trimmed, "/*"):
			if err := l.skipComment(trimmed, start); err != nil {
				return logicalLine{}, false, err
			}
			continue
		}
		line, err := l.join(text, start)
		if err != nil {
			return logicalLine{}, false, err
		}
		if len(line.tokens) == 0 { // a lone continuation mark
			continue
		}
		return line, true, nil
	}
}

// skipComment passes over a block comment, which ends with the first line that ends in the closing mark.
func (l *lexer) skipComment(first string, start int) error {
	if len(first) >= len("/**/") && strings.HasSuffix(first, "*/") {
		return nil
	}
	for {
		text, more := l.physical()
		if !more {
			return problem.Invalidf("", "%sfound the end of the file inside a comment; expected */", l.at(start)).
				Fix("close the comment that starts here with */ at the end of a line")
		}
		if strings.HasSuffix(strings.TrimSpace(text), "*/") {
			return nil
		}
	}
}

const textBlock = `"""`

// join makes a logical line of a physical one: it appends continuation lines and reads a text block that opens at the
// end.
func (l *lexer) join(text string, start int) (logicalLine, error) {
	var joined strings.Builder
	for {
		if joined.Len()+len(text) > MaxLineBytes {
			return logicalLine{}, l.tooLong(start)
		}
		if block := strings.TrimRightFunc(text, unicode.IsSpace); strings.HasSuffix(block, textBlock) {
			joined.WriteString(strings.TrimSuffix(block, textBlock))
			return l.block(joined.String(), start)
		}
		if !strings.HasSuffix(text, `\`) {
			joined.WriteString(text)
			break
		}
		joined.WriteString(text[:len(text)-1])
		next, more := l.physical()
		if !more {
			break
		}
		text = strings.TrimLeftFunc(next, unicode.IsSpace)
	}
	tokens, unclosed := tokenize(joined.String())
	return logicalLine{at: l.at(start), tokens: tokens, unclosed: unclosed}, nil
}

// block reads a text block up to the line that ends in the closing mark. Lines lose the indentation of the first one.
func (l *lexer) block(before string, start int) (logicalLine, error) {
	if i := strings.Index(before, textBlock); i == 0 || i > 0 && before[i-1] == ' ' { // opened and closed on one line
		tokens, _ := tokenize(before[:i])
		content := before[i+len(textBlock):]
		return logicalLine{at: l.at(start), tokens: append(tokens, token{text: content, quoted: true})}, nil
	}
	var content strings.Builder
	indentation := -1
	for {
		text, more := l.physical()
		if !more {
			return logicalLine{}, problem.Invalidf("", "%sfound the end of the file inside a text block; expected a line that ends in \"\"\"", l.at(start)).
				Fix("close the text block that opens here")
		}
		closed := strings.TrimRightFunc(text, unicode.IsSpace)
		last := strings.HasSuffix(closed, textBlock)
		if last {
			text = strings.TrimSuffix(closed, textBlock)
		}
		blank := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
		if indentation < 0 {
			indentation = blank
		}
		text = text[min(indentation, blank):]
		if last {
			content.WriteString(strings.TrimRightFunc(text, unicode.IsSpace))
			break
		}
		content.WriteString(text)
		content.WriteByte('\n')
		if content.Len() > MaxLineBytes {
			return logicalLine{}, l.tooLong(start)
		}
	}
	tokens, _ := tokenize(before)
	text := strings.TrimSuffix(content.String(), "\n")
	return logicalLine{at: l.at(start), tokens: append(tokens, token{text: text, quoted: true})}, nil
}

func (l *lexer) tooLong(start int) error {
	return problem.Invalidf("", "%sfound a line of more than %d bytes; expected at most that, continuation lines and text blocks included", l.at(start), MaxLineBytes).
		Fix("check that this is a Structurizr DSL file, and move large texts and images out of it")
}

// tokenize splits a line at blanks. A quote opens only at the start of a token and closes at the next quote that no back
// slash escapes, so `"a",b` is two tokens; every other back slash stays, so `\n` is two characters.
func tokenize(line string) (tokens []token, unclosed bool) {
	rest := strings.TrimLeftFunc(line, unicode.IsSpace)
	for rest != "" {
		if rest[0] != '"' {
			end := strings.IndexFunc(rest, unicode.IsSpace)
			if end < 0 {
				end = len(rest)
			}
			tokens = append(tokens, token{text: rest[:end]})
			rest = strings.TrimLeftFunc(rest[end:], unicode.IsSpace)
			continue
		}
		end := 1
		for end < len(rest) && (rest[end] != '"' || rest[end-1] == '\\') {
			end++
		}
		tokens = append(tokens, token{text: strings.ReplaceAll(rest[1:end], `\"`, `"`), quoted: true})
		if end == len(rest) {
			return tokens, true
		}
		rest = strings.TrimLeftFunc(rest[end+1:], unicode.IsSpace)
	}
	return tokens, false
}
