package evidence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/drift/evidence"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	for quotation, want := range map[string]string{
		// files and folders
		"authz.go": "path authz.go", "core/authz.go": "path core/authz.go", "./core/authz.go": "path core/authz.go", "../lib/pool.ts": "path lib/pool.ts",
		"core/authz.go:12": "path core/authz.go", "core/authz.go:12-30": "path core/authz.go", "core/authz.go#L7": "path core/authz.go",
		"tests/test_pool.py::test_close": "path tests/test_pool.py", "internal/store": "path internal/store", "internal/store/": "path internal/store/",
		"src/**/*.test.ts": "path src/**/*.test.ts", ".github/workflows/ci.yml": "path .github/workflows/ci.yml", "Makefile": "path Makefile",
		"/core/authz.go": "path core/authz.go", ".gitignore": "path .gitignore", `"core/authz.go"`: "path core/authz.go", "app/(shop)/page.tsx": "path app/(shop)/page.tsx",
		"package.json": "path package.json", "src/{a,b}.go": "path src/{a,b}.go",
		// identifiers
		"idArgumentResolvers": "symbol idArgumentResolvers", "MAX_RETRIES": "symbol MAX_RETRIES", "Store.Open": "", "PoolStore.Open": "symbol PoolStore.Open",
		"open_pool()": "symbol open_pool", "drain()": "symbol drain", "Pool::drain_all": "symbol Pool::drain_all", "pool.drainAll(ctx, 3)": "symbol pool.drainAll",
		"func DrainAll(ctx context.Context) error": "symbol DrainAll", "func (p *Pool) Drain(n int)": "symbol Drain", "class PoolStore": "symbol PoolStore",
		"@RestController": "symbol RestController", "announce!()": "symbol announce", "HTTPServer": "symbol HTTPServer", "user.name": "",
		// texts
		"/api/v1/orders": "literal /api/v1/orders", "@shop/core": "literal @shop/core", `"connection refused"`: "literal connection refused",
		// nothing that would mean something
		"npm run build": "", "git status": "", "--verbose": "", "-v": "", "v1.2.3": "", "1.22": "", ">=3.1": "", "https://example.com/a.go": "", "localhost:8080": "",
		"<name>": "", "src/<name>/index.ts": "", "$HOME/x.go": "", "${name}.go": "", "your-file.go": "", "true": "", "main": "", "Store": "", "JSON": "", "TypeScript": "",
		"*.go": "", "/": "", ".": "", "..": "", "": "", "a.b@example.com": "", "github.com/x/y": "", "key=value_here": "", "x": "", "...": "", "path/to/...": "",
		"if err != nil { return err }": "", "/etc/": "path etc/", "$env_var": "", strings.Repeat("longName", 30): "", "foo_bar.go<T>": "",
	} {
		got := ""
		for _, c := range evidence.Claims("The `" + quotation + "` is there.") {
			got += fmt.Sprint(c.Kind, " ", c.Text)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", quotation, got, want)
		}
	}
}

const document = "---\ntitle: `front_matter`\n---\n" + `# About ` + "`head_line`" + `

Text with ` + "`first_one`" + ` in it. Another sentence, e.g. ` + "`second_one`" + `,
over two lines with ` + "``third_one``" + `.

    indented_code := ` + "`not_this`" + `

- item with ` + "`fourth_one`" + `
  and more of it: ` + "`fifth_one`" + `. Still the item.

    item text, not code: ` + "`sixth_one`" + `
- [ ] task ` + "`seventh_one`" + `

| name | use |
|------|-----|
| ` + "`eighth_one`" + ` | here |

` + "```go\nx := `not_that`\n```" + `

<!-- ` + "`not_comment`" + `
` + "`nor_this`" + ` -->
> quoted ` + "`ninth_one`" + `

[link]: ` + "`not_a_statement`" + `

\` + "`not_code_at_all`" + ` and ` + "`first_one`" + ` again, ` + "`tenth_one" + `
broken over lines` + "`" + `
`

func TestClaimsKnowTheirLines(t *testing.T) {
	t.Parallel()
	var got []string
	for _, c := range evidence.Claims(document) {
		got = append(got, fmt.Sprint(c.Line, " ", c.Text))
	}
	want := []string{"4 head_line", "6 first_one", "6 second_one", "7 third_one", "11 fourth_one", "12 fifth_one", "14 sixth_one", "15 seventh_one", "19 eighth_one", "27 ninth_one"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestClaimsAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for n := range 3 * evidence.MaxClaims {
		fmt.Fprintf(&text, "The `some_name_%d`.\n", n)
	}
	if got := len(evidence.Claims(text.String())); got != 20 || evidence.MaxClaims != 20 {
		t.Errorf("%d claims of at most %d", got, evidence.MaxClaims)
	}
}

func FuzzClaims(f *testing.F) {
	f.Add(document)
	f.Add("`a_b` `` `c_d` ``")
	f.Add("- `x_y`\n\t```\n`")
	f.Fuzz(func(t *testing.T, text string) {
		claims := evidence.Claims(text)
		if len(claims) > evidence.MaxClaims {
			t.Errorf("%d claims", len(claims))
		}
		for _, c := range claims {
			if c.Text == "" || c.Kind == "" || c.Line < 1 || c.Line > strings.Count(text, "\n")+1 {
				t.Errorf("%+v", c)
			}
			// What travels is the claim without its quotation; it must mean the same there.
			if again := evidence.Claims("`" + c.Text + "`"); c.Kind == evidence.Path && len(again) == 1 && again[0].Text != c.Text {
				t.Errorf("%+v became %+v", c, again[0])
			}
		}
	})
}
