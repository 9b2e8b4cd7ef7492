package folder_test

import (
	"context"
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

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/importer/folder"
	"github.com/stele-dev/stele/internal/filelock"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

type mill struct {
	*memory.Service
	now time.Time
}

func newMill(t *testing.T) *mill {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	m := &mill{now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	m.Service = memory.New(postgres.New(pgtest.NewDatabase(t).DB, master), memory.Options{Now: func() time.Time {
		m.now = m.now.Add(time.Millisecond)
		return m.now
	}})
	return m
}

type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

func must(t failing, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func (m *mill) project(t failing) memory.Caller {
	t.Helper()
	ctx := context.Background()
	org, err := m.EnsureOrganization(ctx, "org-"+uuid.NewString())
	must(t, err)
	c := memory.Caller{Org: org, User: "kim", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := m.CreateProject(ctx, c, "mill", nil)
	must(t, err)
	c.Project = p.ID
	_, err = m.ImportModel(ctx, c, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "mill", Name: "Mill", Level: c4model.System}}},
		Bindings: []c4model.Binding{{Element: "mill", Pattern: "wheel/**", Source: "model"}}, Source: "w.dsl"})
	must(t, err)
	return c
}

// desk is a folder of one person.
type desk struct {
	m *mill
	c memory.Caller
	o folder.Options
}

func (m *mill) desk(c memory.Caller, dir string) *desk {
	return &desk{m, c, folder.Options{Dir: filepath.Join(dir, "notes"), State: filepath.Join(dir, "state.json"), Layout: folder.ByKind, Deleted: folder.Keep}}
}

func (d *desk) sync(t failing) folder.Report {
	t.Helper()
	r, err := folder.Sync(context.Background(), d.m, d.c, d.o)
	must(t, err)
	return r
}

// files are those of the folder by name, without what conflicts left.
func (d *desk) files(t failing) (memories, kept map[string]string) {
	t.Helper()
	memories, kept = map[string]string{}, map[string]string{}
	must(t, fs.WalkDir(os.DirFS(d.o.Dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(d.o.Dir, name))
		if strings.Contains(name, ".conflict-") {
			kept[name] = string(text)
		} else {
			memories[name] = string(text)
		}
		return err
	}))
	return memories, kept
}

func (d *desk) put(t failing, name, text string) {
	t.Helper()
	name = filepath.Join(d.o.Dir, name)
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(t, os.WriteFile(name, []byte(text), 0o600))
}

// only gives the one file of a memory.
func (d *desk) only(t failing) (name, text string) {
	t.Helper()
	all, _ := d.files(t)
	if len(all) != 1 {
		t.Fatalf("the folder has %v", all)
	}
	for name, text = range all {
		break
	}
	return name, text
}

// TestSync: each change of one side arrives at the other, and a second run finds nothing to do.
func TestSync(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	c := m.project(t)
	d := m.desk(c, t.TempDir())
	ctx := t.Context()
	quiet := func() {
		t.Helper()
		if r := d.sync(t); r.Changed() || len(r.Conflicts)+len(r.Refused) > 0 {
			t.Errorf("a second run: %+v", r)
		}
	}
	first, err := m.Remember(ctx, c, memory.RememberRequest{Content: "The wheel turns left.", Title: "Wheel", Kind: memory.Pitfall, Paths: []string{"wheel/a.go"}})
	must(t, err)
	_, err = m.Remember(ctx, c, memory.RememberRequest{Content: "I like tea.", Scope: memory.Personal})
	must(t, err)
	if r := d.sync(t); len(r.Written) != 1 || r.Memories != 1 {
		t.Fatalf("the first run: %+v", r)
	}
	quiet()
	name, text := d.only(t)
	if !strings.HasPrefix(name, "pitfalls/wheel-m-") || !strings.Contains(text, "The wheel turns left.\n") {
		t.Fatalf("%s: %s", name, text)
	}

	// What is around the text is edited.
	d.put(t, name, strings.Replace(text, "tags: []", `tags: ["water"]`, 1))
	if r := d.sync(t); len(r.Edited) != 1 {
		t.Fatalf("tags: %+v", r)
	}
	quiet()
	now, err := m.Get(ctx, c, []string{"Wheel"})
	must(t, err)
	if now[0].Handle != first.Memory.Handle || !slices.Equal(now[0].Tags, []string{"water"}) || len(now[0].Elements) != 1 {
		t.Errorf("%+v", now[0])
	}

	// A new text supersedes; the file gets its name.
	name, text = d.only(t)
	d.put(t, name, strings.Replace(text, "left", "right", 1))
	if r := d.sync(t); len(r.Remembered) != 1 {
		t.Fatalf("text: %+v", r)
	}
	quiet()
	now, err = m.Get(ctx, c, []string{first.Memory.Handle, "Wheel"})
	must(t, err)
	if now[0].Status != memory.Superseded || now[0].SupersededBy != now[1].Handle || now[1].Content != "The wheel turns right." || now[1].Kind != memory.Pitfall {
		t.Errorf("%+v", now)
	}

	// A confirmation arrives in the file.
	_, err = m.Confirm(ctx, c, memory.ConfirmRequest{Memory: "Wheel", Holds: true})
	must(t, err)
	if d.sync(t); true {
		if _, text = d.only(t); !strings.Contains(text, "confirmations: 1") {
			t.Errorf("%s", text)
		}
	}
	quiet()

	// A new file becomes a memory, with or without front matter.
	d.put(t, "conventions/new.md", "Stones are dressed in May.\n")
	d.put(t, "later.md", "---\ntitle: Weir\nkind: note\npaths:\n  - weir/**\n---\nThe weir leaks.\n")
	if r := d.sync(t); len(r.Remembered) != 2 {
		t.Fatalf("new files: %+v", r)
	}
	quiet()
	now, err = m.Get(ctx, c, []string{"Weir"})
	must(t, err)
	if now[0].Content != "The weir leaks." || !slices.Equal(now[0].Paths, []string{"weir/**"}) {
		t.Errorf("%+v", now[0])
	}

	// What is forgotten loses its file.
	_, err = m.Forget(ctx, c, memory.ForgetRequest{Memory: "Weir"})
	must(t, err)
	if r := d.sync(t); len(r.Removed) != 1 {
		t.Errorf("forgotten: %+v", r)
	}
	quiet()

	// A file that does not say a memory stays as it is.
	d.put(t, "broken.md", "---\nkind: opinion\n---\nThe mill is ugly.\n")
	if r := d.sync(t); len(r.Refused) != 1 || r.Refused[0].File != "broken.md" {
		t.Errorf("broken: %+v", r)
	}
	if files, _ := d.files(t); files["broken.md"] == "" {
		t.Error("the broken file is gone")
	}
}

// TestDeletedFiles: a lost file retires nothing by itself.
func TestDeletedFiles(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	c := m.project(t)
	d := m.desk(c, t.TempDir())
	for n := range 12 {
		_, err := m.Remember(t.Context(), c, memory.RememberRequest{Content: fmt.Sprintf("Stone %d is worn.", n)})
		must(t, err)
	}
	d.sync(t)
	files, _ := d.files(t)
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	remove := func(names ...string) {
		for _, n := range names {
			must(t, os.Remove(filepath.Join(d.o.Dir, n)))
		}
	}
	live := func() int {
		list, err := m.List(t.Context(), c, memory.ListRequest{})
		must(t, err)
		return len(list.Memories)
	}
	remove(names[0])
	for range 2 {
		if r := d.sync(t); len(r.Deleted) != 1 || r.Changed() || live() != 12 {
			t.Fatalf("kept: %+v", r)
		}
	}
	d.o.Deleted = folder.Rewrite
	if r := d.sync(t); len(r.Written) != 1 {
		t.Fatalf("written again: %+v", r)
	}
	d.o.Deleted = folder.Retire
	remove(names[1])
	if r := d.sync(t); len(r.Retired) != 1 || live() != 11 {
		t.Fatalf("retired: %+v", r)
	}
	remove(names[2:10]...)
	_, err := folder.Sync(t.Context(), m, c, d.o)
	if !problem.Is(err, problem.Conflict) || live() != 11 {
		t.Fatalf("an empty folder: %v, %d are live", err, live())
	}
}

// TestConflict: both sides changed; both are kept and it is said.
func TestConflict(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	c := m.project(t)
	d := m.desk(c, t.TempDir())
	first, err := m.Remember(t.Context(), c, memory.RememberRequest{Content: "It turns left."})
	must(t, err)
	d.sync(t)
	name, text := d.only(t)
	d.put(t, name, strings.Replace(text, "left", "right", 1))
	_, err = m.Remember(t.Context(), c, memory.RememberRequest{Content: "It turns twice.", Supersedes: first.Memory.Handle})
	must(t, err)
	r := d.sync(t)
	if len(r.Conflicts) != 1 || r.Conflicts[0].Handle != first.Memory.Handle {
		t.Fatalf("%+v", r)
	}
	files, kept := d.files(t)
	if len(files) != 1 || len(kept) != 1 || !strings.Contains(kept[r.Conflicts[0].File], "It turns right.") {
		t.Errorf("%v, %v", files, kept)
	}
	if again := d.sync(t); again.Changed() || len(again.Conflicts) != 1 {
		t.Errorf("it is reported until it is gone: %+v", again)
	}
}

// TestTwoMachines: two databases share a folder; memories and confirmations of one arrive at the other.
func TestTwoMachines(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	here, there := m.project(t), m.project(t)
	dir := t.TempDir()
	a, b := m.desk(here, dir), m.desk(there, dir)
	b.o.State = filepath.Join(dir, "other.json")
	out, err := m.Remember(t.Context(), here, memory.RememberRequest{Content: "It turns left.", Title: "Turn"})
	must(t, err)
	a.sync(t)
	if r := b.sync(t); len(r.Remembered) != 1 || r.Remembered[0] != out.Memory.Handle {
		t.Fatalf("%+v", r)
	}
	for range 2 {
		_, err = m.Confirm(t.Context(), there, memory.ConfirmRequest{Memory: "Turn", Holds: true})
		must(t, err)
	}
	b.sync(t)
	a.sync(t)
	got, err := m.Get(t.Context(), here, []string{"Turn"})
	must(t, err)
	other, err := m.Get(t.Context(), there, []string{"Turn"})
	must(t, err)
	if got[0].Confirmations != 2 || !got[0].ConfirmedAt.Equal(other[0].ConfirmedAt) || got[0].ID != other[0].ID {
		t.Errorf("%+v\n%+v", got[0], other[0])
	}
	if r := a.sync(t); r.Changed() {
		t.Errorf("a: %+v", r)
	}
	if r := b.sync(t); r.Changed() {
		t.Errorf("b: %+v", r)
	}
}

var token = regexp.MustCompile(`T\d+T`)

// TestTwoFoldersConverge: whatever two people do in their folders and others in the database, all are equal in the end, and every text
// that was written is a memory, a former one, or in a file that a conflict left.
func TestTwoFoldersConverge(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		c := m.project(t)
		root := filepath.Join(dir, uuid.NewString())
		desks := []*desk{m.desk(c, filepath.Join(root, "a")), m.desk(c, filepath.Join(root, "b"))}
		if rapid.Bool().Draw(t, "by day") {
			desks[1].o.Layout = folder.ByDay
		}
		written, dropped := 0, map[string]bool{}
		text := func() string {
			written++
			return fmt.Sprintf("The mill says T%dT today.", written)
		}
		live := func() string {
			list, err := m.List(ctx, c, memory.ListRequest{})
			must(t, err)
			if len(list.Memories) == 0 {
				return ""
			}
			return rapid.SampledFrom(list.Memories).Draw(t, "memory").Handle
		}
		for range rapid.IntRange(1, 15).Draw(t, "acts") {
			d := desks[rapid.IntRange(0, 1).Draw(t, "desk")]
			names := []string{}
			if _, err := os.Stat(d.o.Dir); err == nil {
				files, _ := d.files(t)
				for n := range files {
					names = append(names, n)
				}
				slices.Sort(names)
			}
			act := rapid.SampledFrom([]string{"remember", "supersede", "tag", "forget", "confirm", "new file", "edit file", "edit file", "tag file", "delete file", "lose state", "sync", "sync"}).Draw(t, "act")
			switch {
			case act == "remember":
				_, err := m.Remember(ctx, c, memory.RememberRequest{Content: text()})
				must(t, err)
			case act == "new file":
				d.put(t, fmt.Sprintf("new%d.md", written), text()+"\n")
			case act == "sync":
				d.sync(t)
			case act == "lose state":
				_ = os.Remove(d.o.State)
			case strings.HasSuffix(act, " file") && len(names) > 0:
				name := filepath.Join(d.o.Dir, rapid.SampledFrom(names).Draw(t, "file"))
				before, err := os.ReadFile(name)
				must(t, err)
				switch act {
				case "edit file":
					must(t, os.WriteFile(name, append(before, []byte(text()+"\n")...), 0o600))
				case "tag file":
					must(t, os.WriteFile(name, []byte(strings.Replace(string(before), "tags: [", fmt.Sprintf(`tags: ["t%d", `, written), 1)), 0o600))
				case "delete file":
					for _, found := range token.FindAllString(string(before), -1) {
						dropped[found] = true // by whoever wrote it, perhaps before any sync
					}
					must(t, os.Remove(name))
				}
			default:
				ref := live()
				if ref == "" {
					continue
				}
				var err error
				switch act {
				case "supersede":
					_, err = m.Remember(ctx, c, memory.RememberRequest{Content: text(), Supersedes: ref})
				case "tag":
					tags := []string{fmt.Sprint("db", written)}
					_, err = m.Edit(ctx, c, memory.EditRequest{Memory: ref, Tags: &tags})
				case "forget":
					_, err = m.Forget(ctx, c, memory.ForgetRequest{Memory: ref})
				case "confirm":
					_, err = m.Confirm(ctx, c, memory.ConfirmRequest{Memory: ref, Holds: true})
				}
				must(t, err)
			}
		}
		// Deleted files are written again, so that both folders have everything.
		for _, d := range desks {
			d.o.Deleted = folder.Rewrite
		}
		rounds := 0
		for changed := true; changed; rounds++ {
			changed = desks[0].sync(t).Changed()
			changed = desks[1].sync(t).Changed() || changed
			if rounds > 6 {
				t.Fatalf("they never agree: %+v\n%+v", desks[0].sync(t), desks[1].sync(t))
			}
		}
		all := ""
		bodies := [2][]string{}
		for i, d := range desks {
			files, kept := d.files(t)
			for _, f := range files {
				bodies[i] = append(bodies[i], f)
			}
			for _, k := range kept {
				all += k
			}
			slices.Sort(bodies[i])
		}
		if !slices.Equal(bodies[0], bodies[1]) {
			t.Fatalf("the folders differ:\n%v\n%v", bodies[0], bodies[1])
		}
		list, err := m.List(ctx, c, memory.ListRequest{Status: "all"})
		must(t, err)
		live0 := 0
		for _, x := range list.Memories {
			all += x.Content + "\n"
			if x.Status == memory.Live {
				live0++
			}
		}
		if live0 != len(bodies[0]) {
			t.Fatalf("%d memories are live and %d files are there", live0, len(bodies[0]))
		}
		for n := 1; n <= written; n++ {
			if tok := fmt.Sprintf("T%dT", n); !strings.Contains(all, tok) && !dropped[tok] {
				t.Fatalf("%s is lost", tok)
			}
		}
	})
}

// Two syncs of one folder take turns; the one that waits can be given up.
func TestTurns(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	d := m.desk(m.project(t), t.TempDir())
	d.put(t, "a.md", "The wheel turns left.\n")
	other, err := filelock.Try(d.o.State + ".lock")
	must(t, err)
	d.o.Began = func() { t.Error("it began while another one was under way") }
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := folder.Sync(over, d.m, d.c, d.o); !errors.Is(err, context.Canceled) {
		t.Errorf("one that is given up: %v", err)
	}
	must(t, other.Release())
	began := 0
	d.o.Began = func() { began++ }
	if r := d.sync(t); began != 1 || len(r.Remembered) != 1 {
		t.Errorf("began %d times, %+v", began, r)
	}
	if r := d.sync(t); began != 2 || r.Changed() {
		t.Errorf("the lock is held on, or something changed: %d, %+v", began, r)
	}
}
