package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/stele-dev/stele/memory"
)

const dateTime = "2006-01-02 15:04"

// indent of what belongs to a memory.
const indent = "  "

// heading is the first line of a memory: handle, kind, title.
func (p *printer) heading(m memory.Memory) string {
	h := p.paint(strong, memory.Plain(m.Handle)) + "  " + kindName(m.Kind)
	if m.Title != "" {
		h += "  " + p.paint(strong, memory.Line(m.Title))
	}
	return h
}

func kindName(k memory.Kind) string { return strings.ReplaceAll(memory.Line(string(k)), "_", " ") }

// memory writes a memory in full.
func (p *printer) memory(m memory.Memory) {
	p.title(p.heading(m))
	p.body(m)
}

// title writes a heading as it is where it fits, else wrapped.
func (p *printer) title(heading string) {
	if columns(heading) <= p.width {
		p.line("%s", heading)
		return
	}
	p.hanging("", indent, heading)
}

// body writes what stands below the heading.
func (p *printer) body(m memory.Memory) {
	for _, f := range m.Flags {
		p.hanging(indent, indent+indent, p.paint(alarm, strings.ToUpper(memory.Line(f.Flag)))+": "+memory.Line(f.Reason))
	}
	p.prose(indent, m.Content)
	if m.Why != "" {
		p.hanging(indent+"why: ", indent+"     ", memory.Plain(m.Why))
	}
	p.facts(m)
}

// facts writes where a memory hangs and where it comes from.
func (p *printer) facts(m memory.Memory) {
	if len(m.Elements) > 0 {
		p.hanging(indent+"on: ", indent+"    ", attachments(m.Elements))
	}
	if len(m.Paths) > 0 {
		p.hanging(indent+"paths: ", indent+"       ", memory.Plain(strings.Join(m.Paths, ", ")))
	}
	if len(m.Tags) > 0 {
		p.hanging(indent+"tags: ", indent+"      ", memory.Plain(strings.Join(m.Tags, ", ")))
	}
	for _, l := range m.Links {
		switch {
		case l.Target != "":
			p.hanging(indent+"link: ", indent+"      ", memory.Line(l.Text+" → "+l.Target+" "+l.Title))
		case l.Note != "":
			p.hanging(indent+"link: ", indent+"      ", memory.Line(l.Text+" is "+l.Note))
		default:
			p.hanging(indent+"link: ", indent+"      ", memory.Line(l.Text)+" leads nowhere yet")
		}
	}
	p.hanging(indent, indent, p.provenance(m))
}

func (p *printer) provenance(m memory.Memory) string {
	var parts []string
	if m.Author != "" { // a decision has none
		parts = append(parts, "by "+memory.Line(m.Author))
	}
	if !m.CreatedAt.IsZero() {
		parts = append(parts, m.CreatedAt.UTC().Format(dateTime))
	}
	if m.Confirmations > 0 {
		parts = append(parts, fmt.Sprintf("confirmed %s, last %s", count(m.Confirmations, "time"), m.ConfirmedAt.UTC().Format(dateTime)))
	}
	if m.Scope != "" && m.Scope != memory.Project {
		parts = append(parts, string(m.Scope))
	}
	if m.Status != "" && m.Status != memory.Live {
		status := memory.Line(string(m.Status))
		if m.SupersededBy != "" {
			status += " by " + memory.Line(m.SupersededBy)
		}
		parts = append(parts, status)
	}
	if m.ExpiresAt != nil {
		parts = append(parts, "expires "+m.ExpiresAt.UTC().Format(dateTime))
	}
	return strings.Join(parts, " · ")
}

// attachments names elements with the reason they are attached for: "bank.api.auth (by auth/mw.go)".
func attachments(es []memory.ElementRef) string {
	parts := make([]string, len(es))
	for n, e := range es {
		parts[n] = memory.Line(e.Key)
		switch {
		case e.Orphan:
			parts[n] += " (left the model)"
		case e.Reason != "":
			parts[n] += " (" + memory.Line(e.Reason) + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// remembered tells what became of a fact.
func (p *printer) remembered(r memory.RememberResponse) {
	m := r.Memory
	switch {
	case r.Echo:
		p.line("Nothing changed: this says what was just shown, %s", p.paint(strong, m.Handle))
	case r.Deduplicated:
		p.line("Confirmed %s, which already says this (%s)", p.paint(strong, m.Handle), count(m.Confirmations, "confirmation"))
	default:
		p.line("Remembered %s  %s", p.paint(strong, m.Handle), kindName(m.Kind))
	}
	if len(m.Elements) > 0 {
		p.hanging(indent+"on: ", indent+"    ", attachments(m.Elements))
	}
	if r.Restated != nil {
		p.hanging(indent+"yours:    ", indent+"          ", memory.Plain(r.Restated.Yours))
		p.hanging(indent+"existing: ", indent+"          ", memory.Plain(r.Restated.Existing))
		p.line("%sto keep both, remember it again with --separate", indent)
	}
	for _, x := range r.Redacted {
		p.hanging(indent+"redacted: ", indent+"          ", count(x.Count, memory.Line(x.Kind)))
	}
	if len(r.SimilarTo) > 0 {
		p.prose(indent, "similar, kept apart; if yours replaces one, say --supersedes HANDLE:")
		for _, s := range r.SimilarTo {
			p.hanging(indent+indent, indent+indent+indent, similar(s))
		}
	}
	p.warnings(r.Warnings)
}

func similar(s memory.Similar) string {
	text := memory.Line(s.Handle) + "  "
	if s.Title != "" {
		text += memory.Line(s.Title) + ": "
	}
	text += memory.Line(s.Excerpt)
	var how []string
	if s.Cosine > 0 {
		how = append(how, fmt.Sprintf("cosine %.2f", s.Cosine))
	}
	if s.Overlap > 0 {
		how = append(how, fmt.Sprintf("words %.2f", s.Overlap))
	}
	if s.Differs != "" {
		how = append(how, "differs in "+memory.Line(s.Differs))
	}
	if how != nil {
		text += " (" + strings.Join(how, ", ") + ")"
	}
	return text
}

func (p *printer) warnings(ws []string) {
	for _, w := range ws {
		p.hanging(indent+"note: ", indent+"      ", memory.Plain(w))
	}
}

// recalled writes the results of a recall, best first.
func (p *printer) recalled(r memory.RecallResponse) {
	for n, result := range r.Results {
		if n > 0 {
			p.line("")
		}
		p.result(result)
	}
	if len(r.Index) > 0 {
		if len(r.Results) > 0 {
			p.line("")
		}
		p.line("Not shown for the budget of tokens; stele get opens them:")
		for _, e := range r.Index {
			p.line("%s%s", indent, short(fmt.Sprintf("%s  %s  %s (%d tokens)", memory.Line(e.Handle), kindName(e.Kind), memory.Line(e.Title), e.Tokens), p.width-len(indent)))
		}
	}
	if r.Empty != "" {
		p.prose("", r.Empty)
	}
	if r.Degraded != nil && r.Empty == "" {
		p.line("")
		text := "Something may be missing: " + memory.Line(r.Degraded.Reason)
		if r.Degraded.Unindexed > 0 {
			text += fmt.Sprintf(" (%d)", r.Degraded.Unindexed)
		}
		p.hanging("", "", p.paint(faint, text))
	}
}

func (p *printer) result(r memory.Result) {
	p.title(p.heading(r.Memory))
	if r.Via != nil {
		p.hanging(indent, indent, "linked from "+strings.TrimSpace(memory.Line(r.Via.Handle)+" "+memory.Line(r.Via.Title)))
	}
	p.body(r.Memory)
	if r.Truncated {
		p.line("%s… cut to the budget; stele get %s shows all", indent, memory.Plain(r.Handle))
	}
	if len(r.Folded) > 0 {
		p.hanging(indent, indent, "nearly the same: "+strings.Join(r.Folded, ", "))
	}
	if r.Factors != nil {
		p.explained(r)
	}
}

// explained takes a score apart: what it is the product of, and what made the relevance.
func (p *printer) explained(r memory.Result) {
	f := r.Factors
	p.hanging(indent, indent+indent, fmt.Sprintf("score %.3f = %.3f relevance × %.2f kind × %.3f freshness × %.3f citation × %.2f ignored × %.2f doubt × %.2f trust",
		r.Score, f.Relevance, f.Kind, f.Freshness, f.Citation, f.Ignored, f.Doubt, f.Trust))
	p.hanging(indent, indent+indent, fmt.Sprintf("relevance %.3f from words %.3f, meaning %.3f", f.Relevance, f.Lexical, f.Semantic))
}

// listed writes one line for each memory.
func (p *printer) listed(ms []memory.Memory) {
	for _, m := range ms {
		title := m.Title
		if title == "" {
			title = firstLine(m.Content)
		}
		mark := " "
		if len(m.Flags) > 0 {
			mark = "!"
		}
		left := fmt.Sprintf("%s  %s  %s %s", m.CreatedAt.UTC().Format(time.DateOnly), pad(memory.Plain(m.Handle), 9), pad(kindName(m.Kind), 15), mark)
		p.line("%s %s", left, short(memory.Line(title), p.width-columns(left)-1))
	}
}

// timeline writes what was recorded around a memory.
func (p *printer) timeline(r memory.TimelineResponse) {
	for _, e := range r.Entries {
		mark := "  "
		if e.Anchor {
			mark = "> "
		}
		left := mark + e.At.UTC().Format(dateTime) + "  " + memory.Line(e.Handle) + "  " + kindName(e.Kind) + "  "
		title := memory.Line(e.Title)
		if e.Status != memory.Live {
			title += " (" + memory.Line(string(e.Status)) + ")"
		}
		p.line("%s%s", left, short(title, max(p.width-columns(left), minWrap)))
	}
}

// history writes versions and events of a memory.
func (p *printer) history(r memory.HistoryResponse) {
	p.memory(r.Memory)
	for _, e := range r.Events {
		text := e.At.UTC().Format(dateTime) + "  " + memory.Line(e.Verb) + " by " + memory.Line(e.Author)
		if e.Door != "" {
			text += " (" + memory.Line(e.Door) + ")"
		}
		if e.Detail != "" {
			text += ": " + memory.Line(e.Detail)
		}
		p.hanging(indent, indent+indent, text)
	}
	for _, v := range r.Versions {
		if v.Revision == r.Memory.Revision && len(r.Versions) == 1 {
			continue
		}
		p.line("")
		p.line("%srevision %d, %s, by %s", indent, v.Revision, v.RecordedAt.UTC().Format(dateTime), memory.Line(v.Author))
		if v.Erased {
			p.line("%serased", indent+indent)
			continue
		}
		if v.Title != "" {
			p.hanging(indent+indent, indent+indent, memory.Line(v.Title))
		}
		p.prose(indent+indent, v.Content)
	}
}

// why writes what is known and doubted about a file.
func (p *printer) why(r memory.WhyResponse) {
	if len(r.Elements) > 0 {
		p.hanging(memory.Line(r.Path)+" belongs to ", indent, attachments(r.Elements))
	}
	for n, e := range r.Entries {
		if n > 0 || len(r.Elements) > 0 {
			p.line("")
		}
		p.title(p.heading(e.Memory) + "  (" + memory.Line(e.Matched) + ")")
		p.body(e.Memory)
	}
}

// context writes the elements a task is about.
func (p *printer) context(r memory.ContextResponse) {
	for n, e := range r.Elements {
		if n > 0 {
			p.line("")
		}
		p.title(p.paint(strong, memory.Line(e.Key)) + "  " + memory.Line(e.Name) + " (" + memory.Line(e.Level) + ")")
		p.hanging(indent, indent+indent, memory.Plain(strings.Join(e.Reasons, "; ")))
		if len(e.Paths) > 0 {
			p.hanging(indent+"paths: ", indent+"       ", memory.Plain(strings.Join(e.Paths, ", ")))
		}
		for _, m := range e.Memories {
			p.line("%s%s", indent, short(fmt.Sprintf("%s  %s  %s", memory.Line(m.Handle), kindName(m.Kind), memory.Line(m.Title)), p.width-len(indent)))
		}
	}
}
