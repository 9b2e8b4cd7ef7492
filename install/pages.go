package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:generate go test . -run ^TestPages$ -update

// factsChecked is when the facts of the table of clients were last compared with what the clients' makers say.
const factsChecked = "30 November 2026"

// exampleBinary and exampleEndpoint stand for what differs from machine to machine.
const (
	exampleBinary   = "/usr/local/bin/stele"
	exampleServer   = "https://stele.example.org"
	exampleEndpoint = exampleServer + "/mcp/p/PROJECT-ID"
)

// hookDoes says what happens at an event, for people.
var hookDoes = map[string]string{
	"SessionStart":     "opens or resumes the work session; the briefing comes into the context",
	"UserPromptSubmit": "at most three memories that fit the question, each once in a session",
	"PreToolUse":       "what is known of the file that is about to be edited, and who else works there",
	"PostToolUse":      "notes which file was touched",
	"Stop":             "a checkpoint: which memories were relied on, what was done",
	"SubagentStop":     "the same for a subagent",
	"SessionEnd":       "keeps the outcome of the session",
}

// Pages are the pages of the documentation about clients, by file name, made from the table of clients.
func Pages() map[string]string {
	out := map[string]string{"README.md": index()}
	for _, c := range Clients() {
		out[c.ID+".md"] = c.page()
	}
	return out
}

func index() string {
	var b strings.Builder
	b.WriteString("# Clients\n\n" + generated + `
` + "`stele install`" + ` says which clients are on this machine and how they stand. ` + "`stele install CLIENT`" + ` shows as a diff what it would change, asks, and changes
it: files are edited in place, comments and order stay. ` + "`stele uninstall CLIENT`" + ` takes out what was written and nothing else; a file that nobody edited
since becomes what it was, byte for byte. In the end the program that the client will start is started, greeted and asked to recall, and a hook is run.

| client | MCP | hooks | for one repository |
|---|---|---|---|
`)
	for _, c := range Clients() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s |\n", c.Name, c.ID, yes(c.MCP != nil), yes(c.Hooks != nil), yes(!c.onlyUser()))
	}
	b.WriteString(`
## What holds for all

- **No token is written**, anywhere. The program finds it in ` + "`STELE_TOKEN`" + `, in its configuration file, or beside the master key for a server on this machine.
- **Files of a repository** (` + "`--project-level`" + `) name the program by its bare name and nothing else: no path, no address, no token.
- **With a server**, the entry starts ` + "`stele mcp`" + `, which knows the working folder and so the project. Where one project is named (` + "`--project`" + ` or
  ` + "`STELE_PROJECT`" + `), ` + "`STELE_TOKEN`" + ` is set and the client can put it into a header itself, the entry is the address of that project.
- **A file that cannot be read** is left alone: line and column are named, with what to add by hand. So is a file that changed between the preview and the
  change, one that is read-only, and an entry named stele that Stele did not write. Symbolic links are followed and stay.
- **In a script**, say ` + "`--yes`" + `: without a terminal nothing is changed unasked.
- **Other memories** that would speak to the agent too are named, with what switches them off.
- ` + "`--observe`" + ` lets hooks note what they would say and say nothing, for a week of trial. ` + "`--no-mcp`" + ` writes hooks only, so that no tool takes up context.
  ` + "`--guard ask`" + ` asks before an edit where another session works alone. All three are for clients with hooks.
- What undoes an installation is kept in ` + "`~/.local/state/stele/clients`" + ` (or where ` + "`XDG_STATE_HOME`" + ` says): the changes, not the files.
- [` + "`stele doctor`" + `](../doctor.md) tells when a client starts a program that is not there any more.
`)
	return b.String()
}

const generated = "<!-- Made from the table of clients in the package install: go generate ./install -->\n"

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "–"
}

// code is a name of a file as Markdown: those that are sentences stay.
func code(name string) string {
	if strings.Contains(name, "`") || name == "" {
		return name
	}
	return "`" + name + "`"
}

func (c Client) page() string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	level := ""
	if c.onlyProject() {
		level = " --project-level"
	}
	w("# %s\n\n%s", c.Name, generated)
	w("```\nstele install %s%s\n```\n", c.ID, level)
	w("Afterwards: %s.\n", c.Then)
	w("## What is written\n\n| what | for you | for a repository |\n|---|---|---|")
	row := func(what string, f *File) {
		user, project := "–", "–"
		if f.User != nil {
			user = code(f.Shown)
		}
		if f.Project != "" {
			project = code(f.Project)
		}
		w("| %s | %s | %s |", what, user, project)
	}
	if c.MCP != nil {
		row("the MCP server", &c.MCP.File)
	}
	if c.Hooks != nil {
		row("hooks", &c.Hooks.File)
	}
	if c.Line != nil {
		row("a line of status, where none is set", c.Line)
	}
	if c.Text != nil {
		row("a text between two comments", c.Text)
	}
	w("")
	if c.MCP != nil {
		c.MCP.snippets(w)
	}
	if c.Hooks != nil {
		c.hookPart(w)
	}
	if c.Text != nil {
		w("```markdown\n%s\n%s%s\n```\n", textBegins, Instructions, textEnds)
	}
	w("## To undo\n\n```\nstele uninstall %s%s\n```\n", c.ID, level)
	w("## Good to know\n")
	for _, caveat := range c.Caveats {
		w("- %s", caveat)
	}
	w("\nThe facts on this page were read on %s from: %s.", factsChecked, strings.Join(c.Sources, "; "))
	return b.String()
}

// snippets shows the entries.
func (m *MCP) snippets(w func(string, ...any)) {
	show := func(title string, entry object) {
		w("%s\n", title)
		if m.TOML {
			lines, _ := tomlEntry(append(slices.Clone(m.Path), Name), entry)
			w("```toml\n%s```\n", lines)
			return
		}
		value := object{{Name, entry}}
		for _, name := range slices.Backward(m.Path) {
			value = object{{name, value}}
		}
		w("```json\n%s\n```\n", pretty(value))
	}
	show("For you:", m.entry(Options{Scope: User, Binary: exampleBinary}.launch(m)))
	show("For you, with a server that only this command names:", m.entry(Options{Scope: User, Binary: exampleBinary, Server: exampleServer}.launch(m)))
	if m.Remote != nil {
		show("For you, with a server, one project and `STELE_TOKEN`:", m.entry(Options{Scope: User, Binary: exampleBinary, Endpoint: exampleEndpoint}.launch(m)))
	}
	if m.Project != "" {
		show("For a repository:", m.entry(Options{Scope: Project}.launch(m)))
	}
}

func pretty(o object) string {
	text, err := o.MarshalJSON()
	var b bytes.Buffer
	if err == nil {
		err = json.Indent(&b, text, "", "  ")
	}
	if err != nil {
		return ""
	}
	return joinLists(b.String())
}

// hookPart tells of the hooks, and shows one.
func (c Client) hookPart(w func(string, ...any)) {
	w("## Hooks\n\n| event | tools | given up after | what happens |\n|---|---|---|---|")
	for _, ev := range c.Hooks.Events {
		matcher := "–"
		if ev.Matcher != "" {
			matcher = "`" + strings.ReplaceAll(ev.Matcher, "|", `\|`) + "`"
		}
		w("| %s | %s | %d s | %s |", ev.Name, matcher, ev.Timeout, hookDoes[ev.Name])
	}
	ev := c.Hooks.Events[2]
	one := group(ev.Matcher, handler(Options{Scope: User, Binary: exampleBinary}.hookCommand("linux", c.ID, ev.Name), ev.Timeout))
	w("\nOne of them, as it stands in the file:\n\n```json\n%s\n```\n", pretty(object{{"hooks", object{{ev.Name, []any{one}}}}}))
}
