package bind_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/bind"
)

// element is "level key name" with an optional technology after a bar.
func model(lines ...string) *c4model.Model {
	m := &c4model.Model{Name: "Shop"}
	for _, line := range lines {
		line, technology, _ := strings.Cut(line, "|")
		parts := strings.SplitN(line, " ", 3)
		m.Elements = append(m.Elements, c4model.Element{Level: c4model.Level(parts[0]), Key: parts[1], Name: parts[2], Parent: c4model.ParentKey(parts[1]), Technology: technology})
	}
	return m
}

// input has files with texts, sorted.
func input(m *c4model.Model, texts map[string]string, files ...string) bind.Input {
	for name := range texts {
		files = append(files, name)
	}
	slices.Sort(files)
	return bind.Input{Model: m, Name: "shop", Files: files, Read: func(name string, _ int64) ([]byte, error) {
		if text, ok := texts[name]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("no text")
	}}
}

func suggest(tb testing.TB, in bind.Input) []bind.Suggestion {
	tb.Helper()
	out, err := bind.Suggest(context.Background(), in)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// proposals gives "key pattern" of what is proposed with at least some confidence.
func proposals(tb testing.TB, in bind.Input, least float64) []string {
	tb.Helper()
	out := []string{}
	for _, g := range suggest(tb, in) {
		if g.Confidence >= least {
			out = append(out, g.Element+" "+g.Pattern)
		}
	}
	return out
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	system := "system shop Shop"
	for name, test := range map[string]struct {
		in    bind.Input
		least float64
		want  []string
	}{
		"spelt with hyphens, capitals and in the plural": {
			input(model(system, "component shop.a OrderHistories", "component shop.b Payment Gateway", "component shop.c Till"), nil,
				"order-history/a.go", "paymentGateway/a.go", "internal/tills/a.go"),
			0.9, []string{"shop.a order-history/**", "shop.b paymentGateway/**", "shop.c internal/tills/**"},
		},
		"without the name of the project": {
			input(model(system, "container shop.a Shop Stock", "container shop.b Labels"), map[string]string{"stock/go.mod": "module example.org/shop/stock\n", "labels/package.json": `{"name": "@shop/shop-labels"}`},
				"stock/a.go", "labels/a.ts"),
			0.9, []string{"shop.a stock/**", "shop.b labels/**"},
		},
		"a kind at the end of the name is doubt": {
			input(model(system, "component shop.a Order Service"), nil, "order/a.go"), 0.5, []string{"shop.a order/**"},
		},
		"and below nine tenths": {
			input(model(system, "component shop.a Order Service"), nil, "order/a.go"), 0.9, []string{},
		},
		"two of the name": {
			input(model(system, "component shop.a Till"), nil, "front/till/a.go", "back/till/a.go"), 0.5, []string{},
		},
		"two, one of them inside the element around": {
			input(model(system, "container shop.front Front|Go", "component shop.front.a Till"), map[string]string{"front/go.mod": "module front\n"}, "front/till/a.go", "back/till/a.go"),
			0.9, []string{"shop.front front/**", "shop.front.a front/till/**"},
		},
		"the outer of two within each other": {
			input(model(system, "container shop.a Till"), map[string]string{"till/Cargo.toml": "[package]\nname = \"till\"\n"}, "till/src/till/a.rs"), 0.9, []string{"shop.a till/**"},
		},
		"a class": {
			input(model(system, "component shop.a OrderController"), nil, "web/order_controller.py", "web/test_order_controller.py", "web/other.py"),
			0.9, []string{"shop.a web/order_controller.py"},
		},
		"a file in a folder, together": {
			input(model(system, "component shop.a Token Handler"), nil, "pkg/handlers/token.go", "pkg/handlers/b.go"), 0.5, []string{"shop.a pkg/handlers/token.go"},
		},
		"a container is no file": {
			input(model(system, "container shop.a OrderController"), nil, "web/order_controller.py"), 0.5, []string{},
		},
		"a file beside its folder": {
			input(model(system, "component shop.a Tills"), nil, "lib/tills.ex", "lib/tills/drawer.ex"), 0.9, []string{"shop.a lib/tills{.ex,/**}"},
		},
		"a header and its source": {
			input(model(system, "component shop.a Drawer"), nil, "src/drawer.cpp", "src/drawer.h"), 0.5, []string{"shop.a src/drawer.*"},
		},
		"names that look like globs": {
			input(model(system, "component shop.a Drawer"), nil, "src/[id]/drawer/a.ts"), 0.5, []string{"shop.a src/?id?/drawer/**"},
		},
		"another language": {
			input(model(system, "component shop.a Till|Java"), nil, "till/a.go"), 0.5, []string{},
		},
		"a product": {
			input(model(system, "container shop.stock Stock|PostgreSQL"), nil, "stock/a.go"), 0.5, []string{},
		},
		"other people's code and test data": {
			input(model(system, "component shop.a Till", "component shop.b Drawer"), nil, "vendor/till/a.go", "testdata/drawer/a.go"), 0.5, []string{},
		},
		"a service of a compose file": {
			input(model(system, "container shop.a Cash desk"), map[string]string{"deploy/compose.yaml": "services:\n  cash-desk:\n    build:\n      context: ../src/desk\n  other:\n    image: x\n"}, "src/desk/a.go"),
			0.5, []string{"shop.a src/desk/**"},
		},
		"the title of a readme": {
			input(model(system, "component shop.a Cash desk"), map[string]string{"src/desk/README.md": "[![x](y)](z)\n# The `Cash` desk\n", "src/pos/README.md": "# Cash **desk** :tada:\n"}, "src/desk/a.go", "src/pos/a.go"),
			0.5, []string{"shop.a src/pos/**"},
		},
		"a project file of .NET": {
			input(model(system, "container shop.a Desk|C#"), map[string]string{"src/Acme.Shop.Desk/Acme.Shop.Desk.csproj": ""}, "src/Acme.Shop.Desk/Program.cs", "src/Acme.Shop.Stock/Program.cs"),
			0.5, []string{"shop.a src/Acme.Shop.Desk/**"},
		},
		"a folder that two want": {
			input(model(system, "component shop.a Till", "component shop.b Till"), nil, "till/a.go"), 0.5, []string{},
		},
		"the outer element gets it": {
			input(model(system, "component shop.till Till", "code shop.till.till Till"), nil, "till/a.go"), 0.5, []string{"shop.till till/**"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, proposals(t, test.in, test.least)); diff != "" {
				t.Errorf("-want +got\n%s\n%+v", diff, suggest(t, test.in))
			}
		})
	}
}

// What is bound, has no code or is out of scope gets no proposal, and nobody else gets its folder.
func TestSuggestLeavesAlone(t *testing.T) {
	t.Parallel()
	m := model("system shop Shop", "component shop.a Till", "component shop.b Stock", "component shop.c Drawer", "component shop.d Till")
	m.Elements[3].Tags = []string{"External"}
	in := input(m, nil, "till/a.go", "stock/a.go", "drawer/a.go")
	in.Bindings = []c4model.Binding{{Element: "shop.a", Pattern: "/till"}}
	in.None = map[string]string{"shop.b": "bought"}
	if got := proposals(t, in, 0); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// Patterns are relative to the folder of the project, the sample is not.
func TestSuggestInNestedProject(t *testing.T) {
	t.Parallel()
	in := input(model("system shop Shop", "component shop.a Till"), nil, "services/shop/till/a.go", "services/shop/b.go")
	in.Root = "services/shop"
	got := suggest(t, in)
	if len(got) != 1 || got[0].Pattern != "till/**" || got[0].Files != 1 || !slices.Equal(got[0].Sample, []string{"services/shop/till/a.go"}) {
		t.Errorf("got %+v", got)
	}
}

// The same input gives the same, each pattern covers a file and can be written in stele.yaml, none is proposed twice.
func TestSuggestHolds(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"order", "Orders", "till", "api", "web", "core", "stock", "[id]", "a b", "*", "index", "service"})
	rapid.Check(t, func(t *rapid.T) {
		m := model("system shop Shop", "container shop.x "+word.Draw(t, "container"))
		for n := range rapid.IntRange(1, 5).Draw(t, "elements") {
			parent := rapid.SampledFrom([]string{"shop", "shop.x"}).Draw(t, "parent")
			m.Elements = append(m.Elements, c4model.Element{
				Level: c4model.Component, Key: fmt.Sprintf("%s.%d", parent, n), Parent: parent, Name: word.Draw(t, "name") + rapid.SampledFrom([]string{"", " service", "-till"}).Draw(t, "end"),
			})
		}
		files := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(word, 1, 4).Draw(t, "folders"), "/") + rapid.SampledFrom([]string{".go", ".ts", "/a.py", ".md"}).Draw(t, "end")
		}), 1, 20, rapid.ID).Draw(t, "files")
		in := input(m, nil, files...)
		got, err := bind.Suggest(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		again, err := bind.Suggest(context.Background(), in)
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Fatalf("not the same again: %v %s", err, diff)
		}
		patterns := map[string]bool{}
		for _, g := range got {
			normal, err := c4model.NormalizePattern(g.Pattern)
			if err != nil || normal != g.Pattern {
				t.Errorf("%q is %q, %v", g.Pattern, normal, err)
			}
			if patterns[g.Pattern] || g.Files == 0 || len(g.Sample) == 0 || len(g.Reasons) == 0 || g.Confidence < 0.5 || g.Confidence >= 1 {
				t.Errorf("got %+v among %+v", g, got)
			}
			patterns[g.Pattern] = true
		}
	})
}

func TestSuggestStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bind.Suggest(ctx, input(model("system shop Shop"), nil, "a/b.go")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
