package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Graph knows how some commits descend from each other, without asking git again. It belongs to one goroutine.
type Graph struct {
	repo    *Repository
	place   map[string]int // of commits, in the order that git gave them
	parents [][]int        // by place; those that are not in the graph left out
	sets    map[int]bits   // ancestors, the commit itself included
}

// bits are a set of places.
type bits []uint64

func (b bits) add(n int)      { b[n/64] |= 1 << (n % 64) }
func (b bits) has(n int) bool { return b[n/64]&(1<<(n%64)) != 0 }

// Graph reads how commits (full hashes) descend from each other: their history, as far back as a commit through which everything
// older is reached, so that what lies behind it is common to all of them.
func (r *Repository) Graph(ctx context.Context, commits []string) (*Graph, error) {
	g := &Graph{repo: r, place: map[string]int{}, sets: map[int]bits{}}
	wanted := map[string]bool{} // tips and parents that did not come yet
	tips := map[string]bool{}
	for _, c := range commits {
		id, err := r.resolve(ctx, c)
		if err != nil {
			return nil, err
		}
		wanted[id], tips[id] = true, true
	}
	if len(tips) == 0 {
		return g, nil
	}
	var ids [][]string // commit and parents
	left := len(tips)
	err := r.feedStream(ctx, strings.Join(slices.Sorted(maps.Keys(tips)), "\n")+"\n", func(in *bufio.Reader) error {
		for {
			line, err := in.ReadString('\n')
			if errors.Is(err, io.EOF) && line == "" {
				return nil
			}
			if err != nil {
				return fmt.Errorf("git rev-list: %w", err)
			}
			family := strings.Fields(line)
			g.place[family[0]] = len(ids)
			ids = append(ids, family)
			if tips[family[0]] {
				left--
			}
			delete(wanted, family[0])
			for _, p := range family[1:] {
				if _, came := g.place[p]; !came {
					wanted[p] = true
				}
			}
			if left == 0 && len(wanted) == 1 { // whatever is older is reached through this one
				for last := range wanted {
					g.place[last] = len(ids)
					ids = append(ids, []string{last})
				}
				return errStop
			}
		}
	}, "rev-list", "--parents", "--stdin")
	if err != nil {
		return nil, err
	}
	g.parents = make([][]int, len(ids))
	for n, family := range ids {
		for _, p := range family[1:] {
			if at, ok := g.place[p]; ok {
				g.parents[n] = append(g.parents[n], at)
			}
		}
	}
	return g, nil
}

// Has tells whether the graph can be asked about a commit.
func (g *Graph) Has(commit string) bool { _, ok := g.place[commit]; return ok }

// Contains tells whether the history of descendant holds ancestor; a commit contains itself.
func (g *Graph) Contains(ctx context.Context, ancestor, descendant string) (bool, error) {
	a, okA := g.place[ancestor]
	d, okD := g.place[descendant]
	if !okA || !okD {
		return g.repo.Contains(ctx, ancestor, descendant)
	}
	return g.ancestors(d).has(a), nil
}

// Base is the best common ancestor of two commits, as MergeBase gives it.
func (g *Graph) Base(ctx context.Context, a, b string) (string, error) {
	x, okX := g.place[a]
	y, okY := g.place[b]
	if !okX || !okY {
		return g.repo.MergeBase(ctx, a, b)
	}
	left, right := g.ancestors(x), g.ancestors(y)
	common := make(bits, len(left))
	for n := range left {
		common[n] = left[n] & right[n]
	}
	behind := make(bits, len(left)) // parents of common ancestors, which are no best ones
	for n, parents := range g.parents {
		if common.has(n) {
			for _, p := range parents {
				behind.add(p)
			}
		}
	}
	best, found := "", 0
	for id, n := range g.place {
		if common.has(n) && !behind.has(n) {
			best = id
			found++
		}
	}
	if found > 1 { // histories that were merged crosswise: git has an order for these
		return g.repo.MergeBase(ctx, a, b)
	}
	return best, nil
}

// maxSets bounds the sets that are kept.
const maxSets = 256

// ancestors are a commit and those that it contains.
func (g *Graph) ancestors(n int) bits {
	if set, ok := g.sets[n]; ok {
		return set
	}
	if len(g.sets) >= maxSets {
		clear(g.sets)
	}
	const word = 64
	set := make(bits, (len(g.parents)+word-1)/word)
	set.add(n)
	for todo := []int{n}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range g.parents[last] {
			if !set.has(p) {
				set.add(p)
				todo = append(todo, p)
			}
		}
	}
	g.sets[n] = set
	return set
}

// Place orders commits so that neighbours in history are neighbours here; unknown ones come last.
func (g *Graph) Place(commit string) int {
	if n, ok := g.place[commit]; ok {
		return n
	}
	return len(g.parents)
}
