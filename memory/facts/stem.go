package facts

import (
	"strings"
	"unicode/utf8"
)

// maxStemmed bounds what is stemmed, in bytes: no word is longer.
const maxStemmed = 64

// american makes one spelling of the British and the American one.
var american = strings.NewReplacer("is", "iz", "our", "or", "tre", "ter")

// stem takes inflection away and nothing else: a stemmer for search makes one of operator and operation, importer and
// import, valid and validate, which are different things to state a fact about.
func stem(word string) string {
	if base, ok := irregular[word]; ok {
		word = base
	}
	if len(word) > maxStemmed || len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return word
		}
	}
	word = uninflected(word)
	// What the endings hide of the word is taken from all its forms: cache, caches, cached, caching; add, adds, added.
	// Short words keep theirs, or a note would be a not and a mode a mod.
	if n := len(word); n > 4 && word[n-1] == 'e' {
		word = word[:n-1]
	}
	if n := len(word); n > 2 && word[n-1] == word[n-2] && !isVowel(word[n-1]) {
		word = word[:n-1]
	}
	return american.Replace(word)
}

// uninflected takes one ending away: of the plural or the third person, of the past, or of the present participle.
func uninflected(word string) string {
	n := len(word)
	switch {
	case n > 4 && (strings.HasSuffix(word, "ies") || strings.HasSuffix(word, "ied")):
		return word[:n-3] + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "ches"), strings.HasSuffix(word, "shes"),
		strings.HasSuffix(word, "xes"), strings.HasSuffix(word, "zes"), strings.HasSuffix(word, "oes"):
		return withE(word[:n-2])
	case n > 3 && word[n-1] == 's' && !strings.ContainsRune("sui", rune(word[n-2])):
		return word[:n-1]
	case n > 3 && strings.HasSuffix(word, "ed") && word[n-3] != 'e' && hasVowel(word[:n-2]):
		return withE(word[:n-2])
	case n > 4 && strings.HasSuffix(word, "ing") && hasVowel(word[:n-3]):
		return withE(word[:n-3])
	}
	return word
}

// withE gives short words back the e that an ending took: sav(ed), siz(es).
func withE(word string) string {
	if len(word) == 3 && !isVowel(word[0]) && isVowel(word[1]) && !isVowel(word[2]) && word[2] != 'x' && word[2] != 'w' {
		return word + "e"
	}
	return word
}

func isVowel(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }

func hasVowel(word string) bool { return strings.ContainsAny(word, "aeiouy") }

// irregular forms, each with the word it is a form of.
var irregular = buildIrregular(
	"write wrote written", "rewrite rewrote rewritten", "read reads", "send sent", "hold held", "keep kept", "build built", "rebuild rebuilt", "run ran", "throw threw thrown",
	"break broke broken", "choose chose chosen", "take took taken", "give gave given", "find found", "see saw seen seeing", "make made", "go went gone", "get got gotten",
	"lead led", "lose lost", "meet met", "pay paid", "tell told", "catch caught", "bring brought", "mean meant", "begin began begun", "drive drove driven", "know knew known",
	"grow grew grown", "draw drew drawn", "show shown", "hang hung", "seek sought", "bind bound", "feed fed", "hide hid hidden", "stand stood", "understand understood",
	"fall fell fallen", "forget forgot forgotten", "freeze froze frozen", "override overrode overridden", "spend spent", "lend lent", "think thought", "speak spoke spoken",
	"free freed", "agree agreed", "guarantee guaranteed", "use uses used using", "die dies died dying", "tie ties tied tying", "lie lies lying", "index indices",
	"vertex vertices", "matrix matrices", "child children", "analysis analyses", "criterion criteria", "schema schemata", "status statuses", "alias aliases",
	"bias biases", "bus buses", "gas gases", "basis bases", "axis axes", "person people", "leaf leaves", "half halves", "api apis", "id ids", "cli clis",
)

func buildIrregular(groups ...string) map[string]string {
	all := map[string]string{}
	for _, g := range groups {
		forms := strings.Fields(g)
		for _, form := range forms[1:] {
			all[form] = forms[0]
		}
	}
	return all
}
