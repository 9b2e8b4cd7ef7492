package git

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Tracked lists the files that the index of the working tree names, sorted by path (bytewise): what the next commit would hold.
// Sizes are not known. A repository without a working tree has none.
func (r *Repository) Tracked(ctx context.Context) ([]Entry, error) {
	var out []Entry
	err := r.stream(ctx, func(in *bufio.Reader) error {
		for {
			line, err := field(in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("git ls-files: %w", err)
			}
			head, path, ok := strings.Cut(line, "\t")
			parts := strings.Fields(head) // mode, hash, stage
			if !ok || len(parts) != 3 {
				return fmt.Errorf("git ls-files: %q was not understood", line)
			}
			out = append(out, Entry{Path: path, Blob: parts[1], Mode: modeOf(parts[0])})
		}
	}, "ls-files", "-z", "--stage", "--full-name")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	// A file in conflict has several stages.
	return slices.CompactFunc(out, func(a, b Entry) bool { return a.Path == b.Path }), nil
}
