package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/hook/wire"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
)

// machine is one with a client of an agent, which calls the hooks of this program in this process.
type machine struct {
	t         *testing.T
	repo      *gittest.Repo
	dir       string // of what the machine keeps
	variables map[string]string
	woken     int
	started   []string // command lines that outlive the one that started them, but for those that wake the database
}

func newMachine(t *testing.T, variables map[string]string) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir(), variables: maps.Clone(variables)}
	m.repo = gittest.New(t).WriteAll(map[string]string{
		"workspace.dsl": "workspace {\n  !identifiers hierarchical\n  model {\n    shop = softwareSystem \"Shop\" {\n      stock = container \"Stock\" \"Counts tea\" \"Go\" {\n" +
			"        properties {\n          path \"stock\"\n        }\n      }\n      till = container \"Till\" \"Takes money\" \"Go\" {\n        properties {\n          path \"till\"\n        }\n      }\n    }\n  }\n}\n",
		"go.mod":         "module example.com/shop\n\ngo 1.24\n",
		"stock/stock.go": "package stock\n\n// CountShelf counts one shelf.\nfunc CountShelf(shelf []string) int { return len(shelf) }\n",
		"stock/names.go": "package stock\n\n// Names of the shelves.\nvar Names = []string{\"green\", \"black\"}\n",
		"till/till.go":   "package till\n\n// Take takes money.\nfunc Take(cents int) bool { return cents > 0 }\n",
	}).Commit("Open the shop")
	return m
}

// atDatabase are the variables of a database of its own.
func ownDatabase(t *testing.T) map[string]string {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	key, err := master.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"STELE_DATABASE_URL": pgtest.NewDatabase(t).App, "STELE_MASTER_KEY": key, "STELE_PROJECT": "shop", "STELE_USER": "ana", "STELE_EMBEDDING_PROVIDER": "none"}
}

// run runs a command line with an input, and gives its output and exit code.
func (m *machine) run(in io.Reader, args ...string) (string, int) {
	m.t.Helper()
	out := &bytes.Buffer{}
	a := &app{
		in: in, out: bufio.NewWriter(out), err: io.Discard, width: defaultWidth, environment: config.Environment{Variables: m.variables},
		dir: m.repo.Dir, stateDir: filepath.Join(m.dir, "state"), cacheDir: filepath.Join(m.dir, "cache"),
		detached: func(args ...string) error {
			if line := strings.Join(args, " "); line != "hook wake" {
				m.started = append(m.started, line)
				return nil
			}
			m.woken++
			return nil
		},
	}
	defer a.close()
	code := a.run(m.t.Context(), args)
	return out.String(), code
}

// must runs a command line that succeeds.
func (m *machine) must(args ...string) string {
	m.t.Helper()
	out, code := m.run(strings.NewReader(""), args...)
	if code != exitDone {
		m.t.Fatalf("stele %s: exit code %d, %s", strings.Join(args, " "), code, out)
	}
	return out
}

// said is what a client reads.
type said struct {
	Specific struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
	Notice string `json:"systemMessage"`
}

// event is one of a conversation, told as Claude Code does; the pipe stays open.
func (m *machine) event(conversation, name string, more map[string]any) said {
	m.t.Helper()
	payload := map[string]any{"session_id": conversation, "cwd": m.repo.Dir, "hook_event_name": name, "transcript_path": m.transcript(conversation)}
	maps.Copy(payload, more)
	text, err := json.Marshal(payload)
	if err != nil {
		m.t.Fatal(err)
	}
	in, write := io.Pipe()
	defer in.Close()
	go func() { _, _ = write.Write(text) }()
	out, code := m.run(in, "hook", "claude-code", name)
	var s said
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != exitDone || s.Specific.Context != "" && s.Specific.Event != name {
		m.t.Fatalf("%s: exit code %d, %q, %v", name, code, out, err)
	}
	return s
}

func (m *machine) transcript(conversation string) string {
	return filepath.Join(m.dir, conversation+".jsonl")
}

// write adds lines to the file of a conversation.
func (m *machine) write(conversation string, lines ...string) {
	m.t.Helper()
	f, err := os.OpenFile(m.transcript(conversation), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		m.t.Fatal(err)
	}
}

// tree is every file of the repository with its text, git's own left out.
func (m *machine) tree() map[string]string {
	m.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(m.repo.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if err == nil && e.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

func edit(file string) map[string]any {
	return map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"file_path": file, "old_string": "a", "new_string": "b"}}
}

// A day: what one conversation learned another is told when it comes to the same place, a third is warned once the code under it was
// rewritten, the morning begins where the evening ended, and nothing is written in the repository.
func TestDay(t *testing.T) {
	t.Parallel()
	m := newMachine(t, ownDatabase(t))
	m.must("project", "create", "shop")
	m.must("drift", "run", "--push", "--branch", "main")
	before := m.tree()

	m.event("c1", "SessionStart", map[string]any{"source": "startup"})
	m.event("c1", "UserPromptSubmit", map[string]any{"prompt": "Count the shelves of the stock faster"})
	m.write("c1", `{"type":"user","uuid":"u1","sessionId":"c1","message":{"content":"Count the shelves of the stock faster"}}`)
	if got := m.event("c1", "PreToolUse", edit(filepath.Join(m.repo.Dir, "stock", "stock.go"))); got.Specific.Context != "" {
		t.Errorf("nothing is known yet: %q", got.Specific.Context)
	}
	m.must("remember", "--kind", "pitfall", "--path", "stock/stock.go", "--title", "Counts", "Counts of `CountShelf` lag behind sales by a minute, so a shelf may be sold twice.")
	m.event("c1", "PostToolUse", edit(filepath.Join(m.repo.Dir, "stock", "stock.go")))
	m.write("c1",
		`{"type":"assistant","uuid":"u2","sessionId":"c1","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test ./stock"}}]}}`,
		`{"type":"user","uuid":"u3","sessionId":"c1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 1","is_error":true}]}}`,
		`{"type":"assistant","uuid":"u4","sessionId":"c1","message":{"content":[{"type":"text","text":"Shelves are counted in parallel now; a test still fails."}]}}`)
	m.event("c1", "Stop", nil)
	m.event("c1", "SubagentStop", map[string]any{"agent_id": "a1", "agent_transcript_path": m.transcript("a1")})
	m.event("c1", "SessionEnd", map[string]any{"reason": "logout"})
	outcome := m.must("list", "--kind", "session_outcome", "--json")
	for _, want := range []string{"Shelves are counted in parallel now", "go test ./stock", "stock/stock.go", "shop.stock", "c1.jsonl"} {
		if !strings.Contains(outcome, want) {
			t.Errorf("%q is not in the outcome: %s", want, outcome)
		}
	}

	morning := m.event("c2", "SessionStart", map[string]any{"source": "startup"}).Specific.Context
	if !strings.Contains(morning, "Where you left off") || !strings.Contains(morning, "Count the shelves of the stock faster (m-") {
		t.Errorf("the morning begins with %q", morning)
	}
	told := morning + m.event("c2", "UserPromptSubmit", map[string]any{"prompt": "Rename the shelves"}).Specific.Context +
		m.event("c2", "PreToolUse", edit(filepath.Join(m.repo.Dir, "stock", "names.go"))).Specific.Context
	if n := strings.Count(told, "lag behind sales"); n != 1 || strings.Contains(told, "VERIFY") {
		t.Errorf("told %d times of the trap: %s", n, told)
	}
	m.write("c2", `{"type":"assistant","uuid":"v1","message":{"content":[{"type":"text","text":"As [[Counts]] says, and `+handleIn(t, told, "lag behind")+` too."}]}}`)
	m.event("c2", "Stop", nil)
	m.event("c2", "SessionEnd", nil)
	if after := m.tree(); !maps.Equal(before, after) {
		t.Errorf("the repository changed: %v", slices.Collect(maps.Keys(after)))
	}

	m.repo.Write("stock/stock.go", "package stock\n\nimport \"sync\"\n\ntype counter struct {\n\tmu sync.Mutex\n\tn  map[string]int\n}\n\nfunc (c *counter) add(name string) {\n\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tc.n[name]++\n}\n").
		Remove("stock/names.go").Commit("Count while selling")
	m.must("drift", "run", "--push", "--branch", "main")
	before = m.tree()
	warned := m.event("c3", "SessionStart", map[string]any{"source": "startup"}).Specific.Context +
		m.event("c3", "PreToolUse", edit(filepath.Join(m.repo.Dir, "stock", "stock.go"))).Specific.Context
	if !strings.Contains(warned, "VERIFY — ") || strings.Count(warned, "lag behind sales") != 1 {
		t.Errorf("the third conversation is told %s", warned)
	}
	m.event("c3", "SessionEnd", nil)
	if after := m.tree(); !maps.Equal(before, after) {
		t.Errorf("the repository changed: %v", slices.Collect(maps.Keys(after)))
	}
	if got := m.must("statusline"); !strings.HasPrefix(got, "stele 1/3 · 1 in doubt") {
		t.Errorf("the line of status: %q", got)
	}
	log := m.must("hook", "log")
	if strings.Contains(log, "missed") || !strings.Contains(log, "cited "+handleIn(t, told, "lag behind")) || !strings.Contains(log, "left m-") {
		t.Errorf("the log: %s", log)
	}
	var listed struct {
		Memories []struct {
			Handle string `json:"handle"`
		} `json:"memories"`
	}
	if err := json.Unmarshal([]byte(outcome), &listed); err != nil || len(listed.Memories) != 1 {
		t.Fatalf("%v, %s", err, outcome)
	}
	turn := m.must("turn", listed.Memories[0].Handle)
	if !strings.Contains(turn, "Count the shelves of the stock faster") || !strings.Contains(turn, "a test still fails") {
		t.Errorf("the turn: %s", turn)
	}
	if err := os.Remove(m.transcript("c1")); err != nil {
		t.Fatal(err)
	}
	if out, code := m.run(strings.NewReader(""), "turn", listed.Memories[0].Handle, "--json"); code != exitNo || strings.Contains(out, "asked") {
		t.Errorf("a turn that is gone: %d %s", code, out)
	}
}

// handleIn is the handle at the end of the line that holds a text.
func handleIn(t *testing.T, text, of string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if strings.Contains(l, of) {
			return strings.TrimSpace(l[strings.LastIndex(l, "m-"):])
		}
	}
	t.Fatalf("%q is not in %s", of, text)
	return ""
}

// Whatever is wrong, a client goes on: the answer is no answer, and the log says why.
func TestHooksFailOpen(t *testing.T) {
	t.Parallel()
	prompt := func(text string) string {
		return `{"session_id":"c","prompt":` + text + `}`
	}
	away := map[string]string{"STELE_SERVER": "http://127.0.0.1:1", "STELE_TOKEN": "stele_x"}
	for name, tc := range map[string]struct {
		args      []string
		in        string
		variables map[string]string
		reason    string // "" for nothing in the log
	}{
		"nothing":        {[]string{"claude-code", "SessionStart"}, "", away, "payload"},
		"broken":         {[]string{"claude-code", "Stop"}, `{"session_id":"c",`, away, "payload"},
		"no session":     {[]string{"claude-code", "Stop"}, `{}`, away, "payload"},
		"another client": {[]string{"editor", "Stop"}, `{"session_id":"c"}`, away, "event"},
		"another event":  {[]string{"claude-code", "PreCompact"}, `{"session_id":"c"}`, away, "event"},
		"one argument":   {[]string{"claude-code"}, `{"session_id":"c"}`, away, "arguments"},
		"other flags":    {[]string{"claude-code", "Stop", "--frob", "--token"}, `{"session_id":"c"}`, away, ""},
		"off":            {[]string{"claude-code", "Stop"}, `{"session_id":"c"}`, map[string]string{"STELE_HOOKS": "off"}, ""},
		"settings":       {[]string{"claude-code", "Stop"}, `{"session_id":"c"}`, map[string]string{"STELE_HOOKS": "perhaps"}, "settings"},
		"server away":    {[]string{"claude-code", "UserPromptSubmit"}, prompt("null"), away, "unavailable"},
		"no token":       {[]string{"claude-code", "UserPromptSubmit"}, prompt(`"x"`), map[string]string{"STELE_SERVER": "http://127.0.0.1:1"}, "unauthenticated"},
		"long prompt":    {[]string{"claude-code", "UserPromptSubmit"}, prompt(`"` + strings.Repeat("x", 5<<20) + `"`), away, "unavailable"},
		"database away":  {[]string{"codex", "UserPromptSubmit"}, prompt(`""`), map[string]string{"STELE_DATABASE_URL": nowhere}, "unavailable"},
		"asleep":         {[]string{"claude-code", "SessionStart"}, `{"session_id":"c","source":"compact"}`, map[string]string{"STELE_DATA_DIR": t.TempDir()}, "asleep"},
		"a read":         {[]string{"claude-code", "PreToolUse"}, `{"session_id":"c","tool_name":"Read","tool_input":{"file_path":"/x"}}`, away, ""},
		"an edit":        {[]string{"claude-code", "PostToolUse"}, `{"session_id":"c","tool_name":"Edit","tool_input":{"file_path":"/x"}}`, away, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tc.variables)
			out, code := m.run(strings.NewReader(tc.in), append([]string{"hook"}, tc.args...)...)
			if code != exitDone || strings.TrimSpace(out) != "{}" {
				t.Errorf("exit code %d, %.200q", code, out)
			}
			entries, err := local.Folder(filepath.Join(m.dir, "state", "hooks")).Entries(time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if tc.reason == "" != (len(entries) == 0) || len(entries) == 1 && (entries[0].Outcome != local.Untold || entries[0].Reason != tc.reason) {
				t.Errorf("the log: %+v", entries)
			}
			if tc.reason == "asleep" && m.woken != 1 {
				t.Errorf("the database was woken %d times", m.woken)
			}
		})
	}
}

// A start that nobody could be told of is made up for by the next event, and what was edited is told then; observing injects nothing.
func TestMissedStart(t *testing.T) {
	t.Parallel()
	variables := ownDatabase(t)
	m := newMachine(t, variables)
	m.must("project", "create", "shop")
	m.must("model", "import", filepath.Join(m.repo.Dir, "workspace.dsl"))
	m.must("remember", "--kind", "pitfall", "--element", "shop.stock", "Counts lag behind sales by a minute.")
	database := m.variables["STELE_DATABASE_URL"]
	m.variables["STELE_DATABASE_URL"] = nowhere
	if got := m.event("c1", "SessionStart", map[string]any{"source": "compact"}); got.Specific.Context != "" {
		t.Errorf("%+v", got)
	}
	m.event("c1", "PostToolUse", edit(filepath.Join(m.repo.Dir, "stock", "stock.go")))
	m.variables["STELE_DATABASE_URL"] = database
	if got := m.event("c1", "UserPromptSubmit", map[string]any{"prompt": "hello"}).Specific.Context; !strings.HasPrefix(got, "Work session ") || !strings.Contains(got, "Counts lag") {
		t.Errorf("%q", got)
	}
	if got := m.must("session", "list", "--json"); !strings.Contains(got, "shop.stock") {
		t.Errorf("what was edited is not told: %s", got)
	}
	m.variables["STELE_HOOK_OBSERVE"] = "on"
	if got := m.event("c2", "SessionStart", nil); got.Specific.Context != "" {
		t.Errorf("observing, %q", got.Specific.Context)
	}
	if log := m.must("hook", "log"); !strings.Contains(log, "observed, ") || !strings.Contains(log, "missed: unavailable") {
		t.Errorf("the log: %s", log)
	}
}

// The plugin calls what the program has, and is of its version.
func TestPlugin(t *testing.T) {
	t.Parallel()
	top := filepath.Join("..", "..")
	read := func(name string, into any) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var hooks struct {
		Hooks map[string][]struct {
			Matcher string `json:"matcher"`
			Hooks   []struct {
				Type    string `json:"type"`
				Command string `json:"command"`
				Timeout int    `json:"timeout"`
			} `json:"hooks"`
		} `json:"hooks"`
	}
	read("plugin/hooks/hooks.json", &hooks)
	if got, want := slices.Sorted(maps.Keys(hooks.Hooks)), slices.Sorted(slices.Values(wire.Names)); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	for name, groups := range hooks.Hooks {
		if len(groups) != 1 || len(groups[0].Hooks) != 1 {
			t.Fatalf("%s: %+v", name, groups)
		}
		h := groups[0].Hooks[0]
		if h.Type != "command" || h.Command != `"${CLAUDE_PLUGIN_ROOT}/hooks/stele" claude-code `+name || time.Duration(h.Timeout)*time.Second <= hookLimit {
			t.Errorf("%s: %+v", name, h)
		}
		if edits := strings.HasSuffix(name, "ToolUse"); edits != (groups[0].Matcher == "Edit|Write|MultiEdit|NotebookEdit") {
			t.Errorf("%s is for %q", name, groups[0].Matcher)
		}
	}
	var market struct {
		Plugins []struct{ Name, Source, Version string }
	}
	var plugin struct{ Name, Version string }
	var servers struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	read(".claude-plugin/marketplace.json", &market)
	read("plugin/.claude-plugin/plugin.json", &plugin)
	read("plugin/.mcp.json", &servers)
	if s := servers.Servers["stele"]; s.Command != "stele" || !slices.Equal(s.Args, []string{"mcp"}) {
		t.Errorf("%+v", servers)
	}
	changes, err := os.ReadFile(filepath.Join(top, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	// The version is that of the newest release, "0.0.0" before the first.
	version := "0.0.0"
	for l := range strings.Lines(string(changes)) {
		if of, ok := strings.CutPrefix(l, "## ["); ok && !strings.HasPrefix(of, "Unreleased") {
			version, _, _ = strings.Cut(of, "]")
			break
		}
	}
	if len(market.Plugins) != 1 || market.Plugins[0].Source != "./plugin" || market.Plugins[0].Name != plugin.Name || market.Plugins[0].Version != version || plugin.Version != version {
		t.Errorf("%+v %+v, want version %s", market, plugin, version)
	}
}
