package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// conversation is a git process that answers questions one after the other. It belongs to one goroutine.
type conversation struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	cancel context.CancelFunc
	stderr *tail
	err    error // what broke the conversation; nothing is asked after it
}

// converse starts a process; it ends with Close or with the context.
func (r *Repository) converse(ctx context.Context, args ...string) (*conversation, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd, stderr := r.command(ctx, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, failure(ctx, args[0], err, stderr)
	}
	const buffer = 64 << 10
	return &conversation{cmd: cmd, in: in, out: bufio.NewReaderSize(out, buffer), cancel: cancel, stderr: stderr}, nil
}

// broken ends a conversation that cannot go on, with what git said about it.
func (c *conversation) broken(err error) error {
	c.cancel()
	_ = c.cmd.Wait() // what it wrote is complete after this
	if said := strings.TrimSpace(c.stderr.String()); said != "" {
		err = fmt.Errorf("%s: %w", said, err)
	}
	c.err = fmt.Errorf("git cat-file: %w", err)
	return c.err
}

// Close ends the process.
func (c *conversation) Close() {
	if c.err != nil {
		return // it has ended, or was closed
	}
	c.err = errors.New("git cat-file: closed")
	_ = c.in.Close()
	c.cancel()
	_ = c.cmd.Wait() // it was ended on purpose
}

// Blobs reads texts and folders by one git process. It belongs to one goroutine; several goroutines open one each, and two to
// four of them read a repository as fast as git can.
type Blobs struct{ *conversation }

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
	c, err := r.converse(ctx, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	return &Blobs{c}, nil
}

// Read gives the text of a blob. One of more than limit bytes is a *TooLargeError error, after which reading goes on; so does it
// after ErrAbsent. Git sends a large text all the same: leave it out by Entry.Size where
// that is known.
func (b *Blobs) Read(blob string, limit int64) ([]byte, error) { return b.object("blob", blob, limit) }

// maxFolder bounds the names of one folder, in bytes, so that a damaged answer does not take all memory.
const maxFolder = 1 << 30

// Folder lists a folder by the hash of its tree, in the order of the paths below it (bytewise, with a slash behind the names of
// folders). Sizes are not known, and Path is the name alone; Blob of a folder is its tree. One that this clone lacks is ErrAbsent.
func (b *Blobs) Folder(tree string) ([]Entry, error) {
	text, err := b.object("tree", tree, maxFolder)
	if err != nil {
		return nil, err
	}
	hash := len(tree) / 2 //nolint:mnd // two digits a byte
	var out []Entry
	for len(text) > 0 {
		end := bytes.IndexByte(text, 0)
		if end < 0 || len(text) < end+1+hash {
			return nil, fmt.Errorf("git cat-file: tree %s was not understood", tree)
		}
		mode, name, ok := strings.Cut(string(text[:end]), " ")
		if !ok {
			return nil, fmt.Errorf("git cat-file: tree %s was not understood", tree)
		}
		e := Entry{Path: name, Blob: hex.EncodeToString(text[end+1 : end+1+hash]), Mode: modeOf(mode)}
		out = append(out, e)
		text = text[end+1+hash:]
	}
	return out, nil
}

// object asks for an object of a kind.
func (b *Blobs) object(kind, id string, limit int64) ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	if !isHash(id) {
		return nil, fmt.Errorf("git cat-file: %q is no hash", id)
	}
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return nil, b.broken(err)
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return nil, b.broken(err)
	}
	parts := strings.Fields(head)
	if len(parts) == 2 && parts[1] == "missing" {
		return nil, fmt.Errorf("git cat-file: %s %s: %w", kind, id, ErrAbsent)
	}
	if len(parts) != 3 {
		return nil, b.broken(fmt.Errorf("%q was not understood", head))
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return nil, b.broken(err)
	}
	if parts[1] != kind || size > limit {
		if _, err := io.CopyN(io.Discard, b.out, size+1); err != nil { // with the newline that ends it
			return nil, b.broken(err)
		}
		if parts[1] != kind {
			return nil, fmt.Errorf("git cat-file: %s is a %s, not a %s", id, parts[1], kind)
		}
		return nil, &TooLargeError{Blob: id, Size: size, Limit: limit}
	}
	text := make([]byte, size+1)
	if _, err := io.ReadFull(b.out, text); err != nil {
		return nil, b.broken(err)
	}
	return text[:size:size], nil
}

func isHash(s string) bool {
	const sha1, sha256 = 40, 64
	return (len(s) == sha1 || len(s) == sha256) && strings.Trim(s, "0123456789abcdef") == ""
}
