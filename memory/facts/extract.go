package facts

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// statement is what the guard compares of one text.
type statement struct {
	numbers     []number
	versions    []string
	negations   []string // "not" for each, and kinds that are not the same as it
	comparators []string
	obligations []string
	identifiers []string // with flags, paths, URLs, dates, in order of occurrence
	literals    []string
	symbols     []string        // literals without letters and digits, such as operators
	names       []string        // folded
	scopes      []string        // environments, systems, days
	words       []string        // stems of what is left, without stop words
	order       []string        // words, identifiers, negations and comparators as they stand
	direction   string          // a preposition that waits for its word
	has         map[string]bool // every token, folded, and its stem
	unquoted    string          // the text without quotation marks and punctuation, single spaced
	cjk         string          // Han, Kana and Hangul without spaces
	related     []string        // prepositions of direction, each with the word after it
	listed      int             // how often things are joined by and
	passive     bool            // a participle after a form of be
	byAgent     bool            // "by" after a participle
}

// token is a piece of text between spaces, without the punctuation around it.
type token struct {
	text  string
	lower string
	first bool // at the beginning of a sentence
}

// quoted finds literals: code spans, double and typographic quotes, and single quotes that stand before and after spaces
// or punctuation, so that apostrophes are none.
var quoted = regexp.MustCompile("`+([^`\n]{1,200})`+|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|«([^»\n]{1,200})»|(?:^|[\\s(])'([^'\n]{1,200})'(?:$|[\\s).,;:!?])")

const (
	opening = "([{<\"'`“‘«*"
	closing = ")]}>\"'`”’»*,;:!?.。、，；：！？"
)

func extract(text string) *statement {
	text = norm.NFKC.String(strings.ToValidUTF8(text, " "))
	s := &statement{has: map[string]bool{}}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		for _, literal := range m[1:] {
			switch {
			case strings.ContainsFunc(literal, isWordRune) || strings.ContainsFunc(literal, isCJK):
				s.literals = append(s.literals, bare(literal))
			case literal != "":
				s.symbols = append(s.symbols, strings.Join(strings.Fields(literal), " "))
			}
		}
	}
	s.unquoted = bare(text)
	s.read(tokenise(strings.NewReplacer("’", "'", "ʼ", "'").Replace(text)))
	return s
}

// quotes are what literals are marked by, apart from the single quote, which is an apostrophe as well.
var quotes = strings.NewReplacer("`", " ", `"`, " ", "“", " ", "”", " ", "«", " ", "»", " ")

// bare gives the pieces of text without quotes and punctuation around them.
func bare(text string) string {
	var pieces []string
	for piece := range strings.FieldsSeq(quotes.Replace(text)) {
		if piece = trim(piece); piece != "" {
			pieces = append(pieces, piece)
		}
	}
	return strings.Join(pieces, " ")
}

func trim(piece string) string {
	return strings.TrimSuffix(strings.TrimRight(strings.TrimLeft(piece, opening), closing), "(")
}

// tokenise splits at white space, and between CJK and other text.
func tokenise(text string) []token {
	var tokens []token
	first := true
	for piece := range strings.FieldsSeq(spaceCJK(text)) {
		t := trim(piece)
		if t != "" {
			tokens = append(tokens, token{text: t, lower: strings.ToLower(t), first: first})
			first = false
		}
		if last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(piece, "\"'`”’)*")); strings.ContainsRune(".!?:;。！？", last) || t == "" {
			first = true
		}
	}
	return tokens
}

func spaceCJK(text string) string {
	var b strings.Builder
	before := false
	for i, r := range text {
		if now := isCJK(r); now != before && i > 0 {
			b.WriteByte(' ')
			before = now
		} else {
			before = now
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isCJK(r rune) bool {
	return r >= '\u1100' && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul))
}

// read classifies the tokens.
func (s *statement) read(tokens []token) {
	for i := 0; i < len(tokens); {
		t := tokens[i]
		s.has[t.lower], s.has[stem(t.lower)] = true, true
		if n, used := s.readNumber(tokens[i:]); used > 0 {
			for _, t := range tokens[i : i+used] {
				s.has[t.lower] = true
			}
			s.numbers = append(s.numbers, n...)
			i += used
			continue
		}
		if t.lower == "per" && i+1 < len(tokens) {
			if u, ok := unitOf(tokens[i+1].lower); ok { // a rate: the unit is no ordinal here
				s.words = append(s.words, "per "+u.dimension+format(u.factor))
				i += 2
				continue
			}
		}
		if used := s.readPhrase(tokens[i:]); used > 0 {
			i += used
			continue
		}
		i++
		if r, _ := utf8.DecodeRuneInString(t.text); isCJK(r) {
			s.readCJK(t.text)
			continue
		}
		switch {
		case versionForm.MatchString(t.text):
			s.versions = append(s.versions, strings.TrimPrefix(t.lower, "v"))
		case isIdentifier(t.text):
			name := strings.TrimSuffix(strings.TrimSuffix(t.text, "/"), "()")
			s.identifiers = append(s.identifiers, name)
			s.order = append(s.order, name)
		default:
			s.readWord(t, i, tokens)
		}
	}
}

var versionForm = regexp.MustCompile(`^(?:v\d+(?:\.\d+)*|\d+\.\d+\.\d+(?:\.\d+)*)(?:[-+][0-9A-Za-z.-]+)?$`)

// isIdentifier recognises names of code, flags, paths, URLs, dates, times and ids: what has punctuation or digits inside, or
// a capital after a small letter.
func isIdentifier(t string) bool {
	if len(t) > 1 && t[0] == '-' {
		return true
	}
	letters, digits, marks, inner := 0, 0, 0, false
	var before rune
	for i, r := range t {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			inner = inner || unicode.IsUpper(r) && unicode.IsLower(before)
		case strings.ContainsRune(`_/\.$@#=:~`, r):
			if i > 0 || len(t) > 1 {
				marks++
			}
		}
		before = r
	}
	return letters+digits > 0 && (marks > 0 || inner || digits > 0)
}

func (s *statement) readWord(t token, next int, tokens []token) {
	word := t.lower
	if strings.HasSuffix(word, "n't") || word == "cannot" {
		s.negate(negation)
		return
	}
	if base, _, ok := strings.Cut(word, "'"); ok && len(base) > 2 {
		word = base
	}
	if italian := strings.TrimPrefix(strings.TrimPrefix(word, "l'"), "un'"); italian != word {
		word = italian
	}
	if base, ok := strings.CutSuffix(word, "-only"); ok { // append-only
		s.comparators = append(s.comparators, only)
		word = base
	}
	word = strings.ReplaceAll(word, "-", "")
	root := stem(word)
	if denies, ok := denials[word]; ok {
		s.negate(negation)
		if word = denies; word == "" {
			return
		}
		root = stem(word)
	}
	s.has[word], s.has[root] = true, true
	if where, ok := scopes[word]; ok {
		s.scopes = append(s.scopes, where)
	}
	if next >= 2 && formsOfBe[tokens[next-2].lower] && isParticiple(word) {
		s.passive = true
	}
	switch {
	case word == "by" && next >= 2 && isParticiple(tokens[next-2].lower):
		s.byAgent = true
		return
	case word == "and" || word == "&":
		s.listed++
		return
	case directions[word]:
		s.direction = word
		return
	case english.IsStopWord(word) || fillers[word] || word == "":
		return
	}
	if canonical, ok := synonymOf[root]; ok {
		root = canonical
	}
	if isName(t) {
		s.names = append(s.names, word)
	}
	s.words = append(s.words, root)
	s.order = append(s.order, root)
	if s.direction != "" {
		s.related, s.direction = append(s.related, s.direction+" "+root), ""
	}
}

func isParticiple(word string) bool {
	return strings.HasSuffix(word, "ed") || participles[word]
}

// isName recognises acronyms, and words with a capital that no sentence begins with.
func isName(t token) bool {
	r, n := utf8.DecodeRuneInString(t.text)
	if !unicode.IsUpper(r) {
		return false
	}
	return !t.first || n < len(t.text) && strings.ToUpper(t.text) == t.text
}

func (s *statement) negate(kind string) {
	before := len(s.negations) - 1
	switch {
	case kind == anymore:
		if before >= 0 {
			s.negations[before] = noLonger
		}
		return
	case kind == mai && before >= 0:
		return
	case kind == mai:
		kind = negation
	}
	s.negations = append(s.negations, kind)
	s.order = append(s.order, kind)
	// "can not" and "must not" forbid alike.
	if n := len(s.obligations); n > 0 && kind == negation && s.obligations[n-1] != should {
		s.obligations = s.obligations[:n-1]
	}
}

// readPhrase recognises what takes several words to say.
func (s *statement) readPhrase(tokens []token) int {
	for _, p := range phrases[tokens[0].lower] {
		if len(p.words) > len(tokens) || p.number && !startsNumber(tokens[len(p.words):]) {
			continue
		}
		matches := true
		for i, word := range p.words {
			matches = matches && tokens[i].lower == word
		}
		if !matches {
			continue
		}
		switch p.kind {
		case ofNegation:
			s.negate(p.meaning)
		case ofComparison:
			s.comparators = append(s.comparators, p.meaning)
			s.order = append(s.order, p.meaning)
		case ofObligation:
			s.obligations = append(s.obligations, p.meaning)
		case ofScope:
			s.scopes = append(s.scopes, p.meaning)
		}
		return len(p.words)
	}
	return 0
}

func (s *statement) readCJK(text string) {
	s.cjk += text
	for _, n := range cjkNegations {
		for range strings.Count(text, n) {
			s.negations = append(s.negations, negation)
		}
		text = strings.ReplaceAll(text, n, " ")
	}
	for _, c := range cjkComparators {
		for range strings.Count(text, c.text) {
			s.comparators = append(s.comparators, c.meaning)
		}
	}
}

// denied gives for each negation the word it stands before, with the next one when that word is said more than once.
func (s *statement) denied() []string {
	count := map[string]int{}
	for _, w := range s.order {
		count[w]++
	}
	var denied []string
	for i, w := range s.order {
		if w != negation || i+1 == len(s.order) {
			continue
		}
		what := s.order[i+1]
		if count[what] > 1 && i+2 < len(s.order) {
			what += " " + s.order[i+2]
		}
		denied = append(denied, what)
	}
	return denied
}

// maxStemmed bounds what is stemmed, in bytes: no word is longer, and the stemmer's time grows with it.
const maxStemmed = 64

func stem(word string) string {
	if len(word) > maxStemmed {
		return word
	}
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return word
		}
	}
	return english.Stem(word, true)
}
