package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
)

const (
	// feedbackDepth is how many of the best results feedback puts in order anew. On the public questions 32 gave the ten best
	// that all memories gave.
	feedbackDepth = 32
	// feedbackLeast is how few results are too few to tell a topic by: what they have in common is the query.
	feedbackLeast = 10
	// feedbackLeaders are the results that speak for others. Three do as well on the public questions, and let pitfalls before
	// answers on the developer set.
	feedbackLeaders = 2
)

// Traits are what a memory is compared with others by.
type Traits struct {
	Terms  []int64   // keyed hashes of its terms
	Vector []float32 // of the model asked for; nil when it has none
}

// feedback puts the results of a search in order anew, with the query moved towards the most relevant of them (Rocchio, 1971, for
// vectors; relevance models for words): what they say and the question does not is likely said by the other answers too.
// Only what was found takes part, and nothing leaves.
func (a *answer) feedback(ctx context.Context, found []ranked) ([]ranked, error) {
	r := a.search.Ranking
	if !a.search.ByVector() || len(found) < feedbackLeast || r.FeedbackVector == 0 && r.FeedbackWords == 0 {
		return found, nil
	}
	ids := make([]uuid.UUID, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	traits, err := a.view.Traits(ctx, ids, a.search.Model)
	if err != nil {
		return nil, fmt.Errorf("feedback: %w", err)
	}
	return a.search.moved(found, traits), nil
}

// moved scores results by the query moved towards the leaders among them.
func (s Search) moved(found []ranked, traits map[uuid.UUID]Traits) []ranked {
	leaders := slices.Clone(found)
	slices.SortStableFunc(leaders, func(a, b ranked) int { return cmp.Compare(b.Relevance, a.Relevance) })
	leaders = leaders[:min(len(leaders), feedbackLeaders)]
	// Seldom is what few of the results have: the whole memory is of another kind of rare.
	df := map[int64]int{}
	for _, f := range found {
		for _, t := range traits[f.ID].Terms {
			df[t]++
		}
	}
	weights := map[int64]int64{} // whole numbers, which add up the same in every order
	total := int64(0)
	vector := make([]float64, len(s.Vector))
	for i, x := range s.Vector {
		vector[i] = float64(x)
	}
	for _, l := range leaders {
		of := traits[l.ID]
		for _, t := range of.Terms {
			w := int64(math.Round(l.Relevance * IDF(len(found), df[t]) * weightUnit))
			weights[t] += w
			total += w
		}
		for i := range min(len(vector), len(of.Vector)) {
			vector[i] += s.Ranking.FeedbackVector / float64(len(leaders)) * float64(of.Vector[i])
		}
	}
	norm := 0.0
	for _, x := range vector {
		norm += x * x
	}
	norm = math.Sqrt(norm)
	out := slices.Clone(found)
	s.Best = 0
	for i := range out {
		of := traits[out[i].ID]
		lexical := s.Words.Lexical(out[i].Matched)
		if total > 0 {
			shared := int64(0)
			for _, t := range of.Terms {
				shared += weights[t]
			}
			lexical = (1-s.Ranking.FeedbackWords)*lexical + s.Ranking.FeedbackWords*float64(shared)/float64(total)
		}
		cosine := out[i].Cosine
		if cosine != nil && len(of.Vector) == len(vector) && norm > 0 {
			dot := 0.0
			for j, x := range vector {
				dot += x * float64(of.Vector[j])
			}
			dot /= norm
			cosine = &dot
		}
		out[i].Factors = s.Ranking.Factors(cosine, lexical, out[i].Standing, s.At)
		s.Best = max(s.Best, out[i].Held())
	}
	s.order(out)
	return out
}
