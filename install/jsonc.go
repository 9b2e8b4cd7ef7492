package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonDocument is JSON, with comments and trailing commas where there are any, edited in place. The parser says where things
// stand; the text itself is never written anew.
type jsonDocument struct {
	document
	root hujson.Value
}

// parseJSON reads a document. An empty one becomes an empty object.
func parseJSON(text []byte) (*jsonDocument, error) {
	d := &jsonDocument{document: document{text: text}}
	if d.blank() {
		d.replace(d.body(), len(d.text), "{}"+d.newline())
	}
	if err := d.parse(); err != nil {
		return nil, err
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, &syntaxError{line: 1, column: 1, reason: "the document is no object"}
	}
	return d, nil
}

// syntaxError is where a document cannot be read, and why.
type syntaxError struct {
	line, column int
	reason       string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.line, e.column, e.reason)
}

// whereInJSON is how hujson begins its errors.
var whereInJSON = regexp.MustCompile(`^hujson: line (\d+), column (\d+): (.*)$`)

// parse reads the text. Offsets of the tree are those of the text behind a byte order mark.
func (d *jsonDocument) parse() error {
	root, err := hujson.Parse(d.text[d.body():])
	if err != nil {
		if m := whereInJSON.FindStringSubmatch(err.Error()); m != nil {
			line, _ := strconv.Atoi(m[1])
			column, _ := strconv.Atoi(m[2])
			return &syntaxError{line: line, column: column, reason: m[3]}
		}
		return &syntaxError{line: 1, column: 1, reason: strings.TrimPrefix(err.Error(), "hujson: ")}
	}
	d.root = root
	return nil
}

// item is a member of an object or an element of an array: where it stands, in offsets of the text.
type item struct {
	name       string // "" of an element
	start, end int    // from the name, or the value, to the end of the value
	comma      int    // where the comma behind it is; -1 where there is none
	value      hujson.Value
}

// items lists what a container holds, in the order of the text.
func (d *jsonDocument) items(container hujson.Value) []item {
	var out []item
	add := func(name string, start int, v hujson.Value) {
		i := item{name: name, start: start + d.body(), end: v.EndOffset + d.body(), comma: -1, value: v}
		if at := i.end + len(v.AfterExtra); at < len(d.text) && d.text[at] == ',' {
			i.comma = at
		}
		out = append(out, i)
	}
	switch v := container.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			add(literal(name), m.Name.StartOffset, m.Value)
		}
	case *hujson.Array:
		for _, e := range v.Elements {
			add("", e.StartOffset, e)
		}
	}
	return out
}

// literal is the text of a JSON string.
func literal(l hujson.Literal) string {
	var s string
	if json.Unmarshal(l, &s) != nil {
		return string(l)
	}
	return s
}

// find gives what a path of names leads to. Of two members of one name the last counts, as for those who read the file.
func (d *jsonDocument) find(path ...string) (hujson.Value, bool) {
	at := d.root
	for _, name := range path {
		if _, ok := at.Value.(*hujson.Object); !ok {
			return at, false
		}
		found := false
		for _, i := range d.items(at) {
			if i.name == name {
				at, found = i.value, true
			}
		}
		if !found {
			return at, false
		}
	}
	return at, true
}

// decode reads a value, comments left out.
func decode(v hujson.Value, into any) error {
	v = v.Clone()
	v.Standardize()
	v.BeforeExtra, v.AfterExtra = nil, nil
	return json.Unmarshal(v.Pack(), into)
}

// unit is what one more level is indented by in this document.
func (d *jsonDocument) unit() string {
	for _, i := range d.items(d.root) {
		if lead, ok := d.ownLine(i.start); ok && lead != "" {
			return lead
		}
	}
	return "  "
}

// ownLine tells whether only white space stands before an offset on its line, and which.
func (d *jsonDocument) ownLine(offset int) (string, bool) {
	start := bytes.LastIndexByte(d.text[:offset], '\n') + 1
	lead := string(d.text[start:offset])
	return lead, start > 0 && strings.Trim(lead, " \t") == ""
}

// render writes a value as a member or element at an indentation.
func (d *jsonDocument) render(name string, value any, indent string, flat bool) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if !flat {
		e.SetIndent(indent, d.unit())
	}
	if err := e.Encode(value); err != nil {
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	text := d.lines(joinLists(strings.TrimRight(b.String(), "\n")))
	if name == "" {
		return text, nil
	}
	return strconv.Quote(name) + ": " + text, nil
}

// list is an array of words, which people write on one line.
var list = regexp.MustCompile(`\[\s+("(?:[^"\\]|\\.)*"(?:,\s+"(?:[^"\\]|\\.)*")*)\s+\]`)

// joinLists puts arrays of words on one line, as long as that changes nothing.
func joinLists(text string) string {
	joined := list.ReplaceAllStringFunc(text, func(l string) string {
		return "[" + strings.Join(strings.Fields(l[1:len(l)-1]), " ") + "]"
	})
	var is, was any
	if json.Unmarshal([]byte(joined), &is) != nil || json.Unmarshal([]byte(text), &was) != nil || !reflect.DeepEqual(is, was) {
		return text
	}
	return joined
}

// container makes sure that a path of objects is there, and tells which of them it made. A value in the way is a refusal.
func (d *jsonDocument) container(path []string, last any) (made [][]string, err error) {
	for n := range path {
		v, ok := d.find(path[:n+1]...)
		if ok {
			_, object := v.Value.(*hujson.Object)
			_, array := v.Value.(*hujson.Array)
			_, wanted := last.([]any)
			if wanted = wanted && n == len(path)-1; object && !wanted || array && wanted {
				continue
			}
			line, column := d.position(v.StartOffset + d.body())
			return made, &syntaxError{line: line, column: column, reason: fmt.Sprintf("%s is neither missing nor what belongs there", strings.Join(path[:n+1], "."))}
		}
		var value any = map[string]any{}
		if n == len(path)-1 {
			value = last
		}
		parent, _ := d.find(path[:n]...)
		if err := d.add(parent, path[n], value); err != nil {
			return made, err
		}
		made = append(made, slices.Clone(path[:n+1]))
	}
	return made, nil
}

// position counts lines and columns from 1.
func (d *jsonDocument) position(offset int) (line, column int) {
	before := d.text[d.body():offset]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// add puts a member (or, without a name, an element) behind the last one of a container.
func (d *jsonDocument) add(to hujson.Value, name string, value any) error {
	items := d.items(to)
	open, shut := to.StartOffset+d.body(), to.EndOffset+d.body()-1
	nl := d.newline()
	if len(items) == 0 {
		own := d.lineIndent(open)
		flat := d.flat()
		text, err := d.render(name, value, own+d.unit(), flat)
		if err != nil {
			return err
		}
		if flat {
			d.replace(open+1, open+1, text)
			return d.parse()
		}
		text = nl + own + d.unit() + text
		if inside := d.text[open+1 : shut]; len(bytes.TrimSpace(inside)) == 0 {
			d.replace(open+1, shut, text+nl+own)
		} else { // a comment stays where it is, behind
			d.replace(open+1, open+1, text)
		}
		return d.parse()
	}
	last := items[len(items)-1]
	indent, lines := d.ownLine(items[0].start)
	text, err := d.render(name, value, indent, !lines)
	if err != nil {
		return err
	}
	if text = " " + text; lines {
		text = nl + indent + text[1:]
	}
	at := last.end
	if last.comma >= 0 {
		at, text = last.comma+1, text+","
	}
	// A comment behind the last one, on its line, belongs to it.
	if end, ok := endOfLine(d.text[at:shut]); ok && lines {
		end += at
		d.replace(end, end, text)
	} else {
		d.replace(at, at, text)
	}
	if last.comma < 0 {
		d.replace(last.end, last.end, ",")
	}
	return d.parse()
}

// endOfLine is where the line ends in what stands between the values of a container: white space and comments.
func endOfLine(extra []byte) (int, bool) {
	for i := 0; i < len(extra); i++ {
		switch {
		case bytes.HasPrefix(extra[i:], []byte("/*")):
			n := bytes.Index(extra[i+2:], []byte("*/"))
			if n < 0 {
				return 0, false
			}
			i += n + 3
		case extra[i] == '\n':
			if i > 0 && extra[i-1] == '\r' {
				i--
			}
			return i, true
		}
	}
	return 0, false
}

// flat tells whether the whole document is one line with something in it.
func (d *jsonDocument) flat() bool {
	return len(d.items(d.root)) > 0 && !bytes.Contains(d.text[d.root.StartOffset+d.body():d.root.EndOffset+d.body()], []byte("\n"))
}

// set replaces a value, keeping what is around it. What was on one line stays on one.
func (d *jsonDocument) set(v hujson.Value, value any) error {
	start, end := v.StartOffset+d.body(), v.EndOffset+d.body()
	text, err := d.render("", value, d.lineIndent(start), !bytes.Contains(d.text[start:end], []byte("\n")))
	if err != nil {
		return err
	}
	d.replace(start, end, text)
	return d.parse()
}

// amend brings the members of an object up to date: values that differ are replaced, those that are missing added, those of the
// names in surplus that are not wanted removed. Everything else somebody put there stays. It tells whether anything changed.
func (d *jsonDocument) amend(path []string, want object, surplus []string) (bool, error) {
	before := len(d.splices)
	for _, m := range want {
		at := append(slices.Clone(path), m.Name)
		v, there := d.find(at...)
		if there && same(v, m.Value) {
			continue
		}
		var err error
		if there {
			err = d.set(v, m.Value)
		} else {
			parent, _ := d.find(path...)
			err = d.add(parent, m.Name, m.Value)
		}
		if err != nil {
			return false, err
		}
	}
	for _, name := range surplus {
		at := append(slices.Clone(path), name)
		if _, there := d.find(at...); there && !want.has(name) {
			if err := d.removeMember(at); err != nil {
				return false, err
			}
		}
	}
	return len(d.splices) > before, nil
}

// remove takes the n-th member or element out of a container, with the line it stands on and the comma that joined it.
func (d *jsonDocument) remove(from hujson.Value, n int) error {
	items := d.items(from)
	it := items[n]
	start := it.start
	for start > 0 && (d.text[start-1] == ' ' || d.text[start-1] == '\t') {
		start--
	}
	// The end of the line before goes with it, unless that ends a comment which would then go on over what follows.
	behind := max(it.end, it.comma+1)
	rest, _, _ := bytes.Cut(d.text[behind:], []byte("\n"))
	lead := d.text[from.StartOffset+d.body()+1 : start]
	if n > 0 {
		lead = d.text[items[n-1].comma+1 : start]
	}
	if start > 0 && d.text[start-1] == '\n' && (len(bytes.TrimSpace(rest)) == 0 || !bytes.Contains(lead, []byte("//"))) {
		if start--; start > 0 && d.text[start-1] == '\r' {
			start--
		}
	}
	// From behind to the front, so that offsets stay true.
	switch {
	case it.comma == it.end:
		d.replace(start, it.comma+1, "")
	case it.comma >= 0:
		d.replace(it.comma, it.comma+1, "")
		d.replace(start, it.end, "")
	default:
		d.replace(start, it.end, "")
		if n > 0 {
			comma := items[n-1].comma
			d.replace(comma, comma+1, "")
		}
	}
	return d.parse()
}

// prune takes away a member that holds nothing any more, neither values nor comments.
func (d *jsonDocument) prune(path []string) error {
	v, ok := d.find(path...)
	if !ok || len(d.items(v)) > 0 {
		return nil
	}
	open, shut := v.StartOffset+d.body(), v.EndOffset+d.body()-1
	if len(bytes.TrimSpace(d.text[open+1:shut])) > 0 {
		return nil
	}
	parent, _ := d.find(path[:len(path)-1]...)
	for n, i := range d.items(parent) {
		if i.value.StartOffset == v.StartOffset {
			return d.remove(parent, n)
		}
	}
	return nil
}

// fill gives an empty container the white space that it had.
func (d *jsonDocument) fill(path []string, inside string) error {
	v, ok := d.find(path...)
	if !ok || len(d.items(v)) > 0 {
		return nil
	}
	open, shut := v.StartOffset+d.body(), v.EndOffset+d.body()-1
	if len(bytes.TrimSpace(d.text[open+1:shut])) > 0 {
		return nil
	}
	d.replace(open+1, shut, inside)
	return d.parse()
}

// emptyInside gives the white space between the brackets of a container that holds nothing but it.
func (d *jsonDocument) emptyInside(path []string) (string, bool) {
	v, ok := d.find(path...)
	if !ok || len(d.items(v)) > 0 {
		return "", false
	}
	inside := string(d.text[v.StartOffset+d.body()+1 : v.EndOffset+d.body()-1])
	return inside, strings.TrimSpace(inside) == ""
}
