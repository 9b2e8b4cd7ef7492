package diagram

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// model is an Input with its elements at hand.
type model struct {
	Input
	at       map[string]int // by folded key
	parent   []int          // -1 at the top
	children []int          // how many
}

func newModel(in Input) *model {
	m := &model{Input: in, at: make(map[string]int, len(in.Elements)), parent: make([]int, len(in.Elements)), children: make([]int, len(in.Elements))}
	for i, e := range in.Elements {
		m.at[c4model.FoldKey(e.Key)] = i
	}
	for i, e := range in.Elements {
		m.parent[i] = -1
		if p, ok := m.at[c4model.FoldKey(e.Parent)]; ok && e.Parent != "" && p < i { // parents come first, so that nothing lies in itself
			m.parent[i] = p
			m.children[p]++
		}
	}
	return m
}

// insideOf is the view of what is in an element of a level; "" for people, and for code, which ends the levels.
func insideOf(level c4model.Level) Kind {
	switch level {
	case c4model.System:
		return Containers
	case c4model.Container:
		return Components
	case c4model.Component:
		return Code
	case c4model.Person, c4model.Code:
	}
	return ""
}

func (m *model) kinds(i int) []Kind {
	out := []Kind{Context}
	if k := insideOf(m.Elements[i].Level); k != "" && m.children[i] > 0 {
		out = append(out, k)
	}
	return out
}

// Of gives a view. Without an element it is the landscape, or the context of the only system of the project. Without a kind it
// is of what is in the element, or of its surroundings when nothing is. An element or kind that is not there is a problem.
func Of(in Input, element string, kind Kind) (View, error) {
	m := newModel(in)
	if kind != "" && !slices.Contains(Kinds, kind) {
		return View{}, problem.Invalidf("view", "%q is no view", kind).Fix("use landscape, context, containers, components or code")
	}
	if element == "" && kind == "" {
		element = m.onlySystem()
		if element != "" {
			kind = Context
		}
	}
	if element == "" {
		if kind != "" && kind != Landscape {
			return View{}, problem.Invalidf("element", "the view %s is of an element", kind).Fix("name one, or ask for the landscape")
		}
		return m.landscape(), nil
	}
	of, ok := m.at[c4model.FoldKey(element)]
	if !ok {
		return View{}, problem.New(problem.NotFound, "element", "the model has no element of that key", "look for it on the map; it may have been renamed or have left the model")
	}
	if kind == Landscape {
		return View{}, problem.Invalidf("view", "the landscape is of all systems").Fix("leave the element out")
	}
	kinds := m.kinds(of)
	if kind == "" {
		kind = kinds[len(kinds)-1]
	}
	if !slices.Contains(kinds, kind) {
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = string(k)
		}
		return View{}, problem.Invalidf("view", "%s has no view %s", element, kind).Fix("use %s", strings.Join(names, " or "))
	}
	v := View{Kind: kind, Element: m.Elements[of].Key, Name: m.Elements[of].Name, Level: string(m.Elements[of].Level), Kinds: kinds}
	m.around(&v, of)
	return v, nil
}

// onlySystem is the key of the one system of the project; "" when it has none or several.
func (m *model) onlySystem() string {
	only := ""
	for i, e := range m.Elements {
		if e.Level == c4model.System && !e.External && m.parent[i] < 0 {
			if only != "" {
				return ""
			}
			only = e.Key
		}
	}
	return only
}

// top is the outermost element that an element lies in.
func (m *model) top(i int) int {
	for m.parent[i] >= 0 {
		i = m.parent[i]
	}
	return i
}

// landscape shows what lies in nothing, and everything between.
func (m *model) landscape() View {
	v := View{Kind: Landscape, Kinds: []Kind{Landscape}}
	edges := m.edges(m.top)
	shown := map[int]Place{}
	for i := range m.Elements {
		if m.parent[i] < 0 {
			shown[i] = Outside
		}
	}
	m.fill(&v, shown, edges)
	return v
}

// around shows an element, or what is in it, with what that is related to. An element elsewhere is shown as the outermost one it
// lies in that does not hold the subject, too: what is beside the subject keeps its shape, what is far is one box.
func (m *model) around(v *View, of int) {
	above := map[int]bool{}
	for i := of; i >= 0; i = m.parent[i] {
		above[i] = true
	}
	boundary := v.Kind != Context
	stands := func(i int) int {
		below := -1 // the step below i on the way up
		for at := i; at >= 0; at = m.parent[at] {
			switch {
			case at == of && !boundary:
				return of
			case above[at]:
				if below < 0 {
					return at // it names the subject itself, or what that is in
				}
				return below
			}
			below = at
		}
		return below
	}
	edges := m.edges(stands)
	shown := map[int]Place{}
	if boundary {
		for i := range m.Elements {
			if m.parent[i] == of {
				shown[i] = Inside
			}
		}
	} else {
		shown[of] = Subject
	}
	kept := slices.DeleteFunc(edges, func(e edge) bool {
		if boundary && (e.from == of || e.to == of) {
			if other := e.from + e.to - of; shown[other] != Inside {
				v.Whole += e.Relations
			}
			return true
		}
		// What names something that the subject is in belongs to a view above. What neighbours have with each other is part of the
		// surroundings, and none of what is in a boundary.
		return above[e.from] && e.from != of || above[e.to] && e.to != of || boundary && shown[e.from] == "" && shown[e.to] == ""
	})
	near := neighbours(kept, shown)
	maps.Copy(shown, near)
	m.fill(v, shown, kept)
}

// neighbours are the ends of edges whose other end is shown.
func neighbours(edges []edge, shown map[int]Place) map[int]Place {
	near := map[int]Place{}
	for _, e := range edges {
		if shown[e.from] != "" && shown[e.to] == "" {
			near[e.to] = Outside
		}
		if shown[e.to] != "" && shown[e.from] == "" {
			near[e.from] = Outside
		}
	}
	return near
}

// edge is an Edge by the indices of its ends.
type edge struct {
	from, to int
	Edge
}

// edges merges all relations and findings by what their ends stand as.
func (m *model) edges(stands func(int) int) []edge {
	byPair := map[[2]int]*edge{}
	between := func(source, destination string) *edge {
		a, okA := m.at[c4model.FoldKey(source)]
		b, okB := m.at[c4model.FoldKey(destination)]
		if !okA || !okB {
			return nil
		}
		a, b = stands(a), stands(b)
		if a == b {
			return nil
		}
		e := byPair[[2]int{a, b}]
		if e == nil {
			e = &edge{from: a, to: b, Edge: Edge{Source: m.Elements[a].Key, Destination: m.Elements[b].Key, Descriptions: []string{}}}
			byPair[[2]int{a, b}] = e
		}
		return e
	}
	fold := func(d Dependency) Dependency {
		return Dependency{c4model.FoldKey(d.Source), c4model.FoldKey(d.Destination)}
	}
	absent := map[Dependency]bool{}
	for _, d := range m.Absent {
		absent[fold(d)] = true
	}
	for _, r := range m.Relationships {
		e := between(r.Source, r.Destination)
		if e == nil {
			continue
		}
		e.Relations++
		if absent[fold(Dependency{r.Source, r.Destination})] {
			e.Absent++
		}
		words := r.Description
		if r.Technology != "" {
			words = strings.TrimSpace(words + " [" + r.Technology + "]")
		}
		if words != "" && !slices.Contains(e.Descriptions, words) {
			e.Descriptions = append(e.Descriptions, words)
		}
	}
	modelled := map[Dependency]bool{}
	for _, r := range m.Relationships {
		modelled[fold(Dependency{r.Source, r.Destination})] = true
	}
	for _, d := range m.Undocumented {
		if modelled[fold(d)] {
			continue // it was added since
		}
		if e := between(d.Source, d.Destination); e != nil {
			e.Undocumented++
		}
	}
	out := make([]edge, 0, len(byPair))
	for _, e := range byPair {
		switch {
		case e.Relations == 0:
			e.State = NotInModel
		case e.Absent == e.Relations && e.Undocumented == 0:
			e.State = NotInCode
		default:
			e.State = InModel
		}
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b edge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	return out
}

// fill puts the shown elements and the edges between them into a view.
func (m *model) fill(v *View, shown map[int]Place, edges []edge) {
	v.Nodes, v.Edges = []Node{}, []Edge{}
	for i, e := range m.Elements {
		if shown[i] == "" {
			continue
		}
		n := Node{Key: e.Key, Name: e.Name, Level: string(e.Level), Description: e.Description, Technology: e.Technology, Place: shown[i], External: e.External, Inside: m.children[i]}
		if known, ok := m.Known[e.Key]; ok {
			n.Known = &known
		}
		v.Nodes = append(v.Nodes, n)
	}
	for _, e := range edges {
		if shown[e.from] != "" && shown[e.to] != "" {
			v.Edges = append(v.Edges, e.Edge)
		}
	}
}
