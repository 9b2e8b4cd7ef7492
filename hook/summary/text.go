package summary

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"github.com/stele-dev/stele/internal/redact"
	"github.com/stele-dev/stele/memory"
)

// Conversation is what a model is told of one.
type Conversation struct {
	Asked   []string // what the person asked, in order
	Answers string   // what the assistant wrote to the person; the end counts
	Edited  []string // files
	Failed  []string // commands that failed and did not succeed later
}

// Bounds of a prompt, in bytes of redacted text: what a small model reads in a second or two.
const (
	MaxPromptBytes = 14 << 10

	mostAsked   = 3 << 10 // of what was asked, of which each has
	mostOfOne   = 1 << 10
	mostAnswers = 9 << 10
	mostEdited  = 30 // files
	mostFailed  = 5  // commands
	mostOfItem  = 160
)

// Compose is what is sent of a conversation: redacted, without private parts, cut. "" when nothing is left that could be told of.
func Compose(c Conversation) string {
	var b strings.Builder
	section := func(head string, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString(head + ":\n" + text + "\n\n")
		}
	}
	var asked []string
	for _, a := range c.Asked {
		if a = beginning(memory.Line(sendable(a)), mostOfOne); a != "" {
			asked = append(asked, a)
		}
	}
	// The first says what the work is about, the last what it came to.
	room := mostAsked
	kept := make([]bool, len(asked))
	for _, i := range append([]int{0}, descending(len(asked))...) {
		if i < len(asked) && !kept[i] && len(asked[i]) <= room {
			kept[i], room = true, room-len(asked[i])
		}
	}
	var lines []string
	for i, a := range asked {
		if kept[i] {
			lines = append(lines, "- "+a)
		}
	}
	answers := end(memory.Plain(sendable(c.Answers)), mostAnswers)
	if len(lines) == 0 && strings.TrimSpace(answers) == "" {
		return ""
	}
	section("The person asked", strings.Join(lines, "\n"))
	section("The assistant wrote", answers)
	section("Files edited", items(c.Edited, mostEdited))
	section("Commands that failed", items(c.Failed, mostFailed))
	// What was cut and put together must hold no secret that its parts did not.
	text, _ := redact.Redact(b.String())
	return strings.TrimSpace(beginning(text, MaxPromptBytes))
}

// descending are the places of a list, last first.
func descending(n int) []int {
	var out []int
	for i := n - 1; i >= 0; i-- {
		out = append(out, i)
	}
	return out
}

func items(list []string, most int) string {
	var lines []string
	for _, text := range list[:min(len(list), most)] {
		if text = beginning(memory.Line(sendable(text)), mostOfItem); text != "" {
			lines = append(lines, "- "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// sendable is a text without secrets and private parts.
func sendable(text string) string {
	text, _ = redact.StripPrivate(text)
	text, _ = redact.Redact(text)
	return text
}

// beginning cuts a text between two characters.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// end is the end of a text, from the beginning of a line on where there is one.
func end(text string, most int) string {
	if len(text) <= most {
		return text
	}
	from := len(text) - most
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	if at := strings.IndexByte(text[from:], '\n'); at >= 0 && at < most/2 {
		from += at + 1
	}
	return text[from:]
}

// Bounds of what is kept of an answer.
const (
	MaxSentences = 5
	MaxLength    = 800 // characters
	shortest     = 12  // characters of a sentence
)

var (
	thoughts = regexp.MustCompile(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
	marks    = regexp.MustCompile(`^(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+`)
	// addressed marks a sentence that tells its reader what to do instead of reporting. It is a first sieve: that what memory says is no
	// instruction is said wherever memory is put before a model.
	addressed = regexp.MustCompile(`(?i)\b(?:you|your|yours|yourself|(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules?|above|previous|everything)|` +
		`system prompt|as an ai|please|must (?:now|always|never)|from now on)\b|^(?:ignore|disregard|run|execute|install|download|delete|send|always|never|do not|don't|make sure)\b`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// Clean gives the sentences of an answer that report of what the prompt names: on one line, at most MaxSentences of them and MaxLength
// characters. Left out are thoughts, code, tables and headings, secrets, sentences that speak to their reader, and those that name a file,
// an identifier, an address or a number which the prompt does not. "" when nothing is left.
func Clean(answer, prompt string) string {
	answer = sendable(memory.Plain(thoughts.ReplaceAllString(strings.ToValidUTF8(beginning(answer, maxAnswerBytes), ""), " ")))
	known := strings.ToLower(prompt)
	var kept []string
	length := 0
	all := sentences.FromString(prose(answer))
	for all.Next() {
		s := memory.Line(all.Value())
		n := utf8.RuneCountInString(s)
		if n < shortest || addressed.MatchString(s) || strings.Contains(s, redact.Mark) || !isOf(s, known) {
			continue
		}
		if len(kept) == MaxSentences || length+n > MaxLength {
			break
		}
		kept, length = append(kept, s), length+n+1
	}
	return strings.Join(kept, " ")
}

// prose is a text without code, tables and headings, each item of a list a sentence.
func prose(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fenced = !fenced
		case fenced, line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "<"):
			b.WriteString("\n\n")
		default:
			if item := marks.ReplaceAllString(line, ""); item != line {
				b.WriteString("\n\n" + item + " ")
				continue
			}
			b.WriteString(line + " ")
		}
	}
	return strings.ReplaceAll(b.String(), "**", "")
}

// isOf tells whether everything that a sentence names, in backticks or in a form that words do not have, is in a text of small letters.
func isOf(sentence, known string) bool {
	for _, m := range quoted.FindAllStringSubmatch(sentence, -1) {
		if !holds(known, strings.ToLower(strings.TrimSpace(m[1]))) {
			return false
		}
	}
	for _, word := range latin.FindAllString(quoted.ReplaceAllString(sentence, " "), -1) {
		word = strings.Trim(word, ".:-#=&")
		if named(word) && !holds(known, strings.ToLower(word)) {
			return false
		}
	}
	return true
}

// latin are the runs of characters that names of programs are made of, also between the characters of other scripts.
var latin = regexp.MustCompile(`[\p{Latin}\p{N}_/\\@$.][\p{Latin}\p{N}_/\\@$.:#=&-]*`)

// named tells whether a word is a number, a path, an address or an identifier.
func named(word string) bool {
	if strings.ContainsAny(word, `/\_@:.#=$&`) {
		return true
	}
	runes := []rune(word)
	return slices.ContainsFunc(runes, unicode.IsDigit) ||
		len(runes) > 1 && slices.ContainsFunc(runes[1:], unicode.IsUpper) && slices.ContainsFunc(runes, unicode.IsLower)
}

// holds tells whether a text has a part that neither begins nor ends inside of a word.
func holds(text, part string) bool {
	if part == "" {
		return true
	}
	of := func(r rune) bool { return r == '_' || unicode.IsDigit(r) || unicode.Is(unicode.Latin, r) }
	first, _ := utf8.DecodeRuneInString(part)
	last, _ := utf8.DecodeLastRuneInString(part)
	for from := 0; ; {
		at := strings.Index(text[from:], part)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(part):])
		if (at == 0 || !of(first) || !of(before)) && (at+len(part) == len(text) || !of(last) || !of(after)) {
			return true
		}
		from = at + len(part)
	}
}
