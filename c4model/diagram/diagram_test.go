package diagram_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/internal/problem"
)

var update = flag.Bool("update", false, "write the drawings in testdata anew")

// mill is a model with two systems, a person on either side, and a container with parts.
func mill() diagram.Input {
	in := diagram.Input{Known: map[string]diagram.Known{
		"mill":       {Freshness: "none", Drift: "unknown"},
		"mill.gate":  {Pitfalls: 2, Doubts: 1, Freshness: "fresh", Drift: "matched"},
		"mill.wheel": {Notes: 1, Freshness: "ageing", Drift: "drifted"},
		"mill.stone": {Conventions: 3, Freshness: "old", Drift: "missing"},
	}}
	for _, e := range [][4]string{
		{"miller", "Miller", "person", ""}, {"baker", "Baker", "person", ""}, {"mill", "Mill", "system", ""}, {"market", "Market", "system", ""},
		{"mill.gate", "Gate", "container", "mill"}, {"mill.wheel", "Wheel", "container", "mill"}, {"mill.stone", "Stone", "container", "mill"},
		{"mill.wheel.axle", "Axle", "component", "mill.wheel"}, {"mill.wheel.blade", "Blade", "component", "mill.wheel"}, {"mill.wheel.blade.nail", "Nail", "code", "mill.wheel.blade"},
	} {
		in.Elements = append(in.Elements, c4model.Element{Key: e[0], Name: e[1], Level: c4model.Level(e[2]), Parent: e[3], External: e[0] == "market"})
	}
	in.Elements[5].Technology, in.Elements[5].Description = "Oak", "Turns as long as there is water, and stops when the gate is shut."
	for _, r := range [][3]string{
		{"miller", "mill.gate", "opens"}, {"miller", "mill.gate", "shuts"}, {"miller", "mill", "owns"}, {"baker", "market", "buys from"}, {"market", "mill.stone", "takes flour from"},
		{"mill.gate", "mill.wheel.blade", "lets water onto"}, {"mill.wheel.blade.nail", "mill.wheel.axle", "holds"}, {"mill.wheel.axle", "mill.stone", "turns"}, {"mill.wheel", "mill.stone", "drives"},
	} {
		in.Relationships = append(in.Relationships, c4model.Relationship{Source: r[0], Destination: r[1], Description: r[2]})
	}
	in.Absent = []diagram.Dependency{{"mill.gate", "mill.wheel.blade"}, {"Mill.Wheel", "mill.stone"}}
	in.Undocumented = []diagram.Dependency{{"mill.stone", "mill.gate"}, {"mill.wheel.axle", "mill.stone"}} // the second was added since
	return in
}

// shape is a view in lines: nodes with their places, edges with what they say.
func shape(v diagram.View) (out []string) {
	for _, n := range v.Nodes {
		out = append(out, fmt.Sprintf("%s %s", n.Place, n.Key))
	}
	for _, e := range v.Edges {
		line := fmt.Sprintf("%s > %s: %s", e.Source, e.Destination, strings.Join(e.Descriptions, ", "))
		if words := e.Words(); words != "" {
			line += " (" + words + ")"
		}
		out = append(out, line)
	}
	return out
}

func TestWhatBelongsToAView(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		element string
		kind    diagram.Kind
		kinds   []diagram.Kind
		want    []string
		whole   int
	}{
		"landscape": {"", diagram.Landscape, []diagram.Kind{diagram.Landscape}, []string{
			"outside miller", "outside baker", "outside mill", "outside market",
			"miller > mill: opens, shuts, owns", "baker > market: buys from", "market > mill: takes flour from"}, 0},
		"the only system": {"", "", []diagram.Kind{diagram.Context, diagram.Containers}, []string{
			"outside miller", "subject mill", "outside market", "miller > mill: opens, shuts, owns", "market > mill: takes flour from"}, 0},
		"containers": {"MILL", "", []diagram.Kind{diagram.Context, diagram.Containers}, []string{
			"outside miller", "outside market", "inside mill.gate", "inside mill.wheel", "inside mill.stone",
			"miller > mill.gate: opens, shuts", "market > mill.stone: takes flour from", "mill.gate > mill.wheel: lets water onto (not in the code)",
			"mill.wheel > mill.stone: turns, drives (1 of 2 not in the code)", "mill.stone > mill.gate:  (not in the model)"}, 1},
		"components": {"mill.wheel", "", []diagram.Kind{diagram.Context, diagram.Components}, []string{
			"outside mill.gate", "outside mill.stone", "inside mill.wheel.axle", "inside mill.wheel.blade",
			"mill.gate > mill.wheel.blade: lets water onto (not in the code)", "mill.wheel.axle > mill.stone: turns", "mill.wheel.blade > mill.wheel.axle: holds"}, 1},
		"code": {"mill.wheel.blade", diagram.Code, []diagram.Kind{diagram.Context, diagram.Code}, []string{
			"outside mill.wheel.axle", "inside mill.wheel.blade.nail", "mill.wheel.blade.nail > mill.wheel.axle: holds"}, 1},
		"surroundings of a container": {"mill.gate", "", []diagram.Kind{diagram.Context}, []string{
			"outside miller", "subject mill.gate", "outside mill.wheel", "outside mill.stone", "miller > mill.gate: opens, shuts",
			"mill.gate > mill.wheel: lets water onto (not in the code)", "mill.wheel > mill.stone: turns, drives (1 of 2 not in the code)", "mill.stone > mill.gate:  (not in the model)"}, 0},
		"a person": {"baker", "", []diagram.Kind{diagram.Context}, []string{"subject baker", "outside market", "baker > market: buys from"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := diagram.Of(mill(), c.element, c.kind)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, shape(v)); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
			if v.Whole != c.whole {
				t.Errorf("%d relations of the whole, want %d", v.Whole, c.whole)
			}
			if diff := cmp.Diff(c.kinds, v.Kinds); diff != "" {
				t.Errorf("views (-want +got): %s", diff)
			}
		})
	}
}

func TestViewsThatAreNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		element string
		kind    diagram.Kind
		code    problem.Code
		field   string
	}{
		"no such view":          {"mill", "deployment", problem.Invalid, "view"},
		"no such element":       {"mill.door", "", problem.NotFound, "element"},
		"nothing is in it":      {"mill.gate", diagram.Components, problem.Invalid, "view"},
		"landscape of one":      {"mill", diagram.Landscape, problem.Invalid, "view"},
		"containers of nothing": {"", diagram.Containers, problem.Invalid, "element"},
	} {
		_, err := diagram.Of(mill(), c.element, c.kind)
		if pr, ok := problem.As(err); !ok || pr.Code != c.code || pr.Field != c.field || len(pr.Fixes) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// drawn is a view of the mill as SVG.
func drawn(t *testing.T, element string, kind diagram.Kind, o diagram.Options) string {
	t.Helper()
	v, err := diagram.Of(mill(), element, kind)
	if err != nil {
		t.Fatal(err)
	}
	s, err := diagram.SVG(v, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDrawingsAreAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, got := range map[string]string{
		"containers.svg": drawn(t, "mill", diagram.Containers, diagram.Options{}),
		"landscape.svg":  drawn(t, "", diagram.Landscape, diagram.Options{Address: func(n diagram.Node) string { return "/e/" + n.Key }}),
	} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
}

func TestWhoCannotSee(t *testing.T) {
	t.Parallel()
	alone := drawn(t, "mill", diagram.Containers, diagram.Options{})
	for _, part := range []string{`role="img"`, "<title id=\"diagram-title\">Containers of Mill</title>", "<desc ", "prefers-color-scheme: dark", "fresh · 1 in doubt · 2 pitfalls", "code missing", "not in the model", "not in the code"} {
		if !strings.Contains(alone, part) {
			t.Errorf("the file lacks %q", part)
		}
	}
	if strings.Contains(alone, "<a ") || strings.Contains(alone, "http") && strings.Count(alone, "http") != strings.Count(alone, `xmlns="http://www.w3.org/2000/svg"`) {
		t.Error("the file leads elsewhere")
	}
	page := drawn(t, "mill", diagram.Containers, diagram.Options{Address: func(n diagram.Node) string { return "/e/" + n.Key }})
	if !strings.Contains(page, `<a href="/e/mill.gate" aria-label="Gate [container] fresh · 1 in doubt · 2 pitfalls">`) {
		t.Error("the link to the gate says too little")
	}
	if strings.Contains(page, "style") || strings.Contains(page, `role="img"`) {
		t.Error("on a page a drawing has a style of its own, or hides its links")
	}
}

// wellFormed reads a drawing as XML and counts its elements.
func wellFormed(s string) (elements map[string]int, err error) {
	d := xml.NewDecoder(strings.NewReader(s))
	elements = map[string]int{}
	for {
		token, err := d.Token()
		if x, ok := token.(xml.StartElement); ok {
			elements[x.Name.Local]++
		}
		if errors.Is(err, io.EOF) {
			return elements, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Whatever an element is called, the drawing stays one drawing with the same elements.
func FuzzNames(f *testing.F) {
	for _, s := range []string{`"</svg><script>alert(1)</script>`, `{a|b}<f0>\n`, "]]>&amp;&#0;", "\u202egnp.exe", "a\x00b\ufffe", "<!--", strings.Repeat("W", 500), "漢字漢字漢字漢字漢字漢字漢字漢字", "'onload='x", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		in := diagram.Input{Elements: []c4model.Element{
			{Key: "a" + name, Name: name, Level: c4model.System, Description: name, Technology: name}, {Key: "b", Name: "B", Level: c4model.System}},
			Relationships: []c4model.Relationship{{Source: "a" + name, Destination: "b", Description: name, Technology: name}}}
		v, err := diagram.Of(in, "", diagram.Landscape)
		if err != nil {
			t.Fatal(err)
		}
		s, err := diagram.SVG(v, diagram.Options{Address: func(n diagram.Node) string { return "/" + n.Name }})
		if err != nil {
			t.Fatal(err)
		}
		elements, err := wellFormed(s)
		if err != nil {
			t.Fatalf("%v in %s", err, s)
		}
		if elements["svg"] != 1 || elements["a"] != 2 || elements["script"] != 0 || elements["rect"] > 4 || elements["path"] != 1 {
			t.Errorf("elements %v in %s", elements, s)
		}
	})
}

// Boxes never cover each other, edges begin and end at their boxes, and the same view gives the same drawing.
func TestAnyView(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "elements")
		in := diagram.Input{Elements: []c4model.Element{{Key: "s", Name: "S", Level: c4model.System}}}
		keys := []string{"s"}
		for i := range n {
			e := c4model.Element{Key: fmt.Sprintf("e%d", i), Name: rapid.StringN(1, 40, -1).Draw(t, "name"), Level: c4model.System}
			if rapid.Bool().Draw(t, "inside") {
				e.Parent, e.Level = "s", c4model.Container
			}
			in.Elements, keys = append(in.Elements, e), append(keys, e.Key)
		}
		for range rapid.IntRange(0, 120).Draw(t, "relations") {
			in.Relationships = append(in.Relationships, c4model.Relationship{
				Source: rapid.SampledFrom(keys).Draw(t, "from"), Destination: rapid.SampledFrom(keys).Draw(t, "to"), Description: rapid.SampledFrom([]string{"", "uses", strings.Repeat("asks for a lot of things ", 5)}).Draw(t, "for")})
		}
		for _, kind := range []diagram.Kind{diagram.Landscape, diagram.Context, ""} {
			element := "s"
			if kind == diagram.Landscape {
				element = ""
			}
			v, err := diagram.Of(in, element, kind)
			if err != nil {
				t.Fatal(err)
			}
			s, err := diagram.SVG(v, diagram.Options{})
			if err != nil {
				t.Fatal(err)
			}
			again, err := diagram.SVG(v, diagram.Options{})
			if err != nil || again != s {
				t.Fatal("a second drawing differs")
			}
			if _, err := wellFormed(s); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A large system is drawn, and one that is larger is told.
func TestLargeViews(t *testing.T) {
	t.Parallel()
	build := func(n int) diagram.View {
		in := diagram.Input{Elements: []c4model.Element{{Key: "s", Name: "S", Level: c4model.System}}}
		for i := range n {
			in.Elements = append(in.Elements, c4model.Element{Key: fmt.Sprintf("s.%d", i), Name: fmt.Sprintf("Part %d", i), Level: c4model.Container, Parent: "s"})
			for _, to := range []int{i * 7 % n, i * i % n, i / 2} {
				in.Relationships = append(in.Relationships, c4model.Relationship{Source: fmt.Sprintf("s.%d", i), Destination: fmt.Sprintf("s.%d", to), Description: "uses"})
			}
		}
		v, err := diagram.Of(in, "s", "")
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	s, err := diagram.SVG(build(diagram.MaxNodes), diagram.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if elements, err := wellFormed(s); err != nil || elements["path"] < diagram.MaxNodes {
		t.Errorf("%v, %v", elements, err)
	}
	_, err = diagram.SVG(build(diagram.MaxNodes+1), diagram.Options{})
	if pr, ok := problem.As(err); !ok || pr.Code != problem.Invalid || !strings.Contains(pr.Detail, "301 elements") {
		t.Errorf("one more: %v", err)
	}
}

func BenchmarkSVG(b *testing.B) {
	for _, n := range []int{10, 50, 150, 300} {
		in := diagram.Input{}
		for i := range n {
			in.Elements = append(in.Elements, c4model.Element{Key: fmt.Sprint(i), Name: fmt.Sprintf("Part %d", i), Level: c4model.System})
			for _, to := range []int{i * 7 % n, i * i % n} {
				in.Relationships = append(in.Relationships, c4model.Relationship{Source: fmt.Sprint(i), Destination: fmt.Sprint(to), Description: "uses"})
			}
		}
		v, err := diagram.Of(in, "", diagram.Landscape)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := diagram.SVG(v, diagram.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
