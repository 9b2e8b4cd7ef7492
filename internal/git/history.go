package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
)

// FileChange is what one step of history did to one file.
type FileChange struct {
	Status byte   // 'A' added, 'M' modified, 'D' deleted, 'R' renamed, 'C' copied, 'T' another kind of entry now
	Path   string // where it is; where it was, when deleted
	From   string // where it was before a rename or copy, else ""
	Old    string // blob before; "" when added, or when it was a submodule
	New    string // blob after; "" when deleted, or when it is a submodule
}

// Change is a commit with the files in which it differs from its first parent.
type Change struct {
	Commit Commit
	Files  []FileChange
}

// HistoryQuery says which part of a history is wanted.
type HistoryQuery struct {
	Commit string    // where to begin; "" is HEAD
	Until  string    // leaves this commit and what it contains out; "" is the whole history
	Paths  []string  // only commits that touched one of these files or folders, literally; none: all commits
	Whole  bool      // all files of such a commit, not only those of Paths: renames to elsewhere then show as such
	Limit  int       // most changes; 0 is no limit
	Since  time.Time // only commits after it; zero is no limit
	Apart  bool      // a rename shows as one file deleted and one added, which costs git a third of the time
}

// History walks the first parents from a commit back, newest first. Merges are compared with their first parent, renames
// are detected. An error ends the sequence; leaving the loop ends git.
func (r *Repository) History(ctx context.Context, q HistoryQuery) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		id, err := r.resolve(ctx, q.Commit)
		if err != nil {
			yield(Change{}, err)
			return
		}
		args := []string{
			"log", "--first-parent", "-m", "-M", "--raw", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-color",
			"--format=tformat:" + commitMark + commitFormat,
		}
		if q.Apart {
			args = append(args, "--no-renames")
		}
		if q.Whole {
			args = append(args, "--full-diff")
		}
		if q.Limit > 0 {
			args = append(args, "-n", strconv.Itoa(q.Limit))
		}
		if !q.Since.IsZero() {
			args = append(args, "--since="+q.Since.UTC().Format(time.RFC3339))
		}
		args = append(args, id)
		if q.Until != "" {
			until, err := r.resolve(ctx, q.Until)
			if err != nil {
				yield(Change{}, err)
				return
			}
			args = append(args, "^"+until)
		}
		args = append(append(args, "--"), q.Paths...)
		err = r.stream(ctx, func(in *bufio.Reader) error {
			return readChanges(in, func(c Change) bool { return yield(c, nil) })
		}, args...)
		if err != nil {
			yield(Change{}, err)
		}
	}
}

// commitMark begins a commit in the output of log; a change of a file begins with a colon.
const commitMark = "%x01"

// readChanges reads the output of log with commitMark, commitFormat and the raw changes. It gives errStop when use does.
func readChanges(in *bufio.Reader, use func(Change) bool) error {
	var current *Change
	flush := func() bool { return current == nil || use(*current) }
	for {
		token, err := field(in)
		if errors.Is(err, io.EOF) {
			if !flush() {
				return errStop
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("git log: %w", err)
		}
		token = strings.TrimLeft(token, "\n")
		switch {
		case token == "": // between a commit and its changes
		case token[0] == 1:
			if !flush() {
				return errStop
			}
			fields := append(make([]string, 0, commitFields), token[1:])
			for len(fields) < commitFields {
				if token, err = field(in); err != nil {
					return fmt.Errorf("git log: %w", err)
				}
				fields = append(fields, token)
			}
			c, err := parseCommit(fields)
			if err != nil {
				return err
			}
			current = &Change{Commit: c}
		case token[0] == ':' && current != nil:
			f, err := readRaw(in, token)
			if err != nil {
				return err
			}
			current.Files = append(current.Files, f)
		default:
			return fmt.Errorf("git log: %q was not understood", token)
		}
	}
}

// readRaw reads one raw change whose first field is there already: ":old mode, new mode, old blob, new blob, status".
func readRaw(in *bufio.Reader, head string) (FileChange, error) {
	parts := strings.Fields(head)
	if len(parts) != 5 || parts[4] == "" {
		return FileChange{}, fmt.Errorf("git diff: %q was not understood", head)
	}
	f := FileChange{Status: parts[4][0], Old: blobOrNone(parts[0][1:], parts[2]), New: blobOrNone(parts[1], parts[3])}
	var err error
	if f.Path, err = field(in); err != nil {
		return f, fmt.Errorf("git diff: %w", err)
	}
	if f.Status == 'R' || f.Status == 'C' {
		f.From = f.Path
		if f.Path, err = field(in); err != nil {
			return f, fmt.Errorf("git diff: %w", err)
		}
	}
	return f, nil
}

func blobOrNone(mode, id string) string {
	if mode == submodule || strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// Diff gives what changed from one commit to another, renames detected, sorted by path.
func (r *Repository) Diff(ctx context.Context, from, to string) ([]FileChange, error) {
	a, err := r.resolve(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := r.resolve(ctx, to)
	if err != nil {
		return nil, err
	}
	var out []FileChange
	err = r.stream(ctx, func(in *bufio.Reader) error {
		for {
			token, err := field(in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("git diff: %w", err)
			}
			f, err := readRaw(in, token)
			if err != nil {
				return err
			}
			out = append(out, f)
		}
	}, "diff-tree", "-r", "-M", "--raw", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv", a, b, "--")
	return out, err
}

// Ancestors are up to n commits on the chain of first parents, newest first, the commit itself included.
func (r *Repository) Ancestors(ctx context.Context, commit string, n int) ([]string, error) {
	id, err := r.resolve(ctx, commit)
	if err != nil {
		return nil, err
	}
	out, err := r.output(ctx, "rev-list", "--first-parent", "-n", strconv.Itoa(n), id, "--")
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}

// MergeBase is the best common ancestor of two commits; "" when the history that is here has none.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	ids, err := r.both(ctx, a, b)
	if err != nil {
		return "", err
	}
	out, err := r.output(ctx, "merge-base", ids[0], ids[1])
	if status(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// Contains tells whether the history of descendant holds ancestor; a commit contains itself.
func (r *Repository) Contains(ctx context.Context, ancestor, descendant string) (bool, error) {
	ids, err := r.both(ctx, ancestor, descendant)
	if err != nil {
		return false, err
	}
	_, err = r.output(ctx, "merge-base", "--is-ancestor", ids[0], ids[1])
	if status(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

func (r *Repository) both(ctx context.Context, a, b string) (ids [2]string, err error) {
	for n, ref := range []string{a, b} {
		if ids[n], err = r.resolve(ctx, ref); err != nil {
			return ids, err
		}
	}
	return ids, nil
}
