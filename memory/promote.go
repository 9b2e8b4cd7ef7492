package memory

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// promotionTx is what promoting does beside writing a memory.
type promotionTx interface {
	// Carry makes a new memory inherit what another earned: confirmations, citations, vectors, evidence. In the logs its text is
	// there from now on only.
	Carry(ctx context.Context, from, to *Record, now time.Time) error
}

// Promote makes a memory of a project the organization's: a new memory with the same text, author, times, confirmations and
// citations, which every project recalls, in place of the old one. It needs the reviewer role in every project. What is in
// doubt, has expired, or says what the organization says already is refused.
func (s *Service) Promote(ctx context.Context, c Caller, ref string) (Memory, error) {
	if err := c.check(); err != nil {
		return Memory{}, err
	}
	if !c.mayReviewOrganization() {
		return Memory{}, problem.New(problem.Forbidden, "", "making a memory the organization's needs the reviewer role in every project", "ask a reviewer")
	}
	var out Memory
	var project SpaceKey
	var done bool
	err := s.view(ctx, c, func(v View) (err error) {
		if done, err = answered(ctx, v, c, VerbPromote, ref, &out); err != nil || done {
			return err
		}
		r, err := s.record(ctx, v, c, "memory", ref)
		if err == nil {
			project = r.spaceKey()
		}
		return err
	})
	if err != nil || done {
		return out, wrap("promote", err)
	}
	err = s.write(ctx, c, []SpaceKey{{Organization, ""}, project}, func(tx Tx) error {
		return once(ctx, tx, c, s.now(), VerbPromote, ref, &out, func() error { return s.promote(ctx, tx, c, ref, &out) })
	})
	if err != nil {
		return Memory{}, fmt.Errorf("promote: %w", err)
	}
	return out, nil
}

func (s *Service) promote(ctx context.Context, tx Tx, c Caller, ref string, out *Memory) error {
	old, err := s.record(ctx, tx, c, "memory", ref)
	if err != nil {
		return err
	}
	now := s.now()
	if err := mayBePromoted(ctx, tx, old); err != nil {
		return err
	}
	if old.expired(now) {
		return problem.New(problem.Conflict, "memory", old.Handle+" has expired", "change when it expires first")
	}
	space := tx.Space(SpaceKey{Organization, ""})
	ix := IndexOf(&old.Memory)
	near, err := tx.Near(ctx, NearQuery{Space: space.ID, Kind: old.Kind, Normal: ix.Normal, MinOverlap: 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(near) > 0 && near[0].SameText {
		same, err := tx.Records(ctx, []uuid.UUID{near[0].ID})
		if err != nil {
			return err
		}
		if len(same) == 1 {
			return problem.New(problem.Conflict, "memory", fmt.Sprintf("the organization has the same text: %s", same[0].Handle), "retire "+old.Handle)
		}
	}
	if err := titleFree(ctx, tx, space.ID, old.Title, nil); err != nil {
		return err
	}
	at, _ := inherited(old, nil)
	r := Record{Memory: old.Memory, ProjectID: old.ProjectID, Agent: old.Agent, User: old.User}
	r.ID, r.Handle, r.Scope, r.Revision, r.Unreviewed = newID(), newHandle(), Organization, 1, false
	r.Links = nil
	if err := tx.Insert(ctx, &r, at, ix, "", uuid.Nil); err != nil {
		return err
	}
	if err := tx.Carry(ctx, old, &r, now); err != nil {
		return err
	}
	promoted := AuditEntry{At: now, Verb: VerbPromote, Subject: r.ID, Revision: 1, Space: space.ID, Detail: map[string]string{
		"of": old.ID.String(), "confirmed_at": old.ConfirmedAt.Format(time.RFC3339Nano), "confirmations": strconv.Itoa(old.Confirmations)}}
	if err := tx.Audit(ctx, c, promoted); err != nil {
		return err
	}
	if err := s.supersede(ctx, tx, c, old, &r, now); err != nil {
		return err
	}
	return s.show(ctx, tx, c, r.ID, out)
}

// mayBePromoted refuses what the organization should not say.
func mayBePromoted(ctx context.Context, tx Tx, r *Record) error {
	if err := mustBeLive(ctx, tx, "memory", r); err != nil {
		return err
	}
	if err := r.mustBeReadable(); err != nil {
		return err
	}
	switch {
	case r.Scope != Project:
		return problem.Invalidf("memory", "%s has scope %s; only what a project knows is promoted", r.Handle, r.Scope).Fix("name a memory of the project")
	case r.Kind == SessionOutcome:
		return problem.Invalidf("memory", "%s is the outcome of a work session", r.Handle).Fix("write what holds everywhere as a convention")
	case r.Verify || r.Disputed:
		return problem.New(problem.Conflict, "memory", r.Handle+" is in doubt", "confirm it first, if it holds")
	}
	return nil
}
