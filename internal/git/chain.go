package git

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// maxChain bounds the commits that a Chain keeps: 30 MB of changes in a large repository.
const maxChain = 20_000

// Chain is the history of first parents of one commit. It is read as far back as questions go, once for all of them, and kept.
// It belongs to one goroutine; Close ends its git process.
type Chain struct {
	repo    *Repository
	commit  string
	next    func() (Change, error, bool)
	stop    func()
	changes []Change
	place   map[string]bool  // commits of changes
	touched map[string][]int // places of the changes of a file, or below a folder
	ended   bool             // all of the history is in changes
	renamed map[string][]FileChange
}

// Chain gives the history of a commit, named by its full hash.
func (r *Repository) Chain(ctx context.Context, commit string) *Chain {
	c := &Chain{repo: r, commit: commit, place: map[string]bool{}, touched: map[string][]int{}, renamed: map[string][]FileChange{}}
	c.next, c.stop = iter.Pull2(r.History(ctx, HistoryQuery{Commit: commit, Apart: true}))
	return c
}

// Close ends the git process.
func (c *Chain) Close() { c.stop() }

// Commit is where the history begins.
func (c *Chain) Commit() string { return c.commit }

// Has tells whether a commit is on the part of the history that was read.
func (c *Chain) Has(commit string) bool { return c.place[commit] }

// History gives the same as Repository.History from the commit of the chain on with those paths, of which there is at least one:
// newest first, but at most limit of them. known tells which commits are left out with everything that is older.
func (c *Chain) History(ctx context.Context, paths []string, limit int, known func(commit string) (bool, error)) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		given := 0
		for from := 0; ; {
			to, last, err := c.read(from, known)
			if err != nil {
				yield(Change{}, err)
				return
			}
			for _, n := range c.touching(paths, from, to) {
				change, err := c.of(ctx, n, paths)
				if !yield(change, err) || err != nil {
					return
				}
				if given++; given == limit {
					return
				}
			}
			if last {
				return
			}
			if from = to; from < maxChain {
				continue
			}
			for change, err := range c.older(ctx, paths, limit-given, known) {
				if !yield(change, err) || err != nil {
					return
				}
			}
			return
		}
	}
}

// read makes sure that some changes from a place on are there, and says where they end; last that no more follow.
func (c *Chain) read(from int, known func(string) (bool, error)) (to int, last bool, err error) {
	const most = 128 // as many are read ahead of a question that may end sooner
	for to = from; to < from+most && to < maxChain; to++ {
		if to == len(c.changes) {
			change, err, more := c.pull()
			if err != nil {
				return 0, false, err
			}
			if !more {
				return to, true, nil
			}
			c.add(change)
		}
		over, err := known(c.changes[to].Commit.ID)
		if err != nil || over {
			return to, true, err
		}
	}
	return to, false, nil
}

func (c *Chain) pull() (Change, error, bool) {
	if c.ended {
		return Change{}, nil, false
	}
	change, err, more := c.next()
	c.ended = !more
	return change, err, more
}

// add keeps a change.
func (c *Chain) add(change Change) {
	n := len(c.changes)
	c.changes = append(c.changes, change)
	for _, f := range change.Files {
		for p := f.Path; p != ""; p = p[:max(0, strings.LastIndexByte(p, '/'))] {
			at := c.touched[p]
			if len(at) > 0 && at[len(at)-1] == n {
				break // and so are the folders above it
			}
			c.touched[p] = append(at, n)
		}
	}
	c.place[change.Commit.ID] = true
	c.repo.commits.Store(change.Commit.ID, true)
}

// touching are the places of changes of some paths.
func (c *Chain) touching(paths []string, from, to int) []int {
	var out []int
	for _, p := range paths {
		at := c.touched[strings.TrimSuffix(p, "/")]
		begin, _ := slices.BinarySearch(at, from)
		end, _ := slices.BinarySearch(at, to)
		out = append(out, at[begin:end]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// of is a change with the files of some paths. Git is asked only where one of them may have got the name of another.
func (c *Chain) of(ctx context.Context, n int, paths []string) (Change, error) {
	change := c.changes[n]
	var files []FileChange
	added, deleted := false, false
	for _, f := range change.Files {
		if slices.ContainsFunc(paths, func(p string) bool { return isBelow(f.Path, strings.TrimSuffix(p, "/")) }) {
			files = append(files, f)
			added, deleted = added || f.Status == 'A', deleted || f.Status == 'D'
		}
	}
	change.Files = files
	if !added || !deleted {
		return change, nil
	}
	var err error
	change.Files, err = c.asked(ctx, HistoryQuery{Commit: change.Commit.ID, Paths: paths, Limit: 1})
	return change, err
}

// Whole are all files of a change of the chain, renames found.
func (c *Chain) Whole(ctx context.Context, change Change) ([]FileChange, error) {
	return c.asked(ctx, HistoryQuery{Commit: change.Commit.ID, Limit: 1})
}

// asked lets git find renames, once.
func (c *Chain) asked(ctx context.Context, q HistoryQuery) ([]FileChange, error) {
	key := q.Commit + "\x00" + strings.Join(q.Paths, "\x00")
	if files, ok := c.renamed[key]; ok {
		return files, nil
	}
	var files []FileChange
	for change, err := range c.repo.History(ctx, q) {
		if err != nil {
			return nil, err
		}
		files = change.Files
	}
	c.renamed[key] = files
	return files, nil
}

// older goes on behind what the chain keeps.
func (c *Chain) older(ctx context.Context, paths []string, limit int, known func(string) (bool, error)) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		parents := c.changes[len(c.changes)-1].Commit.Parents
		if len(parents) == 0 {
			return
		}
		for change, err := range c.repo.History(ctx, HistoryQuery{Commit: parents[0], Paths: paths, Limit: limit}) {
			if err == nil {
				over, kerr := known(change.Commit.ID)
				if over {
					return
				}
				err = kerr
			}
			if !yield(change, err) || err != nil {
				return
			}
		}
	}
}

// isBelow tells whether a file is a path, or below it.
func isBelow(name, p string) bool {
	rest, ok := strings.CutPrefix(name, p)
	return ok && (rest == "" || rest[0] == '/')
}
