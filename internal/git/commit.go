package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// Commit is what a commit says about itself.
type Commit struct {
	ID      string    // full hash
	Tree    string    // hash of its tree
	Parents []string  // full hashes; the first is the branch that was merged into
	Author  string    // as it was written, not mapped
	Email   string    // of the author
	Time    time.Time // of the committer, UTC
	Subject string    // first paragraph of the message, in one line
}

// commitFormat prints the fields of Commit, each ended by a NUL.
const commitFormat = "%H%x00%T%x00%P%x00%an%x00%ae%x00%cI%x00%s%x00"

// commitFields is how many fields commitFormat prints.
const commitFields = 7

func parseCommit(f []string) (Commit, error) {
	c := Commit{ID: f[0], Tree: f[1], Parents: strings.Fields(f[2]), Author: f[3], Email: f[4], Subject: f[6]}
	when, err := time.Parse(time.RFC3339, f[5])
	if err != nil {
		return Commit{}, fmt.Errorf("the time of commit %s: %w", c.ID, err)
	}
	c.Time = when.UTC()
	return c, nil
}

// Commit finds a commit by any name git has for it; "" is HEAD. What is not there is a problem that says what to fetch.
func (r *Repository) Commit(ctx context.Context, ref string) (Commit, error) {
	id, err := r.resolve(ctx, ref)
	if err != nil {
		return Commit{}, err
	}
	out, err := r.output(ctx, "log", "-1", "--format=tformat:"+commitFormat, id, "--")
	if err != nil {
		return Commit{}, err
	}
	fields := strings.Split(string(out), "\x00")
	if len(fields) <= commitFields-1 {
		return Commit{}, fmt.Errorf("git log: commit %s was not understood", id)
	}
	return parseCommit(fields)
}

// resolve gives the full hash of a commit; of HEAD for "".
func (r *Repository) resolve(ctx context.Context, ref string) (string, error) {
	if ref == "" {
		ref = "HEAD"
	}
	if strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, "\x00\n") {
		return "", problem.Invalidf("ref", "%q is no name of a commit", ref).Fix("name a branch, a tag or a hash")
	}
	if _, known := r.commits.Load(ref); known {
		return ref, nil
	}
	out, err := r.output(ctx, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	if err == nil {
		id := strings.TrimSpace(string(out))
		r.commits.Store(id, true)
		return id, nil
	}
	var failed *Error
	if !errors.As(err, &failed) {
		return "", err
	}
	if strings.Contains(failed.Text, "ambiguous") && !strings.Contains(failed.Text, "unknown revision") {
		return "", problem.New(problem.Ambiguous, "ref", fmt.Sprintf("%q is the beginning of several hashes", ref), "write more of the hash").Because(err)
	}
	if _, headless := r.output(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); headless != nil && ref == "HEAD" {
		return "", problem.New(problem.NotFound, "ref", "there is no commit yet: HEAD names a branch that has none", "commit something, or name another branch").Because(err)
	}
	p := problem.New(problem.NotFound, "ref", fmt.Sprintf("no commit here is called %q", ref)).Because(err)
	if shallow, serr := r.Shallow(ctx); serr == nil && shallow {
		return "", p.Fix("this clone is shallow, run: git fetch --unshallow").Fix("run: git fetch origin %s", ref)
	}
	return "", p.Fix("run: git fetch origin %s", ref)
}

// Branch is the branch that is checked out; "" when HEAD is detached.
func (r *Repository) Branch(ctx context.Context) string {
	out, err := r.output(ctx, "symbolic-ref", "--short", "--quiet", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// DefaultBranch is the branch that work is merged into: what origin says, else the configured first branch, main or master,
// whichever is there, else the one that is checked out. "" when nothing tells.
func (r *Repository) DefaultBranch(ctx context.Context) string {
	const origin = "refs/remotes/origin/"
	if out, err := r.output(ctx, "symbolic-ref", "--quiet", origin+"HEAD"); err == nil {
		return strings.TrimPrefix(strings.TrimSpace(string(out)), origin)
	}
	var names []string
	if out, err := r.output(ctx, "config", "--get", "init.defaultBranch"); err == nil {
		names = append(names, strings.TrimSpace(string(out)))
	}
	for _, name := range append(names, "main", "master") {
		for _, prefix := range []string{"refs/heads/", origin} {
			if _, err := r.output(ctx, "show-ref", "--verify", "--quiet", prefix+name); err == nil {
				return name
			}
		}
	}
	return r.Branch(ctx)
}

// Shallow tells whether the history here was cut off.
func (r *Repository) Shallow(ctx context.Context) (bool, error) {
	out, err := r.output(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return false, err
	}
	return strings.TrimSpace(string(out)) == "true", nil
}

// Remotes are the addresses of the remotes, as git spells them, origin first; they may hold credentials.
func (r *Repository) Remotes(ctx context.Context) []string {
	out, err := r.output(ctx, "config", "-z", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil // none is configured
	}
	var urls []string
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, url, ok := strings.Cut(entry, "\n")
		switch {
		case !ok:
		case key == "remote.origin.url":
			urls = append([]string{url}, urls...)
		default:
			urls = append(urls, url)
		}
	}
	return urls
}
