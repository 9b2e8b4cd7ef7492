// Package folder keeps a folder of Markdown files and the memories of a project equal, both ways: one file a memory, for people who edit
// in their editor and review in git.
//
// What changed is told by comparing both sides with the last time they were equal. A change of one side goes to the other. Where both
// changed, the memory is what it is in the database, and the file as somebody wrote it is kept beside it under a name of its own, which
// every run reports until it is gone. A file that was deleted retires nothing unless that was asked for.
package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/filelock"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/export"
)

// Layout says where the file of a memory is.
type Layout string

// The layouts: a folder for each kind, or for each day on which something was written.
const (
	ByKind Layout = "memory"
	ByDay  Layout = "day"
)

// Deleted says what the loss of a file means.
type Deleted string

// What a deleted file means: nothing but a line in the report, the end of its memory in recall, or that it is written again.
const (
	Keep    Deleted = "keep"
	Retire  Deleted = "retire"
	Rewrite Deleted = "rewrite"
)

// Domain is what a sync asks of memories.
type Domain interface {
	export.Source
	Remember(ctx context.Context, c memory.Caller, r memory.RememberRequest) (memory.RememberResponse, error)
	Edit(ctx context.Context, c memory.Caller, r memory.EditRequest) (memory.Memory, error)
	Forget(ctx context.Context, c memory.Caller, r memory.ForgetRequest) (memory.ForgetResponse, error)
	Get(ctx context.Context, c memory.Caller, refs []string) ([]memory.Memory, error)
	ImportMemories(ctx context.Context, c memory.Caller, r memory.ImportRequest) (memory.ImportResponse, error)
}

// Options of a sync.
type Options struct {
	Dir     string
	State   string // file that keeps how both sides were when they were equal; not in Dir, which people share
	Layout  Layout
	Deleted Deleted
	// Began, unless nil, is called when it is this one's turn: of two syncs of one folder at once, the second waits.
	Began func()
}

// turn is how long a sync waits for another one of the same folder.
const turn = time.Minute

// Report is what a sync did.
type Report struct {
	Dir        string   `json:"dir"`
	Memories   int      `json:"memories"`
	Written    []string `json:"written"`    // files
	Removed    []string `json:"removed"`    // files of memories that left recall
	Remembered []string `json:"remembered"` // handles of what new files and new texts became
	Edited     []string `json:"edited"`     // handles
	Retired    []string `json:"retired"`    // handles
	Deleted    []string `json:"deleted"`    // files that are gone while their memories are kept
	Conflicts  []Issue  `json:"conflicts"`  // both sides changed; the file that tells what somebody wrote
	Refused    []Issue  `json:"refused"`    // what could not be taken; the file is as it was
}

// Issue is something about one file.
type Issue struct {
	File   string `json:"file"`
	Handle string `json:"handle,omitempty"`
	Text   string `json:"text"`
}

// Changed tells whether anything was done.
func (r Report) Changed() bool {
	return len(r.Written)+len(r.Removed)+len(r.Remembered)+len(r.Edited)+len(r.Retired) > 0
}

// state is what is kept between two runs, by handle.
type state struct {
	Format int              `json:"format"`
	Known  map[string]known `json:"known"`
}

type known struct {
	File string `json:"file"`
	Base string `json:"base"` // hash of what may be edited, when both sides were equal
}

const stateFormat = 1

// maxFile bounds a file that is read.
const maxFile = 1 << 20

// conflictMark is in the name of a file that keeps what somebody wrote.
const conflictMark = ".conflict-"

// syncing is one run.
type syncing struct {
	Options
	domain Domain
	c      memory.Caller
	root   *os.Root
	state  state
	next   map[string]known
	report Report
	files  map[string]file // by handle
	fresh  []file          // of no memory yet
}

// file is a file as it was read.
type file struct {
	name string
	text []byte
	page memory.Memory
}

// Sync makes the folder and the live memories of the caller's project equal. Personal and organization memories are left alone, and so are
// candidates. An error ends it; what was done until then is noted, and the next run goes on.
func Sync(ctx context.Context, d Domain, c memory.Caller, o Options) (report Report, err error) {
	s := &syncing{Options: o, domain: d, c: c, next: map[string]known{}, files: map[string]file{}}
	s.report = Report{Dir: o.Dir, Written: []string{}, Removed: []string{}, Remembered: []string{}, Edited: []string{}, Retired: []string{}, Deleted: []string{},
		Conflicts: []Issue{}, Refused: []Issue{}}
	waiting, cancel := context.WithTimeout(ctx, turn)
	lock, err := filelock.Wait(waiting, o.State+".lock")
	cancel()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return s.report, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return s.report, problem.New(problem.Conflict, "dir", "another sync of this folder has been under way for a minute", "wait for it, or end it").Because(err)
	default:
		return s.report, fmt.Errorf("taking turns: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if o.Began != nil {
		o.Began()
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return s.report, problem.New(problem.Invalid, "dir", fmt.Sprintf("the folder cannot be made: %v", err), "name a folder you may write to").Because(err)
	}
	if s.root, err = os.OpenRoot(o.Dir); err != nil {
		return s.report, problem.New(problem.Invalid, "dir", fmt.Sprintf("the folder cannot be opened: %v", err), "name a folder you may write to").Because(err)
	}
	defer func() { err = errors.Join(err, s.root.Close()) }()
	s.load()
	if err := s.scan(ctx); err != nil {
		return s.report, err
	}
	err = s.run(ctx)
	for handle, k := range s.state.Known { // what this run did not come to
		if _, ok := s.next[handle]; !ok && err != nil {
			s.next[handle] = k
		}
	}
	return s.report, errors.Join(err, s.save())
}

// load reads the state; without one everything is compared afresh, which loses nothing.
func (s *syncing) load() {
	s.state = state{Known: map[string]known{}}
	text, err := os.ReadFile(s.State)
	var kept state
	if err == nil && json.Unmarshal(text, &kept) == nil && kept.Format == stateFormat && kept.Known != nil {
		s.state = kept
	}
}

func (s *syncing) save() error {
	text, err := json.Marshal(state{Format: stateFormat, Known: s.next})
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.State), 0o700); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if err := os.WriteFile(s.State+".new", text, 0o600); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return os.Rename(s.State+".new", s.State)
}

// scan reads the files.
func (s *syncing) scan(ctx context.Context) error {
	return fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		base := path.Base(name)
		if name != "." && strings.HasPrefix(base, ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() || path.Ext(name) != ".md" || name == "README.md" || strings.HasPrefix(name, "history/") {
			return nil
		}
		if strings.Contains(base, conflictMark) {
			s.report.Conflicts = append(s.report.Conflicts, Issue{File: name, Text: "it keeps what somebody wrote while the memory changed: take over what holds, then delete it"})
			return nil
		}
		if info, err := d.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
			s.refuse(name, "", "it is no file of a memory")
			return nil //nolint:nilerr // the report says so
		}
		text, err := s.root.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		f := file{name: name, text: text}
		p, ok, err := export.ParsePage(text)
		switch {
		case err != nil:
			s.refuse(name, "", "%v", err)
			return nil
		case !ok:
			f.page.Content = strings.TrimSpace(string(text))
		default:
			if err := p.Into(&f.page); err != nil {
				s.refuse(name, "", "%v", err)
				return nil
			}
		}
		switch other, twice := s.files[f.page.Handle]; {
		case f.page.Handle == "":
			s.fresh = append(s.fresh, f)
		case twice && other.name == s.state.Known[f.page.Handle].File:
			s.refuse(name, f.page.Handle, "%s is the file of %s: take the line with its handle out to make this a memory of its own", other.name, f.page.Handle)
		case twice && name != s.state.Known[f.page.Handle].File:
			s.refuse(name, f.page.Handle, "%s has the handle %s as well", other.name, f.page.Handle)
		case twice:
			s.refuse(other.name, f.page.Handle, "%s is the file of %s: take the line with its handle out to make this a memory of its own", name, f.page.Handle)
			s.files[f.page.Handle] = f
		default:
			s.files[f.page.Handle] = f
		}
		return nil
	})
}

func (s *syncing) refuse(name, handle, format string, args ...any) {
	s.report.Refused = append(s.report.Refused, Issue{File: name, Handle: handle, Text: memory.Line(fmt.Sprintf(format, args...))})
}

// listed reads the live memories of the project.
func (s *syncing) listed(ctx context.Context) ([]memory.Memory, error) {
	var out []memory.Memory
	q := memory.ListRequest{Limit: memory.MaxLimit}
	for {
		page, err := s.domain.List(ctx, s.c, q)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Memories {
			unreadable := slices.ContainsFunc(m.Flags, func(f memory.Flag) bool { return f.Flag == "unreadable" })
			if m.Scope == memory.Project && !unreadable {
				out = append(out, m)
			}
		}
		if page.NextCursor == "" {
			return out, nil
		}
		q.Cursor = page.NextCursor
	}
}

func (s *syncing) run(ctx context.Context) error {
	live, err := s.listed(ctx)
	if err != nil {
		return err
	}
	if err := s.unlikely(live); err != nil {
		return err
	}
	there := map[string]bool{}
	for _, m := range live {
		there[m.Handle] = true
	}
	for _, m := range live {
		if err := s.one(ctx, m); err != nil {
			return err
		}
	}
	for _, handle := range slices.Sorted(maps.Keys(s.files)) {
		if f := s.files[handle]; !there[handle] {
			if err := s.without(ctx, f); err != nil {
				return err
			}
		}
	}
	for _, f := range s.fresh {
		if err := s.remember(ctx, f, ""); err != nil {
			return err
		}
	}
	s.report.Memories = len(s.next)
	return nil
}

// mostDeleted is from how many deleted files on, when they are more than half, a folder is taken to be another one, or not there yet.
const mostDeleted = 5

// unlikely refuses to retire what a folder that is empty by accident seems to say.
func (s *syncing) unlikely(live []memory.Memory) error {
	if s.Deleted != Retire {
		return nil
	}
	gone := 0
	for _, m := range live {
		if _, was := s.state.Known[m.Handle]; was && s.files[m.Handle].name == "" {
			gone++
		}
	}
	if gone > mostDeleted && gone*2 > len(s.state.Known) {
		return problem.New(problem.Conflict, "deleted", fmt.Sprintf("%d of %d files are gone, which looks like another folder", gone, len(s.state.Known)),
			"retire them with stele forget, or write them again with --deleted rewrite")
	}
	return nil
}

// one makes a live memory and its file equal.
func (s *syncing) one(ctx context.Context, m memory.Memory) error {
	f, has := s.files[m.Handle]
	was, synced := s.state.Known[m.Handle]
	ours := base(m)
	if !has {
		if synced && s.Deleted != Rewrite {
			return s.lost(ctx, m, was)
		}
		return s.write(m, file{})
	}
	theirs := base(f.page)
	if !synced && theirs != ours {
		var err error
		if was.Base, err = s.guess(ctx, m, f); err != nil {
			return err
		}
	}
	switch {
	case theirs == ours || theirs == was.Base:
		m, err := s.refresh(ctx, m, f)
		if err != nil {
			return err
		}
		return s.write(m, f)
	case ours == was.Base:
		return s.apply(ctx, m, f)
	default:
		return s.conflict(m, f)
	}
}

// guess tells how both sides were when they were equal, where no state does: a file that says what its revision said was not edited, and
// within one revision only the file can have changed. "" leaves a conflict.
func (s *syncing) guess(ctx context.Context, m memory.Memory, f file) (string, error) {
	if f.page.Revision == m.Revision {
		return base(m), nil
	}
	h, err := s.domain.History(ctx, s.c, m.Handle)
	if err != nil {
		return "", err
	}
	for _, v := range h.Versions {
		if v.Revision == f.page.Revision && words(memory.Memory{Title: v.Title, Content: v.Content, Why: v.Why}) == words(f.page) && slices.Equal(v.Tags, f.page.Tags) {
			return base(f.page), nil
		}
	}
	return "", nil
}

// lost is a memory whose file was deleted.
func (s *syncing) lost(ctx context.Context, m memory.Memory, was known) error {
	if s.Deleted != Retire || base(m) != was.Base { // it was changed since; nobody who deleted the file has seen that
		s.report.Deleted = append(s.report.Deleted, was.File)
		s.next[m.Handle] = was
		return nil
	}
	_, err := s.domain.Forget(ctx, s.c, memory.ForgetRequest{Memory: m.Handle, Reason: "its file was deleted"})
	switch p, ours := problem.As(err); {
	case ours && p.Code != problem.Unavailable:
		s.refuse(was.File, m.Handle, "%v", err)
		s.next[m.Handle] = was
		return nil
	case err != nil:
		return err
	}
	s.report.Retired = append(s.report.Retired, m.Handle)
	return nil
}

// refresh takes over that a memory was confirmed elsewhere, as its file from another machine tells.
func (s *syncing) refresh(ctx context.Context, m memory.Memory, f file) (memory.Memory, error) {
	p := f.page
	if p.ID != m.ID || !p.ConfirmedAt.After(m.ConfirmedAt) && p.Confirmations <= m.Confirmations || !s.c.MayReview() {
		return m, nil
	}
	if _, err := s.domain.ImportMemories(ctx, s.c, memory.ImportRequest{Records: []memory.ImportRecord{record(p, true)}}); err != nil {
		return m, err
	}
	now, err := s.domain.Get(ctx, s.c, []string{m.Handle})
	if err != nil {
		return m, err
	}
	return now[0], nil
}

// without is a file that names a memory which is not live here.
func (s *syncing) without(ctx context.Context, f file) error {
	handle := f.page.Handle
	was, synced := s.state.Known[handle]
	if !synced {
		known, err := s.domain.Get(ctx, s.c, []string{handle})
		switch {
		case problem.Is(err, problem.NotFound):
			return s.adopt(ctx, f)
		case err != nil:
			return err
		case known[0].Status == memory.Live:
			s.refuse(f.name, handle, "%s is a memory of another project or scope", handle)
			return nil
		}
		// It left recall here. What the file says is either what the memory said, or more.
		was.Base = base(known[0])
	}
	if base(f.page) == was.Base {
		return s.remove(f)
	}
	return s.aside(f, handle, "the memory left recall, and the file was edited")
}

// adopt takes a file of another machine whose memory this database does not have: as it was for who may review, else as a new one.
func (s *syncing) adopt(ctx context.Context, f file) error {
	if f.page.Status != memory.Live || f.page.Revision < 1 {
		return s.remember(ctx, f, "")
	}
	out, err := s.domain.ImportMemories(ctx, s.c, memory.ImportRequest{Records: []memory.ImportRecord{record(f.page, false)}})
	if err != nil {
		return err
	}
	o := out.Records[0]
	if o.Result == memory.ImportRefused {
		s.refuse(f.name, f.page.Handle, "%s", strings.Join(o.Notes, "; "))
		return nil
	}
	s.report.Remembered = append(s.report.Remembered, o.Handle)
	return s.rewritten(ctx, o.Handle, f)
}

// apply brings an edited file to its memory: a new text is a new memory that supersedes the old one, the rest an edit.
func (s *syncing) apply(ctx context.Context, m memory.Memory, f file) error {
	p := f.page
	if p.Kind != m.Kind || words(p) != words(m) {
		return s.remember(ctx, f, m.Handle)
	}
	r := memory.EditRequest{Memory: m.Handle, Revision: m.Revision}
	if tags := p.Tags; !slices.Equal(tags, m.Tags) {
		r.Tags = &tags
	}
	if paths := p.Paths; !slices.Equal(paths, m.Paths) {
		r.Paths = &paths
	}
	if elements := keys(p); !slices.Equal(elements, keys(m)) {
		r.Elements = &elements
	}
	if until(p) != until(m) {
		expires := until(p)
		r.Expires = &expires
	}
	edited, err := s.domain.Edit(ctx, s.c, r)
	if done, err := s.settled(err, m.Handle, f); done || err != nil {
		return err
	}
	s.report.Edited = append(s.report.Edited, m.Handle)
	return s.write(edited, f)
}

// settled turns what the domain refuses into a line of the report; the file and the memory stay as they are.
func (s *syncing) settled(err error, handle string, f file) (done bool, _ error) {
	p, ours := problem.As(err)
	if err == nil || !ours || p.Code == problem.Unavailable {
		return false, err
	}
	s.refuse(f.name, handle, "%v", err)
	if was, ok := s.state.Known[handle]; ok {
		s.next[handle] = was
	}
	return true, nil
}

// remember makes a memory of a file, in place of another one when it is named.
func (s *syncing) remember(ctx context.Context, f file, supersedes string) error {
	p := f.page
	r := memory.RememberRequest{Kind: p.Kind, Title: p.Title, Content: p.Content, Why: p.Why, Tags: p.Tags, Paths: p.Paths, Elements: keys(p), Expires: until(p),
		Supersedes: supersedes, Separate: supersedes != "", Anchor: p.Anchor}
	if r.Kind == "" && supersedes == "" {
		r.Kind = kindOf(f.name)
	}
	out, err := s.domain.Remember(ctx, s.c, r)
	if done, err := s.settled(err, supersedes, f); done || err != nil {
		return err
	}
	s.report.Remembered = append(s.report.Remembered, out.Memory.Handle)
	if !out.Deduplicated {
		return s.write(out.Memory, f)
	}
	if words(p) == words(out.Memory) && s.next[out.Memory.Handle].File != "" {
		return s.remove(f) // what it says stands in the file of that memory
	}
	return s.conflict(out.Memory, f)
}

// rewritten writes the file of a memory that was just made of one.
func (s *syncing) rewritten(ctx context.Context, handle string, f file) error {
	found, err := s.domain.Get(ctx, s.c, []string{handle})
	if err != nil {
		return err
	}
	if found[0].Status != memory.Live {
		return s.aside(f, handle, "the memory left recall here")
	}
	return s.write(found[0], f)
}

// conflict keeps what somebody wrote beside what the memory says now.
func (s *syncing) conflict(m memory.Memory, f file) error {
	if err := s.aside(f, m.Handle, "the file and the memory were both changed"); err != nil {
		return err
	}
	if s.next[m.Handle].File != "" {
		return nil // it has its file
	}
	return s.write(m, file{})
}

// aside renames a file so that it is no memory's any more.
func (s *syncing) aside(f file, handle, why string) error {
	sum := sha256.Sum256(f.text)
	to := strings.TrimSuffix(f.name, ".md") + conflictMark + hex.EncodeToString(sum[:4]) + ".md"
	if err := s.root.Rename(f.name, to); err != nil {
		return fmt.Errorf("keeping %s: %w", f.name, err)
	}
	s.report.Conflicts = append(s.report.Conflicts, Issue{File: to, Handle: handle, Text: why + "; what was written is in this file"})
	return nil
}

// write brings the file of a memory to what it should be; before is what was read, which may have another name.
func (s *syncing) write(m memory.Memory, before file) error {
	name, text, err := export.FileOf(m)
	if err != nil {
		return err
	}
	if s.Layout == ByDay {
		name = path.Join(m.CreatedAt.UTC().Format(time.DateOnly), path.Base(name))
	}
	if before.name != "" && before.page.Handle == m.Handle {
		name = before.name // people may move the file of a memory to where they like it
	}
	s.next[m.Handle] = known{File: name, Base: base(m)}
	if before.name == name && string(before.text) == string(text) {
		return nil
	}
	// Whoever saved the file since it was read is not written over: the next run sees it.
	if before.name != "" {
		if now, err := s.root.ReadFile(before.name); err != nil || string(now) != string(before.text) {
			if s.next[m.Handle] = (known{File: before.name, Base: base(before.page)}); before.page.Handle != m.Handle {
				delete(s.next, m.Handle)
			}
			return nil
		}
	}
	if before.name != name {
		if now, err := s.root.ReadFile(name); err == nil && string(now) != string(text) {
			s.refuse(name, m.Handle, "it is in the way of the file of %s", m.Handle)
			delete(s.next, m.Handle)
			return nil
		}
	}
	if err := s.put(name, text); err != nil {
		return err
	}
	s.report.Written = append(s.report.Written, name)
	if before.name != "" && before.name != name {
		return s.root.Remove(before.name)
	}
	return nil
}

// put writes a file whole.
func (s *syncing) put(name string, text []byte) error {
	if err := s.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return fmt.Errorf("making %s: %w", path.Dir(name), err)
	}
	unfinished := path.Join(path.Dir(name), ".stele-sync.new")
	if err := s.root.WriteFile(unfinished, text, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := s.root.Rename(unfinished, name); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", name, err), s.root.Remove(unfinished))
	}
	return nil
}

// remove takes away the file of a memory that left recall.
func (s *syncing) remove(f file) error {
	if err := s.root.Remove(f.name); err != nil {
		return fmt.Errorf("removing %s: %w", f.name, err)
	}
	s.report.Removed = append(s.report.Removed, f.name)
	return nil
}

// record is a memory of another machine as an import takes it.
func record(p memory.Memory, refresh bool) memory.ImportRecord {
	agent, user := memory.SplitAuthor(p.Author)
	r := memory.ImportRecord{Key: memory.RestoreKey(p.ID), Kind: p.Kind, Title: p.Title, Content: p.Content, Why: p.Why, Paths: p.Paths, Tags: p.Tags,
		CreatedAt: p.CreatedAt, Agent: agent, User: user, ExpiresAt: p.ExpiresAt, Anchor: p.Anchor,
		Restore: &memory.Restore{ID: p.ID, Handle: p.Handle, Status: memory.Live, Origin: p.Origin, Unreviewed: p.Unreviewed, ConfirmedAt: p.ConfirmedAt,
			Confirmations: p.Confirmations, Revision: p.Revision, Seen: p.Seen, Refresh: refresh}}
	for _, e := range p.Elements {
		r.Restore.Attached = append(r.Restore.Attached, memory.RestoredElement{Key: e.Key, Name: e.Name, Level: e.Level, Reason: e.Reason})
	}
	return r
}

// kindOf is the kind of a new file, by the folder it is in.
func kindOf(name string) memory.Kind {
	for _, k := range []memory.Kind{memory.Pitfall, memory.Convention} {
		if strings.HasPrefix(name, string(k)+"s/") {
			return k
		}
	}
	return memory.Note
}

// words are the texts of a memory: what only a successor changes.
func words(m memory.Memory) string {
	clean := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return fmt.Sprintf("%q", []string{strings.Join(strings.Fields(m.Title), " "), clean(m.Content), clean(m.Why)})
}

func keys(m memory.Memory) []string {
	out := make([]string, 0, len(m.Elements))
	for _, e := range m.Elements {
		if !e.Orphan {
			out = append(out, e.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func until(m memory.Memory) string {
	if m.ExpiresAt == nil {
		return ""
	}
	return m.ExpiresAt.UTC().Format(time.RFC3339Nano)
}

// base is a hash of everything of a memory that may be edited in its file.
func base(m memory.Memory) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s %q %q %q %q", m.Kind, words(m), m.Tags, m.Paths, keys(m), until(m)))
	return hex.EncodeToString(sum[:16])
}
