package hook

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/terms"
)

// Found is a sentence that may be worth remembering, and why it was taken for one.
type Found struct {
	Text   string
	Kind   memory.Kind
	Why    string // the words that it was found by
	weight int
}

// A sentence counts from so many characters on: constants of the contract. Where words have no spaces a character says more.
const (
	leastLetters    = 20
	leastIdeographs = 10
	mostLetters     = 400 // longer ones are no sentence but a list that lost its marks
)

// sign is a class of words that give away what a sentence says.
type sign struct {
	says   string
	kind   memory.Kind
	weight int
	words  func() *regexp.Regexp // of languages written with spaces
	parts  []string              // of others
}

// words is compiled when it is first needed: the program starts for every event of a client, and few look for candidates.
func words(list ...string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^\p{L}\p{N}_])(` + strings.Join(list, "|") + `)(?:$|[^\p{L}\p{N}_])`)
	})
}

// signs are the classes, weightiest first. The words are of English, Italian, Chinese, Korean and Japanese; each states something that
// holds beyond the task at hand.
var signs = []sign{
	{"a trap", memory.Pitfall, 4,
		words(`turns out`, `beware`, `careful`, `gotcha`, `pitfall`, `caveat`, `trap`, `the catch is`, `silently`, `the root cause (?:is|was)`, `race condition`, `deadlocks?`,
			`breaks? (?:if|when|unless)`, `fails? (?:if|when|unless)`,
			`attenzione`, `attento`, `insidia`, `la causa (?:è|era)`, `si rompe (?:se|quando)`, `fallisce (?:se|quando)`),
		[]string{"注意", "小心", "陷阱", "原因是", "根本原因", "否则会", "否則會", "주의", "조심", "함정", "원인은", "注意が必要", "気をつけ", "落とし穴", "原因は", "ハマり"}},
	{"a constraint", memory.Convention, 3,
		words(`must(?: not)?`, `must never`, `never`, `always`, `do not`, `don't`, `is not allowed`, `has to be`, `have to be`, `only ever`, `is required`, `is forbidden`,
			`deve(?:no)?`, `non deve`, `mai`, `sempre`, `bisogna`, `vietato`, `obbligatorio`),
		[]string{"必须", "必須", "不能", "不要", "永远", "总是", "總是", "禁止", "不得", "반드시", "항상", "절대", "금지", "하면 안", "なければならない", "必ず", "常に", "してはいけない", "禁止"}},
	{"a decision", memory.Note, 2,
		words(`decided`, `we chose`, `i chose`, `chose to`, `we went with`, `went with`, `instead of`, `rather than`, `in favou?r of`, `agreed (?:to|that|on)`, `settled on`,
			`deciso`, `abbiamo scelto`, `ho scelto`, `invece di`, `piuttosto che`),
		[]string{"决定", "決定", "选择了", "選擇了", "改用", "而不是", "결정", "선택했", "대신", "することにした", "採用", "代わりに"}},
	{"a reason", memory.Note, 1,
		words(`because`, `the reason`, `so that`, `since otherwise`, `due to`, `otherwise`,
			`perché`, `il motivo`, `a causa di`, `altrimenti`),
		[]string{"因为", "因為", "为了", "為了", "때문", "위해", "なぜなら", "のため", "ので"}},
}

// corrected are words with which a person puts an agent right.
var corrected = sign{"a correction", memory.Convention, 5,
	words(`no,`, `nope`, `wrong`, `actually`, `that's not`, `that is not`, `not like that`, `we (?:never|always|don't|do not)`,
		`please (?:never|always|don't|do not)`, `stop \p{L}+ing`, `use .{2,60} instead`, `remember(?: that)?`,
		`from now on`, `sbagliato`, `in realtà`, `non così`, `d'ora in poi`, `ricorda(?:ti)?`),
	[]string{"不对", "不對", "错了", "錯了", "其实", "其實", "记住", "記住", "以后", "以後", "아니", "틀렸", "사실", "앞으로", "기억해", "違う", "違います", "実は", "これからは", "覚えて"}}

// plans begin sentences that say what is about to be done, which does not hold beyond the task.
var plans = regexp.MustCompile(`^(?:i'll|i will|let me|let's|now i|now let|next,? i|i'm (?:going|about)|i am (?:going|about)|first,? i|should i|would you|` +
	`do you|can you|could you|want me|sure|done|great|ora |adesso |farò|vado a|我来|我将|現在|次に|では|이제 )`)

// Statements finds sentences of an assistant that state a trap, a constraint, a decision or a reason. A reason alone says too little:
// it must name something of the code.
func Statements(said string) []Found {
	var out []Found
	for _, s := range split(said) {
		folded := terms.Fold(s)
		if plans.MatchString(folded) {
			continue
		}
		for _, g := range signs {
			word := g.in(folded)
			if word == "" {
				continue
			}
			named := namesCode(s)
			if g.weight < 3 && !named {
				break
			}
			out = append(out, g.found(s, "the assistant", word, named))
			break
		}
	}
	return out
}

// Corrections finds sentences with which a person put the agent right, or told it what always holds.
func Corrections(asked string) []Found {
	var out []Found
	for _, s := range split(asked) {
		folded := terms.Fold(s)
		if word := corrected.in(folded); word != "" {
			out = append(out, corrected.found(s, "the person", word, namesCode(s)))
			continue
		}
		if word := signs[1].in(folded); word != "" && namesCode(s) {
			out = append(out, signs[1].found(s, "the person", word, true))
		}
	}
	return out
}

func (g sign) in(folded string) string {
	if m := g.words().FindStringSubmatch(folded); m != nil {
		return m[1]
	}
	for _, p := range g.parts {
		if strings.Contains(folded, terms.Fold(p)) {
			return p
		}
	}
	return ""
}

func (g sign) found(text, by, word string, named bool) Found {
	f := Found{Text: text, Kind: g.kind, Why: fmt.Sprintf("Said by %s; “%s” marks %s.", by, word, g.says), weight: g.weight}
	if named {
		f.weight += 2
	}
	return f
}

// code is a word of a program: in backticks, with an extension or slashes, in camel case or with underscores, a call.
var code = regexp.MustCompile("`[^`]+`|[\\w-]+/[\\w./-]+|" +
	"\\b\\w+\\.(?:go|py|ts|tsx|js|java|kt|rs|rb|cs|php|sql|ya?ml|toml|json|sh|c|h|cpp)\\b|\\b[a-z]+[A-Z]\\w+|\\b[A-Z][a-z0-9]+[A-Z]\\w*|\\b\\w+_\\w+\\b|\\b\\w+\\(\\)")

func namesCode(s string) bool { return code.MatchString(s) }

// split gives the sentences of prose: no code, tables, headings, quotations, questions, nor what is too short or too long to state
// something.
func split(text string) []string {
	var out []string
	fenced := false
	var prose strings.Builder
	flush := func() {
		all := sentences.FromString(prose.String())
		for all.Next() {
			if s := strings.TrimSpace(all.Value()); states(s) {
				out = append(out, s)
			}
		}
		prose.Reset()
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			fenced = !fenced
			flush()
		case fenced:
		case line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, ">") || strings.HasPrefix(line, "<"):
			flush()
		default:
			if rest, ok := item(line); ok {
				flush()
				line = rest
			}
			prose.WriteString(line + " ")
		}
	}
	flush()
	return out
}

var listed = regexp.MustCompile(`^(?:[-*+•]|\d{1,3}[.)])\s+`)

// item takes the mark off an item of a list.
func item(line string) (string, bool) {
	if at := listed.FindStringIndex(line); at != nil {
		return line[at[1]:], true
	}
	return line, false
}

// states tells whether a sentence is long enough, and no question.
func states(s string) bool {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：") {
		return false
	}
	n, dense := 0, 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
				dense++
			}
		}
	}
	least := leastLetters
	if dense*2 > n {
		least = leastIdeographs
	}
	return utf8.RuneCountInString(s) >= least && n >= least/2 && utf8.RuneCountInString(s) <= mostLetters
}
