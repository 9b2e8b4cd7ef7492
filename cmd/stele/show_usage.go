package main

import (
	"fmt"
	"strings"

	"github.com/stele-dev/stele/memory"
)

// shownUses is how many servings and citations the command line lists; --json has all that are known one by one.
const shownUses = 10

// usage writes where a memory was served and cited.
func (p *printer) usage(u memory.Usage) {
	p.line("")
	if u.Served == 0 && u.Cited == 0 {
		p.line("%sserved to no session yet", indent)
		return
	}
	text := "served " + count(u.Served, "time")
	if parts := servedParts(u); parts != "" {
		text += ": " + parts
	}
	p.hanging(indent, indent+indent, text)
	for _, d := range u.Doors {
		text := fmt.Sprintf("%s  %s, %s, last %s", pad(string(d.Door), len(memory.DoorBriefing)), count(d.Times, "time"), count(d.Sessions, "session"), d.LastAt.UTC().Format(dateTime))
		if d.Recent > 0 {
			text += fmt.Sprintf("; %d in 30 days", d.Recent)
		}
		p.line("%s%s", indent+indent, text)
	}
	if len(u.Servings) > 0 {
		p.line("%slately:", indent)
	}
	for _, s := range u.Servings[:min(len(u.Servings), shownUses)] {
		text := s.LastAt.UTC().Format(dateTime) + "  " + pad(string(s.Door), len(memory.DoorBriefing)) + "  " + sessionOf(s.SessionID, s.Author)
		if s.Times > 1 {
			text += fmt.Sprintf(" ×%d", s.Times)
		}
		if s.Cited {
			text += "  used"
		}
		p.line("%s%s", indent+indent, text)
	}
	p.line("%scited by %s", indent, count(u.Cited, "session"))
	for _, c := range u.Citations[:min(len(u.Citations), shownUses)] {
		text := c.At.UTC().Format(dateTime) + "  " + sessionOf(c.SessionID, c.Author)
		if c.Observed {
			text += ", seen in what it wrote"
		}
		p.line("%s%s", indent+indent, text)
	}
	if u.Ignored.Reason != "" {
		p.hanging(indent+"ignored: ", indent+indent, memory.Line(u.Ignored.Reason))
	}
}

// servedParts says how a memory was served, as far as it is known.
func servedParts(u memory.Usage) string {
	var parts []string
	if u.Whole > 0 {
		parts = append(parts, fmt.Sprintf("%d whole", u.Whole))
	}
	if u.Lines > 0 {
		parts = append(parts, fmt.Sprintf("%d as a line", u.Lines))
	}
	if u.Counted > 0 {
		parts = append(parts, fmt.Sprintf("%d over half a year ago", u.Counted))
	}
	return strings.Join(parts, ", ")
}

// sessionOf names a session to people.
func sessionOf(id, author string) string {
	if id == "" {
		return "a session that has no name here"
	}
	return memory.Line(id) + "  " + memory.Line(author)
}
