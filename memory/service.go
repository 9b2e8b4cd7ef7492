package memory

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
)

// Service is the domain behind every door. It is safe for concurrent use.
type Service struct {
	store    Store
	embedder embedding.Provider
	ranking  Ranking
	wait     time.Duration // for a vector, on a write or a recall
	branches Branches
	workers  Workers
	models   *keptModels
	turns    turns
	sayings  *sayings

	rewriteDoubt   int // percent; 0 = never
	promptsByWords bool
	now            func() time.Time
}

// Options of a Service; zero values mean the defaults.
type Options struct {
	Embedder embedding.Provider // default embedding.None
	Ranking  *Ranking           // default DefaultRanking()
	// EmbedWait bounds what a write or a recall waits for a vector; default 250 ms, which a person does not notice and the
	// built-in encoder never needs. A text that gets none is embedded later.
	EmbedWait time.Duration
	// RewriteDoubt is from how many percent of the lines gone that a memory was written about it is doubted; 0 = never. Replayed on
	// the histories of six projects, 50 was right in 0.48 of its alarms and 90 in 0.56 of nine: no rule that is wrong more
	// often than right doubts by default (docs/staleness.md). Recall says how much changed in any case.
	RewriteDoubt int
	// PromptsByWords finds by words alone what hooks ask with the prompts of people, so that none leaves the process for a provider.
	PromptsByWords bool
	Branches       Branches         // sees whether a branch has a commit; default nobody does
	Now            func() time.Time // the clock; default time.Now, cut to microseconds as PostgreSQL keeps them
}

// defaultEmbedWait is the default of Options.EmbedWait.
const defaultEmbedWait = 250 * time.Millisecond

// New makes a Service on a Store.
func New(store Store, o Options) *Service {
	s := &Service{store: store, embedder: o.Embedder, ranking: DefaultRanking(), wait: o.EmbedWait, branches: o.Branches, rewriteDoubt: o.RewriteDoubt,
		promptsByWords: o.PromptsByWords, now: o.Now, models: &keptModels{}, sayings: &sayings{}}
	if s.embedder == nil {
		s.embedder = embedding.None{}
	}
	s.turns = newTurns(s.embedder)
	if s.wait == 0 {
		s.wait = defaultEmbedWait
	}
	if o.Ranking != nil {
		s.ranking = *o.Ranking
	}
	if s.now == nil {
		s.now = time.Now
	}
	clock := s.now
	s.now = func() time.Time { return clock().UTC().Truncate(time.Microsecond) }
	return s
}

// view reads for a caller. Every question of a caller goes through view or write, so none can be asked unchecked.
func (s *Service) view(ctx context.Context, c Caller, fn func(View) error) error {
	if err := c.check(); err != nil {
		return err
	}
	return s.viewRuns(ctx, c, fn)
}

// viewRuns is view for what the role ci may read as well: runs, and the watch list.
func (s *Service) viewRuns(ctx context.Context, c Caller, fn func(View) error) error {
	if err := c.valid(); err != nil {
		return err
	}
	return s.store.View(ctx, c.Org, func(v View) error {
		if c.Bound != uuid.Nil {
			v = boundView{v, c}
		}
		return fn(v)
	})
}

// write writes for a caller. What met another write by chance (a handle, an idempotency key) is tried again.
func (s *Service) write(ctx context.Context, c Caller, spaces []SpaceKey, fn func(Tx) error) error {
	if err := c.check(); err != nil {
		return err
	}
	return s.writeRuns(ctx, c, spaces, fn)
}

// writeRuns is write for what the role ci may do as well: push runs.
func (s *Service) writeRuns(ctx context.Context, c Caller, spaces []SpaceKey, fn func(Tx) error) error {
	if err := c.valid(); err != nil {
		return err
	}
	for range maxDraws {
		if err := s.store.Write(ctx, c.Org, spaces, fn); !errors.Is(err, ErrTaken) {
			return err
		}
	}
	return problem.New(problem.Conflict, "", "this write kept meeting others", "try again")
}
