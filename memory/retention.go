package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// What nothing reads any more is removed after a while, so that a database grows with what is known and not with how often
// somebody works or pushes. It is never what a memory rests on: its row, its versions, what it is attached to and was, doubts
// open and cleared, stamps, citations, decisions of reviews and the trail tell how it stands, how it stood at any moment, and how
// a decision is undone, and are kept for good. docs/operations.md says of every table which it is.

// KeptRuns is how many of the newest runs of a tracked branch are kept however old they are, of those that had effects and of
// each status: as many as a run names commits, among which its baseline is looked for.
const KeptRuns = MaxAncestors

// DroppedRuns counts what DropRuns removed.
type DroppedRuns struct {
	Runs    int64
	Models  int64 // that waited for a person and were decided about
	Imports int64 // notes of imports of models; the models themselves stay
}

// retainer removes what nothing needs any more, in transactions of bounded size.
type retainer interface {
	// DropRuns removes runs that arrived before a moment, models that were decided about and imports of models from before it.
	// Kept are: the newest runs of each repository, branch and status that had effects, so many of them; the newest run and the
	// newest import of a project; and the runs that made an open doubt or a model that waits. What was removed before an error is
	// counted.
	DropRuns(ctx context.Context, org uuid.UUID, before time.Time, newest int) (DroppedRuns, error)
}

// DropRuns removes the runs of an organization, and what came with them, that are older than keep and that nothing needs any more; 0
// keeps them for good. Several processes may do so at once.
func (s *Service) DropRuns(ctx context.Context, org uuid.UUID, keep time.Duration) (DroppedRuns, error) {
	if keep <= 0 {
		return DroppedRuns{}, nil
	}
	out, err := s.store.DropRuns(ctx, org, s.now().Add(-keep), KeptRuns)
	if err != nil {
		return out, fmt.Errorf("drop old runs: %w", err)
	}
	return out, nil
}
