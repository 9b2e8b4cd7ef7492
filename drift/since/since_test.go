package since_test

import (
	"strings"
	"testing"

	"github.com/stele-dev/stele/drift/since"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// repository is one that a test writes commits to.
type repository struct {
	*gittest.Repo

	t *testing.T
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	return &repository{gittest.New(t), t}
}

// commit writes files ("" removes one) and gives the commit.
func (r *repository) commit(message string, files map[string]string) string {
	r.t.Helper()
	for name, text := range files {
		if text == "" {
			r.Remove(name)
		} else {
			r.Write(name, text)
		}
	}
	return r.Commit(message).Head()
}

func (r *repository) compare(s since.Span) since.Changes {
	r.t.Helper()
	repo, err := git.Open(r.t.Context(), r.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := since.Compare(r.t.Context(), repo, s)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func render(f since.File) string {
	var b strings.Builder
	b.WriteString(string(f.State) + " " + f.Path + " " + f.Was + " " + f.Note + "\n")
	for _, l := range f.Lines {
		if l.Sign != '@' {
			b.WriteString(string(rune(l.Sign)) + l.Text + "\n")
		}
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	body := strings.Repeat("line that stays as it is\n", 10)
	first := r.commit("Begin", map[string]string{"shop/stock.go": "old\n--- a\n" + body, "shop/move.go": body + "x\n", "web/page.ts": "one\n", "shop/gone.go": "was here\n", "shop/logo.png": "a\x00b"})
	r.commit("Elsewhere", map[string]string{"web/page.ts": "two\n"})
	second := r.commit("Rewrite the stock", map[string]string{"shop/stock.go": "new\n--- a\n" + body, "shop/move.go": "", "shop/moved/move.go": body + "x\n", "shop/gone.go": "", "shop/new.go": "\tfresh\n",
		"shop/logo.png": "a\x00c"})
	got := r.compare(since.Span{From: first, To: second, Patterns: []string{"shop/**"}})
	var all []string
	for _, f := range got.Files {
		all = append(all, render(f))
	}
	want := []string{
		"removed shop/gone.go  \n-was here\n",
		"changed shop/logo.png  binary\n",
		"moved shop/moved/move.go shop/move.go \n",
		"added shop/new.go  \n+\tfresh\n",
		"changed shop/stock.go  \n-old\n+new\n --- a\n line that stays as it is\n line that stays as it is\n",
	}
	if strings.Join(all, "") != strings.Join(want, "") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(all, ""), strings.Join(want, ""))
	}
	if len(got.Commits) != 1 || got.Commits[0].Subject != "Rewrite the stock" || got.From.ID != first || got.To.ID != second {
		t.Errorf("%+v", got)
	}
	if none := r.compare(since.Span{From: first, To: second, Patterns: []string{"mail/**"}}); len(none.Files)+len(none.Commits) != 0 {
		t.Errorf("%+v", none)
	}
	// A file that moved away from the patterns is told of as well.
	if moved := r.compare(since.Span{From: first, To: second, Patterns: []string{"shop/move.go"}}); len(moved.Files) != 1 || moved.Files[0].Was != "shop/move.go" {
		t.Errorf("%+v", moved)
	}
}

// What is told has an end, however much changed.
func TestCompareIsBounded(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	files, later := map[string]string{"wide.js": "x"}, map[string]string{"wide.js": strings.Repeat("y", 100_000), "long.txt": strings.Repeat("all\nnew\n", 1000)}
	for i := range since.MaxFiles + 5 {
		name := "many/" + strings.Repeat("f", i+1)
		files[name], later[name] = "before\n", "after\n"
	}
	first, second := r.commit("a", files), r.commit("b", later)
	got := r.compare(since.Span{From: first, To: second, Patterns: []string{"**"}})
	if len(got.Files) != since.MaxFiles || got.More != 7 {
		t.Errorf("%d files and %d more", len(got.Files), got.More)
	}
	for _, f := range got.Files {
		for _, l := range f.Lines {
			if len(l.Text) > 600 {
				t.Errorf("%s has a line of %d bytes", f.Path, len(l.Text))
			}
		}
		if f.Path == "long.txt" && (f.More == 0 || len(f.Lines) > 200) {
			t.Errorf("%d lines and %d more", len(f.Lines), f.More)
		}
	}
	repo, err := git.Open(t.Context(), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := since.Compare(t.Context(), repo, since.Span{From: "--output=/tmp/x", To: second}); err == nil {
		t.Error("an option is taken for a commit")
	}
}
