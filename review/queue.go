package review

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// ReviewQueue gives a page of the queue: groups in order, with the first items of each. By default it holds the groups with a
// memory that the caller wrote, or that lies in files which CODEOWNERS gives to them.
func (s *Service) ReviewQueue(ctx context.Context, c memory.Caller, r QueueRequest) (Queue, error) {
	if err := r.check(); err != nil {
		return Queue{}, err
	}
	var after *sortKey
	if r.Cursor != "" {
		after = &sortKey{}
		if err := decodeCursor(r.Cursor, after); err != nil {
			return Queue{}, err
		}
	}
	var out Queue
	err := s.view(ctx, c, func(v View) error {
		out = Queue{Items: []Item{}, Groups: []Group{}, Counts: map[Reason]int{}}
		items, err := s.open(ctx, v, c, nil, r.Reasons)
		if err != nil {
			return err
		}
		groups := group(items, s.memory.Ranking().Kind)
		if !r.All {
			if groups, out.NotMine, err = s.mine(ctx, v, c, groups); err != nil {
				return err
			}
		}
		out.Total = len(groups)
		for _, g := range groups {
			out.Counts[g.Reason] += g.Count
			if g.CanWait {
				out.CanWait++
			}
		}
		start := 0
		if after != nil {
			start, _ = slices.BinarySearchFunc(groups, *after, func(g gathered, k sortKey) int { return max(compareKeys(g.key(), k), -1) })
			for start < len(groups) && compareKeys(groups[start].key(), *after) <= 0 {
				start++
			}
		}
		page := groups[start:min(len(groups), start+r.Limit)]
		if start+len(page) < len(groups) {
			out.NextCursor = encodeCursor(page[len(page)-1].key())
		}
		for i := range page {
			page[i].page = page[i].items[:min(len(page[i].items), r.PerGroup)]
		}
		return s.show(ctx, v, c, page, func(g Group, items []Item) {
			out.Groups = append(out.Groups, g)
			out.Items = append(out.Items, items...)
		})
	})
	if err != nil {
		return Queue{}, fmt.Errorf("review queue: %w", err)
	}
	return out, nil
}

func (r *QueueRequest) check() (err error) {
	if r.Limit, err = limit("limit", r.Limit, DefaultLimit); err != nil {
		return err
	}
	if r.PerGroup, err = limit("per_group", r.PerGroup, GroupItems); err != nil {
		return err
	}
	for _, reason := range r.Reasons {
		if !slices.Contains(Reasons, reason) {
			return problem.Invalidf("reasons", "%q is no reason of the queue", clip(string(reason))).Fix("use %s", join(Reasons))
		}
	}
	return nil
}

func limit(field string, n, fallback int) (int, error) {
	switch {
	case n == 0:
		return fallback, nil
	case n < 0 || n > MaxLimit:
		return 0, problem.Invalidf(field, "%d is not between 1 and %d", n, MaxLimit).Fix("leave it out for %d", fallback)
	}
	return n, nil
}

func join[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// clip bounds what an error quotes.
func clip(s string) string { return s[:min(len(s), 80)] }

func encodeCursor(key any) string {
	text, err := json.Marshal(key)
	if err != nil {
		return "" // numbers, times and texts always encode
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeCursor(cursor string, key any) error {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, key)
	}
	if err != nil {
		return problem.Invalidf("cursor", "it is not one this list gave out").Fix("leave it out to start at the beginning")
	}
	return nil
}

// itemKey is where an item stands in its group.
type itemKey struct {
	Weight   float64 `json:"w"`
	Handle   string  `json:"h"`
	Evidence string  `json:"e"`
}

// ReviewGroup opens a group: a page of its items, weightiest first.
func (s *Service) ReviewGroup(ctx context.Context, c memory.Caller, r GroupRequest) (GroupPage, error) {
	var err error
	if r.Limit, err = limit("limit", r.Limit, DefaultLimit); err != nil {
		return GroupPage{}, err
	}
	after := itemKey{Weight: -1}
	if r.Cursor != "" {
		if err := decodeCursor(r.Cursor, &after); err != nil {
			return GroupPage{}, err
		}
	}
	var out GroupPage
	err = s.view(ctx, c, func(v View) error {
		out = GroupPage{Items: []Item{}}
		g, err := s.find(ctx, v, c, r.Group)
		if err != nil {
			return err
		}
		kinds := s.memory.Ranking().Kind
		start := 0
		if after.Weight >= 0 {
			for start < len(g.items) && !behind(g.items[start], after, kinds) {
				start++
			}
		}
		g.page = g.items[start:min(len(g.items), start+r.Limit)]
		if start+len(g.page) < len(g.items) {
			last := g.page[len(g.page)-1]
			out.NextCursor = encodeCursor(itemKey{kinds[last.Kind], last.Handle, last.Evidence})
		}
		return s.show(ctx, v, c, []gathered{g}, func(g Group, items []Item) { out.Group, out.Items = g, items })
	})
	if err != nil {
		return GroupPage{}, fmt.Errorf("review group: %w", err)
	}
	return out, nil
}

// behind tells whether an item stands behind a place in its group.
func behind(o Open, at itemKey, kinds map[memory.Kind]float64) bool {
	if w := kinds[o.Kind]; w != at.Weight {
		return w < at.Weight
	}
	if o.Handle != at.Handle {
		return o.Handle > at.Handle
	}
	return o.Evidence > at.Evidence
}

// find gives an open group. One that was decided is told with who did it.
func (s *Service) find(ctx context.Context, v View, c memory.Caller, id string) (gathered, error) {
	items, err := s.open(ctx, v, c, nil, nil)
	if err != nil {
		return gathered{}, err
	}
	items = slices.DeleteFunc(items, func(o Open) bool { return o.groupID() != id })
	if len(items) > 0 {
		return group(items, s.memory.Ranking().Kind)[0], nil
	}
	if err := s.decidedMeanwhile(ctx, v, c, DecisionQuery{Group: id}); err != nil {
		return gathered{}, err
	}
	return gathered{}, problem.New(problem.NotFound, "group", fmt.Sprintf("nothing is open in a group %q", clip(id)), "look at the queue again")
}

// show renders groups with the items of their pages.
func (s *Service) show(ctx context.Context, v View, c memory.Caller, groups []gathered, add func(Group, []Item)) error {
	var memories, doubts []uuid.UUID
	for _, g := range groups {
		for _, o := range append(g.items[:1:1], g.page...) {
			memories = append(memories, o.Memory)
			if o.Other != uuid.Nil {
				memories = append(memories, o.Other)
			}
			if o.Doubt != uuid.Nil {
				doubts = append(doubts, o.Doubt)
			}
		}
	}
	slices.SortFunc(memories, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	recs, err := v.Records(ctx, slices.Compact(memories))
	if err != nil {
		return err
	}
	mayDecide := map[uuid.UUID]bool{}
	recs = slices.DeleteFunc(recs, func(r memory.Record) bool { return !c.Sees(&r) })
	for i := range recs {
		mayDecide[recs[i].ID] = c.MayDecide(&recs[i])
	}
	shown, err := s.memory.Present(ctx, v, c, recs)
	if err != nil {
		return err
	}
	byID := make(map[uuid.UUID]*memory.Memory, len(shown))
	for i := range shown {
		byID[shown[i].ID] = &shown[i]
	}
	reasons, err := v.DoubtReasons(ctx, doubts)
	if err != nil {
		return err
	}
	for _, g := range groups {
		items := make([]Item, 0, len(g.page))
		may := true
		for _, o := range g.page {
			m := byID[o.Memory]
			if m == nil {
				continue
			}
			may = may && mayDecide[o.Memory]
			items = append(items, Item{ID: o.itemID(), Group: g.ID, Reason: o.Reason, Evidence: evidence(o, reasons[o.Doubt], m, byID[o.Other]), Memory: *m,
				Other: byID[o.Other], Since: o.Since, Served: o.Served})
		}
		first := g.items[0]
		if byID[first.Memory] == nil {
			continue
		}
		g.Line = g.line(reasons[first.Doubt], byID[first.Memory], byID[first.Other])
		g.Actions = g.actions(c, may)
		add(g.Group, items)
	}
	return nil
}

// actions are those that make sense for a group, as far as the caller may.
func (g *gathered) actions(c memory.Caller, mayDecide bool) []Action {
	out := []Action{Confirm, Dispute}
	switch g.Reason { //nolint:exhaustive // the others are memories without a verdict
	case Disputed:
		out = []Action{Confirm}
	case Candidate: // nothing is in recall that could be disputed, changed or left as it is
		if out = []Action{Confirm}; mayDecide {
			out = append(out, Retire, Snooze)
		}
		return out
	}
	if !mayDecide {
		return out
	}
	switch g.Reason {
	case Conflict:
		out = append(out, Merge)
	case Orphaned:
		out = append(out, Reattach)
	case Drifted:
		if c.MayReview() && slices.ContainsFunc(g.items, func(o Open) bool { return o.Moved }) {
			out = append(out, AcceptBinding)
		}
	case EvidenceGone, Rewritten, Disputed, Ignored, Stale, Expired, DanglingLink, Unreviewed, Candidate:
	}
	if len(g.items) == 1 {
		out = append(out, Edit)
	}
	return append(out, Retire, Snooze, Keep)
}
