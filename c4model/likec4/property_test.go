package likec4_test

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
	"github.com/stele-dev/stele/c4model/likec4"
)

// thing is an element of a generated model.
type thing struct {
	name, kind, title, technology, tag, path string

	parent   *thing
	children []*thing
}

func (x *thing) key() string {
	if x.parent == nil {
		return x.name
	}
	return x.parent.key() + "." + x.name
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
	source, target *thing
	kind, title    string
}

// generated is a model as an author means it, before it is written down.
type generated struct {
	roots, all []*thing
	arrows     []arrow
}

func generate(t *rapid.T) generated {
	var g generated
	word := rapid.SampledFrom([]string{"", "oak", "it's \"elm\"", "a {ash} // of /* wood */", "ö\\ fir #x"})
	for i := range rapid.IntRange(1, 12).Draw(t, "elements") {
		x := &thing{
			name: fmt.Sprintf("e%d", i), kind: rapid.SampledFrom([]string{"system", "app", "thing", "component", "actor"}).Draw(t, "kind"),
			title: word.Draw(t, "title"), technology: word.Draw(t, "technology"), tag: rapid.SampledFrom([]string{"", "next"}).Draw(t, "tag"),
			path: rapid.SampledFrom([]string{"", "src/x"}).Draw(t, "path"),
		}
		if parent := rapid.IntRange(-1, i-1).Draw(t, "parent"); parent >= 0 {
			x.parent = g.all[parent]
			x.parent.children = append(x.parent.children, x)
		} else {
			g.roots = append(g.roots, x)
		}
		g.all = append(g.all, x)
	}
	for range rapid.IntRange(0, 8).Draw(t, "arrows") {
		one := rapid.SampledFrom(g.all)
		a := arrow{one.Draw(t, "source"), one.Draw(t, "target"), rapid.SampledFrom([]string{"", "async"}).Draw(t, "kind"), word.Draw(t, "title")}
		same := func(b arrow) bool {
			return a.source == b.source && a.target == b.target && a.kind == b.kind && a.title == b.title
		}
		if !a.source.inside(a.target) && !a.target.inside(a.source) && !slices.ContainsFunc(g.arrows, same) {
			g.arrows = append(g.arrows, a)
		}
	}
	return g
}

// writer writes a model down as tokens, with blanks and comments between them and everything else that means nothing
// drawn at random; a plain one draws nothing.
type writer struct {
	t     *rapid.T
	plain bool
	b     strings.Builder
}

func (w *writer) chance(label string) bool {
	return !w.plain && rapid.Bool().Draw(w.t, label)
}

func (w *writer) tokens(tokens ...string) {
	for _, token := range tokens {
		w.b.WriteString(token)
		blank := "\n"
		if !w.plain {
			blank = rapid.SampledFrom([]string{" ", "\n", "\t\r\n", " /* } { ' */ ", " // \" {\n", "\n\n/* a\n b */\n"}).Draw(w.t, "blank")
		}
		w.b.WriteString(blank)
	}
}

// text writes a text between one of the quotes that can hold it.
func (w *writer) text(s string) string {
	escaped := strings.ReplaceAll(s, `\`, `\\`)
	forms := []string{"'" + strings.ReplaceAll(escaped, "'", `\'`) + "'", `"` + strings.ReplaceAll(escaped, `"`, `\"`) + `"`, "'''\n  " + s + "\n'''"}
	if w.plain {
		return forms[0]
	}
	return rapid.SampledFrom(forms).Draw(w.t, "quotes")
}

func shuffled[T any](w *writer, list []T) []T {
	if w.plain || len(list) < 2 {
		return list
	}
	return rapid.Permutation(list).Draw(w.t, "order")
}

func (w *writer) element(x *thing, later *[]*thing) {
	if w.chance("kind first") {
		w.tokens(x.kind, x.name)
	} else {
		w.tokens(x.name, "=", x.kind)
	}
	inBody := x.title == "" || w.chance("title in the body")
	if !inBody {
		w.tokens(w.text(x.title))
	}
	w.tokens("{")
	w.properties(x, inBody)
	for _, c := range shuffled(w, x.children) {
		if w.chance("by extension") {
			*later = append(*later, c)
		} else {
			w.element(c, later)
		}
	}
	w.tokens("}")
}

func (w *writer) properties(x *thing, title bool) {
	properties := [][]string{}
	if title && x.title != "" {
		properties = append(properties, []string{"title", w.text(x.title)})
	}
	if x.technology != "" {
		properties = append(properties, []string{"technology", w.text(x.technology)})
	}
	if x.tag != "" {
		properties = append(properties, []string{"#" + x.tag})
	}
	if x.path != "" {
		properties = append(properties, []string{"metadata", "{", "path", w.text(x.path), "}"})
	}
	for _, p := range shuffled(w, properties) {
		w.tokens(p...)
		if w.chance("semicolon") && p[len(p)-1] != "}" {
			w.tokens(";")
		}
	}
}

func (w *writer) arrow(a arrow) {
	inside := w.chance("inside its source")
	if inside {
		w.tokens("extend", a.source.key(), "{")
		if w.chance("this") {
			w.tokens("this")
		}
	} else {
		w.tokens(a.source.key())
	}
	switch {
	case a.kind == "":
		w.tokens("->")
	case w.chance("dot"):
		w.tokens("." + a.kind)
	default:
		w.tokens("-[" + a.kind + "]->")
	}
	w.tokens(a.target.key())
	if a.title != "" {
		w.tokens(w.text(a.title))
	}
	if inside {
		w.tokens("}")
	}
}

// files writes the model into one or several files.
func (w *writer) files(g generated) map[string]string {
	var blocks []func()
	var later []*thing
	extend := func(x *thing) func() {
		return func() {
			w.tokens("extend", x.parent.key(), "{")
			w.element(x, &later)
			w.tokens("}")
		}
	}
	var texts []string
	block := func(write func()) {
		w.b.Reset()
		w.tokens("model", "{")
		write()
		w.tokens("}")
		if w.chance("views") {
			w.tokens("views", "{", "view", "{", "include", "*", "}", "}")
		}
		texts = append(texts, w.b.String())
	}
	for _, x := range g.roots {
		blocks = append(blocks, func() { w.element(x, &later) })
	}
	for _, a := range g.arrows {
		blocks = append(blocks, func() { w.arrow(a) })
	}
	for _, write := range blocks {
		block(write)
	}
	for len(later) > 0 {
		x := later[0]
		later = later[1:]
		block(extend(x))
	}
	files := map[string]string{"spec.c4": kinds}
	for _, text := range shuffled(w, texts) {
		name := "a.c4"
		if !w.plain {
			name = rapid.SampledFrom([]string{"a.c4", "z.likec4", "sub/m.c4"}).Draw(w.t, "file")
		}
		files[name] += text
	}
	return files
}

// canonical gives what a model says, without the order and the places of its declarations.
func canonical(t *rapid.T, files map[string]string) *c4model.Model {
	m, err := likec4.Read(t.Context(), folder(files), ".", nil)
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
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.Description, b.Description), slices.Compare(a.Tags, b.Tags))
	})
	m.Warnings = nil
	return m
}

// TestFormAndOrderMeanNothing checks that blanks, comments, quotes, the order of declarations, extensions and the split
// into files leave a model the same.
func TestFormAndOrderMeanNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := generate(t)
		plain := canonical(t, (&writer{t: t, plain: true}).files(g))
		if len(plain.Elements) != len(g.all) || len(plain.Relationships) != len(g.arrows) {
			t.Fatalf("%d elements and %d relationships of %d and %d", len(plain.Elements), len(plain.Relationships), len(g.all), len(g.arrows))
		}
		files := (&writer{t: t}).files(g)
		if diff := gocmp.Diff(plain, canonical(t, files), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%v\n(-plain +other):\n%s", files, diff)
		}
	})
}
