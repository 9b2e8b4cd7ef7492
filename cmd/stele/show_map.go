package main

import (
	"fmt"
	"strings"

	"github.com/stele-dev/stele/memory"
)

// shownHoles bounds the holes of a printed map; --json has all.
const shownHoles = 5

// knowledgeMap writes the map as a tree and ends with the headline.
func (p *printer) knowledgeMap(m memory.Map) {
	depth := map[string]int{}
	names := make([]string, len(m.Elements))
	column := 0
	for n, e := range m.Elements {
		if parent, ok := depth[e.Parent]; ok {
			depth[e.Key] = parent + 1
		} else {
			depth[e.Key] = 0
		}
		names[n] = strings.Repeat(indent, depth[e.Key]) + memory.Line(e.Name)
		column = max(column, columns(names[n]))
	}
	column = min(column, p.width/2)
	for n, e := range m.Elements {
		p.hanging(pad(short(names[n], column), column)+"  ", strings.Repeat(" ", column+2), p.cell(e))
	}
	if len(m.Holes) > 0 {
		p.line("")
		p.line("Nothing is known about:")
		for _, h := range m.Holes[:min(len(m.Holes), shownHoles)] {
			p.line("%s%s", indent, memory.Line(h.Key))
			p.line("%s%s", indent+indent, memory.Line(h.Command))
		}
		if more := len(m.Holes) - shownHoles; more > 0 {
			p.line("%sand %d more", indent, more)
		}
	}
	p.line("")
	if m.LastMemoryAt != nil {
		p.line("last memory written %s", m.LastMemoryAt.UTC().Format(dateTime))
	}
	p.line("%s", p.paint(strong, memory.Line(m.Headline)))
}

// cell tells what is known about one element.
func (p *printer) cell(e memory.MapElement) string {
	var counts []string
	for _, k := range memory.Kinds {
		if n := e.Memories[k]; n > 0 {
			counts = append(counts, count(n, kindName(k)))
		}
	}
	if counts == nil {
		return p.paint(faint, "·")
	}
	text := strings.Join(counts, ", ") + fmt.Sprintf(", fresh %.2f", e.Freshness)
	if e.Verify > 0 {
		text += fmt.Sprintf(", %d in doubt", e.Verify)
	}
	return text
}
