package web

import (
	"strings"
	"testing"
)

// What a memory says is shown as text, whatever it tries to be.
func TestMarkdownIsHarmless(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text    string
		forbids []string
		wants   string
	}{
		"script":        {"<script>alert(1)</script> hello", []string{"<script"}, "hello"},
		"handler":       {`<img src=x onerror=alert(1)>`, []string{"<img"}, ""},
		"data link":     {"[x](data:text/html,<script>)", []string{"data:"}, "x"},
		"script link":   {"[x](javascript:alert(1))", []string{"javascript:"}, "x"},
		"image":         {"![x](https://example.org/track.png)", []string{"<img"}, ""},
		"style":         {`<p style="position:fixed">x</p>`, []string{"<p style"}, "x"},
		"frame":         {`<iframe src="https://example.org"></iframe>`, []string{"<iframe"}, ""},
		"bidi":          {"safe \u202egnp.exe\u202c", []string{"\u202e"}, "safe"},
		"code":          {"use `a < b`", nil, "<code>a &lt; b</code>"},
		"link":          {"[docs](https://example.org/x)", nil, `rel="nofollow noreferrer"`},
		"table":         {"|a|b|\n|-|-|\n|1|2|", nil, "<table>"},
		"fence":         {"```\n<b>\n```", []string{"<b>"}, "&lt;b&gt;"},
		"unclosed":      {"<div><div><div", []string{"<div"}, ""},
		"svg":           {`<svg onload=alert(1)>`, []string{"<svg"}, ""},
		"autolink text": {"see www.example.org", nil, "example.org"},
	} {
		out, err := markdown(test.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range test.forbids {
			if strings.Contains(string(out), f) {
				t.Errorf("%s: %q is in %q", name, f, out)
			}
		}
		if !strings.Contains(string(out), test.wants) {
			t.Errorf("%s: %q lacks %q", name, out, test.wants)
		}
	}
}

func TestLocalAddresses(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"/p/shop/": "/p/shop/", "/p/a?q=1#x": "/p/a?q=1#x", "": "/", "https://example.org/": "/", "//example.org/x": "/", "/\\example.org": "/", "javascript:alert(1)": "/", "p/x": "/", "/a\nb": "/",
	} {
		if got := local(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

// A text of 16 kB must not become a page of many megabytes: the cells that rows of a table lack are made up.
func TestLargeTablesStayText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		columns, rows int
		table         bool
	}{"small": {10, 100, true}, "wide": {100, 200, false}, "as large as a memory": {2500, 3000, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "before\n\n" + strings.Repeat("|a", test.columns) + "\n" + strings.Repeat("|-", test.columns) + "\n" + strings.Repeat("b\n", test.rows) + "\nafter"
			got, err := markdown(text)
			if err != nil {
				t.Fatal(err)
			}
			if table := strings.Contains(string(got), "<td"); table != test.table || !strings.Contains(string(got), "<p>after</p>") {
				t.Errorf("a table is %v in %d bytes", table, len(got))
			}
			if len(got) > 20*mostCells {
				t.Errorf("%d bytes become %d", len(text), len(got))
			}
		})
	}
}
