package review

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// ReviewHistory lists what was decided in the project, newest first.
func (s *Service) ReviewHistory(ctx context.Context, c memory.Caller, r HistoryRequest) (History, error) {
	var err error
	if r.Limit, err = limit("limit", r.Limit, DefaultLimit); err != nil {
		return History{}, err
	}
	q := DecisionQuery{Project: c.Project, User: c.User, Limit: r.Limit}
	if agent, user, ok := strings.Cut(r.Author, "/"); ok {
		q.ByAgent, q.ByUser = agent, user
	} else {
		q.ByUser = r.Author
	}
	if r.Cursor != "" {
		if q.Before, err = uuid.Parse(r.Cursor); err != nil {
			return History{}, problem.Invalidf("cursor", "it is not one this list gave out").Fix("leave it out to start at the newest")
		}
	}
	var out History
	err = s.view(ctx, c, func(v View) error {
		out = History{Decisions: []Decision{}}
		if r.Memory != "" {
			m, err := s.memory.Find(ctx, v, c, "memory", r.Memory)
			if err != nil {
				return err
			}
			q.Memory = m.ID
		}
		stored, err := v.Decided(ctx, q)
		if err != nil {
			return err
		}
		for _, d := range stored {
			shown, err := s.decision(ctx, v, c, d)
			if err != nil {
				return err
			}
			out.Decisions = append(out.Decisions, shown)
		}
		if len(stored) == r.Limit {
			out.NextCursor = stored[len(stored)-1].ID.String()
		}
		return nil
	})
	if err != nil {
		return History{}, fmt.Errorf("review history: %w", err)
	}
	return out, nil
}

// decision is a decision as doors show it.
func (s *Service) decision(ctx context.Context, v View, c memory.Caller, d Stored) (Decision, error) {
	out := Decision{
		ID: d.ID.String(), Action: d.Action, Group: d.Group, At: d.At, Author: memory.AuthorName(d.Agent, d.User), Door: string(d.Door), Reason: d.Note,
		Items: d.Items, Memories: d.Memories, Count: d.Count, Until: d.Detail.Until, Kept: []Kept{}, UndoneBy: d.UndoneBy,
	}
	if out.Memories == nil {
		out.Memories = []string{}
	}
	if !d.UndoneAt.IsZero() {
		out.UndoneAt = &d.UndoneAt
	}
	if d.Detail.Into != uuid.Nil {
		recs, err := v.Records(ctx, []uuid.UUID{d.Detail.Into})
		if err != nil {
			return out, err
		}
		if len(recs) == 1 && c.Sees(&recs[0]) {
			out.Into = recs[0].Handle
		}
	}
	return out, nil
}

// decidedMeanwhile tells who decided what somebody else was about to decide; nil when nobody did.
func (s *Service) decidedMeanwhile(ctx context.Context, v View, c memory.Caller, q DecisionQuery) error {
	q.Project, q.User, q.OnlyStanding, q.Limit = c.Project, c.User, true, 1
	stored, err := v.Decided(ctx, q)
	if err != nil || len(stored) == 0 {
		return err
	}
	d := stored[0]
	return problem.New(problem.Conflict, "", fmt.Sprintf("%s decided this on %s: %s", memory.AuthorName(d.Agent, d.User), d.At.Format(time.RFC3339), d.Action),
		fmt.Sprintf("look at the history; decision %s can be undone", d.ID))
}
