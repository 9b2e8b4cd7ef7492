package session

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/terms"
)

// cite records what the session says it used, and what it names of what it was shown.
func (w *work) cite(ctx context.Context, st Stored, r FinishRequest, out *Ended) error {
	for _, name := range r.UsedMemories {
		if strings.TrimSpace(name) == "" {
			continue
		}
		rec, err := w.memory.Find(ctx, w.tx, w.caller, "used_memories", name)
		switch {
		case problem.Is(err, problem.NotFound) || problem.Is(err, problem.Invalid):
			out.Unmatched = append(out.Unmatched, clip(name))
			continue
		case err != nil:
			return err
		}
		if err := w.citeOne(ctx, st, rec.ID, rec.Handle, false, out); err != nil {
			return err
		}
	}
	seen, err := observed(ctx, w.tx, st.Name, strings.Join(slices.Concat([]string{r.Summary}, r.Decisions, r.FollowUps), "\n"))
	if err != nil {
		return err
	}
	for _, rec := range seen {
		if err := w.citeOne(ctx, st, rec.ID, rec.Handle, true, out); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) citeOne(ctx context.Context, st Stored, id uuid.UUID, handle string, observed bool, out *Ended) error {
	if id == st.Outcome || slices.Contains(out.Cited, handle) {
		return nil
	}
	out.Cited = append(out.Cited, handle)
	return w.tx.Cite(ctx, id, st.Name, observed, w.now)
}

// ObserveSession counts memories that a session was shown and that a text of its assistant names as relied on. The text is what
// the assistant wrote or put into a file, never the answer of a tool or what was injected. It gives the handles.
func (s *Service) ObserveSession(ctx context.Context, c memory.Caller, ref, text string) ([]string, error) {
	var found []memory.Record
	var st Stored
	if err := s.view(ctx, c, func(v View) (err error) {
		if st, err = own(ctx, v, c, ref); err != nil {
			return err
		}
		found, err = observed(ctx, v, st.Name, text)
		return err
	}); err != nil {
		return nil, fmt.Errorf("observe work session: %w", err)
	}
	out := Ended{Cited: []string{}}
	if len(found) == 0 {
		return out.Cited, nil
	}
	err := s.write(ctx, c, func(tx Tx) error {
		out.Cited = out.Cited[:0]
		w := work{Service: s, tx: tx, caller: c, now: s.memory.Now()}
		for _, rec := range found {
			if err := w.citeOne(ctx, st, rec.ID, rec.Handle, true, &out); err != nil {
				return err
			}
		}
		if st.Reporting {
			return tx.Report(ctx, st.Name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("observe work session: %w", err)
	}
	return out.Cited, nil
}

// titleWords is the least length of a title that is taken for its memory when a text quotes it: shorter ones are said by chance.
const titleWords = 3

var (
	handlePattern = regexp.MustCompile(`(?i)\bm-[a-z2-7]{7}\b`)
	// quoted are stretches in quotation marks of the languages people write in, and links.
	quoted = regexp.MustCompile(`\[\[([^\[\]\n]{1,200})\]\]|"([^"\n]{1,200})"|“([^“”\n]{1,200})”|«([^«»\n]{1,200})»|‘([^‘’\n]{1,200})’|「([^「」\n]{1,200})」|『([^『』\n]{1,200})』|` +
		"`([^`\n]{1,200})`")
)

// observed finds the memories shown to a session that a text names by handle or, in quotes, by title.
func observed(ctx context.Context, v View, name, text string) ([]memory.Record, error) {
	handles, titles := map[string]bool{}, map[string]bool{}
	for _, h := range handlePattern.FindAllString(text, -1) {
		handles[strings.ToLower(h)] = true
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		title := terms.Fold(strings.Join(m[1:], ""))
		if len(strings.Fields(title)) >= titleWords {
			titles[title] = true
		}
	}
	if len(handles)+len(titles) == 0 {
		return nil, nil
	}
	shown, err := v.ShownTo(ctx, name)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, s := range shown {
		if !slices.Contains(ids, s.Memory) {
			ids = append(ids, s.Memory)
		}
	}
	recs, err := v.Records(ctx, ids)
	return slices.DeleteFunc(recs, func(r memory.Record) bool {
		return !handles[r.Handle] && (r.Title == "" || !titles[terms.Fold(r.Title)])
	}), err
}
