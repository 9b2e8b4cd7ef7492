package review

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

const (
	// digestSpan is what a digest is about unless the caller says otherwise.
	digestSpan = 7 * 24 * time.Hour
	// digestCauses is how many groups a digest tells of: what a team gets done in a week.
	digestCauses = 3
	// digestNames bounds the memories and elements that a cause names.
	digestNames = 5
)

// ReviewDigest says how the knowledge of the project stands and what became of it since a moment. It is the same for everybody
// who may read the project: personal memories are not in it.
func (s *Service) ReviewDigest(ctx context.Context, c memory.Caller, r DigestRequest) (Digest, error) {
	now := s.memory.Now()
	if r.Since.IsZero() {
		r.Since = now.Add(-digestSpan)
	}
	if r.Since.After(now) {
		return Digest{}, problem.Invalidf("since", "%s is in the future", r.Since.Format(time.RFC3339)).Fix("leave it out for a week ago")
	}
	if err := check(c); err != nil {
		return Digest{}, err
	}
	m, err := s.memory.Map(ctx, c)
	if err != nil {
		return Digest{}, fmt.Errorf("review digest: %w", err)
	}
	var out Digest
	err = s.view(ctx, c, func(v View) error {
		out = Digest{Project: c.Project.String(), Since: r.Since.UTC(), At: now, Documented: m.Documented, Elements: m.Total, Open: map[Reason]int{}, Causes: []DigestCause{}}
		if len(m.Holes) > 0 {
			out.Hole = &m.Holes[0]
		}
		return s.digest(ctx, v, c, r.Titles, &out)
	})
	if err != nil {
		return Digest{}, fmt.Errorf("review digest: %w", err)
	}
	out.Markdown = out.markdown()
	return out, nil
}

func (s *Service) digest(ctx context.Context, v View, c memory.Caller, titles bool, out *Digest) error {
	common := c.SpaceKeys()
	common = slices.DeleteFunc(common, func(k memory.SpaceKey) bool { return k.Scope == memory.Personal })
	spaces, err := v.Spaces(ctx, common)
	if err != nil {
		return err
	}
	progress, err := v.ProgressSince(ctx, c.Project, memory.SpaceIDs(spaces, common), out.Since, out.At)
	if err != nil {
		return err
	}
	out.Before, out.Written, out.Decided = progress.Before, progress.Written, progress.Decided
	open, err := s.openIn(ctx, v, c, common, nil, nil)
	if err != nil {
		return err
	}
	groups := group(open, s.memory.Ranking().Kind)
	for _, g := range groups {
		out.Open[g.Reason] += g.Count
	}
	for _, g := range groups[:min(len(groups), digestCauses)] {
		cause, err := s.cause(ctx, v, c, g, titles)
		if err != nil {
			return err
		}
		out.Causes = append(out.Causes, cause)
	}
	return nil
}

// cause is a group without a word of its memories.
func (s *Service) cause(ctx context.Context, v View, c memory.Caller, g gathered, titles bool) (DigestCause, error) {
	out := DigestCause{Group: g.ID, Reason: g.Reason, Count: g.Count, Commit: g.Commit, Elements: []string{}, Memories: []DigestMemory{}}
	var ids []uuid.UUID
	for _, o := range g.items {
		if !slices.Contains(ids, o.Memory) {
			ids = append(ids, o.Memory)
		}
		if len(ids) == digestNames {
			break
		}
	}
	recs, err := v.Records(ctx, ids)
	if err != nil {
		return out, err
	}
	shown, err := s.memory.Present(ctx, v, c, recs)
	if err != nil {
		return out, err
	}
	for _, m := range shown {
		named := DigestMemory{Handle: m.Handle, Kind: m.Kind}
		if titles {
			named.Title = memory.Line(m.Title)
		}
		out.Memories = append(out.Memories, named)
		for _, e := range m.Elements {
			if !slices.Contains(out.Elements, e.Key) && len(out.Elements) < digestNames {
				out.Elements = append(out.Elements, e.Key)
			}
		}
	}
	return out, nil
}

// inWords says what is the matter with one memory, and with several.
type inWords struct{ one, several string }

func (w inWords) of(n int) string {
	if n == 1 {
		return w.one
	}
	return w.several
}

// causeWords say what is the matter, without a word of anybody.
var causeWords = map[Reason]inWords{
	Drifted:      {"drifted from the code", "drifted from the code"},
	EvidenceGone: {"quotes what left the code", "quote what left the code"},
	Rewritten:    {"is about code that was rewritten", "are about code that was rewritten"},
	Disputed:     {"is disputed", "are disputed"},
	Conflict:     {"is similar to another", "are similar to another"},
	Ignored:      {"is served and not used", "are served and not used"},
	Stale:        {"was not confirmed for long", "were not confirmed for long"},
	Orphaned:     {"is on elements that left the model", "are on elements that left the model"},
	Expired:      {"has expired", "have expired"},
	DanglingLink: {"links to what is not there", "link to what is not there"},
	Unreviewed:   {"was imported or written by a hook and not confirmed", "were imported or written by hooks and not confirmed"},
}

// markdown is the digest as text.
func (d *Digest) markdown() string {
	var b strings.Builder
	trend := "as before"
	if change := d.Documented - d.Before; change != 0 {
		trend = fmt.Sprintf("%+d", change)
	}
	fmt.Fprintf(&b, "## What is known, %s to %s\n\n", d.Since.Format(time.DateOnly), d.At.Format(time.DateOnly))
	fmt.Fprintf(&b, "- **%d of %d elements documented** (%s); %s written, %s decided\n", d.Documented, d.Elements, trend, count(d.Written, "memory"), count(d.Decided, "item"))
	open := 0
	for _, n := range d.Open {
		open += n
	}
	if open == 0 {
		b.WriteString("- Nothing waits for a decision.\n")
	} else {
		fmt.Fprintf(&b, "- %s open\n", count(open, "item"))
	}
	if len(d.Causes) > 0 {
		b.WriteString("\n### To look at first\n\n")
	}
	for i, c := range d.Causes {
		fmt.Fprintf(&b, "%d. %s %s", i+1, count(c.Count, "memory"), causeWords[c.Reason].of(c.Count))
		if c.Commit != "" {
			fmt.Fprintf(&b, " since `%s`", c.Commit[:min(len(c.Commit), abbreviated)])
		}
		if len(c.Elements) > 0 {
			b.WriteString(", on " + code(c.Elements))
		}
		names := make([]string, len(c.Memories))
		for j, m := range c.Memories {
			names[j] = fmt.Sprintf("%s (%s)", m.Handle, m.Kind)
			if m.Title != "" {
				names[j] = fmt.Sprintf("%s (%s, %s)", m.Handle, m.Kind, escaped.Replace(m.Title))
			}
		}
		b.WriteString(": " + strings.Join(names, ", "))
		if more := c.Count - len(c.Memories); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
		b.WriteString("\n")
	}
	if d.Hole != nil {
		fmt.Fprintf(&b, "\n### A hole to fill\n\nNobody wrote anything about %s:\n\n    %s\n", code([]string{d.Hole.Key}), d.Hole.Command)
	}
	return b.String()
}

// abbreviated is how much of a commit's hash people are shown.
const abbreviated = 7

func code(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "`" + strings.ReplaceAll(memory.Line(w), "`", "'") + "`"
	}
	return strings.Join(quoted, ", ")
}

// escaped keeps a title from being read as Markdown.
var escaped = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "|", `\|`, "@", "@\u200b")
