package facts

import (
	"regexp"
	"slices"
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
	items       []item          // all of it as it stands
	has         map[string]bool // every token, folded, and its stem
	unquoted    string          // the text without quotation marks and punctuation, single spaced
	cjk         string          // Han, Kana and Hangul without spaces
	lead        string          // a preposition or conjunction that waits for its item
	brk         breakKind       // what stands between the last item and the next
}

// token is a piece of text between spaces, without the punctuation around it.
type token struct {
	text  string
	lower string
	first bool // at the beginning of a sentence
	after breakKind
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

// comparisonSign finds signs that are no brackets.
var comparisonSign = regexp.MustCompile(`^(?:[<>]=?|=[<>]|->|=>|<-|[<>]=?[-+]?[$€£]?\d.*)$`)

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
	if comparisonSign.MatchString(piece) {
		return strings.TrimRight(piece, ",;:!?.)")
	}
	return strings.TrimSuffix(strings.TrimRight(strings.TrimLeft(piece, opening), closing), "(")
}

// tokenise splits at white space, and between CJK and other text.
func tokenise(text string) []token {
	var tokens []token
	first := true
	for piece := range strings.FieldsSeq(spaceCJK(text)) {
		t := trim(piece)
		if strings.Trim(t, "-–—…·•") == "" { // a dash or a bullet
			t = ""
		}
		if t != "" {
			tokens = append(tokens, token{text: t, lower: strings.ToLower(t), first: first})
			first = false
		}
		last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(piece, "\"'`”’)*"))
		after := noBreak
		switch {
		case strings.ContainsRune(".!?:;。！？", last) || t == "":
			after, first = sentenceBreak, true
		case last == ',' || last == '、' || last == '，' || strings.HasSuffix(piece, ")"):
			after = commaBreak
		}
		if n := len(tokens); n > 0 {
			tokens[n-1].after = max(tokens[n-1].after, after)
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
		used := s.readNext(tokens, i)
		for _, t := range tokens[i : i+used] {
			s.has[t.lower], s.has[stem(t.lower)] = true, true
			s.brk = max(s.brk, t.after)
		}
		i += used
	}
	s.settle()
}

// readNext classifies what begins at token i and says how many tokens it took.
func (s *statement) readNext(tokens []token, i int) (used int) {
	rest, t := tokens[i:], tokens[i]
	if t.lower == "once" || t.lower == "almost" {
		if used := s.readPhrase(rest); used > 1 {
			return used
		}
	}
	if dimension, used := s.readRate(tokens, i); used > 0 {
		s.words = append(s.words, dimension)
		s.add(item{root: dimension})
		return used
	}
	if n, used := s.readNumber(rest); used > 0 {
		if used < len(rest) && n[0].value == "1 times" && used == 1 && t.lower == "once" {
			s.lead = t.lower // once the leader is elected
		}
		s.numbers = append(s.numbers, n...)
		for _, n := range n {
			s.add(item{root: "#" + n.value})
		}
		return used
	}
	if used := s.readPhrase(rest); used > 0 {
		return used
	}
	if sign, ok := symbols[t.text]; ok {
		s.compare(sign)
		return 1
	}
	if r, _ := utf8.DecodeRuneInString(t.text); isCJK(r) {
		s.readCJK(t.text)
		return 1
	}
	switch {
	case versionForm.MatchString(t.text):
		s.versions = append(s.versions, strings.TrimPrefix(t.lower, "v"))
		s.add(item{root: strings.TrimPrefix(t.lower, "v")})
	case isLetterName(tokens, i):
		s.words = append(s.words, "letter "+t.lower)
		s.add(item{root: "letter " + t.lower})
	case isIdentifier(t.text) && !isWord(t.lower):
		name := strings.TrimSuffix(strings.TrimSuffix(t.text, "/"), "()")
		s.identifiers = append(s.identifiers, name)
		s.add(item{root: name})
	default:
		s.readWord(tokens, i)
	}
	return 1
}

// readRate recognises "per second" and, after what is counted, "a second": the unit is no ordinal there.
func (s *statement) readRate(tokens []token, i int) (rate string, used int) {
	if i+1 == len(tokens) {
		return "", 0
	}
	u, ok := unitOf(tokens[i+1].lower)
	switch t := tokens[i]; {
	case !ok:
		return "", 0
	case t.lower == "per":
	case (t.lower == "a" || t.lower == "an") && len(s.numbers) > 0 && i > 0 && tokens[i-1].after == noBreak && s.lead == "" && isTime(u) && closes(tokens[i+1:]):
		if n := len(s.items); n == 0 || s.items[n-1].lead != "" && !strings.HasPrefix(s.items[n-1].root, "#") {
			return "", 0
		}
	default:
		return "", 0
	}
	return "per " + u.dimension + format(u.factor), 2
}

func isTime(u unit) bool { return u.dimension == "s" || u.dimension == "month" }

// closes tells whether a phrase ends with the first of tokens, so that it is no attribute of the next.
func closes(tokens []token) bool {
	if len(tokens) == 1 || tokens[0].after != noBreak {
		return true
	}
	next := tokens[1].lower
	return leads[next] != "" || len(phrases[next]) > 0 || english.IsStopWord(next)
}

// isLetterName recognises single letters that name something: team A, plan B. A at the beginning is an article, unless
// another thing is listed with it.
func isLetterName(tokens []token, i int) bool {
	t := tokens[i]
	if len(t.text) != 1 || t.text[0] < 'A' || t.text[0] > 'Z' || t.text == "I" {
		return false
	}
	if !t.first || t.text != "A" {
		shouted := func(i int) bool { // in a text of capitals it is an article again
			return i >= 0 && i < len(tokens) && len(tokens[i].text) > 1 && strings.ToUpper(tokens[i].text) == tokens[i].text
		}
		return t.text != "A" || !shouted(i-1) || !shouted(i+1)
	}
	return t.after == commaBreak || i+1 < len(tokens) && (tokens[i+1].lower == "and" || tokens[i+1].lower == "or" || tokens[i+1].lower == "&")
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

func (s *statement) readWord(tokens []token, i int) {
	t := tokens[i]
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
		s.compare(only)
		word = base
	}
	for part := range strings.SplitSeq(unhyphenated(word), "-") {
		s.readRoot(tokens, i, part)
	}
}

// unhyphenated joins what is one word in other spellings; the rest is as good as written with blanks.
func unhyphenated(word string) string {
	prefix, _, _ := strings.Cut(word, "-")
	joined := strings.ReplaceAll(word, "-", "")
	if joinedPrefixes[prefix] || compounds[joined] {
		return joined
	}
	return word
}

func (s *statement) readRoot(tokens []token, i int, word string) {
	t, spelled := tokens[i], word
	lead, leading := leads[word]
	switch {
	case word == "then" || word == "and" || word == "&" || word == "but" || word == "":
		return
	case leading && !telling[word]:
		if s.lead == "" || s.lead == loose {
			s.lead = lead
		}
		if lead != "off" {
			return
		}
	}
	if denies, ok := denials[word]; ok && (denies != "stop" || beforeGerund(tokens, i)) {
		s.negate(negation)
		if denies == "stop" || denies == "use" && beforeGerund(tokens, i) {
			return
		}
		if word = denies; word == "" {
			return
		}
	}
	root := canonical(word)
	if formsOfBe[word] && i+1 < len(tokens) && isParticiple(tokens[i+1].lower) { // get deleted
		return
	}
	if word == "one" && i+1 < len(tokens) && afterPronoun[tokens[i+1].lower] {
		return
	}
	s.has[word], s.has[root] = true, true
	if where, ok := scopes[word]; ok {
		s.scopes = append(s.scopes, where)
	}
	if !telling[word] && (english.IsStopWord(word) || fillers[word]) {
		return
	}
	if isName(t) {
		s.names = append(s.names, word)
	}
	s.words = append(s.words, root)
	s.add(item{root: root, passive: isParticiple(spelled) && afterBe(tokens[:i])})
}

// beforeGerund tells whether the word at i stands before one that names a doing: stops retrying.
func beforeGerund(tokens []token, i int) bool {
	return i+1 < len(tokens) && tokens[i].after == noBreak && strings.HasSuffix(tokens[i+1].lower, "ing")
}

// afterBe tells whether tokens end with a form of be, adverbs and negations apart.
func afterBe(tokens []token) bool {
	for _, t := range slices.Backward(tokens) {
		switch word := t.lower; {
		case t.after != noBreak:
			return false
		case formsOfBe[word]:
			return true
		case word != "not" && word != "never" && word != "also" && word != "only" && word != "no" && word != "longer" &&
			word != "always" && word != "usually" && word != "sometimes" && word != "often" && word != "rarely" && !strings.HasSuffix(word, "ly"):
			return false
		}
	}
	return false
}

func (s *statement) compare(comparator string) {
	s.comparators = append(s.comparators, comparator)
	s.add(item{root: comparator})
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
			for i := len(s.items) - 1; i >= 0; i-- {
				if s.items[i].root == negation || s.items[i].root == noLonger {
					s.items[i].root = noLonger
					break
				}
			}
		}
		return
	case kind == mai && before >= 0:
		return
	case kind == mai:
		kind = negation
	}
	s.negations = append(s.negations, kind)
	// "can not" and "must not" forbid alike.
	if n := len(s.obligations); n > 0 && kind == negation && s.obligations[n-1] != should {
		if last := len(s.items) - 1; last >= 0 && s.items[last].root == s.obligations[n-1] {
			s.lead, s.brk = s.items[last].lead, s.items[last].brk
			s.items = s.items[:last]
		}
		s.obligations = s.obligations[:n-1]
	}
	s.add(item{root: kind})
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
		if subordinators[p.meaning] || p.kind == ofScope || p.words[0] == "without" || p.words[0] == "within" || p.meaning == every {
			s.lead = "every"
			if subordinators[p.meaning] {
				s.lead = p.meaning
			}
		}
		switch p.kind {
		case ofNegation:
			s.negate(p.meaning)
		case ofComparison:
			s.compare(p.meaning)
			if strings.HasSuffix(p.words[0], "n't") {
				s.negate(negation)
			}
		case ofObligation:
			s.obligations = append(s.obligations, p.meaning)
			s.add(item{root: p.meaning})
		case ofScope:
			s.scopes = append(s.scopes, p.meaning)
			s.add(item{root: p.meaning})
		case ofFilling:
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
