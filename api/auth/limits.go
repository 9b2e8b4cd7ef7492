package auth

import (
	"context"
	"crypto/sha256"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxTracked bounds how many tokens and addresses are told apart. Beyond it the ones that waited longest are forgotten: a
// flood of addresses costs memory of a known size.
const maxTracked = 10_000

// buckets are token buckets by name.
type buckets struct {
	limit rate.Limit
	burst int

	mu  sync.Mutex
	all map[string]*bucket
}

// bucket is one of them.
type bucket struct {
	*rate.Limiter
	reserved int           // may be taken by what is under way
	ended    chan struct{} // closed when one of those has ended; nil when nobody waits for it
}

func newBuckets(limit rate.Limit, burst int) *buckets {
	return &buckets{limit: limit, burst: burst, all: map[string]*bucket{}}
}

// get gives a bucket; the lock is held.
func (b *buckets) get(name string) *bucket {
	found := b.all[name]
	if found == nil {
		if len(b.all) >= maxTracked {
			b.dropFull()
		}
		found = &bucket{Limiter: rate.NewLimiter(b.limit, b.burst)}
		b.all[name] = found
	}
	return found
}

// take takes one from a bucket, if there is one.
func (b *buckets) take(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(name).Allow()
}

// reserve sets one of a bucket aside until end says whether it was used. What others have set aside is waited for, since
// most of it comes back; left is false when the bucket is empty. The error is that of the context.
func (b *buckets) reserve(ctx context.Context, name string) (end func(used bool), left bool, err error) {
	for {
		b.mu.Lock()
		found := b.get(name)
		switch tokens := found.Tokens(); {
		case tokens < 1:
			b.mu.Unlock()
			return nil, false, nil
		case tokens >= float64(found.reserved+1):
			found.reserved++
			b.mu.Unlock()
			return func(used bool) { b.end(found, used) }, true, nil
		}
		if found.ended == nil {
			found.ended = make(chan struct{})
		}
		ended := found.ended
		b.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

func (b *buckets) end(found *bucket, used bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found.reserved--
	if used {
		found.Allow()
	}
	if found.ended != nil {
		close(found.ended)
		found.ended = nil
	}
}

// dropFull makes room for many at once, since it looks at all: it forgets buckets that are full again, which a new one would
// equal, and when that is not enough, any that nothing is set aside of.
func (b *buckets) dropFull() {
	for name, l := range b.all {
		if l.reserved == 0 && l.Tokens() >= float64(b.burst) {
			delete(b.all, name)
		}
	}
	for name, l := range b.all {
		if len(b.all) <= maxTracked*3/4 {
			return
		}
		if l.reserved == 0 {
			delete(b.all, name)
		}
	}
}

// counters bound how many of something each name holds.
type counters struct {
	limit int

	mu  sync.Mutex
	all map[string]int
}

func newCounters(limit int) *counters { return &counters{limit: limit, all: map[string]int{}} }

func (c *counters) take(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[name] >= c.limit {
		return false
	}
	c.all[name]++
	return true
}

func (c *counters) give(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[name]--; c.all[name] == 0 {
		delete(c.all, name)
	}
}

// How long it is remembered that a token was valid, and that one was refused. A token that was refused does not become
// valid, but a database that is restored may know it again.
const (
	knownFor   = 10 * time.Minute
	refusedFor = 30 * time.Second
)

// recent remembers something of tokens, by their hashes, for a while. It vouches for nobody: who is let in is looked up.
type recent[V any] struct {
	keep time.Duration

	mu  sync.Mutex
	all map[[sha256.Size]byte]remembered[V]
}

type remembered[V any] struct {
	value V
	at    time.Time
}

func newRecent[V any](keep time.Duration) *recent[V] {
	return &recent[V]{keep: keep, all: map[[sha256.Size]byte]remembered[V]{}}
}

func (k *recent[V]) add(hash [sha256.Size]byte, v V) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) >= maxTracked {
		maps.DeleteFunc(k.all, func(_ [sha256.Size]byte, r remembered[V]) bool { return now.Sub(r.at) > k.keep })
		for hash := range k.all {
			if len(k.all) <= maxTracked*3/4 {
				break
			}
			delete(k.all, hash)
		}
	}
	k.all[hash] = remembered[V]{v, now}
}

func (k *recent[V]) get(hash [sha256.Size]byte) (V, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.all[hash]
	if !ok || time.Since(r.at) > k.keep {
		var none V
		return none, false
	}
	return r.value, true
}

func (k *recent[V]) forget(hash [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, hash)
}
