package git_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

func TestMirrorFollowsABranch(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a", "1").Commit("one")
	dir := filepath.Join(t.TempDir(), "deep", "mirror")
	remote := git.Remote{URL: "file://" + g.Dir, Protocols: []string{"file"}}
	repo, tip, err := git.Mirror(t.Context(), dir, remote)
	if err != nil || tip.ID != g.Head() || repo.Branch(t.Context()) != "main" {
		t.Fatalf("%v, %v", tip, err)
	}
	g.Write("a", "2").Commit("two")
	if _, tip, err = git.Mirror(t.Context(), dir, remote); err != nil || tip.Subject != "two" {
		t.Fatalf("after a push: %v, %v", tip, err)
	}
	g.Git("reset", "--hard", "HEAD~1")
	g.Write("b", "1").Commit("rewritten")
	if _, tip, err = git.Mirror(t.Context(), dir, remote); err != nil || tip.Subject != "rewritten" {
		t.Fatalf("after the branch was rewritten: %v, %v", tip, err)
	}
	g.Branch("side").Write("c", "1").Commit("aside")
	remote.Branch = "side"
	if repo, tip, err = git.Mirror(t.Context(), dir, remote); err != nil || tip.Subject != "aside" || repo.Branch(t.Context()) != "side" {
		t.Fatalf("another branch: %v, %v", tip, err)
	}
}

func TestMirrorRefuses(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a", "1").Commit("one")
	for name, remote := range map[string]git.Remote{
		"a file, which is not among the protocols": {URL: "file://" + g.Dir},
		"a folder":                   {URL: g.Dir},
		"a program":                  {URL: "ext::sh -c touch% /tmp/never"},
		"an option for an address":   {URL: "--upload-pack=touch /tmp/never"},
		"a branch that is not there": {URL: "file://" + g.Dir, Branch: "gone", Protocols: []string{"file"}},
	} {
		_, _, err := git.Mirror(t.Context(), filepath.Join(t.TempDir(), "m"), remote)
		if !problem.Is(err, problem.Unavailable) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
