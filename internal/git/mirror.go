package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// Remote is a repository on the network, and the branch of it that is wanted.
type Remote struct {
	URL    string
	Branch string // "" is the one that its HEAD names
	// Protocols are those that git may use, "https" and "ssh" when nil. Others run programs or read files of this machine.
	Protocols []string
}

// Mirror brings one branch of a remote repository, with its whole history, into a bare repository at dir, which is made when it
// is not there, and gives it with the commit at the tip. Git asks nobody for anything: credentials are those that the user of
// the process has set up for git. One call at a time may work on a folder. A mirror of another address is begun anew, and what a
// call that was cut off left behind is removed. What the remote refuses is a problem of the field clone_url.
func Mirror(ctx context.Context, dir string, r Remote) (*Repository, Commit, error) {
	repo := &Repository{dir: dir}
	if err := repo.prepare(ctx, r.URL); err != nil {
		return nil, Commit{}, err
	}
	branch := r.Branch
	if branch == "" {
		out, err := repo.remote(ctx, r, "ls-remote", "--symref", "--", r.URL, "HEAD")
		if err != nil {
			return nil, Commit{}, err
		}
		for line := range strings.Lines(out) {
			if rest, ok := strings.CutPrefix(line, "ref: refs/heads/"); ok {
				branch, _, _ = strings.Cut(rest, "\t")
			}
		}
		if branch == "" {
			return nil, Commit{}, problem.New(problem.NotFound, "clone_url", "the repository does not say which branch is its default",
				"name it: stele drift settings --tracked-branch main")
		}
	}
	spec := "+refs/heads/" + branch + ":refs/heads/" + branch
	if _, err := repo.remote(ctx, r, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--", r.URL, spec); err != nil {
		return nil, Commit{}, err
	}
	if _, err := repo.output(ctx, "symbolic-ref", "HEAD", "refs/heads/"+branch); err != nil {
		return nil, Commit{}, err
	}
	tip, err := repo.Commit(ctx, "refs/heads/"+branch)
	return repo, tip, err
}

// prepare makes the folder of a mirror ready for a fetch.
func (r *Repository) prepare(ctx context.Context, address string) error {
	if _, err := os.Stat(r.dir); err == nil {
		if of, err := r.output(ctx, "config", "--get", "remote.origin.url"); err == nil && strings.TrimSuffix(string(of), "\n") == address {
			return r.tidy()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// Objects of another repository are of no use, and may be what this project has no right to.
		if err := os.RemoveAll(r.dir); err != nil {
			return err
		}
	}
	return initBare(ctx, r.dir, address)
}

// tidy removes the locks and unfinished packs of a git that was ended: with the ones nothing more would be fetched, with the
// others the disk would fill up.
func (r *Repository) tidy() error {
	return filepath.WalkDir(r.dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base, folder := e.Name(), filepath.Base(filepath.Dir(name))
		if !e.Type().IsRegular() || !strings.HasSuffix(base, ".lock") && (folder != "pack" || !strings.HasPrefix(base, "tmp_") && !strings.HasPrefix(base, ".tmp-")) {
			return nil
		}
		return os.Remove(name) //nolint:gosec // the folder is of this process alone, and regular files only are removed
	})
}

// initBare makes an empty repository beside its place and moves it there, so that a half-made one is never taken for whole.
func initBare(ctx context.Context, dir, address string) error {
	const mode = 0o700
	if err := os.MkdirAll(filepath.Dir(dir), mode); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(made) }()
	if _, err := (&Repository{dir: made}).output(ctx, "init", "--quiet", "--bare"); err != nil {
		return err
	}
	if _, err := (&Repository{dir: made}).output(ctx, "config", "remote.origin.url", address); err != nil {
		return err
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// remote runs a command of git that talks to the network. What it says may quote the address, and nothing else of ours.
func (r *Repository) remote(ctx context.Context, from Remote, args ...string) (string, error) {
	// Git cleans up within the call, so that nothing of it outlives the call, and gives up a host that sends next to nothing.
	cmd, stderr := r.command(ctx, append([]string{
		"-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false", "-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60",
	}, args...)...)
	protocols := "https:ssh"
	if from.Protocols != nil {
		protocols = strings.Join(from.Protocols, ":")
	}
	ssh := cmp.Or(os.Getenv("GIT_SSH_COMMAND"), "ssh")
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL="+protocols, "GIT_SSH_COMMAND="+ssh+" -oBatchMode=yes", "GIT_ASKPASS=")
	out, err := cmd.Output()
	if err == nil {
		return string(out), nil
	}
	err = failure(ctx, args[0], err, stderr)
	if ctx.Err() != nil {
		return "", err
	}
	said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
	return "", problem.New(problem.Unavailable, "clone_url", "the repository cannot be read: "+said,
		"check the address, and that git can read it without a password as the user that runs the server").Because(err)
}
