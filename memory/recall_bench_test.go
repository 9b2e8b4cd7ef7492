package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stele-dev/stele/memory"
)

// BenchmarkRecall measures a whole recall by words, warm: ranking, loading and decrypting eight results and recording the
// impressions. Questions have two to eight words, half of them of a stored text.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("memories=%d", n), func(b *testing.B) {
			l := load(b, n, 1)
			c := l.c
			c.Session = "bench"
			questions := l.questions(200)
			for _, q := range questions[:50] {
				_, err := l.Recall(context.Background(), c, memory.RecallRequest{Query: q})
				l.must(err)
			}
			var took []time.Duration
			i := 0
			for b.Loop() {
				start := time.Now()
				_, err := l.Recall(context.Background(), c, memory.RecallRequest{Query: questions[i%len(questions)]})
				l.must(err)
				took = append(took, time.Since(start))
				i++
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
