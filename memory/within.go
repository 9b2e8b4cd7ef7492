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

// Answered gives the answer of an earlier attempt at a write under the caller's idempotency key, if there was one.
func Answered(ctx context.Context, v View, c Caller, verb Verb, request, out any) (bool, error) {
	return answered(ctx, v, c, verb, request, out)
}

// MaxDraws is how often a write that met another one by chance (ErrTaken) is tried.
const MaxDraws = maxDraws

// Sees tells whether the caller may know of a memory at all.
func (c Caller) Sees(r *Record) bool { return c.sees(r) }

// MayDecide tells whether the caller may decide what becomes of a memory: one who reviews, or its author where it is nobody
// else's.
func (c Caller) MayDecide(r *Record) bool {
	return c.mayReviewRecord(r) || r.User == c.User && (r.Scope != Organization || c.Bound == uuid.Nil)
}

// SpaceKeys are the spaces a caller's questions go to, nearest first: the project's, the caller's own, the organization's.
func (c Caller) SpaceKeys() []SpaceKey { return c.spaceKeys() }

// SpaceKey is the space that a memory is in.
func (r *Record) SpaceKey() SpaceKey { return r.spaceKey() }

// Ranking gives the constants of the score.
func (s *Service) Ranking() Ranking { return s.ranking }

// Present gives records as doors show them to a caller, with their links resolved.
func (s *Service) Present(ctx context.Context, v View, c Caller, recs []Record) ([]Memory, error) {
	if err := s.resolveLinks(ctx, v, c, recs); err != nil {
		return nil, err
	}
	c.leaveOut(recs)
	out := make([]Memory, len(recs))
	for i := range recs {
		out[i] = recs[i].shown(s.now())
	}
	return out, nil
}

// Resolve tells what the texts of links lead a caller to now, in their order.
func (s *Service) Resolve(ctx context.Context, v View, c Caller, texts []string) ([]Link, error) {
	recs := []Record{{}}
	for _, t := range texts {
		recs[0].Links = append(recs[0].Links, Link{Text: t})
	}
	err := s.resolveLinks(ctx, v, c, recs)
	return recs[0].Links, err
}

// Reinstate brings a memory back into recall whatever became of its successor; who decided otherwise takes it back.
func (s *Service) Reinstate(ctx context.Context, tx Tx, c Caller, r *Record) error {
	if err := r.mustBeReadable("memory"); err != nil {
		return err
	}
	if err := titleFree(ctx, tx, r.Space, r.Title, r); err != nil {
		return err
	}
	ix := IndexOf(&r.Memory)
	if err := tx.SetStatus(ctx, r, Live, uuid.Nil, &ix); err != nil {
		return err
	}
	return tx.Audit(ctx, c, AuditEntry{At: s.now(), Verb: VerbRestore, Subject: r.ID, Revision: r.Revision, Space: r.Space})
}

// Once runs a write that answers with *out: under the caller's idempotency key the first time only.
func Once[T any](ctx context.Context, tx Tx, c Caller, now time.Time, verb Verb, request any, out *T, write func() error) error {
	return once(ctx, tx, c, now, verb, request, out, write)
}
