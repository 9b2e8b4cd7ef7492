package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// object is JSON whose members have an order.
type object []member

type member struct {
	Name  string
	Value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for n, m := range o {
		if n > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(m.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(m.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// compact is the object on one line.
func (o object) compact() string {
	text, err := o.MarshalJSON()
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return ""
	}
	return b.String()
}

func (o object) has(name string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.Name == name })
}

// over is a launch in place of one that is there: what somebody added to the arguments and the environment stays.
func (l Launch) over(is Launch) Launch {
	if l.URL != "" || is.URL != "" {
		return l
	}
	l.Args = is.Args
	if server, ok := l.Env[serverVariable]; len(is.Env) > 0 {
		l.Env = maps.Clone(is.Env)
		delete(l.Env, serverVariable)
		if ok {
			l.Env[serverVariable] = server
		}
	}
	return l
}

// surplus are the names of an entry that go away where they are not wanted: where the kind of the entry changes, all that it is made of.
func (l Launch) surplus(is Launch) []string {
	if (l.URL == "") == (is.URL == "") {
		return []string{"env", "environment"}
	}
	return []string{"type", "command", "args", "env", "environment", "cwd", "url", "httpUrl", "serverUrl", "headers", "bearer_token_env_var"}
}

// serverVariable tells the program of a server.
const serverVariable = "STELE_SERVER"

// launch is the program as clients shall start it, or the address where a client can use one.
func (o Options) launch(m *MCP) Launch {
	if o.Scope == Project {
		return Launch{Command: Name, Args: []string{"mcp"}} // shared: no path of this machine, no address, no token
	}
	if o.Endpoint != "" && m.Remote != nil {
		return Launch{URL: o.Endpoint}
	}
	l := Launch{Command: o.Binary, Args: []string{"mcp"}}
	if o.Server != "" {
		l.Env = map[string]string{serverVariable: o.Server}
	}
	return l
}

func (m *MCP) entry(l Launch) object {
	if l.URL != "" {
		return m.Remote(l.URL)
	}
	return m.Local(l)
}

// readLaunch reads an entry as any client writes it.
func readLaunch(entry map[string]any) Launch {
	var l Launch
	text := func(v any) string { s, _ := v.(string); return s }
	list := func(v any) []string {
		var out []string
		switch v := v.(type) {
		case []any:
			for _, s := range v {
				out = append(out, text(s))
			}
		case []string:
			return v
		}
		return out
	}
	l.Command, l.Args = text(entry["command"]), list(entry["args"])
	if words := list(entry["command"]); len(words) > 0 { // OpenCode
		l.Command, l.Args = words[0], words[1:]
	}
	for _, name := range []string{"env", "environment"} {
		if vars, ok := entry[name].(map[string]any); ok {
			l.Env = map[string]string{}
			for k, v := range vars {
				l.Env[k] = text(v)
			}
		}
	}
	for _, name := range []string{"url", "httpUrl", "serverUrl"} {
		if l.URL == "" {
			l.URL = text(entry[name])
		}
	}
	return l
}

// ours tells whether an entry is one that Stele wrote, now or in an earlier version.
func (l Launch) ours() bool {
	if u, err := url.Parse(l.URL); l.URL != "" {
		return err == nil && (u.Path == "/mcp" || strings.HasPrefix(u.Path, "/mcp/p/"))
	}
	return isProgram(l.Command) && slices.Contains(l.Args, "mcp")
}

// isProgram tells whether a path is that of a program of Stele, on whatever system it was written.
func isProgram(command string) bool {
	base := path.Base(strings.ReplaceAll(command, `\`, "/"))
	return strings.HasPrefix(strings.TrimSuffix(base, ".exe"), Name)
}

// hookCommand is what a hook runs.
func (o Options) hookCommand(os, client, event string) string {
	words := []string{Name, "hook", client, event}
	if o.Scope == User {
		words[0] = quote(os, o.Binary)
	}
	if o.Observe {
		words = append(words, "--observe")
	}
	if o.Guard != "" {
		words = append(words, "--guard", o.Guard)
	}
	if o.NoMCP {
		words = append(words, "--no-mcp")
	}
	return strings.Join(words, " ")
}

// quote writes a path as one word of a shell: in double quotes, which POSIX shells and that of Windows both take.
func quote(os, path string) string {
	if os == "windows" { // clients run hooks with the shell of Git there, and both know slashes
		path = strings.ReplaceAll(path, `\`, "/")
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `$`, `\$`, "`", "\\`", `"`, `\"`).Replace(path) + `"`
}

// hookOf recognizes a command of a hook of Stele.
var hookOf = regexp.MustCompile(`^\s*(?:"((?:[^"\\]|\\.)+)"|(\S+))\s+hook\s+[a-z-]+\s+([A-Za-z]+)((?:\s+--?[a-z-]+(?:[= ][a-z]+)?)*)\s*$`)

// hook is a command of Stele as it stands in a file.
type hook struct {
	Program, Event, Command string
	Observe                 bool
}

func parseHook(command string) (hook, bool) {
	m := hookOf.FindStringSubmatch(command)
	if m == nil {
		return hook{}, false
	}
	h := hook{Program: m[1] + m[2], Event: m[3], Command: command, Observe: strings.Contains(m[4], "--observe")}
	h.Program = strings.NewReplacer(`\\`, `\`, `\$`, `$`, "\\`", "`", `\"`, `"`).Replace(h.Program)
	return h, isProgram(h.Program)
}

func handler(command string, seconds int) object {
	return object{{"type", "command"}, {"command", command}, {"timeout", seconds}}
}

func group(matcher string, hooks ...any) object {
	if matcher == "" {
		return object{{"hooks", hooks}}
	}
	return object{{"matcher", matcher}, {"hooks", hooks}}
}

// same tells whether a value in a file is what it should be.
func same(v hujson.Value, want any) bool {
	var is, should any
	text, err := json.Marshal(want)
	if err != nil || decode(v, &is) != nil || json.Unmarshal(text, &should) != nil {
		return false
	}
	return reflect.DeepEqual(is, should)
}

// tomlEntry writes an object as a table with its header. Tables in it are written inline.
func tomlEntry(path []string, o object) (lines, inline string) {
	var b strings.Builder
	var words []string
	for _, m := range o {
		word := m.Name + " = " + tomlValue(m.Value)
		b.WriteString(word + "\n")
		words = append(words, word)
	}
	name := strings.Join(path, ".")
	return "[" + name + "]\n" + b.String(), name + " = { " + strings.Join(words, ", ") + " }"
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case []string:
		words := make([]string, len(v))
		for n, s := range v {
			words[n] = tomlString(s)
		}
		return "[" + strings.Join(words, ", ") + "]"
	case map[string]string:
		var words []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			words = append(words, k+" = "+tomlString(v[k]))
		}
		return "{ " + strings.Join(words, ", ") + " }"
	}
	return fmt.Sprint(v)
}
