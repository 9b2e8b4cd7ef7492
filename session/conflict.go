package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// conflicts finds the other sessions that work on the elements, above or below them: whoever changes a container meets who
// changes a component of it. edited are files that this session has just edited. Longest at work first.
func (w *work) conflicts(ctx context.Context, self uuid.UUID, wanted []memory.Element, edited []string) ([]Conflict, error) {
	out := []Conflict{}
	if len(wanted) == 0 && len(edited) == 0 {
		return out, nil
	}
	others, leases, err := w.others(ctx, self)
	if err != nil || len(others) == 0 {
		return out, err
	}
	elements, err := w.tx.Elements(ctx, w.caller.Project, false)
	if err != nil {
		return out, err
	}
	tree := newTree(elements)
	files, err := w.sameFiles(ctx, self, others, edited)
	if err != nil {
		return out, err
	}
	for _, l := range leases {
		if !l.ReleasedAt.IsZero() {
			continue
		}
		held, ok := tree.byID[l.Element]
		if !ok {
			continue
		}
		for _, e := range wanted {
			if !tree.related(held.ID, e.ID) {
				continue
			}
			o := others[l.Session]
			out = append(out, Conflict{SessionID: o.Name, Author: o.by(), Task: o.Body.Task, Element: held.Ref(), With: e.Key, Since: l.TakenAt,
				Soft: l.Soft, Exclusive: l.Exclusive, File: files[l.Session]})
			delete(files, l.Session) // said once
			break
		}
	}
	for id, file := range files { // edits without a lease in common
		o := others[id]
		out = append(out, Conflict{SessionID: o.Name, Author: o.by(), Task: o.Body.Task, Since: o.StartedAt, Soft: true, File: file})
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.SessionID, b.SessionID), strings.Compare(a.Element.Key, b.Element.Key))
	})
	return out, nil
}

// mostActive bounds the sessions at work in one project that are looked at.
const mostActive = 1000

// others gives the sessions of the project that are at work beside one, with their leases.
func (w *work) others(ctx context.Context, self uuid.UUID) (map[uuid.UUID]Stored, []HeldLease, error) {
	active, err := w.tx.Sessions(ctx, Query{Project: w.caller.Project, State: Active, Since: w.now.Add(-Lifetime), Limit: mostActive})
	if err != nil {
		return nil, nil, err
	}
	others := map[uuid.UUID]Stored{}
	var ids []uuid.UUID
	for _, st := range active {
		if st.ID != self {
			others[st.ID] = st
			ids = append(ids, st.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil, nil
	}
	leases, err := w.tx.Leases(ctx, ids)
	return others, leases, err
}

// sameFiles gives, for each other session, a file that both edited within SameFileWindow.
func (w *work) sameFiles(ctx context.Context, self uuid.UUID, others map[uuid.UUID]Stored, edited []string) (map[uuid.UUID]string, error) {
	out := map[uuid.UUID]string{}
	ids := make([]uuid.UUID, 0, len(others))
	for id := range others {
		ids = append(ids, id)
	}
	since := w.now.Add(-SameFileWindow)
	theirs, err := w.tx.Edits(ctx, ids, since)
	if err != nil || len(theirs) == 0 {
		return out, err
	}
	mine := map[string]bool{}
	for _, p := range edited {
		mine[p] = true
	}
	before, err := w.tx.Edits(ctx, []uuid.UUID{self}, since)
	if err != nil {
		return out, err
	}
	for _, e := range before {
		mine[e.Path] = true
	}
	for _, e := range theirs {
		if mine[e.Path] && out[e.Session] == "" {
			out[e.Session] = e.Path
		}
	}
	return out, nil
}

// gate decides. Exclusive work meets nobody's work but what hooks observed; other work is only told.
func gate(conflicts []Conflict, exclusive bool) Gate {
	g := Gate{Verdict: Allow, Reasons: []string{}}
	for _, c := range conflicts {
		switch {
		case c.File != "":
			g.raise(Warn, fmt.Sprintf("%s (%s) edited %s within the last %d minutes", c.Author, c.SessionID, c.File, int(SameFileWindow/time.Minute)))
		case c.Soft:
		case c.Exclusive:
			g.raise(Deny, fmt.Sprintf("%s works on %s alone since %s (%s%s)", c.Author, c.Element.Key, clock(c.Since), c.SessionID, about(c.Task)))
		case exclusive:
			g.raise(Deny, fmt.Sprintf("%s works on %s since %s (%s%s), so it cannot be had alone", c.Author, c.Element.Key, clock(c.Since), c.SessionID, about(c.Task)))
		default:
			g.raise(Warn, fmt.Sprintf("%s works on %s since %s (%s%s)", c.Author, c.Element.Key, clock(c.Since), c.SessionID, about(c.Task)))
		}
	}
	return g
}

// raise adds a reason; the strictest verdict holds.
func (g *Gate) raise(v Verdict, reason string) {
	g.Reasons = append(g.Reasons, reason)
	if g.Verdict == Allow || v == Deny {
		g.Verdict = v
	}
}

func about(task string) string {
	if task == "" {
		return ""
	}
	return ": " + clip(task)
}

// clock is a moment as people read it.
func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

// tree is the elements of a model by their parents.
type tree struct {
	byID map[uuid.UUID]memory.Element
}

func newTree(elements []memory.Element) tree {
	t := tree{make(map[uuid.UUID]memory.Element, len(elements))}
	for _, e := range elements {
		t.byID[e.ID] = e
	}
	return t
}

// related tells whether two elements are the same or one is part of the other.
func (t tree) related(a, b uuid.UUID) bool { return t.within(a, b) || t.within(b, a) }

// within tells whether an element is another or inside it. A model that loops ends, too.
func (t tree) within(e, of uuid.UUID) bool {
	for range len(t.byID) + 1 {
		if e == of {
			return true
		}
		parent, ok := t.byID[e]
		if !ok || parent.ParentID == uuid.Nil {
			return false
		}
		e = parent.ParentID
	}
	return false
}
