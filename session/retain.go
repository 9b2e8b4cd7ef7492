package session

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Retention is how long impressions are kept one by one. Constant of the contract: what was served half a year ago says how much a
// memory is used, not any more to whom.
const Retention = 180 * 24 * time.Hour

// foldBatch is how many impressions one transaction folds: their memories are locked meanwhile.
const foldBatch = 1000

// Retain folds what is older than Retention into counters. Several processes may do so at once.
func (s *Service) Retain(ctx context.Context, org uuid.UUID) error {
	before := s.memory.Now().Add(-Retention)
	for {
		n, err := s.store.Fold(ctx, org, before, foldBatch)
		if err != nil {
			return fmt.Errorf("fold impressions: %w", err)
		}
		if n < foldBatch {
			return nil
		}
	}
}

// KeptOutcomes is how many of the newest sessions with an outcome are kept of each user in a project, however old they are: a
// briefing looks no further back, whether it asks for those of a user or of everybody.
const KeptOutcomes = leftOffCompact

// Dropped counts what DropSessions removed.
type Dropped struct {
	Sessions  int64 // with their leases, the ids that clients knew them by, and what they had left and was closed
	FollowUps int64 // that were closed
}

// DropSessions removes the sessions of an organization that ended longer ago than keep, forgets which files they edited, and removes
// what was left to do and was closed longer ago; 0 keeps them for good. Sessions that left something open stay, and so do the newest
// KeptOutcomes with an outcome of each user in a project. Outcomes are memories and stay. Several processes may do so at once.
func (s *Service) DropSessions(ctx context.Context, org uuid.UUID, keep time.Duration) (Dropped, error) {
	if keep <= 0 {
		return Dropped{}, nil
	}
	out, err := s.store.DropSessions(ctx, org, s.memory.Now().Add(-keep), KeptOutcomes)
	if err != nil {
		return out, fmt.Errorf("drop old work sessions: %w", err)
	}
	return out, nil
}
