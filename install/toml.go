package install

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlDocument is TOML of which one table is edited in place. No library for TOML keeps comments when it writes, so the lines
// are found by a parser, changed as text, and the result is parsed again: nothing but that table may differ.
type tomlDocument struct {
	document
	values map[string]any
	tables []tomlTable
}

// tomlTable is a table as it is written: its header and its lines.
type tomlTable struct {
	path  []string
	array bool     // [[header]]
	lines [][2]int // offsets of whole lines: of the header, then of each value
	keys  []string // of the values: keys[n] is what lines[n+1] sets
}

func parseTOML(text []byte) (*tomlDocument, error) {
	d := &tomlDocument{document: document{text: text}}
	return d, d.parse()
}

func (d *tomlDocument) parse() error {
	d.values, d.tables = map[string]any{}, nil
	body := d.text[d.body():]
	if err := toml.Unmarshal(body, &d.values); err != nil {
		if at := new(toml.DecodeError); errors.As(err, &at) {
			line, column := at.Position()
			return &syntaxError{line: line, column: column, reason: strings.TrimPrefix(at.Error(), "toml: ")}
		}
		return &syntaxError{line: 1, column: 1, reason: err.Error()}
	}
	p := unstable.Parser{}
	p.Reset(body)
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table, unstable.ArrayTable:
			t := tomlTable{array: n.Kind == unstable.ArrayTable}
			keys := n.Key()
			for keys.Next() {
				t.path = append(t.path, string(keys.Node().Data))
			}
			t.lines = append(t.lines, d.wholeLines(n.Child().Raw))
			d.tables = append(d.tables, t)
		case unstable.KeyValue:
			if len(d.tables) > 0 {
				last := &d.tables[len(d.tables)-1]
				last.lines = append(last.lines, d.wholeLines(n.Raw))
				key := n.Key()
				key.Next()
				last.keys = append(last.keys, string(key.Node().Data))
			}
		default:
		}
	}
	return p.Error()
}

// wholeLines are the lines that a range of the parser stands on.
func (d *tomlDocument) wholeLines(r unstable.Range) [2]int {
	start, end := int(r.Offset)+d.body(), int(r.Offset+r.Length)+d.body()
	start = max(bytes.LastIndexByte(d.text[:start], '\n')+1, d.body())
	if n := bytes.IndexByte(d.text[end:], '\n'); n >= 0 {
		return [2]int{start, end + n + 1}
	}
	return [2]int{start, len(d.text)}
}

// lookup gives the value at a path.
func (d *tomlDocument) lookup(path ...string) (any, bool) {
	var at any = d.values
	for _, name := range path {
		table, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = table[name]; !ok {
			return nil, false
		}
	}
	return at, true
}

// without is a copy of the values that leaves one path out, and the tables that hold nothing but it.
func without(values map[string]any, path []string) map[string]any {
	out := maps.Clone(values)
	if len(path) == 1 {
		delete(out, path[0])
		return out
	}
	if inner, ok := out[path[0]].(map[string]any); ok {
		if kept := without(inner, path[1:]); len(kept) > 0 {
			out[path[0]] = kept
		} else {
			delete(out, path[0])
		}
	}
	return out
}

// errNotATable says that a table is written in a way that no line of it can be changed alone.
var errNotATable = errors.New("the table is written inline or by dotted keys")

// addTable writes a table at the end.
func (d *tomlDocument) addTable(path []string, o object) error {
	before := without(d.values, path)
	lines, _ := tomlEntry(path, o)
	lead := ""
	if !d.blank() {
		if lead = d.newline(); d.text[len(d.text)-1] != '\n' {
			lead += d.newline()
		}
	}
	d.replace(len(d.text), len(d.text), lead+d.lines(lines))
	return d.verify(before, path)
}

// amendTable brings the values of a table up to date: those that differ are replaced, those that are missing added, those of the
// names in surplus that are not wanted removed. Everything else somebody put there stays.
func (d *tomlDocument) amendTable(path []string, want object, surplus []string) error {
	before := without(d.values, path)
	is, _ := d.lookup(path...)
	fields, _ := is.(map[string]any)
	var gone []string
	var lines strings.Builder
	for _, m := range want {
		if is, there := fields[m.Name]; there && sameTOML(is, m.Value) {
			continue
		}
		gone = append(gone, m.Name)
		lines.WriteString(m.Name + " = " + tomlValue(m.Value) + "\n")
	}
	for _, name := range surplus {
		if _, there := fields[name]; there && !want.has(name) {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	at := d.indexes(path)
	if len(at) == 0 || len(d.tables[at[0]].path) != len(path) {
		return errNotATable
	}
	table := d.tables[at[0]]
	where := table.lines[0][1]
	var drop [][2]int
	for n, key := range table.keys {
		if slices.Contains(gone, key) {
			drop = append(drop, table.lines[n+1])
		}
	}
	for _, n := range at[1:] { // tables of tables, such as the environment
		if below := d.tables[n]; slices.Contains(gone, below.path[len(path)]) {
			drop = append(drop, below.lines...)
		}
	}
	d.drop(drop)
	d.replace(where, where, d.lines(lines.String()))
	return d.verify(before, path)
}

// sameTOML tells whether a value in a file is what it should be.
func sameTOML(is, want any) bool {
	values := map[string]any{}
	err := toml.Unmarshal([]byte("v = "+tomlValue(want)), &values)
	return err == nil && reflect.DeepEqual(is, values["v"])
}

// removeTable takes a table away, and the empty line that set it off.
func (d *tomlDocument) removeTable(path []string) error {
	if _, there := d.lookup(path...); !there {
		return nil
	}
	before := without(d.values, path)
	at := d.indexes(path)
	if len(at) == 0 {
		return errNotATable
	}
	where := d.tables[at[0]].lines[0][0]
	var lines [][2]int
	for _, n := range at {
		lines = append(lines, d.tables[n].lines...)
	}
	d.drop(lines)
	nl := d.newline()
	if before, rest := string(d.text[:where]), string(d.text[where:]); strings.HasSuffix(before, nl+nl) && (rest == "" || strings.HasPrefix(rest, nl)) {
		d.replace(where-len(nl), where, "")
	}
	return d.verify(before, path)
}

// indexes are the tables of a path and below it, in the order of the text.
func (d *tomlDocument) indexes(path []string) []int {
	var out []int
	for n, t := range d.tables {
		if len(t.path) >= len(path) && slices.Equal(t.path[:len(path)], path) {
			out = append(out, n)
		}
	}
	return out
}

// drop removes lines. Comments between them are somebody's, and stay.
func (d *tomlDocument) drop(lines [][2]int) {
	slices.SortFunc(lines, func(a, b [2]int) int { return b[0] - a[0] })
	for _, l := range lines {
		d.replace(l[0], l[1], "")
	}
}

// verify reads the text anew and makes sure that nothing beside the table of a path changed.
func (d *tomlDocument) verify(before map[string]any, path []string) error {
	if d.parse() != nil { // it could be read before, so what is wrong is where the table went
		return errNotATable
	}
	if after := without(d.values, path); !reflect.DeepEqual(before, after) {
		return fmt.Errorf("%w: the edit would have changed other settings", errNotATable)
	}
	return nil
}

// tomlString writes a basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
