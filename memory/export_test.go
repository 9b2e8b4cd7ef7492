package memory

import (
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
)

var (
	Family     = family
	IndexTerms = func(m Memory) Index { return IndexOf(&m) }
)

// FactorsAt is Ranking.Factors with the age given.
func (r Ranking) FactorsAt(semantic *float64, lexical float64, s Standing, age time.Duration) Factors {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s.ConfirmedAt = now.Add(-age)
	return r.Factors(semantic, lexical, s, now)
}

// Moved ranks candidates, then puts them in the order of the query moved towards the most relevant of them.
func Moved(s Search, found []Candidate, traits map[uuid.UUID]Traits) (before, after []Scanned) {
	s.Best = s.best(found)
	first := s.rank(found)
	show := func(of []ranked) []Scanned {
		out := make([]Scanned, len(of))
		for i, r := range of {
			out[i] = Scanned{r.Handle, r.score}
		}
		return out
	}
	return show(first), show(s.moved(first, traits))
}

// OriginOf is the origin of one of some findings.
func OriginOf(f drift.Finding, all []drift.Finding) string { return originOf(f, renamings(all)) }

// PlanOrder gives the order of the steps of a plan on some elements, which come best first.
func PlanOrder(elements []Element, relationships []c4model.Relationship, chosen []string) []string {
	g := newGraph(elements, relationships, nil)
	list := make([]ContextElement, len(chosen))
	for i, key := range chosen {
		list[i] = ContextElement{ElementRef: g.elements[key].Ref()}
	}
	var out []string
	for _, o := range g.order(list) {
		out = append(out, o.Key)
	}
	return out
}
