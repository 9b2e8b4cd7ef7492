package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"

	"github.com/stele-dev/stele/embedding"
)

const (
	// hurry is the time left to a call below which it is in a hurry: it is tried once, and waits for nobody with time.
	hurry = 5 * time.Second
	// tripAfter failures in a row, a provider is left alone. One or two happen to every provider.
	tripAfter = 5
	// rest is how long it is left alone, varied by restJitter either way so that several servers do not come back at once.
	rest       = 30 * time.Second
	restJitter = 0.1
)

// How long to wait between attempts: from a fifth of a second, twice as long each time, at most ten seconds, each varied by
// half. A provider that says when to come back is obeyed.
const (
	firstWait  = 200 * time.Millisecond
	longestGap = 10 * time.Second
)

// lane is what calls of one kind share: a bound on how many requests are under way, and a breaker. A provider has one for
// calls in a hurry, a write or a recall, and one for those with time, which fill vectors in later. A provider that takes a
// second is away for the former and works for the latter, and neither may take the other's turn.
//
// The breaker opens after tripAfter failed requests in a row. While it is open, calls fail at once with the last reason. After
// rest one request is let through, and decides.
type lane struct {
	slots   *semaphore.Weighted
	breaker *gobreaker.CircuitBreaker[[]embedding.Vector]
	last    atomic.Pointer[failure] // the newest that counts
}

func newLane(slots int, log *slog.Logger) *lane {
	l := &lane{slots: semaphore.NewWeighted(int64(slots))}
	l.breaker = gobreaker.NewCircuitBreaker[[]embedding.Vector](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     time.Duration(float64(rest) * (1 - restJitter + 2*restJitter*rand.Float64())), //nolint:gosec // spreads load, keeps no secret
		ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= tripAfter },
		// What tells nothing of the provider counts for nothing. A refusal is among it: it may be the text or the settings.
		IsExcluded: func(err error) bool {
			f, ok := errors.AsType[*failure](err)
			return err != nil && (!ok || !f.counts())
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				log.Warn("embedding provider is away", "reason", l.last.Load())
			case gobreaker.StateClosed:
				log.Info("embedding provider is back")
			case gobreaker.StateHalfOpen:
			}
		},
	})
	return l
}

// laneFor chooses by the time that a context leaves.
func (p *Provider) laneFor(ctx context.Context) *lane {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < hurry {
		return p.hurried
	}
	return p.unhurried
}

// ask puts a question until it is answered, the time is over or the breaker opens. A question in a hurry is put once: a wait
// would cost a write more than the vector is worth to it.
func (l *lane) ask(ctx context.Context, p *Provider, q question) ([]embedding.Vector, error) {
	end, ok := ctx.Deadline()
	if l == p.hurried || !ok {
		vectors, f := l.once(ctx, p, q)
		return vectors, f.final(1)
	}
	var last *failure
	tries := 0
	vectors, err := backoff.Retry(ctx, func() ([]embedding.Vector, error) {
		vectors, f := l.once(ctx, p, q)
		if f == nil {
			return vectors, nil
		}
		tries++
		if last != nil && errors.Is(f, context.DeadlineExceeded) {
			// What ended this attempt is the time; what went wrong is what went wrong before.
			return nil, backoff.Permanent(last)
		}
		last = f
		switch {
		case !f.again, l.breaker.State() == gobreaker.StateOpen:
			return nil, backoff.Permanent(f)
		case f.after > 0:
			return nil, &backoff.RetryAfterError{Duration: f.after}
		}
		return nil, f
	},
		backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: firstWait, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: longestGap}),
		// A wait that the time does not leave is not begun.
		backoff.WithMaxElapsedTime(max(time.Until(end), 1)))
	if err == nil {
		return vectors, nil
	}
	return nil, last.final(tries)
}

// once lets one request through the breaker and the bound.
func (l *lane) once(ctx context.Context, p *Provider, q question) ([]embedding.Vector, *failure) {
	vectors, err := l.breaker.Execute(func() ([]embedding.Vector, error) {
		if err := l.slots.Acquire(ctx, 1); err != nil {
			return nil, p.busy(err)
		}
		defer l.slots.Release(1)
		vectors, f := p.exchange(ctx, q)
		if f == nil {
			return vectors, nil
		}
		if f.counts() {
			l.last.Store(f)
		}
		return nil, f
	})
	if err == nil {
		return vectors, nil
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return nil, f
	}
	return nil, l.resting(p)
}

// resting is the failure of a call that was not made, in the words of the last one that was.
func (l *lane) resting(p *Provider) *failure {
	last := l.last.Load()
	if last == nil { // never: a breaker opens after a failure
		return p.away("it is left alone for a while", nil)
	}
	resting := *last.problem
	resting.Detail += fmt.Sprintf("; after %d failures in a row it is not asked again for about %s", tripAfter, rest)
	return &failure{problem: resting.Because(last), silent: true}
}
