package memory

import (
	"context"
	"regexp"
	"strings"

	"github.com/google/uuid"

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

// resolveLinks fills in what the links of the records lead to now: a memory's title in the project, then personal, then in
// the organization, an element, a decision. A link to a superseded memory follows to the live one. A name that fits
// several elements stays unresolved and says so.
func (s *Service) resolveLinks(ctx context.Context, v View, c Caller, recs []Record) error {
	type target struct{ link *Link }
	byText := map[string][]target{}
	for i := range recs {
		for j := range recs[i].Links {
			l := &recs[i].Links[j]
			byText[l.Text] = append(byText[l.Text], target{l})
		}
	}
	if len(byText) == 0 {
		return nil
	}
	for text, links := range byText {
		resolved, err := s.resolveLink(ctx, v, c, text)
		if err != nil {
			return err
		}
		for _, t := range links {
			*t.link = resolved
		}
	}
	return nil
}

func (s *Service) resolveLink(ctx context.Context, v View, c Caller, text string) (Link, error) {
	l := Link{Text: text}
	var id uuid.UUID
	var err error
	if isHandle(text) {
		id, err = v.ByHandle(ctx, strings.ToLower(text))
	} else {
		id, err = byTitle(ctx, v, c, text)
	}
	if err != nil {
		return l, err
	}
	if id != uuid.Nil {
		recs, err := v.Records(ctx, []uuid.UUID{id})
		if err != nil {
			return l, err
		}
		if len(recs) == 1 && c.sees(&recs[0]) {
			r := &recs[0]
			if live, err := liveSuccessor(ctx, v, r); err != nil {
				return l, err
			} else if live != nil && c.sees(live) {
				r = live
			}
			l.Kind, l.Target, l.Title = "memory", r.Handle, r.Title
			if r.Status != Live {
				l.Note = string(r.Status)
			}
			return l, nil
		}
	}
	if c.Project == uuid.Nil {
		return l, nil
	}
	found, err := v.FindElements(ctx, c.Project, text)
	if err != nil {
		return l, err
	}
	switch {
	case len(found) == 1, len(found) > 1 && strings.EqualFold(found[0].Key, text):
		l.Kind, l.Target, l.Title = "element", found[0].Key, found[0].Name
		return l, nil
	case len(found) > 1:
		keys := make([]string, 0, candidates)
		for _, e := range found[:min(len(found), candidates)] {
			keys = append(keys, e.Key)
		}
		l.Note = "ambiguous: " + strings.Join(keys, ", ")
		return l, nil
	}
	if m := decisionPattern.FindStringSubmatch(text); m != nil {
		decisions, err := v.Decisions(ctx, c.Project)
		if err != nil {
			return l, err
		}
		for _, d := range decisions {
			if d.ID == m[1] {
				l.Kind, l.Target, l.Title = "decision", "ADR-"+d.ID, d.Title
				return l, nil
			}
		}
	}
	return l, nil
}
