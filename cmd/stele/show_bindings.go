package main

import (
	"fmt"
	"strings"

	"github.com/stele-dev/stele/drift/bind"
	"github.com/stele-dev/stele/memory"
)

// suggestion tells what is proposed for one element, and why.
func (p *printer) suggestion(g bind.Suggestion) {
	p.line("%s  %s", p.paint(strong, memory.Line(g.Element)), memory.Line(g.Pattern))
	p.prose(indent, fmt.Sprintf("%.2f: %s", g.Confidence, strings.Join(g.Reasons, ", ")))
	files := count(g.Files, "file")
	if len(g.Sample) > 0 {
		files += ": " + strings.Join(g.Sample, ", ")
	}
	if g.Files > len(g.Sample) {
		files += " …"
	}
	p.prose(indent, files)
}

func (p *printer) suggested(s suggested) {
	sure := 0
	for _, g := range s.Suggestions {
		p.suggestion(g)
		if g.Confidence >= likely {
			sure++
		}
	}
	if len(s.Suggestions) > 0 {
		p.line("")
	}
	if len(s.Unbound) > 0 {
		p.unbound("without a suggestion", s.Unbound)
		p.line("%sbind them: stele bind set ELEMENT GLOB; or say why not: stele bind none ELEMENT REASON", indent)
	}
	switch {
	case len(s.Suggestions) == 0 && len(s.Unbound) == 0:
		p.line("every element in scope is bound, or said to have no code")
	case sure > 0:
		p.line("Next: stele bind accept writes the %s of %.1f and more into %s", count(sure, "suggestion"), likely, memory.Line(s.File))
	case len(s.Suggestions) > 0:
		p.line("Next: stele bind accept ELEMENT writes one into %s", memory.Line(s.File))
	}
}

// maxShownUnbound bounds the elements that are listed as unbound; --json has all.
const maxShownUnbound = 12

func (p *printer) unbound(what string, keys []string) {
	text := strings.Join(keys[:min(len(keys), maxShownUnbound)], ", ")
	if more := len(keys) - maxShownUnbound; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	p.hanging(count(len(keys), "element")+" "+what+": ", indent, memory.Plain(text))
}

func (p *printer) accepted(a accepted) {
	for _, g := range a.Accepted {
		p.line("%s  %s  %s", memory.Line(g.Element), memory.Line(g.Pattern), p.paint(faint, count(g.Files, "file")))
	}
	switch {
	case a.Changed:
		p.line("Wrote %s into %s; commit it", count(len(a.Accepted), "binding"), memory.Line(a.File))
		p.line("Next: stele model import, so that memories find their element; stele drift run")
	case len(a.Accepted) == 0:
		p.line("nothing was accepted")
	}
	if len(a.Left) > 0 {
		p.line("%s left; see: stele bind suggest", count(len(a.Left), "suggestion"))
	}
}

func (p *printer) boundElement(e boundElement) {
	for _, b := range e.Patterns {
		p.line("%s  %s  %s", memory.Line(e.Element), memory.Line(b.Pattern), p.paint(faint, count(b.Files, "file")))
	}
	if e.Reason != "" {
		p.prose("", e.Element+" has no code here: "+e.Reason)
	}
	if e.Changed {
		p.line("Wrote %s; commit it", memory.Line(e.File))
	} else {
		p.line("%s says so already", memory.Line(e.File))
	}
	p.warnings(e.Warnings)
}

func (p *printer) bindingList(l listed) {
	for _, b := range l.Bindings {
		files := count(b.Files, "file")
		if b.Owned != b.Files {
			files += fmt.Sprintf(", %d of them its own", b.Owned)
		}
		p.line("%s  %s  %s", p.paint(strong, memory.Line(b.Element)), memory.Line(b.Pattern), p.paint(faint, files+", "+memory.Line(b.Source)))
	}
	for _, n := range l.None {
		p.line("%s  %s", p.paint(strong, memory.Line(n.Element)), p.paint(faint, "no code here: "+memory.Line(n.Reason)))
	}
	for _, t := range l.Ties {
		p.prose("", fmt.Sprintf("%s alike: %s, such as %s; bind one of them more exactly", strings.Join(t.Elements, " and "), count(t.Files, "file"), t.Sample))
	}
	if len(l.Unbound) > 0 {
		p.unbound("unbound", l.Unbound)
		p.line("%sNext: stele bind suggest", indent)
	}
	p.warnings(l.Warnings[:min(len(l.Warnings), maxShownChanges)])
}
