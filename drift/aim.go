package drift

import (
	"slices"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/evidence"
)

// Aim completes a watch list for a run: the patterns that the elements of a text are bound to here, and the commits that broke
// something, of which the server wants to know who knew them. The list itself stays as it is.
func Aim(in *Input, r *Report, watched []evidence.Watched) []evidence.Watched {
	bound := newBounds(in.Model, in.Bindings)
	breaking := []string{}
	for _, f := range r.Findings {
		if f.Since != nil && f.Since.Cause == CodeChanged && !slices.Contains(breaking, f.Since.Commit) {
			breaking = append(breaking, f.Since.Commit)
		}
	}
	out := slices.Clone(watched)
	for i := range out {
		w := &out[i]
		w.Patterns, w.Breaking = append(slices.Clone(w.Patterns), bound.of(bound.known(w.Elements, w.Same))...), breaking
	}
	return out
}

// Bound gives the patterns that elements, by their keys, are bound to: an element without bindings of its own has those of
// what lies in it. Elements stand in the model with parents before children.
func Bound(m *c4model.Model, bindings []c4model.Binding, keys []string) []string {
	return newBounds(m, bindings).of(keys)
}

// bounds are the patterns of each element of a model.
type bounds struct {
	el       *elements
	bindings []c4model.Binding
	patterns map[int][]string // of the elements that were asked for
}

func newBounds(m *c4model.Model, bindings []c4model.Binding) *bounds {
	return &bounds{newElements(&Input{Model: m, Bindings: bindings}), bindings, map[int][]string{}}
}

// known are the elements of the model with one of the keys or, where it has another key than a server knows, one of the values of
// the property stele.id.
func (b *bounds) known(keys, same []string) []string {
	if len(same) == 0 {
		return keys
	}
	out := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { _, ok := b.el.byKey[c4model.FoldKey(key)]; return !ok })
	if len(out) == len(keys) {
		return out
	}
	for _, e := range b.el.all {
		if id := e.Properties[c4model.IdentityProperty]; id != "" && slices.Contains(same, id) && !slices.Contains(out, e.Key) {
			out = append(out, e.Key)
		}
	}
	return out
}

func (b *bounds) of(keys []string) []string {
	var out []string
	for _, key := range keys {
		if at, ok := b.el.byKey[c4model.FoldKey(key)]; ok {
			out = append(out, b.at(at)...)
		}
	}
	return out
}

func (b *bounds) at(i int) []string {
	if known, ok := b.patterns[i]; ok {
		return known
	}
	at := b.el.bindings[i]
	if len(at) == 0 {
		for j := range b.el.all {
			if j != i && b.el.inside(j, i) {
				at = append(at, b.el.bindings[j]...)
			}
		}
	}
	out := make([]string, 0, len(at))
	for _, n := range at {
		out = append(out, b.bindings[n].Pattern)
	}
	b.patterns[i] = out
	return out
}
