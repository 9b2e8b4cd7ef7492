package git

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
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
	var out []Entry
	err = r.stream(ctx, func(in *bufio.Reader) error {
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
	}, "ls-tree", "-r", "-z", "-l", "--full-tree", id)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// submodule is the mode of an entry that is a commit of another repository.
const submodule = "160000"

// parseEntry reads "mode type hash size<tab>path".
func parseEntry(line string) (Entry, error) {
	head, path, ok := strings.Cut(line, "\t")
	parts := strings.Fields(head)
	if !ok || len(parts) != 4 {
		return Entry{}, fmt.Errorf("git ls-tree: %q was not understood", line)
	}
	e := Entry{Path: path, Blob: parts[2], Mode: Regular}
	switch parts[0] {
	case "100755":
		e.Mode = Executable
	case "120000":
		e.Mode = Symlink
	case submodule:
		e.Mode = Submodule
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

// Blobs reads texts by one git process. It belongs to one goroutine; several goroutines open one each, and two to four of
// them read a repository as fast as git can.
type Blobs struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	cancel context.CancelFunc
	stderr *tail
	err    error // what broke the conversation; nothing is read after it
}

// TooLargeError says that a text was not read because of its size.
type TooLargeError struct {
	Blob        string
	Size, Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("blob %s has %d bytes, more than %d", e.Blob, e.Size, e.Limit)
}

// Blobs starts the process; it ends with Close or with the context.
func (r *Repository) Blobs(ctx context.Context) (*Blobs, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd, stderr := r.command(ctx, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, failure(ctx, "cat-file", err, stderr)
	}
	const buffer = 64 << 10
	return &Blobs{cmd: cmd, in: in, out: bufio.NewReaderSize(out, buffer), cancel: cancel, stderr: stderr}, nil
}

// Read gives the text of a blob. One of more than limit bytes is a *TooLargeError error, after which reading goes on; so does it
// after ErrAbsent. Git sends a large text all the same: leave it out by Entry.Size where
// that is known.
func (b *Blobs) Read(blob string, limit int64) ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	if !isHash(blob) {
		return nil, fmt.Errorf("git cat-file: %q is no hash", blob)
	}
	if _, err := io.WriteString(b.in, blob+"\n"); err != nil {
		return nil, b.broken(err)
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return nil, b.broken(err)
	}
	parts := strings.Fields(head)
	if len(parts) == 2 && parts[1] == "missing" {
		return nil, fmt.Errorf("git cat-file: blob %s: %w", blob, ErrAbsent)
	}
	if len(parts) != 3 {
		return nil, b.broken(fmt.Errorf("%q was not understood", head))
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return nil, b.broken(err)
	}
	kind := parts[1]
	if kind != "blob" || size > limit {
		if _, err := io.CopyN(io.Discard, b.out, size+1); err != nil { // with the newline that ends it
			return nil, b.broken(err)
		}
		if kind != "blob" {
			return nil, fmt.Errorf("git cat-file: %s is a %s, not a text", blob, kind)
		}
		return nil, &TooLargeError{Blob: blob, Size: size, Limit: limit}
	}
	text := make([]byte, size+1)
	if _, err := io.ReadFull(b.out, text); err != nil {
		return nil, b.broken(err)
	}
	return text[:size:size], nil
}

// broken ends a conversation that cannot go on, with what git said about it.
func (b *Blobs) broken(err error) error {
	b.cancel()
	_ = b.cmd.Wait() // what it wrote is complete after this
	if said := strings.TrimSpace(b.stderr.String()); said != "" {
		err = fmt.Errorf("%s: %w", said, err)
	}
	b.err = fmt.Errorf("git cat-file: %w", err)
	return b.err
}

// Close ends the process.
func (b *Blobs) Close() {
	if b.err != nil {
		return // it has ended, or was closed
	}
	b.err = errors.New("git cat-file: closed")
	_ = b.in.Close()
	b.cancel()
	_ = b.cmd.Wait() // it was ended on purpose
}

func isHash(s string) bool {
	const sha1, sha256 = 40, 64
	return (len(s) == sha1 || len(s) == sha256) && strings.Trim(s, "0123456789abcdef") == ""
}
