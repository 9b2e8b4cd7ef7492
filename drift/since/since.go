// Package since tells what happened to code between two commits: which files of some patterns changed, their lines before and after,
// and in which commits. It is what a person who judges a memory looks at: what the code said when it was written, and says now.
package since

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
)

// Bounds of what is told: enough to judge by, and a page that can be read.
const (
	MaxFiles     = 20
	MaxCommits   = 10
	maxFileLines = 200
	maxFileBytes = 512 << 10
	maxLineBytes = 500
)

// Span is what is to be compared.
type Span struct {
	From     string   // commit
	To       string   // commit
	Patterns []string // files, folders and globs from the root of the repository
}

// Changes is what happened in a span.
type Changes struct {
	From    git.Commit
	To      git.Commit
	Files   []File       // by path
	More    int          // files that are left out
	Commits []git.Commit // that touched the files, newest first; at most MaxCommits
}

// File is a file that changed.
type File struct {
	Path  string
	Was   string // its path before; "" when it had the same
	State State
	Lines []Line // of the hunks, in order; none of a file that was only moved
	More  int    // lines that are left out
	Note  string // why there are no lines: "binary", or too large
}

// State is what became of a file.
type State string

// The states.
const (
	Added   State = "added"
	Changed State = "changed"
	Removed State = "removed"
	Moved   State = "moved"
)

// Line is a line of a hunk.
type Line struct {
	Sign byte // ' ', '+', '-', or '@' before a hunk
	Text string
}

// Compare tells what happened to the files of some patterns from one commit to another. Commits that the repository does not have are a
// *git.Error or a *problem.Error of git's.
func Compare(ctx context.Context, repo *git.Repository, s Span) (Changes, error) {
	var out Changes
	var err error
	if out.From, err = repo.Commit(ctx, s.From); err != nil {
		return out, err
	}
	if out.To, err = repo.Commit(ctx, s.To); err != nil {
		return out, err
	}
	all, err := repo.Diff(ctx, out.From.ID, out.To.ID)
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(f git.FileChange) bool { return !s.owns(f.Path) && (f.From == "" || !s.owns(f.From)) })
	shown := all[:min(len(all), MaxFiles)]
	out.More = len(all) - len(shown)
	var blobs, paths []string
	for _, f := range shown {
		for _, b := range []string{f.Old, f.New} {
			if b != "" {
				blobs = append(blobs, b)
			}
		}
		paths = append(paths, f.Path)
		if f.From != "" {
			paths = append(paths, f.From)
		}
	}
	if len(shown) == 0 {
		return out, nil
	}
	if err := repo.Bring(ctx, blobs); err != nil {
		return out, err
	}
	texts, err := repo.Blobs(ctx)
	if err != nil {
		return out, err
	}
	defer texts.Close()
	for _, f := range shown {
		file, err := compare(texts, f)
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, file)
	}
	for change, err := range repo.History(ctx, git.HistoryQuery{Commit: out.To.ID, Until: out.From.ID, Paths: paths, Limit: MaxCommits}) {
		if err != nil {
			return out, err
		}
		out.Commits = append(out.Commits, change.Commit)
	}
	return out, nil
}

func (s Span) owns(path string) bool {
	return slices.ContainsFunc(s.Patterns, func(p string) bool { return c4model.Matches(p, path) })
}

func compare(texts *git.Blobs, f git.FileChange) (File, error) {
	out := File{Path: f.Path, State: Changed}
	switch f.Status {
	case 'A', 'C':
		out.State = Added
	case 'D':
		out.State = Removed
	case 'R':
		out.State, out.Was = Moved, f.From
	}
	before, note, err := text(texts, f.Old)
	if err != nil {
		return out, err
	}
	after, other, err := text(texts, f.New)
	if err != nil {
		return out, err
	}
	if note == "" {
		note = other
	}
	if out.Note = note; note != "" {
		return out, nil
	}
	var lines []Line
	for line := range strings.Lines(udiff.Unified("a", "b", before, after)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "--- a" && lines == nil, line == "+++ b" && lines == nil, strings.HasPrefix(line, "\\"):
		case strings.HasPrefix(line, "@@"):
			lines = append(lines, Line{'@', strings.Trim(line, "@ ")})
		case line == "":
			lines = append(lines, Line{' ', ""})
		default:
			text := line[1:]
			if len(text) > maxLineBytes {
				text = strings.ToValidUTF8(text[:maxLineBytes], "") + "…"
			}
			lines = append(lines, Line{line[0], text})
		}
	}
	out.Lines = lines[:min(len(lines), maxFileLines)]
	out.More = len(lines) - len(out.Lines)
	return out, nil
}

// text reads what can be compared by lines.
func text(texts *git.Blobs, blob string) (content, note string, err error) {
	if blob == "" {
		return "", "", nil
	}
	b, err := texts.Read(blob, maxFileBytes)
	if _, large := errors.AsType[*git.TooLargeError](err); large {
		return "", "too large to compare here", nil
	}
	if err != nil {
		return "", "", err
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return "", "binary", nil
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), "", nil
}
