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
	h := p.paint(strong, clean(m.Handle)) + "  " + kindName(m.Kind)
	if m.Title != "" {
		h += "  " + p.paint(strong, oneLine(m.Title))
	}
	return h
}

func kindName(k memory.Kind) string { return strings.ReplaceAll(oneLine(string(k)), "_", " ") }

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
		p.hanging(indent, indent+indent, p.paint(alarm, strings.ToUpper(oneLine(f.Flag)))+": "+oneLine(f.Reason))
	}
	p.prose(indent, m.Content)
	if m.Why != "" {
		p.hanging(indent+"why: ", indent+"     ", clean(m.Why))
	}
	p.facts(m)
}

// facts writes where a memory hangs and where it comes from.
func (p *printer) facts(m memory.Memory) {
	if len(m.Elements) > 0 {
		p.hanging(indent+"on: ", indent+"    ", attachments(m.Elements))
	}
	if len(m.Paths) > 0 {
		p.hanging(indent+"paths: ", indent+"       ", clean(strings.Join(m.Paths, ", ")))
	}
	if len(m.Tags) > 0 {
		p.hanging(indent+"tags: ", indent+"      ", clean(strings.Join(m.Tags, ", ")))
	}
	for _, l := range m.Links {
		switch {
		case l.Target != "":
			p.hanging(indent+"link: ", indent+"      ", oneLine(l.Text+" → "+l.Target+" "+l.Title))
		case l.Note != "":
			p.hanging(indent+"link: ", indent+"      ", oneLine(l.Text+" is "+l.Note))
		default:
			p.hanging(indent+"link: ", indent+"      ", oneLine(l.Text)+" leads nowhere yet")
		}
	}
	p.hanging(indent, indent, p.provenance(m))
}

func (p *printer) provenance(m memory.Memory) string {
	var parts []string
	if m.Author != "" { // a decision has none
		parts = append(parts, "by "+oneLine(m.Author))
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
		status := oneLine(string(m.Status))
		if m.SupersededBy != "" {
			status += " by " + oneLine(m.SupersededBy)
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
		parts[n] = oneLine(e.Key)
		switch {
		case e.Orphan:
			parts[n] += " (left the model)"
		case e.Reason != "":
			parts[n] += " (" + oneLine(e.Reason) + ")"
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
		p.hanging(indent+"yours:    ", indent+"          ", clean(r.Restated.Yours))
		p.hanging(indent+"existing: ", indent+"          ", clean(r.Restated.Existing))
		p.line("%sto keep both, remember it again with --separate", indent)
	}
	for _, x := range r.Redacted {
		p.hanging(indent+"redacted: ", indent+"          ", count(x.Count, oneLine(x.Kind)))
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
	text := oneLine(s.Handle) + "  "
	if s.Title != "" {
		text += oneLine(s.Title) + ": "
	}
	text += oneLine(s.Excerpt)
	var how []string
	if s.Cosine > 0 {
		how = append(how, fmt.Sprintf("cosine %.2f", s.Cosine))
	}
	if s.Overlap > 0 {
		how = append(how, fmt.Sprintf("words %.2f", s.Overlap))
	}
	if s.Differs != "" {
		how = append(how, "differs in "+oneLine(s.Differs))
	}
	if how != nil {
		text += " (" + strings.Join(how, ", ") + ")"
	}
	return text
}

func (p *printer) warnings(ws []string) {
	for _, w := range ws {
		p.hanging(indent+"note: ", indent+"      ", clean(w))
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
			p.line("%s%s", indent, short(fmt.Sprintf("%s  %s  %s (%d tokens)", oneLine(e.Handle), kindName(e.Kind), oneLine(e.Title), e.Tokens), p.width-len(indent)))
		}
	}
	if r.Empty != "" {
		p.prose("", r.Empty)
	}
	if r.Degraded != nil && r.Empty == "" {
		p.line("")
		text := "Something may be missing: " + oneLine(r.Degraded.Reason)
		if r.Degraded.Unindexed > 0 {
			text += fmt.Sprintf(" (%d)", r.Degraded.Unindexed)
		}
		p.hanging("", "", p.paint(faint, text))
	}
}

func (p *printer) result(r memory.Result) {
	p.title(p.heading(r.Memory))
	if r.Via != nil {
		p.hanging(indent, indent, "linked from "+strings.TrimSpace(oneLine(r.Via.Handle)+" "+oneLine(r.Via.Title)))
	}
	p.body(r.Memory)
	if r.Truncated {
		p.line("%s… cut to the budget; stele get %s shows all", indent, clean(r.Handle))
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
		left := fmt.Sprintf("%s  %s  %s %s", m.CreatedAt.UTC().Format(time.DateOnly), pad(clean(m.Handle), 9), pad(kindName(m.Kind), 15), mark)
		p.line("%s %s", left, short(oneLine(title), p.width-columns(left)-1))
	}
}

// timeline writes what was recorded around a memory.
func (p *printer) timeline(r memory.TimelineResponse) {
	for _, e := range r.Entries {
		mark := "  "
		if e.Anchor {
			mark = "> "
		}
		left := mark + e.At.UTC().Format(dateTime) + "  " + oneLine(e.Handle) + "  " + kindName(e.Kind) + "  "
		title := oneLine(e.Title)
		if e.Status != memory.Live {
			title += " (" + oneLine(string(e.Status)) + ")"
		}
		p.line("%s%s", left, short(title, max(p.width-columns(left), minWrap)))
	}
}

// history writes versions and events of a memory.
func (p *printer) history(r memory.HistoryResponse) {
	p.memory(r.Memory)
	for _, e := range r.Events {
		text := e.At.UTC().Format(dateTime) + "  " + oneLine(e.Verb) + " by " + oneLine(e.Author)
		if e.Door != "" {
			text += " (" + oneLine(e.Door) + ")"
		}
		if e.Detail != "" {
			text += ": " + oneLine(e.Detail)
		}
		p.hanging(indent, indent+indent, text)
	}
	for _, v := range r.Versions {
		if v.Revision == r.Memory.Revision && len(r.Versions) == 1 {
			continue
		}
		p.line("")
		p.line("%srevision %d, %s, by %s", indent, v.Revision, v.RecordedAt.UTC().Format(dateTime), oneLine(v.Author))
		if v.Erased {
			p.line("%serased", indent+indent)
			continue
		}
		if v.Title != "" {
			p.hanging(indent+indent, indent+indent, oneLine(v.Title))
		}
		p.prose(indent+indent, v.Content)
	}
}

// why writes what is known and doubted about a file.
func (p *printer) why(r memory.WhyResponse) {
	if len(r.Elements) > 0 {
		p.hanging(oneLine(r.Path)+" belongs to ", indent, attachments(r.Elements))
	}
	for n, e := range r.Entries {
		if n > 0 || len(r.Elements) > 0 {
			p.line("")
		}
		p.title(p.heading(e.Memory) + "  (" + oneLine(e.Matched) + ")")
		p.body(e.Memory)
	}
}

// context writes the elements a task is about.
func (p *printer) context(r memory.ContextResponse) {
	for n, e := range r.Elements {
		if n > 0 {
			p.line("")
		}
		p.title(p.paint(strong, oneLine(e.Key)) + "  " + oneLine(e.Name) + " (" + oneLine(e.Level) + ")")
		p.hanging(indent, indent+indent, clean(strings.Join(e.Reasons, "; ")))
		if len(e.Paths) > 0 {
			p.hanging(indent+"paths: ", indent+"       ", clean(strings.Join(e.Paths, ", ")))
		}
		for _, m := range e.Memories {
			p.line("%s%s", indent, short(fmt.Sprintf("%s  %s  %s", oneLine(m.Handle), kindName(m.Kind), oneLine(m.Title)), p.width-len(indent)))
		}
	}
}
