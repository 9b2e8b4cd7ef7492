package memory

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// foldOverlap is the share of their terms that two results have in common when they say the same in other words.
// remember merges such texts within one space and kind; across them both stay, and a reader needs one.
const foldOverlap = 0.8

// said is what results say, in the order of their ranks, so that one which only repeats another is found.
type said []saying

// saying is what one result says.
type saying struct {
	memory *Memory // nil where the text cannot be read: then nobody knows what it says
	*hashedText
}

// hashedText is the terms of a text and its normal form, as hashes: what is kept of a text holds none of it.
type hashedText struct {
	normal uint64
	terms  []uint64 // sorted
}

// sayings keeps the words of the memories that were shown last. Splitting a text into terms costs more than all the rest of a recall in
// the program, and what is shown once is mostly shown again. It is safe for concurrent use.
type sayings struct {
	mu   sync.Mutex
	kept map[sayingKey]*hashedText
}

// sayingKey is a revision of a memory, whose text never changes.
type sayingKey struct {
	memory   uuid.UUID
	revision int
}

const (
	// keptSayings bounds what is kept to some four megabytes.
	keptSayings = 8192
	// longestSaying is how many terms are kept of a text; longer ones are split each time.
	longestSaying = 256
)

// of reads a result.
func (s *sayings) of(m *Memory) saying {
	if isUnreadable(m.Flags) {
		return saying{}
	}
	key := sayingKey{m.ID, m.Revision}
	s.mu.Lock()
	w := s.kept[key]
	s.mu.Unlock()
	if w == nil {
		w = hashed(m.Content)
		s.keep(key, w)
	}
	return saying{m, w}
}

// read splits the texts that are not kept in the background, on all processors, for of to find them. The texts must not change until
// wait has returned.
func (s *sayings) read(all []Record) (wait func()) {
	var unread []*Memory
	s.mu.Lock()
	for i := range all {
		if m := &all[i].Memory; s.kept[sayingKey{m.ID, m.Revision}] == nil {
			unread = append(unread, m)
		}
	}
	s.mu.Unlock()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(unread)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(unread); i = int(next.Add(1)) - 1 {
				s.of(unread[i])
			}
		})
	}
	return workers.Wait
}

func (s *sayings) keep(key sayingKey, w *hashedText) {
	if key.memory == uuid.Nil || len(w.terms) > longestSaying {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= keptSayings {
		s.kept = map[sayingKey]*hashedText{}
	}
	s.kept[key] = w
}

// saidSeed makes the hashes of one process meaningless in another.
var saidSeed = maphash.MakeSeed()

func hashed(content string) *hashedText {
	ix := IndexOf(&Memory{Content: content})
	w := &hashedText{normal: maphash.String(saidSeed, ix.Normal), terms: make([]uint64, len(ix.Terms))}
	for i, t := range ix.Terms {
		w.terms[i] = maphash.String(saidSeed, t)
	}
	slices.Sort(w.terms)
	return w
}

// twin finds the better result that another one only repeats: the same facts in the same or nearly the same words. -1 when it says
// something of its own.
func (all said) twin(of saying) int {
	if of.memory == nil {
		return -1
	}
	return slices.IndexFunc(all, func(better saying) bool {
		if better.memory == nil || better.normal != of.normal && !better.nearly(of.hashedText) {
			return false
		}
		same, _ := sameFacts(better.memory, of.memory)
		return same
	})
}

// nearly tells whether two texts have foldOverlap of their terms in common, as the Jaccard index counts it.
func (w *hashedText) nearly(other *hashedText) bool {
	few, many := min(len(w.terms), len(other.terms)), max(len(w.terms), len(other.terms))
	if many == 0 || float64(few)/float64(many) < foldOverlap { // the most it can be, when the one is all in the other
		return false
	}
	common, i, j := 0, 0, 0
	for i < len(w.terms) && j < len(other.terms) {
		switch a, b := w.terms[i], other.terms[j]; {
		case a == b:
			common, i, j = common+1, i+1, j+1
		case a < b:
			i++
		default:
			j++
		}
	}
	return float64(common)/float64(few+many-common) >= foldOverlap
}
