package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// maxGroup bounds the writes that share a transaction: the first of them waits for all.
const maxGroup = 16

// groups lets writers of one process that want the same spaces share a transaction. Writers of a space follow each other
// anyway, since each must see what the one before stored. While one writes, the others wait here, without a connection;
// the next then runs the work of all of them, each so that it can be taken back, and commits once: one lock, one wait for
// the disk. With eight writers of one project this stores twice as much as one transaction for each.
//
// A process whose processors are busy writes to few spaces at a time: those of the others wait here, too, and are more when their turn
// comes. A statement costs more than the row it adds, so that stores more in all.
type groups struct {
	mu       sync.Mutex
	queues   map[groupKey]*queue
	turns    chan struct{} // as many as may write at a time
	patience time.Duration // how long one waits for a turn; then it writes all the same
}

// turnPatience is long for a write that waits for others to work, and short where one of them waits for something else.
const turnPatience = 50 * time.Millisecond

// newGroups lets one more write than there are processors: one of them usually waits for the other side.
func newGroups() groups {
	return groups{queues: map[groupKey]*queue{}, turns: make(chan struct{}, runtime.GOMAXPROCS(0)+1), patience: turnPatience}
}

// turn waits for a turn. Leaving it gives it back, once.
func (g *groups) turn(ctx context.Context) (leave func()) {
	select {
	case g.turns <- struct{}{}:
		return sync.OnceFunc(func() { <-g.turns })
	default:
	}
	timer := time.NewTimer(g.patience)
	defer timer.Stop()
	select {
	case g.turns <- struct{}{}:
		return sync.OnceFunc(func() { <-g.turns })
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}

// groupKey is an organization and the spaces, in lock order, as one text.
type groupKey struct {
	org    uuid.UUID
	spaces string
}

// queue is where writers of the same spaces meet.
type queue struct {
	lead  chan struct{} // holds one token while nobody writes
	jobs  []*job        // nobody has begun
	users int           // writers in it; the last one removes the queue
}

// job is one write. err is valid once done is closed.
type job struct {
	ctx  context.Context //nolint:containedctx // the work belongs to its caller, whoever runs it
	fn   func(memory.Tx) error
	err  error
	done chan struct{}
}

// write runs fn, alone or together with others, and returns when what it wrote is committed.
func (s *Store) write(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, fn func(memory.Tx) error) error {
	key := groupKey{org: org, spaces: fmt.Sprintf("%q", spaces)}
	j := &job{ctx: ctx, fn: fn, done: make(chan struct{})}
	q := s.groups.join(key, j)
	defer s.groups.leave(key, q)
	for {
		select {
		case <-j.done: // another writer ran it
			return j.err
		case <-ctx.Done():
			if s.groups.withdraw(q, j) {
				return ctx.Err()
			}
			<-j.done // it is being run, with this very context, and ends soon
			return j.err
		case <-q.lead:
			if s.lead(ctx, org, spaces, q, j) {
				return j.err
			}
		}
	}
}

// keysPatience is how long a writer waits before it asks again whether the keys of its organization are changed.
const keysPatience = 20 * time.Millisecond

// lead runs a group while nobody else of the queue does. While keys are changed nothing can be run: then it is false, the
// jobs are in the queue again and each may still be withdrawn.
func (s *Store) lead(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, q *queue, own *job) (ran bool) {
	defer func() { q.lead <- struct{}{} }()
	leave := s.groups.turn(ctx)
	defer leave()
	group := s.groups.begin(q, own)
	if group == nil {
		return true // another leader ran it
	}
	if s.run(org, spaces, group, leave) { //nolint:contextcheck // every job brings its own
		return true
	}
	s.groups.putBack(q, group)
	pause(ctx, keysPatience)
	return false
}

// pause waits, or not when the caller gives up.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (g *groups) join(key groupKey, j *job) *queue {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[key]
	if q == nil {
		q = &queue{lead: make(chan struct{}, 1)}
		q.lead <- struct{}{}
		g.queues[key] = q
	}
	q.users++
	q.jobs = append(q.jobs, j)
	return q
}

func (g *groups) leave(key groupKey, q *queue) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(g.queues, key)
	}
}

// withdraw takes back a job nobody has begun.
func (g *groups) withdraw(q *queue, j *job) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range q.jobs {
		if other == j {
			q.jobs = append(q.jobs[:i], q.jobs[i+1:]...)
			return true
		}
	}
	return false
}

// begin takes the jobs to run together, the leader's own among them; nil when another leader has run it meanwhile.
func (g *groups) begin(q *queue, own *job) []*job {
	g.mu.Lock()
	defer g.mu.Unlock()
	group := []*job{own}
	var rest []*job
	found := false
	for _, j := range q.jobs {
		switch {
		case j == own:
			found = true
		case len(group) < maxGroup:
			group = append(group, j)
		default:
			rest = append(rest, j)
		}
	}
	if !found {
		return nil
	}
	q.jobs = rest
	return group
}

// putBack queues jobs again that begin took, before the others. Those whose callers gave up end here: their callers wait for
// the answer.
func (g *groups) putBack(q *queue, group []*job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var again []*job
	for _, j := range group {
		if j.err = j.ctx.Err(); j.err != nil {
			close(j.done)
			continue
		}
		again = append(again, j)
	}
	q.jobs = append(again, q.jobs...)
}

// run executes a group and tells every job how it went; it is false, and tells none, when the keys are being changed. A job
// that fails takes back what it wrote and leaves the others alone. When one fails so that the transaction is lost with it, as
// when its caller gives up in the middle of a statement, nothing is stored, and the others run once more, each by itself. When
// the database fails, all fail. sent is called when nothing is left but to wait for the disk.
func (s *Store) run(org uuid.UUID, spaces []memory.SpaceKey, group []*job, sent func()) (ran bool) {
	err := errPanicked // unless the transaction returns
	defer func() {
		if ran = !errors.Is(err, errKeysChange); !ran {
			return
		}
		for _, j := range group {
			if err != nil {
				j.err = err
			}
			close(j.done)
		}
	}()
	err = s.together(org, spaces, group, sent)
	if len(group) > 1 && errors.Is(err, errRollback) {
		for _, j := range group {
			if j.err == nil {
				j.err = s.alone(org, spaces, j)
			}
		}
		err = nil
	}
	return true
}

// alone executes one job, whatever it must wait for.
func (s *Store) alone(org uuid.UUID, spaces []memory.SpaceKey, j *job) error {
	for {
		err := s.together(org, spaces, []*job{j}, func() {})
		if !errors.Is(err, errKeysChange) {
			return err
		}
		pause(j.ctx, keysPatience)
	}
}

// together executes a group in one transaction, and calls sent before that is committed. The error is that of the transaction; of a job
// alone it is the job's too.
func (s *Store) together(org uuid.UUID, spaces []memory.SpaceKey, group []*job, sent func()) error {
	// The transaction belongs to no single caller: it goes on when one of them gives up. Each job's own statements run
	// under the context of its caller.
	ctx := context.WithoutCancel(group[0].ctx)
	if len(group) == 1 {
		ctx = group[0].ctx
	}
	return s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
		p := &pipeline{Tx: t, org: org, spaces: map[memory.SpaceKey]*lockedSpace{}, stored: map[int32]numbers{}}
		w := &tx{view: view{tx: p, org: org, exact: s.exact, tried: &s.tried}, pipeline: p, spaces: p.spaces}
		var admitted admission
		first := &admitted
		for _, key := range spaces {
			sp, err := w.lockSpace(ctx, key, first)
			if err != nil {
				return fmt.Errorf("take space %s: %w", key.Scope, err)
			}
			p.hold(key, sp)
			first = nil
		}
		var err error
		if w.keys, err = s.keysAt(ctx, p, org, admitted.keysets); err != nil {
			return err
		}
		if len(group) == 1 {
			err := group[0].fn(w)
			if err == nil {
				err = p.flush(ctx)
			}
			sent()
			return err
		}
		for _, j := range group {
			switch j.err = w.attempt(ctx, j); {
			case errors.Is(j.err, errShared):
				err, j.err = j.err, nil // it is tried again, as the others are
				return fmt.Errorf("%w: %w", errRollback, err)
			case postgres.Retryable(j.err) || errors.Is(j.err, errRollback):
				return j.err
			}
		}
		// Rows of jobs that only added are first sent here: where one cannot be stored, each job learns by itself whether it is its own.
		err = p.flush(ctx)
		sent()
		if err != nil && !postgres.Retryable(err) && !t.Conn().IsClosed() {
			return fmt.Errorf("%w: %w", errRollback, err)
		}
		return err
	})
}

var (
	// errRollback says that the transaction cannot go on after a job.
	errRollback = errors.New("a write could not be taken back")
	// errPanicked is what the others of a group get when one of them panics; the panic goes on in the leader.
	errPanicked = errors.New("another write of the same transaction panicked")
)

// attempt runs one job so that what it wrote can be taken back.
func (t *tx) attempt(ctx context.Context, j *job) error {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	before := t.pipeline.begin()
	err := j.fn(t)
	if err == nil {
		err = t.pipeline.end(ctx)
	}
	if err == nil || postgres.Retryable(err) {
		return err
	}
	if gone := j.ctx.Err(); gone != nil {
		err = fmt.Errorf("%w (%w)", gone, err) // its caller gave up, whatever the server calls that
	}
	if lost := t.pipeline.undo(ctx, before); lost != nil {
		return fmt.Errorf("%w (after %w)", lost, err)
	}
	return err
}
