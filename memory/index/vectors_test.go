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
		numbers, halves := make([]int8, n), make([]uint8, vectors*n/2)
		for i := range numbers {
			if numbers[i] = int8(r.IntN(255) - 127); extreme {
				numbers[i] = 127
			}
		}
		for i := range halves {
			if halves[i] = uint8(r.IntN(256)); extreme {
				halves[i] = 0xff
			}
		}
		got, want := make([]int32, vectors), make([]int32, vectors)
		dots(numbers, halves, got)
		dotsPortable(numbers, halves, want)
		if !slices.Equal(got, want) {
			rt.Fatalf("%d numbers: %v, want %v", n, got, want)
		}
	})
}

// Neither a glance nor a look at a vector is wrong by more than it says, and a glance is not far too careful.
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
		highs := make([]float32, slots)
		v.glance(&q, 0, highs)
		for i, s := range stored {
			exact := 0.0
			for j := range s {
				exact += float64(s[j]) * float64(query[j])
			}
			exact /= length(s) * length(query)
			if cosine, off := v.about(&q, i); math.Abs(cosine-exact) > off || off > 0.1 {
				rt.Fatalf("%d dimensions: %.6f is said to be about %.6f ± %.6f", dimensions, exact, cosine, off)
			}
			cosine, off := v.cosine(&q, i)
			if math.Abs(cosine-exact) > off || off > 0.1 || float64(highs[i]) < exact || float64(highs[i]) > exact+1 {
				rt.Fatalf("%d dimensions: %.6f is said to be %.6f ± %.6f and at most %.6f", dimensions, exact, cosine, off, highs[i])
			}
		}
	})
}
