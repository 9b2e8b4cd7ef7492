package recall

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/memory/terms"
)

const (
	// page is how many memories are read at once.
	page = 1_000
	// tie is by how much scores may differ and still count as the same: the database computes them in another order, and vectors are
	// kept as numbers of half precision.
	tie = 1e-6
	// best is how many results are compared.
	best = 10
)

// Exact asks questions about the largest project and gives the share of those whose ten best are the ten best of a scan over every
// memory that the question may see. It holds all of these in memory.
func (b *Bench) Exact(ctx context.Context, questions int) (float64, error) {
	p := b.projects[0]
	w := newWorker(b, 0, 1<<32)
	w.project = p
	var s memory.Search
	if err := b.Store.View(ctx, b.org, func(v memory.View) error {
		keys := p.caller.SpaceKeys()
		spaces, err := v.Spaces(ctx, keys)
		s = memory.Search{Spaces: memory.SpaceIDs(spaces, keys), ModelFloor: b.Embedder.Thresholds().Floor, Ranking: b.memory.Ranking(),
			At: b.memory.Now(), Limit: best}
		return err
	}); err != nil {
		return 0, err
	}
	ids, err := b.live(ctx, s.Spaces)
	if err != nil {
		return 0, err
	}
	corpus, err := b.corpus(ctx, ids)
	if err != nil {
		return 0, err
	}
	same := 0
	for range questions {
		text := w.question(2, 8)
		s := s
		s.Terms = terms.Of(text)
		if b.Embedder.Model() != "" {
			vector, err := timed{b.Embedder}.EmbedQuery(ctx, text)
			if err != nil {
				return 0, err
			}
			if vector != nil {
				s.Model, s.Vector = b.Embedder.Model(), postgres.HalfPrecision(vector)
			}
		}
		var found memory.Found
		if err := b.Store.View(ctx, b.org, func(v memory.View) (err error) {
			found, err = v.Search(ctx, s)
			return err
		}); err != nil {
			return 0, err
		}
		if alike(corpus.Scan(s, s.Terms), found.Scanned(s)) {
			same++
		}
	}
	return float64(same) / float64(max(questions, 1)), nil
}

// alike tells whether what was found has, place by place, the score of what a scan found: what is as good may stand for it.
func alike(scan, found []memory.Scanned) bool {
	return slices.EqualFunc(scan, found, func(a, b memory.Scanned) bool { return math.Abs(a.Score-b.Score) < tie })
}

// corpus reads memories, with their vectors.
func (b *Bench) corpus(ctx context.Context, ids []uuid.UUID) (memory.Corpus, error) {
	var records []memory.Record
	vectors := map[uuid.UUID][]float32{}
	for some := range slices.Chunk(ids, page) {
		if err := b.Store.View(ctx, b.org, func(v memory.View) error {
			of, err := v.Records(ctx, some)
			if err != nil {
				return err
			}
			records = append(records, of...)
			if b.Embedder.Model() == "" {
				return nil
			}
			traits, err := v.Traits(ctx, some, b.Embedder.Model())
			for id, t := range traits {
				vectors[id] = t.Vector
			}
			return err
		}); err != nil {
			return memory.Corpus{}, err
		}
	}
	corpus := memory.NewCorpus(records)
	if len(vectors) > 0 {
		corpus.SetVectors(vectors)
	}
	return corpus, nil
}
