package evidence

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Statement is a sentence, a heading, an item of a list or a row of a table in a Markdown text.
type Statement struct {
	Text      string // in one line
	Line, End int    // its first and last line, from 1
	Claims    []Claim
}

// statements cuts a Markdown text. Blocks of code, front matter and comments are left out: what stands in them shows
// something and states nothing.
func statements(text string) []Statement {
	var s scanner
	n := 0
	for raw := range strings.Lines(text) {
		n++
		s.line(n, strings.TrimRight(raw, "\r\n"))
	}
	s.end()
	return s.out
}

// numbered is a line with its place.
type numbered struct {
	n    int
	text string
}

// scanner knows which kind of block a line belongs to.
type scanner struct {
	out   []Statement
	block []numbered // of the block that is open
	whole bool       // the open block is one statement, however many sentences it has

	fence   string // what began the open block of code; "" outside
	front   bool   // in front matter
	comment bool   // in a comment of HTML
	list    bool   // below an item of a list, where indentation means no code
	blank   bool   // the line before was empty
}

var (
	itemMark  = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?`)
	fenceMark = regexp.MustCompile("^\\s*(`{3,}|~{3,})")
	headMark  = regexp.MustCompile(`^ {0,3}#{1,6}\s+`)
	linkMark  = regexp.MustCompile(`^ {0,3}\[[^\]]+\]:\s`)    // the address of a link, which states nothing
	ruleMark  = regexp.MustCompile(`^\s*\|?[\s:|=-]+\|?\s*$`) // a line that only draws: under headings, in tables
)

func (s *scanner) line(n int, l string) {
	trimmed := strings.TrimSpace(l)
	blank := s.blank
	s.blank = trimmed == ""
	switch {
	case s.front:
		s.front = trimmed != "---" && trimmed != "..."
	case n == 1 && trimmed == "---":
		s.front = true
	case s.fence != "":
		if mark := fenceMark.FindStringSubmatch(l); mark != nil && strings.HasPrefix(mark[1], s.fence) && strings.Trim(trimmed, s.fence[:1]) == "" {
			s.fence = ""
		}
	case s.comment:
		s.comment = !strings.Contains(l, "-->")
	case fenceMark.MatchString(l):
		s.end()
		s.fence = fenceMark.FindStringSubmatch(l)[1]
	case strings.HasPrefix(trimmed, "<!--"):
		s.end()
		s.comment = !strings.Contains(l, "-->")
	case trimmed == "":
		s.end()
	case blank && !s.list && (strings.HasPrefix(l, "    ") || strings.HasPrefix(l, "\t")):
		s.blank = true // indented code, which goes on until something is not indented
	default:
		s.prose(n, l, trimmed)
	}
}

// prose is a line that may state something.
func (s *scanner) prose(n int, l, trimmed string) {
	switch {
	case ruleMark.MatchString(l), linkMark.MatchString(l):
		s.end()
	case headMark.MatchString(l):
		s.end()
		s.list = false
		s.block = []numbered{{n, strings.TrimRight(headMark.ReplaceAllString(l, ""), "# ")}}
		s.end()
	case strings.HasPrefix(trimmed, "|"):
		s.end()
		s.block, s.whole = []numbered{{n, trimmed}}, true
		s.end()
	case itemMark.MatchString(l):
		s.end()
		s.list = true
		s.block, s.whole = []numbered{{n, itemMark.ReplaceAllString(l, "")}}, true
	default:
		if len(s.block) == 0 && l[0] != ' ' && l[0] != '\t' {
			s.list = false
		}
		s.block = append(s.block, numbered{n, strings.TrimSpace(strings.TrimLeft(trimmed, ">"))})
	}
}

// end closes the open block.
func (s *scanner) end() {
	if len(s.block) > 0 {
		s.out = append(s.out, cutBlock(s.block, s.whole)...)
	}
	s.block, s.whole = nil, false
}

// cutBlock cuts a block into sentences, unless it is one statement.
func cutBlock(block []numbered, whole bool) []Statement {
	var text strings.Builder
	var ends []int // where each line of the block ends in text
	for _, l := range block {
		text.WriteString(l.text)
		text.WriteByte(' ')
		ends = append(ends, text.Len())
	}
	all := text.String()
	lineAt := func(at int) int {
		for n, end := range ends {
			if at < end {
				return block[n].n
			}
		}
		return block[len(block)-1].n
	}
	spans := codeSpans(all)
	var out []Statement
	from := 0
	cut := func(to int) {
		st := Statement{Text: strings.Join(strings.Fields(all[from:to]), " "), Line: lineAt(from), End: lineAt(max(from, to-1))}
		for _, span := range spans {
			if span.start < from || span.start >= to {
				continue
			}
			if c, ok := classify(span.text); ok {
				c.Line = lineAt(span.start)
				st.Claims = append(st.Claims, c)
			}
		}
		if st.Text != "" {
			out = append(out, st)
		}
		from = to
	}
	if !whole {
		for _, at := range sentenceEnds(all, spans) {
			cut(at)
		}
	}
	cut(len(all))
	return out
}

// span is a piece of text between backticks.
type span struct {
	start, end int // with the backticks
	text       string
}

// codeSpans finds what stands between two runs of equally many backticks.
func codeSpans(s string) []span {
	var out []span
	for i := 0; i < len(s); {
		if s[i] == '\\' {
			i += 2
			continue
		}
		if s[i] != '`' {
			i++
			continue
		}
		ticks := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		end := closing(s, i+ticks, ticks)
		if end < 0 {
			i += ticks
			continue
		}
		out = append(out, span{i, end + ticks, strings.TrimSpace(s[i+ticks : end])})
		i = end + ticks
	}
	return out
}

// closing is where a run of exactly so many backticks begins; -1 without.
func closing(s string, from, ticks int) int {
	for i := from; i < len(s); {
		next := strings.IndexByte(s[i:], '`')
		if next < 0 {
			return -1
		}
		i += next
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == ticks {
			return i
		}
		i += run
	}
	return -1
}

var sentenceEnd = regexp.MustCompile(`[.!?][)"'*_]*\s+`)

// sentenceEnds are the offsets behind the ends of sentences outside code: punctuation and a blank, before something that
// begins a sentence. A sentence too few is better than one cut in two at an abbreviation.
func sentenceEnds(s string, spans []span) []int {
	var out []int
next:
	for _, at := range sentenceEnd.FindAllStringIndex(s, -1) {
		for _, sp := range spans {
			if at[0] >= sp.start && at[0] < sp.end {
				continue next
			}
		}
		if r, _ := utf8.DecodeRuneInString(s[at[1]:]); unicode.IsUpper(r) || r == '`' || r == '[' || r == '*' {
			if head := s[:at[0]]; strings.HasSuffix(head, "e.g") || strings.HasSuffix(head, "i.e") || strings.HasSuffix(head, "vs") {
				continue
			}
			out = append(out, at[1])
		}
	}
	return out
}
