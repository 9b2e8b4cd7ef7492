package memory

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// How a similar pair was found.
const (
	conflictOfWrite  = "remember" // when the newer was written
	conflictOfVector = "vector"   // when the newer got its vector, later
)

// SimilarPair is two live memories that say nearly the same, or the opposite of it in nearly the same words. Nobody merges
// them; a person says which of the two holds.
type SimilarPair struct {
	Newer, Older uuid.UUID
	Since        time.Time
	Source       string
	Similarity   float64 // cosine, or Jaccard of the terms when there were no vectors
}

// conflictTx keeps similar pairs.
type conflictTx interface {
	// AddConflicts notes pairs; those that are known stay as they are.
	AddConflicts(ctx context.Context, pairs []SimilarPair) error
	// Embedded tells which of the memories have a vector of some model.
	Embedded(ctx context.Context, memories []uuid.UUID) (map[uuid.UUID]bool, error)
}

// noteSimilar keeps what a new memory was found similar to, unless its writer said to store it all the same: that is a
// decision. What happened in two sessions contradicts nothing, and what nobody reviewed yet is reviewed as a whole.
func noteSimilar(ctx context.Context, tx Tx, r *Record, d *draft, similar []Similar) error {
	if d.Separate || r.Unreviewed || r.Kind == SessionOutcome || len(similar) == 0 {
		return nil
	}
	pairs := make([]SimilarPair, 0, len(similar))
	for _, s := range similar {
		pairs = append(pairs, SimilarPair{Newer: r.ID, Older: s.ID, Since: d.now, Source: conflictOfWrite, Similarity: max(s.Cosine, s.Overlap)})
	}
	return tx.AddConflicts(ctx, pairs)
}

// noteLate compares a memory that just got its first vector with what is there. A change of the model makes no vector late:
// what it would find was found under the model before. Ten thousand memories that were just imported make no queue of pairs.
func (s *Service) noteLate(ctx context.Context, tx Tx, r *Record, vector []float32, now time.Time) error {
	if r.Kind == SessionOutcome || r.Unreviewed {
		return nil
	}
	t := s.embedder.Thresholds()
	near, err := tx.Near(ctx, NearQuery{Space: r.Space, Kind: r.Kind, Model: s.embedder.Model(), Vector: vector, MinCosine: t.Similar, MinOverlap: minOverlap,
		Limit: maxSimilar + 1})
	if err != nil {
		return err
	}
	var pairs []SimilarPair
	for _, n := range near {
		if n.ID == r.ID || n.Cosine < t.Similar {
			continue
		}
		pairs = append(pairs, SimilarPair{Newer: r.ID, Older: n.ID, Since: now, Source: conflictOfVector, Similarity: n.Cosine})
	}
	return tx.AddConflicts(ctx, pairs)
}
