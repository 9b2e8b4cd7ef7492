package memory

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// What a caller of one project (Caller.Bound) may not know or do, beyond what role and scope say. The organization's
// memories are part of their recall; what other projects have to do with them is not.

// boundView is a View that leaves other projects out of what it shows.
type boundView struct {
	View
	caller Caller
}

// Records implements recordView.
func (v boundView) Records(ctx context.Context, ids []uuid.UUID) ([]Record, error) {
	recs, err := v.View.Records(ctx, ids)
	v.caller.leaveOut(recs)
	return recs, err
}

// Past implements recallView.
func (v boundView) Past(ctx context.Context, spaces []int32, at time.Time) ([]Record, error) {
	recs, err := v.View.Past(ctx, spaces, at)
	v.caller.leaveOut(recs)
	return recs, err
}

// leaveOut takes elements and paths of other projects out of records that are to be shown.
func (c Caller) leaveOut(recs []Record) {
	if c.Bound == uuid.Nil {
		return
	}
	for i := range recs {
		r := &recs[i]
		r.Elements = slices.DeleteFunc(r.Elements, func(e ElementRef) bool { return e.Of != c.Bound })
		if len(r.PathsOf) != len(r.Paths) {
			continue
		}
		paths, of := []string{}, []uuid.UUID{}
		for n, p := range r.Paths {
			if r.PathsOf[n] == c.Bound {
				paths, of = append(paths, p), append(of, r.PathsOf[n])
			}
		}
		r.Paths, r.PathsOf = paths, of
	}
}

// mayReviewOrganization tells whether the caller may write what acts in every project.
func (c Caller) mayReviewOrganization() bool { return c.mayReview() && c.Bound == uuid.Nil }

// mayReviewRecord tells whether the caller may change another author's memory.
func (c Caller) mayReviewRecord(r *Record) bool {
	return c.mayReview() && (r.Scope != Organization || c.Bound == uuid.Nil)
}
