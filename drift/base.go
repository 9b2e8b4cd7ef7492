package drift

import (
	"context"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// FindBase finds the commit that a commit is compared with when nobody names one: where its branch left the default branch.
// On the default branch itself that is the first parent, since comparing a commit with itself would let everything pass.
// Where the history here has no such commit, the error is a *problem.Error.
func FindBase(ctx context.Context, repo *git.Repository, commit git.Commit) (git.Commit, error) {
	none := func(detail string, fixes ...string) (git.Commit, error) {
		p := problem.New(problem.Unavailable, "base", detail, fixes...)
		if shallow, err := repo.Shallow(ctx); err == nil && shallow {
			_ = p.Fix("this clone is shallow, run: git fetch --unshallow")
		}
		return git.Commit{}, p.Fix("name the commit to compare with: --base REF")
	}
	branch := repo.DefaultBranch(ctx)
	if branch == "" {
		return none("nothing tells which branch work is merged into")
	}
	tip, err := repo.Commit(ctx, "refs/remotes/origin/"+branch)
	if problem.Is(err, problem.NotFound) {
		tip, err = repo.Commit(ctx, "refs/heads/"+branch)
	}
	if problem.Is(err, problem.NotFound) {
		return none("the default branch " + branch + " is not here")
	}
	if err != nil {
		return git.Commit{}, err
	}
	base, err := repo.MergeBase(ctx, tip.ID, commit.ID)
	switch {
	case err != nil:
		return git.Commit{}, err
	case base == "":
		return none("the history that is here does not lead to where the branch left " + branch)
	case base != commit.ID:
		return repo.Commit(ctx, base)
	case len(commit.Parents) == 0:
		return none("there is no commit before this one")
	}
	before, err := repo.Commit(ctx, commit.Parents[0])
	if problem.Is(err, problem.NotFound) {
		return none("the commit before this one is not here")
	}
	return before, err
}
