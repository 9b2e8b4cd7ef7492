package staleness

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/git"
)

// losses are what the oracle says about the claims of memories. It shares nothing with the rules but the text of the claims:
// symbols are what Universal Ctags finds declared, paths are those of git's trees and renames.
type losses struct {
	facts [][]fact // by memory and claim
}

// fact is what the oracle says about one claim; nil when it was not known at the beginning.
type fact struct {
	parts  []string // of a symbol, those that were declared
	target string   // of a path, the file or folder that was meant; where it is now, when it was renamed
	origin string   // of a path, where that was at the beginning
	gone   []bool   // by step
}

func (l *losses) known(memory, claim int) bool {
	f := l.facts[memory][claim]
	return len(f.parts) > 0 || f.origin != ""
}

// judges tells whether the oracle knows one of some names of a memory (none: of all its names), and whether one of those is
// gone at a step, from 1.
func (l *losses) judges(m *memory, memory, step int, names []name) (known, gone bool) {
	for c, claim := range m.claims {
		if len(names) > 0 && !slices.Contains(names, name{claim.Text, claim.Kind}) || !l.known(memory, c) {
			continue
		}
		known = true
		gone = gone || l.facts[memory][c].gone[step-1]
	}
	return known, gone
}

// first is the step, from 1, at which a name of a memory was first gone; 0 when none was.
func (l *losses) first(memory int) int {
	out := 0
	for _, f := range l.facts[memory] {
		if n := slices.Index(f.gone, true) + 1; n > 0 && (out == 0 || n < out) {
			out = n
		}
	}
	return out
}

var qualifiers = regexp.MustCompile(`\.|::|->|#`)

// lossesOf asks the oracle at every step.
func lossesOf(ctx context.Context, repo *git.Repository, p *predictor, steps []string, symbols *ctags) (*losses, error) {
	blobs, err := repo.Blobs(ctx)
	if err != nil {
		return nil, err
	}
	defer blobs.Close()
	for _, m := range p.memories {
		for _, c := range m.claims {
			if c.Kind == evidence.Symbol {
				symbols.want(qualifiers.Split(c.Text, -1)...)
			}
		}
	}
	first, err := repo.Tree(ctx, p.seen)
	if err != nil {
		return nil, err
	}
	declared, err := symbols.declared(ctx, blobs, first)
	if err != nil {
		return nil, err
	}
	l := &losses{}
	tree := newTree(first)
	for _, m := range p.memories {
		facts := make([]fact, len(m.claims))
		for n, c := range m.claims {
			f := fact{gone: make([]bool, len(steps))}
			switch c.Kind {
			case evidence.Symbol:
				f.parts = declaredParts(c.Text, declared)
			case evidence.Path:
				f.origin = tree.meant(c.Text, m.file)
				f.target = f.origin
			case evidence.Literal: // stands in strings, of which ctags says nothing
			}
			facts[n] = f
		}
		l.facts = append(l.facts, facts)
	}
	previous := p.seen
	for n, commit := range steps {
		files, err := repo.Tree(ctx, commit)
		if err != nil {
			return nil, err
		}
		if declared, err = symbols.declared(ctx, blobs, files); err != nil {
			return nil, err
		}
		changes := sync.OnceValues(func() ([]git.FileChange, error) { return repo.Diff(ctx, previous, commit) }) // most steps lose nothing
		tree := newTree(files)
		for i, m := range p.memories {
			for c := range m.claims {
				f := &l.facts[i][c]
				for _, part := range f.parts {
					f.gone[n] = f.gone[n] || !declared[part]
				}
				if f.origin != "" {
					if f.gone[n], err = f.left(m.claims[c].Text, tree, changes); err != nil {
						return nil, err
					}
				}
			}
		}
		previous = commit
	}
	return l, nil
}

// declaredParts are the parts of a qualified name that are declared, when its last is: of others nothing is known.
func declaredParts(name string, declared map[string]bool) []string {
	parts := qualifiers.Split(name, -1)
	if !declared[parts[len(parts)-1]] {
		return nil
	}
	return slices.DeleteFunc(parts, func(p string) bool { return !declared[p] })
}

// left follows a path to the next step, and tells whether it is gone. A path that is where it was, that git saw renamed, or
// as which another path ends, is not.
func (f *fact) left(text string, tree *tree, changes func() ([]git.FileChange, error)) (bool, error) {
	if tree.paths[f.origin] {
		f.target = f.origin
		return false, nil
	}
	if tree.paths[f.target] {
		return false, nil
	}
	files, err := changes()
	if err != nil {
		return false, err
	}
	if to := renamed(f.target, files); tree.paths[to] {
		f.target = to
		return false, nil
	}
	return len(tree.ending(cleaned(text))) == 0, nil
}

// renamed is where a file went, or most of the files of a folder; "" when that is nowhere.
func renamed(from string, changes []git.FileChange) string {
	went, all, best := map[string]int{}, 0, ""
	for _, c := range changes {
		left := c.Path
		if c.Status == 'R' {
			left = c.From
		} else if c.Status != 'D' {
			continue
		}
		rest, below := strings.CutPrefix(left, from)
		if !below || rest != "" && rest[0] != '/' {
			continue
		}
		all++
		if to, same := strings.CutSuffix(c.Path, rest); c.Status == 'R' && same {
			if went[to]++; went[to] > went[best] {
				best = to
			}
		}
	}
	if 2*went[best] < all {
		return ""
	}
	return best
}

// tree are the paths of a commit, folders too.
type tree struct {
	paths map[string]bool
	base  map[string][]string // by their last name
}

func newTree(entries []git.Entry) *tree {
	t := &tree{paths: map[string]bool{}, base: map[string][]string{}}
	for _, e := range entries {
		for p := e.Path; p != "." && !t.paths[p]; p = path.Dir(p) {
			t.paths[p] = true
			t.base[path.Base(p)] = append(t.base[path.Base(p)], p)
		}
	}
	return t
}

// ending are the paths that end as a path.
func (t *tree) ending(p string) []string {
	var out []string
	for _, known := range t.base[path.Base(p)] {
		if known == p || strings.HasSuffix(known, "/"+p) {
			out = append(out, known)
		}
	}
	return out
}

func cleaned(p string) string { return path.Clean(strings.Trim(p, "/")) }

// meant is the file or folder that a document names: from the top, from its own folder or one above, or the only one whose
// path ends so; "" when there is none, and for globs.
func (t *tree) meant(p, document string) string {
	if strings.ContainsAny(p, "*?[{") {
		return ""
	}
	p = cleaned(p)
	for from := path.Dir(document); from != "."; from = path.Dir(from) {
		if at := path.Join(from, p); t.paths[at] {
			return at
		}
	}
	if t.paths[p] {
		return p
	}
	if all := t.ending(p); len(all) == 1 {
		return all[0]
	}
	return ""
}
