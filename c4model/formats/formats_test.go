package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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
		{"a folder of LikeC4", map[string]string{"m/spec/a.c4": likeC4, "m/model/deep/b.likec4": "model {\n}\n", "m/views.c4": "views {\n}\n"}, "", "m, LikeC4", "", nil},
		{"a folder of LikeC4 in one folder", map[string]string{".git/HEAD": "", "docs/m/a.c4": likeC4, "docs/m/b.c4": likeC4}, "docs", "docs/m, LikeC4", "", nil},
		{"a file of LikeC4", map[string]string{"model.likec4": likeC4}, "model.likec4", "model.likec4, LikeC4", "", nil},
		{"projects of LikeC4", map[string]string{"a/likec4.config.json": "{}", "a/x/m.c4": likeC4, "b/.likec4rc": "{}", "b/m.c4": likeC4}, "", "", problem.Ambiguous, []string{"holds 2 models: a, b"}},
		{"a project of LikeC4 around another", map[string]string{"likec4.config.json": "{}", "m.c4": likeC4, "b/.likec4rc": "{}", "b/m.c4": likeC4}, "", "., LikeC4", "", nil},
		{"a folder inside a project of LikeC4", map[string]string{".git/HEAD": "", "a/likec4.config.ts": "", "a/x/m.c4": likeC4}, "a/x", "a, LikeC4", "", nil},
		{"a folder of diagrams", map[string]string{"docs/c4/context.puml": plantUML, "docs/c4/parts/api.puml": plantUML, "docs/flow.puml": "@startuml\na -> b\n@enduml\n"}, "", "docs/c4, C4-PlantUML", "", nil},
		{"two folders of diagrams", map[string]string{"a/x.puml": plantUML, "b/x.puml": plantUML}, "", "", problem.Ambiguous, []string{"holds 2 models: a, b"}},
		{"diagrams exported from a workspace", map[string]string{"w.dsl": workspaceDSL, "out/structurizr-1.puml": plantUML, "out/one.mmd": mermaid}, "", "w.dsl, Structurizr DSL", "", nil},
		{"diagrams beside LikeC4", map[string]string{"c4/m.c4": likeC4, "out/1.puml": plantUML}, "", "c4, LikeC4", "", nil},
		{"a diagram", map[string]string{"m.puml": plantUML}, "m.puml", "m.puml, C4-PlantUML", "", nil},
		{"a diagram of another extension", map[string]string{"m.txt": plantUML}, "m.txt", "m.txt, C4-PlantUML", "", nil},
		{"a diagram of Mermaid", map[string]string{"m.mmd": mermaid}, "m.mmd", "m.mmd, Mermaid C4", "", nil},
		{"a folder of Mermaid", map[string]string{"docs/a.mmd": mermaid, "docs/b.mmd": "flowchart TD\n"}, "", "docs, Mermaid C4", "", nil},
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

// TestReadEachFormat checks that what is found is read by the reader of its format, from a file and from a folder.
func TestReadEachFormat(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".git/HEAD": "", "dsl/w.dsl": workspaceDSL, "json/workspace.json": workspaceJSON,
		"likec4/a/spec.c4": "specification {\n  element system\n}\n", "likec4/b/model.c4": "model {\n  inn = system 'Inn'\n}\n",
		"files/spec.c4": "specification {\n  element system\n}\n", "files/b/model.c4": "model {\n  inn = system 'Inn'\n}\n",
		"puml/a.puml": plantUML, "puml/b/b.puml": "@startuml\n!include C4_Context.puml\nSystem_Boundary(inn, \"Inn\") {\n}\n@enduml\n", "mmd/a.mmd": mermaid,
	})
	for _, name := range []string{"dsl", "dsl/w.dsl", "json", "json/workspace.json", "likec4", "files", "files/b/model.c4", "puml", "puml/a.puml", "mmd", "mmd/a.mmd"} {
		m, err := formats.Read(t.Context(), filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(m.Elements) != 1 || m.Elements[0].Key != "inn" || m.Elements[0].Name != "Inn" || m.Elements[0].Level != c4model.System {
			t.Errorf("%s: %v", name, m.Elements)
		}
	}
}

// TestReadInFindsTheModelOfAFolder checks that an upload needs no name of a file.
func TestReadInFindsTheModelOfAFolder(t *testing.T) {
	t.Parallel()
	root := c4model.NewRoot(fstest.MapFS{"docs/m.c4": {Data: []byte(likeC4)}, "vendor/x/w.dsl": {Data: []byte(workspaceDSL)}})
	m, err := formats.ReadIn(t.Context(), root, ".")
	if err != nil || len(m.Elements) != 1 || m.Elements[0].Source.File != "docs/m.c4" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := formats.ReadIn(t.Context(), root, "gone.c4"); !problem.Is(err, problem.Invalid) {
		t.Errorf("a file that is not there: %v", err)
	}
}
