package memory

import (
	"time"

	"github.com/google/uuid"
)

// Search is one ranked search, ready for a Store: what to look for, where, and how to weigh it.
//
// What may come back is decided by Store and scan (which a test holds equal) in this order:
//
//  1. live memories of Spaces that have not expired at At, unless Expired, and that Narrow admits;
//  2. of these, when Browse is false, those with a word of Terms or a vector of Model;
//  3. of these, those above their floor by coverage, and within Share of the best relevance among them.
//
// N and df of Words count everything of step 1 before Narrow.
type Search struct {
	Spaces     []int32
	Browse     bool      // no query: everything is relevant
	Terms      []string  // of the query
	Words      Words     // Terms weighed; filled by the search
	Best       float64   // the most Held of any result; filled by the search, of no meaning when browsing
	Model      string    // of Vector; "" searches by words alone
	Vector     []float32 // of the query
	ModelFloor float64   // least relevance of a candidate found by vector
	Ranking    Ranking
	At         time.Time
	Expired    bool // memories past their expiry take part
	Narrow     Narrowing
	Limit      int // candidates wanted, best first
}

// Found is what a Store's search gives.
type Found struct {
	Words      Words       // the terms, weighed
	Best       float64     // the most Held of all results, also of those that are not among the candidates
	Candidates []Candidate // at least Limit where there are so many, in no order
	// Approximate tells that an index chose which vectors were compared: a few of the best may be missing.
	Approximate bool
}

// ByVector tells whether meaning takes part.
func (s Search) ByVector() bool { return !s.Browse && s.Model != "" && s.Vector != nil }

// Share is the share of the best relevance that a result needs.
func (s Search) Share() float64 {
	if s.ByVector() {
		return s.Ranking.BestShare
	}
	return s.Ranking.WordsShare
}

// Score is the score of a candidate, Words being weighed and Best known.
func (s Search) Score(c Candidate) float64 { return s.among(s.factors(c)).Score() }

// Held is what a candidate may be the best of the query with, Words being weighed.
func (s Search) Held(c Candidate) float64 { return s.factors(c).Held() }

// MaxStanding is the most by which the standing of any memory multiplies its relevance.
func (r Ranking) MaxStanding() float64 {
	kind := 0.0
	for _, k := range r.Kind {
		kind = max(kind, k)
	}
	return kind * max(1, r.FreshnessRest) * (1 + max(0, r.CitationGain)) * max(1, r.Ignored) * max(1, r.Doubt) * max(1, r.Unreviewed)
}

// Narrowing admits memories that meet every condition that is set.
type Narrowing struct {
	Kinds []Kind // any of them; nil = all

	ByElement bool
	Elements  []ElementDistance // attached to any of them

	ByPath       bool
	PathMemories []uuid.UUID // one of these,
	PathElements []uuid.UUID // or attached to any of these

	Tags []string // folded; has all of them
}

// None tells whether every memory is admitted.
func (n Narrowing) None() bool {
	return len(n.Kinds) == 0 && !n.ByElement && !n.ByPath && len(n.Tags) == 0
}

// ElementDistance is an element with its steps in the model from the one that was asked for.
type ElementDistance struct {
	ID       uuid.UUID
	Distance int
}

// Families are several elements with their descendants and ancestors, each element at its least distance.
func Families(elements []Element, of []uuid.UUID) []ElementDistance {
	var out []ElementDistance
	at := map[uuid.UUID]int{}
	for _, e := range of {
		for _, d := range family(elements, e) {
			n, ok := at[d.ID]
			if !ok {
				at[d.ID] = len(out)
				out = append(out, d)
				continue
			}
			out[n].Distance = min(out[n].Distance, d.Distance)
		}
	}
	return out
}

// family is an element with its descendants and ancestors, each with its distance.
func family(elements []Element, of uuid.UUID) []ElementDistance {
	parent := make(map[uuid.UUID]uuid.UUID, len(elements))
	children := make(map[uuid.UUID][]uuid.UUID, len(elements))
	for _, e := range elements {
		parent[e.ID] = e.ParentID
		children[e.ParentID] = append(children[e.ParentID], e.ID)
	}
	out := []ElementDistance{{of, 0}}
	seen := map[uuid.UUID]bool{uuid.Nil: true, of: true}
	for id, d := parent[of], 1; !seen[id]; id, d = parent[id], d+1 {
		seen[id] = true
		out = append(out, ElementDistance{id, d})
	}
	for level, d := children[of], 1; len(level) > 0; d++ {
		var next []uuid.UUID
		for _, id := range level {
			if !seen[id] {
				seen[id] = true
				out = append(out, ElementDistance{id, d})
				next = append(next, children[id]...)
			}
		}
		level = next
	}
	return out
}
