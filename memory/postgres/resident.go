package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/index"
)

// residents are the spaces that this process holds in its own memory (package index), so that a recall of what is asked often
// needs the database only to learn what has changed, and for what it shows. A space is resident once KeepIndexes has read
// it; which are is decided by how often they are asked for and what they take. Everything a resident space says was read under the
// row-level security of its organization, and is asked for within a transaction that sees the space.
type residents struct {
	bound int // bytes that the spaces may take; 0: none is held

	mu      sync.Mutex
	spaces  map[spaceOfOrg]*resident
	asked   map[spaceOfOrg]int  // how often those that are not held were, halved every minute
	refused map[spaceOfOrg]bool // there was no room for them this minute
	names   map[nameOfOrg]int32 // spaces by their keys, as they were seen last; 0 for those that did not exist
	model   string              // of the vectors last asked with, and of all that are held
	wake    chan struct{}       // something is wanted; nil until somebody keeps indexes

	hits, misses atomic.Int64 // searches that were answered here, and that were not
}

// resident is one space as it was in a snapshot.
type resident struct {
	*index.Space
	model string // of its vectors; "" without
	keys  string // index key of its hashes
	asked int    // halved every minute; guarded by residents.mu

	apply sync.Mutex // held while it moves on to a newer snapshot
	at    atomic.Pointer[moment]
}

const (
	// wantedFrom is how often a space is asked for before it is read: a process that answers one question reads none.
	wantedFrom = 2
	// maxAsked bounds the spaces that are counted while they are not held.
	maxAsked = 10_000
)

// IndexMemory lets a Store hold the spaces that are asked most in the memory of this process, up to so many bytes. It takes effect
// while KeepIndexes runs.
func IndexMemory(bytes int) Option {
	return func(s *Store) { s.residents.bound = bytes }
}

// IndexStats tells about the spaces that this process holds in memory.
func (s *Store) IndexStats() index.Stats {
	r := &s.residents
	st := index.Stats{Bound: r.bound, Hits: r.hits.Load(), Misses: r.misses.Load()}
	for _, held := range r.all() {
		st.Spaces++
		st.Memories += held.Live()
		st.Bytes += held.Bytes()
	}
	return st
}

func (r *residents) all() map[spaceOfOrg]*resident {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.spaces)
}

// find gives the residents of a search in the order of its spaces; false when one is missing, which is noted.
func (r *residents) find(org uuid.UUID, keys string, s memory.Search) ([]*resident, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wake == nil {
		return nil, false
	}
	if s.ByVector() {
		r.model = s.Model
	}
	out := make([]*resident, 0, len(s.Spaces))
	for _, space := range s.Spaces {
		at := spaceOfOrg{org, space}
		held := r.spaces[at]
		if held != nil && (held.keys != keys || held.model != r.model) {
			delete(r.spaces, at)
			held = nil
		}
		if held == nil {
			r.want(at)
			continue
		}
		held.asked++
		out = append(out, held)
	}
	return out, len(out) == len(s.Spaces)
}

// want counts a space that is not held.
func (r *residents) want(at spaceOfOrg) {
	if r.refused[at] {
		return
	}
	if len(r.asked) >= maxAsked {
		clear(r.asked)
	}
	r.asked[at]++
	if r.asked[at] >= wantedFrom {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// drop forgets a resident, unless another one has its place.
func (r *residents) drop(at spaceOfOrg, held *resident) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spaces[at] == held {
		delete(r.spaces, at)
	}
}

// next gives the space that is wanted most.
func (r *residents) next() (at spaceOfOrg, model string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := wantedFrom - 1
	for k, n := range r.asked {
		if n > most {
			at, most, ok = k, n, true
		}
	}
	return at, r.model, ok
}

// room tells whether a space may take so many bytes, and makes room for it by letting go of what is asked half as much for what it
// takes: two that are wanted alike do not drive each other out. What does not fit is left alone for a while.
func (r *residents) room(at spaceOfOrg, bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release(bytes, float64(r.asked[at])/float64(bytes+1)/2) {
		return true
	}
	delete(r.asked, at)
	r.refused[at] = true
	return false
}

// release lets go of what is worth less than something, the least worth first, until so many bytes are free; nothing goes when that is
// not enough.
func (r *residents) release(bytes int, below float64) bool {
	type candidate struct {
		spaceOfOrg
		bytes int
		worth float64 // how often it is asked for each byte
	}
	free := r.bound - bytes
	var all []candidate
	for k, held := range r.spaces {
		n := held.Bytes()
		free -= n
		all = append(all, candidate{k, n, float64(held.asked) / float64(n+1)})
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.worth, b.worth) })
	var leave []candidate
	for _, c := range all {
		if free >= 0 || c.worth >= below {
			break
		}
		free += c.bytes
		leave = append(leave, c)
	}
	if free < 0 {
		return false
	}
	for _, c := range leave {
		delete(r.spaces, c.spaceOfOrg)
	}
	return true
}

// hold makes a space resident, unless the model of the vectors has changed meanwhile.
func (r *residents) hold(at spaceOfOrg, held *resident) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if held.model != r.model {
		return
	}
	held.asked = r.asked[at]
	delete(r.asked, at)
	r.spaces[at] = held
}

// forget stops counting a space that could not be read.
func (r *residents) forget(at spaceOfOrg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.asked, at)
}

// fade halves what was asked, drops what is stale, and what has outgrown the bound: the least wanted first.
func (r *residents) fade() {
	for at, held := range r.all() {
		if held.Stale() {
			r.drop(at, held)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, n := range r.asked {
		if r.asked[k] = n / 2; n < 2 {
			delete(r.asked, k)
		}
	}
	for _, held := range r.spaces {
		held.asked /= 2
	}
	clear(r.refused)
	r.release(0, math.Inf(1))
}

// fadeEvery is how often what was asked is halved.
const fadeEvery = time.Minute

// KeepIndexes reads the spaces that are asked most into memory until ctx is done, and then lets go of all. failed is told what could
// not be read; such a space is answered by the database. Without IndexMemory it returns at once.
func (s *Store) KeepIndexes(ctx context.Context, failed func(error)) {
	r := &s.residents
	if r.bound <= 0 {
		return
	}
	wake := make(chan struct{}, 1)
	r.mu.Lock()
	r.spaces, r.asked, r.refused, r.wake = map[spaceOfOrg]*resident{}, map[spaceOfOrg]int{}, map[spaceOfOrg]bool{}, wake
	r.names = map[nameOfOrg]int32{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.spaces, r.asked, r.refused, r.names, r.wake = nil, nil, nil, nil, nil
	}()
	fade := time.NewTicker(fadeEvery)
	defer fade.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-fade.C:
			r.fade()
		case <-wake:
			for at, model, ok := r.next(); ok && ctx.Err() == nil; at, model, ok = r.next() {
				if err := s.reside(ctx, at, model); err != nil {
					r.forget(at)
					if ctx.Err() == nil {
						failed(fmt.Errorf("read space %d into memory: %w", at.space, err))
					}
				}
			}
		}
	}
}
