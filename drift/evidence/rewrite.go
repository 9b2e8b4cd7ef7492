package evidence

import (
	"context"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stele-dev/stele/internal/git"
)

// MaxRewriteFiles is how many files a rewrite is measured over. A text that rests on more rests on none in particular.
const MaxRewriteFiles = 20

// Rewrite says how much of some files is gone.
type Rewrite struct {
	Lines   int      `json:"lines"`            // lines at the first commit, those of punctuation alone aside
	Gone    int      `json:"gone"`             // of them, those that are not there at the second
	Files   []string `json:"files"`            // that were compared, by their names at the first commit
	Renamed []Rename `json:"renamed"`          // of them, those that have another name now
	Commit  *Commit  `json:"commit,omitempty"` // that took most of what is gone; nil when nothing is, or history does not tell
	Share   int      `json:"share"`            // lines of Gone that this commit took
}

// Percent is the share of lines gone, 0 to 100, cut to an integer.
func (r Rewrite) Percent() int {
	if r.Lines <= 0 {
		return 0
	}
	return min(100, max(0, 100*r.Gone/r.Lines))
}

// Rename is a file with another name now.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Rewritten compares the lines of files at two commits. Renames are followed; blanks, breaks of lines, quotes and commas
// are not compared, so that formatting is no rewrite; a line that moved between the files is still there. nil means that
// there is nothing to compare: none of the files was there, or they are more than MaxRewriteFiles.
func (s *Searcher) Rewritten(ctx context.Context, seen, head string, files []string) (*Rewrite, error) {
	then, now, err := s.both(ctx, seen, head)
	if err != nil {
		return nil, err
	}
	out, gone, paths, err := s.compare(ctx, then, now, files)
	if err != nil || out == nil || out.Gone == 0 {
		return out, err
	}
	changes, err := s.since(ctx, then.Commit, now.Commit, paths)
	if err != nil {
		return nil, err
	}
	return out, s.blame(out, gone, changes)
}

// Compare is Rewritten without the commit that did it, which costs a walk through history.
func (s *Searcher) Compare(ctx context.Context, seen, head string, files []string) (*Rewrite, error) {
	then, now, err := s.both(ctx, seen, head)
	if err != nil {
		return nil, err
	}
	out, _, _, err := s.compare(ctx, then, now, files)
	return out, err
}

func (s *Searcher) both(ctx context.Context, seen, head string) (then, now *Snapshot, err error) {
	if then, err = s.At(ctx, seen); err != nil {
		return nil, nil, err
	}
	now, err = s.At(ctx, head)
	return then, now, err
}

// compare counts the lines that are gone, and names those, and the paths of the files at both commits.
func (s *Searcher) compare(ctx context.Context, then, now *Snapshot, files []string) (out *Rewrite, gone map[string]int, paths []string, err error) {
	out = &Rewrite{Files: []string{}, Renamed: []Rename{}}
	var before []git.Entry
	for _, f := range slices.Compact(slices.Sorted(slices.Values(files))) {
		e, ok, err := then.file(f)
		if err != nil {
			return nil, nil, nil, err
		}
		if ok && searchable(e) {
			before = append(before, e)
		}
	}
	if before, err = s.fit(before); err != nil {
		return nil, nil, nil, err
	}
	if len(before) == 0 || len(before) > MaxRewriteFiles {
		return nil, nil, nil, nil
	}
	after, paths, err := s.renamed(ctx, out, before, then, now)
	if err != nil {
		return nil, nil, nil, err
	}
	same, err := s.unchanged(out, &before, &after)
	if err != nil || same {
		return out, nil, paths, err
	}
	present := newLines()
	for _, e := range after {
		if err := s.addLines(present, e.Blob); err != nil {
			return nil, nil, nil, err
		}
	}
	gone = map[string]int{}
	for _, e := range before {
		text, err := s.text(e.Blob)
		if err != nil {
			return nil, nil, nil, err
		}
		total, lost := present.without(text)
		out.Lines += total
		for _, l := range lost {
			gone[l]++
			out.Gone++
		}
	}
	return out, gone, paths, nil
}

// fit leaves out what is empty, and what is not read for its size.
func (s *Searcher) fit(entries []git.Entry) ([]git.Entry, error) {
	blobs := make([]string, len(entries))
	for n, e := range entries {
		blobs[n] = e.Blob
	}
	sizes, err := s.sizes(blobs)
	var out []git.Entry
	for n, size := range sizes {
		if size > 0 && size <= maxText {
			out = append(out, entries[n])
		}
	}
	return out, err
}

// unchanged counts the lines of texts that are the same before and after, and leaves those texts out, since each of their
// lines is where it was. It tells whether nothing else is left.
func (s *Searcher) unchanged(out *Rewrite, before, after *[]git.Entry) (bool, error) {
	var rest []git.Entry
	for _, e := range *before {
		n := slices.IndexFunc(*after, func(a git.Entry) bool { return a.Blob == e.Blob })
		if n < 0 {
			rest = append(rest, e)
			continue
		}
		*after = slices.Delete(*after, n, n+1)
		total, ok := s.lengths[e.Blob]
		if !ok {
			text, err := s.text(e.Blob)
			if err != nil {
				return false, err
			}
			for line := range strings.Lines(text) {
				if _, says := squeeze(line); says {
					total++
				}
			}
			s.lengths[e.Blob] = total
		}
		out.Lines += total
	}
	*before = rest
	return len(rest) == 0, nil
}

// renamed finds files at a later commit, under their names of then.
func (s *Searcher) renamed(ctx context.Context, out *Rewrite, before []git.Entry, then, now *Snapshot) (after []git.Entry, paths []string, err error) {
	for _, e := range before {
		out.Files = append(out.Files, e.Path)
		paths = append(paths, e.Path)
		found, ok, err := now.file(e.Path)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			after = append(after, found)
			continue
		}
		renames, err := s.renames(ctx, then, now)
		if err != nil {
			return nil, nil, err
		}
		if to, ok := renames[e.Path]; ok {
			found, _, err := now.file(to)
			if err != nil {
				return nil, nil, err
			}
			out.Renamed = append(out.Renamed, Rename{From: e.Path, To: to})
			after, paths = append(after, found), append(paths, to)
		}
	}
	return after, paths, nil
}

// blame finds the commit that took most of the lines that are gone.
func (s *Searcher) blame(out *Rewrite, gone map[string]int, changes iter.Seq2[git.Change, error]) error {
	for change, err := range changes {
		if err != nil {
			return err
		}
		took := 0
		lines, err := s.taken(change.Files)
		if err != nil {
			return err
		}
		lost := map[string]int{}
		for _, l := range lines {
			if lost[l]++; lost[l] <= gone[l] {
				took++
			}
		}
		if took > out.Share {
			out.Share, out.Commit = took, named(change.Commit)
		}
	}
	return nil
}

// maxTaken bounds the lines of changes that are remembered.
const maxTaken = 200_000

// taken are the lines that a change took away from its files, found out once.
func (s *Searcher) taken(files []git.FileChange) ([]string, error) {
	var key strings.Builder
	for _, f := range files {
		key.WriteString(f.Old + ">" + f.New + ",")
	}
	if known, ok := s.takings[key.String()]; ok {
		return known, nil
	}
	present := newLines()
	for _, f := range files {
		if f.New != "" {
			if err := s.addLines(present, f.New); err != nil {
				return nil, err
			}
		}
	}
	var out []string
	for _, f := range files {
		if f.Old == "" {
			continue
		}
		text, err := s.text(f.Old)
		if err != nil {
			return nil, err
		}
		_, lines := present.without(text)
		out = append(out, lines...)
	}
	if s.took += len(out) + 1; s.took > maxTaken {
		clear(s.takings)
		s.took = len(out)
	}
	s.takings[key.String()] = out
	return out, nil
}

// text reads a text; one that cannot be searched is empty.
func (s *Searcher) text(blob string) (string, error) {
	text, err := s.readers[0].Read(blob, maxText)
	if err != nil && unreadable(err) {
		return "", nil
	}
	return string(text), err
}

func (s *Searcher) addLines(to *lines, blob string) error {
	text, err := s.text(blob)
	to.add(text)
	return err
}

// lines are texts, to ask which lines they hold. All are added before the first question.
type lines struct {
	count map[string]int
	all   strings.Builder // everything, squeezed, to find lines that were broken or joined
	grams []uint64        // which hashes of gram bytes of all there are; made by the first question
}

func newLines() *lines { return &lines{count: map[string]int{}} }

func (l *lines) add(text string) {
	for line := range strings.Lines(text) {
		s, ok := squeeze(line)
		if ok {
			l.count[s]++
		}
		l.all.WriteString(s)
	}
	l.all.WriteByte('\n')
}

// gram is how many bytes are hashed together.
const gram = 8

// hashes gives the place of each gram of a text among n bits, a power of two.
func hashes(text string, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		var window uint64
		for i := range len(text) {
			window = window<<8 | uint64(text[i])
			const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: Fibonacci hashing
			if i >= gram-1 && !yield(int(window*golden>>32)&(n-1)) {
				return
			}
		}
	}
}

// joined tells whether a text stands in everything. Most do not, which their grams tell without a search.
func (l *lines) joined(text string) bool {
	all := l.all.String()
	const perByte = 16 // bits: one in sixteen is set, so that a line that is not there is found out by its first grams
	if l.grams == nil {
		n := 64
		for n < perByte*len(all) {
			n *= 2
		}
		l.grams = make([]uint64, n/64)
		for at := range hashes(all, n) {
			l.grams[at/64] |= 1 << (at % 64)
		}
	}
	for at := range hashes(text, 64*len(l.grams)) {
		if l.grams[at/64]&(1<<(at%64)) == 0 {
			return false
		}
	}
	return strings.Contains(all, text)
}

// without gives the lines of a text that count, and those of them that are missing here. It takes what it finds: a line
// that stood there ten times and stands there once is missing nine times.
func (l *lines) without(text string) (total int, missing []string) {
	const telling = 12 // bytes; a shorter line stands somewhere in most texts
	known := map[string]bool{}
	var squeezed []string
	var counts []bool
	for line := range strings.Lines(text) {
		s, ok := squeeze(line)
		squeezed, counts = append(squeezed, s), append(counts, ok)
	}
	for n, s := range squeezed {
		if !counts[n] {
			continue
		}
		total++
		if l.count[s] > 0 {
			l.count[s]--
			known[s] = true
			continue
		}
		if !known[s] {
			if len(s) >= telling && l.joined(s) {
				continue
			}
			around := s
			if n > 0 {
				around = squeezed[n-1] + around
			}
			if n+1 < len(squeezed) {
				around += squeezed[n+1]
			}
			if len(around) > len(s) && l.joined(around) {
				continue
			}
		}
		missing = append(missing, s)
	}
	return total, missing
}

// squeeze leaves out of a line what formatting changes, and tells whether it says anything.
func squeeze(line string) (string, bool) {
	if out, says, ok := squeezeASCII(line); ok {
		return out, says
	}
	says := false
	s := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), strings.ContainsRune(",;'\"`()", r):
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r):
			says = true
		}
		return r
	}, line)
	return s, says
}

// squeezeASCII is squeeze for what most lines are made of; ok is false for any other.
func squeezeASCII(line string) (out string, says, ok bool) {
	buf := make([]byte, 0, 128) //nolint:mnd // most lines are shorter, so that this is on the stack
	for i := range len(line) {
		b := line[i]
		switch {
		case b >= utf8.RuneSelf:
			return "", false, false
		case b == ' ' || b >= '\t' && b <= '\r' || b == ',' || b == ';' || b == '\'' || b == '"' || b == '`' || b == '(' || b == ')':
			continue
		case b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z':
			says = true
		}
		buf = append(buf, b)
	}
	return string(buf), says, true
}
