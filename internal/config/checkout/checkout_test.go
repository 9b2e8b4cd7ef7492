package checkout_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/config/checkout"
	"github.com/stele-dev/stele/internal/problem"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"https://code.example/team/shop.git":            "code.example/team/shop",
		"https://code.example/team/shop/":               "code.example/team/shop",
		"https://sam:secret@Code.Example/Team/Shop.git": "code.example/Team/Shop",
		"https://code.example:443/team/shop":            "code.example/team/shop",
		"https://code.example:8443/team/shop":           "code.example:8443/team/shop",
		"http://code.example/team/shop.git/":            "code.example/team/shop",
		"ssh://git@code.example:22/team/shop.git":       "code.example/team/shop",
		"ssh://git@code.example:2222/team/shop.git":     "code.example:2222/team/shop",
		"git@code.example:team/shop.git":                "code.example/team/shop",
		"code.example:team/shop":                        "code.example/team/shop",
		"git@CODE.example:/team/shop.git":               "code.example/team/shop",
		"git://code.example/team/shop.git":              "code.example/team/shop",
		"ssh://git@[2001:db8::1]/team/shop.git":         "2001:db8::1/team/shop",
		"  https://code.example/team/shop.git\n":        "code.example/team/shop",
		"/srv/git/shop.git":                             "",
		"../shop":                                       "",
		"file:///srv/git/shop.git":                      "",
		`C:\git\shop`:                                   "",
		"https://code.example":                          "",
		"https://%zz":                                   "",
		"":                                              "",
	} {
		if got := checkout.Normalize(remote); got != want {
			t.Errorf("%q: got %q, want %q", remote, got, want)
		}
	}
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Kim", "GIT_AUTHOR_EMAIL=kim@example.org", "GIT_COMMITTER_NAME=Kim", "GIT_COMMITTER_EMAIL=kim@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// repository makes one with a commit, in a folder called shop below a fresh one.
func repository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.MkdirAll(filepath.Join(dir, "api"), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "init", "-q", "-b", "main")
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

func find(t *testing.T, dir string) *checkout.Checkout {
	t.Helper()
	c, err := checkout.Find(t.Context(), dir)
	if err != nil || c == nil {
		t.Fatalf("Find(%s) = %v, %v", dir, c, err)
	}
	return c
}

// shares tells whether the second finds the project that was made for the first.
func shares(a, b *checkout.Checkout) bool {
	known := a.Identities()
	return slices.ContainsFunc(b.Identities(), func(id string) bool { return slices.Contains(known, id) })
}

func TestWorktreesAndClonesShare(t *testing.T) {
	t.Parallel()
	origin := repository(t)
	tree := filepath.Join(t.TempDir(), "elsewhere")
	run(t, origin, "worktree", "add", "-q", tree)
	clone := filepath.Join(t.TempDir(), "copy")
	run(t, filepath.Dir(origin), "clone", "-q", origin, clone)

	first := find(t, filepath.Join(origin, "api"))
	if first.Name() != "shop" || first.Remote != "" {
		t.Errorf("got %+v, name %q", first, first.Name())
	}
	for _, dir := range []string{tree, clone} {
		other := find(t, dir)
		if !shares(first, other) || !shares(other, first) {
			t.Errorf("%s: %v does not share with %v", dir, other.Identities(), first.Identities())
		}
	}
	if find(t, tree).Name() != "shop" {
		t.Errorf("the worktree is called %q", find(t, tree).Name())
	}
}

func TestSameRemoteShares(t *testing.T) {
	t.Parallel()
	a, b := repository(t), repository(t)
	if shares(find(t, a), find(t, b)) {
		t.Error("two repositories of the same folder name share")
	}
	run(t, a, "remote", "add", "origin", "git@code.example:team/shop.git")
	run(t, b, "remote", "add", "upstream", "https://kim:token@CODE.example/team/shop")
	ca, cb := find(t, a), find(t, b)
	if !shares(ca, cb) || ca.Remote != "code.example/team/shop" {
		t.Errorf("%v does not share with %v", ca.Identities(), cb.Identities())
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	if c, err := checkout.Find(t.Context(), t.TempDir()); !errors.Is(err, checkout.ErrOutside) {
		t.Errorf("outside any repository: %v, %v", c, err)
	}
	if checkout.UserName(t.Context(), t.TempDir()) == "" {
		t.Error("nobody works here")
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	c := find(t, dir)
	commit, branch := c.Head(t.Context())
	if len(commit) != 40 || branch != "main" {
		t.Fatalf("got %q on %q", commit, branch)
	}
	before := c.HeadVersion()
	if before == "" {
		t.Fatal("a repository with a reflog has no version of HEAD")
	}
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	if c.HeadVersion() == before {
		t.Error("a commit did not change the version of HEAD")
	}
	run(t, dir, "checkout", "-q", "--detach")
	if next, branch := c.Head(t.Context()); next == commit || branch != "" {
		t.Errorf("detached after a commit: %q on %q", next, branch)
	}
	empty := t.TempDir()
	run(t, empty, "init", "-q", "-b", "main")
	if commit, branch := find(t, empty).Head(t.Context()); commit != "" || branch != "main" {
		t.Errorf("before the first commit: %q on %q", commit, branch)
	}
}

// It cannot be parallel: the way to git belongs to the process.
func TestWhatGitDoesNotTellIsAProblem(t *testing.T) {
	dir := repository(t)
	for name, inside := range map[string]string{"git folder": filepath.Join(dir, ".git"), "bare": filepath.Join(t.TempDir(), "bare.git")} {
		if name == "bare" {
			run(t, filepath.Dir(inside), "init", "-q", "--bare", inside)
		}
		if _, err := checkout.Find(t.Context(), inside); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "--project") {
			t.Errorf("%s: %v", name, err)
		}
	}
	outside := t.TempDir()
	t.Setenv("PATH", "")
	if _, err := checkout.Find(t.Context(), filepath.Join(dir, "api")); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "git is not installed") {
		t.Errorf("without git, in a repository: %v", err)
	}
	if _, err := checkout.Find(t.Context(), outside); !errors.Is(err, checkout.ErrOutside) {
		t.Errorf("without git, outside: %v", err)
	}
}
