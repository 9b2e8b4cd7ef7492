package memory

import (
	"context"
	"slices"

	"github.com/stele-dev/stele/internal/problem"
)

// Bounds of the pitfalls that a run is told.
const (
	MaxChanged  = 1000 // files of RunPush.Changed
	maxPitfalls = 20
)

// KnownPitfall names a pitfall without a word of it.
type KnownPitfall struct {
	Handle  string `json:"handle"`
	Kind    Kind   `json:"kind"`
	Element string `json:"element"` // key of the element that the change touches; "" when the pitfall names a file of it
}

func (p *RunPush) checkChanged() error {
	if len(p.Changed) > MaxChanged {
		return problem.Invalidf("changed", "%d files are more than the %d of one run", len(p.Changed), MaxChanged).Fix("send the first %d", MaxChanged)
	}
	for n, name := range p.Changed {
		clean, err := CleanPath("changed", name)
		if err != nil {
			return err
		}
		p.Changed[n] = clean
	}
	return nil
}

// pitfalls are the live pitfalls of the project about changed files, best first, as a recall without a query has them. Whoever
// pushes runs may read no memory, so that nothing is told but that it is there; what is personal or of other spaces is not told
// at all.
func (s *Service) pitfalls(ctx context.Context, c Caller, changed []string) ([]KnownPitfall, error) {
	out := []KnownPitfall{}
	if len(changed) == 0 {
		return out, nil
	}
	err := s.viewRuns(ctx, c, func(v View) error {
		a := answer{Service: s, view: v, caller: c, query: query{browse: true},
			request: RecallRequest{Paths: changed, Kinds: []Kind{Pitfall}, Limit: maxPitfalls}}
		keys := []SpaceKey{{Project, c.Project.String()}}
		spaces, err := v.Spaces(ctx, keys)
		if err != nil {
			return err
		}
		a.spaces = orderedSpaceIDs(spaces, keys)
		if len(a.spaces) == 0 {
			return nil
		}
		a.search = Search{Spaces: a.spaces, Browse: true, Ranking: s.ranking, At: s.now(), Limit: maxPitfalls}
		if err := a.narrow(ctx); err != nil {
			return err
		}
		_, records, err := a.present(ctx)
		for _, r := range records {
			known := KnownPitfall{Handle: r.Handle, Kind: r.Kind}
			touched := func(e ElementRef) bool { return slices.Contains(a.search.Narrow.PathElements, e.ID) }
			if n := slices.IndexFunc(r.Elements, touched); n >= 0 {
				known.Element = r.Elements[n].Key
			}
			if r.Scope == Project && r.Kind == Pitfall {
				out = append(out, known)
			}
		}
		return err
	})
	return out, wrap("pitfalls of changed files", err)
}
