package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// ImpactRequest asks what a change of an element touches.
type ImpactRequest struct {
	Element string `json:"element"` // key, former key, name or id
	Depth   int    `json:"depth"`   // steps along dependencies; DefaultImpactDepth when 0
	Limit   int    `json:"limit"`   // elements in each direction; DefaultImpactLimit when 0
}

// Bounds of impact_of. Two steps are what one keeps in mind of a change; ten elements in each direction fit what an agent reads
// at once, and the counts say what there is beyond.
const (
	DefaultImpactDepth = 2
	MaxImpactDepth     = 6
	DefaultImpactLimit = 10
	MaxImpactLimit     = 200
	// impactMemories is how many memories of the element are shown.
	impactMemories = 10
	// impactSearch is how many are read and counted.
	impactSearch = 100
)

// ImpactResponse is what depends on an element, what it depends on, what is known there and who works there. An element
// stands for those inside it.
type ImpactResponse struct {
	Element      ElementRef      `json:"element"`
	Paths        []string        `json:"paths"` // globs of its bindings
	Dependents   []ImpactElement `json:"dependents"`
	Dependencies []ImpactElement `json:"dependencies"`
	Code         CodeWitness     `json:"code"`
	Memories     []KnownMemory   `json:"memories"` // pitfalls first
	Work         []Work          `json:"work"`     // now, on the element and what depends on it directly
	LeftOut      ImpactLeftOut   `json:"left_out"`
}

// ImpactElement is an element that depends on another or is depended upon.
type ImpactElement struct {
	ElementRef
	Distance int        `json:"distance"` // steps, from 1
	Via      string     `json:"via"`      // key of the element one step nearer, or of the part of the one asked about; empty when that is itself
	Model    []string   `json:"model"`    // relationships of the model, in words
	Code     []CodeLine `json:"code"`     // imports that show it, of dependencies that the model does not know
	Unshown  bool       `json:"unshown"`  // the model has it, and a run found no import that shows it
	Pitfalls int        `json:"pitfalls"` // known there
	Doubts   int        `json:"doubts"`   // memories in doubt or disputed there
}

// CodeLine is a line of the code that shows a dependency.
type CodeLine struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text,omitempty"`
}

// CodeWitness says which runs spoke of the code.
type CodeWitness struct {
	Runs []CodeRun `json:"runs"`
	Note string    `json:"note"` // in words, when none did
}

// CodeRun is a tracked run of a repository.
type CodeRun struct {
	Repository string `json:"repository"`
	Commit     string `json:"commit"`
}

// KnownMemory is a memory in a line, with the elements it is attached to and its marks in words.
type KnownMemory struct {
	IndexEntry
	Elements []string `json:"elements"` // keys
	Flags    []Flag   `json:"flags"`
}

// ImpactLeftOut counts what the bounds left out. Memories are counted up to a bound of their own.
type ImpactLeftOut struct {
	Dependents   int `json:"dependents"`
	Dependencies int `json:"dependencies"`
	Memories     int `json:"memories"`
	Work         int `json:"work"`
}

// Impact tells what depends on an element and what it depends on, by the relationships of the model and by the imports that the
// latest tracked run of each repository found and the model does not know; what is known there, and who works there now.
func (s *Service) Impact(ctx context.Context, c Caller, r ImpactRequest) (ImpactResponse, error) {
	if err := r.check(c); err != nil {
		return ImpactResponse{}, err
	}
	var out ImpactResponse
	var near []uuid.UUID
	err := s.view(ctx, c, func(v View) error {
		i := impact{Service: s, view: v, caller: c, request: r}
		err := i.find(ctx)
		out, near = i.out, i.near
		return err
	})
	if err == nil {
		out.Work, out.LeftOut.Work, err = s.workOn(ctx, c, near)
	}
	return out, wrap("impact", err)
}

func (r *ImpactRequest) check(c Caller) error {
	switch {
	case c.Project == uuid.Nil:
		return problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	case strings.TrimSpace(r.Element) == "":
		return problem.Invalidf("element", "no element is named").Fix("give its key or name, as `stele model show` prints them")
	case r.Depth < 0 || r.Depth > MaxImpactDepth:
		return problem.Invalidf("depth", "%d is not between 1 and %d", r.Depth, MaxImpactDepth).Fix("leave it out for %d", DefaultImpactDepth)
	case r.Limit < 0 || r.Limit > MaxImpactLimit:
		return problem.Invalidf("limit", "%d is not between 1 and %d", r.Limit, MaxImpactLimit).Fix("leave it out for %d", DefaultImpactLimit)
	}
	r.Depth, r.Limit = cmp.Or(r.Depth, DefaultImpactDepth), cmp.Or(r.Limit, DefaultImpactLimit)
	return nil
}

// impact is one question under way within a transaction.
type impact struct {
	*Service
	view    View
	caller  Caller
	request ImpactRequest

	out  ImpactResponse
	near []uuid.UUID // the element, those inside it and its direct dependents
}

func (i *impact) find(ctx context.Context) error {
	i.out, i.near = ImpactResponse{Paths: []string{}}, nil
	of, err := element(ctx, i.view, i.caller, "element", i.request.Element)
	if err != nil {
		return err
	}
	g, err := readGraph(ctx, i.view, i.caller.Project)
	if err != nil {
		return err
	}
	keys := i.caller.spaceKeys()
	spaces, err := i.view.Spaces(ctx, keys)
	if err != nil {
		return err
	}
	ids := orderedSpaceIDs(spaces, keys)
	covered, err := i.view.Coverage(ctx, i.caller.Project, ids, i.now())
	if err != nil {
		return err
	}
	bindings, err := i.view.Bindings(ctx, i.caller.Project)
	if err != nil {
		return err
	}
	i.out.Element, i.out.Code = of.Ref(), g.witness
	i.out.Paths = append(i.out.Paths, patternsOf(bindings, of.ID)...)
	i.out.Dependents, i.out.LeftOut.Dependents = i.walk(g, of.Key, g.in, covered)
	i.out.Dependencies, i.out.LeftOut.Dependencies = i.walk(g, of.Key, g.out, covered)
	i.near = append(i.near, of.ID)
	for _, inner := range g.inside(of.Key) {
		i.near = append(i.near, inner.ID)
	}
	own := i.near
	for _, d := range i.out.Dependents {
		if d.Distance == 1 {
			i.near = append(i.near, d.ID)
		}
	}
	i.out.Memories, err = i.known(ctx, i.view, i.caller, ids, own)
	i.out.Memories, i.out.LeftOut.Memories = cut(i.out.Memories, impactMemories)
	return err
}

// walk follows edges away from an element to the depth asked for, and shows the nearest elements with the reasons of their first
// step. Nearer ones come first, then those that more speaks for, then in order of declaration.
func (i *impact) walk(g graph, from string, edges map[string][]edge, covered []ElementCoverage) (shown []ImpactElement, more int) {
	found := g.walk(from, edges, i.request.Depth, true)
	more = max(0, len(found)-i.request.Limit)
	shown = make([]ImpactElement, 0, min(len(found), i.request.Limit))
	for _, s := range found[:len(found)-more] {
		e := ImpactElement{ElementRef: g.elements[s.key].Ref(), Distance: s.distance, Via: s.via, Model: s.model, Code: s.code, Unshown: s.unshown}
		if n := slices.IndexFunc(covered, func(c ElementCoverage) bool { return c.Element == e.ID }); n >= 0 {
			e.Pitfalls, e.Doubts = covered[n].Counts[Pitfall], covered[n].Doubted
		}
		shown = append(shown, e)
	}
	return shown, more
}

// known lists the memories attached to elements: the weightier kind first, those in doubt or disputed before the others of their
// kind since they have to be looked at, then as recall has them.
func (s *Service) known(ctx context.Context, v View, c Caller, spaces []int32, elements []uuid.UUID) ([]KnownMemory, error) {
	search := Search{Spaces: spaces, Browse: true, Ranking: s.ranking, At: s.now(), Limit: impactSearch}
	search.Narrow.ByElement = true
	for _, id := range elements {
		search.Narrow.Elements = append(search.Narrow.Elements, ElementDistance{id, 0})
	}
	found, err := v.Search(ctx, search)
	if err != nil {
		return nil, err
	}
	best := search.rank(found.Candidates)
	slices.SortStableFunc(best, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(s.ranking.Kind[b.Standing.Kind], s.ranking.Kind[a.Standing.Kind]), first(a.Doubted, b.Doubted))
	})
	ids := make([]uuid.UUID, 0, len(best))
	for _, r := range best[:min(len(best), impactSearch)] {
		ids = append(ids, r.ID)
	}
	records, err := v.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	a := answer{Service: s, view: v, caller: c, search: search}
	out := make([]KnownMemory, 0, len(records))
	for n := range records {
		r := a.result(&records[n])
		m := KnownMemory{IndexEntry: IndexEntry{Handle: r.Handle, Kind: r.Kind, Title: titleOf(r.Memory), Tokens: Tokens(renderResult(r))}, Elements: []string{}, Flags: r.Flags}
		for _, e := range r.Elements {
			m.Elements = append(m.Elements, e.Key)
		}
		out = append(out, m)
	}
	return out, nil
}

// cut keeps the first of a list and counts the rest.
func cut[T any](list []T, most int) (kept []T, more int) {
	kept = list[:min(len(list), most)]
	return kept, len(list) - len(kept)
}

// first compares so that true comes first.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
