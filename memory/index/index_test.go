package index_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/index"
)

var now = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// world is some spaces and what was put into them, by space and number.
type world struct {
	ids    []int32
	spaces map[int32]*index.Space
	all    map[index.Place]index.Memory
}

func newWorld(spaces ...int32) *world {
	w := &world{ids: spaces, spaces: map[int32]*index.Space{}, all: map[index.Place]index.Memory{}}
	for _, id := range spaces {
		w.spaces[id] = index.NewSpace()
	}
	return w
}

func (w *world) put(space int32, m index.Memory) {
	w.spaces[space].Put(m)
	w.all[index.Place{Space: space, Seq: m.Seq}] = m
}

func (w *world) remove(p index.Place) {
	w.spaces[p.Space].Remove(p.Seq)
	delete(w.all, p)
}

// draw makes a memory with words 1 to 40, of which the first are common, and tags 101 to 103.
func draw(r *rand.Rand, seq int32, dimensions int) index.Memory {
	m := index.Memory{Seq: seq, ID: uuid.UUID{byte(seq), byte(seq >> 8), byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(256))}, Handle: fmt.Sprintf("m-%05d", seq)}
	m.Standing = memory.Standing{Kind: memory.Kinds[r.IntN(4)], ConfirmedAt: now.Add(-time.Duration(r.ExpFloat64()*100*24) * time.Hour),
		Doubted: r.IntN(6) == 0, Unreviewed: r.IntN(8) == 0}
	if r.IntN(3) == 0 {
		m.Citations = r.IntN(30)
	} else {
		m.IgnoredBy = r.IntN(10)
	}
	if r.IntN(8) == 0 {
		at := now.Add(time.Duration(r.IntN(200)-100) * time.Hour)
		m.Expires = &at
	}
	for range 1 + r.IntN(10) {
		m.Terms = append(m.Terms, 1+int64(40*r.Float64()*r.Float64()))
	}
	slices.Sort(m.Terms)
	m.Terms = slices.Compact(m.Terms)
	if r.IntN(3) == 0 {
		m.Tags = []int64{101 + r.Int64N(3)}
	}
	if r.IntN(5) > 0 {
		m.Vector = vector(r, dimensions)
	}
	return m
}

func vector(r *rand.Rand, dimensions int) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(r.NormFloat64()) + 0.5 // all lean one way, as texts do
	}
	return v
}

// ask draws a search.
func (w *world) ask(r *rand.Rand, dimensions int) index.Query {
	q := index.Query{Search: memory.Search{Spaces: w.ids, Ranking: memory.DefaultRanking(), At: now, Limit: 1 + r.IntN(12), ModelFloor: 0.2}}
	for _, id := range w.ids {
		q.In = append(q.In, w.spaces[id])
	}
	switch r.IntN(8) {
	case 0:
		q.Browse = true
	case 1, 2, 3, 4:
		q.Model, q.Vector = "m", vector(r, dimensions)
		fallthrough
	default:
		for range 1 + r.IntN(6) {
			h := 1 + r.Int64N(44) // some occur nowhere
			if !slices.Contains(q.Hashes, h) {
				q.Hashes, q.Terms = append(q.Hashes, h), append(q.Terms, fmt.Sprint("t", h))
			}
		}
	}
	q.Expired = r.IntN(4) == 0
	if r.IntN(4) == 0 {
		q.Narrow.Kinds = []memory.Kind{memory.Kinds[r.IntN(4)]}
	}
	if r.IntN(5) == 0 {
		q.Narrow.Tags, q.Tags = []string{"x"}, []int64{101}
	}
	some := func() map[uuid.UUID]int {
		of := map[uuid.UUID]int{}
		for _, m := range w.all {
			if r.IntN(3) == 0 {
				of[m.ID] = r.IntN(3)
			}
		}
		return of
	}
	if r.IntN(5) == 0 {
		q.Narrow.ByElement, q.ByElement = true, some()
	}
	if r.IntN(8) == 0 {
		q.Narrow.ByPath, q.ByPath = true, some()
	}
	q.Cosines = func(_ context.Context, of []index.Open) (map[index.Place]float64, error) {
		out := map[index.Place]float64{}
		for _, p := range of {
			if v := w.all[p.Place].Vector; v != nil {
				out[p.Place] = cosine(q.Vector, v)
			}
		}
		return out, nil
	}
	return q
}

func cosine(a, b []float32) float64 {
	dot, x, y := 0.0, 0.0, 0.0
	for i := range a {
		dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}

// scan is what the documentation of memory.Search says, put down plainly.
func (w *world) scan(q index.Query) (words memory.Words, best float64, out []memory.Candidate) {
	s := q.Search
	in := map[index.Place]index.Memory{}
	df := make([]int, len(q.Hashes))
	for p, m := range w.all {
		if m.Expires != nil && !m.Expires.After(s.At) && !s.Expired {
			continue
		}
		in[p] = m
		for i, h := range q.Hashes {
			if slices.Contains(m.Terms, h) {
				df[i]++
			}
		}
	}
	s.Words = s.Ranking.Weigh(s.Terms, len(in), df)
	top := 0.0
	for _, m := range in {
		_, of := q.ByElement[m.ID]
		_, at := q.ByPath[m.ID]
		if s.Narrow.ByElement && !of || s.Narrow.ByPath && !at || len(s.Narrow.Kinds) > 0 && !slices.Contains(s.Narrow.Kinds, m.Kind) ||
			len(q.Tags) > 0 && !slices.Contains(m.Tags, q.Tags[0]) {
			continue
		}
		c := memory.Candidate{ID: m.ID, Handle: m.Handle, Distance: q.ByElement[m.ID] + q.ByPath[m.ID], Standing: m.Standing}
		for _, word := range s.Words.Terms {
			if slices.Contains(m.Terms, q.Hashes[slices.Index(s.Terms, word.Term)]) {
				c.Matched += word.Weight
			}
		}
		if s.ByVector() && m.Vector != nil {
			x := cosine(s.Vector, m.Vector)
			c.Cosine = &x
		}
		if !s.Browse {
			relevance, near := s.Near(c.Evidence)
			if !near {
				continue
			}
			top = max(top, relevance)
		}
		out = append(out, c)
	}
	if !s.Browse {
		out = slices.DeleteFunc(out, func(c memory.Candidate) bool {
			relevance, _ := s.Near(c.Evidence)
			return relevance < s.Share()*top
		})
		for _, c := range out {
			s.Best = max(s.Best, s.Held(c))
		}
	}
	return s.Words, s.Best, first(s, out)
}

// first gives the best of some candidates in the order of a recall.
func first(s memory.Search, of []memory.Candidate) []memory.Candidate {
	out := slices.Clone(of)
	slices.SortFunc(out, func(a, b memory.Candidate) int {
		return cmp.Or(cmp.Compare(s.Score(b), s.Score(a)), cmp.Compare(a.Distance, b.Distance), b.ConfirmedAt.Compare(a.ConfirmedAt), strings.Compare(a.Handle, b.Handle))
	})
	return out[:min(len(out), s.Limit)]
}

func (w *world) check(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, q index.Query) (results int) {
	t.Helper()
	got, err := index.Search(context.Background(), q)
	if err != nil {
		t.Fatalf("%v", err)
	}
	words, best, want := w.scan(q)
	s := q.Search
	s.Words, s.Best = got.Words, got.Best
	found := first(s, got.Candidates)
	if fmt.Sprint(words) != fmt.Sprint(got.Words) || math.Abs(best-got.Best) > 1e-12 && !q.Browse {
		t.Fatalf("words %v, best %v; a scan says %v, %v", got.Words, got.Best, words, best)
	}
	show := func(of []memory.Candidate) string {
		var b strings.Builder
		for _, c := range of {
			fmt.Fprintf(&b, "%s %.9f %d\n", c.Handle, s.Score(c), c.Distance)
		}
		return b.String()
	}
	if show(found) != show(want) {
		t.Fatalf("search %+v\nfound\n%swant\n%s", q.Search, show(found), show(want))
	}
	return len(want)
}

// Whatever is put, changed and taken out, a search gives what a scan over what is there gives.
func TestSearchEqualsAScan(t *testing.T) {
	t.Parallel()
	results := 0
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		dimensions := 1 + r.IntN(70)
		w := newWorld(3, 1)
		for range 1 + r.IntN(150) {
			p := index.Place{Space: w.ids[r.IntN(2)], Seq: 1 + r.Int32N(60)}
			old, there := w.all[p]
			switch m := draw(r, p.Seq, dimensions); {
			case there && r.IntN(3) == 0:
				w.remove(p)
			case there && r.IntN(2) == 0: // the same words in another standing, with another vector or none
				m.ID, m.Terms, m.Tags = old.ID, old.Terms, old.Tags
				w.put(p.Space, m)
			default:
				w.put(p.Space, m)
			}
			if r.IntN(10) == 0 {
				results += w.check(rt, w.ask(r, dimensions))
			}
		}
		for range 5 {
			results += w.check(rt, w.ask(r, dimensions))
		}
		for _, id := range w.ids {
			live, waiting := 0, 0
			for p, m := range w.all {
				if p.Space != id {
					continue
				}
				live++
				if m.Vector == nil && !m.Refused && (m.Expires == nil || m.Expires.After(now)) {
					waiting++
				}
			}
			if s := w.spaces[id]; s.Live() != live || s.Unindexed(now) != waiting {
				rt.Fatalf("live %d, waiting %d; want %d, %d", s.Live(), s.Unindexed(now), live, waiting)
			}
		}
	})
	if results < 100 {
		t.Errorf("%d results in all: the test compares too little", results)
	}
}

// Among many the bounds leave little to be compared exactly, and nothing out that belongs.
func TestFewAreComparedExactly(t *testing.T) {
	t.Parallel()
	const memories, dimensions, questions = 5000, 256, 40
	r := rand.New(rand.NewPCG(5, 5))
	w := newWorld(1)
	for i := range int32(memories) {
		w.put(1, draw(r, i+1, dimensions))
	}
	compared := 0
	for range questions {
		q := w.ask(r, dimensions)
		q.Limit = 10
		exactly := q.Cosines
		q.Cosines = func(ctx context.Context, of []index.Open) (map[index.Place]float64, error) {
			compared += len(of)
			return exactly(ctx, of)
		}
		w.check(t, q)
	}
	if compared > questions*memories/20 {
		t.Errorf("%d comparisons for %d questions about %d memories", compared, questions, memories)
	}
}

// More memories than are looked at first: what these reach leaves nothing out that belongs, whatever the standing of the others.
func TestTheBarLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for world := range uint64(30) {
		r := rand.New(rand.NewPCG(world, 9))
		w := newWorld(1, 2)
		dimensions := 2 + r.IntN(40)
		for i := range int32(500) {
			w.put(1+i%2, draw(r, i+1, dimensions))
		}
		for range 20 {
			w.check(t, w.ask(r, dimensions))
		}
	}
}

// A vector that has no direction, or another length than the others, is none.
func TestOddVectors(t *testing.T) {
	t.Parallel()
	s := index.NewSpace()
	for i, v := range [][]float32{{1, 2, 3}, {0, 0, 0}, {1, 2}, {float32(math.NaN()), 1, 1}, {float32(math.Inf(1)), 1, 1}, nil, {3, 2, 1}} {
		s.Put(index.Memory{Seq: int32(i + 1), ID: uuid.UUID{byte(i)}, Handle: fmt.Sprint(i), Standing: memory.Standing{Kind: memory.Note, ConfirmedAt: now}, Vector: v})
	}
	if n := s.Unindexed(now); n != 5 {
		t.Errorf("%d have no vector, want 5", n)
	}
	q := index.Query{Search: memory.Search{Spaces: []int32{1}, Ranking: memory.DefaultRanking(), At: now, Limit: 10, Model: "m", Vector: []float32{1, 0, 0, 0}}, In: []*index.Space{s},
		Cosines: func(context.Context, []index.Open) (map[index.Place]float64, error) { return nil, nil }}
	found, err := index.Search(context.Background(), q)
	if err != nil || len(found.Candidates) != 0 {
		t.Errorf("a query of another length found %v, %v", found.Candidates, err)
	}
}

// Readers that take spaces in different orders and writers do not wait for each other for ever.
func TestReadersAndWritersTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(1, 2)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range int32(200) {
		w.put(1+i%2, draw(r, i+1, 16))
	}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			for range 200 {
				q := index.Query{Search: memory.Search{Spaces: []int32{1, 2}, Browse: true, Ranking: memory.DefaultRanking(), At: now, Limit: 3}, In: []*index.Space{w.spaces[1], w.spaces[2]}}
				if n%2 == 0 {
					slices.Reverse(q.Spaces)
					slices.Reverse(q.In)
				}
				if _, err := index.Search(context.Background(), q); err != nil {
					t.Error(err)
				}
				w.spaces[1+r.Int32N(2)].Put(draw(r, 1+r.Int32N(200), 16))
			}
		})
	}
	wg.Wait()
}

// What the space says it takes is about what the heap grows by.
func TestBytes(t *testing.T) { //nolint:paralleltest // it looks at the heap of the process
	const memories, dimensions = 20_000, 512
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	r := rand.New(rand.NewPCG(9, 9))
	before := heap()
	s := index.NewSpace()
	v := vector(r, dimensions)
	for i := range int32(memories) {
		m := draw(r, i+1, 1)
		m.Terms = m.Terms[:0]
		for range 35 {
			m.Terms = append(m.Terms, int64(20_000*r.Float64()*r.Float64()))
		}
		m.Vector = v
		s.Put(m)
	}
	grown := float64(heap() - before)
	runtime.KeepAlive(s)
	if said := float64(s.Bytes()); said < 0.8*grown || said > 1.4*grown {
		t.Errorf("it says %.0f kB and takes %.0f", said/1e3, grown/1e3)
	}
	if guess := float64(index.Estimate(memories, dimensions)); guess < 0.7*grown || guess > 1.5*grown {
		t.Errorf("the estimate is %.0f kB, it takes %.0f", guess/1e3, grown/1e3)
	}
	t.Logf("%.0f bytes each, said %.0f", grown/memories, float64(s.Bytes())/memories)
}
