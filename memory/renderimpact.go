package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// RenderImpact is what a change of an element touches, as agents read it.
func RenderImpact(r ImpactResponse) string { return fence(ImpactText(r)) }

// ImpactText is the same for people: plain lines, cleaned.
func ImpactText(r ImpactResponse) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s)\n", Line(r.Element.Key), Line(r.Element.Name), Line(r.Element.Level))
	if len(r.Paths) > 0 {
		b.WriteString(indent + "paths: " + Line(strings.Join(r.Paths, ", ")) + "\n")
	}
	writeImpact(&b, "depend on it", r.Dependents, r.LeftOut.Dependents)
	writeImpact(&b, "it depends on", r.Dependencies, r.LeftOut.Dependencies)
	switch {
	case r.Code.Note != "":
		b.WriteString("code: " + Line(r.Code.Note) + "\n")
	default:
		for _, run := range r.Code.Runs {
			fmt.Fprintf(&b, "code: as of %s of %s\n", Line(run.Commit[:min(len(run.Commit), abbreviated)]), Line(run.Repository))
		}
	}
	writeKnown(&b, "known", "", r.Memories, r.LeftOut.Memories)
	writeWork(&b, r.Work, r.LeftOut.Work)
	return b.String()
}

func writeImpact(b *strings.Builder, title string, list []ImpactElement, more int) {
	if len(list) == 0 {
		b.WriteString(title + ": nothing that is known\n")
		return
	}
	b.WriteString(title + ":\n")
	for _, e := range list {
		reasons := slices.Clone(e.Model)
		for _, c := range e.Code {
			reasons = append(reasons, "imports at "+c.String()+", which the model does not know")
		}
		if e.Unshown {
			reasons = append(reasons, "no import shows it")
		}
		if e.Via != "" {
			reasons = append(reasons, "via "+e.Via)
		}
		if e.Pitfalls > 0 {
			reasons = append(reasons, fmt.Sprintf("pitfalls known: %d", e.Pitfalls))
		}
		if e.Doubts > 0 {
			reasons = append(reasons, fmt.Sprintf("in doubt: %d", e.Doubts))
		}
		fmt.Fprintf(b, "%s- %d %s (%s): %s\n", indent, e.Distance, Line(e.Key), Line(e.Name), Line(strings.Join(reasons, "; ")))
	}
	writeMore(b, indent, more)
}

func writeMore(b *strings.Builder, before string, more int) {
	if more > 0 {
		fmt.Fprintf(b, "%s… and %d more\n", before, more)
	}
}

func writeKnown(b *strings.Builder, title, before string, list []KnownMemory, more int) {
	if len(list) == 0 {
		return
	}
	b.WriteString(before + title + ":\n")
	for _, m := range list {
		b.WriteString(before + indent + strings.TrimSuffix(renderIndexEntry(m.IndexEntry), "\n"))
		for _, f := range m.Flags {
			if f.Flag == "verify" || f.Flag == "disputed" {
				fmt.Fprintf(b, " [%s: %s]", strings.ToUpper(f.Flag), Line(f.Reason))
			}
		}
		b.WriteString("\n")
	}
	writeMore(b, before+indent, more)
}

func writeWork(b *strings.Builder, work []Work, more int) {
	for _, w := range work {
		fmt.Fprintf(b, "%s works on %s since %s: %s\n", Line(w.Author), Line(strings.Join(w.Elements, ", ")), w.Since.UTC().Format(time.DateTime+" UTC"), Line(w.Task))
	}
	writeMore(b, "", more)
}

// RenderPlan is a task in steps, as agents read it.
func RenderPlan(r PlanResponse) string { return fence(PlanText(r)) }

// PlanText is the same for people: plain lines, cleaned.
func PlanText(r PlanResponse) string {
	var b strings.Builder
	if r.Note != "" {
		b.WriteString(Line(r.Note) + "\n")
	}
	writeDecisions(&b, "decisions that speak of it: ", r.Decisions)
	for n, s := range r.Steps {
		fmt.Fprintf(&b, "%d. %s (%s, %s): %s\n", n+1, Line(s.Element.Key), Line(s.Element.Name), Line(s.Element.Level), Line(s.Order))
		b.WriteString(indent + "why: " + Line(strings.Join(s.Reasons, "; ")) + "\n")
		if len(s.Paths) > 0 {
			b.WriteString(indent + "paths: " + Line(strings.Join(s.Paths, ", ")) + "\n")
		}
		writeKnown(&b, "verify first", indent, s.Verify, s.LeftOut.Verify)
		writeKnown(&b, "keep to", indent, s.Bound, s.LeftOut.Bound)
		writeDecisions(&b, indent+"decisions: ", s.Decisions)
		for _, c := range s.Check {
			fmt.Fprintf(&b, "%sthen look at %s: %s\n", indent, Line(c.Key), Line(c.Because))
		}
		writeMore(&b, indent, s.LeftOut.Check)
	}
	writeWork(&b, r.Work, r.MoreWork)
	if r.Degraded != nil {
		b.WriteString("Incomplete: " + Line(r.Degraded.Reason) + "\n")
	}
	return b.String()
}

func writeDecisions(b *strings.Builder, title string, decisions []BoundDecision) {
	if len(decisions) == 0 {
		return
	}
	var list []string
	for _, d := range decisions {
		text := d.Handle + " " + d.Title
		if d.Status != "" {
			text += " (" + d.Status + ")"
		}
		list = append(list, text)
	}
	b.WriteString(title + Line(strings.Join(list, "; ")) + "\n")
}
