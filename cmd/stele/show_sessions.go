package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// sessionStarted tells what stands in the way first, then how to go on, then what is known.
func (p *printer) sessionStarted(s session.Started) {
	deny := s.Gate.Verdict == session.Deny
	if deny {
		p.line("%s: no work session was started", p.paint(alarm, "Denied"))
	}
	for _, reason := range s.Gate.Reasons {
		head := "warning: "
		if deny {
			head = indent
		}
		p.hanging(head, indent+indent, memory.Line(reason))
	}
	if deny {
		p.line("Wait until they have finished (stele session list), or work elsewhere.")
		p.warnings(s.Warnings)
		return
	}
	verb := "Started"
	if s.Adopted {
		verb = "Going on with"
	}
	p.line("%s work session %s", verb, p.paint(strong, s.SessionID))
	p.leases(s.Leases)
	p.line("%sexport STELE_SESSION=%s", indent, s.SessionID)
	p.warnings(s.Warnings)
	if text := briefingText(s.Briefing); text != "" {
		p.line("")
		p.prose("", text)
	}
}

// briefingText is a briefing for people: without its head, which tells agents what to do, and without the marks around it.
func briefingText(briefing string) string {
	_, body, _ := strings.Cut(briefing, "\n")
	var out []string
	for l := range strings.Lines(body) {
		if l = strings.TrimRight(l, "\n"); !strings.HasPrefix(l, "<stele-memory") && l != "</stele-memory>" {
			out = append(out, l)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

func (p *printer) leases(leases []session.Lease) {
	if len(leases) == 0 {
		return
	}
	parts := make([]string, len(leases))
	for n, l := range leases {
		parts[n] = memory.Line(l.Element.Key)
		switch {
		case l.Exclusive:
			parts[n] += " (alone)"
		case l.Soft:
			parts[n] += " (seen by a hook)"
		}
	}
	p.hanging(indent+"on: ", indent+"    ", strings.Join(parts, ", "))
}

// session is one in a list.
func (p *printer) session(s session.Summary) {
	head := p.paint(strong, s.SessionID) + "  " + memory.Line(s.Author) + "  "
	switch {
	case s.State == session.Active:
		head += fmt.Sprintf("since %s, last sign of life %s", s.StartedAt.UTC().Format(dateTime), s.BeatAt.UTC().Format(time.TimeOnly))
	case s.EndedAt != nil:
		head += fmt.Sprintf("%s %s", s.State, s.EndedAt.UTC().Format(dateTime))
	default:
		head += string(s.State)
	}
	p.title(head)
	if s.Task != "" {
		p.prose(indent, memory.Line(s.Task))
	}
	p.leases(s.Leases)
	if s.Outcome != "" {
		partial := ""
		if s.Partial {
			partial = " (partial: it never finished)"
		}
		p.line("%soutcome: %s%s", indent, s.Outcome, partial)
	}
}

// sessionEnded tells what is kept of a session.
func (p *printer) sessionEnded(e session.Ended) {
	p.line("Finished %s", p.paint(strong, e.SessionID))
	switch m := e.Memory; {
	case m == nil:
		p.line("%snothing was said, decided or edited, so there is no outcome", indent)
	case len(m.Elements) == 0:
		p.line("%soutcome: %s, on no element", indent, m.Handle)
	default:
		p.hanging(indent+"outcome: ", indent+"         ", m.Handle+" on "+attachments(m.Elements))
	}
	if len(e.Cited) > 0 {
		p.hanging(indent+"cited: ", indent+"       ", strings.Join(e.Cited, ", "))
	}
	for _, name := range e.Unmatched {
		p.hanging(indent+"unmatched: ", indent+"           ", memory.Line(name)+" is no memory known here")
	}
	p.followUps("left open: ", e.FollowUps)
	p.followUps("closed: ", e.Closed)
	for _, r := range e.Redacted {
		p.line("%sredacted: %d × %s", indent, r.Count, memory.Line(r.Kind))
	}
	p.warnings(e.Warnings)
}

func (p *printer) followUps(head string, list []session.FollowUp) {
	for _, f := range list {
		p.hanging(indent+head, indent+strings.Repeat(" ", len(head)), memory.Line(f.Text))
	}
}

// receipt shows what a session was shown and what it used of that.
func (p *printer) receipt(r session.Receipt) {
	p.session(r.Summary)
	if len(r.Edited) > 0 {
		p.hanging(indent+"edited: ", indent+"        ", memory.Plain(strings.Join(r.Edited, ", ")))
	}
	p.followUps("left open: ", r.FollowUps)
	if len(r.Served) == 0 {
		p.line("%sit was shown no memory", indent)
		return
	}
	p.line("%sshown, for %s:", indent, count(r.Tokens, "token"))
	for _, s := range r.Served {
		used := ""
		switch {
		case s.Observed:
			used = "  used, as seen"
		case s.Cited:
			used = "  used"
		}
		line := fmt.Sprintf("%s  %s  %s", s.FirstAt.UTC().Format(time.TimeOnly), s.Handle, pad(string(s.Door), len(memory.DoorBriefing)))
		if s.Times > 1 {
			line += fmt.Sprintf("  ×%d", s.Times)
		}
		room := p.width - len(indent+indent) - columns(line) - columns(used) - 2
		p.line("%s%s  %s%s", indent+indent, line, short(memory.Line(s.Title), max(room, minWrap)), p.paint(strong, used))
	}
	if !r.Reporting && r.State == session.Finished {
		p.line("%sit did not say what it relied on", indent)
	}
}
