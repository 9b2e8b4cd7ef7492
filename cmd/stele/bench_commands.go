package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/retrieval"
	"github.com/stele-dev/stele/internal/retrieval/measure"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

func (a *app) benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure recall, its speed, and alarms about what is out of date", Args: cobra.NoArgs, RunE: a.group,
		Example: "  stele bench retrieval --data testdata/retrieval"}
	c.AddCommand(a.needsDatabase(a.benchRetrievalCommand()), a.needsDatabase(a.benchContextCommand()), a.needsDatabase(a.benchRecallCommand()), a.needsDatabase(a.benchWriteCommand()),
		a.benchStalenessCommand())
	return c
}

// retrievalShape is what scripts get.
type retrievalShape struct {
	RecallAt1  float64 `json:"recall_at_1"`
	RecallAt5  float64 `json:"recall_at_5"`
	RecallAt10 float64 `json:"recall_at_10"`
	HitAt5     float64 `json:"hit_at_5"`
	MRR        float64 `json:"mrr"`
	Questions  int     `json:"questions"`
	Provider   string  `json:"provider"` // model of the vectors; "" for words alone
	IndexBytes int64   `json:"index_bytes"`
	*measure.Result
}

func (a *app) benchRetrievalCommand() *cobra.Command {
	var data, format, weights, provider string
	var misses bool
	c := &cobra.Command{
		Use: "retrieval", Short: "Measure what recall finds, on a set of memories and questions", Args: cobra.NoArgs,
		Long: "Remember the memories of a set in a scratch database, ask its questions, and\n" +
			"say how many of the right memories come back. Nothing of yours is touched. The\n" +
			"set is a file or folder of JSON lines, or a file of the LoCoMo benchmark.",
		Example: "  stele bench retrieval --data testdata/retrieval\n  stele bench retrieval --data locomo10.json --format locomo --provider none",
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := loadSet(data, format)
			if err != nil {
				return err
			}
			ranking, err := ranked(weights)
			if err != nil {
				return err
			}
			return a.benchRetrieval(cmd.Context(), set, ranking, provider, misses)
		},
	}
	f := c.Flags()
	f.StringVar(&data, "data", "", "file or folder of the set")
	f.StringVar(&format, "format", "jsonl", "of the data: jsonl or locomo")
	f.StringVar(&weights, "weights", "", "of meaning and words (default 0.55,0.45)")
	f.StringVar(&provider, "provider", "", "encoder: builtin, openai, ollama or none (default: as configured)")
	f.BoolVar(&misses, "misses", false, "list the questions whose answer was not among the first five")
	_ = c.MarkFlagRequired("data") // the flag is there
	a.completeFlag(c, "format", fixed("jsonl", "locomo"))
	return c
}

// loadSet reads a set in either format.
func loadSet(data, format string) (*retrieval.Set, error) {
	switch format {
	case "jsonl":
		return retrieval.Load(os.DirFS(filepath.Dir(data)), filepath.Base(data))
	case "locomo":
		f, err := os.Open(data)
		if err != nil {
			return nil, problem.Invalidf("data", "%s cannot be read", data).Fix("name a file of the benchmark").Because(err)
		}
		defer f.Close()
		set, err := retrieval.ReadLoCoMo(f, data)
		if err != nil {
			return nil, err
		}
		// The benchmark asks about old turns as often as about new ones: with days, age would be measured and not finding.
		for n := range set.Memories {
			set.Memories[n].Created, set.Memories[n].Confirmed = retrieval.Date{}, retrieval.Date{}
		}
		for n := range set.Projects {
			set.Projects[n].AsOf = retrieval.Date{}
		}
		return set, nil
	}
	return nil, problem.Invalidf("format", "%q is not a format", format).Fix("use jsonl or locomo")
}

// ranked is the ranking with other weights of meaning and words.
func ranked(weights string) (*memory.Ranking, error) {
	r := memory.DefaultRanking()
	if weights == "" {
		return &r, nil
	}
	meaning, words, ok := strings.Cut(weights, ",")
	bad := problem.Invalidf("weights", "%q are no two weights", weights).Fix("write them like 0.55,0.45")
	if !ok {
		return nil, bad
	}
	for _, w := range []string{meaning, words} {
		if n, err := strconv.ParseFloat(strings.TrimSpace(w), 64); err != nil || n < 0 || n > 1 {
			return nil, bad
		}
	}
	r, err := r.With(fmt.Sprintf("semantic_weight=%s,lexical_weight=%s", strings.TrimSpace(meaning), strings.TrimSpace(words)))
	return &r, err
}

func (a *app) benchRetrieval(ctx context.Context, set *retrieval.Set, ranking *memory.Ranking, provider string, misses bool) error {
	var shape retrievalShape
	err := a.inScratch(ctx, provider, "memory", func(ctx context.Context, db *postgres.DB, o measure.Options) (err error) {
		shape.Provider, o.Ranking = o.Embedder.Model(), ranking
		if shape.Result, err = measure.Do(ctx, set, o); err == nil {
			shape.IndexBytes, err = db.IndexBytes(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	all := shape.All
	shape.RecallAt1, shape.RecallAt5, shape.RecallAt10, shape.HitAt5, shape.MRR, shape.Questions = all.RecallAt1, all.RecallAt5, all.RecallAt10, all.HitAt5, all.MRR, len(set.Queries)
	return a.answer(shape, func(p *printer) { p.retrieval(shape, misses) })
}

// inScratch measures something in a database of its own, with a provider of embeddings ("" is the configured one), and shows how many
// of what are done.
func (a *app) inScratch(ctx context.Context, provider, what string, measured func(context.Context, *postgres.DB, measure.Options) error) error {
	show, clean := a.progress("measuring", what)
	defer clean()
	return a.withScratch(ctx, provider, postgres.Scratch{}, func(ctx context.Context, s opened) error {
		return measured(ctx, s.db, measure.Options{Store: s.store, Embedder: s.embedder, Progress: show})
	})
}

// opened is an empty database with what the domain needs beside it.
type opened struct {
	db       *postgres.DB
	owner    string // address
	store    *store.Store
	embedder embedding.Provider
}

// withScratch makes an empty database where the configuration says, and removes it when work is done. at says what it is for.
func (a *app) withScratch(ctx context.Context, provider string, at postgres.Scratch, work func(context.Context, opened) error) error {
	c, err := a.load()
	if err != nil {
		return err
	}
	if provider != "" {
		c.EmbeddingProvider = provider
	}
	embedder, err := newEmbedder(c, a.logger(c.LogLevel))
	if err != nil {
		return err
	}
	where, err := a.scratchAddresses(ctx, c)
	if err != nil {
		return err
	}
	defer where.done()
	master, err := secret.GenerateMaster()
	if err != nil {
		return err
	}
	at.AdminURL, at.OwnerURL, at.AppURL = where.Admin, where.Owner, where.App
	return postgres.InEmptyScratch(ctx, at, func(ctx context.Context, db *postgres.DB, owner string) error {
		s := store.New(db, master, store.IndexMemory(c.IndexMemory*megabyte))
		life, end := context.WithCancel(ctx)
		var background sync.WaitGroup
		background.Go(func() { s.KeepIndexes(life, func(err error) { fmt.Fprintf(a.err, "stele: %v\n", err) }) })
		defer background.Wait()
		defer end()
		return work(ctx, opened{db, owner, s, embedder})
	})
}

// scratch is a server on which a database may be made and removed.
type scratch struct {
	embedded.DSNs
	done func()
}

// scratchAddresses gives the embedded server, else the configured one, which needs an administrator.
func (a *app) scratchAddresses(ctx context.Context, c config.Config) (scratch, error) {
	if c.DatabaseURL != "" {
		if c.DatabaseAdminURL == "" || c.DatabaseOwnerURL == "" {
			return scratch{}, problem.New(problem.Unavailable, "STELE_DATABASE_ADMIN_URL", "a scratch database cannot be made without an administrator and the owner",
				"set STELE_DATABASE_ADMIN_URL and STELE_DATABASE_OWNER_URL", "or unset STELE_DATABASE_URL to use the embedded database")
		}
		return scratch{embedded.DSNs{App: c.DatabaseURL, Owner: c.DatabaseOwnerURL, Admin: c.DatabaseAdminURL}, func() {}}, nil
	}
	cluster, err := newCluster(c)
	if err != nil {
		return scratch{}, err
	}
	told := a.tellWhenSlow("starting the database")
	defer told.Stop()
	dsns, err := cluster.Start(ctx)
	// The server notices by the lock that ends with the process, too.
	return scratch{dsns, func() { _ = cluster.Close() }}, err
}

// retrieval prints what a run came to.
func (p *printer) retrieval(r retrievalShape, misses bool) {
	provider := r.Provider
	if provider == "" {
		provider = "words alone"
	}
	p.line("%s, %d questions, %s", count(r.Memories, "memory"), r.Questions, provider)
	_ = r.WriteText(p.w) // the writer keeps its error, and the end of the command tells it
	p.line("recall: p50 %.1f ms, p95 %.1f ms; index %.1f MB", r.Latency.P50, r.Latency.P95, float64(r.IndexBytes)/1e6)
	if !misses {
		return
	}
	for _, run := range r.Runs {
		answers, first := run.Query.Answers, run.Got[:min(5, len(run.Got))]
		found := slices.ContainsFunc(first, func(id string) bool { return slices.Contains(answers, id) })
		if !found && len(answers)+len(first) > 0 {
			p.line("%s %s: wanted %s, got %s", run.Query.ID, memory.Line(run.Query.Text), strings.Join(answers, " "), strings.Join(first, " "))
		}
	}
}
