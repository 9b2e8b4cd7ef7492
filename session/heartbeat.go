package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// HeartbeatSession shows life, keeps a checkpoint, and tells who else works there. Elements, paths and edited files become leases:
// soft ones by a hook, which only observes.
func (s *Service) HeartbeatSession(ctx context.Context, c memory.Caller, r HeartbeatRequest) (Status, error) {
	redacted, err := r.clean()
	if err != nil {
		return Status{}, err
	}
	var out Status
	err = s.write(ctx, c, func(tx Tx) error {
		w := work{Service: s, tx: tx, caller: c, now: s.memory.Now()}
		var err error
		out, err = w.heartbeat(ctx, r)
		out.Warnings = append(warnings(redacted), out.Warnings...)
		return err
	})
	if err != nil {
		return Status{}, fmt.Errorf("heartbeat of the work session: %w", err)
	}
	return out, nil
}

func (r *HeartbeatRequest) clean() (redacted []memory.Redaction, err error) {
	point := Checkpoint{r.Summary, r.Decisions, r.FollowUps}
	if redacted, err = point.clean(); err != nil {
		return nil, err
	}
	r.Summary, r.Decisions, r.FollowUps = point.Summary, point.Decisions, point.FollowUps
	var found []memory.Redaction
	if r.Task, found, err = cleanTask(r.Task); err != nil {
		return nil, err
	}
	redacted = append(redacted, found...)
	if err := r.Anchor.Check(); err != nil {
		return nil, err
	}
	if len(r.Elements) > memory.MaxElements {
		return nil, problem.Invalidf("elements", "%d elements are more than the %d that one session can work on", len(r.Elements), memory.MaxElements).
			Fix("name their common parent")
	}
	if r.Paths, err = cleanPaths("paths", r.Paths); err != nil {
		return nil, err
	}
	r.Edited, err = cleanPaths("edited", r.Edited)
	return redacted, err
}

// heartbeat applies what a session says on the way.
func (w *work) heartbeat(ctx context.Context, r HeartbeatRequest) (Status, error) {
	st, err := own(ctx, w.tx, w.caller, r.Session)
	if err != nil {
		return Status{}, err
	}
	switch st.State {
	case Finished, Cancelled:
		return Status{}, over(st)
	case Expired:
		if err := w.takeBack(ctx, st); err != nil {
			return Status{}, err
		}
		if err := w.audit(ctx, VerbReopen, st); err != nil {
			return Status{}, err
		}
	case Active:
	}
	wanted, err := w.elements(ctx, r.Elements, r.Paths)
	if err != nil {
		return Status{}, err
	}
	touched, err := w.elements(ctx, nil, r.Edited)
	if err != nil {
		return Status{}, err
	}
	out := Status{Warnings: []string{}}
	if out.Conflicts, err = w.conflicts(ctx, st.ID, slices.Concat(wanted, touched), r.Edited); err != nil {
		return Status{}, err
	}
	g := gate(out.Conflicts, false)
	out.Warnings = append(out.Warnings, g.Reasons...)
	leases := w.leases(st, touched, true)
	if g.Verdict != Deny {
		leases = slices.Concat(w.leases(st, wanted, w.caller.Door == memory.FromHook), leases)
	} else if len(wanted) > 0 {
		out.Warnings = append(out.Warnings, "no lease was taken: somebody works there alone")
	}
	st.State, st.BeatAt, st.EndedAt = Active, w.now, time.Time{}
	st.Body.Task, st.Body.Anchor = cmp.Or(st.Body.Task, r.Task), cmp.Or(r.Anchor, st.Body.Anchor)
	st.Body.Checkpoint.update(Checkpoint{r.Summary, r.Decisions, r.FollowUps})
	if err := w.tx.SaveSession(ctx, st); err != nil {
		return Status{}, err
	}
	if err := w.tx.TakeLeases(ctx, st, leases); err != nil {
		return Status{}, err
	}
	if err := w.tx.NoteEdits(ctx, st.ID, r.Edited, w.now, MaxEdits); err != nil {
		return Status{}, err
	}
	out.Summary, err = w.summary(ctx, st)
	return out, err
}

// leases are new leases on elements, at most as many as one session may have.
func (w *work) leases(st Stored, on []memory.Element, soft bool) []HeldLease {
	out := make([]HeldLease, 0, len(on))
	for _, e := range on[:min(len(on), memory.MaxElements)] {
		out = append(out, HeldLease{Session: st.ID, Element: e.ID, TakenAt: w.now, Soft: soft})
	}
	return out
}

// update takes what is said now; what is not said stays.
func (p *Checkpoint) update(now Checkpoint) {
	if now.Summary != "" {
		p.Summary = now.Summary
	}
	if len(now.Decisions) > 0 {
		p.Decisions = now.Decisions
	}
	if len(now.FollowUps) > 0 {
		p.FollowUps = now.FollowUps
	}
}

// clean checks and redacts what a session says about its work.
func (p *Checkpoint) clean() ([]memory.Redaction, error) {
	total := map[string]int{}
	var order []string
	clean := func(field, text string, limit int, fix string) (string, error) {
		text, found, err := memory.Clean(field, text, limit, fix)
		for _, f := range found {
			if total[f.Kind] == 0 {
				order = append(order, f.Kind)
			}
			total[f.Kind] += f.Count
		}
		return text, err
	}
	var err error
	if p.Summary, err = clean("summary", p.Summary, MaxSummaryBytes, "say what was done in a few sentences; facts that last belong in remember"); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		field string
		items *[]string
	}{{"decisions", &p.Decisions}, {"follow_ups", &p.FollowUps}} {
		if len(*list.items) > MaxItems {
			return nil, problem.Invalidf(list.field, "%d are more than the %d of one session", len(*list.items), MaxItems).Fix("keep those that the next one must know")
		}
		var kept []string
		for _, text := range *list.items {
			if text, err = clean(list.field, text, MaxItemBytes, "one sentence each"); err != nil {
				return nil, err
			}
			if text = memory.Line(text); text != "" && !slices.Contains(kept, text) {
				kept = append(kept, text)
			}
		}
		*list.items = kept
	}
	out := make([]memory.Redaction, 0, len(order))
	for _, kind := range order {
		out = append(out, memory.Redaction{Kind: kind, Count: total[kind]})
	}
	return out, nil
}

func (p *Checkpoint) empty() bool {
	return p.Summary == "" && len(p.Decisions)+len(p.FollowUps) == 0
}

func over(st Stored) error {
	return problem.New(problem.Conflict, clientField, fmt.Sprintf("the work session %s is over (%s)", st.Name, st.State), "start another one")
}

// reopen lets an expired session go on, with its next sign of life.
func (s *Service) reopen(ctx context.Context, c memory.Caller, expired Stored) error {
	c = expired.author(c.Org)
	return s.write(ctx, c, func(tx Tx) error {
		w := work{Service: s, tx: tx, caller: c, now: s.memory.Now()}
		st, ok, err := tx.Session(ctx, c.User, expired.Name)
		if err != nil || !ok || st.State != Expired {
			return err // somebody else was first
		}
		if err := w.takeBack(ctx, st); err != nil {
			return err
		}
		st.State, st.BeatAt, st.EndedAt = Active, w.now, time.Time{}
		if err := tx.SaveSession(ctx, st); err != nil {
			return err
		}
		return w.audit(ctx, VerbReopen, st)
	})
}

// takeBack gives an expired session the leases that it lost by expiring. Where somebody works meanwhile it is not alone any more.
func (w *work) takeBack(ctx context.Context, st Stored) error {
	all, err := w.tx.Leases(ctx, []uuid.UUID{st.ID})
	if err != nil {
		return err
	}
	elements, err := w.tx.Elements(ctx, st.Project, false)
	if err != nil {
		return err
	}
	tree := newTree(elements)
	var back []HeldLease
	for _, l := range all {
		e, ok := tree.byID[l.Element]
		if !ok || !l.ReleasedAt.Equal(st.EndedAt) {
			continue
		}
		met, err := w.conflicts(ctx, st.ID, []memory.Element{e}, nil)
		if err != nil {
			return err
		}
		g := gate(met, l.Exclusive)
		if g.Verdict == Deny {
			l.Exclusive = false
			if gate(met, false).Verdict == Deny {
				continue // somebody has it alone now
			}
		}
		l.TakenAt, l.ReleasedAt = w.now, time.Time{}
		back = append(back, l)
	}
	return w.tx.TakeLeases(ctx, st, back)
}
