package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Lookup says what names stand for and how large texts are, by one git process that sends nothing else. It belongs to one
// goroutine.
type Lookup struct {
	*conversation
	repo *Repository
}

// Lookup starts the process; it ends with Close or with the context.
func (r *Repository) Lookup(ctx context.Context) (*Lookup, error) {
	c, err := r.converse(ctx, "cat-file", "--batch-check")
	if err != nil {
		return nil, err
	}
	return &Lookup{c, r}, nil
}

// Commit is the full hash of the commit that a name means; "" when there is none here, or the name means several.
func (l *Lookup) Commit(name string) (string, error) {
	if strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\x00\n") {
		return "", nil // no name of a commit
	}
	id, err := l.name(name+"^{commit}", "commit")
	if id != "" {
		l.repo.commits.Store(id, true)
	}
	return id, err
}

// Parent is the full hash of the first parent of a commit, given by its full hash; "" where the history here begins.
func (l *Lookup) Parent(commit string) (string, error) { return l.Commit(commit + "^1") }

// Tree is the hash of the top folder of a commit, given by its full hash; "" when it is not here.
func (l *Lookup) Tree(commit string) (string, error) { return l.name(commit+"^{tree}", "tree") }

// name asks what an expression means.
func (l *Lookup) name(expression, kind string) (string, error) {
	answers, err := l.ask([]string{expression})
	if err != nil {
		return "", err
	}
	if parts := strings.Fields(answers[0]); len(parts) == 3 && isHash(parts[0]) && parts[1] == kind {
		return parts[0], nil
	}
	return "", nil
}

// Sizes are those of texts, in bytes and in their order; Absent for those that this clone lacks.
func (l *Lookup) Sizes(blobs []string) ([]int64, error) {
	out := make([]int64, 0, len(blobs))
	const most = 256 // questions at once, so that neither side waits for the other with full hands
	for len(blobs) > 0 {
		now := blobs[:min(most, len(blobs))]
		blobs = blobs[len(now):]
		answers, err := l.ask(now)
		if err != nil {
			return nil, err
		}
		for _, a := range answers {
			size := int64(Absent)
			if parts := strings.Fields(a); len(parts) == 3 && parts[1] == "blob" {
				if size, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
					return nil, l.broken(fmt.Errorf("%q was not understood", a))
				}
			}
			out = append(out, size)
		}
	}
	return out, nil
}

// ask gives the line that answers each question.
func (l *Lookup) ask(questions []string) ([]string, error) {
	if l.err != nil {
		return nil, l.err
	}
	if _, err := io.WriteString(l.in, strings.Join(questions, "\n")+"\n"); err != nil {
		return nil, l.broken(err)
	}
	out := make([]string, 0, len(questions))
	for range questions {
		line, err := l.out.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, l.broken(err)
		}
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	return out, nil
}
