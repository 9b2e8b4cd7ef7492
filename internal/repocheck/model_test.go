package repocheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/structurizr"
)

const modelFile = "docs/architecture/workspace.dsl"

// bindings gives the pattern of every element that says where it lives.
func bindings(m *c4model.Model) map[string]string {
	out := map[string]string{}
	for _, e := range m.Elements {
		if pattern := e.Properties["path"]; pattern != "" {
			out[e.Key] = pattern
		}
	}
	return out
}

// bindingFaults complains about elements in scope without a path, and about paths that no file has.
func bindingFaults(m *c4model.Model, files []string) (complaints []string) {
	bound := bindings(m)
	for _, e := range m.Elements {
		pattern, ok := bound[e.Key]
		switch {
		case !e.InScope():
		case !ok:
			complaints = append(complaints, e.Key+" has no property path")
		case !slices.ContainsFunc(files, func(file string) bool { return c4model.Matches(pattern, file) }):
			complaints = append(complaints, fmt.Sprintf("%s is bound to %s, where no file is", e.Key, pattern))
		}
	}
	return complaints
}

// relationshipFaults compares the model with imports: folder of a package → folders of the packages it imports. A
// relationship that names a technology is over a wire or by hand, and no import shows it.
func relationshipFaults(m *c4model.Model, imports map[string][]string) (complaints []string) {
	bound := bindings(m)
	keys := slices.Sorted(maps.Keys(bound))
	patterns := make([]string, len(keys))
	for i, key := range keys {
		patterns[i] = bound[key]
	}
	owner := func(folder string) string {
		switch owners := c4model.Owners(patterns, folder+"/x.go"); len(owners) {
		case 0:
			return ""
		case 1:
			return keys[owners[0]]
		default:
			return keys[owners[0]] + " and others"
		}
	}
	actual := map[[2]string]string{}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		from := owner(folder)
		if from == "" {
			complaints = append(complaints, folder+" belongs to no element")
		}
		for _, imported := range imports[folder] {
			if to := owner(imported); from != "" && to != "" && from != to {
				actual[[2]string{from, to}] = folder + " imports " + imported
			}
		}
	}
	documented := map[[2]string]bool{}
	for _, r := range m.Relationships {
		edge := [2]string{r.Source, r.Destination}
		documented[edge] = true
		if bound[r.Source] != "" && bound[r.Destination] != "" && r.Technology == "" && actual[edge] == "" {
			complaints = append(complaints, fmt.Sprintf("%s%s -> %s is documented and no import shows it", r.Position, r.Source, r.Destination))
		}
	}
	for edge, why := range actual {
		if !documented[edge] {
			complaints = append(complaints, fmt.Sprintf("%s -> %s is not documented: %s", edge[0], edge[1], why))
		}
	}
	slices.Sort(complaints)
	return complaints
}

// imports asks the go command for the packages of the module and what each imports of it, tests aside.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Module,Imports", "./...")
	cmd.Dir = top
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := map[string][]string{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string `json:"ImportPath"`
			Module     struct {
				Path string `json:"Path"`
			} `json:"Module"`
			Imports []string `json:"Imports"`
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimPrefix(p.ImportPath, p.Module.Path+"/")
		found[folder] = []string{}
		for _, i := range p.Imports {
			if inside, ok := strings.CutPrefix(i, p.Module.Path+"/"); ok {
				found[folder] = append(found[folder], inside)
			}
		}
	}
}

func readModel(t *testing.T, root *c4model.Root, name string) *c4model.Model {
	t.Helper()
	m, err := structurizr.ReadDSL(t.Context(), root, name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestModelSaysWhatTheImportsSay(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	root := c4model.NewRoot(tree)
	m := readModel(t, root, modelFile)
	for _, w := range m.Warnings {
		t.Errorf("%s: %s", modelFile, w)
	}
	report(t, bindingFaults(m, files), nil)
	report(t, relationshipFaults(m, imports(t)), nil)
	if records := len(under(files, "docs/adr", "*.md")); len(m.Decisions) != records {
		t.Errorf("the model names %d decisions, docs/adr holds %d", len(m.Decisions), records)
	}
}

func TestModelChecksFindFaults(t *testing.T) {
	t.Parallel()
	m := &c4model.Model{
		Elements: []c4model.Element{
			{Key: "user", Name: "User", Level: c4model.Person},
			{Key: "s", Name: "S", Level: c4model.System},
			{Key: "s.a", Name: "A", Level: c4model.Container, Parent: "s", Properties: map[string]string{"path": "/a"}},
			{Key: "s.b", Name: "B", Level: c4model.Container, Parent: "s", Properties: map[string]string{"path": "/b"}},
			{Key: "s.c", Name: "C", Level: c4model.Container, Parent: "s", Properties: map[string]string{"path": "/c"}},
		},
		Relationships: []c4model.Relationship{
			{Source: "user", Destination: "s.a"},
			{Source: "s.a", Destination: "s.b"},
			{Source: "s.a", Destination: "s.c"},
			{Source: "s.b", Destination: "s.c", Technology: "HTTP"},
		},
	}
	expect(t, bindingFaults(m, []string{"a/a.go", "x/b/b.go", "c/deep/c.go"}), nil, "s has no property path", "s.b is bound to /b, where no file is")
	expect(t, relationshipFaults(m, map[string][]string{"a": {"b", "a/in"}, "a/in": {}, "b": {"a"}, "d": {}}), nil,
		"d belongs to no element", "s.a -> s.c is documented", "s.b -> s.a is not documented: b imports a")
	expect(t, relationshipFaults(m, map[string][]string{"a": {"b", "c"}, "b": {}, "c": {}}), nil)
}
