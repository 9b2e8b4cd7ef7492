package memory

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory/terms"
)

// maxLinks bounds the links of one memory; the rest of a text full of brackets is prose.
const maxLinks = 50

var (
	linkPattern     = regexp.MustCompile(`\[\[([^\[\]\x00-\x1f\x7f]{1,200})\]\]`)
	decisionPattern = regexp.MustCompile(`(?i)^ADR[- ]?0*([0-9]+)$`)
	fencePattern    = regexp.MustCompile("(?m)^[ \t]*(```+|~~~+)")
	spanPattern     = regexp.MustCompile("`+[^`\n]*`+")
)

// linkTargets finds the [[references]] of a text in order, each once. Code spans and blocks are not scanned.
func linkTargets(content string) []string {
	if !strings.Contains(content, "[[") {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, m := range linkPattern.FindAllStringSubmatch(withoutCode(content), -1) {
		t := strings.TrimSpace(m[1])
		if f := terms.Fold(t); t != "" && !seen[f] && len(out) < maxLinks {
			seen[f] = true
			out = append(out, t)
		}
	}
	return out
}

// FoldTarget is the form under which two link targets are one, in every Store.
func FoldTarget(text string) string { return terms.Fold(text) }

// withoutCode blanks fenced blocks, indented code is left: prose is indented too often in notes.
func withoutCode(content string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(content) {
		if m := fencePattern.FindStringSubmatch(line); m != nil {
			switch {
			case fence == "":
				fence = m[1]
			case strings.HasPrefix(m[1], fence):
				fence = ""
			}
			continue
		}
		if fence == "" {
			b.WriteString(line)
		}
	}
	return spanPattern.ReplaceAllString(b.String(), "")
}

// resolveLinks fills in what the links of the records lead to now: a memory's title in the project, then among the caller's
// own, then in the organization, an element, a decision. A link to a superseded memory follows to the live one. A name
// that fits several elements stays unresolved and says so. However many links there are, it asks the database twice, and
// once more for each that leads to a superseded memory.
func (s *Service) resolveLinks(ctx context.Context, v View, c Caller, recs []Record) error {
	links := map[string][]*Link{}
	q := TargetQuery{Project: c.Project}
	for i := range recs {
		for j := range recs[i].Links {
			l := &recs[i].Links[j] //nolint:gosec // j counts these very links
			if links[l.Text] == nil {
				q.add(l.Text)
			}
			links[l.Text] = append(links[l.Text], l)
		}
	}
	if len(links) == 0 {
		return nil
	}
	keys := c.spaceKeys()
	spaces, err := v.Spaces(ctx, keys)
	if err != nil {
		return err
	}
	q.Spaces = allSpaceIDs(spaces, keys)
	targets, err := v.Targets(ctx, q)
	if err != nil {
		return fmt.Errorf("resolve links: %w", err)
	}
	linked, err := s.linked(ctx, v, c, targets)
	if err != nil {
		return err
	}
	for i, t := range targets {
		resolved := t.link(q.Texts[i], linked[t.Memory])
		for _, l := range links[q.Texts[i]] {
			*l = resolved
		}
	}
	return nil
}

// TargetQuery asks what names lead to. The lists run in parallel; "" means that the name has not that form.
type TargetQuery struct {
	Spaces    []int32 // where titles are looked up, the first wins
	Project   uuid.UUID
	Texts     []string // as written
	Handles   []string
	Titles    []string // folded
	Decisions []string // numbers
}

func (q *TargetQuery) add(text string) {
	handle, number := "", ""
	if isHandle(text) {
		handle = strings.ToLower(text)
	}
	if m := decisionPattern.FindStringSubmatch(text); len(m) == 2 {
		number = m[1]
	}
	q.Texts, q.Titles = append(q.Texts, text), append(q.Titles, terms.Fold(text))
	q.Handles, q.Decisions = append(q.Handles, handle), append(q.Decisions, number)
}

// Target is what bears a name: at most one of them decides, in this order.
type Target struct {
	Memory   uuid.UUID // by handle, else the live one of that title; uuid.Nil for none
	Elements []Element // by key, else by former key, else all of that name
	Decision *c4model.Decision
}

// linked loads the memories that links lead to, each replaced by its live successor; those the caller may not see are left
// out.
func (s *Service) linked(ctx context.Context, v View, c Caller, targets []Target) (map[uuid.UUID]*Record, error) {
	var ids []uuid.UUID
	for _, t := range targets {
		if t.Memory != uuid.Nil && !slices.Contains(ids, t.Memory) {
			ids = append(ids, t.Memory)
		}
	}
	recs, err := v.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := map[uuid.UUID]*Record{}
	for i := range recs {
		if !c.sees(&recs[i]) {
			continue
		}
		out[recs[i].ID] = &recs[i]
		live, err := liveSuccessor(ctx, v, &recs[i])
		if err != nil {
			return nil, err
		}
		if live != nil && c.sees(live) {
			out[recs[i].ID] = live
		}
	}
	return out, nil
}

// link is the link of a text to the target; r is its memory, nil when there is none to see.
func (t Target) link(text string, r *Record) Link {
	l := Link{Text: text}
	switch {
	case r != nil:
		l.Kind, l.Target, l.Title = "memory", r.Handle, r.Title
		if r.Status != Live {
			l.Note = string(r.Status)
		}
	case len(t.Elements) == 1:
		l.Kind, l.Target, l.Title = "element", t.Elements[0].Key, t.Elements[0].Name
	case len(t.Elements) > 1:
		keys := make([]string, 0, candidates)
		for _, e := range t.Elements[:min(len(t.Elements), candidates)] {
			keys = append(keys, e.Key)
		}
		l.Note = "ambiguous: " + strings.Join(keys, ", ")
	case t.Decision != nil:
		l.Kind, l.Target, l.Title = "decision", "ADR-"+t.Decision.ID, t.Decision.Title
	}
	return l
}
