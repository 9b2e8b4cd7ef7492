package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/internal/filelock"
)

// flat is a text without its line ends, which depend on how long names are.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// syncs takes what hooks started, and runs it.
func (m *machine) syncs(want int) {
	m.t.Helper()
	if len(m.started) != want || slices.ContainsFunc(m.started, func(l string) bool { return !strings.HasPrefix(l, "hook sync ") }) {
		m.t.Fatalf("hooks started %q, want %d syncs", m.started, want)
	}
	for _, line := range m.started {
		m.run(strings.NewReader(""), strings.Fields(line)...)
	}
	m.started = nil
}

// lastSync is the newest entry of the log that tells of a folder.
func (m *machine) lastSync() (last local.Entry, n int) {
	m.t.Helper()
	entries, err := local.Folder(filepath.Join(m.dir, "state", "hooks")).Entries(time.Time{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Event == local.Sync {
			last = e
			n++
		}
	}
	return last, n
}

// A folder that is kept is synced whenever a conversation starts or ends, by a process of its own, and by nothing before somebody asked for
// it or after it was let go of.
func TestKeptFolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t, ownDatabase(t))
	m.variables["STELE_DATA_DIR"] = filepath.Join(m.dir, "data")
	m.must("project", "create", "shop")
	m.must("model", "import", filepath.Join(m.repo.Dir, "workspace.dsl"))
	m.must("remember", "--kind", "pitfall", "--element", "shop.stock", "--title", "Counts", "Counts lag behind sales by a minute.")
	before := m.tree()
	m.event("c0", "SessionStart", nil)
	m.event("c0", "SessionEnd", nil)
	m.syncs(0)
	dir := filepath.Join(m.repo.Dir, "docs", "memories")
	if out, code := m.run(strings.NewReader(""), "sync", "--json"); code != exitFailed || !strings.Contains(out, "no folder is kept") {
		t.Errorf("without a folder: exit code %d, %s", code, out)
	}
	m.must("sync", dir+"-once")
	m.event("c0", "SessionStart", nil)
	m.syncs(0)
	if err := os.RemoveAll(dir + "-once"); err != nil {
		t.Fatal(err)
	}
	if after := m.tree(); !maps.Equal(before, after) {
		t.Errorf("the repository changed: %v", slices.Collect(maps.Keys(after)))
	}

	if got := flat(m.must("sync", dir, "--keep", "--layout", "day")); !strings.Contains(got, "1 written") || !strings.Contains(got, "--keep=false") {
		t.Errorf("keeping says %s", got)
	}
	writeFile(t, filepath.Join(dir, "shelves.md"), "Shelves are numbered from the door.\n")
	m.event("c1", "SessionStart", nil)
	m.syncs(1)
	if e, n := m.lastSync(); n != 1 || e.Outcome != local.Synced || e.Taken != 1 {
		t.Errorf("at the start: %d, %+v", n, e)
	}
	if got := m.must("recall", "from where are shelves numbered?"); !strings.Contains(got, "numbered from the door") {
		t.Errorf("what was in the folder: %s", got)
	}
	m.event("c1", "UserPromptSubmit", map[string]any{"prompt": "Count the shelves faster"})
	m.write("c1", `{"type":"user","uuid":"u1","sessionId":"c1","message":{"content":"Count the shelves faster"}}`,
		`{"type":"assistant","uuid":"u2","sessionId":"c1","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"true"}},{"type":"text","text":"Shelves are counted in parallel now."}]}}`)
	m.event("c1", "Stop", nil)
	m.syncs(0)
	m.event("c1", "SessionEnd", nil)
	m.syncs(1)
	written := false
	for path, text := range m.tree() {
		rel, err := filepath.Rel(dir, path)
		written = written || err == nil && strings.Contains(text, "Shelves are counted in parallel now.") && len(strings.Split(rel, string(filepath.Separator))[0]) == len(time.DateOnly)
	}
	if e, n := m.lastSync(); !written || n != 2 || e.Outcome != local.Synced || e.Written != 1 {
		t.Errorf("at the end: %d, %+v", n, e)
	}
	if got := m.must("hook", "log"); !strings.Contains(got, "synced: 1 written, 0 taken") {
		t.Errorf("the log: %s", got)
	}

	// Whoever finds another one waiting leaves it to that.
	states, err := filepath.Glob(filepath.Join(m.dir, "data", "sync", "*.next"))
	if err != nil || len(states) != 1 {
		t.Fatalf("%v, %v", states, err)
	}
	waits, err := filelock.Try(states[0])
	if err != nil {
		t.Fatal(err)
	}
	m.event("c2", "SessionStart", nil)
	m.syncs(1)
	if err := waits.Release(); err != nil {
		t.Fatal(err)
	}
	if _, n := m.lastSync(); n != 2 {
		t.Errorf("one that found another one waiting told of itself")
	}

	// A folder that is away is not made.
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	m.event("c2", "SessionEnd", nil)
	m.syncs(1)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
	if e, _ := m.lastSync(); e.Outcome != local.Untold || e.Reason != "not_found" {
		t.Errorf("a folder that is away: %+v", e)
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	if got := flat(m.must("sync")); !strings.Contains(got, "as before") {
		t.Errorf("the kept folder: %s", got)
	}
	if got := flat(m.must("sync", "--keep=false")); !strings.Contains(got, "is kept no more") {
		t.Errorf("letting go: %s", got)
	}
	m.event("c3", "SessionStart", nil)
	m.syncs(0)
	if got := flat(m.must("sync", "--keep=false")); !strings.Contains(got, "No folder was kept") {
		t.Errorf("letting go again: %s", got)
	}
}
