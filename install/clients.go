package install

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// Name is what Stele's entry is called in every client.
const Name = "stele"

// Client is a client of coding agents, and where it keeps what Stele edits.
type Client struct {
	ID   string // as on the command line
	Name string // as people call it

	// Folder is the one whose presence tells that somebody uses it; Program is its name on the path, "" where it has none.
	Folder  func(Environment) string
	Program string

	MCP   *MCP   // nil: none
	Hooks *Hooks // nil: none that Stele uses
	Line  *File  // settings that take a line of status
	Text  *File  // instructions, for clients that nothing else is known of

	Then    string   // what the person has to do afterwards
	Caveats []string // what else they should know
	Sources []string // what the facts were read from
}

// File is where something is kept.
type File struct {
	// User gives the candidates, the first of which is made where none is there. nil: there is none for the person.
	User func(Environment) []string
	// Shown is User as people write it.
	Shown string
	// Project is relative to the top of the repository; "" where there is none.
	Project string
}

// at gives the path for a scope, "" where there is none.
func (f *File) at(env Environment, scope Scope) string {
	if f == nil {
		return ""
	}
	if scope == Project {
		if f.Project == "" || env.Project == "" {
			return ""
		}
		return filepath.Join(env.Project, filepath.FromSlash(f.Project))
	}
	if f.User == nil || env.Home == "" {
		return ""
	}
	candidates := f.User(env)
	for _, path := range candidates {
		if s, err := open(path); err == nil && s.exists {
			return path
		}
	}
	return candidates[0]
}

// MCP is how a client is told of an MCP server.
type MCP struct {
	File
	TOML bool
	// Path leads to the table of servers. Newer leads there in a newer form of the same file, where that form is used.
	Path, Newer []string
	// Local is the entry of a program; Remote that of an address with a token from the environment, nil where it is not known to work.
	Local  func(Launch) object
	Remote func(endpoint string) object
}

// Launch is a program as a client starts it.
type Launch struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"` // instead of a program
}

// Hooks are the events at which a client calls a program.
type Hooks struct {
	File
	Events []HookEvent
}

// HookEvent is one of them.
type HookEvent struct {
	Name    string
	Matcher string // of tools; "" where the event has none
	Timeout int    // seconds, after which the client goes on without an answer
}

// TokenVariable is the variable that clients read a token from.
const TokenVariable = "STELE_TOKEN"

// instructionsPath is the file of instructions that most clients read.
const instructionsPath = "AGENTS.md"

// The client's own limits, above which a hook is ended. Stele bounds itself far below; these are for a machine that is overloaded.
const (
	hookSeconds     = 5
	longHookSeconds = 10
)

func home(parts ...string) func(Environment) []string {
	return func(env Environment) []string {
		return []string{filepath.Join(append([]string{env.Home}, parts...)...)}
	}
}

// under is a file in a folder that a variable names, else in one of the home folder.
func under(variable, folder string, parts ...string) func(Environment) []string {
	return func(env Environment) []string {
		base := env.Variables[variable]
		if !filepath.IsAbs(base) {
			base = filepath.Join(env.Home, folder)
		}
		return []string{filepath.Join(append([]string{base}, parts...)...)}
	}
}

func first(f func(Environment) []string) func(Environment) string {
	return func(env Environment) string { return f(env)[0] }
}

// claudeServers is where Claude Code keeps the servers of a person: beside its folder, unless a variable moved that.
func claudeServers(env Environment) []string {
	if dir := env.Variables["CLAUDE_CONFIG_DIR"]; filepath.IsAbs(dir) {
		return []string{filepath.Join(dir, ".claude.json")}
	}
	return []string{filepath.Join(env.Home, ".claude.json")}
}

// codeUser is the folder of VS Code's settings of a person.
func codeUser(env Environment) []string {
	base := filepath.Join(env.Home, ".config")
	switch env.OS {
	case "darwin":
		base = filepath.Join(env.Home, "Library", "Application Support")
	case "windows":
		if base = env.Variables["APPDATA"]; base == "" {
			base = filepath.Join(env.Home, "AppData", "Roaming")
		}
	default:
		if dir := env.Variables["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
			base = dir
		}
	}
	return []string{filepath.Join(base, "Code", "User", "mcp.json")}
}

// openCodeUser are the names of OpenCode's settings: both are read.
func openCodeUser(env Environment) []string {
	f := under("XDG_CONFIG_HOME", ".config", "opencode")(env)[0]
	return []string{filepath.Join(f, "opencode.json"), filepath.Join(f, "opencode.jsonc")}
}

// plain is the entry of most clients, typed that of those that want to be told the kind.
func plain(l Launch) object {
	o := object{{"command", l.Command}, {"args", l.Args}}
	if len(l.Env) > 0 {
		o = append(o, member{"env", l.Env})
	}
	return o
}

func typed(l Launch) object { return append(object{{"type", "stdio"}}, plain(l)...) }

func openCodeEntry(l Launch) object {
	o := object{{"type", "local"}, {"command", append([]string{l.Command}, l.Args...)}}
	if len(l.Env) > 0 {
		o = append(o, member{"environment", l.Env})
	}
	return o
}

// bearer is an entry with an address under a name and a header that takes the token from the environment, as the client spells that.
func bearer(name, variable string, before ...member) func(string) object {
	return func(endpoint string) object {
		return append(slices.Clone(object(before)), member{name, endpoint}, member{"headers", object{{"Authorization", "Bearer " + variable}}})
	}
}

// Clients lists all, in the order of the documentation.
func Clients() []Client {
	edits := "Edit|Write|MultiEdit|NotebookEdit"
	return []Client{
		{
			ID: "claude-code", Name: "Claude Code", Program: "claude", Folder: first(under("CLAUDE_CONFIG_DIR", ".claude")),
			MCP: &MCP{File: File{User: claudeServers, Shown: "~/.claude.json", Project: ".mcp.json"}, Path: []string{"mcpServers"}, Local: typed},
			Hooks: &Hooks{
				File: File{User: under("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), Shown: "~/.claude/settings.json", Project: ".claude/settings.json"},
				Events: []HookEvent{
					{"SessionStart", "", longHookSeconds}, {"UserPromptSubmit", "", hookSeconds}, {"PreToolUse", edits, hookSeconds}, {"PostToolUse", edits, hookSeconds},
					{"Stop", "", longHookSeconds}, {"SubagentStop", "", longHookSeconds}, {"SessionEnd", "", longHookSeconds},
				},
			},
			Line: &File{User: under("CLAUDE_CONFIG_DIR", ".claude", "settings.json"), Shown: "~/.claude/settings.json"},
			Then: "start Claude Code anew; /hooks and /mcp show what it took",
			Caveats: []string{
				"`CLAUDE_CONFIG_DIR` moves both files; it is followed.",
				"A line of status is written for the person only, and only where none is set.",
				"Claude Code writes `~/.claude.json` itself while it runs. The entry is added between two of its writes; close it first to be sure.",
				"With `--project-level`, hooks go to `.claude/settings.json`, which is shared: whoever has no `stele` on the path sees a failing hook.",
				"Claude Code asks each person before it uses `.mcp.json`.",
				"With a server, the entry starts `stele mcp`, which finds token and project by itself: headers with variables were reported as sent literally.",
			},
			Sources: []string{"hooks and MCP pages of code.claude.com/docs", "anthropics/claude-code issues 6204 and 51581"},
		},
		{
			ID: "codex", Name: "Codex", Program: "codex", Folder: first(under("CODEX_HOME", ".codex")),
			MCP: &MCP{
				File: File{User: under("CODEX_HOME", ".codex", "config.toml"), Shown: "~/.codex/config.toml", Project: ".codex/config.toml"}, TOML: true,
				Path: []string{"mcp_servers"}, Local: plain,
				Remote: func(endpoint string) object {
					return object{{"url", endpoint}, {"bearer_token_env_var", TokenVariable}}
				},
			},
			Hooks: &Hooks{
				File: File{User: under("CODEX_HOME", ".codex", "hooks.json"), Shown: "~/.codex/hooks.json", Project: ".codex/hooks.json"},
				Events: []HookEvent{
					{"SessionStart", "", longHookSeconds}, {"UserPromptSubmit", "", hookSeconds}, {"PreToolUse", "apply_patch|Edit|Write", hookSeconds},
					{"PostToolUse", "apply_patch|Edit|Write", hookSeconds}, {"Stop", "", longHookSeconds}, {"SubagentStop", "", longHookSeconds}, {"SessionEnd", "", longHookSeconds},
				},
			},
			Then: "start Codex anew and trust the hooks: /hooks. Until then it skips them without a word",
			Caveats: []string{
				"`CODEX_HOME` moves both files; it is followed.",
				"Codex runs a hook only after a person trusted its exact text, and asks again when that changes: also after the program moved.",
				"Where `config.toml` has hooks of its own, Codex reads both files and says so when it starts.",
				"Files of a repository are read only in repositories that Codex was told to trust.",
				"With a server and one project, the entry is an address; Codex reads the token from `STELE_TOKEN`.",
			},
			Sources: []string{"developers.openai.com/codex/hooks", "pages of vendors of MCP servers that quote developers.openai.com/codex/mcp"},
		},
		{
			ID: "cursor", Name: "Cursor", Program: "cursor", Folder: first(home(".cursor")),
			MCP: &MCP{
				File: File{User: home(".cursor", "mcp.json"), Shown: "~/.cursor/mcp.json", Project: ".cursor/mcp.json"},
				Path: []string{"mcpServers"}, Local: plain, Remote: bearer("url", "${env:"+TokenVariable+"}"),
			},
			Then:    "start Cursor anew and switch the server on among its MCP servers",
			Caveats: []string{"Cursor has to be started with `STELE_TOKEN` in its environment where the entry is an address: not by a symbol of the desktop that does not know it."},
			Sources: []string{"pages of vendors of MCP servers that quote cursor.com/docs/mcp"},
		},
		{
			ID: "vscode", Name: "VS Code", Program: "code", Folder: func(env Environment) string { return filepath.Dir(codeUser(env)[0]) },
			MCP: &MCP{
				File: File{User: codeUser, Project: ".vscode/mcp.json", Shown: "`mcp.json` in the folder `Code/User` of your settings: under `~/.config`, " +
					"`~/Library/Application Support` or `%APPDATA%`"},
				Path: []string{"servers"}, Local: typed,
			},
			Then: "run the command MCP: List Servers and start stele there; VS Code asks whether to trust it",
			Caveats: []string{
				"Only the default profile is written. Another one has its own `mcp.json`: MCP: Open User Configuration opens it.",
				"In a window on another machine (SSH, container), user settings start the program on this one; use `--project-level` there.",
			},
			Sources: []string{"code.visualstudio.com, MCP configuration reference"},
		},
		{
			ID: "gemini", Name: "Gemini CLI", Program: "gemini", Folder: first(home(".gemini")),
			MCP: &MCP{
				File: File{User: home(".gemini", "settings.json"), Shown: "~/.gemini/settings.json", Project: ".gemini/settings.json"},
				Path: []string{"mcpServers"}, Local: plain, Remote: bearer("httpUrl", "$"+TokenVariable),
			},
			Then:    "start Gemini CLI anew; /mcp shows the server",
			Caveats: []string{"Since June 2026 Gemini CLI serves API keys and licences only; for the others Antigravity CLI follows it, see [antigravity](antigravity.md)."},
			Sources: []string{"geminicli.com/docs, configuration and MCP", "google-gemini/gemini-cli, docs/tools/mcp-server.md"},
		},
		{
			ID: "antigravity", Name: "Antigravity CLI", Program: "agy", Folder: first(home(".gemini", "config")),
			MCP: &MCP{
				File: File{User: home(".gemini", "config", "mcp_config.json"), Shown: "~/.gemini/config/mcp_config.json", Project: ".agents/mcp_config.json"},
				Path: []string{"mcpServers"}, Local: plain,
			},
			Then:    "start it anew; /mcp shows the server",
			Caveats: []string{"The successor of Gemini CLI. Versions before mid 2026 kept the file in `~/.gemini/antigravity-cli`."},
			Sources: []string{"antigravity.google/docs, by pages of vendors of MCP servers that quote it"},
		},
		{
			ID: "opencode", Name: "OpenCode", Program: "opencode", Folder: first(under("XDG_CONFIG_HOME", ".config", "opencode")),
			MCP: &MCP{
				File: File{User: openCodeUser, Shown: "`~/.config/opencode/opencode.json`, or `opencode.jsonc` where that is there", Project: "opencode.json"},
				Path: []string{"mcp"}, Newer: []string{"mcp", "servers"}, Local: openCodeEntry,
				Remote: bearer("url", "{env:"+TokenVariable+"}", member{"type", "remote"}),
			},
			Then: "start OpenCode anew; opencode mcp list shows the server",
			Caveats: []string{
				"OpenCode 2 keeps servers under `mcp.servers` and reads the older form too. The newer one is written where the file uses it already.",
			},
			Sources: []string{"opencode.ai/docs/mcp-servers, /docs/config and /docs/migrate-v1"},
		},
		{
			ID: "windsurf", Name: "Windsurf", Program: "windsurf", Folder: first(home(".codeium", "windsurf")),
			MCP: &MCP{
				File: File{User: home(".codeium", "windsurf", "mcp_config.json"), Shown: "~/.codeium/windsurf/mcp_config.json"},
				Path: []string{"mcpServers"}, Local: plain, Remote: bearer("serverUrl", "${env:"+TokenVariable+"}"),
			},
			Then:    "refresh the MCP servers in Cascade",
			Caveats: []string{"Windsurf has no file of servers for one repository."},
			Sources: []string{"pages of vendors of MCP servers that quote docs.windsurf.com"},
		},
		{
			ID: "agents-md", Name: "AGENTS.md", Folder: func(Environment) string { return "" },
			Text:    &File{Project: instructionsPath, Shown: instructionsPath},
			Then:    "tell the client of the server `stele mcp` in its own way, if it speaks MCP",
			Caveats: []string{"For every other client that reads `AGENTS.md`. The text names commands, so it works without MCP too."},
			Sources: []string{"agents.md"},
		},
	}
}

// Find gives a client by its id.
func Find(id string) (Client, error) {
	var known []string
	for _, c := range Clients() {
		if c.ID == id {
			return c, nil
		}
		known = append(known, c.ID)
	}
	return Client{}, problem.Invalidf("client", "%q is not known", id).Fix("name one of %s", strings.Join(known, ", ")).
		Fix("for any other client: stele install agents-md --project-level")
}

func (c Client) places() []*File {
	var out []*File
	if c.MCP != nil {
		out = append(out, &c.MCP.File)
	}
	if c.Hooks != nil {
		out = append(out, &c.Hooks.File)
	}
	if c.Text != nil {
		out = append(out, c.Text)
	}
	return out
}

func (c Client) onlyUser() bool {
	return !slices.ContainsFunc(c.places(), func(f *File) bool { return f.Project != "" })
}

func (c Client) onlyProject() bool {
	return !slices.ContainsFunc(c.places(), func(f *File) bool { return f.User != nil })
}

// files are those that an installation may have written.
func (c Client) files(env Environment, scope Scope) []string {
	var out []string
	for _, f := range c.places() {
		if path := f.at(env, scope); path != "" && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}
