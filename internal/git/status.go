package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// Uncommitted counts the files of the working tree that differ from HEAD or that git neither tracks nor ignores; a folder
// of which nothing is tracked counts as one. It is 0 where there is no working tree. Submodules count when they are at
// another commit.
func (r *Repository) Uncommitted(ctx context.Context) (int, error) {
	if r.root == "" {
		return 0, nil
	}
	n := 0
	err := r.stream(ctx, func(in *bufio.Reader) error {
		for {
			entry, err := field(in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("git status: %w", err)
			}
			n++
			if len(entry) > 1 && (entry[0] == 'R' || entry[0] == 'C') { // the old name is a field of its own
				if _, err := field(in); err != nil {
					return fmt.Errorf("git status: %w", err)
				}
			}
		}
	}, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=dirty")
	return n, err
}
