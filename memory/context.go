package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// ContextRequest asks which elements of the model a task is about.
type ContextRequest struct {
	Task  string `json:"task"`
	Limit int    `json:"limit"` // elements; DefaultContextLimit when 0
}

// Bounds of find_relevant_context.
const (
	DefaultContextLimit = 5
	MaxContextLimit     = 50
	// contextMemories is how many memories an element is shown with.
	contextMemories = 3
	// contextSearch is how many memories may speak for elements.
	contextSearch = 50
)

// The score of an element adds what the model says of it and what its memories say. What the model says weighs more: it is
// what the element is, a memory may mention anything. It still leaves a memory enough to bring an element of which the
// model says nothing.
const (
	ownShare    = 0.6
	memoryShare = 0.4
)

// Context chooses the elements a task is about, by what the model says of them (words of names with identifiers split,
// descriptions, technologies, tags, binding paths and relationships; meaning of the first two and the last) and by the
// memories attached to them, each with its reasons. docs/context.md has what that finds.
func (s *Service) Context(ctx context.Context, c Caller, r ContextRequest) (ContextResponse, error) {
	if err := r.check(c); err != nil {
		return ContextResponse{}, err
	}
	q := s.readQuery(ctx, RecallRequest{Query: r.Task})
	var out ContextResponse
	err := s.withVectors(ctx, c, func(v View) (int, error) {
		found, err := s.choose(ctx, v, c, q, r)
		out = found.ContextResponse
		return found.lacking, err
	})
	return out, wrap("context", err)
}

func (r *ContextRequest) check(c Caller) error {
	switch {
	case strings.TrimSpace(r.Task) == "":
		return problem.Invalidf("task", "no task is told").Fix("say in a sentence what is to be done")
	case c.Project == uuid.Nil:
		return problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	case r.Limit == 0:
		r.Limit = DefaultContextLimit
	case r.Limit < 0 || r.Limit > MaxContextLimit:
		return problem.Invalidf("limit", "%d is not between 1 and %d", r.Limit, MaxContextLimit).Fix("leave it out for %d", DefaultContextLimit)
	}
	return nil
}

// chosen is what a task is about.
type chosen struct {
	ContextResponse
	lacking int // elements whose meaning took no part, and should have
}

// choose scores the elements in scope and loads what is known about the best.
func (s *Service) choose(ctx context.Context, v View, c Caller, q query, r ContextRequest) (chosen, error) {
	keys := c.spaceKeys()
	spaces, err := v.Spaces(ctx, keys)
	if err != nil {
		return chosen{}, err
	}
	a := answer{Service: s, view: v, caller: c, request: RecallRequest{Query: r.Task, Limit: contextSearch}, query: q, spaces: orderedSpaceIDs(spaces, keys)}
	a.search = Search{Spaces: a.spaces, Browse: q.browse, Terms: q.terms, Model: q.model, Vector: q.vector, ModelFloor: s.embedder.Thresholds().Floor, Ranking: s.ranking,
		At: s.now(), Limit: contextSearch}
	m, err := s.portraits(ctx, v, c.Project, q)
	if err != nil {
		return chosen{}, err
	}
	best, records, err := a.present(ctx)
	if err != nil {
		return chosen{}, err
	}
	out := chosen{ContextResponse: ContextResponse{Elements: a.rank(m, best, records, r.Limit)}}
	for i := range out.Elements {
		if err := a.knowledgeOf(ctx, &out.Elements[i]); err != nil {
			return chosen{}, err
		}
	}
	if err := a.degraded(ctx); err != nil {
		return chosen{}, err
	}
	out.Degraded = a.out.Degraded
	if out.lacking = m.lacking(); out.lacking > 0 && a.search.ByVector() {
		if out.Degraded == nil {
			out.Degraded = &Degraded{Reason: notIndexedYet}
		}
		out.Degraded.Unindexed += out.lacking
	}
	return out, nil
}

// rank gives the best elements, at most limit, each at least a share of the best.
func (a *answer) rank(m portraits, best []ranked, records []Record, limit int) []ContextElement {
	words := m.weigh(a.ranking, a.query.terms)
	base := m.base()
	scored := make([]ContextElement, 0, len(m.list))
	for i := range m.list {
		p := &m.list[i]
		own, reasons := p.relevance(a.ranking, words, base)
		known, because := knownAt(p.element.ID, best, records)
		if because != "" {
			reasons = append(reasons, because)
		}
		if score := ownShare*own + memoryShare*known; score > 0 {
			scored = append(scored, ContextElement{ElementRef: p.element.Ref(), Score: score, Reasons: reasons,
				Paths: append([]string{}, p.patterns...), Memories: []IndexEntry{}})
		}
	}
	slices.SortStableFunc(scored, func(x, y ContextElement) int { return cmp.Compare(y.Score, x.Score) })
	for i, e := range scored {
		if i == limit || e.Score < a.search.Share()*scored[0].Score {
			return scored[:i]
		}
	}
	return scored
}

// knownAt is the relevance of the most relevant memory attached to an element, and the reason in words.
func knownAt(element uuid.UUID, best []ranked, records []Record) (relevance float64, because string) {
	more := 0
	for i := range records {
		if !slices.ContainsFunc(records[i].Elements, func(e ElementRef) bool { return e.ID == element }) {
			continue
		}
		for _, b := range best {
			if b.ID != records[i].ID {
				continue
			}
			if b.Relevance > relevance {
				relevance, because = b.Relevance, "memory "+records[i].Handle+": "+titleOf(records[i].Memory)
			}
			more++
		}
	}
	if more > 1 {
		because += fmt.Sprintf(" (and %d more)", more-1)
	}
	return relevance, because
}

// knowledgeOf lists the best memories of an element: those that match the task, then the others.
func (a *answer) knowledgeOf(ctx context.Context, e *ContextElement) error {
	search := a.search
	search.Narrow = Narrowing{ByElement: true, Elements: []ElementDistance{{e.ID, 0}}}
	search.Limit = contextMemories
	var ids []uuid.UUID
	for _, browse := range []bool{false, true} {
		search.Browse = browse
		found, err := a.view.Search(ctx, search)
		if err != nil {
			return err
		}
		search.Words, search.Best = found.Words, found.Best
		for _, r := range search.rank(found.Candidates) {
			if len(ids) < contextMemories && !slices.Contains(ids, r.ID) {
				ids = append(ids, r.ID)
			}
		}
	}
	records, err := a.view.Records(ctx, ids)
	if err != nil {
		return err
	}
	for i := range records {
		r := a.result(&records[i])
		e.Memories = append(e.Memories, IndexEntry{Handle: r.Handle, Kind: r.Kind, Title: titleOf(r.Memory), Tokens: Tokens(renderResult(r))})
	}
	return nil
}
