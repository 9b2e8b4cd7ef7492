package git_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// woven is a history of three branches that part and meet, crosswise as well.
func woven(t *testing.T, seed uint64) (*git.Repository, []string, *rand.Rand) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	var stream strings.Builder
	tips := []int{0, 0, 0}
	for n := 1; n <= 24; n++ {
		branch := rng.IntN(len(tips))
		other := rng.IntN(len(tips))
		fmt.Fprintf(&stream, "commit refs/heads/b%d\nmark :%d\ncommitter Ana <ana@example.org> %d +0000\ndata 1\nx\n", branch, n, 1_767_225_600+60*n)
		switch {
		case tips[branch] != 0:
			fmt.Fprintf(&stream, "from :%d\n", tips[branch])
			if tips[other] != 0 && tips[other] != tips[branch] && rng.IntN(2) == 0 {
				fmt.Fprintf(&stream, "merge :%d\n", tips[other])
			}
		case n > 1 && rng.IntN(4) > 0:
			fmt.Fprintf(&stream, "from :%d\n", 1+rng.IntN(n-1))
		}
		for range 3 {
			folder, file := "abc"[rng.IntN(3)], "xyz"[rng.IntN(3)]
			if rng.IntN(3) == 0 {
				fmt.Fprintf(&stream, "D %c/%c\n", folder, file)
			} else {
				text := strings.Repeat(fmt.Sprintf("line %d of the text\n", rng.IntN(4)), 5)
				fmt.Fprintf(&stream, "M 644 inline %c/%c\ndata %d\n%s\n", folder, file, len(text), text)
			}
		}
		tips[branch] = n
	}
	g := gittest.New(t)
	g.Import(stream.String())
	r, err := git.Open(t.Context(), g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, strings.Fields(g.Git("rev-list", "--all")), rng
}

// The graph of a few commits answers as git does.
func TestGraph(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		r, commits, rng := woven(t, seed)
		var tips []string
		for range 6 {
			tips = append(tips, commits[rng.IntN(len(commits))])
		}
		g, err := r.Graph(t.Context(), tips)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range tips {
			for _, b := range tips {
				in, err := g.Contains(t.Context(), a, b)
				want, werr := r.Contains(t.Context(), a, b)
				if in != want || err != nil || werr != nil {
					t.Errorf("seed %d: %s in %s: %v, git says %v, %v %v", seed, a, b, in, want, err, werr)
				}
				base, err := g.Base(t.Context(), a, b)
				best, werr := r.MergeBase(t.Context(), a, b)
				if base != best || err != nil || werr != nil {
					t.Errorf("seed %d: base of %s and %s: %s, git says %s, %v %v", seed, a, b, base, best, err, werr)
				}
			}
		}
	}
}

// A history that is kept tells of any paths what git tells.
func TestChain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		r, commits, rng := woven(t, seed)
		head := commits[0]
		chain := r.Chain(t.Context(), head)
		for range 12 {
			until := ""
			if rng.IntN(2) == 0 {
				until = commits[rng.IntN(len(commits))]
			}
			var paths []string
			for range 1 + rng.IntN(3) {
				paths = append(paths, []string{"a", "b", "a/x", "b/y", "c/z", "b/x", "none"}[rng.IntN(7)])
			}
			slices.Sort(paths)
			paths = slices.Compact(paths)
			limit := 1 + rng.IntN(6)
			collect := func(changes func(func(git.Change, error) bool)) (out []git.Change) {
				for c, err := range changes {
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, c)
				}
				return out
			}
			known := func(c string) (bool, error) {
				if until == "" {
					return false, nil
				}
				return r.Contains(t.Context(), c, until)
			}
			got := collect(chain.History(t.Context(), paths, limit, known))
			want := collect(r.History(t.Context(), git.HistoryQuery{Commit: head, Until: until, Paths: paths, Limit: limit}))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("seed %d, %q until %q:\n%+v\ngit says\n%+v", seed, paths, until, got, want)
			}
		}
		chain.Close()
	}
}
