package git_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// A clone without texts brings those that are asked for from where it came. Where that is out of reach nothing is made up: the
// error says what could not be had.
func TestTreeOfAPartialClone(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a", "what it says").Commit("one")
	g.Git("config", "uploadpack.allowFilter", "true")
	g.Git("config", "uploadpack.allowAnySHA1InWant", "true")
	partial := func() (*git.Repository, string) {
		dir := filepath.Join(t.TempDir(), "partial")
		g.Git("clone", "--quiet", "--bare", "--filter=blob:none", "file://"+g.Dir, dir)
		repo, err := git.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return repo, dir
	}
	repo, _ := partial()
	tree, err := repo.Tree(t.Context(), "")
	if err != nil || len(tree) != 1 || tree[0].Path != "a" || tree[0].Size != int64(len("what it says")) {
		t.Fatalf("%+v, %v", tree, err)
	}
	blobs, err := repo.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	if text, err := blobs.Read(tree[0].Blob, 100); err != nil || string(text) != "what it says" {
		t.Errorf("reading it gives %q, %v", text, err)
	}
	cut, dir := partial()
	g.Git("-C", dir, "remote", "set-url", "origin", "file://"+filepath.Join(dir, "gone"))
	if tree, err := cut.Tree(t.Context(), ""); err == nil && (len(tree) != 1 || tree[0].Size != git.Absent) || err != nil && !strings.Contains(err.Error(), "gone") {
		t.Errorf("out of reach: %+v, %v", tree, err)
	}
}

// The texts that a partial clone lacks come in one fetch and not one by one, and those that are here are not fetched again.
func TestBringFetchesOnce(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	for n := range 9 {
		g.Write("f"+strconv.Itoa(n), "text "+strconv.Itoa(n))
	}
	g.Commit("one")
	g.Git("config", "uploadpack.allowFilter", "true")
	g.Git("config", "uploadpack.allowAnySHA1InWant", "true")
	dir := filepath.Join(t.TempDir(), "partial")
	g.Git("clone", "--quiet", "--bare", "--filter=blob:none", "file://"+g.Dir, dir)
	packs := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.promisor"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	repo, err := git.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	before := packs()
	for range 2 {
		tree, err := repo.Tree(t.Context(), "")
		if err != nil || len(tree) != 9 || tree[3].Size != 6 {
			t.Fatalf("%+v, %v", tree, err)
		}
		if got := packs() - before; got != 1 {
			t.Errorf("%d fetches", got)
		}
	}
}
