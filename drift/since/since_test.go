package since_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-dev/stele/drift/since"
	"github.com/stele-dev/stele/internal/git"
)

// repository is a repository that a test writes commits to.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Kim", "GIT_AUTHOR_EMAIL=kim@example.org", "GIT_COMMITTER_NAME=Kim", "GIT_COMMITTER_EMAIL=kim@example.org",
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files (nil removes one) and gives the commit.
func (r *repository) commit(message string, files map[string]string) string {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if text == "" {
			r.git("rm", "-q", name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", message)
	return r.git("rev-parse", "HEAD")
}

func (r *repository) compare(s since.Span) since.Changes {
	r.t.Helper()
	repo, err := git.Open(r.t.Context(), r.dir)
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
	repo, err := git.Open(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := since.Compare(t.Context(), repo, since.Span{From: "--output=/tmp/x", To: second}); err == nil {
		t.Error("an option is taken for a commit")
	}
}
