package report

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/stele-dev/stele/drift"
)

// Memory names a memory without a word of it, unless its title was asked for.
type Memory struct {
	Handle  string `json:"handle"`
	Kind    string `json:"kind"`
	Element string `json:"element,omitempty"` // key
	Cause   string `json:"cause,omitempty"`   // of doubt: drifted, evidence_gone, rewritten
	Title   string `json:"title,omitempty"`
}

// Memories are those that a change has to do with.
type Memories struct {
	Doubted  []Memory `json:"doubted"`  // put in doubt by what the commit holds
	Proposed bool     `json:"proposed"` // the commit is a proposal: they would be put in doubt
	Pitfalls []Memory `json:"pitfalls"` // of files that the change touches
}

// CommentMarker is the first line of the comment about a model: Marker, or for a model that was named one that tells it from
// those about others.
func CommentMarker(model string) string {
	if model == "" {
		return Marker
	}
	sum := sha256.Sum256([]byte(model))
	return fmt.Sprintf("<!-- stele-drift %x -->", sum[:6])
}

// Comment writes what a reviewer of a change has to know as GitHub Flavored Markdown below marker: gates, new findings, the
// memories they put in doubt, the pitfalls of the files that are touched. It is "" when there is nothing to say. The bounds and
// promises of Markdown hold for it.
func Comment(marker string, r *drift.Report, gates []drift.GateResult, about Memories) string {
	var fresh []drift.Finding
	for _, f := range r.Findings {
		if f.New {
			fresh = append(fresh, f)
		}
	}
	if len(fresh) == 0 && drift.Passed(gates) && len(about.Doubted) == 0 && len(about.Pitfalls) == 0 {
		return ""
	}
	var b builder
	b.line(marker)
	b.line("### " + headline(r))
	b.line("")
	b.line(subline(r))
	b.gates(gates)
	if len(fresh) > 0 {
		b.line("")
		b.line(fmt.Sprintf("**%s since %s**", counted(len(fresh), "new finding"), code(short(r.Base))))
		b.findings(fresh, shownNew)
	}
	b.memories(about)
	b.line("")
	b.line("All findings are in the summary of the job.")
	return b.bounded()
}

// MemoriesMarkdown writes the memories alone, "" when there are none.
func MemoriesMarkdown(about Memories) string {
	var b builder
	b.memories(about)
	return strings.TrimSpace(b.bounded())
}

// shownMemories bounds a list of memories.
const shownMemories = 30

// causes of doubt in words.
var causes = map[string]string{
	"drifted": "the element drifts", "evidence_gone": "what it quotes is gone", "rewritten": "what it is about was rewritten",
}

func (b *builder) memories(about Memories) {
	list := func(title string, memories []Memory) {
		if len(memories) == 0 {
			return
		}
		b.line("")
		b.line(title)
		b.line("")
		for _, m := range memories[:min(len(memories), shownMemories)] {
			text := "- " + code(m.Handle) + " " + prose(m.Kind, maxName)
			if m.Element != "" {
				text += " on " + code(m.Element)
			}
			if m.Title != "" {
				text += ": " + prose(m.Title, maxName)
			}
			if cause := causes[m.Cause]; cause != "" {
				text += " (" + cause + ")"
			}
			b.line(text)
		}
		if more := len(memories) - shownMemories; more > 0 {
			b.line(fmt.Sprintf("- and %d more", more))
		}
	}
	one, word := counted(len(about.Doubted), "memory"), "in doubt"
	if about.Proposed {
		word = "that this would put in doubt"
	}
	list("**"+one+" "+word+"**", about.Doubted)
	list("**Known pitfalls of the files that this changes** (`stele get` shows them)", about.Pitfalls)
}

// Visible writes out what a reader would not see or what would change how the rest is read: control characters, marks of
// direction, and bytes that are no text.
func Visible(s string) string { return visible(s) }

// Notes writes remarks as a list, "" when there are none.
func Notes(notes []string) string {
	var b builder
	for _, n := range notes[:min(len(notes), shownOther)] {
		b.line("- " + prose(n, maxText))
	}
	return b.String()
}
