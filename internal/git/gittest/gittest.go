// Package gittest builds repositories for tests, by git itself, in a folder of the test: the same calls give the same
// commits on every machine.
package gittest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Repo is a repository under construction. Its methods end the test when git refuses, and give the Repo back so that calls
// can be chained. A Repo belongs to one goroutine.
type Repo struct {
	Dir string // top of the working tree

	t      testing.TB
	author string
	email  string
	when   time.Time
}

// First is the time of the first commit; each commit is an hour later than the one before.
var First = time.Date(2026, time.January, 1, 9, 0, 0, 0, time.UTC)

// New makes an empty repository with the branch main checked out.
func New(t testing.TB) *Repo {
	t.Helper()
	return in(t, t.TempDir()).init()
}

func in(t testing.TB, dir string) *Repo {
	t.Helper()
	return &Repo{Dir: dir, t: t, author: "Ana", email: "ana@example.com", when: First}
}

func (r *Repo) init() *Repo {
	r.t.Helper()
	r.Git("init", "--quiet", "--initial-branch=main")
	return r
}

// Git runs git in the working tree and gives what it wrote, without surrounding blanks.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return r.git(nil, args...)
}

func (r *Repo) git(stdin []byte, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.Dir
	cmd.Stdin = strings.NewReader(string(stdin))
	date := r.when.Format(time.RFC3339)
	for _, v := range os.Environ() { // neither a hook of git nor the user's configuration decides about a test
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_ALLOW_PROTOCOL=file",
		"GIT_AUTHOR_NAME="+r.author, "GIT_AUTHOR_EMAIL="+r.email, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME="+r.author, "GIT_COMMITTER_EMAIL="+r.email, "GIT_COMMITTER_DATE="+date)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// As makes the commits that follow someone's.
func (r *Repo) As(author, email string) *Repo {
	r.author, r.email = author, email
	return r
}

// At sets the time of the next commit; those after it are an hour apart again.
func (r *Repo) At(when time.Time) *Repo {
	r.when = when.UTC()
	return r
}

// Write writes a file and stages it; folders are made. Names with newlines and what is no UTF-8 are fine.
func (r *Repo) Write(name, text string) *Repo {
	r.t.Helper()
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return r.stage(name)
}

// WriteAll writes several files, in the order of their names.
func (r *Repo) WriteAll(files map[string]string) *Repo {
	r.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		r.Write(name, files[name])
	}
	return r
}

// Link makes a symbolic link, which may lead nowhere or in a circle.
func (r *Repo) Link(name, target string) *Repo {
	r.t.Helper()
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		r.t.Fatal(err)
	}
	return r.stage(name)
}

func (r *Repo) stage(name string) *Repo {
	r.t.Helper()
	r.Git("--literal-pathspecs", "add", "--force", "--", name)
	return r
}

// Submodule stages an entry that names a commit of another repository, which need not be there.
func (r *Repo) Submodule(name, commit string) *Repo {
	r.t.Helper()
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+","+name)
	return r
}

// Remove deletes a file or a folder.
func (r *Repo) Remove(name string) *Repo {
	r.t.Helper()
	r.Git("--literal-pathspecs", "rm", "-r", "--quiet", "--force", "--", name)
	return r
}

// Rename moves a file or a folder.
func (r *Repo) Rename(from, to string) *Repo {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Join(r.Dir, filepath.FromSlash(filepath.Dir(to))), 0o750); err != nil {
		r.t.Fatal(err)
	}
	r.Git("mv", "--", from, to)
	return r
}

// Commit commits what is staged, or an empty change.
func (r *Repo) Commit(message string) *Repo {
	r.t.Helper()
	r.git([]byte(message), "commit", "--quiet", "--allow-empty", "--file=-")
	r.when = r.when.Add(time.Hour)
	return r
}

// Import reads a stream of git fast-import, in which a history of many commits costs one process.
func (r *Repo) Import(stream string) *Repo {
	r.git([]byte(stream), "fast-import", "--quiet", "--force")
	return r
}

// Branch makes a branch where HEAD is and checks it out.
func (r *Repo) Branch(name string) *Repo {
	r.t.Helper()
	r.Git("checkout", "--quiet", "-b", name)
	return r
}

// Checkout checks out a branch or a commit.
func (r *Repo) Checkout(ref string) *Repo {
	r.t.Helper()
	r.Git("checkout", "--quiet", ref)
	return r
}

// Merge merges a branch into the one that is checked out, always by a commit.
func (r *Repo) Merge(branch string) *Repo {
	r.t.Helper()
	r.Git("merge", "--quiet", "--no-ff", "--no-edit", branch)
	r.when = r.when.Add(time.Hour)
	return r
}

// Revert makes a commit that takes another one back.
func (r *Repo) Revert(commit string) *Repo {
	r.t.Helper()
	r.Git("revert", "--no-edit", commit)
	r.when = r.when.Add(time.Hour)
	return r
}

// Head is the full hash of the commit that is checked out.
func (r *Repo) Head() string {
	r.t.Helper()
	return r.Git("rev-parse", "HEAD")
}

// Clone clones the repository into another folder of the test.
func (r *Repo) Clone() *Repo {
	r.t.Helper()
	return r.clone()
}

// Shallow clones the last commits of the branch that is checked out.
func (r *Repo) Shallow(depth int) *Repo {
	r.t.Helper()
	return r.clone(fmt.Sprintf("--depth=%d", depth))
}

// Bare clones the repository without a working tree.
func (r *Repo) Bare() *Repo {
	r.t.Helper()
	return r.clone("--bare")
}

func (r *Repo) clone(args ...string) *Repo {
	r.t.Helper()
	c := in(r.t, r.t.TempDir())
	c.author, c.email, c.when = r.author, r.email, r.when
	args = append(append([]string{"clone", "--quiet"}, args...), "--", "file://"+filepath.ToSlash(r.Dir), c.Dir)
	r.Git(args...)
	return c
}
