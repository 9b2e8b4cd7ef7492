package plantuml_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/plantuml"
)

// thing is an element of a generated model.
type thing struct {
	alias, macro, label, technology, description, tags string

	parent   *thing
	children []*thing
}

func (x *thing) inside(other *thing) bool {
	for ; x != nil; x = x.parent {
		if x == other {
			return true
		}
	}
	return false
}

type arrow struct {
	from, to *thing
	label    string
}

func generate(t *rapid.T) (all []*thing, arrows []arrow) {
	words := rapid.SampledFrom([]string{"", "Oak", "elm, (old)", "it's ash", "$fir = {x}"})
	for i := range rapid.IntRange(1, 12).Draw(t, "elements") {
		x := &thing{alias: fmt.Sprintf("e%d", i), label: fmt.Sprintf("Tree %d", i), description: words.Draw(t, "description"), tags: rapid.SampledFrom([]string{"", "a", "a+b"}).Draw(t, "tags")}
		if parent := rapid.IntRange(-1, i-1).Draw(t, "parent"); parent >= 0 && all[parent].macro != "Component" && all[parent].macro != "Person" {
			x.parent = all[parent]
			x.parent.children = append(x.parent.children, x)
		}
		switch {
		case x.parent == nil:
			x.macro = rapid.SampledFrom([]string{"System", "Person"}).Draw(t, "macro")
		case x.parent.macro == "System":
			x.macro = "Container"
		default:
			x.macro = "Component"
		}
		if x.parent != nil {
			x.technology = words.Draw(t, "technology")
		}
		all = append(all, x)
	}
	for range rapid.IntRange(0, 8).Draw(t, "arrows") {
		one := rapid.SampledFrom(all)
		a := arrow{one.Draw(t, "from"), one.Draw(t, "to"), words.Draw(t, "label")}
		if !a.from.inside(a.to) && !a.to.inside(a.from) && !slices.Contains(arrows, a) {
			arrows = append(arrows, a)
		}
	}
	return all, arrows
}

// writer writes diagrams with everything that means nothing drawn at random; a plain one draws nothing.
type writer struct {
	t     *rapid.T
	plain bool
	b     strings.Builder
}

func (w *writer) chance(label string) bool { return !w.plain && rapid.Bool().Draw(w.t, label) }

// line writes a line, and around it what does not count.
func (w *writer) line(text string) {
	if !w.plain {
		w.b.WriteString(rapid.SampledFrom([]string{"", "\n\n", "' a \"comment\" {\n", "/' a comment\n System(no) } '/\n", "\t", "title Trees (all)\n", "LAYOUT_WITH_LEGEND()\n",
			"note left\n System(no) }\nend note\n", "skinparam x {\n y z\n}\n", "!define UNUSED no\n", "!ifdef NO\nSystem(no)\n!endif\n", "Lay_D(a, b)\n"}).Draw(w.t, "noise"))
	}
	w.b.WriteString(text)
	if w.chance("comment behind") {
		w.b.WriteString(" /' x '/")
	}
	w.b.WriteString("\n")
}

// call writes a call; arguments that are empty are left out where their name can be said.
func (w *writer) call(name string, positional []string, named map[string]string) string {
	args := slices.Clone(positional)
	for i := range args {
		if i >= 1 {
			args[i] = `"` + args[i] + `"`
		}
	}
	keys := make([]string, 0, len(named))
	for key, value := range named {
		if value != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if !w.plain && len(keys) > 1 {
		keys = rapid.Permutation(keys).Draw(w.t, "order of arguments")
	}
	for _, key := range keys {
		equals := "="
		if w.chance("blanks around =") {
			equals = " = "
		}
		args = append(args, "$"+key+equals+`"`+named[key]+`"`)
	}
	comma := ", "
	if !w.plain {
		comma = rapid.SampledFrom([]string{",", " , ", ",\n    "}).Draw(w.t, "comma")
	}
	return name + "(" + strings.Join(args, comma) + ")"
}

func (w *writer) element(x *thing) {
	named := map[string]string{"techn": x.technology, "descr": x.description, "tags": x.tags}
	positional := []string{x.alias, x.label}
	if w.chance("by position") {
		delete(named, "techn")
		delete(named, "descr")
		if x.parent != nil {
			positional = append(positional, x.technology)
		}
		positional = append(positional, x.description)
	}
	w.line(w.call(x.macro, positional, named))
}

// boundaries writes what is inside x and below.
func (w *writer) boundaries(x *thing) {
	if len(x.children) == 0 {
		return
	}
	open := w.call(x.macro+"_Boundary", []string{x.alias, x.label}, nil)
	if w.chance("brace on its own line") {
		w.line(open)
		w.b.WriteString("{\n")
	} else {
		w.line(open + " {")
	}
	children := x.children
	if !w.plain && len(children) > 1 {
		children = rapid.Permutation(children).Draw(w.t, "order of children")
	}
	for _, c := range children {
		w.element(c)
		w.boundaries(c)
	}
	w.line("}")
}

func (w *writer) arrow(a arrow) {
	from, to, name := a.from.alias, a.to.alias, "Rel"
	if w.chance("back") {
		from, to, name = to, from, "Rel_Back"
	}
	if w.chance("direction") {
		name = strings.TrimSuffix(name, "_Back") + map[bool]string{true: "_Back_Neighbor", false: "_U"}[name == "Rel_Back"]
	}
	w.line(w.call(name, []string{from}, map[string]string{"to": to, "label": a.label}))
}

// files writes the model into one diagram, or each part of it into a diagram of its own.
func (w *writer) files(all []*thing, arrows []arrow) map[string]string {
	var parts []func()
	for _, x := range all {
		if x.parent == nil {
			parts = append(parts, func() { w.element(x) }, func() { w.boundaries(x) })
		}
	}
	for _, a := range arrows {
		parts = append(parts, func() { w.arrow(a) })
	}
	if !w.plain && len(parts) > 1 {
		parts = rapid.Permutation(parts).Draw(w.t, "order")
	}
	files := make(map[string]string)
	for _, write := range parts {
		name := "a.puml"
		if !w.plain {
			name = rapid.SampledFrom([]string{"a.puml", "b.plantuml", "sub/c.puml"}).Draw(w.t, "file")
		}
		w.b.Reset()
		write()
		files[name] += w.b.String()
	}
	for name, text := range files {
		files[name] = "@startuml\n!include <C4/C4_Component>\n" + text + "@enduml\n"
	}
	return files
}

// canonical gives what a model says, without the order and the places of its declarations.
func canonical(t *rapid.T, files map[string]string) *c4model.Model {
	m, err := plantuml.Read(t.Context(), folder(files), ".", nil)
	if err != nil {
		t.Fatalf("%v\n%v", err, files)
	}
	for i := range m.Elements {
		m.Elements[i].Source = c4model.Position{}
	}
	for i := range m.Relationships {
		m.Relationships[i].Position = c4model.Position{}
	}
	slices.SortFunc(m.Elements, func(a, b c4model.Element) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(m.Relationships, func(a, b c4model.Relationship) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Description, b.Description))
	})
	m.Name = ""
	return m
}

// TestFormAndOrderMeanNothing checks that blanks, comments, what is drawn, the order of declarations and the split into
// diagrams leave a model the same.
func TestFormAndOrderMeanNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all, arrows := generate(t)
		plain := canonical(t, (&writer{t: t, plain: true}).files(all, arrows))
		if len(plain.Elements) != len(all) || len(plain.Relationships) != len(arrows) {
			t.Fatalf("%d elements and %d relationships of %d and %d", len(plain.Elements), len(plain.Relationships), len(all), len(arrows))
		}
		files := (&writer{t: t}).files(all, arrows)
		if diff := gocmp.Diff(plain, canonical(t, files), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%v\n(-plain +other):\n%s", files, diff)
		}
	})
}
