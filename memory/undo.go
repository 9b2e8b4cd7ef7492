package memory

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// UndoRequest names whose work is to be taken back, and from when on.
type UndoRequest struct {
	Author string    `json:"author"` // user, or agent/user
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`  // for the history of every memory it touches
	DryRun bool      `json:"dry_run"` // tell what would be done
}

// UndoResponse tells what became of an author's work, by handle.
type UndoResponse struct {
	Retired  []string   `json:"retired"`  // memories the author wrote
	Restored []string   `json:"restored"` // memories the author had superseded or retired
	Kept     []KeptDeed `json:"kept"`     // what only a person can judge
}

// KeptDeed is something an author did that was not undone.
type KeptDeed struct {
	Memory string `json:"memory"`
	Verb   Verb   `json:"verb"`
	Reason string `json:"reason"`
}

// Undo takes back what one author did in the project and for the organization since a moment: it retires what they wrote
// and restores what they superseded or retired. What cannot be told right from wrong by rule (confirmations, disputes,
// edits of others' memories) is reported. Nothing is destroyed, and running it again goes on where it ended. It needs the
// reviewer role.
func (s *Service) Undo(ctx context.Context, c Caller, r UndoRequest) (UndoResponse, error) {
	out := UndoResponse{Retired: []string{}, Restored: []string{}, Kept: []KeptDeed{}}
	if !c.mayReview() {
		return out, problem.New(problem.Forbidden, "", "taking back another author's work needs the reviewer role", "use a token of role reviewer")
	}
	if strings.TrimSpace(r.Author) == "" {
		return out, problem.Invalidf("author", "no author is named").Fix("give a user, or agent/user, as `stele list` shows them")
	}
	if r.Since.IsZero() {
		return out, problem.Invalidf("since", "no moment is given").Fix("give the time from which on nothing of this author can be trusted")
	}
	deeds, err := s.deeds(ctx, c, r)
	if err != nil {
		return out, wrap("undo", err)
	}
	c.Retry = ""                    // one key cannot stand for many writes; running it again is harmless
	written := map[uuid.UUID]bool{} // these do not come back, whoever drove them out
	restore := make([]AuditLine, 0, len(deeds))
	for _, d := range deeds { // newest first: a chain of supersessions is taken off from its end
		switch d.Verb {
		case VerbRemember:
			written[d.Subject] = true
			if err := s.undoOne(ctx, c, r, d, Live, &out.Retired, &out.Kept); err != nil {
				return out, wrap("undo", err)
			}
		case VerbSupersede, VerbRetire:
			restore = append(restore, d)
		case VerbConfirm, VerbRestate, VerbDispute, VerbEdit, VerbRestore, VerbErase:
			out.Kept = append(out.Kept, KeptDeed{Memory: d.Memory, Verb: d.Verb, Reason: "look at its history and decide"})
		default:
		}
	}
	for _, d := range restore {
		if written[d.Subject] {
			continue
		}
		if err := s.undoOne(ctx, c, r, d, Retired, &out.Restored, &out.Kept); err != nil {
			return out, wrap("undo", err)
		}
	}
	return out, nil
}

// undoOne takes back one deed: from is the status to leave, Live to retire a memory and anything else to restore it.
func (s *Service) undoOne(ctx context.Context, c Caller, r UndoRequest, d AuditLine, from Status, done *[]string, kept *[]KeptDeed) error {
	ms, err := s.peek(ctx, c, d.Subject)
	if err != nil || ms == nil {
		return err // not for this caller to see
	}
	if (from == Live) != (ms.Status == Live) || ms.Status == Erased {
		return nil // it is so already
	}
	if !r.DryRun {
		if from == Live {
			_, err = s.Forget(ctx, c, ForgetRequest{Memory: d.Subject.String(), Reason: r.Reason})
		} else {
			_, err = s.Restore(ctx, c, d.Subject.String())
		}
		if p, ok := problem.As(err); ok && p.Code == problem.Conflict {
			*kept = append(*kept, KeptDeed{Memory: d.Memory, Verb: d.Verb, Reason: p.Detail})
			return nil
		}
		if err != nil {
			return err
		}
	}
	*done = append(*done, d.Memory)
	return nil
}

// peek gives a memory the caller may see, without an impression; nil otherwise.
func (s *Service) peek(ctx context.Context, c Caller, id uuid.UUID) (*Record, error) {
	var out *Record
	err := s.view(ctx, c, func(v View) error {
		out = nil
		recs, err := v.Records(ctx, []uuid.UUID{id})
		if err == nil && len(recs) == 1 && c.sees(&recs[0]) {
			out = &recs[0]
		}
		return err
	})
	return out, err
}

// deeds are the lines of the trail that an author left on memories, newest first.
func (s *Service) deeds(ctx context.Context, c Caller, r UndoRequest) ([]AuditLine, error) {
	q := AuditQuery{Since: r.Since, Limit: MaxEvents}
	q.Agent, q.User = splitAuthor(strings.TrimSpace(r.Author))
	var all []AuditLine
	for {
		var page []AuditLine
		err := s.view(ctx, c, func(v View) error {
			spaces, err := v.Spaces(ctx, c.spaceKeys())
			if err != nil {
				return err
			}
			q.Spaces = orderedSpaceIDs(spaces, c.spaceKeys())
			page, err = v.AuditLines(ctx, q)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			return all, nil
		}
		q.Before = page[len(page)-1].ID
	}
}
