package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory/terms"
)

// closestElements gives the n elements closest to a text; see elementWords.closest.
func closestElements(elements []Element, text string, n int) []Element {
	elements = slices.DeleteFunc(slices.Clone(elements), func(e Element) bool { return e.Level == c4model.Person })
	out := make([]Element, 0, n)
	for _, i := range wordsOfElements(elements).closest(text, n) {
		out = append(out, elements[i])
	}
	return out
}

// elementWords are the words by which elements are found, in the order of the elements.
type elementWords struct {
	keys   []string
	words  [][]string
	folded [][2]string // key and name
	shared map[string]int
}

func wordsOfElements(elements []Element) *elementWords {
	w := &elementWords{shared: map[string]int{}}
	for i := range elements {
		e := &elements[i]
		words := terms.Of(e.Key + "\n" + e.Name + "\n" + e.Technology + "\n" + e.Description)
		for _, t := range words {
			w.shared[t]++
		}
		w.keys, w.words, w.folded = append(w.keys, e.Key), append(w.words, words), append(w.folded, [2]string{terms.Fold(e.Key), terms.Fold(e.Name)})
	}
	return w
}

// closest ranks elements by the words their key, name, technology and description share with a text, an element
// word weighing less the more elements have it; the rest follow in order of declaration. It gives the places of the first n.
func (w *elementWords) closest(text string, n int) []int {
	wanted := map[string]bool{}
	for _, t := range terms.Of(text) {
		wanted[t] = true
	}
	// A misspelt or shortened key shares no term; a common piece still counts for something.
	piece := terms.Fold(text)
	if len(piece) < 3 || len(piece) >= 100 {
		piece = ""
	}
	scores, order := make([]float64, len(w.keys)), make([]int, len(w.keys))
	for i := range w.keys {
		order[i] = i
		for _, t := range w.words[i] {
			if wanted[t] {
				scores[i] += 1 / float64(w.shared[t])
			}
		}
		if piece != "" && (strings.Contains(w.folded[i][0], piece) || strings.Contains(w.folded[i][1], piece)) {
			scores[i]++
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order[:min(n, len(order))]
}

// maxKeptModels bounds the models whose words are kept: some hundred kilobytes each when they are large.
const maxKeptModels = 32

// keptModels are the words of models that were asked about last, split once for each import. The zero value is ready, and safe for
// concurrent use.
type keptModels struct {
	mu   sync.Mutex
	kept map[uuid.UUID]keptModel
}

type keptModel struct {
	of    LastImport
	words *elementWords
}

// wordsOf gives the words of a project's live elements as the view has them, without people.
func (k *keptModels) wordsOf(ctx context.Context, v View, project uuid.UUID) (*elementWords, error) {
	last, err := v.LastImport(ctx, project)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	known, ok := k.kept[project]
	k.mu.Unlock()
	if ok && known.of.At.Equal(last.At) && bytes.Equal(known.of.Digest, last.Digest) {
		return known.words, nil
	}
	elements, err := v.Elements(ctx, project, false)
	if err != nil {
		return nil, err
	}
	w := wordsOfElements(slices.DeleteFunc(slices.Clone(elements), func(e Element) bool { return e.Level == c4model.Person }))
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= maxKeptModels {
		k.kept = map[uuid.UUID]keptModel{}
	}
	k.kept[project] = keptModel{last, w}
	return w, nil
}
