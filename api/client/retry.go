package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/stele-dev/stele/internal/problem"
)

// How long to wait between attempts: from a fifth of a second, half as long again each time, at most five seconds, each
// varied by half so that clients do not come back all at once. A server that says when to come back is obeyed.
const (
	firstWait  = 200 * time.Millisecond
	longestGap = 5 * time.Second
)

// failure is why one attempt did not bring an answer.
type failure struct {
	problem *problem.Error
	// again: the same request may succeed a moment later.
	again bool
	// after is when the server wants to be asked again; 0 when it does not say.
	after time.Duration
	// perhaps: a write may have been carried out.
	perhaps bool
}

func (f *failure) Error() string { return f.problem.Error() }

// call carries out a request and decodes its answer into out, nil for one that is not looked at. It gives a
// *problem.Error, or the context's error when the caller gave up.
func (c *Client) call(ctx context.Context, r request, out any) error {
	m, err := c.message(r)
	if err != nil {
		return err
	}
	patience := c.patience
	if r.large {
		patience = max(patience, importPatience)
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last *failure
	tries, perhaps := 0, false
	answer, err := backoff.Retry(bounded, func() ([]byte, error) {
		if tries > 0 && bounded.Err() != nil {
			return nil, backoff.Permanent(bounded.Err()) // the wait ended together with the patience
		}
		tries++
		body, f := c.attempt(bounded, m)
		if f == nil {
			return body, nil
		}
		if last != nil && errors.Is(f.problem, context.DeadlineExceeded) {
			// What ended this attempt is the time; what went wrong is what went wrong before.
			f.problem = last.problem
		}
		last, perhaps = f, perhaps || f.perhaps
		switch {
		case !f.again:
			return nil, backoff.Permanent(f)
		case f.after > 0:
			return nil, errors.Join(f, &backoff.RetryAfterError{Duration: f.after})
		}
		return nil, f
	},
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: firstWait, RandomizationFactor: 0.5, Multiplier: 1.5, MaxInterval: longestGap}),
		backoff.WithMaxElapsedTime(patience),
		backoff.WithNotify(func(error, time.Duration) { c.retrying(last.problem) }))
	switch {
	case err == nil && out == nil:
		return nil
	case err == nil:
		if err := json.Unmarshal(answer, out); err != nil {
			p := c.strange("its answer is not of the form this program knows").Because(err)
			if r.write {
				p.Detail += "; what was asked for was done"
			}
			return p
		}
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("asking %s: %w", c.host, ctx.Err())
	case last == nil:
		return fmt.Errorf("asking %s: %w", c.host, err)
	}
	return last.final(tries, r, perhaps)
}

// final is the problem a caller sees when no attempt is left. It says what is known of a write, and no more.
func (f *failure) final(tries int, r request, perhaps bool) *problem.Error {
	p := *f.problem
	p.Fixes = append([]string{}, p.Fixes...)
	if f.again {
		if tries > 1 {
			p.Detail += fmt.Sprintf(" (tried %d times)", tries)
		}
		if r.write && !perhaps {
			p.Detail += "; nothing was done"
		}
	}
	if r.write && perhaps {
		p.Detail += "; whether it was done is not known"
		_ = p.Fix("%s", cmp.Or(r.lost, lookFirst))
	}
	return &p
}
