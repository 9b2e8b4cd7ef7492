package git_test

import (
	"slices"
	"testing"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// What the next commit would hold, before there is any commit too; what is only in the folder is not tracked.
func TestTrackedIsWhatTheIndexNames(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := open(t, g.Dir)
	if got, err := r.Tracked(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("an empty repository: %v, %v", got, err)
	}
	g.Write("b/two words.go", "package b\n").Write("a.go", "package a\n").Link("c", "a.go")
	got, err := r.Tracked(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.go", "b/two words.go", "c"}; !slices.Equal(paths(got), want) || got[2].Mode != git.Symlink || got[0].Blob == "" {
		t.Errorf("got %+v, want %v", got, want)
	}
	g.Commit("first").Branch("side").Write("a.go", "package side\n").Commit("side").Checkout("main").Write("a.go", "package main\n").Commit("main")
	if got, err := r.Tracked(t.Context()); err != nil || !slices.Equal(paths(got), []string{"a.go", "b/two words.go", "c"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := open(t, g.Bare().Dir).Tracked(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("without a working tree: %v, %v", got, err)
	}
}

func paths(entries []git.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}
