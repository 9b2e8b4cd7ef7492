package git_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

func TestBlame(t *testing.T) {
	t.Parallel()
	const name = "caf\xe9 \"x\".md"
	g := gittest.New(t).Write(name, "one\ntwo\nthree\n").Commit("add")
	added := g.Head()
	g.Branch("side").Write(name, "one\n2\nthree\n").Commit("on the side").Checkout("main").Write("other", "").Commit("meanwhile").Merge("side")
	merged := g.Head()
	g.Write(name, "one\n2\n   three\nfour\n").Commit("indent and add")
	grown := g.Head()
	g.Rename(name, "to.md").Commit("rename")
	r := open(t, g.Dir)
	hour := func(n int) time.Time { return gittest.First.Add(time.Duration(n) * time.Hour) }
	all := map[int]git.LineOrigin{
		1: {Commit: added, Time: hour(0)}, 2: {Commit: merged, Time: hour(3)}, 3: {Commit: added, Time: hour(0)}, 4: {Commit: grown, Time: hour(4)},
	}
	for file, commit := range map[string]string{name: "HEAD~1", "to.md": ""} {
		if got, err := r.Blame(t.Context(), commit, file); err != nil || !maps.Equal(got, all) {
			t.Errorf("%q: %v, %v; want %v", file, got, err, all)
		}
	}
	some := maps.Clone(all)
	delete(some, 2)
	if got, err := r.Blame(t.Context(), "", "to.md", git.Lines{First: 1, Last: 1}, git.Lines{First: 3, Last: 4}); err != nil || !maps.Equal(got, some) {
		t.Errorf("ranges: %v, %v; want %v", got, err, some)
	}
	if got, err := r.Blame(t.Context(), "", "missing.md"); err == nil {
		t.Errorf("a missing file: %v", got)
	}
	if _, err := r.Blame(t.Context(), "nowhere", name); code(err) != problem.NotFound {
		t.Errorf("an unknown commit: %v", err)
	}
}

// A clone need not have every text that its trees name.
func TestAbsentTexts(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a", "here\n").Write("b", "lost\n").Commit("add")
	lost := g.Git("rev-parse", "HEAD:b")
	if err := os.Remove(filepath.Join(g.Dir, ".git", "objects", lost[:2], lost[2:])); err != nil {
		t.Fatal(err)
	}
	r := open(t, g.Dir)
	entries, err := r.Tree(t.Context(), "")
	if err != nil || len(entries) != 2 || entries[0].Size != 5 || entries[1].Size != git.Absent {
		t.Fatalf("got %v, %v", entries, err)
	}
	b, err := r.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Read(lost, 10); !errors.Is(err, git.ErrAbsent) {
		t.Errorf("got %v", err)
	}
	if text, err := b.Read(entries[0].Blob, 10); err != nil || string(text) != "here\n" {
		t.Errorf("after it: %q, %v", text, err)
	}
}
