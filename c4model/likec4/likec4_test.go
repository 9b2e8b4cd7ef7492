package likec4_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/likec4"
	"github.com/stele-dev/stele/internal/problem"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads a folder that holds every fact about the language, and compares all that a Model says with what a
// person checked.
func TestGolden(t *testing.T) {
	t.Parallel()
	root, err := c4model.OpenRoot("testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	m, err := likec4.Read(t.Context(), root, "harbour", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/golden/harbour.json"
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
}

// folder makes a root of texts by file name.
func folder(files map[string]string) *c4model.Root {
	fsys := make(fstest.MapFS)
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return c4model.NewRoot(fsys)
}

// read reads files given as text.
func read(t *testing.T, files map[string]string) (*c4model.Model, error) {
	t.Helper()
	return likec4.Read(t.Context(), folder(files), ".", nil)
}

// kinds is a specification, on one line, so that what follows starts on line 2.
const kinds = "specification { element system element container element app element component element actor element code element thing " +
	"element externalSystem relationship async relationship calls }\n"

// inModel wraps lines into a model; the first has number 3.
func inModel(lines ...string) map[string]string {
	return map[string]string{"m.c4": kinds + "model {\n" + strings.Join(lines, "\n") + "\n}\n"}
}

func keys(m *c4model.Model) []string {
	var keys []string
	for _, e := range m.Elements {
		keys = append(keys, e.Key)
	}
	return keys
}

func links(m *c4model.Model) []string {
	var links []string
	for _, r := range m.Relationships {
		links = append(links, r.Source+" -> "+r.Destination)
	}
	return links
}

// TestRefusals checks that whatever cannot be read is named with its place, what was found and what was expected.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  []string // parts of the message
	}{
		{"no files", map[string]string{"readme.md": "x"}, []string{"found no file of LikeC4", ".c4"}},
		{"words", map[string]string{"m.c4": "hello world"}, []string{"m.c4:1: found \"hello\"; expected specification, model"}},
		{"unclosed model", map[string]string{"m.c4": kinds + "model {\n a = app {\n}\n"}, []string{"m.c4:5: found the end of the file", "expected an element, a relationship, extend or }"}},
		{"unclosed comment", map[string]string{"m.c4": "model {\n/* never"}, []string{"m.c4:2: found the end of the file inside a comment; expected */"}},
		{"unclosed text", inModel("a = app 'A"), []string{"m.c4:3: found the end of the file inside a text; expected '"}},
		{"unclosed block text", inModel("a = app '''A"), []string{"m.c4:3: found the end of the file inside a text; expected '''"}},
		{"unclosed views", map[string]string{"m.c4": "views {\nview x {\n}\n"}, []string{"m.c4:4: found the end of the file; expected } to close views"}},
		{"brace too many", inModel("}"), []string{"m.c4:4: found \"}\"; expected specification, model"}},
		{"no braces", map[string]string{"m.c4": "model\na = app"}, []string{"m.c4:2: found \"a\"; expected { after model"}},
		{"curly quotes", inModel("a = app “A”"), []string{"m.c4:3: found \"“\"", "straight quotes"}},
		{"unknown kind", inModel("a = gadget"), []string{"m.c4:3: found the unknown kind \"gadget\"; expected a kind of element that a specification declares", "element gadget"}},
		{"kind in another case", inModel("a = APP"), []string{"did you mean app?"}},
		{"unknown relationship kind", inModel("a = app", "a -[fast]-> a"), []string{"m.c4:4: found the unknown kind \"fast\"; expected a kind of relationship"}},
		{"kind twice", map[string]string{"a.c4": "specification { element app }", "b.c4": "specification {\nelement app }"}, []string{"b.c4:2: found the kind \"app\" a second time", "the other: a.c4:1"}},
		{"element twice", inModel("a = app", "b = app", "app a"), []string{"m.c4:5: found the element \"a\" a second time", "first use: m.c4:3"}},
		{"element twice in another case", inModel("a = app", "A = app"), []string{"m.c4:4: found the element \"A\" a second time"}},
		{"element twice by extension", map[string]string{"a.c4": kinds + "model { a = system { b = app } }", "b.c4": "model { extend a {\nb = app } }"}, []string{"b.c4:2: found the element \"a.b\" a second time", "first use: a.c4:2"}},
		{"no kind", inModel("a ="), []string{"m.c4:4: found \"}\"; expected the kind of the element after ="}},
		{"lonely name", inModel("a"), []string{"m.c4:4: found \"}\"; expected = and a kind, a name, or an arrow after \"a\""}},
		{"unknown target", inModel("a = app", "a -> b"), []string{"m.c4:4: found the unknown element \"b\"; expected the path of an element of this model"}},
		{"ambiguous target", inModel("a = system { x = app }", "b = system { x = app }", "a -> x"), []string{"m.c4:5: found the unknown element \"x\"", "did you mean a.x or b.x?"}},
		{"unknown source", inModel("a = app", "c.d -> a"), []string{"m.c4:4: found the unknown element \"c.d\""}},
		{"unknown end of a path", inModel("a = app", "a -> a.b.c"), []string{"m.c4:4: found the unknown element \"a.b.c\""}},
		{"sourceless in the model", inModel("a = app", "-> a"), []string{"m.c4:4: found \"->\"; expected an element, a relationship, extend or } in model"}},
		{"this in the model", inModel("a = app", "this -> a"), []string{"m.c4:4: found the unknown element \"this\""}},
		{"arrow to nothing", inModel("a = app {", "->", "}"), []string{"m.c4:5: found \"}\"; expected the path of the element that the relationship leads to"}},
		{"half an arrow", inModel("a = app", "a -[async] a"), []string{"m.c4:4: found \"a\"; expected -> after the kind"}},
		{"extend nothing", inModel("extend x.y { }"), []string{"m.c4:3: found the unknown element \"x.y\""}},
		{"extend by a short path", inModel("a = system { b = app }", "extend b { }"), []string{"m.c4:4: found the unknown element \"b\"", "did you mean a.b?"}},
		{"extend inside an element", inModel("a = system {", "extend a { }", "}"), []string{"m.c4:4: found the unknown kind \"extend\""}},
		{"property without value", inModel("a = app {", "title", "}"), []string{"m.c4:5: found \"}\"; expected a text in quotes after title"}},
		{"metadata without value", inModel("a = app { metadata { x } }"), []string{"m.c4:3: found \"}\"; expected a text in quotes, a list, true or false after x"}},
		{"empty list", inModel("a = app { metadata { x [] } }"), []string{"m.c4:3: found \"]\"; expected a text in quotes in the list x"}},
		{"open list", inModel("a = app { metadata { x ['a' 'b'] } }"), []string{"m.c4:3: found the text \"b\"; expected a comma or ]"}},
		{"link to nothing", inModel("a = app { link here }"), []string{"m.c4:3: found \"here\"; expected an address or a path"}},
		{"words in the specification", map[string]string{"m.c4": "specification {\nelements app }"}, []string{"m.c4:2: found \"elements\"; expected element, relationship"}},
		{"import without project", map[string]string{"m.c4": "import { a }\nmodel {}"}, []string{"m.c4:2: found \"model\"; expected from"}},
		{"long name", inModel(strings.Repeat("a", 129) + " = app"), []string{"m.c4:3:", "expected a name of at most 128 bytes"}},
		{"bytes that are no text", map[string]string{"m.c4": "model {\n\x00}"}, []string{"m.c4:2: found a zero byte"}},
		{"another encoding", map[string]string{"m.c4": "model {\n// caf\xe9\n}"}, []string{"m.c4:2: found the byte 0xE9"}},
		{"broken configuration", map[string]string{"m.c4": kinds, "likec4.config.json": "{"}, []string{"likec4.config.json: cannot be read", "expected a configuration of LikeC4"}},
		{"an error in one of many files", map[string]string{"a.c4": kinds, "b/c.c4": "model {\n\n!\n}"}, []string{"b/c.c4:3: found \"!\""}},
		{"too many nested", inModel(strings.Repeat("a = thing {\n", 70)), []string{"m.c4:66: found more than 64 nested blocks"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := read(t, test.files)
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
		name  string
		files map[string]string
		keys  []string
		links []string
	}{
		{"empty model", inModel(), nil, nil},
		{"both orders of name and kind", inModel("a = app", "app b"), []string{"a", "b"}, nil},
		{"names may be words of the language", inModel("model = app", "app element", "group = app { component = component }", "element -> component"),
			[]string{"model", "element", "group", "group.component"}, []string{"element -> group.component"}},
		{"no blanks around arrows", inModel("a=app{b=component}", "c-d = app", "a->c-d", "a.b->a.b"), []string{"a", "a.b", "c-d"}, []string{"a -> c-d", "a.b -> a.b"}},
		{"arrows of a kind", inModel("a = app", "a -[async]-> a", "a .async a", "a .calls a"), []string{"a"}, []string{"a -> a", "a -> a"}},
		{"a path needs its dots without blanks", inModel("a = system { calls = app { x = component } }", "b = app", "a.calls.x -> b", "a .calls b"),
			[]string{"a", "a.calls", "a.calls.x", "b"}, []string{"a.calls.x -> b", "a -> b"}},
		{"sourceless and this", inModel("b = app", "a = app {", "-> b", "this -> b 'x'", "it -> b 'y'", ".calls b", "-[async]-> b", "}"), []string{"b", "a"},
			[]string{"a -> b", "a -> b", "a -> b", "a -> b", "a -> b"}},
		{"a name is looked up from the inside out", inModel("x = app", "a = system {", "x = app", "b = app { -> x }", "}", "c = app { -> x }"),
			[]string{"x", "a", "a.x", "a.b", "c"}, []string{"a.b -> a.x", "c -> x"}},
		{"a unique descendant needs no path", inModel("a = system { b = app { c = component } }", "d = app { -> c }", "a.c -> d"),
			[]string{"a", "a.b", "a.b.c", "d"}, []string{"d -> a.b.c", "a.b.c -> d"}},
		{"a child is meant before a descendant", inModel("a = system { b = app { x = component }", "x = app", "}", "a.x -> a.b"), []string{"a", "a.b", "a.b.x", "a.x"}, []string{"a.x -> a.b"}},
		{"inside an extension, names below what it extends", map[string]string{"a.c4": kinds + "model { s = system { a = app { deep = component } } }",
			"b.c4": "model { extend s { b = app { -> deep\n -> s } c = app { -> b\n s.a -> it } } }"}, []string{"s", "s.a", "s.a.deep", "s.b", "s.c"}, []string{"s.b -> s.a.deep", "s.c -> s.b", "s.a -> s.c"}},
		{"only roots are known in other files", map[string]string{"a.c4": kinds + "model { s = system { a = app } }", "b.c4": "model { t = system { a = app }\n s.a -> a }"}, []string{"s", "s.a", "t", "t.a"}, []string{"s.a -> t.a"}},
		{"extensions of extensions, before them", map[string]string{"a.c4": "model { extend s.a.b { c = code } extend s.a { b = component } extend s { a = app } }", "z.c4": kinds + "model { s = system }"},
			[]string{"s", "s.a", "s.a.b", "s.a.b.c"}, nil},
		{"tags and semicolons anywhere", inModel("a = app { #x, #y #z; title 'A'; }", "a -> a 'x' #t #u, #v { #w }"), []string{"a"}, []string{"a -> a"}},
		{"links end at a blank", inModel("a = app { link https://example.org/x#y{z} 'title' link ./p link ../q#L1 link @img/x }", "b = app"), []string{"a", "b"}, nil},
		{"braces in texts and comments", inModel("a = app '}' // }", "/* } */ b = app \"{\" '''{''' \"\"\"{\"\"\""), []string{"a", "b"}, nil},
		{"whatever is in views", map[string]string{"m.c4": "views {\nview { include ? <-> § { a } '}' } }\n" + kinds + "model { a = app }"}, []string{"a"}, nil},
		{"several blocks of each", map[string]string{"m.c4": kinds + "model { a = app }\nmodel { b = app\n a -> b }"}, []string{"a", "b"}, []string{"a -> b"}},
		{"stated again counts once", inModel("a = app", "b = app", "a -> b 'x'", "a -> b \"x\"", "a -> b 'x' '' 'Go'"), []string{"a", "b"}, []string{"a -> b", "a -> b"}},
		{"nothing between an element and its inside", inModel("a = system { b = app { -> a } }", "a -> b"), []string{"a", "a.b"}, nil},
		{"other projects", map[string]string{"m.c4": "import x from 'p'\n" + kinds + "model { a = app { -> x.y }\n a -> x }"}, []string{"a"}, nil},
		{"line endings and a byte-order mark", map[string]string{"m.c4": "\ufeff" + strings.ReplaceAll(kinds+"model {\n// x\na = app\n}\n", "\n", "\r\n")}, []string{"a"}, nil},
		{"hidden and foreign folders", map[string]string{"m.c4": kinds + "model { a = app }", ".cache/x.c4": "!", "sub/likec4.config.json": "{}", "sub/x.c4": "!", "sub/deep/x.c4": "!", "x.txt": "!"}, []string{"a"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := read(t, test.files)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.keys, keys(m), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.links, links(m), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("relationships (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLevels checks how the kinds of an author become the levels of C4.
func TestLevels(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, specification, model, want string }{
		{"by name", "element system element container element component element code element actor", "s = system { c = container { k = component { x = code } } } p = actor", "s:system s.c:container s.c.k:component s.c.k.x:code p:person"},
		{"by the last word of the name", "element softwareSystem element mobileApp element ui-component", "s = softwareSystem { a = mobileApp { u = ui-component } }", "s:system s.a:container s.a.u:component"},
		{"by the first word of several parts", "element System_External element Container_Browser element Actor_Staff", "s = System_External { c = Container_Browser } p = Actor_Staff", "s:system s.c:container p:person"},
		{"other words by depth", "element service element database element queue", "s = service { d = database { q = queue { t = database } } }", "s:system s.d:container s.d.q:component s.d.q.t:code"},
		{"a service called after users is none", "element userService element userInterface", "s = userService { i = userInterface }", "s:system s.i:container"},
		{"notation wins over the name", "element service { notation 'Component' } element system { notation 'Web Application' }", "s = service a = system", "s:component a:container"},
		{"a notation of many words says nothing", "element system { notation 'C4 System / UML Component' }", "s = system", "s:system"},
		{"metadata wins over all", "element service { notation 'System' }", "s = service { metadata { c4 'component' } }", "s:component"},
		{"by name without a parent", "element component element app", "k = component { j = component } a = app", "k:component k.j:code a:container"},
		{"a level that is not below its parent's", "element system element app element component", "s = system { t = system { u = app { v = component } } }", "s:system s.t:container s.t.u:component s.t.u.v:code"},
		{"people stand inside nothing", "element system element actor element component", "s = system { p = actor { q = component } }", "s:system s.p:person< s.p.q:component"},
		{"deeper than C4", "element thing", "a = thing { b = thing { c = thing { d = thing { e = thing { f = thing } } } } }", "a:system a.b:container a.b.c:component a.b.c.d:code a.b.c.d.e:code<a.b.c a.b.c.d.e.f:code<a.b.c"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := read(t, map[string]string{"m.c4": "specification { " + test.specification + " }\nmodel { " + test.model + " }"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range m.Elements {
				text := e.Key + ":" + string(e.Level)
				if e.Parent != c4model.ParentKey(e.Key) {
					text += "<" + e.Parent
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfiguration checks the names of a model and the forms in which a configuration may be written.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	for configuration, want := range map[string]string{
		`{"name": "a", "title": "The  A"}`: "The A",
		`{"name": "a"}`:                    "a",
		`{}`:                               "",
		"{ // it's\n\tname: 'the \"a\"', /* , } */\n\ttheme: [1, 0.5, null, {x: true,},], // x\n}": `the "a"`,
		`{name: 'it\'s // no comment',}`: "it's // no comment",
		`{"title": "a \"b\", } c"}`:      `a "b", } c`,
	} {
		m, err := read(t, map[string]string{"m.c4": kinds + "model { a = app }", ".likec4rc": configuration})
		if err != nil || m.Name != want {
			t.Errorf("%s: %v, %v; want %q", configuration, m, err, want)
		}
	}
}

func TestUnknownLevelIsAWarning(t *testing.T) {
	t.Parallel()
	m, err := read(t, inModel("a = app { metadata { c4 'galaxy' } }"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Elements[0].Level != c4model.Container || len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0].Message, `"galaxy", which is no level`) {
		t.Errorf("%v, %v", m.Elements, m.Warnings)
	}
}

// TestFolder checks which folder is the model of a file.
func TestFolder(t *testing.T) {
	t.Parallel()
	root := folder(map[string]string{
		"docs/spec.c4": "", "docs/cloud/ui.c4": "", "lone/a/x.c4": "", "p/likec4.config.mjs": "", "p/q/r/x.c4": "", "top.likec4": "", "sub/y.c4": "",
	})
	for file, want := range map[string]string{"docs/spec.c4": ".", "docs/cloud/ui.c4": ".", "lone/a/x.c4": "lone/a", "p/q/r/x.c4": "p", "sub/y.c4": "."} {
		if got, err := likec4.Folder(t.Context(), root, file); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
}

// TestBounds checks that no input costs more than a little.
func TestBounds(t *testing.T) {
	t.Parallel()
	var many, chain strings.Builder
	for i := range likec4.MaxElements + 1 {
		fmt.Fprintf(&many, "e%d = app\n", i)
	}
	path := "a"
	for range 70 {
		fmt.Fprintf(&chain, "extend %s { a = thing }\n", path)
		path += ".a"
	}
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"elements", inModel(many.String()), "more than 10000 elements"},
		{"relationships", inModel("a = app", strings.Repeat("a -> a\n", likec4.MaxRelationships+1)), "more than 50000 relationships"},
		{"bytes", map[string]string{"a.c4": kinds, "b.c4": "//" + strings.Repeat(" ", likec4.MaxBytes)}, "more than 4194304 bytes"},
		{"depth by extensions", inModel("a = thing", chain.String()), "at most"},
		{"tags", inModel("a = app {" + manyTags() + " }"), "more than 100 tags"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if m, err := read(t, test.files); m != nil || !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %s", err, test.want)
			}
		})
	}
	m, err := read(t, inModel("a = app", strings.Repeat("a -> a\n", likec4.MaxWarnings+10)))
	if err != nil || len(m.Warnings) != likec4.MaxWarnings+1 || !strings.Contains(m.Warnings[likec4.MaxWarnings].Message, "more warnings") {
		t.Errorf("warnings are bounded: %v", err)
	}
}

func manyTags() string {
	var b strings.Builder
	for i := range likec4.MaxTags + 1 {
		fmt.Fprintf(&b, " #t%d", i)
	}
	return b.String()
}

// TestBindings checks that what a model says about code becomes bindings.
func TestBindings(t *testing.T) {
	t.Parallel()
	m, err := read(t, map[string]string{
		"docs/m.c4":     kinds + "model { a = app { metadata { path ['cmd/a', 'lib/a'] } link ../src/a#L1-L9 link https://example.org link ../src/b }\n b = app { technology 'Go' } }",
		"docs/sub/x.c4": "model { extend b { link ../../src/x } }",
	})
	if err != nil {
		t.Fatal(err)
	}
	bindings, warnings := c4model.BindingHints(m, c4model.Tree{})
	var got []string
	for _, b := range bindings {
		got = append(got, b.Element+" "+b.Pattern+" by "+b.Source)
	}
	want := []string{"a src/b by property link", "a cmd/a by property path", "a lib/a by property path", "a src/a by url", "b src/x by url"}
	if diff := cmp.Diff(want, got); diff != "" || len(warnings) > 0 {
		t.Errorf("%v (-want +got):\n%s", warnings, diff)
	}
}
