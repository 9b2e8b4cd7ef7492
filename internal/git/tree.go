package git

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Mode is the kind of a tracked entry.
type Mode int

// The kinds.
const (
	Regular Mode = iota + 1
	Executable
	Symlink   // its text is where it points
	Submodule // its Blob is a commit of another repository
	Folder    // only in what Blobs.Folder gives
)

// Entry is a tracked file.
type Entry struct {
	Path string // from the top of the repository, with slashes; any bytes but NUL
	Blob string // hash of its text; of a commit for a submodule
	Size int64  // bytes; 0 for a submodule, Absent when the text was not cloned
	Mode Mode
}

// ErrAbsent says that a text is not in this clone.
var ErrAbsent = errors.New("not in this clone")

// Absent is the size of a text that this clone does not have: its tree names it all the same.
const Absent = -1

// Tree lists the files of a commit ("" is HEAD), sorted by path (bytewise).
func (r *Repository) Tree(ctx context.Context, commit string) ([]Entry, error) {
	id, err := r.resolve(ctx, commit)
	if err != nil {
		return nil, err
	}
	if remote, err := r.promisor(ctx); err != nil {
		return nil, err
	} else if remote != "" { // sizes are of texts that git would fetch one by one
		names, err := r.listTree(ctx, id)
		if err != nil {
			return nil, err
		}
		var blobs []string
		for _, e := range names {
			if e.Mode != Submodule {
				blobs = append(blobs, e.Blob)
			}
		}
		if err := r.Bring(ctx, blobs); err != nil {
			return nil, err
		}
	}
	return r.listTree(ctx, id, "-l")
}

// listTree lists the files of a commit given by its hash; with -l, their sizes as well.
func (r *Repository) listTree(ctx context.Context, id string, options ...string) ([]Entry, error) {
	var out []Entry
	args := append([]string{"ls-tree", "-r", "-z", "--full-tree"}, options...)
	err := r.stream(ctx, func(in *bufio.Reader) error {
		for {
			line, err := field(in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("git ls-tree: %w", err)
			}
			e, err := parseEntry(line)
			if err != nil {
				return err
			}
			out = append(out, e)
		}
	}, append(args, id)...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// submodule is the mode of an entry that is a commit of another repository.
const submodule = "160000"

// modeOf reads a mode as trees spell it.
func modeOf(mode string) Mode {
	switch mode {
	case "100755":
		return Executable
	case "120000":
		return Symlink
	case submodule:
		return Submodule
	case "40000", "040000":
		return Folder
	}
	return Regular
}

// parseEntry reads "mode type hash size<tab>path", or the same without the size.
func parseEntry(line string) (Entry, error) {
	head, path, ok := strings.Cut(line, "\t")
	parts := strings.Fields(head)
	const sized = 4
	if !ok || len(parts) != sized && len(parts) != sized-1 {
		return Entry{}, fmt.Errorf("git ls-tree: %q was not understood", line)
	}
	e := Entry{Path: path, Blob: parts[2], Mode: modeOf(parts[0])}
	if e.Mode == Submodule || len(parts) < sized {
		return e, nil
	}
	if parts[3] == "BAD" {
		e.Size = Absent
		return e, nil
	}
	size, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil {
		return Entry{}, fmt.Errorf("git ls-tree: the size of %q: %w", path, err)
	}
	e.Size = size
	return e, nil
}
