package memory

import "github.com/google/uuid"

// Corpus is memories for a full scan, the definition of what an indexed search returns; see Search.
type Corpus struct{ documents corpus }

// NewCorpus indexes records. It keeps pointers into them, and their texts as sets of terms: about 4 kB for each.
func NewCorpus(records []Record) Corpus { return Corpus{newCorpus(records)} }

// SetVectors gives memories their vectors of the model that is asked with.
func (c Corpus) SetVectors(vectors map[uuid.UUID][]float32) {
	for i := range c.documents {
		c.documents[i].vector = vectors[c.documents[i].ID]
	}
}

// Scanned is one result of a full scan.
type Scanned struct {
	Handle string
	Score  float64
}

// Scan ranks every memory of the corpus for the terms of a query; nil browses. At most Limit come back, best first.
func (c Corpus) Scan(s Search, terms []string) []Scanned {
	s.Browse = terms == nil
	if !s.Browse {
		n, df := c.documents.frequencies(s, terms)
		s.Words = s.Ranking.Weigh(terms, n, df)
	}
	found := c.documents.scan(s)
	s.Best = s.best(found)
	return s.scanned(found)
}

// Scanned puts what a Store's search found for s in order. At most Limit come back, best first.
func (f Found) Scanned(s Search) []Scanned {
	s.Words, s.Best = f.Words, f.Best
	return s.scanned(f.Candidates)
}

func (s Search) scanned(found []Candidate) []Scanned {
	best := s.rank(found)
	out := make([]Scanned, 0, s.Limit)
	for _, b := range best[:min(len(best), s.Limit)] {
		out = append(out, Scanned{b.Handle, b.score})
	}
	return out
}
