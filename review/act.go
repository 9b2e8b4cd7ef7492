package review

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// acting is what a decision does in one transaction, by the rules of the domain.
type acting struct {
	*deciding
	tx      Tx
	domain  *memory.Service // within the transaction
	caller  memory.Caller
	targets targets
	records []memory.Record
}

// touches are the memories that the action may change.
func (a *acting) touches(ctx context.Context) ([]uuid.UUID, error) {
	if a.request.Action != Merge {
		return slices.Clone(a.targets.memories), nil
	}
	one, two, err := a.pair(ctx, a.tx, a.targets)
	if err != nil {
		return nil, err
	}
	return []uuid.UUID{one.ID, two.ID}, nil
}

// act does it, and gives the memories that it made.
func (a *acting) act(ctx context.Context) (made []uuid.UUID, err error) {
	switch a.request.Action {
	case Snooze, Keep:
		return nil, nil
	case Edit:
		return a.edit(ctx)
	case Merge:
		return a.merge(ctx)
	case AcceptBinding:
		return nil, a.acceptBindings(ctx)
	case Confirm, Dispute, Retire, Restore, Reattach, Promote:
	}
	for i := range a.records {
		r := &a.records[i]
		id, err := a.one(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Handle, err)
		}
		if id != uuid.Nil {
			made = append(made, id)
			a.stored.Detail.Into = id
		}
	}
	return made, nil
}

// one acts on one memory, and gives the one that it made.
func (a *acting) one(ctx context.Context, r *memory.Record) (made uuid.UUID, err error) {
	ref := r.ID.String()
	switch a.request.Action { //nolint:exhaustive // act has the others
	case Confirm:
		if r.ExpiresAt != nil && !r.ExpiresAt.After(a.at) { // it holds, and so for longer than somebody thought
			never := ""
			if _, err = a.domain.Edit(ctx, a.caller, memory.EditRequest{Memory: ref, Expires: &never}); err != nil {
				return uuid.Nil, err
			}
		}
		_, err = a.domain.Confirm(ctx, a.caller, memory.ConfirmRequest{Memory: ref, Holds: true, Seen: a.request.Seen})
	case Dispute:
		_, err = a.domain.Confirm(ctx, a.caller, memory.ConfirmRequest{Memory: ref, Note: a.stored.Note})
	case Retire:
		_, err = a.domain.Forget(ctx, a.caller, memory.ForgetRequest{Memory: ref, Reason: a.stored.Note})
	case Restore:
		_, err = a.domain.Restore(ctx, a.caller, ref)
	case Reattach:
		_, err = a.domain.Edit(ctx, a.caller, memory.EditRequest{Memory: ref, Elements: &a.request.Elements})
	case Promote:
		var m memory.Memory
		m, err = a.domain.Promote(ctx, a.caller, ref)
		made = m.ID
	}
	return made, err
}

// edit supersedes a memory by the new text.
func (a *acting) edit(ctx context.Context) ([]uuid.UUID, error) {
	out, err := a.domain.Place(ctx, a.tx, a.caller, a.text)
	if err != nil {
		return nil, err
	}
	a.stored.Detail.Into = out.Memory.ID
	return []uuid.UUID{out.Memory.ID}, nil
}

// merge lets one of two memories stand for both, or a new text.
func (a *acting) merge(ctx context.Context) (made []uuid.UUID, err error) {
	one, two, err := a.pair(ctx, a.tx, a.targets)
	if err != nil {
		return nil, err
	}
	if a.request.Into == "" {
		if made, err = a.edit(ctx); err != nil {
			return nil, err
		}
		_, err = a.domain.Absorb(ctx, a.caller, two.ID.String(), made[0].String())
		return made, err
	}
	stays, err := a.domain.Find(ctx, a.tx, a.caller, "into", a.request.Into)
	switch {
	case err != nil:
		return nil, err
	case stays.ID == two.ID:
		one, two = two, one
	case stays.ID != one.ID:
		return nil, problem.Invalidf("into", "%s is neither of the two", stays.Handle).Fix("name %s or %s", one.Handle, two.Handle)
	}
	a.stored.Detail.Into = one.ID
	_, err = a.domain.Absorb(ctx, a.caller, two.ID.String(), one.ID.String())
	return nil, err
}

// pair gives the memory that an edit is of, or the two of a merge.
func (d *deciding) pair(ctx context.Context, v View, t targets) (one, two *memory.Record, err error) {
	ids, wanted := slices.Clone(t.memories), 1
	if d.request.Action == Merge {
		wanted = 2
		for _, o := range t.items {
			if o.Reason == Conflict && !slices.Contains(ids, o.Other) {
				ids = append(ids, o.Other)
			}
		}
	}
	if len(ids) != wanted {
		return nil, nil, problem.Invalidf("items", "to %s takes %d, and %d are named", d.request.Action, wanted, len(ids)).
			Fix("name one item, or the memories")
	}
	recs, err := v.Records(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	if len(recs) != wanted {
		return nil, nil, problem.New(problem.NotFound, "memories", "what is named is not there any more", "look at the queue again")
	}
	for i := range recs {
		if !d.caller.MayDecide(&recs[i]) {
			return nil, nil, problem.New(problem.Forbidden, "action", fmt.Sprintf("to %s another author's memory (%s) needs the reviewer role", d.request.Action, recs[i].Handle),
				"ask a reviewer")
		}
	}
	return &recs[0], &recs[len(recs)-1], nil
}

// acceptBindings binds the elements of moved files to where they went, and ends the rest of the doubts that their moving
// made, except of memories that quote something which is gone.
func (a *acting) acceptBindings(ctx context.Context) error {
	var stamps []uuid.UUID
	for _, o := range a.targets.items {
		if o.Reason == Drifted && o.Moved && !slices.Contains(stamps, o.Stamp) {
			stamps = append(stamps, o.Stamp)
		}
	}
	if len(stamps) == 0 {
		return problem.Invalidf("action", "no run found where the files went").Fix("bind the element by hand: stele bind set").Fix("confirm what still holds")
	}
	ended := map[uuid.UUID]bool{}
	for _, id := range stamps {
		stamp, err := a.tx.StampOf(ctx, id)
		if err != nil {
			return err
		}
		if err := a.bind(ctx, stamp); err != nil {
			return err
		}
		doubts, err := a.tx.StampDoubts(ctx, id)
		if err != nil {
			return err
		}
		for _, d := range doubts {
			if d.Fails {
				a.keep(d.Memory, "something it quotes is gone")
				continue
			}
			ended[d.Doubt] = true
			a.stored.Detail.Withdrawn = append(a.stored.Detail.Withdrawn, d.Doubt)
		}
	}
	// What the binding did not settle stays open.
	a.targets.items = slices.DeleteFunc(slices.Clone(a.targets.items), func(o Open) bool { return !ended[o.Doubt] })
	a.targets.memories = slices.DeleteFunc(slices.Clone(a.targets.memories), func(id uuid.UUID) bool {
		return !slices.ContainsFunc(a.targets.items, func(o Open) bool { return o.Memory == id })
	})
	return a.tx.Withdraw(ctx, a.stored.Detail.Withdrawn, a.at)
}

// keep tells of a memory that stays as it is, if it is the caller's to know of.
func (a *acting) keep(id uuid.UUID, reason string) {
	for i := range a.records {
		if a.records[i].ID == id {
			a.out.Kept = append(a.out.Kept, Kept{a.records[i].Handle, reason})
		}
	}
}

// bind adds where the files of a stamp went to what its element is bound to here.
func (a *acting) bind(ctx context.Context, stamp memory.Stamp) error {
	report, found, err := a.tx.RunReport(ctx, a.caller.Project, stamp.Run)
	if err != nil {
		return err
	}
	pattern := ""
	for _, f := range report.Report.Findings {
		if found && f.Fingerprint == stamp.Fingerprint {
			pattern = suggested(f)
		}
	}
	if pattern == "" {
		return problem.New(problem.Conflict, "action", "the run that found the files elsewhere suggests no binding", "bind the element by hand: stele bind set")
	}
	bindings, err := a.tx.Bindings(ctx, a.caller.Project)
	if err != nil {
		return err
	}
	key, before := "", []string{}
	for _, b := range bindings {
		if b.ElementID == stamp.Element {
			key = b.Element
			if b.Source == memory.ServerBinding {
				before = append(before, b.Pattern)
			}
		}
	}
	if key == "" { // it was bound in another way, or left the model
		elements, err := a.tx.Elements(ctx, a.caller.Project, false)
		if err != nil {
			return err
		}
		for _, e := range elements {
			if e.ID == stamp.Element {
				key = e.Key
			}
		}
		if key == "" {
			return problem.New(problem.Conflict, "action", "the element left the model", "reattach its memories")
		}
	}
	if slices.Contains(before, pattern) {
		return nil
	}
	after := append(slices.Clone(before), pattern)
	if _, err := a.domain.Bind(ctx, a.caller, memory.BindRequest{Element: key, Patterns: after}); err != nil {
		return err
	}
	for i, b := range a.stored.Detail.Bindings {
		if b.Element == stamp.Element { // several of its patterns moved
			a.stored.Detail.Bindings[i].After = after
			return nil
		}
	}
	a.stored.Detail.Bindings = append(a.stored.Detail.Bindings, Binding{stamp.Element, before, after})
	return nil
}

// suggested is the pattern, for the whole repository, that a finding proposes for files that moved.
func suggested(f drift.Finding) string {
	if f.Outcome != drift.Moved || f.Fix.New == "" {
		return ""
	}
	pattern := f.Fix.New
	if f.Fix.Section != "" { // relative to the folder of stele.yaml
		pattern = c4model.Rooted(path.Dir(f.Fix.File), pattern)
	}
	normal, err := c4model.NormalizePattern(pattern)
	if err != nil || strings.TrimSpace(normal) == "" {
		return ""
	}
	return normal
}
