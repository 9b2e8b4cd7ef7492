package memory

import (
	"context"
	"fmt"
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
	// Everywhere takes it back in every project of the organization, not in the caller's alone.
	Everywhere bool `json:"everywhere"`
}

// UndoResponse tells what became of an author's work, by handle.
type UndoResponse struct {
	Retired  []string   `json:"retired"`  // memories the author wrote
	Restored []string   `json:"restored"` // memories the author had superseded or retired
	Undone   []string   `json:"undone"`   // what had been taken back before
	Kept     []KeptDeed `json:"kept"`     // what only a person can judge
}

// KeptDeed is something an author did that was not undone.
type KeptDeed struct {
	Memory string `json:"memory"`
	Verb   Verb   `json:"verb"`
	Reason string `json:"reason"`
}

// Undo takes back what one author did since a moment, in the project and for the organization, or everywhere: it retires
// what they wrote and restores what they superseded or retired. What cannot be told right from wrong by rule
// (confirmations, disputes, edits, and what others decided since) is reported. Nothing is destroyed, and running it again
// goes on where it ended and tells what is done already. It needs the reviewer role.
func (s *Service) Undo(ctx context.Context, c Caller, r UndoRequest) (UndoResponse, error) {
	out := UndoResponse{Retired: []string{}, Restored: []string{}, Undone: []string{}, Kept: []KeptDeed{}}
	switch {
	case !c.mayReview():
		return out, problem.New(problem.Forbidden, "", "taking back another author's work needs the reviewer role", "use a token of role reviewer")
	case r.Everywhere && c.Bound != uuid.Nil:
		return out, problem.New(problem.Forbidden, "everywhere", "this token is for one project", "leave everywhere out, or use a token for every project")
	case strings.TrimSpace(r.Author) == "":
		return out, problem.Invalidf("author", "no author is named").Fix("give a user, or agent/user, as `stele list` shows them")
	case r.Since.IsZero():
		return out, problem.Invalidf("since", "no moment is given").Fix("give the time from which on nothing of this author can be trusted")
	}
	deeds, err := s.deeds(ctx, c, r)
	if err != nil {
		return out, wrap("undo", err)
	}
	c.Retry = "" // one key cannot stand for many writes; running it again is harmless
	u := undo{Service: s, caller: c, request: r, out: &out}
	written := map[uuid.UUID]bool{} // these do not come back, whoever drove them out
	restore := make([]AuditLine, 0, len(deeds))
	for _, d := range deeds { // newest first: a chain of supersessions is taken off from its end
		switch d.Verb {
		case VerbRemember:
			written[d.Subject] = true
			if err := u.retire(ctx, d); err != nil {
				return out, wrap("undo", err)
			}
		case VerbSupersede, VerbRetire:
			restore = append(restore, d)
		case VerbConfirm, VerbRestate, VerbDispute, VerbEdit, VerbRestore, VerbErase:
			u.keep(d, "look at its history and decide")
		default:
		}
	}
	for _, d := range restore {
		if written[d.Subject] {
			continue
		}
		if err := u.restore(ctx, d); err != nil {
			return out, wrap("undo", err)
		}
	}
	return out, nil
}

// undo is one run.
type undo struct {
	*Service
	caller  Caller
	request UndoRequest
	out     *UndoResponse
}

func (u undo) keep(d AuditLine, why string) {
	u.out.Kept = append(u.out.Kept, KeptDeed{Memory: d.Memory, Verb: d.Verb, Reason: why})
}

// retire takes a memory that the author wrote out of recall.
func (u undo) retire(ctx context.Context, d AuditLine) error {
	r, c, err := u.subject(ctx, d)
	switch {
	case err != nil || r == nil:
		return err
	case r.Status != Live:
		u.out.Undone = append(u.out.Undone, d.Memory)
		return nil
	case u.request.DryRun:
		u.out.Retired = append(u.out.Retired, d.Memory)
		return nil
	}
	_, err = u.Forget(ctx, c, ForgetRequest{Memory: r.ID.String(), Reason: u.request.Reason})
	return u.done(d, err, &u.out.Retired)
}

// restore takes back that the author drove a memory out, unless others have decided about it since.
func (u undo) restore(ctx context.Context, d AuditLine) error {
	r, c, err := u.subject(ctx, d)
	switch {
	case err != nil || r == nil:
		return err
	case r.Status == Live:
		u.out.Undone = append(u.out.Undone, d.Memory)
		return nil
	}
	newest, err := u.lastDecision(ctx, c, r.ID)
	switch {
	case err != nil:
		return err
	case !newest.At.Equal(d.At):
		u.keep(d, fmt.Sprintf("%s decided about it since (%s)", newest.Author, newest.Verb))
		return nil
	case u.request.DryRun:
		u.out.Restored = append(u.out.Restored, d.Memory)
		return nil
	}
	_, err = u.Restore(ctx, c, r.ID.String())
	return u.done(d, err, &u.out.Restored)
}

// done notes how a step went. What stands against it is for a person to judge.
func (u undo) done(d AuditLine, err error, list *[]string) error {
	if p, ok := problem.As(err); ok && (p.Code == problem.Conflict || p.Code == problem.Forbidden) {
		u.keep(d, p.Detail)
		return nil
	}
	if err == nil {
		*list = append(*list, d.Memory)
	}
	return err
}

// lastDecision is the newest event that said whether a memory is in recall.
func (u undo) lastDecision(ctx context.Context, c Caller, id uuid.UUID) (Event, error) {
	var last Event
	err := u.view(ctx, c, func(v View) error {
		last = Event{}
		events, err := v.Events(ctx, id)
		for _, e := range events {
			switch Verb(e.Verb) {
			case VerbSupersede, VerbRetire, VerbRestore, VerbErase:
				last = e
			default:
			}
		}
		return err
	})
	return last, err
}

// subject is the memory of a deed with the caller in its project; nil when it is not for the caller to see.
func (u undo) subject(ctx context.Context, d AuditLine) (*Record, Caller, error) {
	c := u.caller
	var out *Record
	err := u.view(ctx, c, func(v View) error {
		out = nil
		recs, err := v.Records(ctx, []uuid.UUID{d.Subject})
		if err == nil && len(recs) == 1 && (c.sees(&recs[0]) || u.request.Everywhere && c.mayOpen(&recs[0])) {
			out = &recs[0]
		}
		return err
	})
	if out != nil && out.Scope == Project {
		c.Project = out.ProjectID
	}
	return out, c, err
}

// deeds are the lines of the trail that an author left on memories, newest first.
func (s *Service) deeds(ctx context.Context, c Caller, r UndoRequest) ([]AuditLine, error) {
	q := AuditQuery{Since: r.Since, Limit: MaxEvents}
	q.Agent, q.User = splitAuthor(strings.TrimSpace(r.Author))
	keys := c.spaceKeys()
	if r.Everywhere {
		projects, err := s.Projects(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, p := range projects {
			keys = append(keys, SpaceKey{Project, p.ID.String()})
		}
	}
	var all []AuditLine
	for {
		var page []AuditLine
		err := s.view(ctx, c, func(v View) error {
			spaces, err := v.Spaces(ctx, keys)
			if err != nil {
				return err
			}
			q.Spaces = make([]int32, 0, len(spaces))
			for _, sp := range spaces {
				q.Spaces = append(q.Spaces, sp.ID)
			}
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
