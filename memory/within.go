package memory

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// SpacesError says that a write within a transaction needs spaces that it does not hold. Whoever began it starts over with them.
type SpacesError struct{ Spaces []SpaceKey }

func (e *SpacesError) Error() string {
	return "the transaction does not hold all spaces that are written to"
}

// NeededSpaces gives the spaces that an error asks for; nil when it asks for none.
func NeededSpaces(err error) []SpaceKey {
	if e, ok := errors.AsType[*SpacesError](err); ok {
		return e.Spaces
	}
	return nil
}

// Within is the service with all of its calls in one transaction that somebody else began, at one moment. Many writes then
// happen together or not at all: when a call fails, the transaction must be given up. A call that needs spaces the transaction
// does not hold fails with a SpacesError.
func (s *Service) Within(tx Tx, at time.Time) *Service {
	within := *s
	within.store = withinStore{s.store, tx}
	within.now = func() time.Time { return at }
	return &within
}

// withinStore is a Store whose transactions are one.
type withinStore struct {
	Store
	tx Tx
}

func (s withinStore) View(_ context.Context, _ uuid.UUID, fn func(View) error) error { return fn(s.tx) }

func (s withinStore) Write(_ context.Context, _ uuid.UUID, spaces []SpaceKey, fn func(Tx) error) error {
	var missing []SpaceKey
	for _, key := range spaces {
		if s.tx.Space(key).ID == 0 {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return &SpacesError{missing}
	}
	return fn(s.tx)
}
