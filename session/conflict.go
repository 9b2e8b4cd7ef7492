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
	return meet(wanted, tree, others, leases, files), nil
}

// meet is the rule of what a session meets: the held leases of others on the wanted elements, above or below them, and the files, one
// of each other session at most, that both edited. It takes from files what it has said.
func meet(wanted []memory.Element, tree tree, others map[uuid.UUID]Stored, leases []HeldLease, files map[uuid.UUID]string) []Conflict {
	out := []Conflict{}
	for _, l := range leases {
		o, other := others[l.Session]
		held, ok := tree.byID[l.Element]
		if !other || !ok || !l.ReleasedAt.IsZero() {
			continue
		}
		with, met := tree.nearest(held, wanted)
		if !met {
			continue
		}
		out = append(out, Conflict{SessionID: o.Name, Author: o.by(), Task: o.Body.Task, Element: held.Ref(), With: with.Key, Since: l.TakenAt,
			Soft: l.Soft, Exclusive: l.Exclusive, File: files[l.Session]})
		delete(files, l.Session) // said once
	}
	for id, file := range files { // edits without a lease in common
		o := others[id]
		out = append(out, Conflict{SessionID: o.Name, Author: o.by(), Task: o.Body.Task, Since: o.StartedAt, Soft: true, File: file})
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.SessionID, b.SessionID), strings.Compare(a.Element.Key, b.Element.Key))
	})
	return out
}

// SessionConflicts gives for each session at work in the project, by its name, what a heartbeat about all that it works on and edited
// lately would tell it: who else works there, longest at work first. Sessions that meet nobody are left out.
func (s *Service) SessionConflicts(ctx context.Context, c memory.Caller) (map[string][]Conflict, error) {
	var out map[string][]Conflict
	err := s.view(ctx, c, func(v View) error {
		out = map[string][]Conflict{}
		now := s.memory.Now()
		active, err := v.Sessions(ctx, Query{Project: c.Project, State: Active, Since: now.Add(-Lifetime), Limit: mostActive})
		if err != nil || len(active) < 2 {
			return err
		}
		ids := make([]uuid.UUID, len(active))
		others := make(map[uuid.UUID]Stored, len(active))
		for i, st := range active {
			ids[i], others[st.ID] = st.ID, st
		}
		leases, err := v.Leases(ctx, ids)
		if err != nil {
			return err
		}
		edits, err := v.Edits(ctx, ids, now.Add(-SameFileWindow))
		if err != nil {
			return err
		}
		elements, err := v.Elements(ctx, c.Project, false)
		if err != nil {
			return err
		}
		tree := newTree(elements)
		for _, st := range active {
			delete(others, st.ID)
			var wanted []memory.Element
			for _, l := range leases {
				if e, ok := tree.byID[l.Element]; ok && l.Session == st.ID && l.ReleasedAt.IsZero() {
					wanted = append(wanted, e)
				}
			}
			if met := meet(wanted, tree, others, leases, alsoEdited(st.ID, edits)); len(met) > 0 {
				out[st.Name] = met
			}
			others[st.ID] = st
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("conflicts of work sessions: %w", err)
	}
	return out, nil
}

// alsoEdited gives, for each other session, a file that it and this one are among those who edited.
func alsoEdited(self uuid.UUID, edits []Edit, edited ...string) map[uuid.UUID]string {
	mine := map[string]bool{}
	for _, p := range edited {
		mine[p] = true
	}
	for _, e := range edits {
		if e.Session == self {
			mine[e.Path] = true
		}
	}
	out := map[uuid.UUID]string{}
	for _, e := range edits {
		if e.Session != self && mine[e.Path] && out[e.Session] == "" {
			out[e.Session] = e.Path
		}
	}
	return out
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
	ids := make([]uuid.UUID, 0, len(others)+1)
	for id := range others {
		ids = append(ids, id)
	}
	edits, err := w.tx.Edits(ctx, append(ids, self), w.now.Add(-SameFileWindow))
	return alsoEdited(self, edits, edited...), err
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

// nearest gives the wanted element that an element meets: itself, else the first by key that is above or below it.
func (t tree) nearest(e memory.Element, wanted []memory.Element) (memory.Element, bool) {
	var found memory.Element
	for _, w := range wanted {
		switch {
		case w.ID == e.ID:
			return w, true
		case t.related(e.ID, w.ID) && (found.ID == uuid.Nil || w.Key < found.Key):
			found = w
		}
	}
	return found, found.ID != uuid.Nil
}

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
