package likec4

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
)

// builder makes the model of a tree.
type builder struct {
	*tree
	model    *c4model.Model
	warnings int
	stated   map[statement]*c4model.Relationship
	links    []*c4model.Relationship
	tooDeep  []*element
	outside  map[imported]int // relationships with another project
}

// statement is what makes a relationship the same as another.
type statement struct {
	source, destination, kind, title, description, technology string
}

// build gives the finished model, checked.
func (t *tree) build() (*c4model.Model, error) {
	b := &builder{
		tree: t, model: &c4model.Model{Elements: []c4model.Element{}, Relationships: []c4model.Relationship{}, Warnings: []c4model.Warning{}},
		stated: make(map[statement]*c4model.Relationship), outside: make(map[imported]int),
	}
	for _, root := range t.roots {
		if err := b.element(root); err != nil {
			return nil, err
		}
	}
	c4model.MarkScope(b.model.Elements)
	if len(b.tooDeep) > 0 {
		b.warn(b.tooDeep[0].at, "%s is nested deeper than C4 has levels (%d such elements); it is kept as code beside what it is nested in", b.tooDeep[0].key, len(b.tooDeep))
	}
	for _, extends := range []bool{false, true} {
		for _, f := range t.files {
			for _, m := range f.models {
				if err := b.relations(f, m, extends); err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortStableFunc(b.links, func(x, y *c4model.Relationship) int {
		return cmp.Or(cmp.Compare(x.Position.File, y.Position.File), x.Position.Line-y.Position.Line)
	})
	for _, r := range b.links {
		b.model.Relationships = append(b.model.Relationships, *r)
	}
	b.imports()
	if len(b.model.Elements) == 0 {
		b.warn(c4model.Position{}, "the model has no elements")
	}
	if extra := b.warnings - MaxWarnings; extra > 0 {
		b.model.Warnings = append(b.model.Warnings, c4model.Warning{Message: fmt.Sprintf("%d more warnings", extra)})
	}
	if err := b.model.Check(); err != nil {
		return nil, err
	}
	return b.model, nil
}

func (b *builder) addWarning(w c4model.Warning) {
	if b.warnings++; b.warnings <= MaxWarnings {
		b.model.Warnings = append(b.model.Warnings, w)
	}
}

// element adds e and what is inside it.
func (b *builder) element(e *element) error {
	k := b.kinds[e.kind]
	if e.title = oneLine(e.title); e.title == "" {
		if e.title = oneLine(k.title); e.title == "" {
			e.title = e.name
		}
	}
	b.setLevel(e)
	parent, group := standing(e)
	if e.level == c4model.Code && parent != e.parent {
		b.tooDeep = append(b.tooDeep, e)
	}
	tags := slices.Clone(k.tags)
	if err := addTags(&tags, e.tags, e.at); err != nil {
		return err
	}
	out := c4model.Element{
		Key: e.key, Name: e.title, Level: e.level, Description: firstText(e.description, e.summary, k.description, k.summary),
		Technology: oneLine(firstText(e.technology, k.technology)), Tags: tags, Group: group,
		External: k.external(e.kind), Source: e.at,
	}
	if parent != nil {
		out.Parent = parent.key
	}
	e.addProperties(&out, k)
	b.model.Elements = append(b.model.Elements, out)
	for _, c := range e.children {
		if err := b.element(c); err != nil {
			return err
		}
	}
	return nil
}

// addProperties keeps metadata as properties, the first link as the address and the others, one a line, as the property
// link.
func (e *element) addProperties(out *c4model.Element, k kindOf) {
	metadata, links := e.metadata, e.links
	if len(links) == 0 {
		links = k.links
	}
	for i, l := range links {
		target := relativeTo(l, e.at.File)
		if i == 0 {
			out.URL = target
		} else {
			metadata = append(metadata, entry{"link", target})
		}
	}
	for _, m := range metadata {
		if out.Properties == nil {
			out.Properties = make(map[string]string)
		}
		separator := ", "
		if m.key == "link" {
			separator = "\n"
		}
		switch value, ok := out.Properties[m.key]; {
		case !ok:
			out.Properties[m.key] = m.value
		case !slices.Contains(strings.Split(value, separator), m.value):
			out.Properties[m.key] = value + separator + m.value
		}
	}
}

// relativeTo gives a link as the file from would write it: a path is relative to the file that states it.
func relativeTo(l link, from string) string {
	dir, to := path.Dir(l.file), path.Dir(from)
	if dir == to || strings.Contains(l.target, "://") || strings.HasPrefix(l.target, "/") || strings.HasPrefix(l.target, "@") {
		return l.target
	}
	target, fragment, marked := strings.Cut(l.target, "#")
	relative, err := filepath.Rel(filepath.FromSlash(to), filepath.FromSlash(path.Join(dir, target)))
	if err != nil {
		return l.target
	}
	target = "./" + filepath.ToSlash(relative)
	if marked {
		target += "#" + fragment
	}
	return target
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t = trimmed(t); t != "" {
			return t
		}
	}
	return ""
}

// relations adds the relationships of a body and of what is inside it; with extends, what adds to them.
func (b *builder) relations(f *file, at *body, extends bool) error {
	for _, r := range at.relations {
		if r.extends != extends {
			continue
		}
		if err := b.relation(f, at, r); err != nil {
			return err
		}
	}
	for _, e := range at.elements {
		if e.body == nil {
			continue
		}
		if err := b.relations(f, e.body, extends); err != nil {
			return err
		}
	}
	for _, x := range at.extensions {
		if err := b.relations(f, x.body, extends); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) relation(f *file, at *body, r *relation) error {
	k, known := b.relationKinds[r.kind]
	if r.kind != "" && !known {
		return b.unknownKind(r.at, r.kind, "relationship", b.relationKinds)
	}
	source := at.owner
	if len(r.source) > 0 {
		var err error
		if source, err = b.resolve(f, at, r.at, r.source); err != nil {
			return err
		}
	}
	destination, err := b.resolve(f, at, r.at, r.target)
	if err != nil {
		return err
	}
	if source == nil || destination == nil {
		for _, i := range f.imports {
			if source == nil && i.name == r.source[0] || destination == nil && i.name == r.target[0] {
				b.outside[i]++
			}
		}
		return nil
	}
	if r.extends {
		return b.extend(source, destination, r)
	}
	if source != destination && (within(source, destination) || within(destination, source)) {
		b.warn(r.at, "the relationship %s -> %s is between an element and what it contains, which a C4 model does not have; it was left out", source.key, destination.key)
		return nil
	}
	out := &c4model.Relationship{
		Source: source.key, Destination: destination.key, Position: r.at,
		Description: oneLine(firstText(r.title, k.title, r.description, k.description)),
		Technology:  oneLine(firstText(r.technology, k.technology)),
	}
	if r.kind != "" {
		out.Tags = append(out.Tags, r.kind)
	}
	for _, tags := range [][]string{k.tags, r.tags} {
		if err := addTags(&out.Tags, tags, r.at); err != nil {
			return err
		}
	}
	s := statement{out.Source, out.Destination, r.kind, oneLine(r.title), out.Description, out.Technology}
	if first, ok := b.stated[s]; ok {
		b.warn(r.at, "the relationship %s -> %s %s is stated again (first: %s); it counts once", out.Source, out.Destination, c4model.Quote(out.Description), first.Position.Place())
		return nil
	}
	b.stated[s] = out
	b.links = append(b.links, out)
	return nil
}

// extend adds the tags of "extend a -> b 'title' {…}" to the relationships with those ends, kind and title.
func (b *builder) extend(source, destination *element, r *relation) error {
	title, found := oneLine(r.title), false
	for s, out := range b.stated {
		if s.source != source.key || s.destination != destination.key || s.kind != r.kind || s.title != title {
			continue
		}
		found = true
		if err := addTags(&out.Tags, r.tags, r.at); err != nil {
			return err
		}
	}
	if !found {
		b.warn(r.at, "extend %s -> %s %s extends no relationship of this model", source.key, destination.key, c4model.Quote(title))
	}
	return nil
}

// imports says which relationships are missing because they lead to another project.
func (b *builder) imports() {
	for _, f := range b.files {
		for _, i := range f.imports {
			if n := b.outside[i]; n > 0 {
				b.addWarning(c4model.Warning{
					Position: i.at, NotIncluded: true,
					Message: fmt.Sprintf("%s of the project %s is outside this model; %d relationships with it were left out", i.name, c4model.Quote(i.project), n),
				})
			}
		}
	}
}

func within(e, ancestor *element) bool {
	for ; e != nil; e = e.parent {
		if e == ancestor {
			return true
		}
	}
	return false
}
