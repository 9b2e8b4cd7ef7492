package c4model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
)

func TestListedKeepsBraces(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]string{
		"a/b":                   {"a/b"},
		"a, b; c\nd":            {"a", " b", " c", "d"},
		"/internal/{a,b},cmd/x": {"/internal/{a,b}", "cmd/x"},
		"a},b":                  {"a}", "b"},
		"/a[{]b, /src":          {"/a[{]b", " /src"},
		"/a[,;]b, /a[}, c":      {"/a[", "]b", " /a[}", " c"},
		"[,]/{x,[}],y},z":       {"[,]/{x,[}],y}", "z"},
		"a[b,c[/]d,e":           {"a[b", "c[/]d", "e"},
	} {
		if got := listed(value); !cmp.Equal(got, want) {
			t.Errorf("listed(%q) = %q, want %q", value, got, want)
		}
	}
}

func TestNormalizePattern(t *testing.T) {
	t.Parallel()
	tests := []struct{ written, want string }{ // "" is refused
		{"services/api", "services/api"},
		{"services/api/", "services/api/"},
		{"./services//api", "services/api"},
		{`services\api\main.go`, "services/api/main.go"},
		{"main.go", "/main.go"},
		{"/main.go", "/main.go"},
		{"/services/api", "services/api"},
		{"src/", "/src/"},
		{"*.go", "*.go"},
		{"/*.go", "/*.go"},
		{"**/*_test.go", "**/*_test.go"},
		{"a/b.go#L12-L20", "a/b.go"},
		{"a/b.go:12", "a/b.go"},
		{".", "**"},
		{"#notes", `/\#notes`},
		{"..name/x", "..name/x"},
		{"", ""}, {"  ", ""}, {"../x", ""}, {"a/../../x", ""}, {"a/..", ""}, {"/home/me/project", ""}, {"/Users/me/project", ""}, {"C:/project", ""},
		{"//server/share", ""}, {"~/project", ""}, {"file:///x", ""}, {"!a", ""}, {"a[", ""}, {"a/{b", ""}, {"a\nb", ""},
	}
	for _, test := range tests {
		got, err := NormalizePattern(test.written)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("NormalizePattern(%q) = %q, %v; want %q", test.written, got, err, test.want)
		}
		if err != nil && !problem.Is(err, problem.Invalid) {
			t.Errorf("NormalizePattern(%q): %v is no problem", test.written, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		written := rapid.StringMatching(`[a-c./*#!:\\L0-9~ -]{0,12}`).Draw(t, "written")
		got, err := NormalizePattern(written)
		if err != nil {
			return
		}
		for part := range strings.SplitSeq(got, "/") {
			if part == ".." {
				t.Fatalf("%q became %q, which leaves the repository", written, got)
			}
		}
		if strings.HasPrefix(got, "/") && strings.Contains(strings.Trim(got, "/"), "/") {
			t.Fatalf("%q became %q, anchored twice", written, got)
		}
	})
}

func TestBindingHints(t *testing.T) {
	t.Parallel()
	with := func(key string, properties map[string]string) Element {
		return Element{Key: key, Properties: properties, Source: Position{File: "model/w.dsl", Line: 3}}
	}
	files := map[string]bool{
		"services/api": true, "code": true, "lib/core": true, "docs/model/notes": true, "feature": false, "web/[id]/page.tsx": true, "Makefile": true, "src": true,
	}
	tree := Tree{Remotes: []string{"git@forge.example:team/shop.git", "https://user:secret@Other.example:8443/Team/Mirror"}, ModelDir: "docs", Exists: func(p string) bool { return files[p] }}
	tests := []struct {
		name    string
		tree    Tree
		element Element
		want    []string // pattern and source
		warned  string
	}{
		{"path", Tree{}, with("a", map[string]string{"path": "services/api"}), []string{"services/api from property path"}, ""},
		{"several", Tree{}, with("a", map[string]string{"paths": "a/b, c/d;e/f\ng/h,,"}), []string{"a/b from property paths", "c/d from property paths", "e/f from property paths", "g/h from property paths"}, ""},
		{"every name, in order", Tree{}, with("a", map[string]string{"src": "x", "file": "m.go", "Component.Src": "p/q", "code": "c/d", "source": "s.go"}),
			[]string{"p/q from property Component.Src", "c/d from property code", "/m.go from property file", "/s.go from property source", "/x from property src"}, ""},
		{"a language is no path", Tree{}, with("a", map[string]string{"code": "Go", "source": "internal"}), nil, ""},
		{"a word that exists is a path", tree, with("a", map[string]string{"code": "code"}), []string{"/code from property code"}, ""},
		{"other properties are ignored", Tree{}, with("a", map[string]string{"owner": "a/b", "Name": "c/d"}), nil, ""},
		{"outside", Tree{}, with("a", map[string]string{"path": "../other"}), nil, "the property path of a names no files"},
		{"absolute", Tree{}, with("a", map[string]string{"path": "/home/me/x"}), nil, "is absolute"},
		{"twice", Tree{}, with("a", map[string]string{"path": "a/b", "src": "./a/b"}), []string{"a/b from property path"}, ""},
		{"like a glob", tree, with("a", map[string]string{"path": "web/[id]/page.tsx"}), []string{`web/\[id\]/page.tsx from property path`}, ""},
		{"page of the repository", tree, Element{Key: "a", URL: "https://forge.example/Team/Shop/tree/main/services/api"}, []string{"services/api from url"}, ""},
		{"page with a line, branch with a slash", tree, Element{Key: "a", URL: "https://forge.example/team/shop/blob/feature/x/lib/core#L3"}, []string{"lib/core from url"}, ""},
		{"page of another forge", tree, Element{Key: "a", URL: "https://other.example/team/mirror/-/tree/main/lib/core"}, []string{"lib/core from url"}, ""},
		{"page in a property", tree, with("a", map[string]string{"source": "https://forge.example/team/shop/src/branch/main/lib/core"}), []string{"lib/core from property source"}, ""},
		{"another repository", tree, Element{Key: "a", URL: "https://forge.example/team/shop2/tree/main/services/api"}, nil, ""},
		{"the whole repository", tree, Element{Key: "a", URL: "https://forge.example/team/shop"}, nil, ""},
		{"a page about it", tree, Element{Key: "a", URL: "https://forge.example/team/shop/issues/3"}, nil, ""},
		{"a path that is gone", tree, Element{Key: "a", URL: "https://forge.example/team/shop/tree/main/gone"}, nil, ""},
		{"relative link", tree, Element{Key: "a", URL: "../../services/api#L1", Source: Position{File: "model/w.dsl"}}, []string{"services/api from url"}, ""},
		{"relative link in a property", tree, with("a", map[string]string{"link": "notes/"}), []string{"docs/model/notes from property link"}, ""},
		{"relative link that leaves", tree, Element{Key: "a", URL: "../../../services/api", Source: Position{File: "model/w.dsl"}}, nil, ""},
		{"mail", tree, Element{Key: "a", URL: "mailto:a/b@example.org"}, nil, ""},
		{"technology that is a path", tree, Element{Key: "a", Technology: "services/api"}, []string{"services/api from technology"}, ""},
		{"technology", tree, Element{Key: "a", Technology: "Node.js"}, nil, ""},
		{"technology without a tree", Tree{}, Element{Key: "a", Technology: "services/api"}, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bindings, warnings := BindingHints(&Model{Elements: []Element{test.element}}, test.tree)
			var got []string
			for _, b := range bindings {
				if b.Element != "a" || b.Repository != "" {
					t.Errorf("%+v", b)
				}
				got = append(got, b.Pattern+" from "+b.Source)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (len(warnings) > 0) != (test.warned != "") || len(warnings) > 0 && !strings.Contains(warnings[0].String(), test.warned) {
				t.Errorf("warnings: %v, want %q", warnings, test.warned)
			}
		})
	}
}
