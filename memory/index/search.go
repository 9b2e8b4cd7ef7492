package index

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// Query is a search over some spaces.
type Query struct {
	memory.Search
	// In are the spaces of Search.Spaces, in that order.
	In []*Space
	// Hashes are the keyed hashes of Search.Terms, in their order, and Tags those of Search.Narrow.Tags.
	Hashes, Tags []int64
	// ByElement are the memories that Narrow.Elements admits, with the distance of each; of others than those of the spaces
	// nothing comes. It counts when Narrow.ByElement is set.
	ByElement map[uuid.UUID]int
	// ByPath are the memories that Narrow.PathMemories and PathElements admit, likewise.
	ByPath map[uuid.UUID]int
	// Cosines compares the query with the vectors of some memories exactly. What has no vector is left out. It is called when
	// meaning takes part, at most once, with no lock held.
	Cosines func(ctx context.Context, of []Open) (map[Place]float64, error)
}

// Place is a memory by its space and number.
type Place struct{ Space, Seq int32 }

// Open is a memory whose relevance is known but for the rounding of its vector.
type Open struct {
	Place
	ID uuid.UUID
}

// slack keeps rounding from ever excluding a result.
const slack = 1 - 1e-9

// Search gives what memory.Search says may come back, as a scan over all memories would.
func Search(ctx context.Context, q Query) (memory.Found, error) {
	r := rooms.Get().(*room) //nolint:forcetypeassert // of one kind
	defer r.leave()
	s := &search{Query: q, room: r}
	s.look()
	if s.ByVector() && len(s.open) > 0 {
		if err := s.settle(ctx); err != nil {
			return memory.Found{}, err
		}
	}
	return memory.Found{Words: s.Words, Best: s.Best, Candidates: s.candidates()}, nil
}

// search is one under way.
type search struct {
	Query
	*room
	open []entry // what may be a result that is wanted, or decide which are
}

// room is what searches use one after the other.
type room struct {
	parts   []part
	entries []entry
	scores  []float64
}

// leave gives the room back, without the spaces, which may be let go of meanwhile.
func (r *room) leave() {
	for i := range r.parts {
		r.parts[i].Space, r.parts[i].question = nil, question{}
	}
	rooms.Put(r)
}

var rooms = sync.Pool{New: func() any { return &room{} }}

// part is a space during a search.
type part struct {
	*Space
	id       int32
	skip     bitset // dead, expired, or not admitted
	sums     []int64
	cosines  []float32 // about; of slots that are not skipped and have a vector
	highs    []float32 // no relevance is higher; 0 of what is not wanted
	tops     []float32 // by word of a bitset: no high of it is higher
	chosen   bitset
	question question
	byVector bool
}

// entry is a memory that may be a result, with what is known of its relevance: low and high are equal when it is known
// exactly.
type entry struct {
	part      int
	slot      int
	place     Place
	row       row
	standing  standing
	distance  int
	matched   int64
	cosine    float64
	off       float64 // by how much cosine may be wrong; exact when 0
	byVector  bool    // has a vector
	low, high float64 // relevance; low is 0 while it is not sure to be near
}

// look weighs the words and goes through all memories once.
func (s *search) look() {
	defer lock(s.In)()
	s.begin()
	s.weigh()
	s.narrow()
	if s.Browse {
		s.browse()
		return
	}
	s.match()
	s.compare()
	s.choose()
}

// lock holds spaces for reading until unlock is called. Everybody takes them in one order: with a writer waiting at each of two,
// readers that took them in different ones would wait for each other.
func lock(spaces []*Space) (unlock func()) {
	in := slices.SortedFunc(slices.Values(spaces), func(a, b *Space) int { return cmp.Compare(a.made, b.made) })
	for _, sp := range in {
		sp.mu.RLock()
	}
	return func() {
		for _, sp := range in {
			sp.mu.RUnlock()
		}
	}
}

// begin lays out the parts.
func (s *search) begin() {
	s.parts = slices.Grow(s.parts[:0], len(s.In))[:len(s.In)]
	at := s.At.UnixMicro()
	for i, sp := range s.In {
		p := &s.parts[i]
		p.Space, p.id = sp, s.Spaces[i]
		p.skip = append(p.skip[:0], sp.dead...).upTo(len(sp.rows))
		p.sums = p.sums[:0] // made when words take part
		p.byVector = false
		if !s.Expired {
			for _, m := range sp.mortal {
				if m.expires <= at && sp.rows[m.slot].expires <= at {
					p.skip.set(int(m.slot))
				}
			}
		}
		if s.ByVector() {
			p.question, p.byVector = sp.vectors.ask(s.Vector)
		}
	}
	s.entries = s.entries[:0]
}

// weigh gives the words their weights over everything the recall may see.
func (s *search) weigh() {
	if s.Browse {
		return
	}
	n := 0
	df := make([]int, len(s.Hashes))
	for i := range s.parts {
		p := &s.parts[i]
		n += p.left()
		for t, h := range s.Hashes {
			for _, slot := range p.postings[h] {
				if !p.skip.has(int(slot)) {
					df[t]++
				}
			}
		}
	}
	s.Words = s.Ranking.Weigh(s.Terms, n, df)
}

// left counts the slots that are not skipped.
func (p *part) left() int {
	n := len(p.rows)
	for _, w := range p.skip {
		n -= bits.OnesCount64(w)
	}
	return n
}

// narrow skips what is not admitted. Kinds count later, since the best relevance is of those wanted only.
func (s *search) narrow() {
	for i := range s.parts {
		p := &s.parts[i]
		if s.Narrow.ByElement {
			p.keep(p.slotsOf(s.ByElement))
		}
		if s.Narrow.ByPath {
			p.keep(p.slotsOf(s.ByPath))
		}
		for _, t := range s.Tags {
			set := make(bitset, len(p.skip))
			for _, slot := range p.postings[t] {
				set.set(int(slot))
			}
			p.keep(set)
		}
	}
}

func (p *part) slotsOf(memories map[uuid.UUID]int) bitset {
	set := make(bitset, len(p.skip))
	for id := range memories {
		if slot, ok := p.byID[id]; ok {
			set.set(int(slot))
		}
	}
	return set
}

// keep skips all but a set of slots.
func (p *part) keep(set bitset) {
	for i := range p.skip {
		p.skip[i] |= ^set[i]
	}
}

// wanted tells whether the kind of a row is asked for.
func (s *search) wanted() []bool {
	of := make([]bool, 256)
	for i, k := range memory.Kinds {
		of[i] = len(s.Narrow.Kinds) == 0 || slices.Contains(s.Narrow.Kinds, k)
	}
	return of
}

// distance is that of the nearest element and, when paths narrow too, theirs.
func (s *search) distanceOf(id uuid.UUID) int { return s.ByElement[id] + s.ByPath[id] }

// browse takes the best of all that are admitted: without a query everything is relevant. The most that a score may be costs
// little, and the newest come first: what follows is mostly known not to be among the best by that alone.
func (s *search) browse() {
	type browsed struct {
		part, slot int
		score      float64
	}
	var found []browsed
	wanted, w := s.wanted(), s.weights()
	newest := max(1, w.FreshnessRest)
	best := s.scores[:0] // the scores of the best so far
	for i := range s.parts {
		p := &s.parts[i]
		for slot := len(p.rows) - 1; slot >= 0; slot-- {
			st := &p.standings[slot]
			if !wanted[st.kind] || p.skip.has(slot) {
				continue
			}
			score := w.kinds[st.kind] * w.debit(st) * w.cited(st)
			if score*newest < last(best, s.Limit)*slack {
				continue
			}
			score *= w.FreshnessFactor(s.At.Sub(time.UnixMicro(st.confirmed)))
			if score >= last(best, s.Limit)*slack {
				found = append(found, browsed{i, slot, score})
				best = among(best, s.Limit, score)
			}
		}
	}
	least := last(best, s.Limit) * slack
	for _, f := range found {
		if f.score >= least {
			e := entry{part: f.part, slot: f.slot, low: 1, high: 1}
			s.fill(&e)
			s.open = append(s.open, e)
		}
	}
	s.scores = best
}

// match adds up the weight of the words in each memory.
func (s *search) match() {
	for i := range s.parts {
		p := &s.parts[i]
		p.sums = slices.Grow(p.sums, len(p.rows))[:len(p.rows)]
		clear(p.sums)
		for _, w := range s.Words.Terms {
			for _, slot := range p.postings[s.hash(w.Term)] {
				p.sums[slot] += w.Weight
			}
		}
	}
}

// hash finds the hash of a word of the query.
func (s *search) hash(term string) int64 { return s.Hashes[slices.Index(s.Terms, term)] }

// promising is how many memories beside those that are wanted are looked at before the others: what these reach rules out nearly all.
const promising = 64

// compare bounds the relevance of each memory, and keeps those that may be near, within Share of the best, and among the results that are
// wanted or decide which these are.
func (s *search) compare() {
	most, n := s.scores[:0], s.Limit+promising // the highest bounds
	for i := range s.parts {
		p := &s.parts[i]
		p.compare(s)
		for word, top := range p.tops {
			if float64(top) <= last(most, n) {
				continue
			}
			for _, high := range p.word(word) {
				if high := float64(high); high > last(most, n) {
					most = among(most, n, high)
				}
			}
		}
	}
	s.scores = most
	first := last(most, n)
	s.take(first, math.Inf(1), func(float64, *standing) bool { return true })
	w := s.weights()
	b := s.reached(w, first)
	least := w.leastRelevance(b, s.Share()*b.sureTop)
	s.take(least, first, b.opener(w, least, first))
	share := s.Share() * slack
	s.entries = slices.DeleteFunc(s.entries, func(e entry) bool { return e.high < share*b.sureTop })
}

// take keeps what may be near, of the memories whose bound is at least one number and below another, and that are chosen by it.
func (s *search) take(least, below float64, chosen func(high float64, st *standing) bool) {
	for n := range s.parts {
		p := &s.parts[n]
		p.chosen = slices.Grow(p.chosen[:0], len(p.tops))[:len(p.tops)]
		p.inPieces(func(word int) {
			p.chosen[word] = 0
			if float64(p.tops[word]) < least {
				return
			}
			for i, high := range p.word(word) {
				if high := float64(high); high > 0 && high >= least && high < below && chosen(high, &p.standings[word*perWord+i]) {
					p.chosen[word] |= 1 << i
				}
			}
		})
		for word, left := range p.chosen {
			for ; left != 0; left &= left - 1 {
				slot := word*perWord + bits.TrailingZeros64(left)
				e := entry{part: n, slot: slot, matched: p.sums[slot], byVector: p.byVector && p.vectors.has(slot)}
				if e.byVector {
					e.cosine, e.off = float64(p.cosines[slot]), p.vectors.off(&p.question, slot)
				}
				if s.bound(&e) {
					s.fill(&e)
					s.entries = append(s.entries, e)
				}
			}
		}
	}
}

// fill copies what else is needed of a memory, so that no lock has to be held for it.
func (s *search) fill(e *entry) {
	p := &s.parts[e.part]
	e.row, e.standing = p.rows[e.slot], p.standings[e.slot]
	e.place, e.distance = Place{p.id, e.row.seq}, s.distanceOf(e.row.id)
}

// perPiece is how many slots one goroutine compares at a time: half a millisecond of what memory delivers.
const perPiece = 8192

// inPieces goes through all slots, a word of the bitsets at a time, on all processors where they are many.
func (p *part) inPieces(do func(word int)) {
	words := (len(p.rows) + perWord - 1) / perWord
	const piece = perPiece / perWord
	var next atomic.Int64
	work := func() {
		for from := int(next.Add(piece)) - piece; from < words; from = int(next.Add(piece)) - piece {
			for word := from; word < min(from+piece, words); word++ {
				do(word)
			}
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), words/piece) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// compare gives the cosines of all slots that are not skipped, and bounds their relevance. What is not wanted has no bound.
func (p *part) compare(s *search) {
	if p.byVector {
		p.cosines = slices.Grow(p.cosines[:0], len(p.rows))[:len(p.rows)]
	}
	p.highs = slices.Grow(p.highs[:0], len(p.rows))[:len(p.rows)]
	p.tops = slices.Grow(p.tops[:0], len(p.skip))[:len(p.skip)]
	wanted, anyKind := s.wanted(), len(s.Narrow.Kinds) == 0 // then standings need not be read
	meaning, words := s.Ranking.SemanticWeight, s.Ranking.LexicalWeight*s.Words.Lexical(1)
	const up = 1 + 1e-6 // a float32 keeps it a bound
	p.inPieces(func(word int) {
		from, highs, left := word*perWord, p.word(word), ^p.skip[word]
		if p.byVector {
			p.vectors.compare(&p.question, from, left, p.cosines[from:from+len(highs)])
		}
		for i := range highs {
			slot := from + i
			byVector, matched := p.byVector && p.vectors.has(slot), p.sums[slot]
			switch {
			case left>>i&1 == 0 || !byVector && matched == 0 || !anyKind && !wanted[p.standings[slot].kind]:
				highs[i] = 0
			case byVector:
				cosine := float64(p.cosines[slot]) + p.vectors.off(&p.question, slot)
				highs[i] = float32((meaning*max(0, cosine) + words*float64(matched)) * up)
			default:
				highs[i] = float32(s.Ranking.Relevance(nil, s.Words.Lexical(matched)) * up)
			}
		}
		p.tops[word] = slices.Max(highs)
	})
}

// word gives the bounds of a word's slots.
func (p *part) word(word int) []float32 {
	return p.highs[word*perWord : min((word+1)*perWord, len(p.highs))]
}

// bound fills in low and high; it is false when the memory is sure not to be near.
func (s *search) bound(e *entry) bool {
	if e.off == 0 {
		relevance, near := s.Near(e.evidence(0))
		e.low, e.high = relevance, relevance
		return near
	}
	high, near := s.Near(e.evidence(e.off))
	if !near {
		return false
	}
	e.high, e.low = high, 0
	if low, sure := s.Near(e.evidence(-e.off)); sure {
		e.low = low
	}
	return true
}

func (e *entry) evidence(off float64) memory.Evidence {
	out := memory.Evidence{Matched: e.matched}
	if e.byVector {
		cosine := e.cosine + off
		out.Cosine = &cosine
	}
	return out
}

// choose keeps what may be among the results that are wanted, or decide which these are: what may have the score of the last of
// them, be the most relevant, or be the most held. Bounds on the best follow from bounds on each.
func (s *search) choose() {
	w := s.weights()
	b := s.reached(w, 0)
	kept := s.entries[:0]
	for _, e := range s.entries {
		if b.open(w, &e.standing, e.high) {
			kept = append(kept, e)
		}
	}
	s.entries = kept
	// Age is taken into account now.
	share := s.Share()
	s.scores = s.scores[:0]
	for i := range s.entries {
		if e := &s.entries[i]; e.low >= share*b.top && e.low > 0 {
			s.scores = append(s.scores, s.score(e, e.low, b.best))
		}
	}
	b.least = max(b.least, largest(s.scores, s.Limit))
	for _, e := range s.entries {
		if s.score(&e, e.high, b.sureBest) >= b.least*slack || b.decides(w, &e.standing, e.high) {
			s.open = append(s.open, e)
		}
	}
	if !s.ByVector() { // all of it is exact
		s.open = slices.DeleteFunc(s.open, func(e entry) bool { return e.high < share*b.top })
		s.Best = b.sureBest
	}
}

// bar is what others must reach, as far as it is known.
type bar struct {
	top, sureTop   float64 // the most relevance is between these
	best, sureBest float64 // the most held is between these
	least          float64 // the score of the last result that is wanted is no lower
}

// reached gives the bar that the entries set, where all others that count have less relevance than rest. The score of each is bounded by
// what costs little.
func (s *search) reached(w *weights, rest float64) (b bar) {
	share := s.Share()
	b.top, b.best = rest, rest*w.maxDebit()
	for i := range s.entries {
		b.top, b.sureTop = max(b.top, s.entries[i].high), max(b.sureTop, s.entries[i].low)
	}
	for i := range s.entries {
		e := &s.entries[i]
		debit := w.debit(&e.standing)
		b.best = max(b.best, e.high*debit)
		if e.low >= share*b.top {
			b.sureBest = max(b.sureBest, e.low*debit)
		}
	}
	s.scores = s.scores[:0]
	for i := range s.entries {
		if e := &s.entries[i]; e.low >= share*b.top && e.low > 0 {
			s.scores = append(s.scores, w.least(&e.standing, e.low, b.best))
		}
	}
	b.least = largest(s.scores, s.Limit)
	return b
}

// open tells whether a memory may be among the results that are wanted, or decide which these are.
func (b *bar) open(w *weights, r *standing, high float64) bool {
	return w.most(r, high, b.sureBest) >= b.least*slack || b.decides(w, r, high)
}

// opener is open for relevances between two numbers, found out once for each usual standing. It may be used by several goroutines.
func (b *bar) opener(w *weights, low, high float64) func(high float64, st *standing) bool {
	var known [usualStandings]atomic.Uint64 // the bits of what is the least that is open; 0 while nobody asked
	return func(relevance float64, st *standing) bool {
		i, ok := st.usual(w.IgnoredFrom)
		if !ok {
			return b.open(w, st, relevance)
		}
		least := math.Float64frombits(known[i].Load())
		if least == 0 {
			from, to := low, high // it is between these, since more relevance never lowers a score
			for range 14 {
				if middle := (from + to) / 2; b.open(w, st, middle) {
					to = middle
				} else {
					from = middle
				}
			}
			least = from
			known[i].Store(math.Float64bits(least))
		}
		return relevance >= least
	}
}

// usualStandings are those that weigh differently, but for age, and have few citations.
const usualStandings = 4 * 2 * 2 * 2 * usualCitations

// usual numbers a standing among them.
func (st *standing) usual(ignoredFrom int) (i int, ok bool) {
	if st.kind > 3 || st.citations < 0 || st.citations >= usualCitations {
		return 0, false
	}
	i = int(st.citations)<<5 | int(st.kind)
	if st.doubted {
		i |= 1 << 2
	}
	if st.doubtful {
		i |= 1 << 3
	}
	if int(st.ignored) >= ignoredFrom {
		i |= 1 << 4
	}
	return i, true
}

// decides tells whether a memory may be the most relevant or the most held.
func (b *bar) decides(w *weights, r *standing, high float64) bool {
	return high >= b.sureTop || high*w.debit(r) >= b.sureBest
}

// leastRelevance is what a memory must have to be open by any standing, and to be within the share of the best.
func (w *weights) leastRelevance(b bar, share float64) float64 {
	kind := w.lowest
	for _, k := range w.kinds {
		kind = max(kind, k)
	}
	most := func(relevance float64) float64 {
		held := relevance * w.maxDebit()
		share := w.share(held, b.sureBest)
		return held * (w.lowest + share*(kind-w.lowest)) * max(w.FreshnessRest, w.FreshnessRest+share*(1-w.FreshnessRest)) * (1 + max(0, w.CitationGain))
	}
	low, high := 0.0, min(b.sureTop, b.sureBest/w.maxDebit()) // it is between these, since more relevance never lowers a score
	for range 30 {
		if middle := (low + high) / 2; most(middle) < b.least*slack {
			low = middle
		} else {
			high = middle
		}
	}
	return max(low, share) * slack
}

// score is that of a memory with some relevance, where best is the most held.
func (s *search) score(e *entry, relevance, best float64) float64 {
	f := s.Ranking.Factors(nil, relevance, e.standing.ranked(), s.At)
	return s.Ranking.Among(f, best).Score()
}

// settle compares what is open exactly.
func (s *search) settle(ctx context.Context) error {
	var of []Open
	for i := range s.open {
		if e := &s.open[i]; e.byVector {
			of = append(of, Open{e.place, e.row.id})
		}
	}
	exact := map[Place]float64{}
	if len(of) > 0 {
		var err error
		if exact, err = s.Cosines(ctx, of); err != nil {
			return err
		}
	}
	top := 0.0
	near := s.open[:0]
	for _, e := range s.open {
		e.off = 0
		e.cosine, e.byVector = exact[e.place], has(exact, e.place)
		if s.bound(&e) {
			top = max(top, e.high)
			near = append(near, e)
		}
	}
	w := s.weights()
	s.Best = 0
	s.open = slices.DeleteFunc(near, func(e entry) bool { return e.high < s.Share()*top })
	for i := range s.open {
		s.Best = max(s.Best, s.open[i].high*w.debit(&s.open[i].standing))
	}
	return nil
}

func has(m map[Place]float64, p Place) bool { _, ok := m[p]; return ok }

func (e *entry) candidate() memory.Candidate {
	return memory.Candidate{ID: e.row.id, Handle: e.row.handle, Distance: e.distance, Evidence: e.evidence(0), Standing: e.standing.ranked()}
}

func (s *search) candidates() []memory.Candidate {
	out := make([]memory.Candidate, len(s.open))
	for i := range s.open {
		out[i] = s.open[i].candidate()
	}
	return out
}

// largest gives the n-th largest of some numbers, 0 when there are fewer. It puts them in another order.
func largest(of []float64, n int) float64 {
	if len(of) < n || n < 1 {
		return 0
	}
	heap := of[:n]
	heapify(heap)
	for _, x := range of[n:] {
		heap = among(heap, n, x)
	}
	return last(heap, n)
}

// among adds a number to the n largest so far, in a heap as soon as there are n.
func among(best []float64, n int, x float64) []float64 {
	switch {
	case len(best) < n:
		if best = append(best, x); len(best) == n {
			heapify(best)
		}
	case n > 0 && x > best[0]:
		best[0] = x
		sift(best, 0)
	}
	return best
}

// last gives the least of the n largest so far, 0 while there are fewer.
func last(best []float64, n int) float64 {
	if len(best) < n || n < 1 {
		return 0
	}
	return best[0]
}

// heapify orders numbers so that the least comes first and each before the two at twice its place.
func heapify(heap []float64) {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sift(heap, i)
	}
}

// sift lets a number sink in a heap whose least is first.
func sift(heap []float64, i int) {
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(heap) && cmp.Less(heap[child], heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}

// weights are the factors of a ranking in tables, for bounds that are computed for every memory.
type weights struct {
	memory.Ranking
	kinds    [256]float64
	citation []float64 // by number of sessions, as far as that is usual
	lowest   float64   // of kinds
}

func (s *search) weights() *weights {
	w := &weights{Ranking: s.Ranking, lowest: s.Ranking.LeastKind()}
	for i, k := range memory.Kinds {
		w.kinds[i] = s.Ranking.Kind[k]
	}
	for c := range usualCitations {
		w.citation = append(w.citation, s.Ranking.CitationFactor(c))
	}
	return w
}

// debit is what speaks against a memory: memory.Factors.Held without the relevance.
func (w *weights) debit(r *standing) float64 {
	d := 1.0
	if r.citations == 0 && int(r.ignored) >= w.IgnoredFrom {
		d = w.Ignored
	}
	if r.doubted {
		d *= w.Doubt
	}
	if r.doubtful {
		d *= w.Unreviewed
	}
	return d
}

// maxDebit is the most that it can be.
func (w *weights) maxDebit() float64 {
	return max(1, w.Ignored) * max(1, w.Doubt) * max(1, w.Unreviewed)
}

// most bounds the score from above where the most held is at least best.
func (w *weights) most(r *standing, relevance, best float64) float64 {
	held := relevance * w.debit(r)
	share := w.share(held, best)
	return held * (w.lowest + share*(w.kinds[r.kind]-w.lowest)) * (w.FreshnessRest + share*(1-w.FreshnessRest)) * w.cited(r)
}

// least bounds it from below where the most held is at most best: as old as can be.
func (w *weights) least(r *standing, relevance, best float64) float64 {
	held := relevance * w.debit(r)
	return held * (w.lowest + w.share(held, best)*(w.kinds[r.kind]-w.lowest)) * w.FreshnessRest * w.cited(r)
}

// usualCitations is for how many sessions factors are computed beforehand.
const usualCitations = 32

func (w *weights) cited(r *standing) float64 {
	if c := int(r.citations); c >= 0 && c < len(w.citation) {
		return w.citation[c]
	}
	return w.CitationFactor(int(r.citations))
}

func (w *weights) share(held, best float64) float64 {
	if w.AdvantagePower == 4 && held < best {
		x := held / best
		return x * x * x * x
	}
	return w.Advantage(held, best)
}
