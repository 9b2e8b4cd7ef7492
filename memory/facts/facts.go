// Package facts is the guard that decides whether two texts of nearly equal meaning state the same facts.
//
// Embeddings cannot tell "retries three times" from "does not retry", and a merge of the two would lose one of them. The
// guard compares what they are blind to: numbers, quantities with units, versions, negations, comparisons, obligations,
// quoted literals, identifiers, paths, URLs, names, the environment a statement is limited to, opposites, and who does
// what to whom. It is made of tables and rules only, so that it gives the same answer everywhere and can say why. When in
// doubt the facts differ: two memories that say the same are a nuisance, a fact that was merged away is gone.
package facts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxBytes bounds what is compared; longer texts are the same only when they are equal. It is the longest content of a
// memory, 16 kB.
const maxBytes = 16 << 10

// maxAdded is how many words of content one text may have beyond the other, when it has all of the other's: an adjective or
// two in a restatement. More is another fact that a merge would lose.
const maxAdded = 2

// maxExchanged is how many words of content may stand on one side only, counted over both, for the texts to be one statement
// with something else in it. Texts that differ in more words are worded differently, and the other rules judge them.
const maxExchanged = 3

// Reason says in words what differs. The zero value says that nothing does.
type Reason struct {
	Category string // numbers, negation, identifiers …
	A, B     string // what each text says, "nothing" when it says nothing
}

// String gives "numbers: 3 against 4", and nothing for the zero value.
func (r Reason) String() string {
	if r.Category == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s against %s", r.Category, r.A, r.B)
}

// Same tells whether two texts state the same facts, and if not, the first difference found. It is symmetric, and every
// text is the same as itself. It expects texts that an embedding or equal words already found alike: two texts that have
// nothing to do with each other may well agree in all that is compared here.
func Same(a, b string) (bool, Reason) {
	if a == b {
		return true, Reason{}
	}
	if len(a) > maxBytes || len(b) > maxBytes {
		return false, Reason{"length", fmt.Sprintf("%d bytes", len(a)), fmt.Sprintf("%d bytes", len(b))}
	}
	x, y := extract(a), extract(b)
	for _, compare := range comparisons {
		if r := compare(x, y); r.Category != "" {
			return false, r
		}
	}
	return true, Reason{}
}

// comparisons in the order in which a difference is most telling.
var comparisons = []func(x, y *statement) Reason{
	func(x, y *statement) Reason { return differ("versions", x.versions, y.versions) },
	compareNumbers,
	func(x, y *statement) Reason { return differ("negation", x.negations, y.negations) },
	func(x, y *statement) Reason { return differ("comparison", x.comparators, y.comparators) },
	compareObligation,
	func(x, y *statement) Reason {
		return differ("identifiers", unique(x.identifiers), unique(y.identifiers))
	},
	compareLiterals,
	func(x, y *statement) Reason { return differ("quoted", unique(x.symbols), unique(y.symbols)) },
	compareNames,
	func(x, y *statement) Reason { return differ("where or when", unique(x.scopes), unique(y.scopes)) },
	compareOpposites,
	compareWords,
	compareOrder,
	compareNegated,
	compareRelated,
}

// differ compares two multisets.
func differ(category string, a, b []string) Reason {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	if slices.Equal(a, b) {
		return Reason{}
	}
	return Reason{category, list(subtract(a, b)), list(subtract(b, a))}
}

func list(items []string) string {
	if len(items) == 0 {
		return "nothing"
	}
	const shown = 5
	if len(items) > shown {
		return strings.Join(items[:shown], ", ") + fmt.Sprintf(" and %d more", len(items)-shown)
	}
	return strings.Join(items, ", ")
}

// subtract gives what a has beyond b, counting repetitions.
func subtract(a, b []string) []string {
	left := map[string]int{}
	for _, item := range b {
		left[item]++
	}
	var rest []string
	for _, item := range a {
		if left[item]--; left[item] < 0 {
			rest = append(rest, item)
		}
	}
	return rest
}

func unique(items []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(items)))
}

// compareNumbers compares numbers with their units as multisets, and then what each counts: 3 retries of 5 workers are not
// 5 retries of 3 workers.
func compareNumbers(x, y *statement) Reason {
	values := func(s *statement) (all []string, counted map[string][]string) {
		counted = map[string][]string{}
		for _, n := range s.numbers {
			all = append(all, n.value)
			if n.counts != "" {
				counted[n.counts] = append(counted[n.counts], n.value)
			}
		}
		return all, counted
	}
	a, countedA := values(x)
	b, countedB := values(y)
	if r := differ("numbers", a, b); r.Category != "" {
		return r
	}
	for _, what := range slices.Sorted(maps.Keys(countedA)) {
		if other, ok := countedB[what]; ok {
			if r := differ("numbers of "+what, countedA[what], other); r.Category != "" {
				return r
			}
		}
	}
	return Reason{}
}

// compareObligation tells what must be from what may or should be. Saying must is the same as stating it plainly.
func compareObligation(x, y *statement) Reason {
	a, b := unique(x.obligations), unique(y.obligations)
	plain := func(o []string) bool {
		return len(o) == 0 || slices.Equal(o, []string{must}) || slices.Equal(o, []string{should})
	}
	if slices.Equal(a, b) || plain(a) && plain(b) && (len(a) == 0 || len(b) == 0) {
		return Reason{}
	}
	return Reason{"obligation", list(a), list(b)}
}

// compareLiterals wants everything one text quotes to stand in the other, quoted or not.
func compareLiterals(x, y *statement) Reason {
	missing := func(from, in *statement) []string {
		return slices.DeleteFunc(unique(from.literals), func(l string) bool { return containsWhole(in.unquoted, l) })
	}
	if a, b := missing(x, y), missing(y, x); len(a)+len(b) > 0 {
		return Reason{"quoted", list(a), list(b)}
	}
	return Reason{}
}

// containsWhole tells whether text has part not as a piece of a longer word.
func containsWhole(text, part string) bool {
	for start := 0; start <= len(text); {
		at := strings.Index(text[start:], part)
		if at < 0 {
			return false
		}
		at += start
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(part):])
		if !isWordRune(before) && !isWordRune(after) {
			return true
		}
		start = at + max(1, len(part))
	}
	return false
}

func isWordRune(r rune) bool {
	return r == '_' || r != utf8.RuneError && !isCJK(r) && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// compareNames wants each name (a capitalised word inside a sentence, an acronym) to stand in the other text in some spelling.
func compareNames(x, y *statement) Reason {
	missing := func(from, in *statement) []string {
		return slices.DeleteFunc(unique(from.names), func(name string) bool { return in.has[name] || in.has[stem(name)] })
	}
	if a, b := missing(x, y), missing(y, x); len(a)+len(b) > 0 {
		return Reason{"names", list(a), list(b)}
	}
	return Reason{}
}

// compareOpposites looks for a word of one text whose opposite is in the other.
func compareOpposites(x, y *statement) Reason {
	onlyX, onlyY := subtract(unique(x.words), unique(y.words)), subtract(unique(y.words), unique(x.words))
	for _, a := range onlyX {
		for _, b := range onlyY {
			if opposite(a, b) {
				return Reason{"opposites", a, b}
			}
		}
	}
	for _, pair := range cjkOpposites {
		a, b := strings.Count(x.cjk, pair[0])-strings.Count(y.cjk, pair[0]), strings.Count(x.cjk, pair[1])-strings.Count(y.cjk, pair[1])
		switch {
		case a > 0 && b < 0:
			return Reason{"opposites", pair[0], pair[1]}
		case a < 0 && b > 0:
			return Reason{"opposites", pair[1], pair[0]}
		}
	}
	return Reason{}
}

// compareWords finds texts that are alike but for a word or two in place of another, where an embedding sees hardly a
// difference (orders, invoices; null, an empty list), and texts that say all the other does and more.
func compareWords(x, y *statement) Reason {
	onlyX, onlyY := subtract(unique(x.words), unique(y.words)), subtract(unique(y.words), unique(x.words))
	switch {
	case len(onlyX) == 1 && len(onlyY) == 1 && synonyms(onlyX[0], onlyY[0]):
		return Reason{}
	case len(onlyX) > 0 && len(onlyY) > 0 && len(onlyX)+len(onlyY) <= maxExchanged:
		return Reason{"words", list(onlyX), list(onlyY)}
	case x.listed != y.listed && (len(onlyX) == 0) != (len(onlyY) == 0): // reads and writes; writes
		return Reason{"words", list(onlyX), list(onlyY)}
	case len(onlyX) == 0 && len(onlyY) > maxAdded, len(onlyY) == 0 && len(onlyX) > maxAdded:
		return Reason{"words", list(onlyX), list(onlyY)}
	}
	if x.cjk != y.cjk && len(onlyX) == 0 && len(onlyY) == 0 {
		return compareCJK(x.cjk, y.cjk)
	}
	return Reason{}
}

// compareCJK finds texts without spaces that differ in one short piece, what stands before and after it being the same.
func compareCJK(a, b string) Reason {
	r, s := []rune(a), []rune(b)
	start := 0
	for start < min(len(r), len(s)) && r[start] == s[start] {
		start++
	}
	end := 0
	for end < min(len(r), len(s))-start && r[len(r)-1-end] == s[len(s)-1-end] {
		end++
	}
	const shortPiece = 4 // a word of two characters, or two words
	left, right := r[start:len(r)-end], s[start:len(s)-end]
	if len(left) > 0 && len(right) > 0 && len(left) <= shortPiece && len(right) <= shortPiece && start+end >= max(len(left), len(right)) {
		return Reason{"words", string(left), string(right)}
	}
	return Reason{}
}

// compareOrder finds two things that changed places: A calls B is not B calls A, unless one of them says it in the passive.
func compareOrder(x, y *statement) Reason {
	switch {
	case x.byAgent != y.byAgent:
		return swappedInPassive(x, y)
	case x.passive != y.passive:
		return Reason{}
	}
	a, b := unique(x.identifiers), x.identifiers
	if len(a) > 1 && len(a) == len(b) && len(y.identifiers) == len(b) && !slices.Equal(x.identifiers, y.identifiers) {
		return Reason{"order", strings.Join(x.identifiers, " … "), strings.Join(y.identifiers, " … ")}
	}
	if len(x.order) != len(y.order) {
		return Reason{}
	}
	var moved []int
	for i := range x.order {
		if x.order[i] != y.order[i] {
			moved = append(moved, i)
		}
	}
	if len(moved) == 2 && moved[1]-moved[0] > 1 && x.order[moved[0]] == y.order[moved[1]] && x.order[moved[1]] == y.order[moved[0]] {
		return Reason{"order", strings.Join(x.order[moved[0]:moved[1]+1], " "), strings.Join(y.order[moved[0]:moved[1]+1], " ")}
	}
	return Reason{}
}

// swappedInPassive finds A calls B against A is called by B, where the order stays and the meaning turns.
func swappedInPassive(x, y *statement) Reason {
	if len(x.order) > 2 && slices.Equal(x.order, y.order) {
		return Reason{"order", strings.Join(x.order, " "), strings.Join(y.order, " ") + " (passive)"}
	}
	return Reason{}
}

// compareNegated wants the same things denied when both texts have the same words: "cache errors, do not cache results" is
// not "do not cache errors, cache results".
func compareNegated(x, y *statement) Reason {
	if !sameWords(x, y) {
		return Reason{}
	}
	return differ("what is denied", x.denied(), y.denied())
}

// compareRelated wants the same things after from, to, over and the like when both texts have the same words: composition
// over inheritance is not inheritance over composition.
func compareRelated(x, y *statement) Reason {
	if !sameWords(x, y) || len(x.related) != len(y.related) {
		return Reason{}
	}
	return differ("direction", x.related, y.related)
}

func sameWords(x, y *statement) bool {
	return slices.Equal(slices.Sorted(slices.Values(x.words)), slices.Sorted(slices.Values(y.words)))
}
