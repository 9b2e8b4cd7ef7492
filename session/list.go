package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Sessions lists the sessions of the project, newest first: who works where.
func (s *Service) Sessions(ctx context.Context, c memory.Caller, r ListRequest) (List, error) {
	q := Query{Project: c.Project, State: r.State, User: r.User, Limit: r.Limit}
	switch {
	case r.Limit < 0 || r.Limit > maxListed:
		return List{}, problem.Invalidf("limit", "%d is not between 1 and %d", r.Limit, maxListed).Fix("leave it out for %d", maxListed)
	case r.Limit == 0:
		q.Limit = maxListed
	}
	switch r.State {
	case "", Active:
		q.State, q.Since = Active, s.memory.Now().Add(-Lifetime)
	case "all":
		q.State = ""
	case Finished, Expired, Cancelled:
	default:
		return List{}, problem.Invalidf("state", "%q is not a state", clip(string(r.State))).Fix("use active, finished, expired, cancelled or all")
	}
	if r.Cursor != "" {
		id, err := uuid.Parse(r.Cursor)
		if err != nil {
			return List{}, problem.Invalidf("cursor", "it is not one this list gave out").Fix("leave it out to start at the newest")
		}
		q.Before = id
	}
	var out List
	err := s.view(ctx, c, func(v View) error {
		out = List{Sessions: []Summary{}}
		if r.Element != "" {
			e, err := memory.FindElement(ctx, v, c, "element", r.Element)
			if err != nil {
				return err
			}
			elements, err := v.Elements(ctx, c.Project, false)
			if err != nil {
				return err
			}
			tree := newTree(elements)
			q.Elements = []uuid.UUID{}
			for _, o := range elements {
				if tree.related(o.ID, e.ID) {
					q.Elements = append(q.Elements, o.ID)
				}
			}
		}
		found, err := v.Sessions(ctx, q)
		if err != nil {
			return err
		}
		if out.Sessions, err = summaries(ctx, v, c.Project, found); err != nil {
			return err
		}
		if len(found) == q.Limit {
			out.NextCursor = found[len(found)-1].ID.String()
		}
		return nil
	})
	if err != nil {
		return List{}, fmt.Errorf("list work sessions: %w", err)
	}
	return out, nil
}

// summaries shows sessions of a project with their leases: held ones of those at work, all of the others.
func summaries(ctx context.Context, v View, project uuid.UUID, sessions []Stored) ([]Summary, error) {
	ids := make([]uuid.UUID, len(sessions))
	outcomes := []uuid.UUID{}
	for i, st := range sessions {
		ids[i] = st.ID
		if st.Outcome != uuid.Nil {
			outcomes = append(outcomes, st.Outcome)
		}
	}
	held, err := leasesOf(ctx, v, project, ids, true)
	if err != nil {
		return nil, err
	}
	all, err := leasesOf(ctx, v, project, ids, false)
	if err != nil {
		return nil, err
	}
	recs, err := v.Records(ctx, outcomes)
	if err != nil {
		return nil, err
	}
	handles := map[uuid.UUID]string{}
	for _, r := range recs {
		handles[r.ID] = r.Handle
	}
	out := make([]Summary, len(sessions))
	for i, st := range sessions {
		leases := all[st.ID]
		if st.State == Active {
			leases = held[st.ID]
		}
		out[i] = Summary{SessionID: st.Name, State: st.State, Task: st.Body.Task, Author: st.by(), Door: string(st.Door), StartedAt: st.StartedAt,
			BeatAt: st.BeatAt, EndedAt: ended(st), Leases: some(leases), Reporting: st.Reporting, Partial: st.Partial, Outcome: handles[st.Outcome]}
	}
	return out, nil
}

func ended(st Stored) *time.Time {
	if st.EndedAt.IsZero() {
		return nil
	}
	return &st.EndedAt
}

func (w *work) summary(ctx context.Context, st Stored) (Summary, error) {
	all, err := summaries(ctx, w.tx, st.Project, []Stored{st})
	if err != nil {
		return Summary{}, err
	}
	return all[0], nil
}

// SessionReceipt shows a session of the project with what it was shown, when, at what cost, and what it used of that. Of another
// user's session personal memories are left out.
func (s *Service) SessionReceipt(ctx context.Context, c memory.Caller, ref string) (Receipt, error) {
	var out Receipt
	err := s.view(ctx, c, func(v View) error {
		st, err := own(ctx, v, c, ref)
		if problem.Is(err, problem.NotFound) && IsName(ref) {
			anyone, ok, verr := v.Session(ctx, "", ref)
			if verr != nil {
				return verr
			}
			if ok && anyone.Project == c.Project {
				st, err = anyone, nil
			}
		}
		if err != nil {
			return err
		}
		all, err := summaries(ctx, v, st.Project, []Stored{st})
		if err != nil {
			return err
		}
		out = Receipt{Summary: all[0], Edited: []string{}, FollowUps: []FollowUp{}, Served: []Served{}, Cited: []string{}}
		edits, err := v.Edits(ctx, []uuid.UUID{st.ID}, time.Time{})
		if err != nil {
			return err
		}
		for _, e := range edits {
			out.Edited = append(out.Edited, e.Path)
		}
		open, err := v.FollowUps(ctx, st.Project, mostFollowUps)
		if err != nil {
			return err
		}
		for _, f := range open {
			if f.SessionID == st.Name {
				out.FollowUps = append(out.FollowUps, f)
			}
		}
		return s.served(ctx, v, c, st, &out)
	})
	if err != nil {
		return Receipt{}, fmt.Errorf("work session: %w", err)
	}
	return out, nil
}

// served lists what a session was shown.
func (s *Service) served(ctx context.Context, v View, c memory.Caller, st Stored, out *Receipt) error {
	shown, err := v.ShownTo(ctx, st.Name)
	if err != nil {
		return err
	}
	cited, err := v.CitedBy(ctx, st.Name)
	if err != nil {
		return err
	}
	ids := slices.Clone(cited)
	for _, sh := range shown {
		ids = append(ids, sh.Memory)
	}
	memories, err := s.memory.ShowRecords(ctx, v, c, ids)
	if err != nil {
		return err
	}
	byID := map[uuid.UUID]memory.Memory{}
	for _, m := range memories {
		byID[m.ID] = m
	}
	for _, id := range cited {
		if m, ok := byID[id]; ok {
			out.Cited = append(out.Cited, m.Handle)
		}
	}
	for _, sh := range shown {
		m, ok := byID[sh.Memory]
		if !ok {
			continue
		}
		line := Served{Handle: m.Handle, Kind: m.Kind, Title: memory.TitleOf(m), Door: sh.Door, FirstAt: sh.FirstAt, Times: sh.Times, Cited: sh.Cited, Observed: sh.Observed}
		switch sh.Door {
		case memory.DoorIndex, memory.DoorBriefing:
			line.Tokens = memory.Tokens(line.Title)
		default:
			line.Tokens = memory.Tokens(memory.RenderMemories([]memory.Memory{m}))
		}
		out.Tokens += line.Tokens * line.Times
		out.Served = append(out.Served, line)
	}
	return nil
}
