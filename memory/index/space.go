// Package index is the in-process index of recall: for the live memories of one space their words, tags and standing, and
// their vectors as whole numbers of eight bits. It holds no text, only the keyed hashes the database has too.
//
// A Search gives what the search of a Store gives, in one pass over arrays. Vectors are compared by their rounded form with
// a bound on what rounding can have changed; what the bound leaves open is compared once more, exactly, by whom the
// caller says. So the answer is that of a full scan.
//
// Memories are kept by slots, in the order in which they came. A memory whose words change gets a new slot and its old one
// is dead: posting lists only grow, and are whole again when the space is read anew (Stale).
package index

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// Memory is a live memory as a search needs it.
type Memory struct {
	Seq    int32 // its number in the space
	ID     uuid.UUID
	Handle string
	memory.Standing
	Expires *time.Time
	Refused bool      // the model of the vectors cannot embed it
	Terms   []int64   // keyed hashes of its words
	Tags    []int64   // keyed hashes of its tags
	Vector  []float32 // nil while it has none
}

// Space holds the memories of one space. It is safe for concurrent use.
type Space struct {
	made      uint64 // counts spaces
	mu        sync.RWMutex
	slotOf    map[int32]int32 // by number
	byID      map[uuid.UUID]int32
	rows      []row
	standings []standing
	postings  map[int64][]int32 // slots in ascending order, dead ones among them
	dead      bitset
	buried    int // slots in dead
	posted    int // entries of postings
	mortal    []mortal
	vectors   vectors
	pending   int // live memories that are to have a vector and have none
}

// row is what a slot holds, beside its standing and its vector.
type row struct {
	id      uuid.UUID
	handle  string
	expires int64 // microseconds since 1970; never when it does not
	words   uint64
	seq     int32
	refused bool
}

// standing is a slot's memory.Standing. Those of all slots are looked at one after the other: they lie together.
type standing struct {
	confirmed int64 // microseconds since 1970
	citations int32
	ignored   int32
	kind      uint8 // place in memory.Kinds
	doubted   bool
	doubtful  bool // unreviewed
}

// mortal is an expiry that a slot has, or had.
type mortal struct {
	slot    int32
	expires int64
}

// never is the expiry of what does not expire.
const never = 1<<63 - 1

// NewSpace makes an empty one.
func NewSpace() *Space {
	return &Space{made: made.Add(1), slotOf: map[int32]int32{}, byID: map[uuid.UUID]int32{}, postings: map[int64][]int32{}}
}

var made atomic.Uint64

// Put adds a memory, or replaces what the space has by its number.
func (s *Space) Put(m Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := row{id: m.ID, handle: m.Handle, expires: never, words: fingerprint(m.Terms, m.Tags), seq: m.Seq, refused: m.Refused}
	st := standing{confirmed: m.ConfirmedAt.UnixMicro(), citations: int32(m.Citations), ignored: int32(m.IgnoredBy), //nolint:gosec // int4 in the database
		kind: uint8(max(0, slices.Index(memory.Kinds, m.Kind))), doubted: m.Doubted, doubtful: m.Unreviewed} //nolint:gosec // four kinds
	if m.Expires != nil {
		r.expires = m.Expires.UnixMicro()
	}
	slot, there := s.slotOf[m.Seq]
	if there && s.rows[slot].words != r.words {
		s.bury(slot)
		there = false
	}
	had := int64(never)
	if there {
		had = s.rows[slot].expires
	}
	if there {
		s.count(slot, -1)
		delete(s.byID, s.rows[slot].id)
		s.rows[slot], s.standings[slot] = r, st
	} else {
		slot = int32(len(s.rows)) //nolint:gosec // bounded by memory
		s.rows, s.standings = append(s.rows, r), append(s.standings, st)
		s.vectors.grow(len(s.rows))
		s.slotOf[m.Seq] = slot
		s.post(slot, m.Terms)
		s.post(slot, m.Tags)
	}
	if r.expires != never && r.expires != had {
		s.mortal = append(s.mortal, mortal{slot, r.expires})
	}
	s.byID[m.ID] = slot
	s.vectors.set(int(slot), m.Vector)
	s.count(slot, 1)
}

// Remove takes a memory out, if the space has it.
func (s *Space) Remove(seq int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot, there := s.slotOf[seq]; there {
		s.bury(slot)
	}
}

func (s *Space) post(slot int32, terms []int64) {
	for _, t := range terms {
		s.postings[t] = append(s.postings[t], slot)
	}
	s.posted += len(terms)
}

// bury makes a slot dead.
func (s *Space) bury(slot int32) {
	s.count(slot, -1)
	r := &s.rows[slot]
	delete(s.slotOf, r.seq)
	delete(s.byID, r.id)
	s.dead = s.dead.upTo(len(s.rows))
	s.dead.set(int(slot))
	s.buried++
	s.vectors.set(int(slot), nil)
}

// count adds a slot to the number of what waits for a vector, or takes it off.
func (s *Space) count(slot int32, by int) {
	if !s.rows[slot].refused && !s.vectors.has(int(slot)) {
		s.pending += by
	}
}

// fingerprint stands for the words of a memory; it is of no meaning in another process.
func fingerprint(terms, tags []int64) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var b [8]byte
	for _, list := range [][]int64{terms, tags} {
		for _, t := range list {
			binary.LittleEndian.PutUint64(b[:], uint64(t)) //nolint:gosec // bits
			_, _ = h.Write(b[:])
		}
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

var seed = maphash.MakeSeed()

// Live is how many memories the space has, expired ones among them.
func (s *Space) Live() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.rows) - s.buried
}

// Unindexed counts the memories that have not expired at a moment and wait for a vector.
func (s *Space) Unindexed(at time.Time) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.pending == 0 {
		return 0
	}
	n := 0
	for slot := range s.rows {
		if r := &s.rows[slot]; !s.dead.has(slot) && !r.refused && !s.vectors.has(slot) && r.expires > at.UnixMicro() {
			n++
		}
	}
	return n
}

// Stale tells whether so many slots are dead that the space had better be read anew.
func (s *Space) Stale() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.buried > 1000+len(s.rows)/4
}

// Stats tells about the spaces that a process holds.
type Stats struct {
	Spaces, Memories int
	Bytes, Bound     int   // what they take, and may take; 0: none is held
	Hits, Misses     int64 // searches that were answered by them, and by the database alone
}

// Sizes in bytes of what a memory takes, measured as the growth of the heap by 100,000 (TestBytes).
const (
	rowBytes     = 220 // row, handle, the maps by number and id
	postingBytes = 6   // with the room that a growing list has to spare
	termBytes    = 80  // a list and its place in the map
)

// Bytes is about what the space takes of this process's memory.
func (s *Space) Bytes() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.rows)*rowBytes + s.posted*postingBytes + len(s.postings)*termBytes + s.vectors.bytes()
}

// Estimate is about what a space of so many memories takes, with vectors of so many numbers.
func Estimate(memories, dimensions int) int {
	const words = 35 // of a memory, in the median
	return memories * (rowBytes + words*postingBytes + termBytes/4 + dimensions + vectorOverhead)
}

// ranked gives it as ranking wants it.
func (st *standing) ranked() memory.Standing {
	return memory.Standing{Kind: memory.Kinds[st.kind], ConfirmedAt: time.UnixMicro(st.confirmed).UTC(), Citations: int(st.citations), IgnoredBy: int(st.ignored),
		Doubted: st.doubted, Unreviewed: st.doubtful}
}
