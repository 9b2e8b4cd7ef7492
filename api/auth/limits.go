package auth

import (
	"crypto/sha256"
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
	all map[string]*rate.Limiter
}

func newBuckets(limit rate.Limit, burst int) *buckets {
	return &buckets{limit: limit, burst: burst, all: map[string]*rate.Limiter{}}
}

// take takes one from a bucket, if there is one.
func (b *buckets) take(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.all[name]
	if l == nil {
		if len(b.all) >= maxTracked {
			b.dropFull()
		}
		l = rate.NewLimiter(b.limit, b.burst)
		b.all[name] = l
	}
	return l.Allow()
}

// left tells whether a bucket holds anything, without taking it.
func (b *buckets) left(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.all[name]
	return l == nil || l.Tokens() >= 1
}

// dropFull makes room for many at once, since it looks at all: it forgets buckets that are full again, which a new one would
// equal, and when that is not enough, any.
func (b *buckets) dropFull() {
	for name, l := range b.all {
		if l.Tokens() >= float64(b.burst) {
			delete(b.all, name)
		}
	}
	for name := range b.all {
		if len(b.all) <= maxTracked*3/4 {
			return
		}
		delete(b.all, name)
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

// knownFor is how long a token that was valid is remembered to have been.
const knownFor = 10 * time.Minute

// recent remembers, by hash, which tokens were valid lately. It vouches for nothing: every request is looked up.
type recent struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]time.Time
}

func newRecent() *recent { return &recent{all: map[[sha256.Size]byte]time.Time{}} }

func (k *recent) add(token string) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) >= maxTracked {
		for hash, at := range k.all {
			if now.Sub(at) > knownFor {
				delete(k.all, hash)
			}
		}
		for hash := range k.all {
			if len(k.all) <= maxTracked*3/4 {
				break
			}
			delete(k.all, hash)
		}
	}
	k.all[sha256.Sum256([]byte(token))] = now
}

func (k *recent) has(token string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.all[sha256.Sum256([]byte(token))]
	return ok && time.Since(at) <= knownFor
}

func (k *recent) forget(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, sha256.Sum256([]byte(token)))
}
