package memory

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
)

// renderedFindings bounds the findings that a rendered report lists; the structured one has all.
const renderedFindings = 30

// RenderDriftScore is the score in words.
func RenderDriftScore(s DriftScore) string {
	var b strings.Builder
	if s.Score == nil {
		fmt.Fprintf(&b, "Not checked: %s\n", Line(s.Reason))
	} else {
		fmt.Fprintf(&b, "Score %d of 100 (100 means the code matches the model)", *s.Score)
		if s.Coverage != nil {
			fmt.Fprintf(&b, ", coverage %d %%", *s.Coverage)
		}
		fmt.Fprintf(&b, ", %s\n", counted(s.Findings, "finding"))
	}
	for _, r := range s.Runs {
		b.WriteString("- " + runLine(r) + "\n")
	}
	return fence(b.String())
}

// RenderRuns is a list of runs, one line each.
func RenderRuns(runs []RunSummary) string {
	var b strings.Builder
	if len(runs) == 0 {
		b.WriteString("No run of the tracked branch is known.\n")
	}
	for _, r := range runs {
		b.WriteString("- " + runLine(r) + "\n")
	}
	return fence(b.String())
}

func runLine(r RunSummary) string {
	score := "not checked"
	if r.Score != nil {
		score = fmt.Sprintf("score %d", *r.Score)
	}
	line := fmt.Sprintf("%s %s %s %s: %s", r.ArrivedAt.UTC().Format("2006-01-02 15:04"), Line(r.Repository), Line(r.Branch), r.Commit[:min(len(r.Commit), abbreviated)], score)
	if r.NewFindings > 0 {
		line += ", " + counted(r.NewFindings, "new finding")
	}
	if r.Doubted > 0 {
		line += fmt.Sprintf(", %d put in doubt", r.Doubted)
	}
	return line
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// RenderRunReport is a run with its findings in words.
func RenderRunReport(r RunReport) string {
	var b strings.Builder
	b.WriteString(runLine(r.Run) + "\n")
	for _, f := range r.Report.Findings[:min(len(r.Report.Findings), renderedFindings)] {
		fmt.Fprintf(&b, "- %s: %s", f.Check, Line(words(f)))
		if f.Fix.New != "" {
			fmt.Fprintf(&b, "\n%s%s %s: %s", indent, f.Fix.Action, Line(f.Fix.File), Line(f.Fix.New))
		}
		b.WriteString("\n")
	}
	if more := len(r.Report.Findings) - renderedFindings; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	if len(r.Report.Findings) == 0 && r.Report.Status == drift.Checked {
		b.WriteString("The code matches the model.\n")
	}
	return fence(b.String())
}

// Of narrows a report to the findings that name an element. One that the run knows nothing of is an error: that nothing was
// found about it would say that all is well.
func (r RunReport) Of(element string) (RunReport, error) {
	key := c4model.FoldKey(element)
	known := slices.ContainsFunc(r.Report.Unbound, func(k string) bool { return c4model.FoldKey(k) == key })
	for _, named := range []iter.Seq[string]{maps.Keys(r.Report.Elements), maps.Keys(r.Report.None)} {
		for k := range named {
			k = c4model.FoldKey(k)
			known = known || k == key || strings.HasPrefix(k, key+".") // what lies in it was compared
		}
	}
	r.Report.Findings = slices.DeleteFunc(slices.Clone(r.Report.Findings), func(f drift.Finding) bool {
		return c4model.FoldKey(f.Element) != key && c4model.FoldKey(f.Subject) != key
	})
	if !known && len(r.Report.Findings) == 0 {
		return r, problem.New(problem.NotFound, "element", fmt.Sprintf("the run compared no element %q", clip(element, 80)), "give its key, as knowledge_map has it", "leave it out")
	}
	return r, nil
}
