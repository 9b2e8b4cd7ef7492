package likec4

import (
	"maps"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// tree is all elements of a model in their places.
type tree struct {
	*source
	roots  []*element
	byName map[string]*element // of the roots
	byKey  map[string]*element
	folded map[string]*element // by the form under which keys are compared
}

// place puts every element where it belongs, those of extensions too, whatever the order of files and declarations.
func (s *source) place() (*tree, error) {
	t := &tree{source: s, byName: make(map[string]*element), byKey: make(map[string]*element), folded: make(map[string]*element)}
	var extensions []*extension
	for _, f := range s.files {
		for _, b := range f.models {
			if err := t.add(nil, b); err != nil {
				return nil, err
			}
			extensions = append(extensions, b.extensions...)
		}
	}
	// A path is whole from the root, so that what extends an element is placed before what extends its children.
	slices.SortStableFunc(extensions, func(a, b *extension) int { return len(a.path) - len(b.path) })
	for _, x := range extensions {
		e := t.byKey[strings.Join(x.path, ".")]
		if e == nil {
			return nil, t.unknown(x.at, x.path)
		}
		x.body.owner = e
		e.links = append(e.links, x.links...)
		e.metadata = append(e.metadata, x.metadata...)
		if err := addTags(&e.tags, x.tags, x.at); err != nil {
			return nil, err
		}
		if err := t.add(e, x.body); err != nil {
			return nil, err
		}
	}
	for _, f := range s.files {
		for _, b := range f.models {
			b.visible()
		}
		f.scope = unique(nil, f.models)
	}
	return t, nil
}

// add places the elements of a body under parent.
func (t *tree) add(parent *element, b *body) error {
	for _, e := range b.elements {
		e.parent, e.key = parent, e.name
		siblings := t.byName
		if parent != nil {
			e.key, e.depth = parent.key+"."+e.name, parent.depth+1
			siblings = parent.byName
		}
		if e.depth >= MaxNesting {
			return problem.Invalidf("", "%sfound more than %d elements inside each other; expected at most that many", e.at, MaxNesting).
				Fix("flatten the model")
		}
		if first, ok := t.folded[c4model.FoldKey(e.key)]; ok {
			return problem.Invalidf("", "%sfound the element %s a second time; expected a name that is not used yet in this place, compared without case (first use: %s)",
				e.at, c4model.Quote(e.key), first.at.Place()).Fix("give one of the two another name, or extend the first")
		}
		if _, ok := t.kinds[e.kind]; !ok {
			return t.unknownKind(e.at, e.kind, "element", t.kinds)
		}
		e.byName = make(map[string]*element)
		siblings[e.name], t.byKey[e.key], t.folded[c4model.FoldKey(e.key)] = e, e, e
		if parent == nil {
			t.roots = append(t.roots, e)
		} else {
			parent.children = append(parent.children, e)
		}
		if e.body != nil {
			if err := t.add(e, e.body); err != nil {
				return err
			}
		}
	}
	return nil
}

// visible finds the names that can be used inside a body without a path: its elements, and what lies below them as far
// as the name is unique there. What other files add to the same element counts only behind a path.
func (b *body) visible() {
	direct := make(map[string]*element, len(b.elements))
	var inner []*body
	for _, e := range b.elements {
		direct[e.name] = e
		if e.body != nil {
			inner = append(inner, e.body)
		}
	}
	for _, x := range b.extensions {
		inner = append(inner, x.body)
	}
	for _, i := range inner {
		i.visible()
	}
	b.scope = unique(direct, inner)
}

// unique adds to the direct names those that exactly one of the bodies knows.
func unique(direct map[string]*element, bodies []*body) map[string]*element {
	scope := make(map[string]*element, len(direct))
	for _, b := range bodies {
		for name, e := range b.scope {
			if other, ok := scope[name]; ok && other != e {
				e = nil
			}
			scope[name] = e
		}
	}
	for name, e := range scope {
		if e == nil {
			delete(scope, name)
		}
	}
	maps.Copy(scope, direct)
	return scope
}

// descendants gives the elements below e by name, nil where several have it.
func (e *element) descendants() map[string]*element {
	if e.below != nil {
		return e.below
	}
	e.below = make(map[string]*element)
	add := func(name string, d *element) {
		if _, ok := e.below[name]; ok {
			d = nil
		}
		e.below[name] = d
	}
	for _, c := range e.children {
		add(c.name, c)
		for name, d := range c.descendants() {
			add(name, d)
		}
	}
	return e.below
}

// inside finds what a name behind a dot means: a child, else the one descendant of that name.
func (e *element) inside(name string) *element {
	if child, ok := e.byName[name]; ok {
		return child
	}
	return e.descendants()[name]
}

// resolve finds the element that a path means where it is written. Names are looked up from the inside out: in each
// body around the place, in the file, and among the roots of the model. It gives nil for an element of another project.
func (t *tree) resolve(f *file, b *body, at c4model.Position, path []string) (*element, error) {
	e := t.first(f, b, path[0])
	if e == nil {
		if slices.ContainsFunc(f.imports, func(i imported) bool { return i.name == path[0] }) {
			return nil, nil
		}
		return nil, t.unknown(at, path)
	}
	for _, name := range path[1:] {
		if e = e.inside(name); e == nil {
			return nil, t.unknown(at, path)
		}
	}
	return e, nil
}

func (t *tree) first(f *file, b *body, name string) *element {
	for ; b != nil; b = b.outer {
		if b.owner != nil && (name == "this" || name == "it") {
			return b.owner
		}
		if e, ok := b.scope[name]; ok {
			return e
		}
		if b.extends {
			if name == b.owner.name {
				return b.owner
			}
			if e := b.owner.inside(name); e != nil {
				return e
			}
		}
	}
	if e, ok := f.scope[name]; ok {
		return e
	}
	return t.byName[name]
}

// unknown refuses a path that leads to no element, and says which elements bear its last name.
func (t *tree) unknown(at c4model.Position, path []string) error {
	last := path[len(path)-1]
	var near []string
	for key, e := range t.byKey {
		if strings.EqualFold(e.name, last) {
			near = append(near, key)
		}
	}
	e := problem.Invalidf("", "%sfound the unknown element %s; expected the path of an element of this model", at, c4model.Quote(strings.Join(path, ".")))
	if len(near) == 0 {
		return e.Fix("declare it, or correct its spelling; every file of the model must lie in the folder that is read")
	}
	slices.Sort(near)
	if len(near) > 3 {
		near = near[:3]
	}
	return e.Fix("did you mean %s?", strings.Join(near, " or "))
}

func (t *tree) unknownKind(at c4model.Position, kind, of string, known map[string]kindOf) error {
	e := problem.Invalidf("", "%sfound the unknown kind %s; expected a kind of %s that a specification declares", at, c4model.Quote(kind), of)
	for name := range known {
		if strings.EqualFold(name, kind) {
			return e.Fix("did you mean %s?", name)
		}
	}
	return e.Fix("add \"%s %s\" to the specification; every file of the model must lie in the folder that is read", of, kind)
}

func addTags(tags *[]string, more []string, at c4model.Position) error {
	for _, tag := range more {
		if slices.Contains(*tags, tag) {
			continue
		}
		if len(*tags) >= MaxTags {
			return problem.Invalidf("", "%sfound more than %d tags on one element or relationship; expected at most that many", at, MaxTags).
				Fix("keep the tags that mean something")
		}
		*tags = append(*tags, tag)
	}
	return nil
}
