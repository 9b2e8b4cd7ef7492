package draft

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stele-dev/stele/c4model"
)

// external tags what is not code of the project; it is out of scope of every comparison.
const external = "External"

// system is a proposal that can be written as Structurizr DSL.
type system struct {
	id, name, about string
	children        []*element
	needs           []need
	relationships   []relationship
}

// element is a container or component.
type element struct {
	id, name, about, technology string
	tags                        []string
	paths                       []string // folders, files and globs from the top of the repository
	group                       string
	children                    []*element
}

// need is a dependency at run time.
type need struct{ from, to *element }

// relationship is one between keys of elements.
type relationship struct{ from, to, about string }

func newSystem(name, about string) *system {
	s := &system{name: cmp.Or(text(name), "System"), about: text(about)}
	s.id = identifier(s.name, nil)
	return s
}

func (s *system) add(e *element) { s.children = append(s.children, e) }

// finish gives elements unique names and identifiers, and makes the paths patterns of which no two are the same.
func (s *system) finish() {
	used := map[string]bool{}
	finish(s.children, used)
	s.children = slices.DeleteFunc(s.children, func(e *element) bool {
		return len(e.paths) == 0 && len(e.children) == 0 && !slices.Contains(e.tags, external)
	})
	known := map[relationship]bool{}
	for _, n := range s.needs {
		// The word "file" tells the comparison, too, that no import shows it.
		r := relationship{s.id + "." + n.from.id, s.id + "." + n.to.id, "Needs, by the compose file"}
		if slices.Contains(s.children, n.from) && slices.Contains(s.children, n.to) && !known[r] {
			known[r] = true
			s.relationships = append(s.relationships, r)
		}
	}
}

func finish(elements []*element, patterns map[string]bool) {
	names, ids := map[string]bool{}, map[string]bool{}
	for _, e := range elements {
		e.name, e.about, e.technology, e.group = text(e.name), text(e.about), text(e.technology), text(e.group)
		e.name = unused(e, names)
		names[c4model.FoldName(e.name)] = true
		e.id = identifier(e.name, ids)
		ids[e.id] = true
		var paths []string
		for _, p := range e.paths {
			if glob := pattern(p); !patterns[glob] {
				patterns[glob] = true
				paths = append(paths, glob)
			}
		}
		e.paths = paths
		finish(e.children, patterns)
		e.children = slices.DeleteFunc(e.children, func(c *element) bool { return len(c.paths) == 0 })
	}
}

// unused gives an element the first of these names that no sibling has: its own, that of its folder, that with the folder
// around it, its own with a number.
func unused(e *element, names map[string]bool) string {
	candidates := []string{e.name}
	if len(e.paths) > 0 {
		base, above := path.Base(e.paths[0]), path.Base(path.Dir(e.paths[0]))
		candidates = append(candidates, text(base))
		if above != "." && above != "/" {
			candidates = append(candidates, text(above+"/"+base))
		}
	}
	for _, name := range candidates {
		if name != "" && !names[c4model.FoldName(name)] {
			return name
		}
	}
	own := cmp.Or(e.name, "unnamed")
	name := own
	for n := 2; names[c4model.FoldName(name)]; n++ {
		name = own + " " + strconv.Itoa(n)
	}
	return name
}

// reserved are words of the language that no element should be called by.
var reserved = map[string]bool{
	"this": true, "person": true, "softwaresystem": true, "container": true, "component": true, "element": true, "group": true, "model": true,
	"views": true, "workspace": true, "properties": true, "tags": true, "tag": true, "url": true, "description": true, "technology": true,
	"enterprise": true, "deploymentenvironment": true, "archetypes": true, "perspectives": true, "configuration": true, "name": true,
}

// identifier makes a name an identifier of the language: lower case letters without marks, digits and _, other than those used.
func identifier(name string, used map[string]bool) string {
	var b strings.Builder
	for _, r := range c4model.Slug(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	id := strings.Trim(b.String(), "_")
	if id == "" || id[0] >= '0' && id[0] <= '9' || reserved[id] {
		id = strings.TrimSuffix("e_"+id, "_")
	}
	for n, base := 2, id; used[id]; n++ {
		id = base + "_" + strconv.Itoa(n)
	}
	return id
}

// text makes what comes from a repository safe between quotes: one line of printable characters without quotes, back slashes
// and references to constants.
func text(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r == '\\':
			return '/'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "${", "{")), " ")
}

// special are the characters with a meaning in globs.
const special = "*?{}["

// otherCharacter stands for one character that cannot be written: any but the special ones and those that pattern writes, as far as a
// class can name them. A wider one would cover folders that are called the same but for such a one, as exactly as their own patterns do.
const otherCharacter = "[^" + special + "A-Za-z0-9_.+@=()]"

// pattern makes a path a binding that means it and can be written in a property. What is special in a glob becomes a class of one
// character, which means it alone. What a property or the language would read otherwise becomes otherCharacter. What begins with a
// slash is a glob and keeps its stars.
func pattern(p string) string {
	var b strings.Builder
	p, star := strings.CutPrefix(p, "/")
	for i, r := range p {
		edge := i == 0 || i == len(p)-1
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("/-_.+@=()", r), r == ' ' && !edge, r == '*' && star:
			b.WriteRune(r)
		case strings.ContainsRune(special, r):
			b.WriteString("[" + string(r) + "]")
		default:
			b.WriteString(otherCharacter)
		}
	}
	out := b.String()
	if !strings.Contains(out, "/") {
		out = "/" + out
	}
	return out
}

// dsl writes the proposal.
func (s *system) dsl() string {
	w := &writer{}
	w.line("// Proposed by stele model draft, from modules, packages and imports. Rename, join and describe; what is drawn is yours.")
	w.open("workspace %s", quote(s.name))
	w.line("!identifiers hierarchical")
	w.line("")
	w.open("model")
	w.open("%s = softwareSystem %s", s.id, arguments(s.name, s.about))
	s.containers(w)
	w.close()
	if len(s.relationships) > 0 {
		w.line("")
	}
	for _, r := range s.relationships {
		w.line("%s -> %s %s", r.from, r.to, quote(r.about))
	}
	w.close()
	w.line("")
	s.views(w)
	w.close()
	return w.b.String()
}

// containers writes those without a group, then group by group.
func (s *system) containers(w *writer) {
	var groups []string
	for _, e := range s.children {
		if e.group == "" {
			w.element("container", e)
		} else if !slices.Contains(groups, e.group) {
			groups = append(groups, e.group)
		}
	}
	for _, g := range groups {
		w.open("group %s", quote(g))
		for _, e := range s.children {
			if e.group == g {
				w.element("container", e)
			}
		}
		w.close()
	}
}

// views draws the system, and each container that has components.
func (s *system) views(w *writer) {
	view := func(kind, key string) {
		w.open("%s %s", kind, key)
		w.line("include *")
		w.line("autoLayout")
		w.close()
	}
	w.open("views")
	view("container", s.id)
	for _, e := range s.children {
		if len(e.children) > 0 {
			view("component", s.id+"."+e.id)
		}
	}
	w.close()
}

type writer struct {
	b     strings.Builder
	depth int
}

func (w *writer) line(format string, args ...any) {
	if format != "" {
		w.b.WriteString(strings.Repeat("    ", w.depth))
		fmt.Fprintf(&w.b, format, args...)
	}
	w.b.WriteByte('\n')
}

func (w *writer) open(format string, args ...any) {
	w.line(format+" {", args...)
	w.depth++
}

func (w *writer) close() {
	w.depth--
	w.line("}")
}

func (w *writer) element(kind string, e *element) {
	head := fmt.Sprintf("%s = %s %s", e.id, kind, arguments(e.name, e.about, e.technology, strings.Join(e.tags, ",")))
	if len(e.paths)+len(e.children) == 0 {
		w.line("%s", head)
		return
	}
	w.open("%s", head)
	if len(e.paths) > 0 {
		w.open("properties")
		w.line("path %s", quote(strings.Join(e.paths, ", ")))
		w.close()
	}
	for _, c := range e.children {
		w.element("component", c)
	}
	w.close()
}

func quote(s string) string { return `"` + s + `"` }

// arguments writes positional arguments, without the empty ones at the end.
func arguments(values ...string) string {
	for len(values) > 1 && values[len(values)-1] == "" {
		values = values[:len(values)-1]
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return strings.Join(quoted, " ")
}
