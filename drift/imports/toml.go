package imports

import (
	"fmt"
	"strings"
)

// tomlTable is a table of TOML: strings, tomlTable, []any and, for every other value, the literal as it was written
// (tomlLiteral).
type tomlTable map[string]any

type tomlLiteral string

// table gives the table at a path of keys; an empty one where there is none.
func (t tomlTable) table(keys ...string) tomlTable {
	for _, key := range keys {
		t, _ = t[key].(tomlTable)
	}
	return t
}

// string gives the string of a key; "" where there is none.
func (t tomlTable) string(key string) string {
	s, _ := t[key].(string)
	return s
}

// isTrue tells whether the value of a key is the literal true.
func (t tomlTable) isTrue(key string) bool { return t[key] == tomlLiteral("true") }

// list gives the array of a key; none where there is none.
func (t tomlTable) list(key string) []any {
	l, _ := t[key].([]any)
	return l
}

// strings gives the strings of an array.
func (t tomlTable) strings(key string) []string { return tomlStrings(t[key]) }

func tomlStrings(value any) []string {
	var out []string
	list, _ := value.([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// parseTOML reads what manifests are written in: tables, arrays of tables, dotted and quoted keys, every kind of string,
// arrays, inline tables. Numbers and dates are not checked. At a fault it gives what it read until there, and the error.
func parseTOML(text string) (tomlTable, error) {
	root := tomlTable{}
	p := tomlParser{text: text, line: 1}
	current := root
	for {
		p.blank(true)
		if p.pos >= len(p.text) {
			return root, nil
		}
		var err error
		if p.text[p.pos] == '[' {
			current, err = p.header(root)
		} else {
			err = p.assignment(current)
		}
		if err == nil {
			p.blank(false)
			if p.pos < len(p.text) && p.text[p.pos] != '\n' {
				err = p.fault("a line has something after its value")
			}
		}
		if err != nil {
			return root, err
		}
	}
}

type tomlParser struct {
	text  string
	pos   int
	line  int
	depth int // of arrays and inline tables
}

func (p *tomlParser) fault(what string) error { return fmt.Errorf("line %d: %s", p.line, what) }

// blank passes over blanks and comments, and over ends of lines when asked.
func (p *tomlParser) blank(lines bool) {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.pos++
		case c == '\n' && lines:
			p.line++
			p.pos++
		case c == '#':
			for p.pos < len(p.text) && p.text[p.pos] != '\n' {
				p.pos++
			}
		default:
			return
		}
	}
}

// take passes over s if it comes next.
func (p *tomlParser) take(s string) bool {
	if strings.HasPrefix(p.text[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

// header reads [a.b] or [[a.b]] and gives the table that it opens.
func (p *tomlParser) header(root tomlTable) (tomlTable, error) {
	p.pos++
	array := p.take("[")
	keys, err := p.keys()
	if err != nil {
		return root, err
	}
	if !p.take("]") || array && !p.take("]") {
		return root, p.fault("the header of a table is not closed")
	}
	parent, err := p.descend(root, keys[:len(keys)-1])
	if err != nil {
		return root, err
	}
	last := keys[len(keys)-1]
	if !array {
		return p.descend(parent, []string{last})
	}
	opened := tomlTable{}
	list, _ := parent[last].([]any)
	parent[last] = append(list, any(opened))
	return opened, nil
}

// descend gives the table at keys, and makes those that are missing. Of an array of tables it is the last one.
func (p *tomlParser) descend(t tomlTable, keys []string) (tomlTable, error) {
	for _, key := range keys {
		value, ok := t[key]
		if list, isList := value.([]any); isList && len(list) > 0 {
			value = list[len(list)-1]
		}
		if !ok {
			value = tomlTable{}
			t[key] = value
		}
		next, isTable := value.(tomlTable)
		if !isTable {
			return nil, p.fault(key + " is no table")
		}
		t = next
	}
	return t, nil
}

func (p *tomlParser) assignment(t tomlTable) error {
	keys, err := p.keys()
	if err != nil {
		return err
	}
	if !p.take("=") {
		return p.fault("a key has no value")
	}
	value, err := p.value()
	if err != nil {
		return err
	}
	t, err = p.descend(t, keys[:len(keys)-1])
	if err == nil {
		t[keys[len(keys)-1]] = value
	}
	return err
}

// keys reads a."b".c, with the blanks around.
func (p *tomlParser) keys() ([]string, error) {
	var keys []string
	for {
		p.blank(false)
		start := p.pos
		if p.pos < len(p.text) && (p.text[p.pos] == '"' || p.text[p.pos] == '\'') {
			key, err := p.string()
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		} else {
			for p.pos < len(p.text) && (isNameByte(p.text[p.pos]) || p.text[p.pos] == '-') {
				p.pos++
			}
			if p.pos == start {
				return nil, p.fault("a key was expected")
			}
			keys = append(keys, p.text[start:p.pos])
		}
		p.blank(false)
		if !p.take(".") {
			return keys, nil
		}
	}
}

// maxTOMLDepth bounds arrays within arrays.
const maxTOMLDepth = 32

func (p *tomlParser) value() (any, error) {
	p.blank(false)
	if p.pos >= len(p.text) {
		return nil, p.fault("a value was expected")
	}
	if p.depth++; p.depth > maxTOMLDepth {
		return nil, p.fault("arrays are nested too deep")
	}
	defer func() { p.depth-- }()
	switch p.text[p.pos] {
	case '"', '\'':
		return p.string()
	case '[':
		return p.array()
	case '{':
		return p.inlineTable()
	}
	start := p.pos
	for p.pos < len(p.text) && !strings.ContainsRune(",]}#\n", rune(p.text[p.pos])) {
		p.pos++
	}
	if literal := strings.TrimSpace(p.text[start:p.pos]); literal != "" {
		return tomlLiteral(literal), nil
	}
	return nil, p.fault("a value was expected")
}

func (p *tomlParser) array() (any, error) {
	p.pos++
	list := []any{}
	for {
		p.blank(true)
		if p.take("]") {
			return list, nil
		}
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, value)
		p.blank(true)
		if !p.take(",") && !strings.HasPrefix(p.text[p.pos:], "]") {
			return nil, p.fault("an array is not closed")
		}
	}
}

func (p *tomlParser) inlineTable() (any, error) {
	p.pos++
	t := tomlTable{}
	for {
		p.blank(true)
		if p.take("}") {
			return t, nil
		}
		if err := p.assignment(t); err != nil {
			return nil, err
		}
		p.blank(true)
		if !p.take(",") && !strings.HasPrefix(p.text[p.pos:], "}") {
			return nil, p.fault("an inline table is not closed")
		}
	}
}

// string reads a string of any of the four kinds. Of escapes, only those of quotes and backslashes matter to manifests.
func (p *tomlParser) string() (string, error) {
	quote := p.text[p.pos : p.pos+1]
	raw := quote == "'"
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.text[p.pos:], triple) {
		quote = triple
	}
	p.pos += len(quote)
	var out strings.Builder
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case p.take(quote):
			for len(quote) == 3 && p.take(quote[:1]) { // up to two quotes may stand before the closing three
				out.WriteString(quote[:1])
			}
			return out.String(), nil
		case c == '\\' && !raw && p.pos+1 < len(p.text):
			p.pos++
			out.WriteByte(p.text[p.pos])
			if p.text[p.pos] == '\n' {
				p.line++
			}
		case c == '\n' && len(quote) == 1:
			return "", p.fault("a string is not closed")
		default:
			if c == '\n' {
				p.line++
			}
			out.WriteByte(c)
		}
		p.pos++
	}
	return "", p.fault("a string is not closed")
}
