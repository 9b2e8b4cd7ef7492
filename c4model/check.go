package c4model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// depth gives the levels their order; a child is always deeper than its parent.
var depth = map[Level]int{Person: 1, System: 1, Container: 2, Component: 3, Code: 4}

// Check tells whether the model keeps the promises of its types: keys present and unique without case, parents known,
// before their children and of a higher level, names present, both ends of every relationship known. Readers call it
// last, so that nothing inconsistent leaves them; a model that was posted from outside needs it as much.
func (m *Model) Check() error {
	seen := make(map[string]Level, len(m.Elements))
	first := make(map[string]string, len(m.Elements))
	for _, e := range m.Elements {
		at := e.Source.String()
		if e.Key == "" || e.Name == "" {
			return problem.Invalidf("elements", "%san element has no key or no name (key %q, name %q)", at, e.Key, e.Name).
				Fix("give it both")
		}
		if depth[e.Level] == 0 {
			return problem.Invalidf("elements", "%selement %q has the unknown level %q", at, e.Key, e.Level).
				Fix("use person, system, container, component or code")
		}
		if other, ok := first[FoldKey(e.Key)]; ok {
			return problem.Invalidf("elements", "%stwo elements have the key %q (the other is written %q)", at, e.Key, other).
				Fix("give one of them another identifier")
		}
		if e.Parent != "" {
			level, ok := seen[e.Parent]
			if !ok {
				return problem.Invalidf("elements", "%sthe parent %q of element %q is not declared before it", at, e.Parent, e.Key).
					Fix("list parents before what is inside them")
			}
			if depth[level] >= depth[e.Level] {
				return problem.Invalidf("elements", "%sa %s (%q) cannot be inside a %s (%q)", at, e.Level, e.Key, level, e.Parent).
					Fix("containers are inside systems, components inside containers, code inside components")
			}
		}
		seen[e.Key] = e.Level
		first[FoldKey(e.Key)] = e.Key
	}
	for _, r := range m.Relationships {
		for _, end := range []string{r.Source, r.Destination} {
			if _, ok := seen[end]; !ok {
				return problem.Invalidf("relationships", "%sa relationship names the unknown element %q", r.Position.String(), end).
					Fix("declare the element, or leave the relationship out")
			}
		}
	}
	return nil
}

// String gives "file:line: ", "file: " or nothing, ready to stand before a message.
func (p Position) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", p.File, p.Line)
}

// Place is the position inside a sentence: "file:line".
func (p Position) Place() string { return strings.TrimSuffix(p.String(), ": ") }

// Quote quotes a piece of a model's text for a message, at most 60 bytes of it.
func Quote(text string) string {
	const longest = 60
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return strconv.Quote(text)
}
