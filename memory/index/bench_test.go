package index_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/index"
)

// BenchmarkSearch asks one space, by words, by meaning and for nothing in particular; how many memories are compared exactly
// is told beside the time.
func BenchmarkSearch(b *testing.B) {
	const dimensions = 512
	for _, memories := range []int32{5_000, 100_000} {
		r := rand.New(rand.NewPCG(1, 1))
		w := newWorld(1)
		centres := make([][]float32, 1000)
		for i := range centres {
			centres[i] = vector(r, dimensions)
			for j := range centres[i] { // the vectors of short texts lie close together: half of all cosines are above a half
				centres[i][j] += 0.8
			}
		}
		for i := range memories {
			m := draw(r, i+1, 1)
			m.Terms = nil
			for range 35 {
				m.Terms = append(m.Terms, 1+int64(20_000*r.Float64()*r.Float64()*r.Float64()))
			}
			m.Vector = near(r, centres[r.IntN(len(centres))])
			w.put(1, m)
		}
		for _, meaning := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/meaning=%v", memories, meaning), func(b *testing.B) {
				compared := 0
				for b.Loop() {
					q := index.Query{Search: memory.Search{Spaces: w.ids, Ranking: memory.DefaultRanking(), At: now, Limit: 10, ModelFloor: 0.2}, In: []*index.Space{w.spaces[1]}}
					if meaning {
						q.Model, q.Vector = "m", near(r, centres[r.IntN(len(centres))])
					}
					for range 6 {
						h := 1 + int64(20_000*r.Float64()*r.Float64()*r.Float64())
						q.Hashes, q.Terms = append(q.Hashes, h), append(q.Terms, fmt.Sprint(h))
					}
					q.Cosines = func(_ context.Context, of []index.Open) (map[index.Place]float64, error) {
						compared += len(of)
						out := make(map[index.Place]float64, len(of))
						for _, p := range of {
							out[p.Place] = cosine(q.Vector, w.all[p.Place].Vector)
						}
						return out, nil
					}
					if _, err := index.Search(context.Background(), q); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(compared)/float64(b.N), "compared/op")
			})
		}
		b.Run(fmt.Sprintf("%d/browse", memories), func(b *testing.B) {
			q := index.Query{Search: memory.Search{Spaces: w.ids, Ranking: memory.DefaultRanking(), At: now, Limit: 10, Browse: true}, In: []*index.Space{w.spaces[1]}}
			for b.Loop() {
				if _, err := index.Search(context.Background(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func near(r *rand.Rand, v []float32) []float32 {
	out := make([]float32, len(v))
	for i := range v {
		out[i] = v[i] + 0.7*float32(r.NormFloat64())
	}
	return out
}
