package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

func open(t *testing.T, dir string) *git.Repository {
	t.Helper()
	r, err := git.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func code(err error) problem.Code {
	if p, ok := problem.As(err); ok {
		return p.Code
	}
	return ""
}

func TestOpenFindsTheTopOfTheWorkingTree(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a/b/c.go", "package b\n").Commit("first")
	top, err := filepath.EvalSymlinks(g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		g.Dir:                             top,
		filepath.Join(g.Dir, "a", "b"):    top,
		filepath.Join(g.Dir, ".git"):      "",
		g.Bare().Dir:                      "",
		filepath.Join(g.Dir, "a", "..//"): top,
	} {
		r := open(t, dir)
		if r.Root() != want {
			t.Errorf("Open(%s).Root() = %q, want %q", dir, r.Root(), want)
		}
		if c, err := r.Commit(t.Context(), ""); err != nil || c.Subject != "first" {
			t.Errorf("Open(%s): HEAD is %v, %v", dir, c, err)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	file := filepath.Join(outside, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{outside, file, filepath.Join(outside, "missing"), "-x"} {
		if _, err := git.Open(t.Context(), dir); code(err) != problem.Invalid {
			t.Errorf("Open(%s): %v, want an invalid argument", dir, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := git.Open(ended, outside); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// Not parallel: the environment is that of the process.
func TestTheEnvironmentNamesNoOtherRepository(t *testing.T) {
	other := gittest.New(t).Commit("other")
	g := gittest.New(t).Commit("mine")
	t.Setenv("GIT_DIR", filepath.Join(other.Dir, ".git"))
	t.Setenv("GIT_WORK_TREE", other.Dir)
	t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other.Dir, ".git", "objects"))
	t.Setenv("GIT_LITERAL_PATHSPECS", "0")
	if c, err := open(t, g.Dir).Commit(t.Context(), ""); err != nil || c.Subject != "mine" {
		t.Errorf("HEAD is %v, %v", c, err)
	}
}

func TestGitIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := git.Open(t.Context(), t.TempDir()); code(err) != problem.Unavailable || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v", err)
	}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a", "1\n").Commit("first").
		As("Zoë Ünal", "zoe@example.com").At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))).
		Write("a", "2\n").Commit("subject over\ntwo lines\n\nand a body")
	g.Git("tag", "-m", "release", "v1")
	r := open(t, g.Dir)
	parent := g.Git("rev-parse", "HEAD~1")
	for _, ref := range []string{"", "HEAD", "main", "v1", g.Head(), g.Head()[:10]} {
		c, err := r.Commit(t.Context(), ref)
		if err != nil {
			t.Fatalf("%q: %v", ref, err)
		}
		if c.ID != g.Head() || c.Tree != g.Git("rev-parse", "HEAD^{tree}") || !slices.Equal(c.Parents, []string{parent}) || c.Author != "Zoë Ünal" ||
			c.Email != "zoe@example.com" || c.Subject != "subject over two lines" || c.Time != time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC) {
			t.Errorf("%q is %+v", ref, c)
		}
	}
	for ref, want := range map[string]problem.Code{
		"nowhere": problem.NotFound, "--help": problem.Invalid, "-n1": problem.Invalid, "a\nb": problem.Invalid, "HEAD~9": problem.NotFound,
		"HEAD..main": problem.NotFound, "HEAD:a": problem.NotFound, strings.Repeat("1", 40): problem.NotFound, "main -- a": problem.NotFound,
	} {
		_, err := r.Commit(t.Context(), ref)
		if code(err) != want {
			t.Errorf("%q: %v, want %s", ref, err, want)
		}
		if want == problem.NotFound && !strings.Contains(err.Error(), "git fetch") {
			t.Errorf("%q: %v does not say what to fetch", ref, err)
		}
	}
}

func TestARepositoryWithoutCommits(t *testing.T) {
	t.Parallel()
	r := open(t, gittest.New(t).Dir)
	_, err := r.Commit(t.Context(), "")
	if code(err) != problem.NotFound || !strings.Contains(err.Error(), "no commit yet") {
		t.Errorf("got %v", err)
	}
	if _, err := r.Tree(t.Context(), ""); code(err) != problem.NotFound {
		t.Errorf("tree: %v", err)
	}
	if b := r.Branch(t.Context()); b != "main" {
		t.Errorf("branch %q", b)
	}
}

func TestBranches(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Commit("first").Branch("trunk").Commit("second")
	r := open(t, g.Dir)
	if b, d := r.Branch(t.Context()), r.DefaultBranch(t.Context()); b != "trunk" || d != "main" {
		t.Errorf("branch %q, default %q", b, d)
	}
	clone := g.Clone() // its origin says trunk
	clone.Branch("work")
	if d := open(t, clone.Dir).DefaultBranch(t.Context()); d != "trunk" {
		t.Errorf("the default of a clone is %q", d)
	}
	g.Checkout(g.Head())
	if b := r.Branch(t.Context()); b != "" {
		t.Errorf("detached, the branch is %q", b)
	}
	g.Checkout("trunk").Git("branch", "-D", "main")
	if d := r.DefaultBranch(t.Context()); d != "trunk" {
		t.Errorf("without main, the default is %q", d)
	}
}

func TestRemotesComeOriginFirst(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Commit("first")
	r := open(t, g.Dir)
	if got := r.Remotes(t.Context()); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	g.Git("remote", "add", "fork", "https://example.com/b.git")
	g.Git("remote", "add", "origin", "https://example.com/a.git")
	if got, want := r.Remotes(t.Context()), []string{"https://example.com/a.git", "https://example.com/b.git"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShallow(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Commit("one").Commit("two").Commit("three")
	first := g.Git("rev-parse", "HEAD~2")
	clone := open(t, g.Shallow(2).Dir)
	for r, want := range map[*git.Repository]bool{open(t, g.Dir): false, clone: true} {
		if got, err := r.Shallow(t.Context()); err != nil || got != want {
			t.Errorf("shallow is %v, %v; want %v", got, err, want)
		}
	}
	if ids, err := clone.Ancestors(t.Context(), "", 10); err != nil || len(ids) != 2 {
		t.Errorf("ancestors of a shallow clone: %v, %v", ids, err)
	}
	_, err := clone.Commit(t.Context(), first)
	if code(err) != problem.NotFound || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("what was cut off: %v", err)
	}
}
