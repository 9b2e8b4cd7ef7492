package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
)

// maxText is the size up to which texts are searched, in bytes. Larger ones are data or generated.
const maxText = 1 << 20

// Searcher finds claims in the commits of one repository. It remembers what it found in every text, so that commits which
// share most of their texts cost little after the first. It belongs to one goroutine; Close ends its git processes.
type Searcher struct {
	repo    *git.Repository
	words   map[string][]int // indexes of the needles that an identifier belongs to
	needles []needle
	ids     map[string]int
	scanned map[string]scan // by blob
	trees   map[string]*Snapshot
	readers []*git.Blobs

	renamings map[string]map[string]string // by pair of commits
	lengths   map[string]int               // lines that say something, by blob
}

// needle is a word or a literal that was looked for.
type needle struct {
	text string
	word bool
}

// scan is what is known about a text: which of the first upto needles it holds.
type scan struct {
	upto int
	held []int
}

// maxReaders is how many git processes read at once: more of them wait for each other's disk.
const maxReaders = 4

// NewSearcher starts the git processes of a searcher, which end with it or with the context.
func NewSearcher(ctx context.Context, repo *git.Repository) (*Searcher, error) {
	s := &Searcher{
		repo: repo, words: map[string][]int{}, ids: map[string]int{}, scanned: map[string]scan{}, trees: map[string]*Snapshot{},
		renamings: map[string]map[string]string{}, lengths: map[string]int{},
	}
	for range min(runtime.GOMAXPROCS(0), maxReaders) {
		r, err := repo.Blobs(ctx)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.readers = append(s.readers, r)
	}
	return s, nil
}

// Close ends the git processes.
func (s *Searcher) Close() {
	for _, r := range s.readers {
		r.Close()
	}
	s.readers = nil
}

// Want announces claims: texts that are searched for many at once are read once.
func (s *Searcher) Want(claims ...Claim) {
	for _, c := range claims {
		s.wanted(c)
	}
}

// wanted gives the needles of a claim, all of which a place needs.
func (s *Searcher) wanted(c Claim) []int {
	var out []int
	add := func(n needle) {
		key := "l" + n.text
		if n.word {
			key = "w" + n.text
		}
		id, ok := s.ids[key]
		if !ok {
			id = len(s.needles)
			s.needles = append(s.needles, n)
			s.ids[key] = id
			if n.word {
				s.words[n.text] = append(s.words[n.text], id)
			}
		}
		out = append(out, id)
	}
	switch c.Kind {
	case Symbol:
		for _, w := range c.words() {
			add(needle{w, true})
		}
	case Literal:
		add(needle{c.Text, false})
	case Path: // is no text
	}
	return out
}

// Snapshot is a commit to search in.
type Snapshot struct {
	Commit  string // full hash
	Entries []git.Entry

	s      *Searcher
	texts  []git.Entry // those that may witness a claim
	byPath map[string]git.Entry
	base   map[string][]string // paths of files and folders by their last name
	globs  map[string][]string // what globs matched
}

// maxTrees bounds how many commits are remembered: the tree of a large repository takes 10 MB.
const maxTrees = 16

// At gives a commit; "" is HEAD.
func (s *Searcher) At(ctx context.Context, commit string) (*Snapshot, error) {
	if t := s.trees[commit]; t != nil {
		return t, nil
	}
	entries, err := s.repo.Tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	if len(s.trees) >= maxTrees {
		clear(s.trees) // whoever asks in the order of commits asks for few of them twice
	}
	t := &Snapshot{Commit: commit, Entries: entries, s: s}
	for _, e := range entries {
		if searchable(e) {
			t.texts = append(t.texts, e)
		}
	}
	s.trees[commit] = t
	return t, nil
}

// index files the entries on first use: most snapshots are asked for texts only.
func (t *Snapshot) index() {
	if t.byPath != nil {
		return
	}
	t.byPath = make(map[string]git.Entry, len(t.Entries))
	t.base, t.globs = map[string][]string{}, map[string][]string{}
	folders := map[string]bool{}
	for _, e := range t.Entries {
		t.byPath[e.Path] = e
		t.base[path.Base(e.Path)] = append(t.base[path.Base(e.Path)], e.Path)
		for d := path.Dir(e.Path); d != "." && !folders[d]; d = path.Dir(d) {
			folders[d] = true
			t.base[path.Base(d)] = append(t.base[path.Base(d)], d)
		}
	}
}

// Find tells whether a claim holds at the commit, and in which files, sorted. Paths are looked for among all tracked files;
// symbols and literals in the texts of the files within (nil: all of them), documents aside: a document that repeats a name
// is no witness for it.
func (t *Snapshot) Find(ctx context.Context, c Claim, within []string) (found bool, files []string, err error) {
	if c.Kind == Path {
		files = t.paths(c.Text)
		return len(files) > 0, files, nil
	}
	needles := t.s.wanted(c)
	if len(needles) == 0 {
		return false, nil, nil
	}
	entries := t.texts
	if within != nil {
		t.index()
		entries = make([]git.Entry, 0, len(within))
		for _, p := range within {
			if e, ok := t.byPath[p]; ok && searchable(e) {
				entries = append(entries, e)
			}
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

// maxPaths bounds what a glob is answered with.
const maxPaths = 50

// paths are the files and folders that a path names: from the top, or from any folder, since documents leave beginnings out.
func (t *Snapshot) paths(p string) []string {
	t.index()
	p = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
	var out []string
	if strings.ContainsAny(p, wild) {
		if known, ok := t.globs[p]; ok {
			return known
		}
		literal := longestLiteral(p)
		for _, e := range t.Entries {
			if strings.Contains(e.Path, literal) && (e.Path == p || c4model.Matches("/"+p, e.Path) || c4model.Matches("**/"+p, e.Path)) {
				if out = append(out, e.Path); len(out) == maxPaths {
					break
				}
			}
		}
		t.globs[p] = out
		return out
	}
	for _, candidate := range t.base[path.Base(p)] {
		if candidate == p || strings.HasSuffix(candidate, "/"+p) {
			out = append(out, candidate)
		}
	}
	slices.Sort(out)
	return out
}

// wild are the characters that make a glob of a path.
const wild = "*?[{"

// longestLiteral is the longest part of a glob that stands in every path it matches: most paths are told apart by it at once.
func longestLiteral(glob string) string {
	longest, depth := "", 0
	for part := range strings.FieldsFuncSeq(glob, func(r rune) bool {
		switch r {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			return true
		}
		return depth > 0 || r == '*' || r == '?' || r == '/'
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// searchable tells whether a text may witness a claim.
func searchable(e git.Entry) bool {
	return (e.Mode == git.Regular || e.Mode == git.Executable) && e.Size > 0 && e.Size <= maxText && !isDocument(e.Path) && !isForeign(e.Path)
}

// isForeign tells whether others wrote a file: what comes and goes there says nothing about this repository.
func isForeign(p string) bool {
	if strings.HasSuffix(p, ".min.js") || strings.HasSuffix(p, ".min.css") {
		return true
	}
	for folder := range strings.SplitSeq(path.Dir(p), "/") {
		switch folder {
		case "vendor", "node_modules", "third_party", "third-party", "bower_components", "Godeps":
			return true
		}
	}
	return false
}

// withoutEnding are documents whose names have no ending.
var withoutEnding = strings.Fields("readme changelog changes license notice authors contributing copying history news todo")

// isDocument tells whether a file is written for people: what it says is a claim itself.
func isDocument(p string) bool {
	base := strings.ToLower(path.Base(p))
	switch path.Ext(base) {
	case ".md", ".markdown", ".mdx", ".mdc", ".rst", ".adoc", ".asciidoc", ".org", ".textile", ".wiki":
		return true
	case ".txt":
		return !strings.HasPrefix(base, "requirements") && !strings.HasPrefix(base, "constraints") && base != "cmakelists.txt"
	case "":
		return slices.Contains(withoutEnding, base)
	}
	for folder := range strings.SplitSeq(path.Dir(p), "/") {
		if folder == "changelog" || folder == "changelogs" || folder == "newsfragments" || folder == ".changeset" {
			return true
		}
	}
	return base == ".cursorrules" || base == ".windsurfrules" || base == ".clinerules"
}

// scan looks for all needles in those texts of entries that were not searched for them yet.
func (s *Searcher) scan(ctx context.Context, entries []git.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var todo []string
	queued := map[string]bool{}
	for _, e := range entries {
		if queued[e.Blob] || s.scanned[e.Blob].upto == len(s.needles) {
			continue
		}
		queued[e.Blob] = true
		todo = append(todo, e.Blob)
	}
	if len(todo) == 0 {
		return nil
	}
	workers := min(len(s.readers), len(todo))
	find := newFinder(s.needles, s.words)
	results := make([]scan, len(todo)) // each worker fills its own
	errs := make([]error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for n := w; n < len(todo); n += workers {
				text, err := s.readers[w].Read(todo[n], maxText)
				if err != nil && !unreadable(err) {
					errs[w] = fmt.Errorf("searching a text: %w", err)
					return
				}
				results[n] = scan{upto: len(s.needles), held: find.in(text, s.scanned[todo[n]])}
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for n, blob := range todo {
		s.scanned[blob] = results[n]
	}
	return nil
}

// unreadable tells whether a text is left out of the search: for its size, or because this clone lacks it.
func unreadable(err error) bool {
	_, large := errors.AsType[*git.TooLargeError](err)
	return large || errors.Is(err, git.ErrAbsent)
}

// finder looks for needles in texts. It is safe for concurrent use.
type finder struct {
	needles  []needle
	words    map[string][]int
	starts   [256]bool // bytes that a word looked for begins with
	longest  int
	literals []int
}

func newFinder(needles []needle, words map[string][]int) *finder {
	f := &finder{needles: needles, words: words}
	for n, needle := range needles {
		if needle.word {
			f.starts[needle.text[0]] = true
			f.longest = max(f.longest, len(needle.text))
		} else {
			f.literals = append(f.literals, n)
		}
	}
	return f
}

// in gives the needles that a text holds, sorted; before is what was known about it.
func (f *finder) in(text []byte, before scan) []int {
	const head = 8000 // git's own measure of what is binary
	if bytes.IndexByte(text[:min(len(text), head)], 0) >= 0 {
		return nil
	}
	held := slices.Clone(before.held)
	for i := 0; i < len(text); {
		if !identifier[text[i]] {
			i++
			continue
		}
		start := i
		for i < len(text) && identifier[text[i]] {
			i++
		}
		if !f.starts[text[start]] || i-start > f.longest {
			continue
		}
		for _, n := range f.words[string(text[start:i])] {
			if n >= before.upto && !slices.Contains(held, n) {
				held = append(held, n)
			}
		}
	}
	for _, n := range f.literals {
		if n >= before.upto && holdsLiteral(text, f.needles[n].text) {
			held = append(held, n)
		}
	}
	slices.Sort(held)
	return held
}

// identifier tells which bytes identifiers are made of; bytes of other scripts count.
var identifier = func() (t [256]bool) {
	for b := range t {
		t[b] = b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
	}
	return t
}()

// holdsLiteral finds a text that is not part of a longer word.
func holdsLiteral(text []byte, literal string) bool {
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(literal))
		if at < 0 {
			return false
		}
		at += from
		end := at + len(literal)
		before := at > 0 && identifier[text[at-1]] && identifier[literal[0]]
		after := end < len(text) && identifier[text[end]] && identifier[literal[len(literal)-1]]
		if !before && !after {
			return true
		}
		from = at + 1
	}
}
