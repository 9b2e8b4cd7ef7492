package git_test

import (
	"os"
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

// A fetch that was cut off leaves locks and unfinished packs, which must neither stop the next one nor stay.
func TestMirrorAfterOneThatWasCutOff(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a", "1").Commit("one")
	dir := filepath.Join(t.TempDir(), "mirror")
	remote := git.Remote{URL: "file://" + g.Dir, Protocols: []string{"file"}}
	if _, _, err := git.Mirror(t.Context(), dir, remote); err != nil {
		t.Fatal(err)
	}
	left := []string{"HEAD.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_x1", "packed-refs.lock"}
	for _, name := range left {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.Write("a", "2").Commit("two")
	if _, tip, err := git.Mirror(t.Context(), dir, remote); err != nil || tip.Subject != "two" {
		t.Fatalf("%v, %v", tip, err)
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// Another address is another repository: nothing of the one before stays.
func TestMirrorOfAnotherAddress(t *testing.T) {
	t.Parallel()
	one, two := gittest.New(t).Write("a", "1").Commit("one"), gittest.New(t).Write("b", "1").Commit("two")
	dir := filepath.Join(t.TempDir(), "mirror")
	if _, _, err := git.Mirror(t.Context(), dir, git.Remote{URL: "file://" + one.Dir, Protocols: []string{"file"}}); err != nil {
		t.Fatal(err)
	}
	repo, tip, err := git.Mirror(t.Context(), dir, git.Remote{URL: "file://" + two.Dir, Protocols: []string{"file"}})
	if err != nil || tip.Subject != "two" {
		t.Fatalf("%v, %v", tip, err)
	}
	if c, err := repo.Commit(t.Context(), one.Head()); err == nil {
		t.Errorf("the repository before is still there: %v", c)
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
