package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/terms"
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

// The score of an element adds what its own words and what its memories say. Own words weigh more: they are what the
// element is, a memory may mention anything. They still leave a memory enough to bring an element whose own words say
// nothing.
const (
	ownShare    = 0.6
	memoryShare = 0.4
	// besideName is what a word counts outside the name and key: names are chosen to be found by.
	besideName = 0.8
)

// Context chooses the elements a task is about, by the words of their names (identifiers split), descriptions,
// technologies, tags and binding paths, and by the memories attached to them, each with its reasons.
func (s *Service) Context(ctx context.Context, c Caller, r ContextRequest) (ContextResponse, error) {
	switch {
	case strings.TrimSpace(r.Task) == "":
		return ContextResponse{}, problem.Invalidf("task", "no task is told").Fix("say in a sentence what is to be done")
	case c.Project == uuid.Nil:
		return ContextResponse{}, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	case r.Limit == 0:
		r.Limit = DefaultContextLimit
	case r.Limit < 0 || r.Limit > MaxContextLimit:
		return ContextResponse{}, problem.Invalidf("limit", "%d is not between 1 and %d", r.Limit, MaxContextLimit).Fix("leave it out for %d", DefaultContextLimit)
	}
	recall := RecallRequest{Query: r.Task, Limit: contextSearch}
	q := s.readQuery(ctx, recall)
	var out ContextResponse
	err := s.view(ctx, c, func(v View) error {
		keys := c.spaceKeys()
		spaces, err := v.Spaces(ctx, keys)
		if err != nil {
			return err
		}
		a := answer{Service: s, view: v, caller: c, request: recall, query: q, spaces: orderedSpaceIDs(spaces, keys)}
		a.search = Search{Spaces: a.spaces, Terms: q.terms, Model: q.model, Vector: q.vector, ModelFloor: s.embedder.Thresholds().Floor, Ranking: s.ranking,
			At: s.now(), Limit: contextSearch}
		out.Elements, err = a.elements(ctx, r.Limit)
		if err != nil {
			return err
		}
		if err := a.degraded(ctx); err != nil {
			return err
		}
		out.Degraded = a.out.Degraded
		return nil
	})
	if err != nil {
		return ContextResponse{}, fmt.Errorf("context: %w", err)
	}
	return out, nil
}

// elements scores the elements in scope and loads what is known about the best.
func (a *answer) elements(ctx context.Context, limit int) ([]ContextElement, error) {
	elements, err := a.view.Elements(ctx, a.caller.Project, false)
	if err != nil {
		return nil, err
	}
	elements = slices.DeleteFunc(elements, func(e Element) bool { return !e.InScope })
	bindings, err := a.view.Bindings(ctx, a.caller.Project)
	if err != nil {
		return nil, err
	}
	best, records, err := a.present(ctx)
	if err != nil {
		return nil, err
	}
	texts := make([]elementText, len(elements))
	for i, e := range elements {
		texts[i] = textOf(e, patternsOf(bindings, e.ID))
	}
	words := a.elementWords(texts)

	scored := make([]ContextElement, 0, len(elements))
	for i, e := range elements {
		own, reasons := texts[i].match(words)
		known, because := knownAt(e.ID, best, records)
		if because != "" {
			reasons = append(reasons, because)
		}
		if score := ownShare*own + memoryShare*known; score > 0 {
			scored = append(scored, ContextElement{ElementRef: e.Ref(), Score: score, Reasons: reasons,
				Paths: append([]string{}, patternsOf(bindings, e.ID)...), Memories: []IndexEntry{}})
		}
	}
	slices.SortStableFunc(scored, func(x, y ContextElement) int { return cmp.Compare(y.Score, x.Score) })
	for i, e := range scored {
		if i == limit || e.Score < a.ranking.BestShare*scored[0].Score {
			scored = scored[:i]
			break
		}
	}
	for i := range scored {
		if err := a.knowledgeOf(ctx, &scored[i]); err != nil {
			return nil, err
		}
	}
	return scored, nil
}

// elementWords weighs the words of the task that occur in any element or memory.
func (a *answer) elementWords(texts []elementText) Words {
	df := make([]int, len(a.query.terms))
	known := map[string]bool{}
	for _, w := range a.search.Words.Terms {
		known[w.Term] = true
	}
	for i, t := range a.query.terms {
		for _, text := range texts {
			if text.fields[t] != "" {
				df[i]++
			}
		}
		if df[i] == 0 && known[t] {
			df[i] = 1 // as rare as a word of one element
		}
	}
	return a.ranking.Weigh(a.query.terms, len(texts), df)
}

// elementText is the words of an element, each with the field it was first found in.
type elementText struct {
	fields map[string]string
}

// nameField is the field whose words count in full.
const nameField = "name"

func textOf(e Element, patterns []string) elementText {
	t := elementText{fields: map[string]string{}}
	for _, f := range []struct{ field, text string }{
		{nameField, e.Name}, {nameField, e.Key}, {"description", e.Description}, {"technology", e.Technology},
		{"tag", strings.Join(e.Tags, "\n")}, {"path", strings.Join(patterns, "\n")},
	} {
		for _, term := range terms.Of(f.text) {
			if t.fields[term] == "" {
				t.fields[term] = f.field
			}
		}
	}
	return t
}

// match gives the share of the words' weight that the element has, and the reasons in words.
func (t elementText) match(words Words) (share float64, reasons []string) {
	sum := 0.0
	found := map[string][]string{}
	var order []string
	for _, w := range words.Terms {
		field := t.fields[w.Term]
		if field == "" {
			continue
		}
		weight := float64(w.Weight)
		if field != nameField {
			weight *= besideName
		}
		sum += weight
		if found[field] == nil {
			order = append(order, field)
		}
		found[field] = append(found[field], w.Term)
	}
	for _, field := range order {
		reasons = append(reasons, field+": "+strings.Join(found[field], ", "))
	}
	if words.Seen == 0 {
		return 0, reasons
	}
	return sum / float64(words.Seen), reasons
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
