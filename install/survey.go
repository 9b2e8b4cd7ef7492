package install

import (
	"maps"
	"os"
	"slices"
	"time"
)

// State is how one client stands with Stele.
type State struct {
	Client   Client
	Detected bool
	At       []Installed
}

// Installed is Stele in the configuration of a client for one scope.
type Installed struct {
	Scope   Scope
	Files   []string
	Launch  *Launch  // the MCP server as the file says; nil where there is none
	Hooks   []string // events, sorted
	Command string   // of the hook of the first event, as the file says
	Program string   // that the hooks, else the server, start
	Observe bool
	Version string    // of the program that installed it; "" where that is not known
	At      time.Time // when it was installed, or last changed; zero where that is not known
}

// Missing tells whether the program that is started is not there. A bare name is looked for on the path.
func (i *Installed) Missing(search func(string) bool) bool {
	switch i.Program {
	case "":
		return false
	case Name:
		return search != nil && !search(Name)
	}
	_, err := os.Stat(i.Program)
	return err != nil
}

// Survey looks at every client. What cannot be read counts as not installed.
func Survey(env Environment) []State {
	var out []State
	for _, c := range Clients() {
		s := State{Client: c, Detected: c.detected(env)}
		for _, scope := range []Scope{User, Project} {
			if i, ok := Look(c, env, scope); ok {
				s.At = append(s.At, i)
			}
		}
		out = append(out, s)
	}
	return out
}

func (c Client) detected(env Environment) bool {
	if c.Program != "" && env.Search != nil && env.Search(c.Program) {
		return true
	}
	if env.Home == "" {
		return false
	}
	folder := c.Folder(env)
	if folder == "" {
		return false
	}
	info, err := os.Stat(folder)
	return err == nil && info.IsDir()
}

// Look reads what is installed of Stele in a client, as its files say.
func Look(c Client, env Environment, scope Scope) (Installed, bool) {
	i := Installed{Scope: scope}
	found := func(path string) {
		if !slices.Contains(i.Files, path) {
			i.Files = append(i.Files, path)
		}
	}
	if c.MCP != nil {
		path := c.MCP.at(env, scope)
		if l, ok := serversIn(c.MCP, path)[Name]; ok && l.ours() {
			i.Launch, i.Program = &l, l.Command
			found(path)
		}
	}
	if c.Hooks != nil {
		path := c.Hooks.at(env, scope)
		if s, err := open(path); path != "" && err == nil && s.exists {
			if d, err := parseJSON(s.text); err == nil {
				i.readHooks(c, hooksIn(d))
			}
		}
		if len(i.Hooks) > 0 {
			found(path)
		}
	}
	if path := c.Text.at(env, scope); path != "" {
		if s, err := open(path); err == nil {
			if _, _, ok := ourPart(s.text); ok {
				found(path)
			}
		}
	}
	folder := ""
	if scope == Project {
		folder = env.Project
	}
	if r, err := readRecord(env.State, c.ID, scope, folder); err == nil {
		i.Version, i.At = r.Version, r.At
	}
	return i, len(i.Files) > 0
}

func (i *Installed) readHooks(c Client, events map[string][]string) {
	commands := map[string]string{}
	for event, list := range events {
		for _, command := range list {
			if h, ours := parseHook(command); ours {
				commands[event], i.Program = command, h.Program
				i.Observe = i.Observe || h.Observe
			}
		}
	}
	i.Hooks = slices.Sorted(maps.Keys(commands))
	for _, ev := range c.Hooks.Events {
		if command, ok := commands[ev.Name]; ok && i.Command == "" {
			i.Command = command
		}
	}
}
