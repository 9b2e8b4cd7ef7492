package memory

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Work is somebody who works on elements now.
type Work struct {
	Session  string    `json:"session_id"`
	Author   string    `json:"author"`
	Task     string    `json:"task"`
	Since    time.Time `json:"since"`
	Elements []string  `json:"elements"` // keys, of those that were asked about
}

// Workers knows who works where. The package of work sessions implements it; this one does not know of sessions.
type Workers interface {
	// WorkOn gives who works on any of the elements of the caller's project now, the caller's own session left out, the longest at it
	// first.
	WorkOn(ctx context.Context, c Caller, elements []uuid.UUID) ([]Work, error)
}

// WithWorkers is the service, knowing who works where. Who knows is made from the service, so it comes afterwards.
func (s *Service) WithWorkers(w Workers) *Service {
	with := *s
	with.workers = w
	return &with
}

// maxWork bounds who is named: whoever is among more asks for the list of sessions.
const maxWork = 10

// workOn is Workers.WorkOn, bounded; nobody when nobody knows. It runs outside any transaction of this package.
func (s *Service) workOn(ctx context.Context, c Caller, elements []uuid.UUID) (work []Work, more int, err error) {
	if s.workers == nil || len(elements) == 0 {
		return []Work{}, 0, nil
	}
	work, err = s.workers.WorkOn(ctx, c, elements)
	if err != nil {
		return nil, 0, err
	}
	shown := min(len(work), maxWork)
	return append([]Work{}, work[:shown]...), len(work) - shown, nil
}
