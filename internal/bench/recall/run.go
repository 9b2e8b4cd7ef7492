// Package recall measures recall, and what goes on beside it, among many memories: it loads invented ones into a database of its own,
// puts a mixed load on the domain as agents do, and says how long each kind of call took and where the time went.
package recall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/session"
)

// Options of a run.
type Options struct {
	DB       *postgres.DB
	OwnerURL string // of DB, to tidy it after loading
	Store    *store.Store
	Embedder embedding.Provider
	Tracer   *Tracer // that DB was opened with

	Memories    int // of all projects together
	Projects    int
	Concurrency int // callers at a time
	Mix         Mix
	Seed        uint64
	// Progress is told how many memories are loaded; may be nil.
	Progress func(done, total int)
}

// Bench is memories that are loaded, ready for rounds of load. It is used by one goroutine at a time.
type Bench struct {
	Options
	memory   *memory.Service
	sessions *session.Service
	hooks    *hook.Service

	org      uuid.UUID
	projects []*project
	weights  []int // memories of each project
	sampled  int   // vectors that the encoder made
	loaded   time.Duration
	rounds   int
}

// New loads the memories.
func New(ctx context.Context, o Options) (*Bench, error) {
	m := memory.New(o.Store, memory.Options{Embedder: timed{o.Embedder}})
	sessions := session.New(m, o.Store)
	m = m.WithWorkers(sessions)
	b := &Bench{Options: o, memory: m, sessions: sessions, hooks: hook.New(m, sessions, o.Store)}
	began := time.Now()
	if err := b.fill(ctx); err != nil {
		return nil, err
	}
	b.loaded = time.Since(began)
	return b, nil
}

const (
	// warmUp is the share of a round that goes before it: plans are made, pages read, connections opened.
	warmUp = 5
	// maxWarmUps is how often that is repeated while spaces are still being read into memory.
	maxWarmUps = 20
	// coldShare is the most of the searches that go by the database in a warm-up that is enough.
	coldShare = 0.01
)

// warm puts load on that is not counted, until spaces are in memory as far as they get there.
func (b *Bench) warm(ctx context.Context, d time.Duration) error {
	for range maxWarmUps {
		before := b.Store.IndexStats()
		if _, err := b.load(ctx, d); err != nil {
			return err
		}
		now := b.Store.IndexStats()
		hits, misses := now.Hits-before.Hits, now.Misses-before.Misses
		if now.Bound == 0 || float64(misses) <= coldShare*float64(hits+misses) {
			break
		}
	}
	return nil
}

// Round puts load on for a time and says what came of it. The first is preceded by some that are not counted.
func (b *Bench) Round(ctx context.Context, d time.Duration) (*Result, error) {
	if b.rounds == 0 {
		if err := b.warm(ctx, d/warmUp); err != nil {
			return nil, err
		}
	}
	b.Tracer.reset()
	before, err := look(ctx, b.DB)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	samples, err := b.load(ctx, d)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := look(ctx, b.DB)
	if err != nil {
		return nil, err
	}
	r := b.result(samples, took)
	r.RSSBytes = resident()
	process, backends, active := after.since(before)
	n := float64(max(r.All.Count, 1))
	r.CPU = CPU{Process: ms(process) / n, Database: ms(backends) / n, Active: ms(active) / n}
	r.Statements = b.Tracer.top(statements)
	if r.IndexBytes, err = b.DB.IndexBytes(ctx); err != nil {
		return nil, err
	}
	r.Tables, err = tables(ctx, b.DB)
	return r, err
}

// load has callers work side by side until the time is over. What fails is counted; a round in which a kind of call only failed is
// no measure, and its error is given.
func (b *Bench) load(ctx context.Context, d time.Duration) (map[string][]sample, error) {
	until := time.Now().Add(d)
	workers := make([]*worker, b.Concurrency)
	var wg sync.WaitGroup
	for i := range workers {
		b.rounds++
		workers[i] = newWorker(b, i, uint64(b.rounds)) //nolint:gosec // a count
		wg.Go(func() { workers[i].run(ctx, until) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := map[string][]sample{}
	failed := map[string]error{}
	for _, w := range workers {
		for name, of := range w.samples {
			all[name] = append(all[name], of...)
		}
		maps.Copy(failed, w.failed)
	}
	var errs []error
	for name, err := range failed {
		if good(all[name]) == 0 {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return all, errors.Join(errs...)
}

// good counts the calls that did not fail.
func good(all []sample) (n int) {
	for _, s := range all {
		if !s.failed {
			n++
		}
	}
	return n
}
