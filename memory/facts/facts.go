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
	compareSymbols,
	compareNames,
	func(x, y *statement) Reason { return differ("where or when", unique(x.scopes), unique(y.scopes)) },
	compareOpposites,
	compareWords,
	compareCJK,
	compareArrangement,
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

// compareSymbols wants quoted operators and the like in the same order: replace `->` by `=>` is not the reverse.
func compareSymbols(x, y *statement) Reason {
	if r := differ("quoted", unique(x.symbols), unique(y.symbols)); r.Category != "" || slices.Equal(x.symbols, y.symbols) {
		return r
	}
	return Reason{"quoted", strings.Join(x.symbols, " … "), strings.Join(y.symbols, " … ")}
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
		return slices.DeleteFunc(unique(from.names), func(name string) bool { return in.has[name] || in.has[stem(name)] || in.has[canonical(name)] })
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

// compareWords wants every word of content, or one that means the same, in both texts: one in place of another is another
// fact (orders, invoices; the owner, the engineer on call), and one more would be lost in a merge.
func compareWords(x, y *statement) Reason { return differ("words", unique(x.words), unique(y.words)) }

// compareCJK wants texts without spaces equal: there are no words here to compare, and one character turns a fact round.
func compareCJK(x, y *statement) Reason {
	r, s := []rune(x.cjk), []rune(y.cjk)
	start := 0
	for start < min(len(r), len(s)) && r[start] == s[start] {
		start++
	}
	if start == len(r) && start == len(s) {
		return Reason{}
	}
	const shown = 12
	excerpt := func(r []rune) string {
		if len(r) == 0 {
			return "nothing"
		}
		return string(r[:min(len(r), shown)])
	}
	return Reason{"words", excerpt(r[start:]), excerpt(s[start:])}
}
