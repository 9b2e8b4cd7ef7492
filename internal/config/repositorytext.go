package config

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// document is a stele.yaml as lines, with the places of its sections. A change replaces whole lines, so that nothing else
// moves.
type document struct {
	lines    []string // without line ends
	crlf     bool
	sections []entry
}

// entry is a key with its value, at some level of the file.
type entry struct {
	key     string
	column  int // of the key, from 0
	start   int // line of the key, from 0
	end     int // line after the last one of its value; comments above the next entry are not part of it
	value   ast.Node
	entries []entry // of a value that is a mapping in lines of its own
}

// newDocument finds the entries of a text; nil for a text whose top is no mapping in lines of its own.
func newDocument(text []byte) (*document, error) {
	d := &document{crlf: bytes.Contains(text, []byte("\r\n"))}
	plain := strings.ReplaceAll(string(text), "\r\n", "\n")
	d.lines = strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
	if plain == "" {
		d.lines = nil
	}
	file, err := parser.ParseBytes([]byte(plain), parser.ParseComments)
	if err != nil {
		return nil, yamlProblem(RepositoryFile, err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			body = doc.Body
		}
	}
	if body == nil || body.Type() == ast.NullType {
		return d, nil
	}
	found, ok := d.mapping(body, len(d.lines))
	if !ok {
		return nil, nil //nolint:nilnil // there is nothing to change lines of
	}
	d.sections = found
	for i := range d.sections {
		if inner, ok := d.mapping(d.sections[i].value, d.sections[i].end); ok {
			d.sections[i].entries = inner
		}
	}
	return d, nil
}

// mapping gives the entries of a mapping that ends before a line; false for a value of another kind, or within { }.
func (d *document) mapping(node ast.Node, end int) ([]entry, bool) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		if n.IsFlowStyle {
			return nil, false
		}
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return nil, false
	}
	var out []entry
	for _, v := range values {
		t := v.Key.GetToken()
		out = append(out, entry{key: t.Value, column: t.Position.Column - 1, start: t.Position.Line - 1, value: v.Value})
	}
	for i := range out {
		next := end
		if i+1 < len(out) {
			next = out[i+1].start
		}
		out[i].end = d.contentEnd(out[i], next)
	}
	return out, true
}

// contentEnd is the line after the last one that belongs to an entry.
func (d *document) contentEnd(e entry, next int) int {
	for next = min(next, len(d.lines)); next > e.start+1; next-- {
		line := strings.TrimLeft(d.lines[next-1], " ")
		if line != "" && (!strings.HasPrefix(line, "#") || len(d.lines[next-1])-len(line) > e.column) {
			break
		}
	}
	return next
}

func (d *document) bytes() []byte {
	if len(d.lines) == 0 {
		return nil
	}
	eol := "\n"
	if d.crlf {
		eol = "\r\n"
	}
	return []byte(strings.Join(d.lines, eol) + eol)
}

func (d *document) section(name string) (entry, bool) {
	i := slices.IndexFunc(d.sections, func(e entry) bool { return e.key == name })
	if i < 0 {
		return entry{}, false
	}
	return d.sections[i], true
}

func (d *document) child(section, key string) (entry, bool) {
	s, _ := d.section(section)
	i := slices.IndexFunc(s.entries, func(e entry) bool { return e.key == key })
	if i < 0 {
		return entry{}, false
	}
	return s.entries[i], true
}

// replace puts lines in the place of some.
func (d *document) replace(from, to int, lines ...string) bool {
	d.lines = slices.Replace(d.lines, from, to, lines...)
	return true
}

// setChild writes the entry of a key in a section, in the place of the one it has, else at the section's end.
func (d *document) setChild(section, key string, render func(indent int, comment string) []string) bool {
	s, ok := d.section(section)
	if !ok {
		return d.setSection(section, render(2, ""))
	}
	if at, ok := d.child(section, key); ok {
		return d.replace(at.start, at.end, render(at.column, d.comment(at))...)
	}
	if len(s.entries) > 0 {
		return d.replace(s.end, s.end, render(s.entries[0].column, "")...)
	}
	if s.value == nil || s.value.Type() == ast.NullType {
		return d.replace(s.end, s.end, render(s.column+2, "")...)
	}
	return false
}

// removeChild takes an entry away, with its section if it is the last one.
func (d *document) removeChild(section, key string, last bool) bool {
	at, ok := d.child(section, key)
	if !ok {
		return false
	}
	if last {
		return d.removeSection(section)
	}
	return d.replace(at.start, at.end)
}

func (d *document) removeSection(section string) bool {
	s, ok := d.section(section)
	return ok && d.replace(s.start, s.end)
}

// setSection writes a section anew, in the place of the one there is, else at the end of the file.
func (d *document) setSection(section string, lines []string) bool {
	s, ok := d.section(section)
	if !ok {
		return d.replace(len(d.lines), len(d.lines), append([]string{section + ":"}, lines...)...)
	}
	head := []string{spaces(s.column) + section + ":"}
	for _, line := range lines {
		head = append(head, spaces(s.column)+line)
	}
	return d.replace(s.start, s.end, head...)
}

// setLine writes a section of one line. The project comes first and the model next, where a reader looks for them.
func (d *document) setLine(section, line string) bool {
	if s, ok := d.section(section); ok {
		return d.replace(s.start, s.end, spaces(s.column)+line+d.comment(s))
	}
	at := len(d.lines)
	if section == sectionProject || section == sectionModel {
		if p, ok := d.section(sectionProject); ok {
			at = p.end
		} else if len(d.sections) > 0 {
			at = d.sections[0].start
		}
	}
	return d.replace(at, at, line)
}

// setItem writes an item of a list of mappings, at the end of the list for an index of -1.
func (d *document) setItem(section string, index int, render func(indent int) []string) bool {
	s, ok := d.section(section)
	if !ok {
		return d.setSection(section, render(2))
	}
	list, ok := s.value.(*ast.SequenceNode)
	if s.value == nil || s.value.Type() == ast.NullType {
		return d.replace(s.end, s.end, render(s.column+2)...)
	}
	if !ok || list.IsFlowStyle {
		return false
	}
	items, column := d.items(s)
	switch {
	case len(items) == 0:
		return false
	case index < 0:
		return d.replace(s.end, s.end, render(column)...)
	case index >= len(items):
		return false
	}
	end := s.end
	if index+1 < len(items) {
		end = items[index+1]
	}
	end = d.contentEnd(entry{start: items[index], column: column}, end)
	return d.replace(items[index], end, render(column)...)
}

// items finds the lines at which the items of a list in lines of its own begin, and their column.
func (d *document) items(of entry) (lines []int, column int) {
	column = -1
	for i := of.start + 1; i < of.end; i++ {
		trimmed := strings.TrimLeft(d.lines[i], " ")
		indent := len(d.lines[i]) - len(trimmed)
		if (trimmed == "-" || strings.HasPrefix(trimmed, "- ")) && (column < 0 || indent == column) {
			lines, column = append(lines, i), indent
		}
	}
	return lines, column
}

// extendList adds to the list of an entry what all has more than old, which it begins with.
func (d *document) extendList(at entry, old, all []string) bool {
	fresh := all[len(old):]
	switch v := at.value.(type) {
	case *ast.SequenceNode:
		if !v.IsFlowStyle {
			items, column := d.items(at)
			if len(items) != len(old) || len(items) == 0 {
				return false
			}
			var lines []string
			for _, glob := range fresh {
				lines = append(lines, spaces(column)+"- "+quoteYAML(glob))
			}
			return d.replace(at.end, at.end, lines...)
		}
		if v.End == nil || v.End.Position.Line != at.start+1 || len(old) == 0 {
			return false
		}
		var more strings.Builder
		for _, glob := range fresh {
			more.WriteString(", " + quoteYAML(glob))
		}
		line := []rune(d.lines[at.start])
		end := v.End.Position.Column - 1
		if end < 0 || end >= len(line) || line[end] != ']' {
			return false
		}
		return d.replace(at.start, at.start+1, string(line[:end])+more.String()+string(line[end:]))
	case *ast.StringNode:
		if at.end != at.start+1 || len(old) != 1 {
			return false
		}
		lines := []string{spaces(at.column) + quoteYAML(at.key) + ":", spaces(at.column+2) + "- " + quoteYAML(old[0]) + d.comment(at)}
		for _, glob := range fresh {
			lines = append(lines, spaces(at.column+2)+"- "+quoteYAML(glob))
		}
		return d.replace(at.start, at.end, lines...)
	}
	return false
}

// comment is the comment at the end of an entry's first line, with the blank before it.
func (d *document) comment(e entry) string {
	for _, t := range lexer.Tokenize(d.lines[e.start]) {
		if t.Type == token.CommentType {
			return " #" + t.Value
		}
	}
	return ""
}

// plainScalar matches what YAML takes for a text without quotes wherever it stands.
var plainScalar = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./*~-]*( [A-Za-z0-9_./*~()-]+)*$`)

// words that YAML takes for something else than a text, in some version of it.
var words = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

// quoteYAML writes a text as a scalar, in quotes unless they are surely not needed.
func quoteYAML(text string) string {
	if plainScalar.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}
