package drift_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// sketch is a model and a repository in the terms that the invariants speak of: containers of one component each.
type sketch struct {
	parts   []string      // every one an element bound to the folder of its name
	drawn   map[int][]int // relationships
	there   map[int]bool  // whether the folder has code
	imports map[int][]int
	loose   []string // folders that no element owns
	reverse bool     // declare elements and relationships the other way round
	blank   bool     // write the model with other blanks and comments
	title   string   // of every element
	aside   []string // files that are no source code
	unbound int      // this many elements, from the first, say no path
}

func drawSketch(t *rapid.T) sketch {
	n := rapid.IntRange(2, 4).Draw(t, "parts")
	s := sketch{drawn: map[int][]int{}, there: map[int]bool{}, imports: map[int][]int{}, title: "Part"}
	for i := range n {
		s.parts = append(s.parts, fmt.Sprintf("part%d", i))
		s.there[i] = i == 0 || rapid.IntRange(0, 3).Draw(t, "there") > 0
		for j := range n {
			if i != j && rapid.IntRange(0, 2).Draw(t, "drawn") == 0 {
				s.drawn[i] = append(s.drawn[i], j)
			}
			if i != j && rapid.IntRange(0, 2).Draw(t, "imports") == 0 {
				s.imports[i] = append(s.imports[i], j)
			}
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "loose") {
		s.loose = append(s.loose, fmt.Sprintf("loose%d", i))
	}
	return s
}

func (s sketch) model() string {
	var elements, relationships []string
	for i, p := range s.parts {
		path := ""
		if i >= s.unbound {
			path = fmt.Sprintf("properties {\npath %q\n}\n", p)
		}
		elements = append(elements, fmt.Sprintf("%s = component \"%s %d\" \"\" \"Go\" {\n%s}\n", p, s.title, i, path))
		for _, j := range s.drawn[i] {
			relationships = append(relationships, fmt.Sprintf("sys.box.%s -> sys.box.%s \"Calls\"\n", p, s.parts[j]))
		}
	}
	if s.reverse {
		slices.Reverse(elements)
		slices.Reverse(relationships)
	}
	text := "workspace {\n!identifiers hierarchical\nmodel {\nsys = softwareSystem \"S\" {\nbox = container \"B\" {\n" + strings.Join(elements, "") + "}\n}\n" + strings.Join(relationships, "") + "}\n}\n"
	if s.blank {
		text = "// a comment\n" + strings.ReplaceAll(text, "\n", "\n\n    ")
	}
	return text
}

func (s sketch) files() map[string]string {
	out := map[string]string{"go.mod": "module example.org/s\n", "model/workspace.dsl": s.model()}
	for i, p := range s.parts {
		if !s.there[i] {
			continue
		}
		text := "package " + p + "\n"
		for _, j := range s.imports[i] {
			if s.there[j] {
				text += fmt.Sprintf("import _ \"example.org/s/%s\"\n", s.parts[j])
			}
		}
		out[p+"/code.go"] = text
	}
	for _, l := range s.loose {
		out[l+"/code.go"] = "package " + l + "\n"
	}
	for _, a := range s.aside {
		out[a] = "aside\n"
	}
	return out
}

func (s sketch) evaluate(t testing.TB) *drift.Report {
	t.Helper()
	return evaluate(t, gittest.New(t).WriteAll(s.files()).Commit("all"), "")
}

func sum(r *drift.Report) string { return fmt.Sprintf("%d of %d, %v", r.Passed, r.Weight, briefly(r)) }

func briefly(r *drift.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Fingerprint)
	}
	return out
}

func TestScoreInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSketch(rt)
		r := s.evaluate(t)
		score := *r.Score
		if score < 0 || score > 100 || (score == 100) != (len(r.Findings) == 0) || (score == 0) != (r.Passed == 0) {
			rt.Fatalf("score %d with %s", score, sum(r))
		}
		switch rapid.IntRange(0, 3).Draw(rt, "what") {
		case 0: // the form of the model says nothing
			other := s
			other.reverse, other.blank, other.title = rapid.Bool().Draw(rt, "reverse"), true, "Renamed"
			if o := other.evaluate(t); sum(o) != sum(r) {
				rt.Fatalf("another form: %s, before %s", sum(o), sum(r))
			}
		case 1: // neither does what lies beside the code
			other := s
			other.aside = []string{"notes.md", "docs/a.go", "data/x.csv", "examples/e.go"}
			if o := other.evaluate(t); sum(o) != sum(r) {
				rt.Fatalf("more beside it: %s, before %s", sum(o), sum(r))
			}
		case 2: // what is restored, or cut off, raises the score or leaves it
			for i := range s.parts {
				if s.there[i] {
					continue
				}
				other := s
				other.there = map[int]bool{}
				maps.Copy(other.there, s.there)
				other.there[i] = true
				other.imports = map[int][]int{} // as drawn, so that nothing new is undocumented
				maps.Copy(other.imports, s.imports)
				other.imports[i] = s.drawn[i]
				if o := other.evaluate(t); o.Weight == r.Weight && *o.Score < score {
					rt.Fatalf("restoring %s lowered %s to %s", s.parts[i], sum(r), sum(o))
				}
			}
			if len(s.loose) > 0 {
				other := s
				other.loose = s.loose[1:]
				if o := other.evaluate(t); *o.Score < score {
					rt.Fatalf("removing loose code lowered %s to %s", sum(r), sum(o))
				}
			}
		default: // what is unbound leaves the score, and shows in the coverage
			other := s
			other.unbound = 1
			if o := other.evaluate(t); *o.Coverage >= *r.Coverage {
				rt.Fatalf("coverage %d after unbinding, %d before", *o.Coverage, *r.Coverage)
			}
		}
	})
}
