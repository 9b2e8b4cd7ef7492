package terms

import (
	"hash/maphash"
	"slices"
	"sync"
	"testing"

	"github.com/kljensen/snowball/english"
	"pgregory.net/rapid"
)

// A remembered stem is the stem, whatever came before and whoever asks at once.
func TestStemIsRemembered(t *testing.T) {
	t.Parallel()
	stem("queues")
	if kept := stems[maphash.String(stemSeed, "queues")%keptStems].Load(); kept == nil || kept.word != "queues" || kept.stem != "queue" {
		t.Errorf("after queues %+v is remembered", kept)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,30}(ing|ed|s|ly|ation)?`), 1, 50).Draw(t, "words")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for _, w := range slices.Concat(words, words) {
					if got, want := stem(w), english.Stem(w, false); got != want {
						t.Errorf("the stem of %q is %q, not %q", w, got, want)
					}
				}
			})
		}
		wg.Wait()
	})
}
