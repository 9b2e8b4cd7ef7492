package review

import (
	"context"
	"errors"

	"github.com/stele-dev/stele/memory"
)

var errNotYet = errors.New("not there yet")

// DecideReview decides about a group, items or memories.
func (s *Service) DecideReview(ctx context.Context, c memory.Caller, r DecideRequest) (Decision, error) {
	return Decision{}, errNotYet
}

// UndoReview takes a decision back.
func (s *Service) UndoReview(ctx context.Context, c memory.Caller, decision string) (Decision, error) {
	return Decision{}, errNotYet
}

// ReviewDigest summarises a time.
func (s *Service) ReviewDigest(ctx context.Context, c memory.Caller, r DigestRequest) (Digest, error) {
	return Digest{}, errNotYet
}
