package memory_test

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/stele-dev/stele/embedding"
	db "github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

// bag is a provider whose vectors are sums of random directions, one for each word: texts with words in common are near.
type bag struct{}

const bagDimensions = 32

func (*bag) Model() string { return "bag-1" }

func (*bag) Thresholds() embedding.Thresholds {
	return embedding.Thresholds{Dedupe: 0.99, Similar: 0.95, Floor: 0.1}
}

func (*bag) Embed(_ context.Context, texts []string) ([]embedding.Vector, error) {
	out := make([]embedding.Vector, len(texts))
	for i, text := range texts {
		v := make(embedding.Vector, bagDimensions)
		for word := range strings.FieldsSeq(text) {
			h := fnv.New64a()
			_, _ = h.Write([]byte(word))
			random := rand.New(rand.NewPCG(h.Sum64(), 1))
			for n := range v {
				v[n] += float32(random.NormFloat64())
			}
		}
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		for n := range v {
			v[n] /= float32(math.Sqrt(sum))
		}
		out[i] = v
	}
	return out, nil
}

// Above the bound a recall by the index gives what one over all vectors gives, in a project where standing differs as much
// as it can: 99.5 of 100 of the ten best at least. It says so, and below the bound, or narrowed, it does not.
func TestRecallByIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := load(t, 6000, 11)
	p := &bag{}
	conn := l.h.database.ConnectAdmin(t)
	b := &pgx.Batch{}
	for _, r := range l.records {
		if r.Status == memory.Live {
			vectors, err := p.Embed(ctx, []string{r.Content})
			l.must(err)
			b.Queue(`INSERT INTO vectors (org_id, model, space_id, seq, embedding) VALUES ($1, $2, $3, $4, $5::text::halfvec)`,
				l.c.Org, p.Model(), r.Space, r.Seq, pgvector.NewHalfVector(vectors[0]).String())
		}
	}
	l.must(conn.SendBatch(ctx, b).Close())
	service := func(bound int) *memory.Service {
		return memory.New(postgres.New(l.h.database.DB, l.h.master, postgres.ExactVectors(bound)),
			memory.Options{Embedder: p, EmbedWait: time.Minute, Now: func() time.Time { return l.now }})
	}
	exact, indexed := service(math.MaxInt32), service(500)
	stats, err := indexed.Stats(ctx, l.c)
	l.must(err)
	if stats.Embedding.Compared != memory.ComparedUnindexed {
		t.Errorf("before there is an index: %q", stats.Embedding.Compared)
	}
	l.must(db.KeepVectorIndexes(ctx, l.h.database.Owner, []db.VectorModel{{Model: p.Model(), Dimensions: bagDimensions}}, func(db.IndexChange) {}))
	stats, err = indexed.Stats(ctx, l.c)
	l.must(err)
	if stats.Embedding.Compared != memory.ComparedIndex || stats.Embedding.Waiting != 0 {
		t.Errorf("with an index: %+v", stats.Embedding)
	}
	all, same, approximate := 0, 0, 0
	none := 0
	for i, q := range l.questions(100) {
		r := memory.RecallRequest{Query: q, Limit: 10, MaxTokens: &none}
		if i%10 == 0 {
			r.Kinds = []memory.Kind{memory.Pitfall}
		}
		want, err := exact.Recall(ctx, l.c, r)
		l.must(err)
		got, err := indexed.Recall(ctx, l.c, r)
		l.must(err)
		if want.Approximate || got.Approximate && r.Kinds != nil {
			t.Errorf("all were compared, and the answer says approximate: %v, %v", want.Approximate, got.Approximate)
		}
		if got.Approximate {
			approximate++
		}
		found := entries(got)
		for _, h := range entries(want) {
			all++
			if slices.Contains(found, h) {
				same++
			}
		}
	}
	if float64(same) < 0.995*float64(all) || approximate == 0 {
		t.Errorf("%d of %d results are the same, %d answers approximate", same, all, approximate)
	}
	t.Logf("%d of %d results are the same, %d answers approximate", same, all, approximate)
}
