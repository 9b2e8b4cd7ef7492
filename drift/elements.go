package drift

import (
	"slices"

	"github.com/stele-dev/stele/c4model"
)

// elements are those of a model with what checks ask about them, by index.
type elements struct {
	all      []c4model.Element
	byKey    map[string]int // folded key
	parent   []int          // -1 at the top
	inScope  []bool
	bindings [][]int // of the input, by element
	bound    []bool  // itself or by an element inside it
	none     []string
}

func newElements(in *Input) *elements {
	n := len(in.Model.Elements)
	el := &elements{
		all: in.Model.Elements, byKey: make(map[string]int, n), parent: make([]int, n), inScope: make([]bool, n),
		bindings: make([][]int, n), bound: make([]bool, n), none: make([]string, n),
	}
	for i, e := range el.all {
		el.byKey[c4model.FoldKey(e.Key)] = i
		el.parent[i] = -1
		if at, ok := el.byKey[c4model.FoldKey(e.Parent)]; ok && e.Parent != "" {
			el.parent[i] = at
		}
		el.inScope[i] = e.InScope()
	}
	for key, reason := range in.None {
		if at, ok := el.byKey[c4model.FoldKey(key)]; ok {
			el.none[at] = reason
		}
	}
	for i, b := range in.Bindings {
		at, ok := el.byKey[c4model.FoldKey(b.Element)]
		if !ok || !el.inScope[at] {
			continue
		}
		el.bindings[at] = append(el.bindings[at], i)
		for up := at; up >= 0; up = el.parent[up] {
			el.bound[up] = true
		}
	}
	return el
}

// inside tells whether element a is b or lies in it.
func (el *elements) inside(a, b int) bool {
	for ; a >= 0; a = el.parent[a] {
		if a == b {
			return true
		}
	}
	return false
}

// related tells whether one of two elements lies in the other, or is it.
func (el *elements) related(a, b int) bool { return el.inside(a, b) || el.inside(b, a) }

// deepest drops the elements that contain another of the list: an element narrows what its parent says.
func (el *elements) deepest(list []int) []int {
	if len(list) < 2 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(a int) bool {
		return slices.ContainsFunc(list, func(b int) bool { return a != b && el.inside(b, a) })
	})
}

// container is the element itself or the nearest around it that is a container or system: what is deployed as one.
func (el *elements) container(i int) int {
	for at := i; at >= 0; at = el.parent[at] {
		if level := el.all[at].Level; level == c4model.Container || level == c4model.System {
			return at
		}
	}
	return i
}

// siblings lifts two elements, neither inside the other, to the children of the innermost element that holds both.
func (el *elements) siblings(a, b int) (int, int) {
	for el.parent[a] >= 0 && !el.inside(b, el.parent[a]) {
		a = el.parent[a]
	}
	for el.parent[b] >= 0 && !el.inside(a, el.parent[b]) {
		b = el.parent[b]
	}
	return a, b
}
