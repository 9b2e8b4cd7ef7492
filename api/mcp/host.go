package mcp

import (
	"context"
	"sync"

	"github.com/stele-dev/stele/memory"
)

// Service is the part of the domain that the tools call; api.Domain is one.
type Service interface {
	Remember(ctx context.Context, c memory.Caller, r memory.RememberRequest) (memory.RememberResponse, error)
	Recall(ctx context.Context, c memory.Caller, r memory.RecallRequest) (memory.RecallResponse, error)
	Confirm(ctx context.Context, c memory.Caller, r memory.ConfirmRequest) (memory.Memory, error)
	Get(ctx context.Context, c memory.Caller, refs []string) ([]memory.Memory, error)
	List(ctx context.Context, c memory.Caller, r memory.ListRequest) (memory.ListResponse, error)
	Timeline(ctx context.Context, c memory.Caller, ref string, limit int) (memory.TimelineResponse, error)
	Context(ctx context.Context, c memory.Caller, r memory.ContextRequest) (memory.ContextResponse, error)
	Impact(ctx context.Context, c memory.Caller, r memory.ImpactRequest) (memory.ImpactResponse, error)
	Plan(ctx context.Context, c memory.Caller, r memory.PlanRequest) (memory.PlanResponse, error)
	Map(ctx context.Context, c memory.Caller) (memory.Map, error)
	Forget(ctx context.Context, c memory.Caller, r memory.ForgetRequest) (memory.ForgetResponse, error)
	Restore(ctx context.Context, c memory.Caller, ref string) (memory.Memory, error)
	DriftScore(ctx context.Context, c memory.Caller) (memory.DriftScore, error)
	DriftRun(ctx context.Context, c memory.Caller, id string) (memory.RunReport, error)
	DriftHistory(ctx context.Context, c memory.Caller, q memory.RunQuery) ([]memory.RunSummary, error)
	reviewService
	sessionService
}

// Backend is an opened domain and what is known about the one who calls.
type Backend interface {
	Service() Service
	// Caller says who asks about which project: the named one, else the only one that applies. A call that writes may
	// make a project which the configuration names and which does not exist yet. The error lists the projects.
	Caller(ctx context.Context, project string, writes bool) (memory.Caller, error)
	// Seen is the state of the code before the caller; nil when this door has no working tree.
	Seen(ctx context.Context) *memory.Seen
	// Worktree tells working trees apart, opaquely; "" when this door has none.
	Worktree() string
	// Relative gives a path relative to the root of the repository where this door knows better than the caller.
	Relative(path string) string
}

// backend opens a Backend once, in the background, so that a client has its list of tools before a database is up.
// A failed attempt is repeated by the next call that needs it: what was wrong may have been mended meanwhile.
type backend struct {
	open func(context.Context) (Backend, error)
	life context.Context //nolint:containedctx // ends the attempts, which outlive the call that began them
	jobs sync.WaitGroup

	mu      sync.Mutex
	current *attempt
}

// attempt is one try at opening; done is closed when the other fields hold.
type attempt struct {
	done    chan struct{}
	backend Backend
	err     error
}

// opened makes o the backend, without an attempt.
func (b *backend) opened(o Backend) {
	b.current = &attempt{done: make(chan struct{}), backend: o}
	close(b.current.done)
}

// begin starts an attempt unless one is under way or succeeded.
func (b *backend) begin() *attempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.current; a != nil {
		select {
		case <-a.done:
			if a.err == nil {
				return a
			}
		default:
			return a
		}
	}
	a := &attempt{done: make(chan struct{})}
	b.current = a
	b.jobs.Go(func() {
		defer close(a.done)
		a.backend, a.err = b.open(b.life)
	})
	return a
}

// get waits for the backend as long as ctx allows.
func (b *backend) get(ctx context.Context) (Backend, error) {
	a := b.begin()
	select {
	case <-a.done:
		return a.backend, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
