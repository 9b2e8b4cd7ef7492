package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

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
	readers []*git.Blobs
	forest  forest
	lineage lineage

	lengths map[string]int      // lines that say something, by blob
	takings map[string][]string // answers of taken
	took    int                 // lines in takings
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
		repo: repo, words: map[string][]int{}, ids: map[string]int{}, scanned: map[string]scan{}, lengths: map[string]int{}, takings: map[string][]string{},
		forest: newForest(), lineage: newLineage(),
	}
	var err error
	if s.forest.lookup, err = repo.Lookup(ctx); err != nil {
		return nil, err
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
	s.forest.lookup.Close()
	if s.lineage.chain != nil {
		s.lineage.chain.Close()
	}
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

// searchable tells whether a text may witness a claim, by its name. One that is empty or too large witnesses nothing.
func searchable(e git.Entry) bool {
	return (e.Mode == git.Regular || e.Mode == git.Executable) && !isDocument(e.Path) && !isForeign(e.Path)
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
		if queued[e.Blob] || s.scanned[e.Blob].upto >= len(s.needles) {
			continue
		}
		queued[e.Blob] = true
		todo = append(todo, e.Blob)
	}
	if len(todo) == 0 {
		return nil
	}
	if err := s.repo.Bring(ctx, todo); err != nil {
		return err
	}
	todo, err := s.sized(todo)
	if err != nil {
		return err
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

// sized leaves out texts that are not read for their size, so that git does not send them. They hold nothing.
func (s *Searcher) sized(blobs []string) ([]string, error) {
	var fresh []string
	for _, b := range blobs {
		if s.scanned[b].upto == 0 {
			fresh = append(fresh, b)
		}
	}
	sizes, err := s.sizes(fresh)
	if err != nil {
		return nil, err
	}
	unfit := map[string]bool{}
	for n, b := range fresh {
		if sizes[n] <= 0 || sizes[n] > maxText {
			s.scanned[b] = scan{upto: everything}
			unfit[b] = true
		}
	}
	return slices.DeleteFunc(blobs, func(b string) bool { return unfit[b] }), nil
}

// sizes are those of texts, each asked for once.
func (s *Searcher) sizes(blobs []string) ([]int64, error) {
	var fresh []string
	for _, b := range blobs {
		if _, ok := s.forest.sizes[b]; !ok {
			fresh = append(fresh, b)
		}
	}
	sizes, err := s.forest.lookup.Sizes(fresh)
	if err != nil {
		return nil, err
	}
	for n, b := range fresh {
		s.forest.sizes[b] = sizes[n]
	}
	out := make([]int64, len(blobs))
	for n, b := range blobs {
		out[n] = s.forest.sizes[b]
	}
	return out, nil
}

// everything is how far a text was searched in which nothing is ever found.
const everything = math.MaxInt

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
