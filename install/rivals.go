package install

import (
	"fmt"
	"slices"
	"strings"
)

// Rival is another memory that a client would hear beside Stele's: both inject, and both cost context.
type Rival struct {
	Name string `json:"name"`
	File string `json:"file"`
	Off  string `json:"off"` // the command that switches it off, or what to remove
}

// rivalNames are parts of the names under which memories for agents are known.
var rivalNames = []string{
	"claude-mem", "memsearch", "mem0", "openmemory", "basic-memory", "supermemory", "server-memory", "memory-bank", "letta", "graphiti", "cipher", "byterover",
}

// isRival recognizes a name, or a command, of another memory.
func isRival(text string) (string, bool) {
	text = strings.ToLower(text)
	for _, name := range rivalNames {
		if strings.Contains(text, name) {
			return name, true
		}
	}
	return "", text == "memory"
}

// removers are the clients' own commands that remove an MCP server.
var removers = map[string]string{"claude-code": "claude mcp remove %s", "codex": "codex mcp remove %s", "gemini": "gemini mcp remove %s"}

// rivals looks for other memories in the files of a client. What cannot be read has none.
func rivals(c Client, env Environment) []Rival {
	var out []Rival
	add := func(r Rival) {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, scope := range []Scope{User, Project} {
		if c.MCP != nil {
			path := c.MCP.at(env, scope)
			for name, entry := range serversIn(c.MCP, path) {
				words := strings.Join(append([]string{name, entry.Command, entry.URL}, entry.Args...), " ")
				_, byName := isRival(name)
				if _, byCommand := isRival(words); (byName || byCommand) && !entry.ours() {
					off := fmt.Sprintf("remove %s.%s from %s", strings.Join(c.MCP.Path, "."), name, path)
					if command, ok := removers[c.ID]; ok {
						off = fmt.Sprintf(command, name)
					}
					add(Rival{Name: name, File: path, Off: off})
				}
			}
		}
		if c.Hooks != nil {
			for _, r := range rivalsInSettings(c.Hooks.at(env, scope)) {
				add(r)
			}
		}
	}
	slices.SortFunc(out, func(a, b Rival) int { return strings.Compare(a.File+"\x00"+a.Name, b.File+"\x00"+b.Name) })
	return out
}

// serversIn reads the entries of a file.
func serversIn(m *MCP, path string) map[string]Launch {
	out := map[string]Launch{}
	s, err := open(path)
	if path == "" || err != nil || !s.exists {
		return out
	}
	var entries map[string]any
	if m.TOML {
		d, err := parseTOML(s.text)
		if err != nil {
			return out
		}
		value, _ := d.lookup(m.Path...)
		entries, _ = value.(map[string]any)
	} else {
		d, err := parseJSON(s.text)
		if err != nil {
			return out
		}
		if v, ok := d.find(m.servers(d)...); !ok || decode(v, &entries) != nil {
			return out
		}
	}
	for name, entry := range entries {
		if fields, ok := entry.(map[string]any); ok {
			out[name] = readLaunch(fields)
		}
	}
	return out
}

// rivalsInSettings looks at the plugins that are switched on, and at hooks.
func rivalsInSettings(path string) []Rival {
	s, err := open(path)
	if path == "" || err != nil || !s.exists {
		return nil
	}
	d, err := parseJSON(s.text)
	if err != nil {
		return nil
	}
	var out []Rival
	var plugins map[string]any
	if v, ok := d.find("enabledPlugins"); ok && decode(v, &plugins) == nil {
		for name, on := range plugins {
			if _, rival := isRival(name); rival && on == true {
				out = append(out, Rival{Name: name, File: path, Off: "claude plugin disable " + name})
			}
		}
	}
	for event, hooks := range hooksIn(d) {
		for _, command := range hooks {
			if _, ours := parseHook(command); ours {
				continue
			}
			if name, rival := isRival(command); rival && name != "" {
				out = append(out, Rival{Name: name, File: path, Off: fmt.Sprintf("remove the hook at %s that runs %s from %s", event, name, path)})
			}
		}
	}
	return out
}

// hooksIn reads the commands at each event. What has another shape is no hook.
func hooksIn(d *jsonDocument) map[string][]string {
	out := map[string][]string{}
	events, ok := d.find("hooks")
	if !ok {
		return out
	}
	for _, event := range d.items(events) {
		for _, group := range d.items(event.value) {
			hooks, ok := d.inside(group.value, "hooks")
			if !ok {
				continue
			}
			for _, h := range d.items(hooks) {
				var fields struct{ Command string }
				if decode(h.value, &fields) == nil && fields.Command != "" {
					out[event.name] = append(out[event.name], fields.Command)
				}
			}
		}
	}
	return out
}
