package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/report"
	"github.com/stele-dev/stele/memory"
)

const (
	// shownFindings bounds the findings of one check in a printed report; --json has all.
	shownFindings = 15
	// shownFewer bounds its other lists.
	shownFewer = 5
	// shownDigits is how much of a commit or a fingerprint is shown where nobody has to copy the whole.
	shownDigits = 10
)

// drift writes a report as a table.
func (p *printer) drift(r driftReport) {
	p.driftHead(r.Report)
	if r.Status == drift.NotChecked {
		p.hanging("", indent, p.paint(alarm, "Not checked: ")+memory.Line(r.Reason))
		for _, fix := range r.Fixes {
			p.hanging(indent+"→ ", indent+indent, memory.Line(fix))
		}
	}
	for _, check := range drift.Checks {
		p.checkFindings(check, r.Findings)
	}
	p.waived(r.Waived)
	p.leftOut(r)
	p.gates(r.Gates)
	if r.Pushed != nil {
		p.pushed(*r.Pushed)
	}
}

func (p *printer) driftHead(r *drift.Report) {
	if r.Score != nil {
		p.line("%s   100 means the code matches the model", p.paint(strong, fmt.Sprintf("Score %d", *r.Score)))
	}
	if r.BaseScore != nil {
		p.line("%sit was %d at %s", indent, *r.BaseScore, memory.Line(firstDigits(r.Base)))
	}
	if r.Coverage != nil {
		p.line("%s   percent of the elements in scope are bound to code", p.paint(strong, fmt.Sprintf("Coverage %d", *r.Coverage)))
	}
	where := "commit " + firstDigits(r.Commit)
	if r.Branch != "" {
		where += " on " + memory.Line(r.Branch)
	}
	where += " of " + r.CommittedAt.UTC().Format(time.DateOnly)
	if r.ModelFile != "" {
		where += ", model " + memory.Line(r.ModelFile)
	}
	p.hanging("", indent, where)
	if t := r.Totals; t.Elements > 0 {
		text := fmt.Sprintf("%s in scope: %d matched, %d missing in code, %d drifted; %d new in code", count(t.Elements, "element"), t.Matched, t.MissingInCode, t.Drifted, t.NewInCode)
		p.hanging("", indent, text)
	}
	var levels []string
	for _, level := range []c4model.Level{c4model.System, c4model.Container, c4model.Component, c4model.Code} {
		if t, ok := r.Levels[string(level)]; ok {
			levels = append(levels, fmt.Sprintf("%s %d", level, t.Score))
		}
	}
	if len(levels) > 1 {
		p.hanging("", indent, "score by level: "+strings.Join(levels, ", "))
	}
}

func firstDigits(id string) string { return id[:min(len(id), shownDigits)] }

// checkFindings writes those of one check, new ones first.
func (p *printer) checkFindings(check drift.Check, all []drift.Finding) {
	list := slices.DeleteFunc(slices.Clone(all), func(f drift.Finding) bool { return f.Check != check })
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b drift.Finding) int {
		if a.New != b.New {
			return cmp.Compare(fmt.Sprint(b.New), fmt.Sprint(a.New))
		}
		return cmp.Compare(b.Gain, a.Gain)
	})
	p.line("")
	p.line("%s", p.paint(strong, fmt.Sprintf("%s (%d)", report.Title(check), len(list))))
	for _, f := range list[:min(len(list), shownFindings)] {
		mark := ""
		if f.New {
			mark = p.paint(alarm, "new") + ": "
		}
		p.hanging(indent+p.paint(faint, firstDigits(f.Fingerprint))+indent, detail, mark+memory.Line(f.Message))
		if f.File != "" && f.Check != drift.DanglingReference {
			p.hanging(detail, detail+indent, memory.Line(codePlace(f.File, f.Line)))
		}
		p.since(f.Since)
		p.hanging(detail+"fix: ", detail+indent, memory.Line(f.Fix.String())+worth(f.Gain))
	}
	if more := len(list) - shownFindings; more > 0 {
		p.line("%sand %d more; --json has all", indent, more)
	}
}

// detail is what the lines of a finding after its first begin with.
const detail = "              "

// codePlace is a line of a file as editors take it.
func codePlace(file string, line int) string {
	if line > 0 {
		return file + ":" + strconv.Itoa(line)
	}
	return file
}

func worth(gain float64) string {
	if gain <= 0 {
		return ""
	}
	points := strconv.FormatFloat(gain, 'f', -1, 64)
	if points == "1" {
		return " (worth 1 point)"
	}
	return " (worth " + points + " points)"
}

func (p *printer) since(s *drift.Since) {
	if s == nil {
		return
	}
	word := "since "
	if s.AtOrBefore {
		word = "at or before "
	}
	text := word + firstDigits(s.Commit) + " of " + s.Time.UTC().Format(time.DateOnly) + " by " + memory.Line(s.Author) + ": " + memory.Line(s.Subject)
	if s.Cause == drift.ModelChanged {
		text += " (the model changed, not the code)"
	}
	p.hanging(detail, detail+indent, text)
}

func (p *printer) waived(list []drift.WaivedFinding) {
	if len(list) == 0 {
		return
	}
	p.line("")
	p.line("%s", p.paint(strong, fmt.Sprintf("Waived (%d)", len(list))))
	for _, w := range list[:min(len(list), shownFindings)] {
		p.hanging(indent+p.paint(faint, firstDigits(w.Fingerprint))+indent, detail, memory.Line(w.Message)+" (until "+w.Expires+": "+memory.Line(w.WaiverReason)+")")
	}
	if more := len(list) - shownFindings; more > 0 {
		p.line("%sand %d more; --json has all", indent, more)
	}
}

// leftOut tells in few lines what the score does not speak of.
func (p *printer) leftOut(r driftReport) {
	p.line("")
	if n := len(r.Unverified); n > 0 {
		them := "them"
		if n == 1 {
			them = "it"
		}
		p.hanging("", indent, count(n, "documented relationship")+" not verified, since imports could not show "+them+"; --json says why")
	}
	if n := len(r.Unbound); n > 0 {
		p.hanging("", indent, count(n, "element")+" without code: "+few(r.Unbound)+". stele bind suggest proposes what to bind")
	}
	if n := len(r.None); n > 0 {
		p.hanging("", indent, count(n, "element")+" said to have no code here")
	}
	if t := r.Imports; r.Status == drift.Checked {
		p.hanging("", indent, fmt.Sprintf("%s, %d of them owned; imports: %d inside, %d outside, %d unresolved",
			count(r.Files.Source, "source file"), r.Files.Owned, t.Internal, t.External, t.Unresolved))
	}
	if r.History == "shallow" {
		p.hanging("", indent, "the clone is shallow: since when is only as old as it")
	}
	if r.Uncommitted > 0 {
		p.hanging("", indent, "the commit was evaluated; "+count(r.Uncommitted, "uncommitted change")+" not")
	}
	for _, s := range r.Skipped[:min(len(r.Skipped), shownFewer)] {
		what := memory.Line(s.Path)
		if what == "" {
			what = strconv.Itoa(max(s.Count, 1))
		} else {
			what += ":"
		}
		p.hanging("skipped: ", indent, what+" "+memory.Line(s.Reason))
	}
	if more := len(r.Skipped) - shownFewer; more > 0 {
		p.line("skipped: %d more; --json has all", more)
	}
	for _, w := range r.Warnings[:min(len(r.Warnings), shownFewer)] {
		p.hanging("note: ", indent, memory.Line(w))
	}
	if more := len(r.Warnings) - shownFewer; more > 0 {
		p.line("%s more; --json has all", count(more, "note"))
	}
}

// few lists the first names.
func few(names []string) string {
	text := memory.Line(strings.Join(names[:min(len(names), shownFewer)], ", "))
	if more := len(names) - shownFewer; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (p *printer) gates(results []drift.GateResult) {
	if len(results) == 0 {
		return
	}
	p.line("")
	for _, g := range results {
		word := "ok    "
		if !g.Passed {
			word = p.paint(alarm, "FAILED") // of the same width
		}
		p.hanging(word+indent+pad(g.Gate, 14)+indent, strings.Repeat(" ", 24), memory.Line(g.Detail))
	}
}

// finding explains one in full.
func (p *printer) finding(f drift.WaivedFinding) {
	p.hanging("", indent, p.paint(strong, memory.Line(f.Message)))
	row := func(name, value string) {
		if value != "" {
			p.hanging(indent+pad(name, 13), strings.Repeat(" ", 15), value)
		}
	}
	row("fingerprint", f.Fingerprint)
	check := string(f.Check)
	if f.Outcome != "" {
		check += ", " + string(f.Outcome)
	}
	row("check", check)
	row("element", memory.Line(f.Element))
	row("subject", memory.Line(f.Subject))
	if f.File != "" {
		row("where", memory.Line(codePlace(f.File, f.Line)))
	}
	row("moved to", memory.Line(f.MovedTo))
	if s := f.Since; s != nil {
		when := firstDigits(s.Commit) + " of " + s.Time.UTC().Format(dateTime) + " by " + memory.Line(s.Author)
		if s.AtOrBefore {
			when = "at or before " + when
		}
		row("since", when)
		row("", memory.Line(s.Subject))
		cause := "the code changed"
		if s.Cause == drift.ModelChanged {
			cause = "the model or a setting changed"
		}
		row("cause", cause)
		row("last good", firstDigits(s.LastGood))
	}
	for i, at := range f.Evidence {
		name := ""
		if i == 0 {
			name = "evidence"
		}
		row(name, memory.Line(codePlace(at.File, at.Line)+"  "+at.Text))
	}
	row("fix", memory.Line(f.Fix.String()))
	row("weight", strconv.Itoa(f.Weight)+worth(f.Gain))
	if f.Expires != "" {
		row("waived", "until "+f.Expires+": "+memory.Line(f.WaiverReason))
	}
	p.line("")
	p.hanging("", indent, report.Meaning(f.Check))
}
