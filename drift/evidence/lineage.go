package evidence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/internal/git"
)

// lineage remembers history: how commits descend from each other, what the first parents of one commit changed, and which files
// have other names at a later commit.
type lineage struct {
	tips      []string
	graph     *git.Graph
	chain     *git.Chain
	renamings map[[sha256.Size]byte]map[string]string // by what is gone and new between two commits
}

func newLineage() lineage { return lineage{renamings: map[[sha256.Size]byte]map[string]string{}} }

// relate announces commits (full hashes) whose descent will be asked for: the graph of many is read at once.
func (s *Searcher) relate(ctx context.Context, commits ...string) error {
	l := &s.lineage
	if l.graph != nil && !slices.ContainsFunc(commits, func(c string) bool { return !l.graph.Has(c) }) {
		return nil
	}
	l.tips = append(l.tips, commits...)
	var err error
	l.graph, err = s.repo.Graph(ctx, l.tips)
	return err
}

// contains tells whether a commit contains another.
func (s *Searcher) contains(ctx context.Context, ancestor, descendant string) (bool, error) {
	if err := s.relate(ctx, ancestor, descendant); err != nil {
		return false, err
	}
	return s.lineage.graph.Contains(ctx, ancestor, descendant)
}

// fork is where two lines of history parted; "" when they have nothing in common.
func (s *Searcher) fork(ctx context.Context, a, b string) (string, error) {
	if err := s.relate(ctx, a, b); err != nil {
		return "", err
	}
	return s.lineage.graph.Base(ctx, a, b)
}

// since are the changes of some paths on the first parents of head, newest first; those that seen contains left out, none with "".
func (s *Searcher) since(ctx context.Context, seen, head string, paths []string) (iter.Seq2[git.Change, error], error) {
	l := &s.lineage
	known := func(string) (bool, error) { return false, nil }
	if l.chain == nil || l.chain.Commit() != head {
		if l.chain != nil {
			l.chain.Close()
		}
		l.chain = s.repo.Chain(ctx, head)
	}
	switch {
	case seen == "":
	case l.chain.Has(seen):
		known = func(commit string) (bool, error) { return commit == seen, nil }
	default:
		if err := s.relate(ctx, seen, head); err != nil {
			return nil, err
		}
		known = func(commit string) (bool, error) {
			if !l.graph.Has(commit) {
				return true, nil // it is older than everything in the graph
			}
			return l.graph.Contains(ctx, commit, seen)
		}
	}
	return l.chain.History(ctx, paths, maxChanges, known), nil
}

// renames are the files that have another name at a later commit. Git finds them by the files that went and came, and gives the
// same answer wherever these are the same.
func (s *Searcher) renames(ctx context.Context, from, to *Snapshot) (map[string]string, error) {
	var differences strings.Builder
	came := false
	err := s.differ(from.tree, to.tree, "", func(sign byte, e git.Entry) {
		came = came || sign == '+'
		differences.WriteByte(sign)
		differences.WriteString(strconv.Itoa(int(e.Mode)))
		differences.WriteString(e.Blob)
		differences.WriteString(e.Path)
		differences.WriteByte(0)
	})
	if err != nil || !came {
		return nil, err
	}
	key := sha256.Sum256([]byte(differences.String()))
	if known, ok := s.lineage.renamings[key]; ok {
		return known, nil
	}
	changes, err := s.repo.Diff(ctx, from.Commit, to.Commit)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, c := range changes {
		if c.Status == 'R' {
			out[c.From] = c.Path
		}
	}
	s.lineage.renamings[key] = out
	return out, nil
}

// differ gives the files that are in one of two folders alone: with a minus in the first, with a plus in the second.
func (s *Searcher) differ(a, b, dir string, use func(sign byte, e git.Entry)) error {
	if a == b {
		return nil
	}
	was, err := s.folder(a)
	if err != nil {
		return err
	}
	is, err := s.folder(b)
	if err != nil {
		return err
	}
	one := func(sign byte, e git.Entry) error {
		if e.Path = join(dir, e.Path); e.Mode != git.Folder {
			use(sign, e)
			return nil
		}
		files, err := s.filesBelow(e.Blob, e.Path, "")
		for _, f := range files {
			use(sign, f)
		}
		return err
	}
	for i, j := 0, 0; i < len(was) || j < len(is); {
		var order int
		switch {
		case j == len(is):
			order = -1
		case i == len(was):
			order = 1
		default:
			order = cmp.Compare(slashed(was[i]), slashed(is[j]))
		}
		var err error
		switch {
		case order < 0:
			err = one('-', was[i])
		case order > 0:
			err = one('+', is[j])
		case was[i].Mode == git.Folder:
			err = s.differ(was[i].Blob, is[j].Blob, join(dir, was[i].Path), use)
		}
		if err != nil {
			return err
		}
		if order <= 0 {
			i++
		}
		if order >= 0 {
			j++
		}
	}
	return nil
}

// slashed is the name by which git sorts an entry of a folder.
func slashed(e git.Entry) string {
	if e.Mode == git.Folder {
		return e.Path + "/"
	}
	return e.Path
}
