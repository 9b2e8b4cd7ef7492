package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// CandidateLifetime is how long a candidate waits for somebody to confirm it. Constant of the contract.
const CandidateLifetime = 14 * 24 * time.Hour

// CandidateQuery selects candidates, oldest first.
type CandidateQuery struct {
	Spaces []int32   // nil = all of the organization
	Batch  uuid.UUID // found together; uuid.Nil = any
	Before time.Time // made before; zero = any time
	Limit  int
}

// candidateView reads candidates.
type candidateView interface {
	// Candidates gives ids and spaces of candidates.
	Candidates(ctx context.Context, q CandidateQuery) ([]Proposed, error)
	// WasProposed tells whether a space has a candidate, or one that was dismissed, with the same normalised text.
	WasProposed(ctx context.Context, space int32, normal string) (bool, error)
}

// Proposed names a candidate.
type Proposed struct {
	ID    uuid.UUID
	Space SpaceKey
}

// PlaceCandidate stores what was prepared as a candidate, found together with others of its batch, under the lock of its space.
// What is known already, waits already or was dismissed is left out: nil.
func (s *Service) PlaceCandidate(ctx context.Context, tx Tx, c Caller, p Prepared, batch uuid.UUID) (*Memory, error) {
	d := p.draft
	d.now = s.now()
	space := tx.Space(d.space)
	at, elements, err := s.attachments(ctx, tx, c, d.Elements, d.Paths)
	if err != nil {
		return nil, err
	}
	r := s.newRecord(c, d, d.Kind, elements)
	r.Status, r.Unreviewed = CandidateStatus, true
	ix := d.index.attached(r.Elements, r.Paths)
	if known, err := tx.WasProposed(ctx, space.ID, ix.Normal); err != nil || known {
		return nil, err
	}
	near, err := tx.Near(ctx, s.nearQuery(space.ID, r.Kind, ix, d))
	if err != nil {
		return nil, err
	}
	if merged, err := s.compare(ctx, tx, near, r, d, nil, &RememberResponse{}); err != nil || merged != nil {
		return nil, err
	}
	if r.Seen, err = seenOn(ctx, tx, c, d.Seen, r.Elements, r.Paths); err != nil {
		return nil, err
	}
	if err := tx.Insert(ctx, r, at, ix, "", batch); err != nil {
		return nil, err
	}
	if err := tx.Audit(ctx, c, AuditEntry{At: r.CreatedAt, Verb: VerbPropose, Subject: r.ID, Revision: 1, Detail: seenDetail(d.Seen)}); err != nil {
		return nil, err
	}
	m := r.shown(d.now)
	return &m, nil
}

// keepCandidate makes a candidate a memory. Whoever does so vouches for it, so that it need not be theirs.
func (s *Service) keepCandidate(ctx context.Context, tx Tx, c Caller, r *Record, now time.Time) error {
	if err := r.mustBeReadable(); err != nil {
		return err
	}
	if now.Sub(r.CreatedAt) > CandidateLifetime {
		return problem.New(problem.Conflict, "memory", r.Handle+" waited for more than 14 days", "write it as a new memory")
	}
	if err := titleFree(ctx, tx, r.Space, r.Title, r); err != nil {
		return err
	}
	ix := IndexOf(&r.Memory)
	if err := tx.SetStatus(ctx, r, Live, uuid.Nil, &ix); err != nil {
		return err
	}
	return tx.Audit(ctx, c, AuditEntry{At: now, Verb: VerbRestore, Subject: r.ID, Revision: r.Revision})
}

// candidateBatch is how many candidates one transaction erases.
const candidateBatch = 100

// DropCandidates destroys the candidates of an organization that nobody confirmed in CandidateLifetime. Several processes may do
// so at once.
func (s *Service) DropCandidates(ctx context.Context, org uuid.UUID) error {
	for {
		now := s.now()
		q := CandidateQuery{Before: now.Add(-CandidateLifetime), Limit: candidateBatch}
		var found []Proposed
		if err := s.store.View(ctx, org, func(v View) (err error) {
			found, err = v.Candidates(ctx, q)
			return err
		}); err != nil {
			return fmt.Errorf("drop candidates: %w", err)
		}
		if len(found) == 0 {
			return nil
		}
		var spaces []SpaceKey
		taken := map[SpaceKey]bool{}
		for _, p := range found {
			if !taken[p.Space] {
				taken[p.Space] = true
				spaces = append(spaces, p.Space)
			}
		}
		err := s.store.Write(ctx, org, spaces, func(tx Tx) error {
			still, err := tx.Candidates(ctx, q) // by now
			if err != nil {
				return err
			}
			var ids []uuid.UUID
			for _, p := range still {
				if taken[p.Space] {
					ids = append(ids, p.ID)
				}
			}
			recs, err := tx.Records(ctx, ids)
			if err != nil {
				return err
			}
			for i := range recs {
				r := &recs[i]
				if err := tx.Erase(ctx, r, now); err != nil {
					return err
				}
				by := Caller{Org: org, Project: r.ProjectID, User: r.User, Agent: r.Agent, Door: FromHook}
				if err := tx.Audit(ctx, by, AuditEntry{At: now, Verb: VerbErase, Subject: r.ID, Revision: r.Revision, Space: r.Space}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("drop candidates: %w", err)
		}
		if len(found) < candidateBatch {
			return nil
		}
	}
}
