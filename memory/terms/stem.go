package terms

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/kljensen/snowball/english"
)

// stem is the stem of an English word in lower case. Texts use few words often and stemming one costs more than all else of splitting a
// text, so the stems of the words that came last are remembered: it changes nothing but the time.
func stem(word string) string {
	if len(word) > longestKept {
		return english.Stem(word, false)
	}
	at := &stems[maphash.String(stemSeed, word)%uint64(len(stems))]
	if kept := at.Load(); kept != nil && kept.word == word {
		return kept.stem
	}
	s := &stemmed{strings.Clone(word), strings.Clone(english.Stem(word, false))} // not the text that the word is part of
	at.Store(s)
	return s.stem
}

const (
	// longestKept is as long as words of a language get; what is longer hardly comes again.
	longestKept = 24
	// keptStems bounds the memory for them to about two megabytes.
	keptStems = 1 << 14
)

type stemmed struct{ word, stem string }

// stems holds one word in each place, the one that came last.
var (
	stems    [keptStems]atomic.Pointer[stemmed]
	stemSeed = maphash.MakeSeed()
)
