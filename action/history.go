package action

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// steps are by how many commits a clone that was cut off is deepened, one after the other, until it tells enough.
var steps = []int{50, 200, 750, 2000}

const (
	// enough is the length of the chain of first parents that a run wants: what a server is told of it.
	enough = 201
	// maxFetching bounds the time that all of it takes.
	maxFetching = 3 * time.Minute
)

// Base is the commit that a job compares with.
type Base struct {
	Commit git.Commit
	// Unknown says why there is none, "" when there is one. A gate that needs it then fails, unless First.
	Unknown string
	First   bool     // there is nothing before the commit that could be compared with
	Notes   []string // what was done to find it, for people
}

// history brings history to a clone that has too little of it.
type history struct {
	job     *Job
	repo    *git.Repository
	head    git.Commit // where the history is cut off, a commit says that it has no parents
	shallow bool
	notes   []string
}

// FindBase finds the commit to compare head with: of a pull request, where it left the branch that it goes into; of a push to the
// default branch, what the branch was before; of any other branch, where it left the default branch; else the commit before. A
// clone that was cut off is deepened for it, within bounds.
func FindBase(ctx context.Context, job *Job, repo *git.Repository, head git.Commit) (Base, error) {
	h := &history{job: job, repo: repo, head: head}
	if err := h.look(ctx); err != nil {
		return Base{}, err
	}
	other := h.other()
	limited, cancel := context.WithTimeout(ctx, maxFetching)
	defer cancel()
	h.bring(limited, other)
	added := 0
	for _, by := range steps {
		if !h.shallow || h.told(ctx) {
			break
		}
		if err := h.fetch(limited, git.FetchQuery{Refs: append([]string{head.ID}, other...), Deepen: by}); err != nil {
			h.note("The clone is shallow and could not be deepened (%s). Set fetch-depth: 0 on actions/checkout.", reason(err))
			break
		}
		added += by
		if err := h.look(ctx); err != nil {
			return Base{}, err
		}
	}
	switch {
	case ctx.Err() != nil:
		return Base{}, ctx.Err()
	case added > 0 && h.shallow:
		h.note("The clone was shallow and was deepened by %d commits. What is older is not known here: fetch-depth: 0 on actions/checkout brings all of it.", added)
	case added > 0:
		h.note("The clone was shallow; the rest of the history was fetched.")
	}
	return h.settle(ctx)
}

func (h *history) note(format string, args ...any) {
	h.notes = append(h.notes, fmt.Sprintf(format, args...))
}

// look reads again what fetching changes.
func (h *history) look(ctx context.Context) (err error) {
	if h.shallow, err = h.repo.Shallow(ctx); err != nil {
		return err
	}
	h.head, err = h.repo.Commit(ctx, h.head.ID)
	return err
}

// other are the refspecs or commits that finding the base takes beside head.
func (h *history) other() []string {
	switch j := h.job; {
	case j.Pull != nil:
		return []string{j.Pull.Base}
	case j.Branch == "" || j.DefaultBranch == "":
		return nil
	case j.Branch != j.DefaultBranch:
		return []string{"+refs/heads/" + j.DefaultBranch + ":" + remoteBranch + j.DefaultBranch}
	case j.Before != "":
		return []string{j.Before}
	}
	return nil
}

const remoteBranch = "refs/remotes/origin/"

// find finds the base in the history that is here; "" when it is not.
func (h *history) find(ctx context.Context) (string, error) {
	switch j := h.job; {
	case j.Pull != nil && len(h.head.Parents) == 2 && h.head.Parents[1] == j.Pull.Head:
		return h.parent(), nil // GitHub's own merge: its first parent is the branch that it goes into
	case j.Pull != nil:
		return h.left(ctx, j.Pull.Base)
	case j.Branch == "" || j.DefaultBranch == "":
		return h.parent(), nil
	case j.Branch != j.DefaultBranch:
		return h.left(ctx, remoteBranch+j.DefaultBranch)
	case j.Before != "":
		return h.left(ctx, j.Before)
	}
	return h.parent(), nil
}

func (h *history) parent() string {
	if len(h.head.Parents) == 0 {
		return ""
	}
	return h.head.Parents[0]
}

// left is where the history of head left another one.
func (h *history) left(ctx context.Context, other string) (string, error) {
	base, err := h.repo.MergeBase(ctx, other, h.head.ID)
	if problem.Is(err, problem.NotFound) {
		return "", nil
	}
	if err == nil && base == h.head.ID {
		return h.parent(), nil // comparing a commit with itself would let everything pass
	}
	return base, err
}

// bring fetches what is not here. In a clone that was cut off, that is cut off too.
func (h *history) bring(ctx context.Context, other []string) {
	for _, ref := range other {
		name := ref
		if _, local, ok := strings.Cut(ref, ":"); ok {
			name = local
		}
		if _, err := h.repo.Commit(ctx, name); err == nil {
			continue
		}
		q := git.FetchQuery{Refs: []string{ref}}
		if h.shallow {
			q.Depth = 1
		}
		if err := h.fetch(ctx, q); err != nil {
			h.note("The commit to compare with could not be fetched (%s).", reason(err))
		}
	}
}

// told tells whether the history here says enough: the base is here, and so is what a server wants to know.
func (h *history) told(ctx context.Context) bool {
	id, err := h.find(ctx)
	if err != nil || id == "" {
		return false
	}
	if _, err := h.repo.Commit(ctx, id); err != nil {
		return false
	}
	chain, err := h.repo.Ancestors(ctx, h.head.ID, enough)
	return err == nil && len(chain) == enough
}

// settle gives the base, or says why there is none.
func (h *history) settle(ctx context.Context) (Base, error) {
	b := Base{Notes: h.notes}
	id, err := h.find(ctx)
	if err != nil {
		return b, err
	}
	if id == "" && !h.shallow {
		// The history is whole and has no such commit: another one was rewritten, or never had anything to do with this.
		id = h.parent()
	}
	if id != "" {
		b.Commit, err = h.repo.Commit(ctx, id)
		if err == nil || !problem.Is(err, problem.NotFound) {
			return b, err
		}
	}
	if b.First = !h.shallow; b.First {
		b.Unknown = "there is no commit before this one"
	} else {
		b.Unknown = "the history that is here does not reach the commit to compare with; set fetch-depth: 0 on actions/checkout"
	}
	return b, nil
}

// fetch fetches with what the checkout left behind, and if that is refused with the token of the job: actions/checkout may have
// been told to keep no credentials.
func (h *history) fetch(ctx context.Context, q git.FetchQuery) error {
	err := h.repo.Fetch(ctx, q)
	if err == nil || h.job.GitHubToken == "" || ctx.Err() != nil {
		return err
	}
	remotes := h.repo.Remotes(ctx) // origin first
	if len(remotes) == 0 || !strings.HasPrefix(remotes[0], strings.TrimSuffix(h.job.GitHubURL, "/")+"/") {
		return err // the token goes to GitHub and nowhere else
	}
	q.Header = "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+h.job.GitHubToken))
	return h.repo.Fetch(ctx, q)
}

// reason is the first line of what git says.
func reason(err error) string {
	text := err.Error()
	if failed, ok := errors.AsType[*git.Error](err); ok {
		text = strings.TrimSpace(failed.Text)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text = "it took too long"
	}
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(first, ".")
}

// Compare evaluates the base by run, and marks what is new in r. It gives the results of the gates, those that compare among
// them: they pass when there is nothing before r to compare with, such as no model, and fail when what there is cannot be read.
func Compare(ctx context.Context, r *drift.Report, g drift.Gates, base Base, run func(context.Context, git.Commit) (*drift.Report, error)) ([]drift.GateResult, string, error) {
	unknown := base.Unknown
	first := base.First
	if unknown == "" {
		before, err := run(ctx, base.Commit)
		_, explained := problem.As(err)
		switch {
		case problem.Is(err, problem.NotFound):
			first, unknown = true, "there was no model before"
		case explained:
			unknown = fmt.Sprintf("%.10s could not be evaluated: %v", base.Commit.ID, err)
		case err != nil:
			return nil, "", fmt.Errorf("evaluating the base %.10s: %w", base.Commit.ID, err)
		case before.ModelFile == "" && before.Status != drift.Checked:
			first, unknown = true, "there was no model before"
		case before.Status != drift.Checked:
			first, unknown = true, "before, nothing could be checked: "+before.Reason
		default:
			r.Compare(before)
		}
	}
	absolute, relative := g, drift.Gates{MaxDrop: g.MaxDrop, FailOnNew: g.FailOnNew, AllowUnchecked: first}
	absolute.MaxDrop, absolute.FailOnNew = nil, false
	if r.Status != drift.Checked {
		relative.AllowUnchecked = g.AllowUnchecked
	}
	return append(absolute.Apply(r, unknown), relative.Apply(r, unknown)...), unknown, nil
}
