package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Door says how a memory reached a session; only whole results of recall, prompt and file count towards being ignored.
type Door string

// The doors of impressions.
const (
	DoorRecall   Door = "recall"
	DoorPrompt   Door = "prompt"
	DoorFile     Door = "file"
	DoorBriefing Door = "briefing"
	DoorIndex    Door = "index"
	DoorLink     Door = "link"
)

// Impression says that a memory was served to a session, in which revision and with which doubts. Both are what was read,
// not what the clock says afterwards: what happens between reading and recording was not shown.
type Impression struct {
	Memory    uuid.UUID
	Revision  int
	DoubtedAt time.Time // Memory.DoubtedAt
	Door      Door
}

// impressor records impressions. They are circumstantial, not acknowledged writes: losing the last ones in a crash of the
// database is allowed, waiting for its disk is not.
type impressor interface {
	Impress(ctx context.Context, org uuid.UUID, session string, at time.Time, shown []Impression) error
}

// impress records what a caller's session was shown; without a session there is nobody to record it for.
func (s *Service) impress(ctx context.Context, c Caller, shown []Impression) error {
	if c.Session == "" || len(shown) == 0 {
		return nil
	}
	if err := s.store.Impress(ctx, c.Org, c.Session, s.now(), shown); err != nil {
		return fmt.Errorf("record what was shown: %w", err)
	}
	return nil
}
