package git_test

import (
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

func ancestors(t *testing.T, r *git.Repository, commit string) int {
	t.Helper()
	list, err := r.Ancestors(t.Context(), commit, 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// A clone that was cut off gets as much more as is asked for, until it has everything.
func TestFetchDeepens(t *testing.T) {
	t.Parallel()
	from := gittest.New(t).Commit("one").Commit("two").Commit("three").Commit("four")
	side := from.Branch("side").Commit("five").Head()
	from.Checkout("main")
	clone := from.Shallow(1)
	r := open(t, clone.Dir)
	head := from.Head()
	for _, step := range []struct{ deepen, want int }{{1, 2}, {1, 3}, {50, 4}} {
		if err := r.Fetch(t.Context(), git.FetchQuery{Refs: []string{head}, Deepen: step.deepen}); err != nil {
			t.Fatal(err)
		}
		if got := ancestors(t, r, head); got != step.want {
			t.Errorf("deepened by %d: %d commits, want %d", step.deepen, got, step.want)
		}
	}
	if shallow, err := r.Shallow(t.Context()); err != nil || shallow {
		t.Errorf("everything is here: shallow %v, %v", shallow, err)
	}
	if err := r.Fetch(t.Context(), git.FetchQuery{Refs: []string{side}}); err != nil {
		t.Fatal(err)
	}
	if got := ancestors(t, r, side); got != 5 {
		t.Errorf("a commit by its hash: %d commits, want 5", got)
	}
	if refs := clone.Git("for-each-ref", "--format=%(refname)"); strings.Contains(refs, "side") {
		t.Errorf("a reference was made: %s", refs)
	}
	if err := r.Fetch(t.Context(), git.FetchQuery{Refs: []string{"+refs/heads/side:refs/remotes/origin/side"}}); err != nil {
		t.Fatal(err)
	}
	if got := clone.Git("rev-parse", "refs/remotes/origin/side"); got != side {
		t.Errorf("a refspec: %s, want %s", got, side)
	}
}

func TestFetchSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	clone := gittest.New(t).Commit("one").Clone()
	r := open(t, clone.Dir)
	for _, q := range []git.FetchQuery{{}, {Refs: []string{"--upload-pack=x"}}, {Refs: []string{"main\nx"}}, {Remote: "-x", Refs: []string{"main"}}} {
		if err := r.Fetch(t.Context(), q); code(err) != problem.Invalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
	err := r.Fetch(t.Context(), git.FetchQuery{Refs: []string{"nowhere"}, Header: "Authorization: Basic c2VjcmV0"})
	if err == nil || strings.Contains(err.Error(), "c2VjcmV0") {
		t.Errorf("a branch that is not there: %v", err)
	}
}
