package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The fast kernel gives the products of the plain one, also of the largest numbers, whose sums must not be cut off.
func TestKernels(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 4))
		extreme := rapid.Bool().Draw(rt, "extreme")
		n, vectors := (1+r.IntN(70))*lanes, 1+r.IntN(5)
		numbers, rows := make([]int16, n), make([]int8, vectors*n)
		for i := range numbers {
			if numbers[i] = int16(r.IntN(2*queryRange+1) - queryRange); extreme {
				numbers[i] = queryRange
			}
		}
		for i := range rows {
			if rows[i] = int8(r.IntN(255) - 127); extreme {
				rows[i] = -127
			}
		}
		got, want := make([]int32, vectors), make([]int32, vectors)
		dots(numbers, rows, got)
		dotsPortable(numbers, rows, want)
		if !slices.Equal(got, want) {
			rt.Fatalf("%d numbers: %v, want %v", n, got, want)
		}
	})
}

// No cosine is wrong by more than it says.
func TestBoundsOfCosines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 5))
		dimensions, slots := 1+r.IntN(600), 1+r.IntN(perWord)
		draw := func() []float32 {
			v := make([]float32, dimensions)
			for i := range v {
				v[i] = float32(r.NormFloat64()) + 0.5 // all lean one way, as texts do
			}
			return v
		}
		var v vectors
		v.grow(slots)
		stored := make([][]float32, slots)
		for i := range stored {
			stored[i] = draw()
			v.set(i, stored[i])
		}
		query := draw()
		if r.IntN(3) == 0 {
			query = stored[0]
		}
		q, ok := v.ask(query)
		if !ok {
			rt.Fatal("the query has a direction")
		}
		left := r.Uint64() | 1
		if r.IntN(2) == 0 {
			left = 1 << r.IntN(slots)
		}
		cosines := make([]float32, slots)
		v.compare(&q, 0, left, cosines)
		for i, s := range stored {
			exact := 0.0
			for j := range s {
				exact += float64(s[j]) * float64(query[j])
			}
			exact /= length(s) * length(query)
			if cosine, off := float64(cosines[i]), v.off(&q, i); left>>i&1 != 0 && math.Abs(cosine-exact) > off || off > 0.02 {
				rt.Fatalf("%d dimensions: %.6f is said to be %.6f ± %.6f", dimensions, exact, cosine, off)
			}
		}
	})
}
