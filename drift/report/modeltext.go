package report

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stele-dev/stele/c4model"
)

// modelText is a model as lines, some of them changed. It understands of Structurizr DSL, LikeC4 and C4-PlantUML what it
// takes to change a path or a relationship that stands on a line of its own; everything else is left to a person.
type modelText struct {
	name   string
	lines  []modelLine
	ending string           // of lines
	added  map[int][]string // lines to write after a line, by its index; without ending
}

type modelLine struct {
	text   string // with its ending; as it shall be
	tokens []span // of the line as it was; none for a comment and within a text block
	within []int  // indexes of the lines that open the blocks around, outermost first
	gone   bool
}

// span is a token: the bytes of the line it takes, without its quotes.
type span struct {
	from, to int
	quote    byte // that it is in; 0 for none
}

func newModelText(name string, text []byte) *modelText {
	m := &modelText{name: name, ending: "\n", added: map[int][]string{}}
	if strings.Contains(string(text), "\r\n") {
		m.ending = "\r\n"
	}
	var open []int
	block, comment := false, false // within a text block, within a comment
	for raw := range strings.Lines(string(text)) {
		l := modelLine{text: raw, within: slices.Clone(open)}
		trimmed := strings.TrimSpace(raw)
		switch {
		case block:
			block = !strings.HasSuffix(trimmed, textBlock)
		case comment:
			comment = !strings.HasSuffix(trimmed, "*/")
		case strings.HasPrefix(trimmed, "/*"):
			comment = !strings.HasSuffix(trimmed, "*/")
		case strings.HasPrefix(trimmed, "//"), strings.HasPrefix(trimmed, "#"), trimmed == "":
		case strings.HasSuffix(trimmed, textBlock):
			block = strings.Count(trimmed, textBlock) == 1
		default:
			l.tokens = tokens(raw)
			opened, closed := l.braces()
			for range closed {
				open = open[:max(len(open)-1, 0)]
			}
			if closed > opened {
				l.within = slices.Clone(open)
			}
			for range opened {
				open = append(open, len(m.lines))
			}
		}
		m.lines = append(m.lines, l)
	}
	return m
}

const textBlock = `"""`

// tokens splits a line at blanks; a quote at the beginning of a token keeps what it encloses together.
func tokens(line string) []span {
	var out []span
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '"', '\'':
			end := i + 1
			for end < len(line) && line[end] != c {
				if line[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(line))
			out = append(out, span{i + 1, end, c})
			i = end + 1
		default:
			end := i
			for end < len(line) && !unicode.IsSpace(rune(line[end])) {
				end++
			}
			out = append(out, span{i, end, 0})
			i = end
		}
	}
	return out
}

func (l *modelLine) token(i int) string {
	if i < 0 || i >= len(l.tokens) {
		return ""
	}
	return l.text[l.tokens[i].from:l.tokens[i].to]
}

// braces counts the blocks that a line opens and does not close, and the other way round.
func (l *modelLine) braces() (opened, closed int) {
	for i, t := range l.tokens {
		switch {
		case t.quote != 0:
		case strings.HasSuffix(l.token(i), "{") && !strings.HasPrefix(l.token(i), "$"):
			opened++
		case l.token(i) == "}" && opened > 0:
			opened--
		case l.token(i) == "}":
			closed++
		}
	}
	return opened, closed
}

// keyword is what a line is about: its first word, or the one behind an assignment. In lower case.
func (l *modelLine) keyword() string {
	if l.token(1) == "=" {
		return strings.ToLower(l.token(2))
	}
	return strings.ToLower(strings.TrimSuffix(l.token(0), "{"))
}

// bytes is the text with all changes.
func (m *modelText) bytes() []byte {
	var b strings.Builder
	for i, l := range m.lines {
		if !l.gone {
			b.WriteString(l.text)
		}
		for _, added := range m.added[i] {
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
				b.WriteString(m.ending)
			}
			b.WriteString(added + m.ending)
		}
	}
	return []byte(b.String())
}

// changePath puts a path of an element's properties in the place of another, "" to take that away. line is where the element
// is declared.
func (m *modelText) changePath(line int, before, after string) error {
	at := line - 1
	if at < 0 || at >= len(m.lines) {
		return undecided("the line is not in the file")
	}
	if !utf8.ValidString(after) || strings.ContainsFunc(after, unicode.IsControl) || strings.ContainsAny(after, `"',;\`) {
		return undecided("the new path holds characters that a property cannot hold")
	}
	for i := range m.lines {
		l := &m.lines[i]
		n := len(l.within)
		if n < 2 || l.within[n-2] != at || len(l.tokens) != 2 || l.gone {
			continue
		}
		if block := m.lines[l.within[n-1]].keyword(); block != "properties" && block != "metadata" {
			continue
		}
		if value, ok := changeList(l.token(1), before, after); ok {
			if strings.TrimSpace(value) == "" {
				l.gone = true
				return nil
			}
			t := l.tokens[1]
			if t.quote == 0 && strings.ContainsAny(value, " \t") {
				return undecided("the new path needs quotes")
			}
			l.text = l.text[:t.from] + value + l.text[t.to:]
			l.tokens = tokens(l.text)
			return nil
		}
	}
	return undecided("no property of the element has the path as it is read")
}

// changeList changes one entry of a list of paths.
func changeList(list, before, after string) (string, bool) {
	isBreak := func(r rune) bool { return r == ',' || r == ';' }
	from := 0
	for from <= len(list) {
		to := len(list)
		if n := strings.IndexFunc(list[from:], isBreak); n >= 0 {
			to = from + n
		}
		entry := list[from:to]
		pattern, err := c4model.NormalizePattern(entry)
		if err != nil || pattern != before {
			from = to + 1
			continue
		}
		if after == "" { // with the mark that parts it from its neighbour
			switch {
			case to < len(list):
				return list[:from] + strings.TrimLeft(list[to+1:], " "), true
			case from > 0:
				return strings.TrimRight(list[:from-1], " "), true
			}
			return "", true
		}
		lead := entry[:len(entry)-len(strings.TrimLeft(entry, " \t"))]
		if strings.HasPrefix(strings.TrimSpace(entry), "/") && !strings.HasPrefix(after, "/") {
			lead += "/" // as the others are written
		}
		return list[:from] + lead + after + list[to:], true
	}
	return list, false
}

var (
	plantCall       = regexp.MustCompile(`^\s*(Bi)?Rel(_\w+)?\(.*\)\s*$`)
	plantEnd        = regexp.MustCompile(`^\s*@enduml\b`)
	identifiersMark = regexp.MustCompile(`(?i)^!identifiers$`)
)

func (m *modelText) plant() bool {
	switch strings.ToLower(path.Ext(m.name)) {
	case ".puml", ".plantuml", ".iuml", ".mmd", ".mermaid":
		return true
	}
	return false
}

// arrow tells where the arrow of a relationship is among the tokens, -1 for a line that is none.
func (l *modelLine) arrow() int {
	for i, t := range l.tokens {
		if text := l.token(i); t.quote == 0 && (text == "->" || strings.HasSuffix(text, "->") && strings.HasPrefix(text, "-")) {
			return i
		}
	}
	return -1
}

// removeRelationship takes away a relationship that stands on one line.
func (m *modelText) removeRelationship(line int) error {
	at := line - 1
	if at < 0 || at >= len(m.lines) {
		return undecided("the line is not in the file")
	}
	l := &m.lines[at]
	whole := strings.TrimRight(l.text, "\r\n")
	continued := strings.HasSuffix(whole, `\`) || at > 0 && strings.HasSuffix(strings.TrimRight(m.lines[at-1].text, "\r\n"), `\`)
	if m.plant() {
		if !plantCall.MatchString(whole) {
			return undecided("it does not stand on one line")
		}
		l.gone = true
		return nil
	}
	arrow := l.arrow()
	opened, closed := l.braces()
	switch {
	case arrow < 0 || continued || opened+closed > 0:
		return undecided("it does not stand on one line")
	case arrow > 1:
		return undecided("it has a name, by which something else may speak of it")
	case m.elsewhere(at, l.token(arrow-1), l.token(arrow+1)):
		return undecided("another line speaks of the same two, such as a view")
	}
	l.gone = true
	return nil
}

// elsewhere tells whether another line has an arrow between the same two.
func (m *modelText) elsewhere(at int, from, to string) bool {
	for i := range m.lines {
		l := &m.lines[i]
		if n := l.arrow(); n > 0 && i != at && !l.gone && strings.EqualFold(l.token(n-1), from) && strings.EqualFold(l.token(n+1), to) {
			return true
		}
	}
	return false
}

// addRelationship writes a relationship where both ends are declared: after the last one of the model, or at its end.
func (m *modelText) addRelationship(from, to, call string) error {
	if m.plant() {
		return m.addCall(call)
	}
	if strings.Contains(from+to, "~") {
		return undecided("an element has no identifier to write it by")
	}
	text := call
	if strings.EqualFold(path.Ext(m.name), ".dsl") && !m.hierarchical() {
		last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
		text = last(from) + " -> " + last(to) + ` "Imports"`
	}
	after, indentation, ok := m.place()
	if !ok {
		return undecided("there is no model block to write it in")
	}
	m.added[after] = append(m.added[after], indentation+text)
	return nil
}

func (m *modelText) addCall(call string) error {
	after := -1
	for i, l := range m.lines {
		if plantCall.MatchString(strings.TrimRight(l.text, "\r\n")) {
			after = i
		}
	}
	for i := 0; after < 0 && i < len(m.lines); i++ {
		if plantEnd.MatchString(m.lines[i].text) {
			after = i - 1
		}
	}
	if after < 0 {
		return undecided("there is no relationship to write it after")
	}
	m.added[after] = append(m.added[after], leading(m.lines[after].text)+call)
	return nil
}

// hierarchical tells whether identifiers are written with those around them.
func (m *modelText) hierarchical() bool {
	found := false
	for i := range m.lines {
		if l := &m.lines[i]; identifiersMark.MatchString(l.token(0)) {
			found = strings.EqualFold(l.token(1), "hierarchical")
		}
	}
	return found
}

// place finds where a relationship may be added: after the last one directly in the model, when no element is declared after
// it; else before the end of the model.
func (m *modelText) place() (after int, indentation string, ok bool) {
	model, end, last := -1, -1, -1
	for i := range m.lines {
		l := &m.lines[i]
		n := len(l.within)
		switch {
		case model < 0 && l.keyword() == "model" && l.opens():
			model = i
		case model < 0 || n == 0:
		case l.within[n-1] == model && l.arrow() >= 0 && !l.opens():
			last = i
		case l.within[n-1] == model && len(l.tokens) > 0:
			switch l.keyword() {
			case "deploymentenvironment", "}":
			default:
				last = -1 // something is declared after it
			}
		}
		if model >= 0 && end < 0 && i > model && l.token(0) == "}" && !slices.Contains(l.within, model) {
			end = i
		}
	}
	switch {
	case last >= 0:
		return last, leading(m.lines[last].text), true
	case end > 0:
		return end - 1, leading(m.lines[end].text) + "    ", true
	}
	return 0, "", false
}

func (l *modelLine) opens() bool {
	opened, _ := l.braces()
	return opened > 0
}

func leading(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }
