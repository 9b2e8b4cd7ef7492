package remote

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stele-dev/stele/embedding"
)

const (
	// longestAnswer is how long a request of a call in a hurry may go on when the call is over: as long as such a call may
	// take, so that it stays one.
	longestAnswer = hurry - time.Second
	// leastWait is how long a request must have been under way for the provider to be called late: of calls that had to wait
	// for their turn little is left. A local model takes 10 to 100 ms for a short text.
	leastWait = 100 * time.Millisecond
	// triedEvery is how often a provider that is waited for no more is tried.
	triedEvery = 5 * time.Second
)

// prompt decides whether calls in a hurry wait for a provider. A provider that is gone refuses connections, which costs
// nothing; one that hangs lets everybody wait for as long as they have, until the breaker has counted enough of them. So the
// first who waits in vain is the last: their request goes on without them, and nobody waits until a request was answered
// within the time that its caller had. While there are calls, one is sent every few seconds to find out.
type prompt struct {
	turns    *semaphore.Weighted // bounds calls at once
	log      *slog.Logger
	life     context.Context //nolint:containedctx // of requests that outlive their calls; Close ends it
	end      context.CancelFunc
	requests sync.WaitGroup

	mu     sync.Mutex
	late   bool      // the provider is not waited for
	asking bool      // it is late, and a request is under way
	next   time.Time // when the next may be sent
}

func newPrompt(turns int, log *slog.Logger) *prompt {
	p := &prompt{turns: semaphore.NewWeighted(int64(turns)), log: log}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// close ends requests that outlived their calls.
func (p *prompt) close() {
	p.end()
	p.requests.Wait()
}

var (
	// errLate says that nobody waits for the provider now.
	errLate = errors.New("the provider let the last call wait in vain")
	// errTooLate says that the time of this call was over first.
	errTooLate = errors.New("the time was over")
	// errNoTurn says that the time of this call was over before its turn came.
	errNoTurn = errors.New("no turn came")
)

// attempt is one request; its fields are guarded by prompt.mu.
type attempt struct {
	alone bool // nobody waits for it
	ended bool
}

// do runs a request for a call whose context ends soon. The error is that of the request, one of those above, or that of the
// context when the caller gave up.
func (p *prompt) do(ctx context.Context, request func(context.Context) ([]embedding.Vector, error)) ([]embedding.Vector, error) {
	a, waits := p.begin()
	if a == nil {
		return nil, errLate
	}
	if err := p.turn(ctx, waits); err != nil {
		p.ended(a, false)
		return nil, err
	}
	type answer struct {
		vectors []embedding.Vector
		err     error
	}
	answered := make(chan answer, 1)
	begun := time.Now()
	end, _ := ctx.Deadline()
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestAnswer)
	unlink := context.AfterFunc(p.life, cancel) //nolint:contextcheck // the life of requests is not that of a call
	p.requests.Go(func() {
		defer p.turns.Release(1)
		defer cancel()
		defer unlink()
		vectors, err := request(own)
		// A refusal is an answer, too.
		p.ended(a, (err == nil || isRefusal(err)) && !time.Now().After(end))
		answered <- answer{vectors, err}
	})
	if !waits {
		return nil, errLate
	}
	select {
	case got := <-answered:
		return got.vectors, got.err
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		cancel()
		return nil, ctx.Err()
	}
	if time.Since(begun) < leastWait || !p.givenUp(a) {
		cancel()
	}
	return nil, errTooLate
}

// turn waits until the request may be sent, if anybody waits for it.
func (p *prompt) turn(ctx context.Context, waits bool) error {
	if !waits {
		if !p.turns.TryAcquire(1) {
			return errLate
		}
		return nil
	}
	switch err := p.turns.Acquire(ctx, 1); {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	}
	return errNoTurn
}

// begin gives the request to send, nil for none, and whether to wait for it.
func (p *prompt) begin() (a *attempt, waits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.late {
		return &attempt{}, true
	}
	if p.asking || time.Now().Before(p.next) {
		return nil, false
	}
	p.asking = true
	return &attempt{alone: true}, false
}

// givenUp notes that the time of a call was over before its request was answered, and tells whether the request goes on: the
// first of them does.
func (p *prompt) givenUp(a *attempt) (goesOn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late {
		return false
	}
	p.late = true
	p.log.Warn("embedding provider is late: it is not waited for until it answers in time")
	if a.ended {
		p.next = time.Now().Add(triedEvery)
		return false
	}
	p.asking, a.alone = true, true
	return true
}

// ended notes that a request ended, with an answer within the time of its call or not.
func (p *prompt) ended(a *attempt, inTime bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.ended = true
	if a.alone {
		p.asking, p.next = false, time.Now().Add(triedEvery)
	}
	if inTime && p.late {
		p.late = false
		p.log.Info("embedding provider answers in time")
	}
}
