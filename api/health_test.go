package api

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A check runs when its answer no longer holds, whatever others do, and what it found holds for as long.
func TestChecksHoldAsLongAsTheySay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var quick, slow int
		var wrong error
		h := newHealth([]Check{
			{Name: "quick", Run: func(context.Context) error { quick++; return nil }},
			{Name: "slow", Every: 30 * time.Second, Run: func(context.Context) error { slow++; return wrong }},
		}, slog.New(slog.DiscardHandler))
		if !h.check(t.Context()).Ready {
			t.Error("not ready though every check holds")
		}
		wrong = errors.New("no")
		for range 29 {
			<-time.After(time.Second)
			if got := h.check(t.Context()); !got.Ready || !got.Checks["slow"] {
				t.Fatalf("%+v before the answer ran out", got)
			}
			h.check(t.Context()) // at the same moment
		}
		if quick != 30 || slow != 1 {
			t.Errorf("in 29 s the quick check ran %d times, the slow one %d times; want 30 and 1", quick, slow)
		}
		<-time.After(time.Second)
		if got := h.check(t.Context()); got.Ready || got.Checks["slow"] || !got.Checks["quick"] || slow != 2 {
			t.Errorf("%+v after 30 s", got)
		}
		// What was away is seen to be back as soon as it is.
		wrong = nil
		<-time.After(checkEvery)
		if got := h.check(t.Context()); !got.Ready || slow != 3 {
			t.Errorf("%+v %s after what failed is well again, and %d runs", got, checkEvery, slow)
		}
	})
}
