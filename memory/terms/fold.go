package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold gives the form in which titles and names are compared: NFKC, case folded, control and format characters removed,
// white space collapsed to single spaces and trimmed. Folding twice changes nothing.
func Fold(s string) string {
	return untilStable(s, func(s string) string { return collapse(foldText(clean(s))) })
}

// maxRounds bounds untilStable. One round settles all but a few letters, whose folding combines anew with the mark after them.
const maxRounds = 8

func untilStable(s string, form func(string) string) string {
	for range maxRounds {
		next := form(s)
		if next == s {
			break
		}
		s = next
	}
	return s
}

// Normalise gives the form in which whole texts are compared to be called equal: NFKC, control and format characters removed,
// typographic quotes made plain, white space collapsed, a final full stop or exclamation mark dropped, and words that have
// a capital only at their beginning in lower case. Identifiers and acronyms keep their case, which may be a difference.
func Normalise(s string) string { return untilStable(s, normalise) }

func normalise(s string) string {
	s = collapse(plainQuotes.Replace(clean(s)))
	var b strings.Builder
	b.Grow(len(s))
	starts := true // of a sentence, where a capital says nothing
	for word := range strings.SplitSeq(s, " ") {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if starts && word == "A" {
			word = "a" // the article; elsewhere a single capital is a name
		}
		b.WriteString(uncapitalise(word))
		starts = strings.HasSuffix(word, ".") || strings.HasSuffix(word, "!") || strings.HasSuffix(word, "?")
	}
	return strings.TrimRight(b.String(), ".! ")
}

var plainQuotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'")

// uncapitalise puts a word in lower case when its only capital comes before every other letter.
func uncapitalise(word string) string {
	first := strings.IndexFunc(word, unicode.IsLetter)
	if first < 0 {
		return word
	}
	r, n := utf8.DecodeRuneInString(word[first:])
	rest := word[first+n:]
	if !unicode.IsUpper(r) || rest == "" || strings.IndexFunc(rest, unicode.IsUpper) >= 0 {
		return word
	}
	return word[:first] + string(unicode.ToLower(r)) + rest
}

// clean gives valid UTF-8 in NFKC without control and format characters; those that separate become spaces.
func clean(s string) string {
	if isPlainASCII(s) {
		return s
	}
	s = strings.ToValidUTF8(s, " ")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\v' || r == '\f' || r == '\r' || r == '\u0085' || r == zeroWidthSpace:
			return ' '
		case r == '’' || r == '‘' || r == 'ʼ':
			return '\''
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector):
			return -1
		}
		return r
	}, s)
	return norm.NFKC.String(s)
}

const zeroWidthSpace = '\u200b'

func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

func foldText(s string) string {
	if lower, ok := lowerASCII(s); ok {
		return lower
	}
	return foldCase(s, cases.Fold())
}

// lowerASCII folds text that is ASCII.
func lowerASCII(s string) (lower string, ok bool) {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return "", false
		}
	}
	return strings.ToLower(s), true
}

// foldCase folds by the full Unicode rules. The Turkish capital İ folds to an i with a dot above it, which would keep
// İstanbul and istanbul apart; the dot goes. The dotless ı is another letter and stays one.
func foldCase(s string, caser cases.Caser) string {
	return norm.NFKC.String(strings.ReplaceAll(caser.String(s), "i\u0307", "i"))
}

// isPaired tells whether r is of a script that is indexed by pairs of characters.
func isPaired(r rune) bool {
	if r < '\u1100' { // the first Hangul letter
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) ||
		r == 'ー' || r == '\u3099' || r == '\u309a' // shared by Hiragana and Katakana, so of neither script
}

func untilPaired(s string) int {
	if n := strings.IndexFunc(s, isPaired); n >= 0 {
		return n
	}
	return len(s)
}

func untilUnpaired(s string) int {
	if n := strings.IndexFunc(s, func(r rune) bool { return !isPaired(r) }); n >= 0 {
		return n
	}
	return len(s)
}
