package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/terms"
)

// superseded finds the memory a draft replaces and checks that it may.
func (s *Service) superseded(ctx context.Context, tx Tx, c Caller, d *draft, space int32) (*Record, error) {
	old, err := s.record(ctx, tx, c, "supersedes", d.Supersedes)
	if err != nil {
		return nil, err
	}
	if old.Space != space {
		return nil, problem.Invalidf("supersedes", "%s has scope %s and the new text %s; a successor keeps the scope", old.Handle, old.Scope, d.Scope).
			Fix("use scope %s, or write the new text without supersedes", old.Scope)
	}
	if err := mustBeLive(ctx, tx, "supersedes", old); err != nil {
		return nil, err
	}
	if old.Kind == SessionOutcome && c.Door != FromSession {
		return nil, problem.Invalidf("supersedes", "%s is the outcome of a work session; what happened is not replaced", old.Handle).
			Fix("write a note that corrects it and links [[%s]]", old.Handle)
	}
	return old, nil // an organization memory is superseded by one, which spaceFor grants to reviewers only
}

// supersede moves the old memory out of recall. Links to it follow to the live successor when they are read.
func (s *Service) supersede(ctx context.Context, tx Tx, c Caller, old, successor *Record, now time.Time) error {
	if err := tx.SetStatus(ctx, old, Superseded, successor.ID, nil); err != nil {
		return err
	}
	if err := s.citeIfShown(ctx, tx, c, old.ID, now); err != nil {
		return err
	}
	return tx.Audit(ctx, c, AuditEntry{At: now, Verb: VerbSupersede, Subject: old.ID, Revision: old.Revision,
		Detail: map[string]string{"by": successor.ID.String()}})
}

// citeIfShown counts superseding or confirming a served memory as use of it by the session.
func (s *Service) citeIfShown(ctx context.Context, tx Tx, c Caller, id uuid.UUID, now time.Time) error {
	if c.Session == "" {
		return nil
	}
	shown, err := tx.Shown(ctx, c.Session, id)
	if err != nil || shown.Revision == 0 {
		return err
	}
	return tx.Cite(ctx, id, c.Session, true, now)
}

// inherited gives a successor the elements of what it replaces.
func inherited(old *Record, at []Attachment) ([]Attachment, []ElementRef) {
	refs := make([]ElementRef, 0, len(old.Elements))
	for _, e := range old.Elements {
		at = append(at, Attachment{Element: e.ID, Reason: "inherited"})
		e.Reason = "inherited from " + old.Handle
		refs = append(refs, e)
	}
	return at, refs
}

// titleFree refuses a title that another live memory of the space bears. except is a memory that is about to leave.
func titleFree(ctx context.Context, v View, space int32, title string, except *Record) error {
	folded := terms.Fold(title)
	if folded == "" {
		return nil
	}
	id, err := v.ByTitle(ctx, []int32{space}, folded)
	if err != nil || id == uuid.Nil || (except != nil && id == except.ID) {
		return err
	}
	recs, err := v.Records(ctx, []uuid.UUID{id})
	if err != nil {
		return err
	}
	if len(recs) == 0 {
		return nil
	}
	return problem.New(problem.Conflict, "title", fmt.Sprintf("%s already has the title %q", recs[0].Handle, clip(title, 80)),
		"choose another title, or replace it with supersedes: "+recs[0].Handle)
}
