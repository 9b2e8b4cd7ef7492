package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Lines is a range of lines of a file, from 1, both included.
type Lines struct{ First, Last int }

// LineOrigin says which commit wrote a line.
type LineOrigin struct {
	Commit string    // full hash; of the oldest commit here, when a shallow history was cut before
	Time   time.Time // of its committer, UTC
}

// Blame gives the commits on the chain of first parents that last changed the lines of a file, other than in blanks: a
// merge stands for what it brought. Only lines of the ranges are in the answer; no range means all of them. Ranges must
// lie within the file.
func (r *Repository) Blame(ctx context.Context, commit, path string, ranges ...Lines) (map[int]LineOrigin, error) {
	id, err := r.resolve(ctx, commit)
	if err != nil {
		return nil, err
	}
	args := []string{"blame", "-w", "--first-parent", "--porcelain"}
	for _, l := range ranges {
		args = append(args, fmt.Sprintf("-L%d,%d", l.First, l.Last))
	}
	out := map[int]LineOrigin{}
	err = r.stream(ctx, func(in *bufio.Reader) error { return readBlame(in, out) }, append(args, id, "--", path)...)
	return out, err
}

// readBlame reads the porcelain format: for each line "hash, line before, line now", facts about the commit when it is
// named first, and the line itself behind a tab.
func readBlame(in *bufio.Reader, out map[int]LineOrigin) error {
	times := map[string]time.Time{}
	commit, line := "", 0
	for {
		text, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && text == "" {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("git blame: %w", err)
		}
		if strings.HasPrefix(text, "\t") {
			out[line] = LineOrigin{Commit: commit, Time: times[commit]}
			continue
		}
		parts := strings.Fields(text)
		switch {
		case len(parts) >= 3 && isHash(parts[0]):
			commit = parts[0]
			if line, err = strconv.Atoi(parts[2]); err != nil {
				return fmt.Errorf("git blame: %q was not understood", text)
			}
		case len(parts) == 2 && parts[0] == "committer-time":
			seconds, err := strconv.ParseInt(parts[1], 10, 64)
			if err != nil {
				return fmt.Errorf("git blame: %q was not understood", text)
			}
			times[commit] = time.Unix(seconds, 0).UTC()
		}
	}
}
