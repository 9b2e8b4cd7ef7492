package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
)

// graph is who depends on whom in a project, by the model and by the code.
type graph struct {
	elements map[string]Element // by key
	keys     []string           // in order of declaration
	children map[string][]string
	out      map[string][]edge // of each element, what it depends on
	in       map[string][]edge // of each element, what depends on it
	witness  CodeWitness
}

// edge is a dependency, seen from one end.
type edge struct {
	to      string // key of the other end
	model   string // the relationship in words; "" when only the code shows it
	code    []CodeLine
	unshown bool // the model has it, and a run found no import that shows it
}

// readGraph reads the model and the latest tracked run of each repository.
func readGraph(ctx context.Context, v View, project uuid.UUID) (graph, error) {
	elements, err := v.Elements(ctx, project, false)
	if err != nil {
		return graph{}, err
	}
	relationships, err := v.Relationships(ctx, project)
	if err != nil {
		return graph{}, err
	}
	runs, err := v.LatestTracked(ctx, project)
	if err != nil {
		return graph{}, err
	}
	return newGraph(elements, relationships, runs), nil
}

func newGraph(elements []Element, relationships []c4model.Relationship, runs []Run) graph {
	g := graph{elements: map[string]Element{}, children: map[string][]string{}, out: map[string][]edge{}, in: map[string][]edge{}, witness: CodeWitness{Runs: []CodeRun{}}}
	folded := map[string]string{}
	for _, e := range elements {
		g.elements[e.Key], folded[c4model.FoldKey(e.Key)] = e, e.Key
		g.keys = append(g.keys, e.Key)
		g.children[e.Parent] = append(g.children[e.Parent], e.Key)
	}
	unshown := map[[2]string]bool{}
	var found []drift.Finding
	for _, r := range runs {
		if r.Report.Status != drift.Checked {
			continue
		}
		g.witness.Runs = append(g.witness.Runs, CodeRun{Repository: r.Repository, Commit: r.Report.Commit})
		for _, f := range r.Report.Findings {
			from, to := folded[c4model.FoldKey(f.Element)], folded[c4model.FoldKey(f.Subject)]
			switch {
			case from == "" || to == "":
			case f.Check == drift.AbsentDependency:
				unshown[[2]string{from, to}] = true
			case f.Check == drift.UndocumentedDependency:
				f.Element, f.Subject = from, to
				found = append(found, f)
			}
		}
	}
	if len(g.witness.Runs) == 0 {
		g.witness.Note = "no run of the tracked branch told what the code does; `stele drift run --push` does"
	}
	for _, r := range relationships {
		text := cmp.Or(r.Description, "depends on")
		if r.Technology != "" {
			text += " (" + r.Technology + ")"
		}
		g.add(r.Source, r.Destination, edge{model: text, unshown: unshown[[2]string{r.Source, r.Destination}]})
	}
	for _, f := range found {
		e := edge{}
		for _, p := range f.Evidence {
			e.code = append(e.code, CodeLine{File: p.File, Line: p.Line, Text: p.Text})
		}
		if len(e.code) == 0 {
			e.code = []CodeLine{{File: f.File, Line: f.Line}}
		}
		g.add(f.Element, f.Subject, e)
	}
	return g
}

// add takes an edge in from both ends, if the model has them.
func (g graph) add(from, to string, e edge) {
	if g.elements[from].ID == uuid.Nil || g.elements[to].ID == uuid.Nil {
		return
	}
	e.to = to
	g.out[from] = append(g.out[from], e)
	e.to = from
	g.in[to] = append(g.in[to], e)
}

// inside gives the elements inside an element, however deep, in order of declaration.
func (g graph) inside(key string) []Element {
	var out []Element
	for _, child := range g.children[key] {
		out = append(append(out, g.elements[child]), g.inside(child)...)
	}
	return out
}

// within tells whether an element is another or inside it.
func (g graph) within(key, of string) bool {
	for at := key; at != ""; at = g.elements[at].Parent {
		if at == of {
			return true
		}
	}
	return false
}

// maxReasons bounds what speaks for one step.
const maxReasons = 5

// step is an element that a walk came to.
type step struct {
	key      string
	distance int
	via      string // the element one step nearer
	model    []string
	code     []CodeLine
	unshown  bool
}

// walk follows edges from an element and those inside it, breadth first, to a depth. What lies around an element or inside it is no
// dependency of it. An edge that ends at what lies around the element asked about may concern it too: with around it is followed,
// and said to go there. Steps come nearest first, then by how much speaks for them, then in order of declaration.
func (g graph) walk(from string, edges map[string][]edge, depth int, around bool) []step {
	found := map[string]*step{}
	frontier := []string{from}
	for distance := 1; distance <= depth && len(frontier) > 0; distance++ {
		level := map[string]*step{}
		for _, key := range frontier {
			for _, end := range g.ends(key, around && key == from) {
				for _, e := range edges[end] {
					other := g.elements[e.to]
					if g.related(e.to, from) || g.related(e.to, key) || found[e.to] != nil || other.Level == c4model.Person {
						continue
					}
					s := level[e.to]
					if s == nil {
						s = &step{key: e.to, distance: distance, model: []string{}, code: []CodeLine{}, unshown: true}
						if end != from {
							s.via = end
						}
						level[e.to] = s
					}
					s.add(e)
				}
			}
		}
		frontier = frontier[:0]
		for _, key := range g.keys {
			if s := level[key]; s != nil {
				found[key] = s
				frontier = append(frontier, key)
			}
		}
	}
	out := make([]step, 0, len(found))
	for _, key := range g.keys {
		if s := found[key]; s != nil {
			out = append(out, *s)
		}
	}
	slices.SortStableFunc(out, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(len(b.model)+len(b.code), len(a.model)+len(a.code)))
	})
	return out
}

// related tells whether one element is the other, or lies in it.
func (g graph) related(a, b string) bool { return g.within(a, b) || g.within(b, a) }

// ends are where the edges of an element end: at itself, inside it and, if wanted, around it.
func (g graph) ends(key string, around bool) []string {
	out := []string{key}
	for _, e := range g.inside(key) {
		out = append(out, e.Key)
	}
	for at := g.elements[key].Parent; around && at != ""; at = g.elements[at].Parent {
		out = append(out, at)
	}
	return out
}

// add notes what speaks for a step. It is unshown only if all the model says of it is.
func (s *step) add(e edge) {
	s.unshown = s.unshown && e.unshown
	if e.model != "" && len(s.model) < maxReasons && !slices.Contains(s.model, e.model) {
		s.model = append(s.model, e.model)
	}
	for _, line := range e.code {
		if len(s.code) < maxReasons && !slices.Contains(s.code, line) {
			s.code = append(s.code, line)
		}
	}
}

// String is the line for people: api/orders.go:12.
func (l CodeLine) String() string {
	if l.Line == 0 {
		return l.File
	}
	return fmt.Sprintf("%s:%d", l.File, l.Line)
}
