package review

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// UndoReview takes a decision back: its items are open again, and memories stand as before. When somebody decided about one of
// them since, nothing happens and the error tells. A revision is never taken back: what was edited gets a further one that
// says what the first said.
func (s *Service) UndoReview(ctx context.Context, c memory.Caller, decision string) (Decision, error) {
	id, err := uuid.Parse(decision)
	if err != nil || id == uuid.Nil { // which would be any decision
		return Decision{}, problem.Invalidf("decision", "%q is no id of a decision", clip(decision)).Fix("take it from the history of reviews")
	}
	var out Decision
	err = s.write(ctx, c, nil, func(tx Tx) error {
		if done, err := memory.Answered(ctx, tx, c, VerbUndo, decision, &out); err != nil || done {
			return err
		}
		u := undoing{Service: s, tx: tx, caller: c, now: s.memory.Now()}
		return memory.Once(ctx, tx, c, u.now, VerbUndo, decision, &out, func() error {
			var err error
			out, err = u.run(ctx, id)
			return err
		})
	})
	if err != nil {
		return Decision{}, fmt.Errorf("undo review: %w", err)
	}
	return out, nil
}

// undoing takes one decision back in one transaction.
type undoing struct {
	*Service
	tx      Tx
	caller  memory.Caller
	now     time.Time
	stored  Stored
	changes []Change
	records map[uuid.UUID]*memory.Record
}

func (u *undoing) run(ctx context.Context, id uuid.UUID) (Decision, error) {
	if err := u.load(ctx, id); err != nil {
		return Decision{}, err
	}
	if err := u.mayUndo(); err != nil {
		return Decision{}, err
	}
	if err := u.stands(ctx); err != nil {
		return Decision{}, err
	}
	for _, made := range []bool{true, false} { // what the decision made goes first, and frees titles
		for _, c := range u.changes {
			if (c.Before.Status == "") != made {
				continue
			}
			if err := u.putBack(ctx, c); err != nil {
				return Decision{}, fmt.Errorf("%s: %w", u.records[c.Memory].Handle, err)
			}
		}
	}
	if err := u.unbind(ctx); err != nil {
		return Decision{}, err
	}
	if err := u.tx.UndoDecision(ctx, id, u.caller, u.now); err != nil {
		return Decision{}, err
	}
	space := u.tx.Space(memory.SpaceKey{Scope: memory.Project, Owner: u.caller.Project.String()}).ID
	if err := u.tx.Audit(ctx, u.caller, memory.AuditEntry{At: u.now, Verb: VerbUndo, Subject: id, Space: space,
		Detail: map[string]string{"action": string(u.stored.Action)}}); err != nil {
		return Decision{}, err
	}
	u.stored.UndoneAt, u.stored.UndoneBy = u.now, memory.AuthorName(u.caller.Agent, u.caller.User)
	return u.decision(ctx, u.tx, u.caller, u.stored)
}

// load reads the decision and what it did, and asks for the spaces of the memories.
func (u *undoing) load(ctx context.Context, id uuid.UUID) error {
	stored, err := u.tx.Decided(ctx, DecisionQuery{Project: u.caller.Project, User: u.caller.User, ID: id, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(stored) == 0:
		return problem.New(problem.NotFound, "decision", fmt.Sprintf("there is no decision %s here", id), "take it from the history of reviews")
	case !stored[0].UndoneAt.IsZero():
		return problem.New(problem.Conflict, "decision", fmt.Sprintf("%s undid it on %s", stored[0].UndoneBy, stored[0].UndoneAt.Format(time.RFC3339)), "nothing needs to be done")
	}
	u.stored = stored[0]
	if u.changes, err = u.tx.Changes(ctx, id); err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(u.changes))
	for i, c := range u.changes {
		ids[i] = c.Memory
	}
	bound, err := u.boundBy(ctx)
	if err != nil {
		return err
	}
	recs, err := u.tx.Records(ctx, slices.Concat(ids, bound))
	if err != nil {
		return err
	}
	u.records = map[uuid.UUID]*memory.Record{}
	var missing []memory.SpaceKey
	for i := range recs {
		u.records[recs[i].ID] = &recs[i]
		if key := recs[i].SpaceKey(); u.tx.Space(key).ID == 0 && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return &memory.SpacesError{Spaces: missing}
	}
	return nil
}

// boundBy are the memories that found their element through a binding of the decision.
func (u *undoing) boundBy(ctx context.Context) ([]uuid.UUID, error) {
	var elements []uuid.UUID
	for _, b := range u.stored.Detail.Bindings {
		elements = append(elements, b.Element)
	}
	if len(elements) == 0 {
		return nil, nil
	}
	return u.tx.AttachedAt(ctx, elements, u.stored.At)
}

// mayUndo refuses who may neither review nor made the decision.
func (u *undoing) mayUndo() error {
	own := u.stored.User == u.caller.User
	if !own && !u.caller.MayReview() {
		return problem.New(problem.Forbidden, "decision", "taking back what another decided needs the reviewer role", "ask a reviewer")
	}
	for _, c := range u.changes {
		r := u.records[c.Memory]
		switch {
		case r == nil || !u.caller.Sees(r):
			return problem.New(problem.Forbidden, "decision", "it concerns a memory that is not yours to see", "ask who decided")
		case own && (u.stored.Action == Confirm || u.stored.Action == Dispute):
		case !u.caller.MayDecide(r):
			return problem.New(problem.Forbidden, "decision", fmt.Sprintf("deciding about %s needs the reviewer role", r.Handle), "ask a reviewer")
		}
	}
	return nil
}

// stands refuses when something was decided since that would be lost.
func (u *undoing) stands(ctx context.Context) error {
	ids := make([]uuid.UUID, len(u.changes))
	for i, c := range u.changes {
		ids[i] = c.Memory
	}
	now, err := u.tx.States(ctx, ids)
	if err != nil {
		return err
	}
	for _, c := range u.changes {
		if state := now[c.Memory]; !state.standing(c.After) {
			return problem.New(problem.Conflict, "decision", fmt.Sprintf("%s %s since; undoing would take that back too", u.records[c.Memory].Handle, became(c.After, state)),
				"look at its history and decide anew")
		}
	}
	bindings, err := u.tx.Bindings(ctx, u.caller.Project)
	if err != nil {
		return err
	}
	for _, b := range u.stored.Detail.Bindings {
		var here []string
		key := "the element"
		for _, other := range bindings {
			if other.ElementID == b.Element {
				if key = other.Element; other.Source == memory.ServerBinding {
					here = append(here, other.Pattern)
				}
			}
		}
		lost := slices.ContainsFunc(b.After, func(p string) bool { return !slices.Contains(here, p) && !slices.Contains(b.Before, p) })
		if lost || len(here) > len(b.After) {
			return problem.New(problem.Conflict, "decision", key+" was bound otherwise since, or the repository says it now", "change the binding by hand: stele bind set")
		}
	}
	return nil
}

// became says what happened between two states.
func became(a, b State) string {
	switch {
	case a.Status != b.Status:
		return "became " + string(b.Status)
	case a.Revision != b.Revision:
		return "was edited"
	case a.Confirmations != b.Confirmations || !a.ConfirmedAt.Equal(b.ConfirmedAt):
		return "was confirmed"
	}
	return "changed"
}

// putBack makes one memory stand as before.
func (u *undoing) putBack(ctx context.Context, c Change) error {
	r := u.records[c.Memory]
	caller := u.caller
	caller.Session, caller.Retry = "", ""
	domain := u.memory.Within(u.tx, u.now)
	if c.Before.Status == "" {
		_, err := domain.Forget(ctx, caller, memory.ForgetRequest{Memory: c.Memory.String()})
		return err
	}
	if err := u.tx.PutBack(ctx, c, u.stored.At); err != nil {
		return err
	}
	if c.Before.Confirmations != c.After.Confirmations {
		entry := memory.AuditEntry{At: u.now, Verb: memory.VerbUnconfirm, Subject: r.ID, Revision: r.Revision, Space: r.Space, Detail: map[string]string{
			"confirmed_at": c.Before.ConfirmedAt.Format(time.RFC3339Nano), "confirmations": strconv.Itoa(c.Before.Confirmations)}}
		if err := u.tx.Audit(ctx, caller, entry); err != nil {
			return err
		}
	}
	switch live := memory.Live; {
	case c.Before.Status == live && r.Status != live:
		recs, err := u.tx.Records(ctx, []uuid.UUID{r.ID})
		if err != nil || len(recs) != 1 {
			return err
		}
		return domain.Reinstate(ctx, u.tx, caller, &recs[0])
	case c.Before.Status != live && r.Status == live, c.Before.Status == memory.CandidateStatus && r.Status == memory.Retired:
		return u.leaveRecall(ctx, caller, r, c.Before)
	case r.Status == live && !slices.Equal(c.Before.Elements, c.After.Elements):
		return u.reindex(ctx, caller, r.ID, c.Before.Revision != c.After.Revision)
	}
	return nil
}

// leaveRecall takes back that a memory was restored.
func (u *undoing) leaveRecall(ctx context.Context, c memory.Caller, r *memory.Record, before State) error {
	if err := u.tx.SetStatus(ctx, r, before.Status, before.Successor, nil); err != nil {
		return err
	}
	entry := memory.AuditEntry{At: u.now, Verb: memory.VerbRetire, Subject: r.ID, Revision: r.Revision, Space: r.Space}
	switch before.Status {
	case memory.Superseded:
		entry.Verb, entry.Detail = memory.VerbSupersede, map[string]string{"by": before.Successor.String()}
	case memory.CandidateStatus:
		entry.Verb = memory.VerbPropose
	case memory.Live, memory.Retired, memory.Erased:
	}
	return u.tx.Audit(ctx, c, entry)
}

// reindex lets a memory be found by the names of its elements as they are now.
func (u *undoing) reindex(ctx context.Context, c memory.Caller, id uuid.UUID, edited bool) error {
	recs, err := u.tx.Records(ctx, []uuid.UUID{id})
	if err != nil || len(recs) != 1 || recs[0].Unreadable() {
		return err
	}
	r := &recs[0]
	verb := memory.VerbAttach
	if edited {
		verb = memory.VerbEdit
		r.Revision++
		err = u.tx.Revise(ctx, r, memory.IndexOf(&r.Memory), c, u.now)
	} else {
		err = u.tx.Reindex(ctx, r, memory.IndexOf(&r.Memory))
	}
	if err != nil {
		return err
	}
	return u.tx.Audit(ctx, c, memory.AuditEntry{At: u.now, Verb: verb, Subject: r.ID, Revision: r.Revision, Space: r.Space})
}

// unbind takes back the bindings of the decision, what found its element through them, and the doubts they ended.
func (u *undoing) unbind(ctx context.Context) error {
	d := u.stored.Detail
	if len(d.Withdrawn) > 0 {
		if err := u.tx.ReopenDoubts(ctx, d.Withdrawn, u.stored.At); err != nil {
			return err
		}
	}
	if len(d.Bindings) == 0 {
		return nil
	}
	bound, err := u.boundBy(ctx)
	if err != nil {
		return err
	}
	elements := make([]uuid.UUID, len(d.Bindings))
	for i, b := range d.Bindings {
		elements[i] = b.Element
		if err := u.tx.SaveBindings(ctx, u.caller.Project, b.Element, b.Before); err != nil {
			return err
		}
		if err := u.tx.Audit(ctx, u.caller, memory.AuditEntry{At: u.now, Verb: memory.VerbBind, Subject: b.Element, Space: u.tx.Space(memory.SpaceKey{
			Scope: memory.Project, Owner: u.caller.Project.String()}).ID}); err != nil {
			return err
		}
	}
	if err := u.tx.Unattach(ctx, elements, u.stored.At); err != nil {
		return err
	}
	for _, id := range bound {
		if err := u.reindex(ctx, u.caller, id, false); err != nil {
			return err
		}
	}
	return nil
}
