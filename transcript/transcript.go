// Package transcript reads the conversations that clients of coding agents keep as lines of JSON, where they lie: what a person asked,
// what the assistant answered, which files it edited, which commands failed. Nothing is kept of them here. The files are other programs'
// and change without notice, so whatever is broken or unknown in one is left out, and no file is loaded whole to read its end.
package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of reading, in bytes.
const (
	maxHead = 128 << 10 // of the beginning, for what was asked first and whose conversation is gone on with
	maxTail = 1 << 20   // of the end: what an agent does in half an hour, read in a few hundredths of a second
	maxLine = 512 << 10 // of a line; a longer one holds a picture or the text of a file
	maxText = 64 << 10  // of one text
	maxSaid = 256 << 10 // of what was said; the end of it counts
	maxList = 200       // entries of a list
)

// ErrUnusable says that there is no conversation to read at a path.
var ErrUnusable = errors.New("no transcript is there")

// kind says what an entry is.
type kind int

const (
	other    kind = iota // nothing to read, but a session or a turn
	asked                // text of the person
	answered             // text of the assistant
	used                 // a tool
	result               // what a tool gave
)

// entry is one thing in a conversation. A line may hold several.
type entry struct {
	kind    kind
	session string // the client's id of the conversation that the line was written in
	turn    string // the client's id of the line or turn
	text    string // of asked and answered; of used what was put into files
	id      string // of a use of a tool and its result
	command string // of used: what a shell was to run
	files   []string
	failed  bool // of result
	aside   bool // of an agent that the assistant called
}

// file is a conversation that is open for reading.
type file struct {
	*os.File

	size int64
}

// open opens a conversation: a regular file of lines of JSON. Anything else, such as a pipe, is not even opened.
func open(path string) (*file, error) {
	if !filepath.IsAbs(path) || !strings.EqualFold(filepath.Ext(path), ".jsonl") {
		return nil, ErrUnusable
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, ErrUnusable
	}
	// What is there may be another file by now, and opening a pipe waits for whoever writes into it.
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%w: it may not be read", ErrUnusable)
		}
		return nil, ErrUnusable
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // it was only read
		return nil, ErrUnusable
	}
	return &file{f, info.Size()}, nil
}

// lines gives the whole lines between two places, each with the place after it. The first is left out where from is inside of it, the
// last where it has no end yet.
func (f *file) lines(from, to int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		inside := false
		if from > 0 { // whether a line begins here is told by what is before
			var before [1]byte
			if _, err := f.ReadAt(before[:], from-1); err != nil {
				return
			}
			inside = before[0] != '\n'
		}
		const buffer = 256 << 10
		in := newLineReader(io.NewSectionReader(f, from, to-from), buffer)
		at := from
		for {
			line, n, whole, err := in.next(maxLine)
			at += n
			if err != nil || !whole {
				return
			}
			if inside {
				inside = false
				continue
			}
			if line != nil && !yield(at, line) {
				return
			}
		}
	}
}

// entries reads what lines say, in the form of whichever client wrote them.
func entries(lines iter.Seq2[int64, []byte]) iter.Seq2[int64, entry] {
	return func(yield func(int64, entry) bool) {
		var codex codexState
		for at, line := range lines {
			line = bytes.TrimSpace(line)
			if len(line) == 0 || line[0] != '{' {
				continue
			}
			for _, e := range read(line, &codex) {
				if !yield(at, e) {
					return
				}
			}
		}
	}
}

// Conversation is what can be said of a conversation without a model.
type Conversation struct {
	Asked   []string // what the person asked: the first of it, and the last; without what clients and hooks put in
	Answer  string   // the last that the assistant wrote
	Failed  []string // commands that failed and did not succeed later, oldest first
	Edited  []string // files that were edited, as the client names them
	Worked  bool     // tools were used
	Turn    string   // the client's id of the last turn
	Earlier string   // the client's id of the conversation that this one goes on from; "" for none
	Answers string   // what the assistant wrote to the person, without what it put into files; at most 256 KiB, the end of it
	End     int64    // where the last whole line ends: Said of the next reading is what follows

	// Since a place, at most 256 KiB of each, the end of it.
	Said    string // what the assistant wrote, and put into files
	Request string // what the person wrote
}

// Read reads the beginning and the last megabyte of a conversation. Said and Request are what follows the place since; session is
// the client's id of the conversation. It gives ErrUnusable where there is none.
func Read(path, session string, since int64) (Conversation, error) {
	f, err := open(path)
	if err != nil {
		return Conversation{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if since < 0 || since > f.size {
		since = 0 // another file took its place
	}
	d := digest{session: session, since: since, running: map[string]string{}}
	tail := max(0, f.size-maxTail)
	if tail > 0 {
		d.head = true
		for at, e := range entries(f.lines(0, min(maxHead, tail))) {
			d.add(at, e)
		}
		d.head = false
	}
	d.End = min(since, f.size)
	last := func(yield func(int64, []byte) bool) {
		for at, line := range f.lines(tail, f.size) {
			d.End = max(d.End, at)
			if !yield(at, line) {
				return
			}
		}
	}
	for at, e := range entries(last) {
		d.add(at, e)
	}
	d.Answers, d.Said, d.Request = d.answers.String(), d.said.String(), d.request.String()
	return d.Conversation, nil
}

// Earlier gives the client's id of the conversation that one goes on from, by its beginning; "" where there is none.
func Earlier(path, session string) string {
	f, err := open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	earlier := ""
	for _, e := range entries(f.lines(0, min(maxHead, f.size))) {
		if e.session != "" && e.session != session {
			earlier = e.session
		}
	}
	return earlier
}

// digest collects a Conversation.
type digest struct {
	Conversation

	session string
	since   int64
	head    bool // the beginning is read, of which little counts
	running map[string]string

	answers, said, request ending
}

func (d *digest) add(at int64, e entry) {
	if e.session != "" && e.session != d.session {
		d.Earlier = e.session
	}
	if d.head {
		if e.kind == asked && !e.aside && len(d.Asked) == 0 {
			d.Asked = append(d.Asked, e.text)
		}
		return
	}
	if e.turn != "" && !e.aside {
		d.Turn = e.turn
	}
	fresh := at > d.since
	switch e.kind {
	case other:
	case asked:
		if e.aside {
			return // the assistant asked it
		}
		if len(d.Asked) > maxList {
			d.Asked = slices.Delete(d.Asked, 1, 2)
		}
		d.Asked = append(d.Asked, e.text)
		if fresh {
			d.request.add(e.text)
		}
	case answered:
		if !e.aside {
			d.Answer = e.text
			d.answers.add(e.text)
		}
		if fresh {
			d.said.add(e.text)
		}
	case used:
		d.Worked = true
		if e.command != "" && len(d.running) < maxList {
			d.running[e.id] = e.command
		}
		for _, name := range e.files {
			if !slices.Contains(d.Edited, name) && len(d.Edited) < maxList {
				d.Edited = append(d.Edited, name)
			}
		}
		if fresh && e.text != "" {
			d.said.add(e.text)
		}
	case result:
		command, ok := d.running[e.id]
		if !ok {
			return
		}
		delete(d.running, e.id)
		d.Failed = slices.DeleteFunc(d.Failed, func(c string) bool { return c == command })
		if e.failed && len(d.Failed) < maxList {
			d.Failed = append(d.Failed, command)
		}
	}
}

// ending keeps the end of what is added to it.
type ending struct{ text []byte }

func (e *ending) add(text string) {
	e.text = append(append(e.text, text...), '\n')
	if len(e.text) > 2*maxSaid {
		e.text = append([]byte(nil), e.text[len(e.text)-maxSaid:]...)
	}
}

func (e *ending) String() string {
	text := e.text
	if len(text) > maxSaid {
		text = text[len(text)-maxSaid:]
	}
	return strings.ToValidUTF8(string(text), "")
}
