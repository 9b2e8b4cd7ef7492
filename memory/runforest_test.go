package memory_test

import (
	"fmt"
	"slices"
	"strings"
)

// The project of TestRunStateMachine: texts, models and commits, in the terms of the oracle.

// parts are the elements, each a folder. The third has two files.
var parts = []string{"alder", "birch", "cedar", "maple"}

// source is the text of a file.
type source struct {
	part           int
	extra          bool // the second file of its part
	minor, major   int  // versions of two and of eight lines
	symbol, python bool // it declares what memories quote; its language
}

func symbolOf(part int) string { return parts[part] + "Handler" }

func (s source) String() string {
	name := parts[s.part]
	if s.extra {
		name += "Extra"
	}
	var b strings.Builder
	if s.python {
		fmt.Fprintf(&b, "# the snake of %s\n", name)
	} else {
		fmt.Fprintf(&b, "package %s\n", parts[s.part])
	}
	line := func(kind string, n, version int) {
		if s.python {
			fmt.Fprintf(&b, "%s_%s_%d_py = \"%s %d end\"\n", name, kind, n, kind, version)
		} else {
			fmt.Fprintf(&b, "var %s%s%d = \"%s %d end\"\n", name, kind, n, kind, version)
		}
	}
	for n := range 2 {
		line("minor", n, s.minor)
	}
	if s.symbol && s.python {
		fmt.Fprintf(&b, "def %s(): pass\n", symbolOf(s.part))
	} else if s.symbol {
		fmt.Fprintf(&b, "func %s() {}\n", symbolOf(s.part))
	}
	for n := range 8 {
		line("major", n, s.major)
	}
	return b.String()
}

// freshSources are the files of a part, in its folder.
func freshSources(part, version int) map[string]source {
	name := parts[part]
	out := map[string]source{name + "/" + name + ".go": {part: part, symbol: true, minor: version, major: version}}
	if part == 2 {
		out[name+"/extra.go"] = source{part: part, extra: true, minor: version, major: version}
	}
	return out
}

// design is a model with its bindings and waivers.
type design struct {
	plots  [4]plot
	waived string // fingerprints
	known  string // the same, as keys of findings
}

type plot struct {
	key, home string
	removed   bool
}

func initialDesign() design {
	var d design
	for n, name := range parts {
		d.plots[n] = plot{key: name, home: name}
	}
	return d
}

// texts are the model and the settings of a design.
func (d design) texts() (model, settings string) {
	model = "workspace {\n!identifiers hierarchical\nmodel {\nsys = softwareSystem \"Forest\" {\nbox = container \"Trees\" {\n"
	settings = "model: workspace.dsl\nbindings:\n"
	for n, p := range d.plots {
		if !p.removed {
			model += fmt.Sprintf("%s = component \"The %s\" \"\" \"Go\" {\nproperties {\nstele.id tree-%d\n}\n}\n", p.key, p.key, n)
			settings += fmt.Sprintf("  sys.box.%s: [\"%s/**\"]\n", p.key, p.home)
		}
	}
	model += "}\n}\n}\n}\n"
	for n, fingerprint := range strings.Fields(d.waived) {
		if n == 0 {
			settings += "waivers:\n"
		}
		settings += fmt.Sprintf("  - fingerprint: %s\n    reason: known\n    expires: 2026-12-01\n", fingerprint)
	}
	return model, settings
}

// homes are the folders that parts are bound to; empty when the model has none of them.
func (d design) homes(of []int) []string {
	var out []string
	for _, n := range of {
		if !d.plots[n].removed {
			out = append(out, d.plots[n].home+"/")
		}
	}
	return out
}

// snap is a commit.
type snap struct {
	id      string
	parents []*snap
	files   map[string]string
	design  design
}

// below are the files of folders; of none, all.
func (s *snap) below(homes []string) map[string]string {
	if len(homes) == 0 {
		return s.files
	}
	out := map[string]string{}
	for path, text := range s.files {
		if slices.ContainsFunc(homes, func(h string) bool { return strings.HasPrefix(path, h) }) {
			out[path] = text
		}
	}
	return out
}

func (s *snap) with(text string) bool {
	for _, t := range s.files {
		if t == text {
			return true
		}
	}
	return false
}

// holders are those of some files that declare the symbol of a part.
func (o *oracle) holders(files map[string]string, part int) []string {
	var out []string
	for path, text := range files {
		if s, ok := o.sources[text]; ok && s.part == part && s.symbol {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// line are the first parents of a commit, itself first.
func (s *snap) line() []*snap {
	var out []*snap
	for at := s; at != nil; at = at.first() {
		out = append(out, at)
	}
	return out
}

func (s *snap) first() *snap {
	if len(s.parents) == 0 {
		return nil
	}
	return s.parents[0]
}

// history is a commit with everything before it.
func (s *snap) history() map[*snap]bool {
	out := map[*snap]bool{}
	for todo := []*snap{s}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at != nil && !out[at] {
			out[at] = true
			todo = append(todo, at.parents...)
		}
	}
	return out
}

// check is a statement about a folder.
type check struct {
	part     int
	home     string
	language bool // that it has Go, if anything; else that it has anything
}

func (c check) key(d design) string { return fmt.Sprint(d.plots[c.part].key, c.home, c.language) }

// passes tells whether a commit has what the check wants.
func (c check) passes(s *snap) bool {
	if s == nil {
		return false
	}
	some := false
	for path := range s.files {
		if strings.HasPrefix(path, c.home+"/") {
			if some = true; strings.HasSuffix(path, ".go") {
				return true
			}
		}
	}
	return some != c.language
}

// fails are the checks that a commit does not pass.
func (s *snap) fails() []check {
	var out []check
	for n, p := range s.design.plots {
		exists, language := check{n, p.home, false}, check{n, p.home, true}
		switch {
		case p.removed:
		case !exists.passes(s):
			out = append(out, exists)
		case !language.passes(s):
			out = append(out, language)
		}
	}
	return out
}
