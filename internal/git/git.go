// Package git reads repositories by the git program: commits, trees, texts and history. It never writes to a working tree.
//
// Names of files are the bytes that git stores: they may hold newlines, quotes and what is no UTF-8. Every function can be
// called from several goroutines; only Blobs belongs to one.
package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// Repository is a repository on this machine.
type Repository struct {
	dir  string // where git runs: the top of the working tree, or the git folder
	root string

	commits sync.Map // hashes that are known to be commits here, which they stay
	partial struct { // what promisor found out
		sync.Mutex
		known  bool
		remote string
	}
}

// Open finds the repository that a folder lies in: any folder of a working tree, or a git folder itself. Where there is
// none, or git cannot tell, the error is a problem.
func Open(ctx context.Context, dir string) (*Repository, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, problem.New(problem.Unavailable, dir, "this folder cannot be found").Because(err)
	}
	if info, err := os.Stat(absolute); err != nil || !info.IsDir() {
		return nil, problem.Invalidf("repository", "%s is not a folder", dir).Fix("name a folder of a git repository").Because(err)
	}
	r := &Repository{dir: absolute}
	out, err := r.output(ctx, "rev-parse", "--is-inside-work-tree", "--absolute-git-dir")
	if err != nil {
		return nil, unopened(ctx, dir, err)
	}
	inside, gitDir, ok := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if !ok {
		return nil, problem.New(problem.Unavailable, dir, "git's answer was not understood")
	}
	if inside != "true" {
		r.dir = gitDir
		return r, nil
	}
	out, err = r.output(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, unopened(ctx, dir, err)
	}
	r.root = strings.TrimSuffix(string(out), "\n")
	r.dir = r.root
	return r, nil
}

// unopened says why git does not tell about a folder.
func unopened(ctx context.Context, dir string, err error) error {
	var failed *Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return problem.New(problem.Unavailable, dir, "git is not installed", "install git 2.30 or later").Because(err)
	case errors.As(err, &failed) && strings.Contains(failed.Text, "dubious ownership"):
		return problem.New(problem.Unavailable, dir, "git does not trust this repository, which another user owns",
			"run: git config --global --add safe.directory "+dir).Because(err)
	case errors.As(err, &failed) && strings.Contains(failed.Text, "not a git repository"):
		return problem.Invalidf("repository", "%s is not in a git repository", dir).Fix("name a folder of one, or run: git init").Because(err)
	}
	return problem.New(problem.Unavailable, dir, "git did not answer: "+err.Error()).Because(err)
}

// Root is the top of the working tree; "" for a repository without one.
func (r *Repository) Root() string { return r.root }

// Error is git saying no.
type Error struct {
	Command string // the subcommand
	Status  int    // exit status; -1 when it was killed
	Text    string // what it wrote to standard error, at most 4 KB of it
}

func (e *Error) Error() string {
	text := strings.TrimSpace(e.Text)
	if text == "" {
		text = fmt.Sprintf("exit status %d", e.Status)
	}
	return "git " + e.Command + ": " + text
}

// settings hold for every call, whatever the configuration of the user or of the repository says: names come as they are,
// nothing is paged, painted or signed, and no program that a repository names is run.
var settings = []string{
	"--no-pager", "--literal-pathspecs", "--no-replace-objects",
	"-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c", "color.ui=false", "-c", "i18n.logOutputEncoding=UTF-8",
	"-c", "log.showSignature=false", "-c", "log.showRoot=true", "-c", "log.diffMerges=separate", "-c", "diff.relative=false",
	"-c", "diff.renameLimit=1000", "-c", "diff.orderFile=" + os.DevNull, "-c", "diff.ignoreSubmodules=none", "-c", "blame.ignoreRevsFile=",
}

// command is a call of git that ends with its context.
func (r *Repository) command(ctx context.Context, args ...string) (*exec.Cmd, *tail) {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, settings...), args...)...)
	cmd.Dir = r.dir
	cmd.Env = environment()
	cmd.WaitDelay = time.Second
	stderr := &tail{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// output runs git and gives what it wrote. What git refuses is a *Error.
func (r *Repository) output(ctx context.Context, args ...string) ([]byte, error) {
	cmd, stderr := r.command(ctx, args...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		return nil, failure(ctx, subcommand(args), err, stderr)
	}
	return stdout.Bytes(), nil
}

// stream runs git and hands what it writes to read, which may stop before the end: git is then ended too.
func (r *Repository) stream(ctx context.Context, read func(*bufio.Reader) error, args ...string) error {
	return r.feedStream(ctx, "", read, args...)
}

// feedStream is stream with a text on the standard input of git.
func (r *Repository) feedStream(ctx context.Context, text string, read func(*bufio.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, stderr := r.command(ctx, args...)
	if text != "" {
		cmd.Stdin = strings.NewReader(text)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git %s: %w", subcommand(args), err)
	}
	if err := cmd.Start(); err != nil {
		return failure(ctx, subcommand(args), err, stderr)
	}
	const buffer = 64 << 10
	err = read(bufio.NewReaderSize(stdout, buffer))
	if err != nil {
		cancel()
		_ = cmd.Wait() // it was ended on purpose
		if errors.Is(err, errStop) {
			return nil
		}
		return err
	}
	if err := cmd.Wait(); err != nil {
		return failure(ctx, subcommand(args), err, stderr)
	}
	return nil
}

// errStop ends a stream whose rest is not wanted.
var errStop = errors.New("stop")

// subcommand is what a call does, behind the settings that it has of its own.
func subcommand(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

func failure(ctx context.Context, command string, err error, stderr *tail) error {
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", command, ctx.Err())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &Error{Command: command, Status: exit.ExitCode(), Text: stderr.String()}
	}
	return fmt.Errorf("git %s: %w", command, err)
}

// status is the exit status of a call that git refused; 0 for any other error and for none.
func status(err error) int {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Status
	}
	return 0
}

// tail keeps the first 4 KB of what git says on standard error: enough for its message, whatever follows.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.buf = append(t.buf, p[:min(len(p), most-len(t.buf))]...)
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }

// environment is that of this process without what would make git answer about another repository (a hook of git runs with
// these set), in another language or after asking a person.
func environment() []string {
	kept := map[string]bool{ // how git finds its parts, keys and configuration; none of them names a repository
		"GIT_EXEC_PATH": true, "GIT_SSH": true, "GIT_SSH_COMMAND": true, "GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true,
		"GIT_CONFIG_NOSYSTEM": true, "GIT_CONFIG_COUNT": true, "GIT_CEILING_DIRECTORIES": true, "GIT_SSL_CAINFO": true,
	}
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case name == "LC_ALL", name == "LANGUAGE":
		case !strings.HasPrefix(name, "GIT_"), kept[name], strings.HasPrefix(name, "GIT_CONFIG_KEY_"), strings.HasPrefix(name, "GIT_CONFIG_VALUE_"):
			env = append(env, v)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
}

// field reads up to the next NUL, which it drops. io.EOF means that there was nothing left.
func field(r *bufio.Reader) (string, error) {
	s, err := r.ReadString(0)
	if err != nil {
		if errors.Is(err, io.EOF) && s != "" {
			return "", io.ErrUnexpectedEOF
		}
		return "", err
	}
	return s[:len(s)-1], nil
}
