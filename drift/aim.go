package drift

import (
	"slices"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/evidence"
)

// Aim completes a watch list for a run: the patterns that the elements of a text are bound to here, and the commits that broke
// something, of which the server wants to know who knew them. An element without bindings of its own has those of what lies in
// it. The list itself stays as it is.
func Aim(in *Input, r *Report, watched []evidence.Watched) []evidence.Watched {
	el := newElements(in)
	patterns := make([][]string, len(el.all))
	for i := range el.all {
		at := el.bindings[i]
		if len(at) == 0 {
			for j := range el.all {
				if j != i && el.inside(j, i) {
					at = append(at, el.bindings[j]...)
				}
			}
		}
		for _, b := range at {
			patterns[i] = append(patterns[i], in.Bindings[b].Pattern)
		}
	}
	breaking := []string{}
	for _, f := range r.Findings {
		if f.Since != nil && f.Since.Cause == CodeChanged && !slices.Contains(breaking, f.Since.Commit) {
			breaking = append(breaking, f.Since.Commit)
		}
	}
	out := slices.Clone(watched)
	for i := range out {
		w := &out[i]
		w.Patterns, w.Breaking = slices.Clone(w.Patterns), breaking
		for _, key := range w.Elements {
			if at, ok := el.byKey[c4model.FoldKey(key)]; ok {
				w.Patterns = append(w.Patterns, patterns[at]...)
			}
		}
	}
	return out
}
