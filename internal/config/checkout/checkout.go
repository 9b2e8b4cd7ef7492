// Package checkout asks git about the working tree that Stele was called in: which repository it is, under names that its
// worktrees and clones share, and which commit a writer has before them.
package checkout

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// patience bounds one call of git. The calls read a few small files; a network file system may need a moment.
const patience = 3 * time.Second

// Checkout is one working tree of a repository.
type Checkout struct {
	Root      string   // top folder of the working tree, symbolic links resolved
	GitDir    string   // its own git folder
	CommonDir string   // git folder that all worktrees of the repository share
	Remote    string   // where it was cloned from: Normalize of origin, else of the only remote; "" without
	Remotes   []string // addresses of all remotes, as git spells them; they may hold credentials

	origin string // identity of the repository it was cloned from, when that is a folder on this machine
}

// ErrOutside says that a folder lies in no repository.
var ErrOutside = errors.New("not in a git repository")

// Find gives the checkout that folder dir lies in, or ErrOutside. Where there is a repository that git does not tell about,
// the error is a problem: what holds for a folder outside any repository would be wrong there.
func Find(ctx context.Context, dir string) (*Checkout, error) {
	out, err := git(ctx, dir, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
	if err != nil {
		var failed *exec.ExitError
		switch {
		case errors.As(err, &failed) && bytes.Contains(failed.Stderr, []byte("dubious ownership")):
			return nil, unclear(err, dir, "git does not trust this repository, which another user owns", "run: git config --global --add safe.directory "+dir)
		case errors.As(err, &failed) && bytes.Contains(failed.Stderr, []byte("must be run in a work tree")):
			return nil, unclear(err, dir, "this is the inside of a repository, which has no files to work on", "call Stele in a working tree of it")
		case errors.Is(err, exec.ErrNotFound) && insideRepository(dir):
			return nil, unclear(err, dir, "this folder belongs to a git repository, and git is not installed", "install git")
		case errors.As(err, &failed) && ctx.Err() == nil, errors.Is(err, exec.ErrNotFound):
			return nil, ErrOutside
		}
		return nil, unclear(err, dir, "git did not answer")
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 3 {
		return nil, unclear(nil, dir, "git's answer was not understood")
	}
	c := &Checkout{Root: resolved(lines[0]), GitDir: resolved(lines[1]), CommonDir: resolved(lines[2])}
	c.findRemote(ctx)
	return c, nil
}

// unclear is a repository that is there and cannot be known.
func unclear(cause error, dir, detail string, fixes ...string) error {
	return problem.New(problem.Unavailable, dir, detail, append(fixes, "name the project with --project")...).Because(cause)
}

// insideRepository tells, without git, whether a folder or one above it holds a repository.
func insideRepository(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// findRemote reads origin, else the only remote there is.
func (c *Checkout) findRemote(ctx context.Context) {
	out, err := git(ctx, c.Root, "config", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return // no remote is configured
	}
	urls := map[string]string{}
	for line := range strings.Lines(out) {
		name, url, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok {
			urls[strings.TrimSuffix(strings.TrimPrefix(name, "remote."), ".url")] = url
			c.Remotes = append(c.Remotes, url)
		}
	}
	url, ok := urls["origin"]
	if !ok && len(urls) == 1 {
		for _, url = range urls {
			ok = true
		}
	}
	if !ok {
		return
	}
	if c.Remote = Normalize(url); c.Remote != "" {
		return
	}
	// A folder on this machine: the repository there is the same one, whatever path leads to it.
	path := strings.TrimPrefix(url, "file://")
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Root, path)
	}
	if common, err := git(ctx, path, "rev-parse", "--path-format=absolute", "--git-common-dir"); err == nil {
		c.origin = "gitdir:" + resolved(common)
	}
}

// Identities are the names by which a project knows this repository, the most shared first. Clones share the remote,
// worktrees the common folder; two folders that merely have the same name share nothing.
func (c *Checkout) Identities() []string {
	var out []string
	if c.Remote != "" {
		out = append(out, "remote:"+c.Remote)
	}
	if c.origin != "" {
		out = append(out, c.origin)
	}
	return append(out, "gitdir:"+c.CommonDir)
}

// Name is what people call the repository: the last part of its remote, else of its folder.
func (c *Checkout) Name() string {
	if c.Remote != "" {
		return c.Remote[strings.LastIndexByte(c.Remote, '/')+1:]
	}
	if filepath.Base(c.CommonDir) == ".git" {
		return filepath.Base(filepath.Dir(c.CommonDir))
	}
	return strings.TrimSuffix(filepath.Base(c.CommonDir), ".git")
}

// Head gives the commit and branch that are checked out: commit is "" before the first one, branch "" when HEAD is detached.
func (c *Checkout) Head(ctx context.Context) (commit, branch string) {
	// Neither is needed for a memory to be stored: what git cannot say stays empty.
	commit, _ = git(ctx, c.Root, "rev-parse", "--verify", "--quiet", "HEAD")
	branch, _ = git(ctx, c.Root, "symbolic-ref", "--short", "--quiet", "HEAD")
	return commit, branch
}

// HeadVersion changes whenever Head may: it describes the files that a commit, a checkout or a reset writes. "" means that
// they cannot tell, and Head has to be asked.
func (c *Checkout) HeadVersion() string {
	log, err := os.Stat(filepath.Join(c.GitDir, "logs", "HEAD"))
	if err != nil {
		return ""
	}
	head, err := os.Stat(filepath.Join(c.GitDir, "HEAD"))
	if err != nil {
		return ""
	}
	return log.ModTime().String() + "/" + head.ModTime().String()
}

// UserName is who works here: git's user.name, else the user of the machine; never empty.
func UserName(ctx context.Context, dir string) string {
	if name, err := git(ctx, dir, "config", "--get", "user.name"); err == nil && name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// environment is that of this process without what would make git answer about another repository than dir's (a hook of
// git runs with these set), or wait for a person.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX":
		default:
			env = append(env, v)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
}

// resolved follows symbolic links, so that one folder has one name.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return filepath.Clean(path)
}
