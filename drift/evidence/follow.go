package evidence

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/git"
)

// State is what became of a claim.
type State string

// The states.
const (
	Holds      State = "holds"       // where it was looked for
	Moved      State = "moved"       // it left there, and is elsewhere now
	Gone       State = "gone"        // it is nowhere any more
	NeverFound State = "never_found" // it was never seen in code, so nothing follows from its absence
)

// Commit names a commit to people.
type Commit struct {
	ID      string    `json:"id"`
	Author  string    `json:"author"`
	Time    time.Time `json:"time"` // of the committer, UTC
	Subject string    `json:"subject"`
}

func named(c git.Commit) *Commit {
	return &Commit{ID: c.ID, Author: strings.ToValidUTF8(c.Author, "\uFFFD"), Time: c.Time, Subject: strings.ToValidUTF8(c.Subject, "\uFFFD")}
}

// String is "1a2b3c4 (Ana, 2026-03-01: subject)".
func (c Commit) String() string {
	const abbreviated = 7
	return c.ID[:min(abbreviated, len(c.ID))] + " (" + c.Author + ", " + c.Time.UTC().Format(time.DateOnly) + ": " + c.Subject + ")"
}

// ClaimVerdict is what became of one claim.
type ClaimVerdict struct {
	Claim
	State    State    `json:"state"`
	Evidence bool     `json:"evidence"`         // code declares what is claimed, or did; what it only uses or mentions is none
	Before   []string `json:"before"`           // where it was, when it was last seen; at most ten
	Now      []string `json:"now"`              // where it is; at most ten
	Commit   *Commit  `json:"commit,omitempty"` // in which it left where it was; nil when history does not tell
}

// String says it in words, such as "`open` left store.go in 1a2b3c4 (Ana, 2026-03-01: subject), now in pool.go".
func (v ClaimVerdict) String() string {
	quoted := "`" + v.Text + "`"
	switch v.State {
	case Holds:
		return quoted + " is in " + listed(v.Now)
	case NeverFound:
		return quoted + " was never found"
	case Moved, Gone:
	}
	var b strings.Builder
	b.WriteString(quoted)
	switch {
	case v.Kind == Path && v.State == Moved:
		b.WriteString(" moved")
	case v.Kind == Path:
		b.WriteString(" was removed")
	case len(v.Before) > 0:
		b.WriteString(" left " + listed(v.Before))
	default:
		b.WriteString(" is gone")
	}
	if v.Commit != nil {
		b.WriteString(" in " + v.Commit.String())
	}
	switch {
	case v.State == Moved && v.Kind == Path:
		b.WriteString(", now " + listed(v.Now))
	case v.State == Moved:
		b.WriteString(", now in " + listed(v.Now))
	}
	return b.String()
}

// listed is "a.go", "a.go and b.go", "a.go and 3 other files".
func listed(files []string) string {
	switch len(files) {
	case 0:
		return "no file"
	case 1:
		return files[0]
	case 2:
		return files[0] + " and " + files[1]
	}
	return files[0] + " and " + strconv.Itoa(len(files)-1) + " other files"
}

// few bounds lists of files in a verdict.
const few = 10

func some(files []string) []string {
	out := make([]string, 0, min(few, len(files)))
	for _, f := range files[:min(few, len(files))] {
		out = append(out, strings.ToValidUTF8(f, "\uFFFD"))
	}
	return out
}

// Bounds of one question to history. They are far beyond what files of a project see between two readings of a text.
const (
	maxChanges = 1000 // changes of the files a claim was in
	maxMoves   = 6    // from file to file
	maxWhere   = 30   // files
)

// Follow says what became of a claim that was found at one commit and is not at another, which must contain the first for
// the story to be known. before are the files it was found in; within are those in which it counts at the later commit
// (nil: anywhere). The commit named is the newest one that took it out of the last of them.
func (s *Searcher) Follow(ctx context.Context, c Claim, seen, head string, before, within []string) (ClaimVerdict, error) {
	at, err := s.At(ctx, head)
	if err != nil || within == nil {
		return s.follow(ctx, c, seen, head, before, nil)
	}
	entries := []git.Entry{}
	for _, p := range within {
		e, ok, err := at.file(p)
		if err != nil {
			return ClaimVerdict{}, err
		}
		if ok {
			entries = append(entries, e)
		}
	}
	return s.follow(ctx, c, seen, head, before, entries)
}

// follow is Follow within files that were looked up at the later commit.
func (s *Searcher) follow(ctx context.Context, c Claim, seen, head string, before []string, within []git.Entry) (ClaimVerdict, error) {
	v := ClaimVerdict{Claim: c, State: Gone, Evidence: true, Before: some(before), Now: []string{}}
	at, err := s.At(ctx, head)
	if err != nil {
		return v, err
	}
	if c.Kind == Path {
		err := s.followPath(ctx, &v, at, seen, before)
		return v, err
	}
	found, now, err := at.Find(ctx, c, nil)
	if err != nil {
		return v, err
	}
	if found && within != nil {
		v.State, v.Now = Moved, some(now)
	}
	lost, err := s.lost(ctx, c, at, within)
	if err != nil {
		return v, err
	}
	from, where := seen, before
	for range maxMoves {
		left, err := s.left(ctx, lost, from, head, where)
		if err != nil || left == nil {
			return v, err
		}
		v.Commit, v.Before = named(left.Commit), some(left.files)
		if within != nil {
			break
		}
		then, err := s.At(ctx, left.ID)
		if err != nil {
			return v, err
		}
		if found, where, err = then.Find(ctx, lost, nil); err != nil || !found {
			return v, err
		}
		from = left.ID // it went elsewhere, and was lost from there
	}
	return v, nil
}

// lost is the part of a claim that is not at a commit: of a qualified name, one word may be.
func (s *Searcher) lost(ctx context.Context, c Claim, at *Snapshot, within []git.Entry) (Claim, error) {
	if c.Kind != Symbol {
		return c, nil
	}
	for _, word := range slices.Backward(c.words()) {
		part := Claim{Text: word, Kind: Symbol}
		if found, _, err := at.find(ctx, part, within); err != nil || !found {
			return part, err
		}
	}
	return c, nil
}

// leaving is a commit that took a claim out of files.
type leaving struct {
	git.Commit
	files []string
}

// left finds the newest commit after seen in which a claim left one of the files; nil when there is none.
func (s *Searcher) left(ctx context.Context, c Claim, seen, head string, files []string) (*leaving, error) {
	if len(files) == 0 {
		return nil, nil
	}
	s.wanted(c)
	const batch = 32 // read ahead of what is needed, so that texts come from several processes
	var pending []git.Change
	check := func() (*leaving, error) {
		defer func() { pending = pending[:0] }()
		var entries []git.Entry
		for _, change := range pending {
			for _, f := range change.Files {
				for _, blob := range []string{f.Old, f.New} {
					if blob != "" {
						entries = append(entries, git.Entry{Blob: blob})
					}
				}
			}
		}
		if err := s.scan(ctx, entries); err != nil {
			return nil, err
		}
		for _, change := range pending {
			out := &leaving{Commit: change.Commit}
			for _, f := range change.Files {
				if s.holds(f.Old, c) && !s.holds(f.New, c) {
					out.files = append(out.files, f.Path)
				}
			}
			if len(out.files) > 0 {
				return out, nil
			}
		}
		return nil, nil
	}
	changes, err := s.since(ctx, seen, head, files[:min(len(files), maxWhere)])
	if err != nil {
		return nil, err
	}
	for change, err := range changes {
		if err != nil {
			return nil, err
		}
		if pending = append(pending, change); len(pending) < batch {
			continue
		}
		if out, err := check(); out != nil || err != nil {
			return out, err
		}
	}
	return check()
}

// holds tells whether a text that was scanned holds a claim.
func (s *Searcher) holds(blob string, c Claim) bool {
	if blob == "" {
		return false
	}
	held := s.scanned[blob].held
	for _, n := range s.wanted(c) {
		if _, ok := slices.BinarySearch(held, n); !ok {
			return false
		}
	}
	return true
}

// followPath finds the commit in which the last of some files or folders was removed or renamed, and where that led.
func (s *Searcher) followPath(ctx context.Context, v *ClaimVerdict, at *Snapshot, seen string, before []string) error {
	var there []string // it was known to be elsewhere than its name says, and still is
	for _, p := range before {
		exists, err := at.exists(p)
		if err != nil {
			return err
		}
		if exists {
			there = append(there, p)
		}
	}
	if len(there) > 0 {
		v.State, v.Now = Moved, some(there)
		left, _, err := s.removed(ctx, seen, at.Commit, []string{v.Text})
		if left != nil {
			v.Commit = named(*left)
		}
		return err
	}
	from, where := seen, before[:min(len(before), maxWhere)]
	for range maxMoves {
		left, to, err := s.removed(ctx, from, at.Commit, where)
		if err != nil || left == nil {
			return err
		}
		v.Commit = named(*left)
		if to == "" {
			return nil
		}
		exists, err := at.exists(to)
		if err != nil {
			return err
		}
		if exists {
			v.State, v.Now = Moved, some([]string{to})
			return nil
		}
		from, where = left.ID, []string{to}
	}
	return nil
}

// removed is the newest commit after seen that removed one of some files, or a file below one of some folders, and where
// it is after that commit, if it was renamed.
func (s *Searcher) removed(ctx context.Context, seen, head string, where []string) (commit *git.Commit, to string, err error) {
	if len(where) == 0 {
		return nil, "", nil
	}
	changes, err := s.since(ctx, seen, head, where)
	if err != nil {
		return nil, "", err
	}
	for change, err := range changes {
		if err != nil {
			return nil, "", err
		}
		if !slices.ContainsFunc(change.Files, func(f git.FileChange) bool { return f.Status == 'D' || f.Status == 'R' }) {
			continue
		}
		files, err := s.lineage.chain.Whole(ctx, change) // where it went may lie elsewhere
		if err != nil {
			return nil, "", err
		}
		if removed, to := removal(files, where); removed {
			return &change.Commit, to, nil
		}
	}
	return nil, "", nil
}

// removal tells whether changes removed one of some files or folders, and where most of it went.
func removal(files []git.FileChange, where []string) (removed bool, to string) {
	for _, w := range where {
		total, went := 0, map[string]int{}
		for _, f := range files {
			left := f.Path
			switch f.Status {
			case 'R':
				left = f.From
			case 'D':
			default:
				continue
			}
			rest, below := strings.CutPrefix(left, w)
			if !below || rest != "" && rest[0] != '/' {
				continue
			}
			total++
			if folder, ok := strings.CutSuffix(f.Path, rest); f.Status == 'R' && ok && folder != "" {
				went[folder]++
			}
		}
		removed = removed || total > 0
		most := ""
		for _, folder := range slices.Sorted(maps.Keys(went)) {
			if went[folder] > went[most] {
				most = folder
			}
		}
		if to == "" && 2*went[most] >= total {
			to = most
		}
	}
	return removed, to
}

// passing tells whether a claim went with files that come and go, such as those that a tool writes while it is in a mode:
// all of them are gone, and were removed before.
func (s *Searcher) passing(ctx context.Context, v ClaimVerdict, head *Snapshot) (bool, error) {
	if v.State != Gone || v.Commit == nil || len(v.Before) == 0 {
		return false, nil
	}
	for _, p := range v.Before {
		if exists, err := head.exists(p); err != nil || exists {
			return false, err
		}
		removals := 0
		changes, err := s.since(ctx, "", head.Commit, []string{p})
		if err != nil {
			return false, err
		}
		for change, err := range changes {
			if err != nil {
				return false, err
			}
			for _, f := range change.Files {
				if f.Status == 'D' && f.Path == p {
					removals++
				}
			}
			if removals > 1 {
				break
			}
		}
		if removals < 2 {
			return false, nil
		}
	}
	return true, nil
}
