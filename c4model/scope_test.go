package c4model

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestInScope(t *testing.T) {
	t.Parallel()
	tests := []struct {
		element Element
		want    bool
	}{
		{Element{Level: System}, true},
		{Element{Level: Container, Tags: []string{"Database", "Blue"}}, true},
		{Element{Level: Code}, true},
		{Element{Level: Person}, false},
		{Element{Level: System, External: true}, false},
		{Element{Level: System, Tags: []string{"Core", "external"}}, false},
		{Element{Level: System, Tags: []string{"External System"}}, false},
		{Element{Level: System, Tags: []string{"external-software-system"}}, false},
		{Element{Level: System, Tags: []string{"ExternalSystem"}}, false},
		{Element{Level: System, Tags: []string{"Future State"}}, false},
		{Element{Level: Container, Tags: []string{"PLANNED"}}, false},
		{Element{Level: Container, Tags: []string{"Legacy"}}, false},
		{Element{Level: Container, Tags: []string{"External API"}}, true},
		{Element{Level: Container, Tags: []string{"Existing System", "Software System", "Externally visible", ""}}, true},
	}
	for _, test := range tests {
		if got := test.element.InScope(); got != test.want {
			t.Errorf("%s with tags %q, external %t: in scope %t", test.element.Level, test.element.Tags, test.element.External, got)
		}
	}
}

func TestMarkScope(t *testing.T) {
	t.Parallel()
	elements := []Element{
		{Key: "old", Level: System, Tags: []string{"Legacy"}},
		{Key: "old.web", Level: Container, Parent: "old"},
		{Key: "old.web.page", Level: Component, Parent: "old.web"},
		{Key: "bank", Level: System, Tags: []string{"External System"}},
		{Key: "own", Level: System},
		{Key: "own.next", Level: Container, Parent: "own", Tags: []string{"Future"}},
		{Key: "own.now", Level: Container, Parent: "own"},
	}
	MarkScope(elements)
	var in, external []string
	for _, e := range elements {
		if e.InScope() {
			in = append(in, e.Key)
		}
		if e.External {
			external = append(external, e.Key)
		}
	}
	if got := strings.Join(in, " "); got != "own own.now" {
		t.Errorf("in scope: %s", got)
	}
	if got := strings.Join(external, " "); got != "old.web old.web.page bank" {
		t.Errorf("external: %s", got)
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Web App": "web-app", "  Web -- App!": "web-app", "API (v2)": "api-v2", "...": "unnamed", "": "unnamed", "Straße": "strasse",
		"你好 Usér 🙂": "你好-usér", "ＦＵＬＬ": "full", strings.Repeat("ab ", 40): strings.TrimSuffix(strings.Repeat("ab-", 24), "-"),
	} {
		if got := Slug(name); got != want {
			t.Errorf("Slug(%q) = %q, want %q", name, got, want)
		}
	}
	if slug := Slug("\u1f8a\u0300"); Slug(slug) != slug { // folding takes the letter apart, and its parts meet the accent
		t.Errorf("%+q becomes %+q", slug, Slug(slug))
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		slug := Slug(name)
		if slug == "" || strings.ContainsAny(slug, ". ~") || !utf8.ValidString(slug) || strings.HasPrefix(slug, "-") || strings.HasSuffix(slug, "-") {
			t.Fatalf("Slug(%q) = %q", name, slug)
		}
		if Slug(slug) != slug {
			t.Fatalf("the slug of %q is %q, its own slug is %q", name, slug, Slug(slug))
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	a := Element{Key: "a", Name: "A", Level: System}
	b := Element{Key: "a.b", Name: "B", Level: Container, Parent: "a", Source: Position{File: "w.dsl", Line: 7}}
	tests := []struct {
		name  string
		model Model
		want  string // "" is consistent
	}{
		{"good", Model{Elements: []Element{a, b}, Relationships: []Relationship{{Source: "a", Destination: "a.b"}}}, ""},
		{"child first", Model{Elements: []Element{b, a}}, `w.dsl:7: the parent "a" of element "a.b" is not declared before it`},
		{"same key in another case", Model{Elements: []Element{a, {Key: "A", Name: "A", Level: System}}}, `two elements have the key "A"`},
		{"no name", Model{Elements: []Element{{Key: "a", Level: System}}}, "no name"},
		{"no level", Model{Elements: []Element{{Key: "a", Name: "A"}}}, "unknown level"},
		{"upside down", Model{Elements: []Element{{Key: "a", Name: "A", Level: Component}, b}}, "a container (\"a.b\") cannot be inside a component"},
		{"dangling", Model{Elements: []Element{a}, Relationships: []Relationship{{Source: "a", Destination: "z"}}}, `the unknown element "z"`},
	}
	for _, test := range tests {
		err := test.model.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
