package evidence

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
)

// forest remembers folders of commits. Commits share most of theirs, so that each is read once for all of them, and what was
// found out about a folder holds wherever it lies at the same place.
type forest struct {
	lookup  *git.Lookup
	commits map[string]*Snapshot
	whole   int                    // of the commits, those with all of their entries
	folders map[string][]git.Entry // by tree
	names   int                    // entries of folders
	below   map[belowKey][]git.Entry
	files   int              // entries of below
	sizes   map[string]int64 // of texts
	pinned  *Snapshot
}

// belowKey names the files of a folder that a pattern matches; all of them without one.
type belowKey struct{ tree, path, pattern string }

// Bounds of what is remembered; 50 MB of each in the end. Whoever asks in the order of history asks for few things twice.
const (
	maxCommits = 4096
	maxWhole   = 16
	maxNames   = 400_000
	maxFiles   = 200_000
)

func newForest() forest {
	return forest{commits: map[string]*Snapshot{}, folders: map[string][]git.Entry{}, below: map[belowKey][]git.Entry{}, sizes: map[string]int64{}}
}

// Snapshot is a commit to search in.
type Snapshot struct {
	Commit string // full hash

	s     *Searcher
	tree  string
	all   []git.Entry         // every file, when they were asked for; sizes are not known
	texts []git.Entry         // of them, those that may witness a claim
	globs map[string][]string // what globs matched

	base map[string][]string // files and folders by their last name, of a commit that is asked for again and again

	upto    int              // needles that all texts were searched for
	holders map[int][]string // files that hold a needle, sorted
}

// At gives a commit; "" is HEAD.
func (s *Searcher) At(ctx context.Context, commit string) (*Snapshot, error) {
	f := &s.forest
	if p := f.pinned; p != nil && p.Commit == commit {
		return p, nil
	}
	if t := f.commits[commit]; t != nil {
		return t, nil
	}
	name := commit
	if name == "" {
		name = "HEAD"
	}
	id, err := f.lookup.Commit(name)
	if err != nil {
		return nil, err
	}
	tree := ""
	if id != "" {
		if tree, err = f.lookup.Tree(id); err != nil {
			return nil, err
		}
	}
	if tree == "" { // git says what is wrong
		c, err := s.repo.Commit(ctx, commit)
		if err != nil {
			return nil, err
		}
		tree = c.Tree
	}
	if len(f.commits) >= maxCommits || f.whole >= maxWhole {
		clear(f.commits)
		f.whole = 0
	}
	t := &Snapshot{Commit: commit, s: s, tree: tree, globs: map[string][]string{}}
	f.commits[commit] = t
	return t, nil
}

// pin keeps a commit that is asked for again and again.
func (s *Searcher) pin(t *Snapshot) { s.forest.pinned = t }

// folder lists a folder.
func (s *Searcher) folder(tree string) ([]git.Entry, error) {
	f := &s.forest
	if known, ok := f.folders[tree]; ok {
		return known, nil
	}
	entries, err := s.readers[0].Folder(tree)
	if err != nil {
		return nil, err
	}
	if f.names += len(entries); f.names > maxNames {
		clear(f.folders)
		f.names = len(entries)
	}
	f.folders[tree] = entries
	return entries, nil
}

// entry is the file, link, submodule or folder of a path; false when nothing is there.
func (t *Snapshot) entry(p string) (git.Entry, bool, error) {
	at := git.Entry{Blob: t.tree, Mode: git.Folder}
	for rest := p; ; {
		name, more, deeper := strings.Cut(rest, "/")
		if at.Mode != git.Folder || name == "" {
			return git.Entry{}, false, nil
		}
		entries, err := t.s.folder(at.Blob)
		if err != nil {
			return git.Entry{}, false, err
		}
		n := slices.IndexFunc(entries, func(e git.Entry) bool { return e.Path == name })
		if n < 0 {
			return git.Entry{}, false, nil
		}
		at = entries[n]
		if !deeper {
			at.Path = p
			return at, true, nil
		}
		rest = more
	}
}

// file is the tracked file, link or submodule of a path.
func (t *Snapshot) file(p string) (git.Entry, bool, error) {
	e, ok, err := t.entry(p)
	return e, ok && e.Mode != git.Folder, err
}

// exists tells whether a file or folder is there.
func (t *Snapshot) exists(p string) (bool, error) {
	_, ok, err := t.entry(p)
	return ok, err
}

// filesBelow are the files of a folder that a pattern matches, sorted; all of them without a pattern. dir is its path, "" at the top.
func (s *Searcher) filesBelow(tree, dir, pattern string) ([]git.Entry, error) {
	key := belowKey{tree, dir, pattern}
	if known, ok := s.forest.below[key]; ok {
		return known, nil
	}
	entries, err := s.folder(tree)
	if err != nil {
		return nil, err
	}
	out := []git.Entry{}
	for _, e := range entries {
		e.Path = join(dir, e.Path)
		switch {
		case e.Mode == git.Folder:
			more, err := s.filesBelow(e.Blob, e.Path, pattern)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		case pattern == "" || c4model.Matches(pattern, e.Path):
			out = append(out, e)
		}
	}
	f := &s.forest
	if f.files += len(out) + 1; f.files > maxFiles {
		clear(f.below)
		f.files = len(out)
	}
	f.below[key] = out
	return out, nil
}

// join puts a name behind the path of a folder, "" at the top.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// under are a file, or the files below a folder, sorted.
func (t *Snapshot) under(name string) ([]git.Entry, error) {
	if name == "" || name == "/" {
		return nil, nil
	}
	return t.matchingUnder(name, "")
}

// matchingUnder are those of the files under a path that a pattern matches.
func (t *Snapshot) matchingUnder(name, pattern string) ([]git.Entry, error) {
	name = strings.TrimSuffix(name, "/")
	if name == "" {
		return t.s.filesBelow(t.tree, "", pattern)
	}
	e, ok, err := t.entry(name)
	switch {
	case err != nil || !ok:
		return nil, err
	case e.Mode == git.Folder:
		return t.s.filesBelow(e.Blob, name, pattern)
	case pattern == "" || c4model.Matches(pattern, name):
		return []git.Entry{e}, nil
	}
	return nil, nil
}

// matching are the files that a pattern matches. Only the folder that its beginning names is looked at.
func (t *Snapshot) matching(pattern string) ([]git.Entry, error) {
	plain := strings.Trim(pattern, "/")
	anchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	if anchored && plain != "" && plain != "." && !strings.ContainsAny(plain, wild+`\`) {
		return t.under(plain)
	}
	if !anchored || plain == "" || plain == "." {
		return t.matchingUnder("", pattern)
	}
	return t.matchingUnder(c4model.StaticPrefix(strings.TrimPrefix(pattern, "/")), pattern)
}

// Entries are the files of the commit, sorted by path (bytewise). Sizes are not known.
func (t *Snapshot) Entries() ([]git.Entry, error) {
	if t.all == nil {
		all, err := t.s.filesBelow(t.tree, "", "")
		if err != nil {
			return nil, err
		}
		t.all = all
		t.s.forest.whole++
		for _, e := range all {
			if searchable(e) {
				t.texts = append(t.texts, e)
			}
		}
	}
	return t.all, nil
}

// Find tells whether a claim holds at the commit, and in which files, sorted. Paths are looked for among all tracked files;
// symbols and literals in the texts of the files within (nil: all of them), documents aside: a document that repeats a name
// is no witness for it.
func (t *Snapshot) Find(ctx context.Context, c Claim, within []string) (found bool, files []string, err error) {
	if within == nil {
		return t.find(ctx, c, nil)
	}
	entries := make([]git.Entry, 0, len(within))
	for _, p := range within {
		e, ok, err := t.file(p)
		if err != nil {
			return false, nil, err
		}
		if ok {
			entries = append(entries, e)
		}
	}
	return t.find(ctx, c, entries)
}

// find is Find within files that were looked up.
func (t *Snapshot) find(ctx context.Context, c Claim, within []git.Entry) (found bool, files []string, err error) {
	if c.Kind == Path {
		files, err = t.paths(c.Text)
		return len(files) > 0, files, err
	}
	needles := t.s.wanted(c)
	if len(needles) == 0 {
		return false, nil, nil
	}
	if within == nil {
		return t.everywhere(ctx, needles)
	}
	entries := make([]git.Entry, 0, len(within))
	for _, e := range within {
		if searchable(e) {
			entries = append(entries, e)
		}
	}
	if err := t.s.scan(ctx, entries); err != nil {
		return false, nil, err
	}
	last := needles[len(needles)-1]
	missing := map[int]bool{}
	for _, n := range needles {
		missing[n] = true
	}
	for _, e := range entries {
		for _, n := range t.s.scanned[e.Blob].held {
			delete(missing, n)
			if n == last {
				files = append(files, e.Path)
			}
		}
	}
	if len(missing) > 0 {
		return false, nil, nil
	}
	slices.Sort(files)
	return true, files, nil
}

// everywhere looks for needles in all texts, which are searched for all needles at once.
func (t *Snapshot) everywhere(ctx context.Context, needles []int) (found bool, files []string, err error) {
	if _, err := t.Entries(); err != nil {
		return false, nil, err
	}
	if t.holders == nil || t.upto != len(t.s.needles) {
		if err := t.s.scan(ctx, t.texts); err != nil {
			return false, nil, err
		}
		t.upto, t.holders = len(t.s.needles), map[int][]string{}
		for _, e := range t.texts {
			for _, n := range t.s.scanned[e.Blob].held {
				t.holders[n] = append(t.holders[n], e.Path)
			}
		}
	}
	for _, n := range needles {
		if len(t.holders[n]) == 0 {
			return false, nil, nil
		}
	}
	return true, slices.Clone(t.holders[needles[len(needles)-1]]), nil
}

// maxPaths bounds what a glob is answered with.
const maxPaths = 50

// paths are the files and folders that a path names: from the top, or from any folder, since documents leave beginnings out.
func (t *Snapshot) paths(p string) ([]string, error) {
	p = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
	var out []string
	if strings.ContainsAny(p, wild) {
		if known, ok := t.globs[p]; ok {
			return known, nil
		}
		all, err := t.Entries()
		if err != nil {
			return nil, err
		}
		literal := longestLiteral(p)
		for _, e := range all {
			if strings.Contains(e.Path, literal) && (e.Path == p || c4model.Matches("/"+p, e.Path) || c4model.Matches("**/"+p, e.Path)) {
				if out = append(out, e.Path); len(out) == maxPaths {
					break
				}
			}
		}
		t.globs[p] = out
		return out, nil
	}
	candidates, err := t.called(path.Base(p))
	for _, c := range candidates {
		if c == p || strings.HasSuffix(c, "/"+p) {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out, err
}

// called gives the files and folders with a last name.
func (t *Snapshot) called(base string) ([]string, error) {
	if t.base != nil {
		return t.base[base], nil
	}
	if t == t.s.forest.pinned {
		t.base = map[string][]string{}
		err := t.s.walk(t.tree, "", func(dir, name string) { t.base[name] = append(t.base[name], join(dir, name)) })
		return t.base[base], err
	}
	var out []string
	err := t.s.walk(t.tree, "", func(dir, name string) {
		if name == base {
			out = append(out, join(dir, name))
		}
	})
	return out, err
}

// walk gives all files and folders below a folder.
func (s *Searcher) walk(tree, dir string, use func(dir, name string)) error {
	entries, err := s.folder(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		use(dir, e.Path)
		if e.Mode != git.Folder {
			continue
		}
		if err := s.walk(e.Blob, join(dir, e.Path), use); err != nil {
			return err
		}
	}
	return nil
}
