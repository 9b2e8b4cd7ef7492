package install

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/stele-dev/stele/internal/problem"
)

// jsonEdit is a file of JSON under way.
type jsonEdit struct {
	*jsonDocument
	source source
	record fileRecord
	what   []string
}

// editJSON opens a file. byHand is what to write into it where it cannot be read.
func editJSON(path, byHand string) (*jsonEdit, error) {
	s, err := open(path)
	if err != nil {
		return nil, err
	}
	d, err := parseJSON(s.text)
	if err != nil {
		return nil, refuse(path, err, byHand)
	}
	e := &jsonEdit{jsonDocument: d, source: s}
	if len(d.splices) > 0 && s.exists {
		blank := string(s.text)
		e.record.Blank = &blank
	}
	return e, nil
}

// room makes sure that a container is there, and notes what its removal has to know.
func (e *jsonEdit) room(path []string, kind any) error {
	for n := range len(path) + 1 {
		if inside, ok := e.emptyInside(path[:n]); ok && (n > 0 || e.source.exists && e.record.Blank == nil) {
			e.record.Emptied = append(e.record.Emptied, emptied{Path: slices.Clone(path[:n]), Inside: inside})
		}
	}
	made, err := e.container(path, kind)
	e.record.Made = append(e.record.Made, made...)
	return err
}

// servers is the path of the table of servers in a file.
func (m *MCP) servers(d *jsonDocument) []string {
	if v, ok := d.find(m.Newer...); ok && m.Newer != nil {
		var fields map[string]any
		if decode(v, &fields) == nil {
			if _, server := fields["type"].(string); !server { // one that is called "servers" has a type
				return m.Newer
			}
		}
	}
	return m.Path
}

// mcp plans the entry of the server.
func (p *planner) mcp() error {
	m := p.client.MCP
	path := m.at(p.env, p.options.Scope)
	if path == "" {
		return nil
	}
	if m.TOML {
		return p.mcpTOML(path)
	}
	launch := p.options.launch(m)
	entry := m.entry(launch)
	byHand := strings.Join(m.Path, ".") + "." + Name + " = " + entry.compact()
	e, err := editJSON(path, byHand)
	if err != nil {
		return err
	}
	at := append(slices.Clone(m.servers(e.jsonDocument)), Name)
	v, there := e.find(at...)
	if there && !oursInJSON(v) {
		return taken(path, strings.Join(at, "."))
	}
	switch {
	case p.options.NoMCP && there:
		err = e.removeMember(at)
		e.what = append(e.what, "take the MCP server out")
	case p.options.NoMCP:
		e.splices = nil
	case there:
		is := launchIn(v)
		launch = launch.over(is)
		_, err = e.amend(at, m.entry(launch), launch.surplus(is))
		e.what = append(e.what, "bring the MCP server up to date")
	default:
		if err = e.room(at[:len(at)-1], object{}); err == nil {
			table, _ := e.find(at[:len(at)-1]...)
			err = e.add(table, Name, entry)
		}
		e.what = append(e.what, "add the MCP server "+Name)
	}
	if err != nil {
		return refuse(path, err, byHand)
	}
	p.changed(e.source, e.document, e.record, e.what...)
	return nil
}

func launchIn(v hujson.Value) Launch {
	var fields map[string]any
	if decode(v, &fields) != nil {
		return Launch{}
	}
	return readLaunch(fields)
}

func oursInJSON(v hujson.Value) bool { return launchIn(v).ours() }

func taken(path, name string) error {
	return problem.New(problem.Conflict, path, name+" is an entry that Stele did not write; nothing was changed", "rename or remove it, and try again")
}

// removeMember takes out what a path leads to.
func (d *jsonDocument) removeMember(path []string) error {
	parent, ok := d.find(path[:len(path)-1]...)
	if !ok {
		return nil
	}
	for n, i := range slices.Backward(d.items(parent)) {
		if i.name == path[len(path)-1] {
			return d.remove(parent, n)
		}
	}
	return nil
}

func (p *planner) mcpTOML(path string) error {
	m := p.client.MCP
	launch := p.options.launch(m)
	table := append(slices.Clone(m.Path), Name)
	_, byHand := tomlEntry(table, m.entry(launch))
	s, err := open(path)
	if err != nil {
		return err
	}
	d, err := parseTOML(s.text)
	if err != nil {
		return refuse(path, err, byHand)
	}
	value, there := d.lookup(table...)
	fields, _ := value.(map[string]any)
	is := readLaunch(fields)
	if there && !is.ours() {
		return taken(path, strings.Join(table, "."))
	}
	var what string
	switch {
	case p.options.NoMCP:
		what, err = "take the MCP server out", d.removeTable(table)
	case there:
		launch = launch.over(is)
		what, err = "bring the MCP server up to date", d.amendTable(table, m.entry(launch), launch.surplus(is))
	default:
		what, err = "add the MCP server "+Name, d.addTable(table, m.entry(launch))
	}
	if err != nil {
		return refuse(path, err, byHand)
	}
	p.changed(s, d.document, fileRecord{}, what)
	return nil
}

// hooks plans the hooks, and the line of status.
func (p *planner) hooks() error {
	h := p.client.Hooks
	path := h.at(p.env, p.options.Scope)
	if path == "" {
		return nil
	}
	byHand := object{}
	for _, ev := range h.Events {
		byHand = append(byHand, member{ev.Name, []any{p.group(ev)}})
	}
	e, err := editJSON(path, "hooks = "+byHand.compact())
	if err != nil {
		return err
	}
	for _, ev := range h.Events {
		if err = p.hookEvent(e, ev); err != nil {
			return refuse(path, err, "hooks = "+byHand.compact())
		}
	}
	if p.client.Line.at(p.env, p.options.Scope) == path {
		if err = p.statusLine(e); err != nil {
			return refuse(path, err, "statusLine = "+p.line().compact())
		}
	}
	p.changed(e.source, e.document, e.record, e.what...)
	return nil
}

func (p *planner) group(ev HookEvent) object {
	return group(ev.Matcher, handler(p.options.hookCommand(p.env.OS, p.client.ID, ev.Name), ev.Timeout))
}

// place is where a hook of Stele stands: in which group of an event, and where in it.
type place struct {
	group, hook int
	alone       bool // nothing else is in the group
}

// ourHooks finds the hooks of Stele at an event, the last first, so that removing one leaves the places of the others true.
func (d *jsonDocument) ourHooks(event string) []place {
	var out []place
	groups, ok := d.find("hooks", event)
	if !ok {
		return nil
	}
	for g, one := range d.items(groups) {
		hooks, ok := d.inside(one.value, "hooks")
		if !ok {
			continue
		}
		items := d.items(hooks)
		for h, i := range items {
			var fields struct{ Command string }
			if decode(i.value, &fields) != nil {
				continue
			}
			if _, ours := parseHook(fields.Command); ours {
				out = append(out, place{group: g, hook: h, alone: len(items) == 1})
			}
		}
	}
	slices.Reverse(out)
	return out
}

// inside gives a member of a value.
func (d *jsonDocument) inside(v hujson.Value, name string) (hujson.Value, bool) {
	if _, ok := v.Value.(*hujson.Object); !ok {
		return v, false
	}
	for _, i := range d.items(v) {
		if i.name == name {
			return i.value, true
		}
	}
	return v, false
}

// hookEvent plans one event: a group behind those that are there, or the one that an earlier version wrote brought up to date.
func (p *planner) hookEvent(e *jsonEdit, ev HookEvent) error {
	found := e.ourHooks(ev.Name)
	for len(found) > 1 { // one is enough
		if err := e.removeHook(ev.Name, found[0]); err != nil {
			return err
		}
		e.what = append(e.what, "remove a double hook at "+ev.Name)
		found = e.ourHooks(ev.Name)
	}
	want := p.group(ev)
	if len(found) == 0 {
		if err := e.room([]string{"hooks", ev.Name}, []any{}); err != nil {
			return err
		}
		groups, _ := e.find("hooks", ev.Name)
		e.what = append(e.what, "add a hook at "+ev.Name)
		return e.add(groups, "", want)
	}
	// What somebody set beside the command, such as another time limit, stays.
	groups, _ := e.find("hooks", ev.Name)
	hooks, _ := e.inside(e.items(groups)[found[0].group].value, "hooks")
	one := e.items(hooks)[found[0].hook].value
	command, _ := e.inside(one, "command")
	wanted := p.options.hookCommand(p.env.OS, p.client.ID, ev.Name)
	if same(command, wanted) {
		return nil
	}
	e.what = append(e.what, "bring the hook at "+ev.Name+" up to date")
	return e.set(command, wanted)
}

// removeHook takes a hook out, with its group where nothing else is in that.
func (d *jsonDocument) removeHook(event string, at place) error {
	groups, _ := d.find("hooks", event)
	if at.alone {
		return d.remove(groups, at.group)
	}
	hooks, _ := d.inside(d.items(groups)[at.group].value, "hooks")
	return d.remove(hooks, at.hook)
}

func (p *planner) line() object {
	return object{{"type", "command"}, {"command", quote(p.env.OS, p.options.Binary) + " statusline"}}
}

// statusLine plans a line of status where there is none. Somebody else's stays.
func (p *planner) statusLine(e *jsonEdit) error {
	v, there := e.find("statusLine")
	switch {
	case !there:
		e.what = append(e.what, "add a line of status")
		root, _ := e.find()
		return e.add(root, "statusLine", p.line())
	case oursStatus(v):
		changed, err := e.amend([]string{"statusLine"}, p.line(), nil)
		if changed {
			e.what = append(e.what, "bring the line of status up to date")
		}
		return err
	default:
		p.notes = append(p.notes, "a line of status is set already, and stays; stele statusline prints Stele's, to call it from there")
	}
	return nil
}

func oursStatus(v hujson.Value) bool {
	var fields struct{ Command string }
	if decode(v, &fields) != nil {
		return false
	}
	program, ok := strings.CutSuffix(strings.TrimSpace(fields.Command), " statusline")
	return ok && isProgram(strings.Trim(program, `"`))
}

// stripped is a file without what is Stele's.
type stripped struct {
	text []byte
	bare bool // nothing is left in it
}

// strip takes out of a file what is recognized as Stele's, with the containers that were made for it.
func (c Client) strip(s source, r fileRecord) (stripped, error) {
	switch {
	case c.Text != nil:
		return stripText(s), nil
	case c.MCP != nil && c.MCP.TOML && strings.HasSuffix(s.path, ".toml"):
		return c.stripTOML(s)
	}
	d, err := parseJSON(s.text)
	if err != nil {
		return stripped{}, refuse(s.path, err, "take out what is called "+Name)
	}
	for _, take := range []func(Client, *jsonDocument) error{Client.stripServer, Client.stripHooks, Client.stripLine} {
		if err := take(c, d); err != nil {
			return stripped{}, refuse(s.path, err, "take out what starts stele")
		}
	}
	if err := d.tidy(r); err != nil {
		return stripped{}, refuse(s.path, err, "take out what is empty")
	}
	inside, empty := d.emptyInside(nil)
	if r.Blank != nil && empty && strings.TrimSpace(inside) == "" {
		return stripped{text: []byte(*r.Blank), bare: true}, nil
	}
	if len(d.splices) > 0 && strings.TrimSpace(string(s.text)) == "" {
		return stripped{text: s.text, bare: true}, nil // it was empty all along
	}
	return stripped{text: d.text, bare: empty}, nil
}

func (c Client) stripServer(d *jsonDocument) error {
	if c.MCP == nil {
		return nil
	}
	for _, table := range [][]string{c.MCP.Path, c.MCP.Newer} {
		at := append(slices.Clone(table), Name)
		if v, ok := d.find(at...); ok && table != nil && oursInJSON(v) {
			if err := d.removeMember(at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Client) stripHooks(d *jsonDocument) error {
	events, ok := d.find("hooks")
	if !ok || c.Hooks == nil {
		return nil
	}
	for _, i := range d.items(events) {
		for found := d.ourHooks(i.name); len(found) > 0; found = d.ourHooks(i.name) {
			if err := d.removeHook(i.name, found[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Client) stripLine(d *jsonDocument) error {
	if v, ok := d.find("statusLine"); ok && c.Line != nil && oursStatus(v) {
		return d.removeMember([]string{"statusLine"})
	}
	return nil
}

// tidy removes the containers that were made, as far as nothing else came into them, and gives those that were empty their white space.
func (d *jsonDocument) tidy(r fileRecord) error {
	made := slices.Clone(r.Made)
	slices.SortStableFunc(made, func(a, b []string) int { return len(b) - len(a) })
	for _, path := range made {
		if err := d.prune(path); err != nil {
			return err
		}
	}
	for _, e := range r.Emptied {
		if err := d.fill(e.Path, e.Inside); err != nil {
			return err
		}
	}
	return nil
}

func (c Client) stripTOML(s source) (stripped, error) {
	d, err := parseTOML(s.text)
	if err != nil {
		return stripped{}, refuse(s.path, err, "take out the table of "+Name)
	}
	table := append(slices.Clone(c.MCP.Path), Name)
	value, _ := d.lookup(table...)
	if fields, ok := value.(map[string]any); ok && readLaunch(fields).ours() {
		if err := d.removeTable(table); err != nil {
			return stripped{}, refuse(s.path, err, "take out "+strings.Join(table, "."))
		}
	}
	return stripped{text: d.text, bare: d.blank()}, nil
}
