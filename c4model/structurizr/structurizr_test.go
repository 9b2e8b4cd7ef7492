package structurizr_test

import (
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/structurizr"
	"github.com/stele-dev/stele/internal/problem"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// read reads one of the project's own models by its extension.
func read(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error) {
	if strings.HasSuffix(name, ".json") {
		return structurizr.ReadJSON(ctx, root, name)
	}
	return structurizr.ReadDSL(ctx, root, name)
}

// TestGolden reads every model of testdata/models, which together hold every fact about the formats, and compares all
// that a Model says with what a person checked.
func TestGolden(t *testing.T) {
	t.Parallel()
	root, err := c4model.OpenRoot("testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	names, err := fs.Glob(os.DirFS("testdata/models"), "*.*")
	if err != nil || len(names) < 8 {
		t.Fatalf("models: %v, %v", names, err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := read(t.Context(), root, name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(m, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "golden", name+".json")
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// dsl reads one file given as text.
func dsl(t *testing.T, text string) (*c4model.Model, error) {
	t.Helper()
	return structurizr.ReadDSL(t.Context(), c4model.NewRoot(fstest.MapFS{"w.dsl": {Data: []byte(text)}}), "w.dsl")
}

// inModel wraps lines into a workspace; the first line has number 3.
func inModel(lines ...string) string {
	return "workspace {\nmodel {\n" + strings.Join(lines, "\n") + "\n}\n}\n"
}

func keys(m *c4model.Model) []string {
	var keys []string
	for _, e := range m.Elements {
		keys = append(keys, e.Key)
	}
	return keys
}

// TestRefusals checks that whatever cannot be read is named with its place, what was found and what was expected.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string // parts of the message
	}{
		{"empty", "", []string{"w.dsl:1: found no workspace"}},
		{"words before", "hello world\nworkspace {\n}\n", []string{"w.dsl:1: found \"hello world\"", "expected workspace"}},
		{"words after", "workspace {\n}\nhello\n", []string{"w.dsl:3: found \"hello\"", "expected workspace"}},
		{"two workspaces", "workspace {\n}\nworkspace {\n}\n", []string{"w.dsl:3: found a second workspace"}},
		{"two models", "workspace {\nmodel {\n}\nmodel {\n}\n}\n", []string{"w.dsl:4: found a second model block"}},
		{"two views", "workspace {\nviews {\n}\nviews {\n}\n}\n", []string{"w.dsl:4: found a second views block"}},
		{"no brace", "workspace\n", []string{"w.dsl:1:", "expected workspace [name] [description] {"}},
		{"element in workspace", "workspace {\nperson \"A\"\n}\n", []string{"w.dsl:2: found \"person A\" inside workspace; expected name"}},
		{"unclosed", "workspace {\n  model {\n    a = person A {\n", []string{"w.dsl:3: found the end of the file inside \"person A\"", "expected }"}},
		{"unclosed comment", "workspace {\n/* never\nending\n", []string{"w.dsl:2: found the end of the file inside a comment; expected */"}},
		{"unclosed text block", inModel(`person A """`), []string{"w.dsl:3: found the end of the file inside a text block"}},
		{"unclosed quote takes the brace", inModel(`a = softwareSystem "A {`, `}`), []string{"w.dsl:3: found \"A {\" without its closing quote"}},
		{"one brace too many", inModel("}", "}", "}"), []string{"w.dsl:5: found \"}\""}},
		{"brace on its own line", inModel("softwareSystem A", "{"), []string{"w.dsl:4: found a { alone", "end of the line before"}},
		{"closing and opening", inModel("softwareSystem A {", "} softwareSystem B {", "}"), []string{"w.dsl:4: found } and {"}},
		{"component in system", inModel("softwareSystem A {", "component B", "}"), []string{"w.dsl:4: found \"component B\" inside \"softwareSystem A\"; expected container, group"}},
		{"container in model", inModel("container A"), []string{"w.dsl:3: found \"container A\" inside \"model\"; expected person, softwareSystem"}},
		{"no name", inModel("person"), []string{"w.dsl:3: found \"person\"; expected person <name> [description] [tags]"}},
		{"empty name", inModel(`person ""`), []string{"w.dsl:3:", "give the element a name"}},
		{"too many arguments", inModel("softwareSystem A some words too many"), []string{"w.dsl:3:", "expected softwareSystem <name> [description] [tags]", "quotes"}},
		{"bad identifier", inModel("a.b = person A"), []string{"w.dsl:3: found the identifier \"a.b\"; expected at most 128 letters"}},
		{"long identifier", inModel(strings.Repeat("a", 129) + " = person A"), []string{"w.dsl:3: found the identifier"}},
		{"nothing assigned", inModel("a ="), []string{"w.dsl:3: found nothing after a ="}},
		{"identifier twice", inModel("a = person A", "a = person B"), []string{"w.dsl:4: found the identifier", "first use: w.dsl:3"}},
		{"identifier twice in another case", inModel("aB = person A", "Ab = softwareSystem B"), []string{"w.dsl:4: found the identifier", "first use: w.dsl:3"}},
		{"unknown destination", inModel("a = person A", "a -> b"), []string{"w.dsl:4: found the unknown identifier \"b\"; expected the identifier of something declared above"}},
		{"used before declared", inModel("a = person A {", "-> b", "}", "b = person B"), []string{"w.dsl:4: found the unknown identifier \"b\""}},
		{"near identifier", "workspace {\n!identifiers hierarchical\nmodel {\na = softwareSystem A {\nweb = container W\n}\nu = person U\nu -> web\n}\n}", []string{"w.dsl:8:", "did you mean a.web?"}},
		{"arrow without destination", inModel("a = person A", "a ->"), []string{"w.dsl:4:"}},
		{"arrow with too much", inModel("a = person A", "a -> a b c d e"), []string{"w.dsl:4:", "expected [source] -> <destination>"}},
		{"implicit source in model", inModel("a = person A", "-> a"), []string{"w.dsl:4: found \"-> a\" inside \"model\""}},
		{"this in model", inModel("a = person A", "a -> this"), []string{"w.dsl:4: found the unknown identifier \"this\""}},
		{"relationship with a group", inModel("g = group G {", "}", "a = person A", "a -> g"), []string{"w.dsl:6: found \"g\", which is a group"}},
		{"group without brace", inModel("group G"), []string{"w.dsl:3: found \"group G\"; expected group <name> {"}},
		{"url of a group", inModel("softwareSystem A {", "group G {", "url https://example.org", "}", "}"), []string{"w.dsl:5: found \"url https://example.org\" inside \"group G\""}},
		{"technology of a person", inModel("person A {", "technology Go", "}"), []string{"w.dsl:4: found \"technology Go\""}},
		{"property without value", inModel("person A {", "properties {", "lonely", "}", "}"), []string{"w.dsl:5: found \"lonely\"; expected <name> <value>"}},
		{"description in words", inModel("person A {", "description two words", "}"), []string{"w.dsl:4:", "expected description <text>"}},
		{"curly quotes", inModel("softwareSystem “A B” C D"), []string{"w.dsl:3:"}},
		{"constant without value", "!const A\nworkspace {\n}\n", []string{"w.dsl:1: found \"!const A\"; expected !const <name> <value>"}},
		{"identifier scope", "workspace {\n!identifiers deep\n}\n", []string{"w.dsl:2:", "expected !identifiers flat or !identifiers hierarchical"}},
		{"unknown archetype", inModel("a = person A", "a --fast-> a"), []string{"w.dsl:4: found the unknown archetype \"--fast->\""}},
		{"archetype of nothing", inModel("archetypes {", "a = gadget", "}"), []string{"w.dsl:4: found \"gadget\""}},
		{"reopen nothing", inModel("!element nobody {", "}"), []string{"w.dsl:3: found the unknown identifier \"nobody\""}},
		{"reopen a group", inModel("g = group G {", "}", "!element g {", "}"), []string{"w.dsl:5: found the group \"g\""}},
		{"missing include", inModel("!include gone.dsl"), []string{"w.dsl:3: found no file gone.dsl"}},
		{"include itself", inModel("!include w.dsl"), []string{"w.dsl:3: found a circle of files, w.dsl → w.dsl"}},
		{"missing parent workspace", "!const A gone.dsl\nworkspace extends ${A} {\n}\n", []string{"w.dsl:2: found no file \"gone.dsl\""}},
		{"missing parent export", "workspace extends gone.json {\n}\n", []string{"w.dsl:1: found no file \"gone.json\""}},
		{"extend itself", "workspace extends w.dsl {\n}\n", []string{"w.dsl:1: found a circle of files"}},
		{"bytes that are no text", "workspace {\n\x00\n}\n", []string{"w.dsl:2: found a zero byte"}},
		{"another encoding", "workspace {\nmodel {\nperson \"Caf\xe9\"\n}\n}\n", []string{"w.dsl:3: found the byte 0xE9, which is not UTF-8"}},
		{"sixteen bits", "\xff\xfew\x00", []string{"w.dsl:1: found UTF-16 text"}},
		{"missing parent after a warning", inModel("!include https://example.org/a.dsl", "!element a {", "}"), []string{"w.dsl:4:", "it may be in what was not included: w.dsl:3:"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := dsl(t, test.text)
			if err == nil {
				t.Fatalf("read as %v", keys(m))
			}
			if m != nil {
				t.Error("a half-read model was returned with the error")
			}
			if !problem.Is(err, problem.Invalid) {
				t.Errorf("not a problem of code invalid: %v", err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

// TestReadings checks single facts for which a table says more than a golden file.
func TestReadings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string // keys
		links      []string // source -> destination
	}{
		{"keys are full paths with flat identifiers", inModel("a = softwareSystem A {", "b = container B {", "c = component C", "}", "}", "a -> c"), []string{"a", "a.b", "a.b.c"}, nil},
		{"keys are kept as written", inModel("bigBank = softwareSystem A {", "apiServer = container B", "}", "BIGBANK -> BigBank"), []string{"bigBank", "bigBank.apiServer"}, []string{"bigBank -> bigBank"}},
		{"siblings without identifier", inModel("softwareSystem A {", "container \"Web App\"", "container \"web  app\"", "container \"web app 2\"", "container \"Web-App\"", "}"),
			[]string{"~a", "~a.~web-app", "~a.~web-app-2", "~a.~web-app-2-2", "~a.~web-app-3"}, nil},
		{"names without letters", inModel("softwareSystem A {", "container \"...\"", "container \"!!\"", "}"), []string{"~a", "~a.~unnamed", "~a.~unnamed-2"}, nil},
		{"other scripts", inModel("person \"你好 Usér 🙂\""), []string{"~你好-usér"}, nil},
		{"keywords without case", inModel("PERSON A", "SoftWareSystem B"), []string{"~a", "~b"}, nil},
		{"children of unnamed parents, directly and from inside", "workspace {\n!identifiers hierarchical\nmodel {\nsoftwareSystem A {\nb = container B {\n}\nc = container C {\n-> b\n}\n}\nb -> c\n}\n}",
			[]string{"~a", "~a.b", "~a.c"}, []string{"~a.c -> ~a.b", "~a.b -> ~a.c"}},
		{"stated twice counts once", inModel("a = person A", "b = person B", "a -> b Uses", "a -> b Uses", "a -> b Uses Go"), []string{"a", "b"}, []string{"a -> b", "a -> b"}},
		{"implied ones do not count as stated", inModel("a = softwareSystem A", "b = softwareSystem B {", "c = container C", "}", "c -> a", "b -> a"), []string{"a", "b", "b.c"}, []string{"b.c -> a", "b -> a"}},
		{"no relationship with what it contains", inModel("a = softwareSystem A {", "b = container B", "}", "a -> b", "b -> a"), []string{"a", "a.b"}, []string{}},
		{"a comment mark inside a line is text", inModel("person A // note"), []string{"~a"}, nil},
		{"continuation", inModel(`a = \`, `   person \`, `   "Long \`, `   name"`), []string{"a"}, nil},
		{"a comment does not continue", inModel(`// note \`, `person A`, `# note \`, `person B`), []string{"~a", "~b"}, nil},
		{"quoted braces are text", inModel(`person "{"`, `person A "}" "{"`), []string{"~unnamed", "~a"}, nil},
		{"identifiers with other letters first", inModel("_a-1 = person A", "9b = person B", "_a-1 -> 9B"), []string{"_a-1", "9b"}, []string{"_a-1 -> 9b"}},
		{"deployment identifiers do not shadow", inModel("deploymentEnvironment E {", "a = deploymentNode N", "}", "a = person A"), []string{"a"}, nil},
		{"workspace in an included file", "!include w2.dsl\n", nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := c4model.NewRoot(fstest.MapFS{"w.dsl": {Data: []byte(test.text)}, "w2.dsl": {Data: []byte("workspace {\n}\n")}})
			m, err := structurizr.ReadDSL(t.Context(), root, "w.dsl")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, keys(m), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if test.links == nil {
				return
			}
			var links []string
			for _, r := range m.Relationships {
				links = append(links, r.Source+" -> "+r.Destination)
			}
			if diff := cmp.Diff(test.links, links, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("relationships (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvironmentIsNeverRead(t *testing.T) {
	t.Setenv("STELE_TEST_SECRET", "hunter2")
	m, err := dsl(t, inModel(`person "${STELE_TEST_SECRET}"`, `person "${STELE_TEST_SECRET} again"`))
	if err != nil {
		t.Fatal(err)
	}
	if m.Elements[0].Name != "${STELE_TEST_SECRET}" {
		t.Errorf("name is %q", m.Elements[0].Name)
	}
	if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0].Message, "environment variables are never read") {
		t.Errorf("warnings: %v", m.Warnings)
	}
}

// TestSameModelFromJSON checks that a workspace exported as JSON gives the elements and relationships of its DSL.
func TestSameModelFromJSON(t *testing.T) {
	t.Parallel()
	root := c4model.NewRoot(fstest.MapFS{
		"w.dsl": {Data: []byte(`workspace "Harbour" {
			!identifiers hierarchical
			model {
				properties {
					"structurizr.groupSeparator" "|"
				}
				Pilot = person "Pilot" "" "Local"
				group "Port" {
					group "North" {
						Tower = softwareSystem "Tower" "Shines." {
							properties {
								path tower
							}
							Lamp = container "Lamp" "" "Oil" {
								wick = component "Wick"
							}
							container "Horn"
						}
					}
				}
				Pilot -> Tower.Lamp "Watches" "Radio" "Night"
			}
		}`)},
		"w.json": {Data: []byte(`{"name": "Harbour", "model": {
			"properties": {"structurizr.groupSeparator": "|"},
			"people": [{"id": "1", "name": "Pilot", "tags": "Element,Person,Local", "properties": {"structurizr.dsl.identifier": "pilot"},
				"relationships": [{"id": "7", "destinationId": "3", "description": "Watches", "technology": "Radio", "tags": "Relationship,Night"},
					{"id": "8", "destinationId": "2", "description": "Watches", "linkedRelationshipId": "7"}]}],
			"softwareSystems": [{"id": "2", "name": "Tower", "description": "Shines.", "group": "Port|North", "properties": {"structurizr.dsl.identifier": "tower", "path": "tower"},
				"containers": [
					{"id": "3", "name": "Lamp", "technology": "Oil", "properties": {"structurizr.dsl.identifier": "tower.lamp"},
						"components": [{"id": "4", "name": "Wick", "properties": {"structurizr.dsl.identifier": "tower.lamp.wick"}}]},
					{"id": "5", "name": "Horn", "properties": {"structurizr.dsl.identifier": "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"}}]}]}}`)},
	})
	fromDSL, err := structurizr.ReadDSL(t.Context(), root, "w.dsl")
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := structurizr.ReadJSON(t.Context(), root, "w.json")
	if err != nil {
		t.Fatal(err)
	}
	options := []cmp.Option{
		cmpopts.IgnoreFields(c4model.Element{}, "Source"), cmpopts.IgnoreFields(c4model.Relationship{}, "Position"),
		cmpopts.EquateEmpty(),
		cmp.FilterPath(func(p cmp.Path) bool {
			return slices.Contains([]string{".Key", ".Parent", ".Source", ".Destination"}, p.Last().String())
		}, cmp.Comparer(func(a, b string) bool { return c4model.FoldKey(a) == c4model.FoldKey(b) })),
	}
	if diff := cmp.Diff(fromDSL.Elements, fromJSON.Elements, options...); diff != "" {
		t.Errorf("elements (-dsl +json):\n%s", diff)
	}
	if diff := cmp.Diff(fromDSL.Relationships, fromJSON.Relationships, options...); diff != "" {
		t.Errorf("relationships (-dsl +json):\n%s", diff)
	}
}

func TestJSONRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"empty", "", "w.json:1: found unexpected end of JSON input"},
		{"cut", "{\"model\": {\n\"people\": [{\"id\": \"1\",\n", "w.json:3: found unexpected end of JSON input"},
		{"no model", "{\"name\": \"x\"}", "found no \"model\""},
		{"a list", "[]", "w.json:1: found a JSON array"},
		{"wrong type", "{\"model\": {\"people\": [\n{\"id\": 1}]}}", "w.json:2: found a JSON number in \"model.people"},
		{"no name", "{\"model\": {\"people\": [\n{\"id\": \"1\"}]}}", "w.json:2: found a person without a name"},
		{"same id", "{\"model\": {\"people\": [{\"id\": \"1\", \"name\": \"A\"}, {\"id\": \"1\", \"name\": \"B\"}]}}", "expected an id that no other element has"},
		{"dangling", "{\"model\": {\"people\": [{\"id\": \"1\", \"name\": \"A\",\n\"relationships\": [{\"id\": \"2\", \"destinationId\": \"9\"}]}]}}", "w.json:2: found a relationship from ~a to the id \"9\""},
		{"container in person", "{\"model\": {\"people\": [{\"id\": \"1\", \"name\": \"A\", \"containers\": [{\"id\": \"2\", \"name\": \"B\"}]}]}}", "found a container inside a person"},
		{"component in system", "{\"model\": {\"softwareSystems\": [{\"id\": \"1\", \"name\": \"A\", \"components\": [{\"id\": \"2\", \"name\": \"B\"}]}]}}", "found a component inside a system"},
		{"words after", "{\"model\": {}} more", "w.json:1: found invalid character"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := structurizr.ReadJSON(t.Context(), c4model.NewRoot(fstest.MapFS{"w.json": {Data: []byte(test.text)}}), "w.json")
			if m != nil || !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("model %v, error %v; want %q", m, err, test.want)
			}
		})
	}
}
