package recall

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

const (
	// chunk is how many memories are loaded in one transaction.
	chunk = 1_000
	// embedded is how many memories get the vector that the encoder gives their text. Those of the others are one of these, turned by
	// as much again as they are long: as far from it as two texts about one thing are from each other.
	embedded = 1_000
	turned   = 1.0
	// keptTexts of a project are what questions take words from.
	keptTexts = 64
)

// project is one of those that the load is put on.
type project struct {
	caller   memory.Caller
	elements []memory.Element
	handles  []string
	texts    []string
}

// filler loads the memories of a run.
type filler struct {
	*Bench
	words
	now    time.Time
	number uint64 // of memories so far
	all    int
	sample []embedding.Vector
}

// fill makes projects with models and loads their memories.
func (b *Bench) fill(ctx context.Context) error {
	f := &filler{Bench: b, words: newWords(b.Seed, 0), now: b.memory.Now(), all: b.Memories}
	var err error
	if b.org, err = b.memory.EnsureOrganization(ctx, "bench"); err != nil {
		return err
	}
	shared := min(int(organized*float64(b.Memories)), mostShared)
	for i, n := range sizes(b.Memories-shared, b.Projects) {
		if err := f.project(ctx, i, n); err != nil {
			return err
		}
	}
	c := b.projects[0].caller
	if err := f.load(ctx, c, memory.SpaceKey{Scope: memory.Organization}, shared, nil); err != nil {
		return err
	}
	if err := postgres.Vacuum(ctx, b.OwnerURL); err != nil {
		return err
	}
	if len(f.sample) == 0 {
		return nil
	}
	models := []postgres.VectorModel{{Model: b.Embedder.Model(), Dimensions: len(f.sample[0])}}
	if b.Memories < store.DefaultExactVectors {
		return nil // as upkeep would decide
	}
	return postgres.KeepVectorIndexes(ctx, b.OwnerURL, models, func(postgres.IndexChange) {})
}

// project makes the n-th project.
func (f *filler) project(ctx context.Context, n, memories int) error {
	c := memory.Caller{Org: f.org, User: "writer", Agent: "bench", Role: memory.RoleAdmin, Door: memory.FromMCP}
	made, err := f.memory.CreateProject(ctx, c, fmt.Sprintf("project-%d", n), nil)
	if err != nil {
		return err
	}
	c.Project = made.ID
	if _, err := f.memory.ImportModel(ctx, c, model(memories)); err != nil {
		return err
	}
	p := &project{caller: c}
	if err := f.Store.View(ctx, f.org, func(v memory.View) (err error) {
		p.elements, err = v.Elements(ctx, c.Project, false)
		return err
	}); err != nil {
		return err
	}
	f.projects = append(f.projects, p)
	f.weights = append(f.weights, memories)
	return f.load(ctx, c, memory.SpaceKey{Scope: memory.Project, Owner: c.Project.String()}, memories, p)
}

// load draws n memories of a space and stores them; a project keeps what questions are made of.
func (f *filler) load(ctx context.Context, c memory.Caller, space memory.SpaceKey, n int, p *project) error {
	var elements []memory.Element
	if p != nil {
		elements = p.elements
	}
	for left := n; left > 0; left -= chunk {
		all := make([]store.Loaded, min(left, chunk))
		for i := range all {
			all[i] = f.draw(f.number, c, space.Scope, elements, f.now)
			f.number++
			if p != nil {
				p.handles = append(p.handles, all[i].Handle)
				if len(p.texts) < keptTexts {
					p.texts = append(p.texts, all[i].Content)
				}
			}
		}
		if err := f.vectors(ctx, all); err != nil {
			return err
		}
		if err := f.Store.Load(ctx, c, space, f.Embedder.Model(), all); err != nil {
			return fmt.Errorf("load: %w", err)
		}
		if f.Progress != nil {
			f.Progress(int(f.number), f.all) //nolint:gosec // a count of memories
		}
	}
	return nil
}

// vectors gives each memory one, when there is a model.
func (f *filler) vectors(ctx context.Context, all []store.Loaded) error {
	if f.Embedder.Model() == "" {
		return nil
	}
	for i := range all {
		if len(f.sample) < embedded {
			// One by one, since it is done once: what a batch may hold depends on the provider.
			vectors, err := f.Embedder.Embed(ctx, []string{all[i].Title + "\n" + all[i].Content})
			if err != nil {
				return fmt.Errorf("embed: %w", err)
			}
			if len(vectors) == 1 && vectors[0] != nil {
				f.sample = append(f.sample, vectors[0])
				all[i].Vector = vectors[0]
				continue
			}
		}
		if len(f.sample) > 0 {
			all[i].Vector = f.near(f.sample[f.IntN(len(f.sample))])
		}
	}
	f.sampled = len(f.sample)
	return nil
}

// near is a vector of length 1 near another.
func (w words) near(v embedding.Vector) embedding.Vector {
	out := make(embedding.Vector, len(v))
	noise := turned / math.Sqrt(float64(len(v)))
	sum := 0.0
	for i := range v {
		out[i] = v[i] + float32(noise*w.NormFloat64())
		sum += float64(out[i]) * float64(out[i])
	}
	for i := range out {
		out[i] /= float32(math.Sqrt(sum))
	}
	return out
}

// live gives the ids of the memories of some spaces.
func (b *Bench) live(ctx context.Context, spaces []int32) (ids []uuid.UUID, err error) {
	err = b.DB.InOrg(ctx, b.org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT memory_id FROM memories WHERE org_id = $1 AND space_id = ANY ($2) AND status = 'live'`, b.org, spaces)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	return ids, err
}
