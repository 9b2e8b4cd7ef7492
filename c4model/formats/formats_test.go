package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/formats"
	"github.com/stele-dev/stele/internal/problem"
)

const (
	workspaceDSL  = "// a comment first\nworkspace \"Inn\" {\nmodel {\ninn = softwareSystem Inn\n}\n}\n"
	workspaceJSON = `{"name": "Inn", "model": {"softwareSystems": [{"id": "1", "name": "Inn", "properties": {"structurizr.dsl.identifier": "inn"}}]}}`
	fragment      = "guest = person Guest\n"
	likeC4        = "specification {\n  element system\n}\nmodel {\n  inn = system 'Inn'\n}\n"
	plantUML      = "@startuml\n!include C4_Container.puml\nSystem(inn, \"Inn\")\n@enduml\n"
	mermaid       = "C4Context\n  System(inn, \"Inn\")\n"
)

// tree writes files into a new folder and gives it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		path  string // inside the folder
		want  string // file and format
		code  problem.Code
		says  []string
	}{
		{"a DSL file", map[string]string{"a/w.dsl": workspaceDSL}, "a/w.dsl", "w.dsl, Structurizr DSL", "", nil},
		{"a JSON file of any name", map[string]string{"export.json": workspaceJSON}, "export.json", "export.json, Structurizr workspace JSON", "", nil},
		{"no extension", map[string]string{"model": workspaceDSL}, "model", "model, Structurizr DSL", "", nil},
		{"the one of a repository", map[string]string{".git/HEAD": "", "docs/architecture/workspace.dsl": workspaceDSL, "docs/architecture/parts/people.dsl": fragment, "package.json": `{"model": "x"}`}, "", "docs/architecture/workspace.dsl, Structurizr DSL", "", nil},
		{"a folder of a repository", map[string]string{".git/HEAD": "", "docs/workspace.dsl": workspaceDSL, "other/workspace.dsl": workspaceDSL}, "docs", "docs/workspace.dsl, Structurizr DSL", "", nil},
		{"beside its export", map[string]string{"workspace.dsl": workspaceDSL, "workspace.json": workspaceJSON}, "", "workspace.dsl, Structurizr DSL", "", nil},
		{"below, beside its export", map[string]string{"c4/inn.dsl": workspaceDSL, "c4/inn.json": workspaceJSON, "c4/workspace.dsl": workspaceDSL, "c4/workspace.json": workspaceJSON}, "", "", problem.Ambiguous, []string{"holds 2 models: c4/inn.dsl, c4/workspace.dsl"}},
		{"an export alone", map[string]string{"c4/workspace.json": workspaceJSON}, "", "c4/workspace.json, Structurizr workspace JSON", "", nil},
		{"with examples below", map[string]string{"workspace.dsl": workspaceDSL, "examples/one.dsl": workspaceDSL}, "", "workspace.dsl, Structurizr DSL", "", nil},
		{"dependencies do not count", map[string]string{"c4/w.dsl": workspaceDSL, "node_modules/x/workspace.dsl": workspaceDSL, "testdata/w.dsl": workspaceDSL, ".cache/w.dsl": workspaceDSL, "a/b/c/d/e/f/w.dsl": workspaceDSL}, "", "c4/w.dsl, Structurizr DSL", "", nil},
		{"beside another format", map[string]string{"w.dsl": workspaceDSL, "m.c4": likeC4}, "", "w.dsl, Structurizr DSL", "", nil},
		{"several", map[string]string{"one.dsl": workspaceDSL, "b/two.dsl": workspaceDSL}, "", "", problem.Ambiguous, []string{"holds 2 models: b/two.dsl, one.dsl", "name one of them"}},
		{"none", map[string]string{"README.md": "# Inn\n", "x.dsl": "job('build') {\n}\n"}, "", "", problem.NotFound, []string{"holds no architecture model", "workspace.dsl"}},
		{"nothing there", nil, "gone", "", problem.NotFound, []string{"there is no file or folder"}},
		{"LikeC4 folder", map[string]string{"m/model.c4": likeC4}, "", "", problem.Invalid, []string{"no model that is readable yet: m/model.c4 (LikeC4)"}},
		{"LikeC4 file", map[string]string{"model.likec4": likeC4}, "model.likec4", "", problem.Invalid, []string{"is a LikeC4 model, which is not yet readable"}},
		{"PlantUML file", map[string]string{"m.puml": plantUML}, "m.puml", "", problem.Invalid, []string{"is a C4-PlantUML model, which is not yet readable"}},
		{"Mermaid file", map[string]string{"m.mmd": mermaid}, "m.mmd", "", problem.Invalid, []string{"is a Mermaid C4 model, which is not yet readable"}},
		{"something else", map[string]string{"notes.txt": "notes\n"}, "notes.txt", "", problem.Invalid, []string{"is no architecture model that Stele knows"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source, err := formats.Find(t.Context(), filepath.Join(tree(t, test.files), filepath.FromSlash(test.path)))
			if test.want != "" {
				if got := source.File + ", " + source.Format; err != nil || got != test.want {
					t.Fatalf("%s, %v; want %s", got, err, test.want)
				}
				return
			}
			if !problem.Is(err, test.code) {
				t.Fatalf("%+v, %v; want %s", source, err, test.code)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

// TestReadReachesTheRepository checks that a model may include what lies elsewhere in its repository, and nothing else.
func TestReadReachesTheRepository(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"outside.dsl":              "secret = person Secret\n",
		"repo/.git/HEAD":           "",
		"repo/docs/c4/w.dsl":       "workspace {\nmodel {\n!include ../../shop/part.dsl\n!include ../../../outside.dsl\n}\n}\n",
		"repo/shop/part.dsl":       fragment,
		"loose/docs/c4/w.dsl":      "workspace {\nmodel {\n!include ../../shop/part.dsl\n}\n}\n",
		"loose/shop/part.dsl":      fragment,
		"repo/docs/c4/export.json": workspaceJSON,
	})
	m, err := formats.Read(t.Context(), filepath.Join(dir, "repo", "docs", "c4", "w.dsl"))
	if err != nil {
		t.Fatal(err)
	}
	want := []c4model.Element{{Key: "guest", Name: "Guest", Level: c4model.Person, Source: c4model.Position{File: "shop/part.dsl", Line: 1}}}
	if diff := cmp.Diff(want, m.Elements); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(m.Warnings) != 1 || m.Warnings[0].File != "docs/c4/w.dsl" || m.Warnings[0].Line != 4 || !m.Warnings[0].NotIncluded {
		t.Errorf("warnings: %v", m.Warnings)
	}
	m, err = formats.Read(t.Context(), filepath.Join(dir, "loose", "docs", "c4"))
	if err != nil || len(m.Elements) != 0 || len(m.Warnings) == 0 || !m.Warnings[0].NotIncluded {
		t.Errorf("outside a repository a model keeps to its own folder: %v, %v", m, err)
	}
	m, err = formats.Read(t.Context(), filepath.Join(dir, "repo", "docs", "c4", "export.json"))
	if err != nil || len(m.Elements) != 1 || m.Elements[0].Key != "inn" {
		t.Errorf("JSON: %v, %v", m, err)
	}
}
