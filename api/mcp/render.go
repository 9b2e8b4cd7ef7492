package mcp

import (
	"fmt"
	"strings"

	"github.com/stele-dev/stele/memory"
)

// rememberText tells a writer what became of a fact, and what stands near it.
func rememberText(r memory.RememberResponse) string {
	var b strings.Builder
	m := r.Memory
	switch {
	case r.Echo:
		fmt.Fprintf(&b, "Nothing changed: this says what you were just shown, %s.", m.Handle)
	case r.Deduplicated:
		fmt.Fprintf(&b, "Confirmed %s, which already says this (confirmations: %d).", m.Handle, m.Confirmations)
	default:
		fmt.Fprintf(&b, "Stored %s (%s).", m.Handle, m.Kind)
	}
	if len(m.Elements) > 0 {
		b.WriteString(" Attached to " + attachments(m.Elements) + ".")
	}
	if r.Restated != nil {
		b.WriteString("\nTo keep both, remember it again with separate: true.")
	}
	for _, x := range r.Redacted {
		fmt.Fprintf(&b, "\nRemoved before storing: %d × %s.", x.Count, x.Kind)
	}
	for _, w := range r.Warnings {
		b.WriteString("\nNote: " + memory.Line(w))
	}
	b.WriteString(near(r))
	return b.String()
}

// near shows the texts that a writer should compare with; they are from memory, so they are fenced.
func near(r memory.RememberResponse) string {
	var lines []string
	if r.Restated != nil {
		lines = append(lines, "yours:    "+r.Restated.Yours, "existing: "+r.Restated.Existing)
	}
	for _, s := range r.SimilarTo {
		line := s.Handle + " "
		if s.Title != "" {
			line += s.Title + ": "
		}
		line += s.Excerpt
		if s.Differs != "" {
			line += " (differs in " + s.Differs + ")"
		}
		lines = append(lines, line)
	}
	if lines == nil {
		return ""
	}
	intro := "\n"
	if len(r.SimilarTo) > 0 {
		intro = "\nSimilar memories; if yours replaces one, remember it again with supersedes:\n"
	}
	return intro + memory.RenderReference(lines)
}

// attachments names elements with the reason they are attached for: "bank.api.auth, by auth/mw.go".
func attachments(es []memory.ElementRef) string {
	parts := make([]string, len(es))
	for n, e := range es {
		parts[n] = memory.Line(e.Key)
		if e.Reason != "" {
			parts[n] += ", " + memory.Line(e.Reason)
		}
	}
	return strings.Join(parts, "; ")
}

func confirmText(m memory.Memory, held bool) string {
	if !held {
		return m.Handle + " is marked disputed: it ranks lower and a person will look at it. If you know better, remember the right fact with supersedes: " + m.Handle + "."
	}
	return fmt.Sprintf("Confirmed %s (confirmations: %d).", m.Handle, m.Confirmations)
}

func forgetText(r memory.ForgetResponse, erased bool) string {
	text := "Retired " + r.Memory.Handle + ": it is out of recall, restore_memory takes it back."
	if erased {
		text = "Erased the text of " + r.Memory.Handle + "."
	}
	for _, w := range r.Warnings {
		text += "\nNote: " + memory.Line(w)
	}
	return text
}
