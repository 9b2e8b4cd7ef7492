package client_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// The queue over the network is that of the domain, and a decision whose answer is lost is made once.
func TestReviewOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	ctx := t.Context()
	for _, text := range []string{"Tea is served hot.", "Cups are of glass."} {
		m, err := s.Remember(ctx, s.by, memory.RememberRequest{Content: text})
		check(t, err)
		_, err = s.Confirm(ctx, s.by, memory.ConfirmRequest{Memory: m.Memory.Handle, Note: "not any more"})
		check(t, err)
	}
	request := review.QueueRequest{All: true, Reasons: []review.Reason{review.Disputed, review.Conflict}, Limit: 1, PerGroup: 2}
	got, err := s.ReviewQueue(ctx, s.by, request)
	check(t, err)
	want, err := s.local.ReviewQueue(ctx, s.admin, request)
	check(t, err)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), within); diff != "" || got.Total != 2 || got.NextCursor == "" {
		t.Fatalf("queue of %d groups (-domain +client): %s", got.Total, diff)
	}
	request.Cursor = got.NextCursor
	next, err := s.ReviewQueue(ctx, s.by, request)
	check(t, err)
	if len(next.Groups) != 1 || next.Groups[0].ID == got.Groups[0].ID {
		t.Errorf("the next page: %+v", next.Groups)
	}
	group := got.Groups[0].ID
	page, err := s.ReviewGroup(ctx, s.by, review.GroupRequest{Group: group})
	check(t, err)
	local, err := s.local.ReviewGroup(ctx, s.admin, review.GroupRequest{Group: group})
	check(t, err)
	if diff := cmp.Diff(local, page, cmpopts.EquateEmpty(), within); diff != "" || len(page.Items) != 1 {
		t.Errorf("group (-domain +client): %s", diff)
	}

	s.lose.Store(1)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	d, err := s.DecideReview(ctx, s.by, review.DecideRequest{Action: review.Snooze, Group: group, Expected: 1, Reason: "later", Until: &until})
	check(t, err)
	if d.Items != 1 || d.Until == nil || !d.Until.Equal(until) || s.lost.Load() != 1 {
		t.Errorf("decided %+v, %d answers lost", d, s.lost.Load())
	}
	h, err := s.ReviewHistory(ctx, s.by, review.HistoryRequest{Memory: d.Memories[0], Author: "tester/kim", Limit: 5})
	check(t, err)
	if len(h.Decisions) != 1 || h.Decisions[0].ID != d.ID || h.Decisions[0].Reason != "later" {
		t.Errorf("history: %+v", h)
	}
	undone, err := s.UndoReview(ctx, s.by, d.ID)
	check(t, err)
	if undone.UndoneAt == nil || undone.ID != d.ID {
		t.Errorf("undone: %+v", undone)
	}
	since := time.Now().Add(-48 * time.Hour).UTC()
	digest, err := s.ReviewDigest(ctx, s.by, review.DigestRequest{Since: since, Titles: true})
	check(t, err)
	if !digest.Since.Equal(since) || digest.Open[review.Disputed] != 2 || digest.Markdown == "" {
		t.Errorf("digest: %+v", digest)
	}
	for name, err := range map[string]error{
		"a group that is not there":  second(s.ReviewGroup(ctx, s.by, review.GroupRequest{Group: "g-000000000000"})),
		"no group":                   second(s.ReviewGroup(ctx, s.by, review.GroupRequest{Group: " "})),
		"no decision":                second(s.UndoReview(ctx, s.by, "")),
		"a decision that is not one": second(s.UndoReview(ctx, s.by, "01a22c43-247e-7b6c-81cc-53d0f3012d8f")),
	} {
		if !problem.Is(err, problem.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// within leaves out what a memory knows inside the domain only.
var within = cmpopts.IgnoreFields(memory.Memory{}, "DoubtedAt")

func second[T any](_ T, err error) error { return err }
