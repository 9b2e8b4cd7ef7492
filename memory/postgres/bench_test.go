package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// words makes a text of n words whose frequencies fall as those of a language do (Zipf). A word is letters only, so that it
// is one term, and the rank decides it.
func words(zipf *rand.Zipf, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		for rank := zipf.Uint64() + 100; rank > 0; rank /= 20 {
			b.WriteByte("bcdfghjklmnpqrstvwxz"[rank%20])
			b.WriteByte("aeiou"[rank%5])
		}
	}
	return b.String()
}

// BenchmarkRemember writes facts of 30 words from 8 clients into one project of a durable embedded cluster.
// ns/op is the time per memory of all clients together; memories/s is its inverse.
func BenchmarkRemember(b *testing.B) {
	cfg := embedded.Config{DataDir: filepath.Join(pgtest.Dir(b), "stele"), Supervisor: pgtest.Supervisor(b)}
	pgtest.NewCluster(b, cfg)
	master, err := secret.GenerateMaster()
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	s, closeAll, err := openCluster(ctx, cfg, master)
	if err != nil {
		b.Fatal(err)
	}
	defer closeAll()
	org, err := s.EnsureOrganization(ctx, "bench")
	if err != nil {
		b.Fatal(err)
	}
	p, err := s.CreateProject(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin}, "bench", nil)
	if err != nil {
		b.Fatal(err)
	}
	c := memory.Caller{Org: org, Project: p.ID, User: "bench", Role: memory.RoleAgent, Door: memory.FromMCP}
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			var next atomic.Uint64
			work := make(chan struct{}, b.N)
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			done := make(chan error, clients)
			b.ResetTimer()
			for range clients {
				go func() {
					seed := next.Add(1)
					r := rand.New(rand.NewPCG(seed, uint64(b.N)))
					zipf := rand.NewZipf(r, 1.1, 8, 20_000)
					for range work {
						if _, err := s.Remember(ctx, c, memory.RememberRequest{Content: words(zipf, 30)}); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
			}
			for range clients {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "memories/s")
		})
	}
}
