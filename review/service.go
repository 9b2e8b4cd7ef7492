package review

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Service is the review queue behind every door. It is safe for concurrent use.
type Service struct {
	memory *memory.Service
	store  Store
}

// New makes a Service beside that of the memories, on the same database.
func New(m *memory.Service, store Store) *Service { return &Service{memory: m, store: store} }

// check refuses callers that the queue is not for.
func check(c memory.Caller) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Project == uuid.Nil {
		return problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	return nil
}

func (s *Service) view(ctx context.Context, c memory.Caller, fn func(View) error) error {
	if err := check(c); err != nil {
		return err
	}
	return s.store.ViewReviews(ctx, c.Org, fn)
}

// maxRounds bounds how often a write starts over because it turned out to need further spaces.
const maxRounds = 4

// write runs fn in a transaction that holds the project and further spaces, and starts over when it needs more.
func (s *Service) write(ctx context.Context, c memory.Caller, spaces []memory.SpaceKey, fn func(Tx) error) error {
	if err := check(c); err != nil {
		return err
	}
	spaces = append([]memory.SpaceKey{{Scope: memory.Project, Owner: c.Project.String()}}, spaces...)
	for range maxRounds {
		err := s.store.WriteReviews(ctx, c.Org, spaces, fn)
		needed := memory.NeededSpaces(err)
		if needed == nil && !errors.Is(err, memory.ErrTaken) {
			return err
		}
		spaces = append(spaces, needed...)
	}
	return problem.New(problem.Conflict, "", "this decision kept meeting others", "try again")
}

// staleAfter is how long after its last confirmation a memory's freshness is StaleFreshness.
func staleAfter(r memory.Ranking) time.Duration {
	return time.Duration(float64(r.HalfLife) * -math.Log2(StaleFreshness))
}

// open derives the open items that the caller sees; memories and reasons narrow them, nil is all.
func (s *Service) open(ctx context.Context, v View, c memory.Caller, memories []uuid.UUID, reasons []Reason) ([]Open, error) {
	return s.openIn(ctx, v, c, c.SpaceKeys(), memories, reasons)
}

// openIn is open in some spaces.
func (s *Service) openIn(ctx context.Context, v View, c memory.Caller, in []memory.SpaceKey, memories []uuid.UUID, reasons []Reason) ([]Open, error) {
	spaces, err := v.Spaces(ctx, in)
	if err != nil {
		return nil, err
	}
	ids := memory.SpaceIDs(spaces, in)
	now, ranking := s.memory.Now(), s.memory.Ranking()
	q := OpenQuery{
		Project: c.Project, Spaces: ids, Now: now, Memories: memories, Reasons: reasons,
		ConfirmedBefore: now.Add(-staleAfter(ranking)), ServedSince: now.Add(-StaleServed), IgnoredFrom: max(1, ranking.IgnoredFrom),
		LinkedBefore: now.Add(-DanglingGrace), CountSince: now.Add(-ServedWindow), BriefedSince: now.Add(-BriefingWindow),
	}
	links, err := s.dangling(ctx, v, c, q)
	if err != nil {
		return nil, err
	}
	q.Dangling = [][]byte{}
	for hash := range links {
		q.Dangling = append(q.Dangling, []byte(hash))
	}
	found, err := v.OpenItems(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("derive the queue: %w", err)
	}
	for i := range found {
		switch o := &found[i]; o.Reason { //nolint:exhaustive // the others come whole
		case Stale:
			o.Since = o.At.Add(staleAfter(ranking))
		case DanglingLink:
			hash, err := hex.DecodeString(o.Evidence)
			if err != nil {
				return nil, err
			}
			o.Link = links[string(hash)]
		}
	}
	return found, nil
}

// dangling gives the links that lead nowhere, or to several things, by the hash of their target.
func (s *Service) dangling(ctx context.Context, v View, c memory.Caller, q OpenQuery) (map[string]memory.Link, error) {
	if !wanted(q.Reasons, DanglingLink) {
		return nil, nil
	}
	targets, err := v.LinkTargets(ctx, c.Project, q.Spaces, q.LinkedBefore)
	if err != nil || len(targets) == 0 {
		return nil, err
	}
	texts := make([]string, len(targets))
	for i, t := range targets {
		texts[i] = t.Text
	}
	links, err := s.memory.Resolve(ctx, v, c, texts)
	if err != nil {
		return nil, err
	}
	out := map[string]memory.Link{}
	for i, l := range links {
		if l.Kind == "" {
			out[string(targets[i].Hash)] = l
		}
	}
	return out, nil
}

func wanted(reasons []Reason, r Reason) bool {
	return len(reasons) == 0 || slices.Contains(reasons, r)
}
