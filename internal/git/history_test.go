package git_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

// awkward are names that a shell, a line or a text would not survive.
var awkward = []string{"a b.txt", "new\nline.go", `quo"te'.go`, "ta\tb", "caf\xe9.go", "日本.go", "-n", "[x]*.go", ":!top", "back\\slash"}

const poem = "one line that is long enough\nanother line of the poem\na third line, to be similar\nand the last one\n"

func TestTreeListsEveryKindOfEntry(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	for n, name := range awkward {
		g.Write(name, strings.Repeat("x", n))
	}
	g.Write("dir/run.sh", "#!/bin/sh\n").Link("loop", "loop").Link("up", "..").Submodule("vendor/lib", strings.Repeat("ab", 20))
	g.Write("a/b", "").Write("a.c", "").Write("a-b", "")
	g.Git("update-index", "--chmod=+x", "dir/run.sh")
	g.Commit("everything")
	entries, err := open(t, g.Dir).Tree(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]git.Entry{}
	for _, e := range entries {
		got[e.Path] = e
	}
	for n, name := range awkward {
		if e := got[name]; e.Mode != git.Regular || e.Size != int64(n) || len(e.Blob) != 40 {
			t.Errorf("%q is %+v", name, e)
		}
	}
	for name, want := range map[string]git.Mode{"dir/run.sh": git.Executable, "loop": git.Symlink, "up": git.Symlink, "vendor/lib": git.Submodule} {
		if got[name].Mode != want {
			t.Errorf("%q has mode %d, want %d", name, got[name].Mode, want)
		}
	}
	if len(entries) != len(awkward)+7 || !slices.IsSortedFunc(entries, func(a, b git.Entry) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("%d entries: %v", len(entries), entries)
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"empty": "", "text": "a\nb", "binary": "\x00\x01\xff\n\n", "large": strings.Repeat("line\n", 50_000)}
	g := gittest.New(t).WriteAll(texts).Commit("texts")
	r := open(t, g.Dir)
	entries, err := r.Tree(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const limit = 1000
	for range 2 { // a refusal does not disturb what follows
		for _, e := range entries {
			text, err := b.Read(e.Blob, limit)
			large, isLarge := errors.AsType[*git.TooLargeError](err)
			switch {
			case e.Path == "large" && (!isLarge || large.Size != e.Size || large.Limit != limit):
				t.Errorf("large: %v", err)
			case e.Path != "large" && (err != nil || string(text) != texts[e.Path]):
				t.Errorf("%s: %q, %v", e.Path, text, err)
			}
		}
		for _, bad := range []string{strings.Repeat("0", 40), g.Head(), "HEAD:text", "", "a\nb"} {
			if text, err := b.Read(bad, limit); err == nil {
				t.Errorf("Read(%q) gave %q", bad, text)
			}
		}
	}
	b.Close()
	if _, err := b.Read(entries[0].Blob, limit); err == nil {
		t.Error("read after Close")
	}
}

func TestBlobsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a", "text").Commit("first")
	ctx, end := context.WithCancel(t.Context())
	b, err := open(t, g.Dir).Blobs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	end()
	for range 1000 { // git may still answer what it was asked before it ended
		if _, err = b.Read(g.Git("rev-parse", "HEAD:a"), 10); err != nil {
			return
		}
	}
	t.Error("it goes on reading")
}

// told is a history as lines: "subject: status path<from …".
func told(t *testing.T, r *git.Repository, q git.HistoryQuery) []string {
	t.Helper()
	var out []string
	for c, err := range r.History(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.Commit.Subject+":"+changes(c.Files))
	}
	return out
}

func changes(files []git.FileChange) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, " %c %s", f.Status, f.Path)
		if f.From != "" {
			b.WriteString("<" + f.From)
		}
	}
	return b.String()
}

func grown(t *testing.T) *gittest.Repo {
	t.Helper()
	g := gittest.New(t).Write("poem", poem).Write("other", "x\n").Commit("add")
	g.Branch("side").Write("side", "s\n").Commit("on the side").Checkout("main")
	g.Write("other", "y\n").Commit("change")
	g.Merge("side")
	g.Rename("poem", "dir/poem").Commit("move")
	return g.Remove("other").Commit("remove")
}

func TestHistory(t *testing.T) {
	t.Parallel()
	g := grown(t)
	r := open(t, g.Dir)
	for name, tc := range map[string]struct {
		query git.HistoryQuery
		want  []string
	}{
		"all": {git.HistoryQuery{}, []string{
			"remove: D other", "move: R dir/poem<poem", "Merge branch 'side': A side", "change: M other", "add: A other A poem",
		}},
		"bounded":           {git.HistoryQuery{Limit: 2}, []string{"remove: D other", "move: R dir/poem<poem"}},
		"one file":          {git.HistoryQuery{Paths: []string{"other"}}, []string{"remove: D other", "change: M other", "add: A other"}},
		"a folder":          {git.HistoryQuery{Paths: []string{"dir"}}, []string{"move: A dir/poem"}},
		"whole commits":     {git.HistoryQuery{Paths: []string{"poem"}, Whole: true}, []string{"move: R dir/poem<poem", "add: A other A poem"}},
		"from a commit":     {git.HistoryQuery{Commit: "HEAD~2", Limit: 1}, []string{"Merge branch 'side': A side"}},
		"between":           {git.HistoryQuery{Until: "HEAD~2"}, []string{"remove: D other", "move: R dir/poem<poem"}},
		"since":             {git.HistoryQuery{Since: gittest.First.Add(150 * 60 * 1e9)}, []string{"remove: D other", "move: R dir/poem<poem", "Merge branch 'side': A side"}},
		"a literal pattern": {git.HistoryQuery{Paths: []string{"o*"}}, nil},
		"nothing":           {git.HistoryQuery{Paths: []string{"unknown"}}, nil},
	} {
		if got := told(t, r, tc.query); !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, tc.want)
		}
	}
	for c, err := range r.History(t.Context(), git.HistoryQuery{}) { // leaving early is no fault
		if err != nil || c.Commit.ID != g.Head() {
			t.Errorf("first is %v, %v", c, err)
		}
		f := c.Files[0]
		if f.New != "" || f.Old != g.Git("rev-parse", "HEAD~1:other") {
			t.Errorf("blobs of %+v", f)
		}
		break
	}
	for _, q := range []git.HistoryQuery{{Commit: "nowhere"}, {Until: "nowhere"}} {
		for _, err := range r.History(t.Context(), q) {
			if code(err) != problem.NotFound {
				t.Errorf("%+v: %v", q, err)
			}
		}
	}
}

func TestAwkwardNamesSurviveHistory(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	for _, name := range awkward {
		g.Write(name, poem+name)
	}
	g.Commit("add")
	for _, name := range awkward {
		g.Rename(name, "to/"+name)
	}
	g.Commit("move")
	r := open(t, g.Dir)
	diff, err := r.Diff(t.Context(), "HEAD~1", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range awkward {
		if !slices.ContainsFunc(diff, func(f git.FileChange) bool { return f.Status == 'R' && f.From == name && f.Path == "to/"+name }) {
			t.Errorf("%q did not move: %q", name, changes(diff))
		}
		if got := told(t, r, git.HistoryQuery{Paths: []string{"to/" + name}}); !slices.Equal(got, []string{"move: A to/" + name}) {
			t.Errorf("history of %q: %q", name, got)
		}
	}
}

func TestAncestry(t *testing.T) {
	t.Parallel()
	g := grown(t)
	side, fork := g.Git("rev-parse", "side"), g.Git("rev-parse", "side~1")
	g.Git("checkout", "--quiet", "--orphan", "stranger")
	g.Commit("unrelated")
	r := open(t, g.Dir)
	ids, err := r.Ancestors(t.Context(), "main", 4)
	if want := strings.Fields(g.Git("rev-list", "--first-parent", "-n", "4", "main")); err != nil || !slices.Equal(ids, want) {
		t.Errorf("ancestors: %v, %v; want %v", ids, err, want)
	}
	if slices.Contains(ids, side) {
		t.Error("the side of a merge is no first parent")
	}
	for _, tc := range []struct{ a, b, base string }{
		{"main~3", "side", fork}, {"main", "side", side}, {"main", "main", g.Git("rev-parse", "main")}, {"main", "stranger", ""},
	} {
		if base, err := r.MergeBase(t.Context(), tc.a, tc.b); err != nil || base != tc.base {
			t.Errorf("merge base of %s and %s: %q, %v; want %q", tc.a, tc.b, base, err, tc.base)
		}
	}
	for _, tc := range []struct {
		a, b string
		want bool
	}{{"side", "main", true}, {"main", "side", false}, {"main", "main", true}, {"stranger", "main", false}} {
		if got, err := r.Contains(t.Context(), tc.a, tc.b); err != nil || got != tc.want {
			t.Errorf("%s in %s: %v, %v", tc.a, tc.b, got, err)
		}
	}
	if _, err := r.Contains(t.Context(), "nowhere", "main"); code(err) != problem.NotFound {
		t.Errorf("an unknown commit: %v", err)
	}
}

// A user's configuration decides how git talks to people, not how it talks to programs.
func TestConfigurationChangesNothing(t *testing.T) {
	t.Parallel()
	g := grown(t)
	r := open(t, g.Dir)
	want := told(t, r, git.HistoryQuery{})
	for _, setting := range []string{
		"diff.renames=false", "core.quotePath=true", "color.ui=always", "log.follow=true", "log.diffMerges=combined", "diff.external=false", "log.date=relative",
		"diff.noprefix=true", "log.showSignature=true", "log.mailmap=true", "log.decorate=full", "core.pager=false", "log.showRoot=false", "diff.relative=true",
	} {
		key, value, _ := strings.Cut(setting, "=")
		g.Git("config", key, value)
	}
	if got := told(t, r, git.HistoryQuery{}); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
