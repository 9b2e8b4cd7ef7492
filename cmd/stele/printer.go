package main

import (
	"bufio"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/stele-dev/stele/memory"
)

// printer writes for people: prose wrapped to the width, nothing that a terminal takes for a command, colours when asked.
// Errors of the underlying writer surface when it is flushed.
type printer struct {
	w      *bufio.Writer
	width  int
	colour bool
}

func (a *app) printer() *printer { return &printer{w: a.out, width: a.width, colour: a.colour} }

// style is a colour or weight, as the parameter of an SGR sequence.
type style string

const (
	strong style = "1"
	faint  style = "2"
	alarm  style = "31"
)

// paint colours a text that has been cleaned.
func (p *printer) paint(s style, text string) string {
	// A word of a script without blanks may be cut where a line ends, which must not fall into a sequence.
	if !p.colour || text == "" || isWide(text) {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// line writes one line as it is; parts that come from outside must have been cleaned.
func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
}

// prose writes a text from outside below an indentation: cleaned and wrapped.
func (p *printer) prose(indent, text string) {
	p.hanging(indent, indent, memory.Plain(text))
}

// hanging wraps a text that has been cleaned, its first line beginning otherwise than the rest. Lines of a code block stay
// whole.
func (p *printer) hanging(first, rest, text string) {
	code := false
	prefix := first
	for raw := range strings.Lines(strings.TrimSpace(text)) {
		l := strings.TrimRight(raw, " \t\n")
		fence := strings.HasPrefix(strings.TrimSpace(l), "```")
		switch {
		case l == "":
			p.line("")
			continue
		case code || fence || strings.HasPrefix(l, "    ") || strings.HasPrefix(l, "\t"):
			p.line("%s%s", prefix, l)
		default:
			for _, part := range wrap(l, p.width-columns(prefix)) {
				p.line("%s%s", prefix, part)
				prefix = rest
			}
		}
		if fence {
			code = !code
		}
		prefix = rest
	}
}

// columns is the width of a text on a terminal: wide characters of East Asian scripts take two.
func columns(s string) int {
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = sgr.ReplaceAllString(s, "")
	}
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case width.LookupRune(r).Kind() == width.EastAsianWide, width.LookupRune(r).Kind() == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// minWrap keeps deep indentations readable.
const minWrap = 20

// wrap cuts one line between words. A word wider than a line stays whole, so that a path or an address can be copied;
// scripts written without blanks are cut where the line ends.
func wrap(text string, limit int) []string {
	limit = max(limit, minWrap)
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	hang := lead
	if item := listItem.FindString(text); item != "" && len(item) <= limit/2 {
		hang = strings.Repeat(" ", len(item))
	}
	var out []string
	line, used, words := lead, len(lead), 0
	next := func() {
		out = append(out, line)
		line, used, words = hang, len(hang), 0
	}
	for word := range strings.FieldsSeq(text) {
		w := columns(word)
		if words > 0 && used+1+w > limit && (!isWide(word) || used+3 > limit) {
			next()
		}
		if words > 0 {
			line, used = line+" ", used+1
		}
		for isWide(word) && used+w > limit {
			head, tail := cut(word, limit-used)
			line += head
			next()
			word, w = tail, columns(tail)
		}
		line, used, words = line+word, used+w, words+1
	}
	if words > 0 {
		out = append(out, line)
	}
	return out
}

var listItem = regexp.MustCompile(`^ *(?:[-*+]|\d+[.)]) `)

func isWide(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool { return runeColumns(r) == 2 })
}

// cut splits a word where it has filled the columns; at least one character stays before.
func cut(word string, limit int) (head, tail string) {
	n := 0
	for at, r := range word {
		if n += runeColumns(r); n > limit && at > 0 {
			return word[:at], word[at:]
		}
	}
	return word, ""
}

// short cuts a line to the columns, with an ellipsis.
func short(s string, limit int) string {
	if columns(s) <= limit {
		return s
	}
	head, _ := cut(s, max(limit-1, 1))
	return strings.TrimRight(head, " ") + "…"
}

// pad fills a text to the columns.
func pad(s string, to int) string {
	return s + strings.Repeat(" ", max(0, to-columns(s)))
}

// sgr finds what paint wrote; texts from outside have lost theirs.
var sgr = regexp.MustCompile("\x1b\\[[0-9]*m")

// firstLine is the first line of a text that is not empty.
func firstLine(s string) string {
	for l := range strings.Lines(s) {
		if l = memory.Line(l); l != "" {
			return l
		}
	}
	return ""
}

// quoteName is a name as a shell takes it for one word.
func quoteName(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// count is "1 pitfall", "2 pitfalls".
func count(n int, noun string) string {
	if n != 1 {
		if stem, ok := strings.CutSuffix(noun, "y"); ok {
			noun = stem + "ies"
		} else {
			noun += "s"
		}
	}
	return fmt.Sprintf("%d %s", n, noun)
}
