package install

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/problem"
)

func machine(t *testing.T) Environment {
	t.Helper()
	root := t.TempDir()
	return Environment{OS: "linux", Home: filepath.Join(root, "home"), Project: filepath.Join(root, "repository"), State: filepath.Join(root, "state")}
}

func client(t *testing.T, id string) Client {
	t.Helper()
	c, err := Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var user = Options{Scope: User, Binary: "/opt/my tools/stele", Version: "1"}

// What cannot be edited is left alone, and the message names the place, and what to write by hand.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		client, file, text string
		code               problem.Code
		says               []string
	}{
		"broken JSON":          {"cursor", ".cursor/mcp.json", "{\n  \"a\": 1,\n  oops\n}\n", problem.Invalid, []string{"line 3, column 3", "nothing was changed", `mcpServers.stele = {"command":"/opt/my tools/stele","args":["mcp"]}`}},
		"a list":               {"cursor", ".cursor/mcp.json", "[]", problem.Invalid, []string{"no object"}},
		"servers are a list":   {"cursor", ".cursor/mcp.json", "{\n \"mcpServers\": []}", problem.Invalid, []string{"line 2, column 16", "mcpServers"}},
		"hooks are a text":     {"claude-code", ".claude/settings.json", `{"hooks": "none"}`, problem.Invalid, []string{"line 1, column 11", "hooks ="}},
		"broken TOML":          {"codex", ".codex/config.toml", "a = 1\nb = \n", problem.Invalid, []string{"line 2", `mcp_servers.stele = { command = "/opt/my tools/stele", args = ["mcp"] }`}},
		"inline tables":        {"codex", ".codex/config.toml", "mcp_servers = { other = { command = \"x\" } }\n", problem.Invalid, []string{"written inline", "mcp_servers.stele = {"}},
		"a foreign entry":      {"cursor", ".cursor/mcp.json", `{"mcpServers": {"stele": {"command": "npx", "args": ["stele-thing"]}}}`, problem.Conflict, []string{"did not write"}},
		"a foreign TOML entry": {"codex", ".codex/config.toml", "[mcp_servers.stele]\ncommand = \"npx\"\n", problem.Conflict, []string{"did not write"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := machine(t)
			path := filepath.Join(env.Home, filepath.FromSlash(tc.file))
			put(t, path, tc.text)
			_, err := Prepare(client(t, tc.client), env, user)
			p, ok := problem.As(err)
			if !ok || p.Code != tc.code || p.Field != path {
				t.Fatalf("%v", err)
			}
			for _, words := range tc.says {
				if !strings.Contains(p.Error(), words) {
					t.Errorf("%q is not in: %s", words, p.Error())
				}
			}
			if got := get(t, path); got != tc.text {
				t.Errorf("the file changed: %q", got)
			}
		})
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		client string
		change func(*Environment, *Options)
		says   string
	}{
		"no home":              {"cursor", func(e *Environment, _ *Options) { e.Home = "" }, "HOME"},
		"no repository":        {"cursor", func(e *Environment, o *Options) { e.Project, o.Scope = "", Project }, "no repository"},
		"no file of a project": {"windsurf", func(_ *Environment, o *Options) { o.Scope = Project }, "no settings of a repository"},
		"only of a project":    {"agents-md", func(*Environment, *Options) {}, "--project-level"},
		"no hooks":             {"cursor", func(_ *Environment, o *Options) { o.Observe = true }, "no hooks"},
		"another guard":        {"codex", func(_ *Environment, o *Options) { o.Guard = "deny" }, "guard"},
		"a relative program":   {"codex", func(_ *Environment, o *Options) { o.Binary = "stele" }, "full path"},
	} {
		env, o := machine(t), user
		tc.change(&env, &o)
		if _, err := Prepare(client(t, tc.client), env, o); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Find("emacs"); err == nil || !strings.Contains(err.Error(), "agents-md") {
		t.Errorf("an unknown client: %v", err)
	}
}

// A file that changed between the plan and its application is not written, nor is any other of the plan.
func TestConcurrentEdit(t *testing.T) {
	t.Parallel()
	env := machine(t)
	settings, servers := filepath.Join(env.Home, ".claude", "settings.json"), filepath.Join(env.Home, ".claude.json")
	put(t, settings, "{}\n")
	put(t, servers, "{}\n")
	plan, err := Prepare(client(t, "claude-code"), env, user)
	if err != nil {
		t.Fatal(err)
	}
	put(t, settings, "{\"model\": \"other\"}\n")
	if err := Apply(env, plan, testTime); !problem.Is(err, problem.Stale) {
		t.Fatalf("%v", err)
	}
	if got := get(t, settings) + get(t, servers); got != "{\"model\": \"other\"}\n{}\n" {
		t.Errorf("written all the same: %q", got)
	}
	if _, err := os.Stat(env.State); err == nil {
		t.Error("something was recorded")
	}
}

// When one file of a plan cannot be written, those before it are put back.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	env := machine(t)
	put(t, filepath.Join(env.Home, ".claude.json"), "{}\n")
	plan, err := Prepare(client(t, "claude-code"), env, user)
	if err != nil {
		t.Fatal(err)
	}
	// The folder of the second file cannot be made: a file has its name.
	plan.Edits[1].Target = filepath.Join(env.Home, ".claude.json", "settings.json")
	plan.Edits[1].Path = plan.Edits[1].Target
	if err := Apply(env, plan, testTime); err == nil {
		t.Fatal("written")
	}
	if got := get(t, filepath.Join(env.Home, ".claude.json")); got != "{}\n" {
		t.Errorf("the first file stays changed: %q", got)
	}
	if r, err := readRecord(env.State, "claude-code", User, ""); err != nil || len(r.Files) > 0 {
		t.Errorf("recorded: %+v %v", r, err)
	}
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	env := machine(t)
	path := filepath.Join(env.Home, ".cursor", "mcp.json")
	put(t, path, "{}\n")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	plan, err := Prepare(client(t, "cursor"), env, user)
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(env, plan, testTime); !problem.Is(err, problem.Forbidden) || !strings.Contains(err.Error(), "chmod u+w") {
		t.Fatalf("%v", err)
	}
}

// A file that is a symbolic link stays one; what it leads to is written, with its mode.
func TestSymbolicLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // making one needs a right there
	}
	for name, exists := range map[string]bool{"to a file": true, "to nothing yet": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := machine(t)
			link, target := filepath.Join(env.Home, ".cursor", "mcp.json"), filepath.Join(env.Home, "dotfiles", "cursor.json")
			put(t, filepath.Join(filepath.Dir(target), "other"), "")
			put(t, filepath.Join(filepath.Dir(link), "other"), "")
			if exists {
				put(t, target, "{}\n")
				if err := os.Chmod(target, 0o640); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(filepath.Join("..", "dotfiles", "cursor.json"), link); err != nil {
				t.Fatal(err)
			}
			plan, err := Prepare(client(t, "cursor"), env, user)
			if err != nil {
				t.Fatal(err)
			}
			if err := Apply(env, plan, testTime); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(link)
			if err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Fatalf("the link is gone: %v %v", info, err)
			}
			if exists {
				if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
					t.Errorf("the mode changed: %v %v", info.Mode(), err)
				}
			}
			if _, ok := Look(client(t, "cursor"), env, User); !ok {
				t.Error("not installed")
			}
			removal, err := PrepareRemoval(client(t, "cursor"), env, User)
			if err != nil {
				t.Fatal(err)
			}
			if err := Apply(env, removal, testTime); err != nil {
				t.Fatal(err)
			}
			if exists {
				if got := get(t, target); got != "{}\n" {
					t.Errorf("not what it was: %q", got)
				}
			} else if _, err := os.Stat(target); err == nil {
				t.Error("the file that was made is still there")
			}
		})
	}
}

// Somebody edits what was installed: their part stays, in the containers that were made for Stele's as well.
func TestRemovalKeepsWhatCameLater(t *testing.T) {
	t.Parallel()
	env := machine(t)
	c := client(t, "claude-code")
	plan, err := Prepare(c, env, user)
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(env, plan, testTime); err != nil {
		t.Fatal(err)
	}
	settings, servers := filepath.Join(env.Home, ".claude", "settings.json"), filepath.Join(env.Home, ".claude.json")
	put(t, servers, strings.Replace(get(t, servers), "{\n    \"stele\"", "{\n    \"mine\": {\"command\": \"mine\"}, // new\n    \"stele\"", 1))
	put(t, settings, strings.Replace(get(t, settings), "\"hooks\": [\n          {", "\"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"},\n          {", 1))
	removal, err := PrepareRemoval(c, env, User)
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(env, removal, testTime); err != nil {
		t.Fatal(err)
	}
	if got, want := get(t, servers), "{\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"mine\"} // new\n  }\n}\n"; got != want {
		t.Errorf("servers: %s", got)
	}
	want := "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"}\n        ]\n      }\n    ]\n  }\n}\n"
	if got := get(t, settings); got != want {
		t.Errorf("settings:\n%s\nwant\n%s", got, want)
	}
}

// Removal goes by what is recognized where the record is lost.
func TestRemovalWithoutARecord(t *testing.T) {
	t.Parallel()
	env := machine(t)
	path := filepath.Join(env.Home, ".codex", "config.toml")
	put(t, path, "# mine\na = 1\n\n[mcp_servers.stele]\ncommand = '/old/stele'\nargs = ['mcp']\n\n[mcp_servers.stele.env]\nSTELE_SERVER = 'x'\n\n[b]\nc = 2 # kept\n")
	removal, err := PrepareRemoval(client(t, "codex"), env, User)
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(env, removal, testTime); err != nil {
		t.Fatal(err)
	}
	if got := get(t, path); strings.Contains(got, "stele") || !strings.HasPrefix(got, "# mine\na = 1\n") || !strings.HasSuffix(got, "\n[b]\nc = 2 # kept\n") {
		t.Errorf("%q", got)
	}
}

// Another memory that would speak beside Stele is named, with what switches it off.
func TestRivals(t *testing.T) {
	t.Parallel()
	env := machine(t)
	put(t, filepath.Join(env.Home, ".claude.json"), `{"mcpServers": {"memory": {"command": "npx"}, "notes": {"command": "uvx", "args": ["basic-memory"]}, "tracker": {"command": "tracker"}}}`)
	put(t, filepath.Join(env.Home, ".claude", "settings.json"), `{"enabledPlugins": {"claude-mem@market": true, "memsearch@market": false, "other@market": true},
		"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/opt/memsearch/stop.sh"}]}]}}`)
	plan, err := Prepare(client(t, "claude-code"), env, user)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range plan.Rivals {
		got = append(got, r.Name+": "+strings.ReplaceAll(r.Off, env.Home, "~"))
	}
	want := "memory: claude mcp remove memory\nnotes: claude mcp remove notes\nclaude-mem@market: claude plugin disable claude-mem@market\n" +
		"memsearch: remove the hook at Stop that runs memsearch from ~/.claude/settings.json"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// No plan holds a token, wherever one may come from, and none of a repository says anything of this machine.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range Clients() {
		for _, scope := range []Scope{User, Project} {
			env := machine(t)
			env.Variables = map[string]string{TokenVariable: "stele_secret"}
			o := user
			o.Scope, o.Server, o.Endpoint = scope, "https://stele.example.org", "https://stele.example.org/mcp/p/x"
			plan, err := Prepare(c, env, o)
			if err != nil {
				continue // not for this client
			}
			for _, e := range plan.Edits {
				text := string(e.After)
				if strings.Contains(text, "stele_secret") || scope == Project && (strings.Contains(text, env.Home) || strings.Contains(text, o.Binary) || strings.Contains(text, "example.org")) {
					t.Errorf("%s, %s: %s", c.ID, scope, text)
				}
			}
		}
	}
}
