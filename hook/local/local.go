// Package local is what the hooks of one machine keep between two events, beside any database: files that were edited and not told of yet,
// how far a conversation was read, how the project stood, and a log of what was done. It holds ids, numbers and paths, and no text of a
// conversation or a memory. Every file is bounded, and what nobody needs any more goes after two weeks.
package local

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stele-dev/stele/hook"
)

// Folder is where it is kept; "" keeps nothing.
type Folder string

// Bounds of what is kept.
const (
	maxSpool = 64 << 10            // bytes of paths of a conversation
	maxLog   = 1 << 20             // bytes of the log, of which there are two
	keep     = 14 * 24 * time.Hour // of a conversation without an event
)

// path is a file for something that has a name of any form.
func (f Folder) path(kind, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(string(f), kind, hex.EncodeToString(sum[:12]))
}

// Edited notes files that a conversation edited. Many may do so at a time: each note is one write at the end.
func (f Folder) Edited(conversation string, paths []string) error {
	if f == "" || len(paths) == 0 {
		return nil
	}
	name := f.path("edited", conversation)
	if info, err := os.Stat(name); err == nil && info.Size() > maxSpool {
		return nil // what was edited is known well enough
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.WriteString(strings.Join(paths, "\n") + "\n")
	return errors.Join(err, out.Close())
}

// Take gives the files that were noted, each once, in order. done says whether they were told of: if not, the next one gets them.
func (f Folder) Take(conversation string) (paths []string, done func(told bool)) {
	nothing := func(bool) {}
	if f == "" {
		return nil, nothing
	}
	name := f.path("edited", conversation)
	taken := fmt.Sprintf("%s.%d", name, os.Getpid())
	if err := os.Rename(name, taken); err != nil { // nothing was edited, or another event tells of it
		return nil, nothing
	}
	text, err := os.ReadFile(taken)
	if err != nil {
		return nil, nothing
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !slices.Contains(paths, line) {
			paths = append(paths, line)
		}
	}
	return paths, func(told bool) {
		if !told {
			_ = f.Edited(conversation, paths) // they are known at the end from the conversation itself, too
		}
		_ = os.Remove(taken)
	}
}

// State is what is known of a conversation.
type State struct {
	// Read says up to which place each of its files was read, by their paths.
	Read map[string]int64 `json:"read,omitempty"`
	// Missed is a start that nobody could be told of.
	Missed *Missed `json:"missed,omitempty"`
}

// Missed is a start that nobody could be told of.
type Missed struct {
	Source    string `json:"source"`
	Continues string `json:"continues"`
}

// State reads it; one that cannot be read is empty.
func (f Folder) State(conversation string) (s State) {
	if f != "" {
		_ = f.load(f.path("conversations", conversation), &s)
	}
	if s.Read == nil {
		s.Read = map[string]int64{}
	}
	return s
}

// Keep writes it.
func (f Folder) Keep(conversation string, s State) error {
	if f == "" {
		return nil
	}
	return f.store(f.path("conversations", conversation), s)
}

// Forget lets go of a conversation that is over.
func (f Folder) Forget(conversation string) {
	if f != "" {
		_ = os.Remove(f.path("conversations", conversation))
	}
}

// Standing is how the project of a folder stood when that was last told; false when it never was.
func (f Folder) Standing(folder string) (s hook.Standing, ok bool) {
	return s, f != "" && f.load(f.path("standing", folder), &s) == nil
}

// KeepStanding writes it.
func (f Folder) KeepStanding(folder string, s hook.Standing) error {
	if f == "" {
		return nil
	}
	return f.store(f.path("standing", folder), s)
}

// Lately tells whether Mark was called for something within a while.
func (f Folder) Lately(what string, within time.Duration) bool {
	if f == "" {
		return false
	}
	info, err := os.Stat(f.path("marks", what))
	return err == nil && time.Since(info.ModTime()) < within
}

// Mark notes that something happened now.
func (f Folder) Mark(what string) {
	if f != "" {
		_ = f.store(f.path("marks", what), struct{}{}) // it is done once more than needed
	}
}

// Unmark takes a mark back.
func (f Folder) Unmark(what string) {
	if f != "" {
		_ = os.Remove(f.path("marks", what))
	}
}

// Tidy removes what conversations left that had no event for two weeks. It looks at most once a day.
func (f Folder) Tidy() {
	if f == "" || f.Lately("tidy", 24*time.Hour) {
		return
	}
	f.Mark("tidy")
	for _, kind := range []string{"edited", "conversations", "standing", "marks"} {
		entries, err := os.ReadDir(filepath.Join(string(f), kind))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keep {
				_ = os.Remove(filepath.Join(string(f), kind, e.Name()))
			}
		}
	}
}

func (f Folder) load(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// store writes a file whole or not at all.
func (f Folder) store(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".new-*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		_ = os.Remove(out.Name())
	}
	return err
}

// Outcomes of an event.
const (
	Told     = "told"     // the event was told; Handles is what was injected
	Observed = "observed" // Handles is what would have been injected
	Outside  = "outside"  // the folder belongs to no project
	Untold   = "missed"   // nobody could be told; Reason says why
	Synced   = "synced"   // a folder and the memories are equal; Written, Taken and Conflicts say what that took
)

// Sync is the event of an entry that tells of a folder, and Self the client: the hooks themselves.
const (
	Sync = "Sync"
	Self = "stele"
)

// What came of asking a model for a summary; else the code of the problem.
const (
	SummaryAdded   = "added"
	SummaryEmpty   = "unusable" // nothing of the answer could be used
	SummaryRefused = "refused"  // the outcome was stored without it
	OverBudget     = "budget"   // the tokens of the day are spent, or would be
	NoTime         = "time"     // the model did not answer in time, or no time was left to ask
	LeftAlone      = "down"     // it failed a while ago
)

// Entry is a line of the log: what an event came to, without any text.
type Entry struct {
	At           time.Time `json:"at"`
	Client       string    `json:"client"`
	Event        string    `json:"event"`
	Milliseconds int64     `json:"ms"`
	Outcome      string    `json:"outcome"`
	Reason       string    `json:"reason,omitempty"` // of a miss: the code of the problem
	Session      string    `json:"session,omitempty"`
	Handles      []string  `json:"handles,omitempty"`
	Tokens       int       `json:"tokens,omitempty"` // of what was or would be injected
	Cited        []string  `json:"cited,omitempty"`
	Candidates   []string  `json:"candidates,omitempty"`
	Memory       string    `json:"memory,omitempty"` // handle of the outcome that an end left
	// Summary is what came of asking a model, where an operator chose one; SummaryTokens what that cost.
	Summary       string `json:"summary,omitempty"`
	SummaryTokens int    `json:"summary_tokens,omitempty"`
	// Of a folder: files that were written or removed, changes that were taken out of files, files that somebody has to look at.
	Written   int `json:"written,omitempty"`
	Taken     int `json:"taken,omitempty"`
	Conflicts int `json:"conflicts,omitempty"`
}

func (f Folder) log() string { return filepath.Join(string(f), "log.jsonl") }

// Log adds a line. Of a long log the older half goes.
func (f Folder) Log(e Entry) error {
	if f == "" {
		return nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(f.log()); err == nil && info.Size() > maxLog {
		if err := os.Rename(f.log(), f.log()+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	out, err := os.OpenFile(f.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return errors.Join(err, out.Close())
}

// Entries gives the log since a time, oldest first. Lines that cannot be read are left out.
func (f Folder) Entries(since time.Time) ([]Entry, error) {
	out := []Entry{}
	if f == "" {
		return out, nil
	}
	for _, name := range []string{f.log() + ".1", f.log()} {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, maxLog)
		for lines.Scan() {
			var e Entry
			if json.Unmarshal(lines.Bytes(), &e) == nil && !e.At.Before(since) {
				out = append(out, e)
			}
		}
	}
	return out, nil
}
