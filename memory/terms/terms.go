// Package terms turns text into the search terms of recall, the same way for what is stored and for what is asked, so that
// a memory always matches its own words. Any text is data: quotes, operators, control characters and emoji are harmless.
//
// What becomes a term:
//
//   - words by UAX #29, after NFKC normalisation, folded by case; English stop words are left out and words of ASCII letters
//     are stemmed (Snowball English). Words of other scripts, and words with accents, stay as they are;
//   - identifiers whole, not stemmed, and their parts as words: idArgumentResolvers, HTTPServer, max_retries, no-verify,
//     api/auth/mw.go, bank.api.auth, utf8, 5MB. When the whole is nothing but letters its stem is a term as well, for
//     whoever types it in lower case;
//   - what an abbreviation of developers stands for, beside it (cfg, authn, k8s), and the base of irregular forms in place of
//     them (went, children);
//   - versions (v1.2.3) whole, with and without the v;
//   - pairs of neighbouring characters in runs of Han, Kana and Hangul, and a character that stands alone.
package terms

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/kljensen/snowball/english"
	"golang.org/x/text/cases"
)

const (
	// MaxTermBytes is the length of the longest term. No word of a language and no name worth searching is longer; what is
	// (a data URL, a line without spaces) keeps its beginning and a hash of the whole, so that equal texts stay equal terms
	// and different ones different.
	MaxTermBytes = 64

	// MaxTerms is how many distinct terms one text may have: one for each byte of the longest content (16 kB), which
	// ordinary text comes nowhere near and which bounds what a hostile one can cost.
	MaxTerms = 16 << 10
)

// hashDigits is the length of the hash, base 36, with the separator before it, at the end of a shortened term.
const hashDigits = 14

// maxJoiners is the longest run of punctuation inside an identifier or URL ("://").
const maxJoiners = 3

// maxDigitBorders is how often letters and digits may change in a name that is split there. Beyond it the name is a hash,
// an id or base64, whose pieces mean nothing.
const maxDigitBorders = 3

// Of gives the distinct terms of a text in the order in which they first occur, at most MaxTerms. Text that is not valid
// UTF-8 is read with the invalid bytes as spaces.
func Of(text string) []string {
	found, _ := Limited(text, MaxTerms)
	return found
}

// OfPath gives the terms by which a text that names a file finds what is attached to it: the path and the name of the file,
// whole. Parts of them are common words, and would make every memory about a folder match whatever the folder is called.
func OfPath(path string) []string {
	found := Of(path)
	whole := slices.DeleteFunc(slices.Clone(found), func(t string) bool { return !strings.ContainsAny(t, "./\\") })
	if len(whole) == 0 {
		return found // a file such as Makefile
	}
	return whole
}

// Limited is Of for a caller that wants no more than limit terms, such as a query: the first ones are kept, and more says
// that the text had others. It reads no further than it needs to.
func Limited(text string, limit int) (found []string, more bool) {
	c := collector{limit: max(0, limit), seen: map[string]struct{}{}}
	text = clean(text)
	for text != "" && !c.more {
		n := untilPaired(text)
		c.segment(text[:n])
		text = text[n:]
		n = untilUnpaired(text)
		c.pairs(text[:n])
		text = text[n:]
	}
	return c.found, c.more
}

// collector gathers distinct terms.
type collector struct {
	found []string
	seen  map[string]struct{}
	limit int
	more  bool
	fold  *cases.Caser // made when first needed: most text is ASCII
}

func (c *collector) add(term string) {
	if len(term) > MaxTermBytes {
		term = shorten(term)
	}
	if _, ok := c.seen[term]; ok || term == "" {
		return
	}
	if len(c.found) >= c.limit {
		c.more = true
		return
	}
	c.seen[term] = struct{}{}
	c.found = append(c.found, term)
}

// shorten replaces the end of a long term by a hash of the whole.
func shorten(term string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(term))
	end := MaxTermBytes - hashDigits
	for !utf8.RuneStart(term[end]) {
		end--
	}
	return term[:end] + "~" + strconv.FormatUint(h.Sum64(), 36)
}

// segment collects the terms of text without Han, Kana and Hangul: each word, and each compound of words that only
// punctuation of identifiers, paths and URLs joins.
func (c *collector) segment(text string) {
	var start, end, parts, joiners int // the compound so far; joiners counts those after its last word
	flush := func() {
		if parts > 1 {
			c.add(c.folded(text[start:end]))
		}
		parts = 0
	}
	for it := words.FromString(text); !c.more && it.Next(); {
		switch token := it.Value(); {
		case hasWord(token):
			if parts > 0 && joiners == 0 {
				flush()
			}
			if parts == 0 {
				start = it.Start()
			}
			parts, joiners, end = parts+1, 0, it.End()
			c.word(token)
			if name := sharpOrPlus(token, text[end:]); name > 0 {
				c.add(c.folded(text[it.Start() : end+name]))
			}
		case parts > 0 && joiners < maxJoiners && len(token) == 1 && strings.IndexByte(`-/\.:@`, token[0]) >= 0:
			joiners++
		default:
			flush()
		}
	}
	flush()
}

// sharpOrPlus gives the length of the end of names such as C++, C# and F#, which the word boundary rules cut off.
func sharpOrPlus(word, rest string) int {
	if len(word) != 1 {
		return 0
	}
	if strings.HasPrefix(rest, "++") {
		return 2
	}
	if strings.HasPrefix(rest, "#") {
		return 1
	}
	return 0
}

func hasWord(token string) bool {
	for _, r := range token {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return true
		}
	}
	return false
}

// contractions are the ends of English words that carry nothing worth searching.
var contractions = []string{"'s", "'re", "'ve", "'ll", "'d", "'m"}

// word collects one word of the UAX #29 rules, which may still be an identifier: those rules join letters, digits, marks,
// underscores, and dots and colons between letters.
func (c *collector) word(w string) {
	if isLowerASCII(w) {
		c.plain(w)
		return
	}
	if strings.Contains(w, "'") {
		c.apostrophe(w)
		return
	}
	w = strings.TrimFunc(w, isSeparator)
	if bare, ok := version(w); ok {
		folded := strings.ToLower(w)
		c.add(folded)
		c.add(bare)
		return
	}
	if name, number, ok := versioned(w); ok {
		c.add(strings.ToLower(w))
		c.plain(strings.ToLower(name))
		c.add(number)
		return
	}
	if isGrouped(w) {
		c.add(strings.ReplaceAll(w, ",", ""))
		return
	}
	parts := 0
	splitIdentifier(w, func(part string) {
		if len(part) == len(w) {
			c.plain(c.folded(w))
			return
		}
		if parts == 0 {
			whole := c.folded(w)
			c.add(whole)
			if isLowerASCII(whole) {
				c.add(stem(whole))
			}
			c.lengthen(whole)
		}
		parts++
		c.plain(c.folded(part))
	})
}

// apostrophe collects a word with apostrophes: English contractions lose their end, any other falls into its parts
// (l'utente, O'Brien).
func (c *collector) apostrophe(w string) {
	lower := strings.ToLower(w)
	if strings.HasSuffix(lower, "n't") {
		return // a stop word, as "not" is
	}
	for _, end := range contractions {
		if len(lower) == len(w) && strings.HasSuffix(lower, end) && len(lower) > len(end) {
			w = w[:len(w)-len(end)]
			break
		}
	}
	for part := range strings.SplitSeq(w, "'") {
		if hasWord(part) {
			c.word(part)
		}
	}
}

// plain collects a folded word that is no identifier.
func (c *collector) plain(w string) {
	switch {
	case !isLowerASCII(w) || len(w) > MaxTermBytes:
		c.add(w)
	case !english.IsStopWord(w):
		if base := irregular[w]; base != nil {
			w = base[0]
		}
		c.add(stem(w))
	}
	c.lengthen(w)
}

// lengthen collects what a word is short for.
func (c *collector) lengthen(w string) {
	for _, long := range abbreviations[w] {
		c.add(stem(long))
	}
}

func (c *collector) folded(w string) string {
	if lower, ok := lowerASCII(w); ok {
		return lower
	}
	if c.fold == nil {
		caser := cases.Fold()
		c.fold = &caser
	}
	return foldCase(w, *c.fold)
}

// pairs collects a run of Han, Kana and Hangul: each two neighbours, or the one that stands alone. Such text has no spaces
// to find words by, and pairs find any word of two characters or more without a dictionary.
func (c *collector) pairs(run string) {
	_, first := utf8.DecodeRuneInString(run)
	if first == len(run) {
		c.add(run)
		return
	}
	for first < len(run) && !c.more {
		_, second := utf8.DecodeRuneInString(run[first:])
		c.add(run[:first+second])
		run, first = run[first:], second
	}
}
