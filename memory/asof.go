package memory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
)

// A recall as of an instant answers from the logs. There is no index of the past, so every memory is looked at: the same
// ranking over plain records. The scan is also the definition that the indexed search is tested against.

// past ranks what was live at the instant of the request.
func (a *answer) past(ctx context.Context) ([]ranked, []Record, error) {
	records, err := a.view.Past(ctx, a.spaces, a.search.At)
	if err != nil {
		return nil, nil, fmt.Errorf("read the logs: %w", err)
	}
	if n := &a.search.Narrow; n.ByPath {
		n.PathMemories = n.PathMemories[:0]
		for _, r := range records {
			if r.ProjectID == a.caller.Project && slices.ContainsFunc(r.Paths, func(pattern string) bool {
				return slices.ContainsFunc(a.request.Paths, func(p string) bool { return speaksOf(pattern, p) })
			}) {
				n.PathMemories = append(n.PathMemories, r.ID)
			}
		}
	}
	c := newCorpus(records)
	if !a.search.Browse {
		n, df := c.frequencies(a.search, a.query.terms)
		a.search.Words = a.ranking.Weigh(a.query.terms, n, df)
	}
	found := c.scan(a.search)
	a.search.Best = a.search.best(found)
	best := a.search.rank(found)
	return best[:min(len(best), a.search.Limit)], records, nil
}

// corpus is memories with what they are found by.
type corpus []document

type document struct {
	*Record
	terms  map[string]bool
	tags   []string
	vector []float32 // nil: none of the query's model
}

func newCorpus(records []Record) corpus {
	c := make(corpus, len(records))
	for i := range records {
		ix := IndexOf(&records[i].Memory)
		d := document{Record: &records[i], terms: make(map[string]bool, len(ix.Terms)), tags: ix.Tags}
		for _, t := range ix.Terms {
			d.terms[t] = true
		}
		c[i] = d
	}
	return c
}

// takesPart tells whether a search may see the memory at all, before narrowing.
func (d document) takesPart(s Search) bool {
	return d.Status == Live && (s.Expired || !d.expired(s.At)) && slices.Contains(s.Spaces, d.Space)
}

// frequencies counts what a search may see, and for each term those that have it.
func (c corpus) frequencies(s Search, terms []string) (n int, df []int) {
	df = make([]int, len(terms))
	for _, d := range c {
		if !d.takesPart(s) {
			continue
		}
		n++
		for i, t := range terms {
			if d.terms[t] {
				df[i]++
			}
		}
	}
	return n, df
}

// scan is a search over every memory.
func (c corpus) scan(s Search) []Candidate {
	var found []Candidate
	for _, d := range c {
		distance, admitted := s.Narrow.admits(d)
		if !admitted || !d.takesPart(s) {
			continue
		}
		candidate := Candidate{
			ID: d.ID, Handle: d.Handle, Distance: distance,
			Standing: Standing{Kind: d.Kind, ConfirmedAt: d.ConfirmedAt, Citations: d.Citations, IgnoredBy: d.IgnoredBy,
				Doubted: d.Verify || d.Disputed, Unreviewed: d.Unreviewed},
		}
		for _, w := range s.Words.Terms {
			if d.terms[w.Term] {
				candidate.Matched += w.Weight
			}
		}
		if s.ByVector() && d.vector != nil {
			cosine := Cosine(s.Vector, d.vector)
			candidate.Cosine = &cosine
		}
		if s.Browse || candidate.Matched > 0 || candidate.Cosine != nil {
			found = append(found, candidate)
		}
	}
	return s.relevant(found)
}

// Cosine is that of two vectors of one length; 0 where one has no direction. Vectors of length 1 are not quite of that length when they come
// back in half precision.
func Cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range min(len(a), len(b)) {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// admits tells whether a memory meets every condition, and its distance from the element asked for.
func (n Narrowing) admits(d document) (distance int, ok bool) {
	if len(n.Kinds) > 0 && !slices.Contains(n.Kinds, d.Kind) {
		return 0, false
	}
	attached := func(id uuid.UUID) bool {
		return slices.ContainsFunc(d.Elements, func(e ElementRef) bool { return e.ID == id })
	}
	if n.ByElement {
		distance = -1
		for _, e := range n.Elements {
			if attached(e.ID) && (distance < 0 || e.Distance < distance) {
				distance = e.Distance
			}
		}
		if distance < 0 {
			return 0, false
		}
	}
	if n.ByPath && !slices.Contains(n.PathMemories, d.ID) && !slices.ContainsFunc(n.PathElements, attached) {
		return 0, false
	}
	for _, t := range n.Tags {
		if !slices.Contains(d.tags, t) {
			return 0, false
		}
	}
	return distance, true
}
