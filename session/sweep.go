package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// sweepBatch is how many sessions one look finds.
const sweepBatch = 100

// Sweep ends the sessions of an organization that showed no life for Lifetime. Several processes may do so at once.
func (s *Service) Sweep(ctx context.Context, org uuid.UUID) error {
	if err := s.sweep(ctx, org, uuid.Nil); err != nil {
		return fmt.Errorf("sweep work sessions: %w", err)
	}
	return nil
}

// sweep expires what is overdue in a project, or in all of them.
func (s *Service) sweep(ctx context.Context, org, project uuid.UUID) error {
	var failed []error
	tried := map[uuid.UUID]bool{}
	for {
		var overdue []Stored
		limit := s.memory.Now().Add(-Lifetime)
		err := s.store.ViewSessions(ctx, org, func(v View) (err error) {
			overdue, err = v.Overdue(ctx, project, limit, sweepBatch)
			return err
		})
		if err != nil {
			return err
		}
		progress := false
		for _, st := range overdue {
			if tried[st.ID] {
				continue
			}
			tried[st.ID], progress = true, true
			if err := s.expire(ctx, org, st); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				failed = append(failed, fmt.Errorf("expire %s: %w", st.Name, err))
			}
		}
		if !progress {
			return errors.Join(failed...)
		}
	}
}

// expire ends one session with what it last said. Its next sign of life brings it back.
func (s *Service) expire(ctx context.Context, org uuid.UUID, st Stored) error {
	c := st.author(org)
	var e ending
	if err := s.view(ctx, c, func(v View) (err error) {
		e, err = endingOf(ctx, v, st, Checkpoint{}, Incomplete)
		return err
	}); err != nil {
		return err
	}
	if e.replaces != "" && st.Body.Checkpoint.empty() {
		e = ending{} // since it came back it said nothing new
	}
	prepared, err := s.prepare(ctx, org, st, e, nil)
	if problem.Is(err, problem.Invalid) {
		prepared, err = nil, nil // what cannot be kept must not keep its leases
	}
	if err != nil {
		return err
	}
	return s.write(ctx, c, func(tx Tx) error {
		w := work{Service: s, tx: tx, caller: c, now: s.memory.Now()}
		now, ok, err := tx.Session(ctx, st.User, st.Name)
		if err != nil || !ok || now.State != Active || now.BeatAt.After(st.BeatAt) || now.Outcome != st.Outcome {
			return err // it lives, or somebody else was first
		}
		var out Ended
		if err := w.leave(ctx, &now, e, prepared, &out); err != nil {
			return err
		}
		now.State, now.EndedAt = Expired, w.now
		now.Partial = now.Outcome != uuid.Nil
		if err := tx.ReleaseLeases(ctx, now.ID, w.now); err != nil {
			return err
		}
		if err := tx.SaveSession(ctx, now); err != nil {
			return err
		}
		return w.audit(ctx, VerbExpire, now)
	})
}
