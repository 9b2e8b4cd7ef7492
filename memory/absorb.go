package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// Absorb lets a live memory stand for another one that says the same: the other leaves recall, superseded by it, and what it
// was attached to is attached to the one that stays. Both have one scope, and whoever may write there may do it.
func (s *Service) Absorb(ctx context.Context, c Caller, ref, into string) (Memory, error) {
	m, err := s.change(ctx, c, into, VerbSupersede, [2]string{ref, into}, func(tx Tx, stays *Record, _ time.Time) error {
		return s.absorb(ctx, tx, c, ref, stays)
	})
	if err != nil {
		return Memory{}, fmt.Errorf("merge: %w", err)
	}
	return m, nil
}

func (s *Service) absorb(ctx context.Context, tx Tx, c Caller, ref string, stays *Record) error {
	if err := mustBeLive(ctx, tx, "into", stays); err != nil {
		return err
	}
	if stays.Scope == Organization && !c.mayReviewOrganization() {
		return problem.New(problem.Forbidden, "memory", "merging memories of the organization needs the reviewer role in every project", "ask a reviewer")
	}
	goes, err := s.superseded(ctx, tx, c, &draft{RememberRequest: RememberRequest{Supersedes: ref, Scope: stays.Scope}}, stays.Space)
	if err != nil {
		return err
	}
	switch {
	case goes.ID == stays.ID:
		return problem.Invalidf("into", "%s cannot be merged into itself", stays.Handle).Fix("name the memory that stays")
	case stays.Kind == SessionOutcome:
		return problem.Invalidf("into", "%s is the outcome of a work session; what happened is not merged", stays.Handle).Fix("name another memory")
	}
	now := s.now()
	at, _ := inherited(goes, nil)
	at = slices.DeleteFunc(at, func(a Attachment) bool {
		return slices.ContainsFunc(stays.Elements, func(e ElementRef) bool { return e.ID == a.Element })
	})
	if err := s.supersede(ctx, tx, c, goes, stays, now); err != nil {
		return err
	}
	if len(at) == 0 {
		return nil
	}
	if err := tx.Attach(ctx, stays.ID, at, now); err != nil {
		return err
	}
	recs, err := tx.Records(ctx, []uuid.UUID{stays.ID})
	if err != nil || len(recs) != 1 {
		return err
	}
	if err := tx.Reindex(ctx, &recs[0], IndexOf(&recs[0].Memory)); err != nil {
		return err
	}
	return tx.Audit(ctx, c, AuditEntry{At: now, Verb: VerbAttach, Subject: stays.ID, Revision: stays.Revision})
}
