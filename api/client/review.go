package client

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// inReview is a request about the review queue of the caller's project.
func inReview(by memory.Caller, method string, body any, path ...string) (request, error) {
	return inProject(by, method, body, append([]string{"review"}, path...)...)
}

// ReviewQueue gives a page of what a person should look at.
func (c *Client) ReviewQueue(ctx context.Context, by memory.Caller, r review.QueueRequest) (review.Queue, error) {
	q, err := inReview(by, http.MethodGet, nil)
	q.query = query(map[string]string{"all": flag(r.All), "limit": number(r.Limit), "per_group": number(r.PerGroup), "cursor": r.Cursor})
	for _, reason := range r.Reasons {
		q.query.Add("reason", string(reason))
	}
	return read[review.Queue](ctx, c, q, err)
}

// ReviewGroup gives a page of the items of a group.
func (c *Client) ReviewGroup(ctx context.Context, by memory.Caller, r review.GroupRequest) (review.GroupPage, error) {
	ref, err := named("group", r.Group, "stele review shows the groups")
	if err != nil {
		return review.GroupPage{}, err
	}
	q, err := inReview(by, http.MethodGet, nil, "groups", ref)
	q.query = query(map[string]string{"limit": number(r.Limit), "cursor": r.Cursor})
	return read[review.GroupPage](ctx, c, q, err)
}

// DecideReview decides about a group, items or memories.
func (c *Client) DecideReview(ctx context.Context, by memory.Caller, r review.DecideRequest) (review.Decision, error) {
	q, err := inReview(by, http.MethodPost, r, "decisions")
	return write[review.Decision](ctx, c, q, err)
}

// UndoReview takes a decision back.
func (c *Client) UndoReview(ctx context.Context, by memory.Caller, decision string) (review.Decision, error) {
	ref, err := named("decision", decision, "stele review history shows the decisions")
	if err != nil {
		return review.Decision{}, err
	}
	q, err := inReview(by, http.MethodPost, struct{}{}, "decisions", ref, "undo")
	return write[review.Decision](ctx, c, q, err)
}

// ReviewHistory gives a page of decisions, newest first.
func (c *Client) ReviewHistory(ctx context.Context, by memory.Caller, r review.HistoryRequest) (review.History, error) {
	q, err := inReview(by, http.MethodGet, nil, "decisions")
	q.query = query(map[string]string{"author": r.Author, "memory": r.Memory, "limit": number(r.Limit), "cursor": r.Cursor})
	return read[review.History](ctx, c, q, err)
}

// ReviewDigest gives the digest of a time.
func (c *Client) ReviewDigest(ctx context.Context, by memory.Caller, r review.DigestRequest) (review.Digest, error) {
	values := map[string]string{"titles": flag(r.Titles)}
	if !r.Since.IsZero() {
		values["since"] = r.Since.UTC().Format(time.RFC3339Nano)
	}
	q, err := inReview(by, http.MethodGet, nil, "digest")
	q.query = query(values)
	return read[review.Digest](ctx, c, q, err)
}

// named refuses what can name nothing, before it becomes another path.
func named(field, ref, fix string) (string, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxReference {
		return "", problem.New(problem.NotFound, field, "there is no such "+field, fix)
	}
	return ref, nil
}

func flag(set bool) string {
	if set {
		return "true"
	}
	return ""
}
