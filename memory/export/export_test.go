package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/export"
)

// shelf is a Source that serves what a test puts on it, two memories a page.
type shelf struct {
	memories []memory.Memory // newest first
	versions map[string][]memory.Version
	failAt   int // the call of List that fails; 0: none
	calls    int
}

var errList = errors.New("the connection was lost")

func (s *shelf) List(_ context.Context, _ memory.Caller, r memory.ListRequest) (memory.ListResponse, error) {
	if s.calls++; s.calls == s.failAt {
		return memory.ListResponse{}, errList
	}
	var fitting []memory.Memory
	for _, m := range s.memories {
		if r.Status == "all" || m.Status == r.Status {
			fitting = append(fitting, m)
		}
	}
	at := 0
	if r.Cursor != "" {
		at = 1 + slices.IndexFunc(fitting, func(m memory.Memory) bool { return m.ID.String() == r.Cursor })
	}
	end := min(at+2, len(fitting))
	out := memory.ListResponse{Memories: fitting[at:end]}
	if end < len(fitting) {
		out.NextCursor = fitting[end-1].ID.String()
	}
	return out, nil
}

func (s *shelf) History(_ context.Context, _ memory.Caller, ref string) (memory.HistoryResponse, error) {
	v, ok := s.versions[ref]
	if !ok {
		return memory.HistoryResponse{}, problem.New(problem.NotFound, "memory", "there is none")
	}
	return memory.HistoryResponse{Versions: v}, nil
}

var (
	mill = memory.ProjectInfo{ID: uuid.MustParse("01900000-0000-7000-8000-000000000001"), Name: "Mill [old]", Identities: []string{"remote:example.org/mill"}}
	noon = time.Date(2030, 1, 2, 12, 0, 0, 1000, time.UTC)
)

func note(n int, title, content string) memory.Memory {
	return memory.Memory{
		ID: uuid.MustParse(fmt.Sprintf("01900000-0000-7000-8000-%012d", 9000-n)), Handle: fmt.Sprintf("m-aaaaaa%d", n), Kind: memory.Note, Title: title, Content: content,
		Scope: memory.Project, Status: memory.Live, Author: "ana", Origin: memory.FromCLI, CreatedAt: noon, ConfirmedAt: noon, Revision: 1,
		Elements: []memory.ElementRef{}, Paths: []string{}, Tags: []string{}, Flags: []memory.Flag{}, Links: []memory.Link{},
	}
}

// full is a memory with something in every field.
func full() memory.Memory {
	expires := noon.Add(time.Hour)
	m := note(2, `Wheel: "left" #1`, "The wheel turns\r\nleft\x1b[31m, see [[Weir]].\n\n---\nEnd")
	m.Kind, m.Why, m.Scope, m.Revision = memory.Pitfall, "gears: - yes\n", memory.Organization, 2
	m.Elements = []memory.ElementRef{{Key: "mill.wheel", Name: "Wheel", Level: "component", Reason: "by wheel/**", Orphan: true}}
	m.Paths, m.Tags = []string{"wheel/**", "- odd: path"}, []string{"water", "no"}
	m.Unreviewed, m.Confirmations, m.ExpiresAt, m.SupersededBy = true, 3, &expires, "m-bbbbbbb"
	m.Seen = &memory.Seen{Commit: "abc", Branch: "main", Tree: "def", Assumed: true}
	m.Flags = []memory.Flag{{Flag: "verify", Reason: "it drifted"}}
	m.Links = []memory.Link{{Text: "Weir", Kind: "memory", Target: "m-aaaaaa1", Title: "Weir"}}
	return m
}

// TestJSON: one document with every field a door shows, one memory a line, all pages, and versions when asked for.
func TestJSON(t *testing.T) {
	t.Parallel()
	retired := note(3, "", "Old")
	retired.Status = memory.Retired
	src := &shelf{
		memories: []memory.Memory{note(1, "Weir", "A <weir> & a \x00dam"), full(), retired, note(4, "", "Fourth")},
		versions: map[string][]memory.Version{"m-aaaaaa2": {{Revision: 1, RecordedAt: noon, Author: "bo", Content: "It turns\x00.", Tags: []string{}}, {Revision: 2, RecordedAt: noon, Author: "ana", Content: "The wheel", Tags: []string{"water"}}}},
	}
	type document struct {
		Format   int                `json:"format"`
		Project  memory.ProjectInfo `json:"project"`
		Memories []struct {
			memory.Memory
			Versions []memory.Version `json:"versions"`
		} `json:"memories"`
	}
	read := func(o export.Options) (document, string) {
		t.Helper()
		var out bytes.Buffer
		n, err := export.JSON(t.Context(), &out, src, memory.Caller{}, mill, o)
		if err != nil {
			t.Fatal(err)
		}
		var d document
		decoder := json.NewDecoder(bytes.NewReader(out.Bytes()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&d); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
		if len(d.Memories) != n || strings.Count(out.String(), "\n") != n+2 {
			t.Errorf("%d memories were counted, %d are there, in %d lines", n, len(d.Memories), strings.Count(out.String(), "\n"))
		}
		return d, out.String()
	}
	d, text := read(export.Options{})
	if d.Format != 1 || d.Project.ID != mill.ID || len(d.Memories) != 3 || !strings.Contains(text, "A <weir> & a dam") {
		t.Errorf("got %+v", d)
	}
	if diff := cmp.Diff(full(), d.Memories[1].Memory); diff != "" {
		t.Errorf("a field is lost (-want +got):\n%s", diff)
	}
	if d.Memories[1].Versions != nil {
		t.Error("versions nobody asked for")
	}
	d, _ = read(export.Options{All: true, History: true})
	if len(d.Memories) != 4 || len(d.Memories[1].Versions) != 2 || d.Memories[1].Versions[0].Content != "It turns." {
		t.Errorf("all with history: %+v", d.Memories)
	}
	src.memories = nil
	if d, _ := read(export.Options{}); d.Memories == nil || len(d.Memories) != 0 {
		t.Errorf("nothing: %+v", d)
	}
}

// files gives the content of every file below dir.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		found[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func markdown(t *testing.T, dir string, src export.Source, o export.Options) export.Report {
	t.Helper()
	r, err := export.Markdown(t.Context(), dir, src, memory.Caller{}, mill, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// front splits a page into its front matter and its text.
func front(t *testing.T, page string) (matter map[string]any, text string) {
	t.Helper()
	rest, ok := strings.CutPrefix(page, "---\n")
	head, text, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		t.Fatalf("no front matter: %q", page)
	}
	if err := yaml.Unmarshal([]byte(head), &matter); err != nil {
		t.Fatalf("%v in %s", err, head)
	}
	return matter, strings.TrimSuffix(text, "\n")
}

// TestMarkdown: a file for each memory with every field, an index by element, and nothing else changed by a second run.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out", "of")
	src := &shelf{memories: []memory.Memory{note(1, "Weir", "A weir."), full(), note(3, "", "\n  # Über 3 Mühlen/../x  \nmore")}}
	if r := markdown(t, dir, src, export.Options{}); r.Memories != 3 || r.Written != 4 || r.Removed+r.Unchanged+len(r.Kept) != 0 {
		t.Errorf("report %+v", r)
	}
	first := files(t, dir)
	var names []string
	for name := range first {
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{".stele-export.json", "README.md", "notes/weir-m-aaaaaa1.md", "notes/über-3-mühlen-x-m-aaaaaa3.md", "pitfalls/wheel-left-1-m-aaaaaa2.md"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	matter, text := front(t, first["pitfalls/wheel-left-1-m-aaaaaa2.md"])
	if text != full().Content {
		t.Errorf("the text is %q, want it as stored: %q", text, full().Content)
	}
	// Every field that JSON has, under the same name and, where it is a string, with the same value.
	encoded, err := json.Marshal(full())
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "content")
	for name, want := range fields {
		got, ok := matter[name]
		if !ok {
			t.Errorf("the front matter lacks %s", name)
		}
		if s, isText := want.(string); isText && got != s {
			t.Errorf("%s is %q, want %q", name, got, s)
		}
	}
	for _, want := range []string{"about Mill \\[old\\]\n", "## mill.wheel\n\n- [Wheel: \"left\" \\#1](pitfalls/wheel-left-1-m-aaaaaa2.md) (pitfall, organization)\n", "## Without an element\n\n- [Weir](notes/weir-m-aaaaaa1.md) (note)"} {
		if !strings.Contains(first["README.md"], want) {
			t.Errorf("the index lacks %q: %s", want, first["README.md"])
		}
	}
	info, err := os.Stat(filepath.Join(dir, "notes", "weir-m-aaaaaa1.md"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: what was sealed is open to others", info.Mode(), err)
	}

	if r := markdown(t, dir, src, export.Options{}); r.Unchanged != 4 || r.Written+r.Removed != 0 {
		t.Errorf("a second run: %+v", r)
	}
	if diff := cmp.Diff(first, files(t, dir)); diff != "" {
		t.Errorf("a second run changed (-first +second):\n%s", diff)
	}
}

// TestMarkdownIsBroughtUpToDate: what is gone goes, what somebody changed or added stays.
func TestMarkdownIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := &shelf{
		memories: []memory.Memory{note(1, "One", "1"), note(2, "Two", "2"), note(3, "Three", "3"), full()},
		versions: map[string][]memory.Version{"m-aaaaaa1": {{Revision: 1, Content: "1"}}, "m-aaaaaa3": {{Revision: 0, Content: "0"}, {Revision: 1, Content: "3"}}},
	}
	src.memories[3].Handle = "m-aaaaaa4"
	markdown(t, dir, src, export.Options{History: true})
	if text := files(t, dir)["history/m-aaaaaa3/0.md"]; !strings.HasSuffix(text, "\n---\n0\n") {
		t.Errorf("the older version is %q", text)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("notes/two-m-aaaaaa2.md", "mine now")   // stays a memory
	write("notes/three-m-aaaaaa3.md", "mine too") // is gone
	write("notes/own.md", "never theirs")
	src.memories = []memory.Memory{note(1, "Uno", "1"), note(2, "Two", "2 and more")}
	r := markdown(t, dir, src, export.Options{})
	// The renamed one, its old name, the pitfall and the older version.
	if r.Written != 2 || r.Removed != 3 || !slices.Equal(r.Kept, []string{"notes/two-m-aaaaaa2.md", "notes/three-m-aaaaaa3.md"}) {
		t.Errorf("report %+v", r)
	}
	now := files(t, dir)
	for name, want := range map[string]string{"notes/two-m-aaaaaa2.md": "mine now", "notes/three-m-aaaaaa3.md": "mine too", "notes/own.md": "never theirs"} {
		if now[name] != want {
			t.Errorf("%s is %q, want %q", name, now[name], want)
		}
	}
	for _, gone := range []string{"notes/one-m-aaaaaa1.md", "pitfalls", "history"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there (%v)", gone, err)
		}
	}
	// Out of the way, the text comes back.
	if err := os.Remove(filepath.Join(dir, "notes/two-m-aaaaaa2.md")); err != nil {
		t.Fatal(err)
	}
	if r := markdown(t, dir, src, export.Options{}); !slices.Equal(r.Kept, []string{"notes/three-m-aaaaaa3.md"}) || !strings.HasSuffix(files(t, dir)["notes/two-m-aaaaaa2.md"], "2 and more\n") {
		t.Errorf("after moving it away: %+v", r)
	}
}

// TestInterruptedMarkdown: what a run that failed wrote is known to the next.
func TestInterruptedMarkdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	memories := []memory.Memory{note(1, "One", "1"), note(2, "Two", "2"), note(3, "Three", "3")}
	if _, err := export.Markdown(t.Context(), dir, &shelf{memories: memories, failAt: 2}, memory.Caller{}, mill, export.Options{}); !errors.Is(err, errList) {
		t.Fatalf("got %v, want what List failed with", err)
	}
	if r := markdown(t, dir, &shelf{memories: memories[1:]}, export.Options{}); r.Removed != 1 || r.Unchanged != 1 || len(r.Kept) > 0 {
		t.Errorf("the run after it: %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := export.Markdown(ctx, dir, &shelf{}, memory.Caller{}, mill, export.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if n := len(files(t, dir)); n != 4 {
		t.Errorf("%d files are left of 4: an export that was interrupted removed some", n)
	}
}

// TestMarkdownRefusals: nobody's files are written over, and nothing leads out of the folder.
func TestMarkdownRefusals(t *testing.T) {
	t.Parallel()
	src := &shelf{memories: []memory.Memory{note(1, "One", "1")}}
	refused := func(dir string, p memory.ProjectInfo, want string) {
		t.Helper()
		before := files(t, filepath.Dir(dir))
		_, err := export.Markdown(t.Context(), dir, src, memory.Caller{}, p, export.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
		if diff := cmp.Diff(before, files(t, filepath.Dir(dir))); diff != "" && want != "escapes" {
			t.Errorf("files changed:\n%s", diff)
		}
	}
	with := func(name, text string) string {
		dir := filepath.Join(t.TempDir(), "dir")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	refused(with("letter.txt", "dear"), mill, "is not empty")
	refused(with(".stele-export.json", "{"), mill, "is not one that this stele wrote")
	refused(with(".stele-export.json", `{"format": 99}`), mill, "is not one that this stele wrote")
	earlier := filepath.Join(t.TempDir(), "dir")
	markdown(t, earlier, src, export.Options{})
	refused(earlier, memory.ProjectInfo{ID: uuid.MustParse("01900000-0000-7000-8000-000000000002")}, "another project ("+mill.ID.String())
	refused(filepath.Join(with("file", "x"), "file"), mill, "cannot be made")
	markdown(t, with(".git/config", ""), src, export.Options{}) // a repository made for it

	outside := t.TempDir()
	led := filepath.Join(t.TempDir(), "dir")
	markdown(t, led, &shelf{}, export.Options{})
	if err := os.Symlink(outside, filepath.Join(led, "notes")); err != nil {
		t.Fatal(err)
	}
	refused(led, mill, "escapes")
	if n := len(files(t, outside)); n > 0 {
		t.Errorf("%d files were written outside the folder", n)
	}
}

var portable = regexp.MustCompile(`^[\p{L}\p{N}\p{M}]+(-[\p{L}\p{N}\p{M}]+)*\.md$`)

// TestMarkdownProperties: whatever is in a memory, its file has a name that every file system takes, and holds the text and
// the fields as they are.
func TestMarkdownProperties(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		m := note(1, rapid.String().Draw(rt, "title"), rapid.String().Draw(rt, "content"))
		m.Why, m.Tags = rapid.String().Draw(rt, "why"), rapid.SliceOfN(rapid.String(), 0, 3).Draw(rt, "tags")
		markdown(t, dir, &shelf{memories: []memory.Memory{m}}, export.Options{})
		clean := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
		for name, page := range files(t, dir) {
			folder, base := filepath.Split(name)
			if folder == "" {
				continue
			}
			if !portable.MatchString(base) || len(base) > 100 {
				rt.Errorf("the name %q is not portable", base)
			}
			matter, text := front(t, page)
			if text != clean(m.Content) {
				rt.Errorf("the text is %q, want %q", text, m.Content)
			}
			if matter["title"] != clean(m.Title) || matter["why"] != clean(m.Why) {
				rt.Errorf("title %q, why %q; want %q, %q", matter["title"], matter["why"], m.Title, m.Why)
			}
			for i, tag := range m.Tags {
				if got := matter["tags"].([]any)[i]; got != clean(tag) {
					rt.Errorf("tag %q, want %q", got, tag)
				}
			}
		}
	})
}
