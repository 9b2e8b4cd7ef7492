package plantuml_test

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
	"github.com/stele-dev/stele/c4model/plantuml"
	"github.com/stele-dev/stele/internal/problem"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads diagrams that together hold every fact about the language, and compares all that a Model says with
// what a person checked.
func TestGolden(t *testing.T) {
	t.Parallel()
	root, err := c4model.OpenRoot("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	for name, reader := range map[string]func() (*c4model.Model, error){
		"mill": func() (*c4model.Model, error) { return plantuml.Read(t.Context(), root, "models/mill", nil) },
		"ferry": func() (*c4model.Model, error) {
			return plantuml.ReadMermaid(t.Context(), root, "mermaid/ferry.mmd", nil)
		},
	} {
		m, err := reader()
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden := "testdata/golden/" + name + ".json"
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
	return plantuml.Read(t.Context(), folder(files), ".", nil)
}

// diagram wraps lines into a diagram; the first has number 3.
func diagram(lines ...string) map[string]string {
	return map[string]string{"d.puml": "@startuml\n!include <C4/C4_Container>\n" + strings.Join(lines, "\n") + "\n@enduml\n"}
}

func show(m *c4model.Model) (elements, links []string) {
	for _, e := range m.Elements {
		elements = append(elements, e.Key+":"+string(e.Level))
	}
	for _, r := range m.Relationships {
		links = append(links, r.Source+" -> "+r.Destination)
	}
	return elements, links
}

// TestRefusals checks that whatever cannot be read is named with its place, what was found and what was expected.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  []string // parts of the message
	}{
		{"nothing", map[string]string{"x.txt": ""}, []string{"found no C4 diagram; expected calls such as Container"}},
		{"no C4", map[string]string{"d.puml": "@startuml\na -> b\n@enduml\n"}, []string{"found no C4 diagram"}},
		{"no end", map[string]string{"d.puml": "@startuml\nSystem(a, \"A\")\n"}, []string{"d.puml:2: found the end of the file inside a diagram; expected @enduml"}},
		{"a diagram in a diagram", map[string]string{"d.puml": "@startuml\nSystem(a, \"A\")\n@startuml\n"}, []string{"d.puml:3: found \"@startuml\" inside another diagram"}},
		{"unclosed comment", diagram("System(a)", "/' never"), []string{"d.puml:4: found the end of the file inside a comment; expected '/"}},
		{"unclosed boundary", diagram("System_Boundary(a, \"A\") {"), []string{"d.puml:3: found the end of the diagram inside", "expected }"}},
		{"brace too many", diagram("System(a, \"A\")", "}"), []string{"d.puml:4: found } without a block"}},
		{"unclosed call", diagram("System(a, \"A\"", "Rel(a, a)"), []string{"d.puml:3: found the end of the diagram inside the call", "expected )"}},
		{"unclosed text", diagram("System(a, \"A)"), []string{"d.puml:3: found a text without its closing quote"}},
		{"unclosed note", diagram("System(a)", "note left", "text"), []string{"d.puml:4: found the end of the diagram inside the text after \"note left\""}},
		{"unclosed condition", diagram("System(a)", "!if (1)"), []string{"d.puml:4: found the end of the diagram inside this condition; expected !endif"}},
		{"unclosed procedure", diagram("System(a)", "!procedure p()", "System(b)"), []string{"d.puml:4: found the end of the diagram inside a procedure"}},
		{"else alone", diagram("System(a)", "!else"), []string{"d.puml:4: found !else without a condition"}},
		{"no alias", diagram("Container()"), []string{"d.puml:3: found Container without an alias; expected Container(alias, label, …)"}},
		{"empty alias", diagram("Container(\"\", \"A\")"), []string{"d.puml:3: found Container without an alias"}},
		{"one end", diagram("System(a)", "Rel(a)"), []string{"d.puml:4: found Rel without two aliases"}},
		{"misspelt", diagram("System(a)", "Containr(b, \"B\")"), []string{"d.puml:4: found the unknown call \"Containr\"", "did you mean Container?"}},
		{"misspelt by case", diagram("System(a)", "system_boundary(b, \"B\") {", "}"), []string{"did you mean System_Boundary?"}},
		{"aliases that differ by case", diagram("System(a, \"A\")", "System(A, \"B\")"), []string{"d.puml:4: found the alias \"A\"", "d.puml:3 uses too"}},
		{"long alias", diagram("System(" + strings.Repeat("a", 129) + ")"), []string{"d.puml:3: found the alias", "at most 128 bytes"}},
		{"includes itself", map[string]string{"d.puml": "@startuml\nSystem(a)\n!include d.puml\n@enduml\n"}, []string{"d.puml:3: found more than 16 files including each other"}},
		{"zero byte", diagram("System(a)", "\x00"), []string{"d.puml:4: found a zero byte"}},
		{"an error in an included file", map[string]string{"d.puml": "@startuml\nSystem(a)\n!include x/i.inc\n@enduml\n", "x/i.inc": "\nRel(a)\n"}, []string{"x/i.inc:2: found Rel without two aliases"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := read(t, test.files)
			if err == nil {
				t.Fatalf("read as %v", m.Elements)
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

func TestMermaidRefusals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "d.mmd:1: found the end of the file; expected C4Context",
		"flowchart TD\n":                    "d.mmd:1: found \"flowchart TD\"; expected C4Context",
		"@startuml\n":                       "give the file the extension .puml",
		"C4Context\nSystem(a,\n":            "d.mmd:2: found the end of the diagram inside the call",
		"%% c\n\nC4Context\nSystm(a, \"\")": "d.mmd:4: found the unknown call \"Systm\"",
		"C4Context\n}":                      "d.mmd:2: found } without a block",
	} {
		m, err := plantuml.ReadMermaid(t.Context(), folder(map[string]string{"d.mmd": text}), "d.mmd", nil)
		if m != nil || !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, m, err, want)
		}
	}
}

// TestReadings checks single facts for which a table says more than a golden file.
func TestReadings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		files    map[string]string
		elements string
		links    []string
	}{
		{"all elements", diagram("Person(a)", "Person_Ext(b)", "System(c)", "SystemDb_Ext(d)", "ContainerQueue(e)", "ComponentDb(f)", "Component_Ext(g)"),
			"a:person b:person c:system d:system e:container f:component g:component", nil},
		{"all directions", diagram("System(a)", "System(b)", "Rel(a, b, \"1\")", "Rel_U(a, b, \"2\")", "Rel_Right(a, b, \"3\")", "Rel_Neighbor(a, b, \"4\")", "Rel_Back(a, b, \"5\")",
			"Rel_Back_Neighbor(a, b, \"6\")", "BiRel_D(a, b, \"7\")", "RelIndex_Back(1, a, b, \"8\")"), "a:system b:system",
			[]string{"a -> b", "a -> b", "a -> b", "a -> b", "b -> a", "b -> a", "a -> b", "b -> a", "b -> a"}},
		{"without marks of a diagram", map[string]string{"d.iuml": "System(a)\n"}, "a:system", nil},
		{"several diagrams of a file", map[string]string{"d.puml": "@startuml\nSystem(a)\n@enduml\ntext between\nSystem(no)\n@startuml\nSystem(b)\nRel(b, a)\n@enduml"}, "a:system b:system", []string{"b -> a"}},
		{"merged by alias", map[string]string{"1.puml": "@startuml\nSystem(s)\nContainer(c, \"C\")\n@enduml", "2.puml": "@startuml\nSystem_Boundary(s, \"S\") {\nContainer(c, \"C\")\n}\n@enduml"}, "s:system s.c:container", nil},
		{"the deeper level counts", map[string]string{"1.puml": "@startuml\nSystem(q, \"Q\")\n@enduml", "2.puml": "@startuml\nSystem_Boundary(s, \"S\") {\nContainer(q, \"Q\")\n}\n@enduml"}, "s:system s.q:container", nil},
		{"a boundary is the element of its name", map[string]string{"1.puml": "@startuml\nSystem(s, \"The  Shop\")\n@enduml", "2.puml": "@startuml\nSystem_Boundary(x, \"the shop\") {\nContainer(c)\n}\nRel(c, x)\nPerson(p)\nRel(p, x)\n@enduml"},
			"s:system s.c:container p:person", []string{"p -> s"}},
		{"one alias in two boundaries", diagram("System_Boundary(a, \"A\") {", "ContainerDb(db, \"Pears\")", "}", "System_Boundary(b, \"B\") {", "ContainerDb(db, \"Plums\")", "}"),
			"a:system a.db:container b:system b.db:container", nil},
		{"a container boundary around containers", diagram("Container_Boundary(a, \"A\") {", "Container(b)", "}"), "a:system a.b:container", nil},
		{"a boundary around systems", diagram("System_Boundary(a, \"A\") {", "System(b)", "Person(c)", "}", "Rel(c, b)", "Rel(c, a)"), "b:system c:person", []string{"c -> b"}},
		{"groups between", diagram("System_Boundary(a, \"A\") {", "Boundary(g, \"G\") {", "Container(b)", "}", "}"), "a:system a.b:container", nil},
		{"on one line", diagram("System_Boundary(a, \"A\") { Container(b) }", "Container(c)"), "a:system a.b:container c:container", nil},
		{"brace on the next line", diagram("System_Boundary(a, \"A\")", "{", "Container(b)", "}", "System_Boundary(c, \"C\")", "Container(d)"), "a:system a.b:container c:system d:container", nil},
		{"own blocks of PlantUML", diagram("package \"x\" {", "System(a)", "together {", "System(b)", "}", "}"), "a:system b:system", nil},
		{"words before parentheses", diagram("title (Draft) of", "caption (x)", "System(a)", "skinparam (y) {", "}", "Rel (a, a)"), "a:system", []string{"a -> a"}},
		{"a call over lines", diagram("Container(a,", "  \"A (x), y\",", "  Go)", "Rel(", "a, a", ")"), "a:container", []string{"a -> a"}},
		{"aliases with signs", diagram("System(a.b, \"A\")", "System(\"c d\", \"C\")", "Rel(a.b, \"c d\")"), "a-b:system c-d:system", []string{"a-b -> c-d"}},
		{"arrows of PlantUML", diagram("System(a)", "System(b)", "a --> b", "b <-up- a : x", "a <--> b : y", "a --> c", "a ..> b : z"), "a:system b:system", []string{"a -> b", "a -> b", "a -> b", "b -> a", "a -> b"}},
		{"said in two diagrams", map[string]string{"1.puml": "@startuml\nSystem(a)\nRel(a, a, \"x\")\n@enduml", "2.puml": "@startuml\nSystem(a)\nRel(a, a, \"x\")\n@enduml"}, "a:system", []string{"a -> a"}},
		{"not between an element and its inside", diagram("System_Boundary(a, \"A\") {", "Container(b)", "Rel(b, a)", "}"), "a:system a.b:container", nil},
		{"conditions", diagram("!define A", "!ifdef A", "System(a)", "!else", "System(no)", "!endif", "!ifndef A", "System(no)", "!elseif 1", "System(b)", "!endif",
			"!if %not(%variable_exists(\"B\"))", "System(c)", "!endif", "!if (0)", "!if (1)", "System(no)", "!endif", "System(no)", "!endif", "!undef A", "!ifdef A", "System(no)", "!endif"),
			"a:system b:system c:system", nil},
		{"definitions in texts and names", diagram("!$n = \"x\"", "!define WHO y", "System($n, \"The $n\")", "System(WHO)", "Rel($n, WHO)"), "x:system y:system", []string{"x -> y"}},
		{"what is included from inside the root", map[string]string{"sub/d.puml": "@startuml\n!include ../common/c.inc\n!includesub ../common/c.inc!PART\nRel(a, b)\n@enduml", "common/c.inc": "@startuml\n!startsub PART\nSystem(a)\n!endsub\nSystem(b)\n@enduml"}, "a:system b:system", []string{"a -> b"}},
		{"what a sequence diagram says", map[string]string{"d.puml": "@startuml\n!include <C4/C4_Sequence>\nPerson(p)\nSystem_Boundary(s, \"S\")\nContainer(c)\nBoundary_End()\nRel(p, c)\n@enduml"}, "p:person s:system s.c:container", nil},
		{"line endings and a byte-order mark", map[string]string{"d.puml": "\ufeff@startuml\r\nSystem(a, \"A\")\r\nRel(a,\r\na)\r\n@enduml\r\n"}, "a:system", []string{"a -> a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := read(t, test.files)
			if err != nil {
				t.Fatal(err)
			}
			elements, links := show(m)
			if diff := cmp.Diff(test.elements, strings.Join(elements, " ")); diff != "" {
				t.Errorf("elements (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.links, links, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("relationships (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWarnings checks that what could hold a part of the model and was not read is said.
func TestWarnings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  []string // "missing: " before one that says the model may be incomplete
	}{
		{"nothing to say", diagram("System(a)", "!include https://example.org/icons.puml", "!theme blue", "!$x = f(1)", "!while 0", "!endwhile", "!procedure p()", "!endprocedure", "p()"), nil},
		{"an unknown alias", diagram("System(a)", "Rel(a, b)", "Rel(b, a)"), []string{"missing: d.puml:4: no diagram declares the alias \"b\""}},
		{"an unknown alias after an address", diagram("System(a)", "!include https://example.org/systems.puml", "Rel(a, b)"),
			[]string{"missing: d.puml:5: no diagram declares", "missing: d.puml:4: this file was not included, since only files of the root folder are read; it may declare b"}},
		{"a file that is not there", diagram("System(a)", "!include gone.puml"), []string{"missing: d.puml:4: \"gone.puml\" was not included: there is no such file"}},
		{"a file outside", diagram("System(a)", "!include ../up.puml"), []string{"missing: d.puml:4: \"../up.puml\" was not included: it is outside the root folder"}},
		{"an own macro that makes elements", diagram("!procedure $svc($a)", "Container($a)", "!endprocedure", "System(a)", "$svc(b)", "$svc(c)"), []string{"missing: d.puml:7: the call \"$svc\" is none of C4-PlantUML"}},
		{"a defined macro that makes elements", diagram("!define svc(a) Container(a, x)", "System(a)", "svc(b)"), []string{"missing: d.puml:5: the call \"svc\""}},
		{"a loop that makes elements", diagram("System(a)", "!foreach $x in $y", "Container($x)", "!endfor"), []string{"missing: d.puml:4: this loop was not run"}},
		{"a condition over more", diagram("!if %strlen(\"x\") > 0", "System(a)", "!else", "System(b)", "!endif"), []string{"missing: d.puml:3: this condition cannot be evaluated here"}},
		{"a condition over more, without elements", diagram("System(a)", "!if %strlen(\"x\") > 0", "!else", "LAYOUT_TOP_DOWN()", "!endif"), nil},
		{"levels that differ", diagram("System(a)", "Container(a)"), []string{"d.puml:3: a is a system here and a container in d.puml:4"}},
		{"boundaries that differ", diagram("System_Boundary(s, \"S\") {", "Container(a)", "}", "System_Boundary(t, \"T\") {", "Container(a)", "}"), []string{"d.puml:7: a stands in t here and in s elsewhere"}},
		{"a group", diagram("System(a)", "Boundary(g, \"G\") {", "}", "Rel(a, g)"), []string{"d.puml:6: \"g\" is only a group"}},
		{"instances", diagram("System(a)", "Node(n) {", "Container(b)", "}", "Rel(a, b)"), []string{"d.puml:5: what stands inside deployment nodes are instances"}},
		{"no elements", diagram("Node(n) {", "}"), []string{"the model has no elements"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := read(t, test.files)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range m.Warnings {
				text := w.String()
				if w.NotIncluded {
					text = "missing: " + text
				}
				got = append(got, text)
			}
			if len(got) != len(test.want) {
				t.Fatalf("%q; want %q", got, test.want)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("%q; want %q", got[i], want)
				}
			}
		})
	}
}

// TestBounds checks that no input costs more than a little.
func TestBounds(t *testing.T) {
	t.Parallel()
	var many, doubling strings.Builder
	for i := range plantuml.MaxElements + 1 {
		fmt.Fprintf(&many, "System(s%d)\n", i)
	}
	doubling.WriteString("!$v = \"" + strings.Repeat("x", 15_000) + "\"\n")
	for i := range 600 {
		fmt.Fprintf(&doubling, "System(s%d, \"$v\")\n", i)
	}
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"elements", diagram(many.String()), "more than 10000 elements"},
		{"relationships", diagram("System(a)", strings.Repeat("Rel(a, a)\n", plantuml.MaxRelationships+1)), "more than 50000 relationships"},
		{"bytes", map[string]string{"a.puml": "'" + strings.Repeat(" ", plantuml.MaxBytes)}, "more than 4194304 bytes"},
		{"nesting", diagram(strings.Repeat("Boundary(a, \"A\") {\n", 65)), "more than 64 nested blocks"},
		{"conditions", diagram(strings.Repeat("!if 1\n", 65)), "more than 64 nested conditions"},
		{"lines of a call", diagram("System(a,", strings.Repeat("x\n", 300), ")"), "more than 200 lines in the call"},
		{"arguments", diagram("System(a" + strings.Repeat(",b", 100) + ")"), "more than 64 arguments"},
		{"bytes of a call", diagram("System(a, \"" + strings.Repeat("x", plantuml.MaxCallBytes) + "\")"), "a call of more than 16384 bytes"},
		{"expansion", diagram(doubling.String()), "found definitions that make more than"},
		{"definitions", diagram(strings.Repeat("!define A b\n", 3) + manyDefinitions()), "more than 2000 definitions"},
		{"tags", diagram("System(a, $tags=\"" + manyTags() + "\")"), "more than 100 tags"},
		{"files", manyFiles(), "more than 2000 files"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if m, err := read(t, test.files); m != nil || !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %s", err, test.want)
			}
		})
	}
}

func manyTags() string {
	var b strings.Builder
	for i := range plantuml.MaxTags + 5 {
		fmt.Fprintf(&b, "t%d+", i)
	}
	return b.String()
}

func manyDefinitions() string {
	var b strings.Builder
	for i := range plantuml.MaxDefinitions + 1 {
		fmt.Fprintf(&b, "!define D%d x\n", i)
	}
	return b.String()
}

func manyFiles() map[string]string {
	files := make(map[string]string)
	for i := range plantuml.MaxFiles + 1 {
		files[fmt.Sprintf("f%d.puml", i)] = ""
	}
	return files
}

// TestBindings checks that what a model says about code becomes bindings.
func TestBindings(t *testing.T) {
	t.Parallel()
	m, err := read(t, map[string]string{"docs/d.puml": "@startuml\nAddProperty(\"path\", \"cmd/a\")\nContainer(a, \"A\", \"Go\", $link=\"../src/a\")\nContainer(b, \"B\")\n@enduml"})
	if err != nil {
		t.Fatal(err)
	}
	bindings, _ := c4model.BindingHints(m, c4model.Tree{})
	var got []string
	for _, b := range bindings {
		got = append(got, b.Element+" "+b.Pattern+" by "+b.Source)
	}
	if diff := cmp.Diff([]string{"a cmd/a by property path", "a src/a by url"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
