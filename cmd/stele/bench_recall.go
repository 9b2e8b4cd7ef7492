package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/bench/recall"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
)

// benchRecallFlags say what load to put on how many memories.
type benchRecallFlags struct {
	memories, projects, concurrency, questions, rounds int
	duration                                           time.Duration
	mix, provider, growth, compare                     string
	seed                                               uint64
	follow                                             string // of a child of --compare: the end of its database's name
}

func (a *app) benchRecallCommand() *cobra.Command {
	var o benchRecallFlags
	c := &cobra.Command{
		Use: "recall", Short: "Measure how fast recall is among many memories", Args: cobra.NoArgs,
		Long: "Load invented memories into a scratch database, put a mixed load on it as agents\n" +
			"do, and say how long each kind of call took and where the time went. Nothing of\n" +
			"yours is touched. Times are without the encoder's, which are shown apart.",
		Example: "  stele bench recall --memories 100000 --projects 20 --duration 30s\n" +
			"  stele bench recall --growth 1000,10000,100000 --provider none\n" +
			"  stele bench recall --compare ../other/stele --rounds 8",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchRecall(cmd.Context(), o) },
	}
	f := c.Flags()
	f.IntVar(&o.memories, "memories", 10_000, "of all projects together")
	f.IntVar(&o.projects, "projects", 10, "the n-th has 1/n of the first's memories")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "of the load, or of each round of --compare")
	f.IntVar(&o.concurrency, "concurrency", 4, "callers at a time")
	f.StringVar(&o.mix, "mix", "", "shares of calls, as recall=70,remember=30")
	f.StringVar(&o.provider, "provider", "", "encoder: builtin, openai, ollama or none (default: as configured)")
	f.IntVar(&o.questions, "questions", 100, "compared with a full scan of the largest project; 0 leaves it")
	f.StringVar(&o.growth, "growth", "", "numbers of memories to measure one after the other, as 1000,10000")
	f.StringVar(&o.compare, "compare", "", "another build, to put under the same load in turns")
	f.IntVar(&o.rounds, "rounds", 5, "of --compare, for each build")
	f.Uint64Var(&o.seed, "seed", 1, "of what is invented")
	f.StringVar(&o.follow, "follow", "", "")
	_ = f.MarkHidden("follow") // the flag is there
	c.MarkFlagsMutuallyExclusive("growth", "compare")
	a.completeFlag(c, "provider", fixed(builtin, openAI, ollama, none))
	return c
}

// check refuses what is no load.
func (o benchRecallFlags) check() error {
	for _, of := range []struct {
		flag        string
		n           int
		least, most int
	}{
		{"memories", o.memories, 1, 10_000_000}, {"projects", o.projects, 1, 10_000}, {"concurrency", o.concurrency, 1, 256},
		{"questions", o.questions, 0, 100_000}, {"rounds", o.rounds, 1, 1000},
	} {
		if of.n < of.least || of.n > of.most {
			return problem.Invalidf(of.flag, "%d is not from %d to %d", of.n, of.least, of.most).Fix("choose another number")
		}
	}
	if o.memories < o.projects {
		return problem.Invalidf("projects", "%d projects are more than the %d memories", o.projects, o.memories).Fix("name fewer projects")
	}
	if o.duration < 100*time.Millisecond || o.duration > 24*time.Hour {
		return problem.Invalidf("duration", "%s is too short to tell anything, or longer than a day", o.duration).Fix("say 10s")
	}
	return nil
}

// sizes reads --growth.
func (o benchRecallFlags) sizes() ([]int, error) {
	if o.growth == "" {
		return []int{o.memories}, nil
	}
	var out []int
	for part := range strings.SplitSeq(o.growth, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < o.projects {
			return nil, problem.Invalidf("growth", "%q is no number of memories for %d projects", strings.TrimSpace(part), o.projects).Fix("write it like 1000,10000,100000")
		}
		out = append(out, n)
	}
	if !slices.IsSorted(out) || len(out) > 8 {
		return nil, problem.Invalidf("growth", "the sizes do not grow, or are more than 8").Fix("write it like 1000,10000,100000")
	}
	return out, nil
}

func (a *app) benchRecall(ctx context.Context, o benchRecallFlags) error {
	sizes, err := o.sizes()
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	mix, err := recall.ParseMix(o.mix)
	if err != nil {
		return err
	}
	switch {
	case o.compare != "":
		return a.benchCompared(ctx, o)
	case o.follow != "":
		return a.benchLoaded(ctx, o, mix, func(ctx context.Context, b *recall.Bench) error {
			return recall.Follow(ctx, b, a.in, flushing{a.out})
		})
	}
	var results []*recall.Result
	for _, o.memories = range sizes {
		if err := a.benchLoaded(ctx, o, mix, func(ctx context.Context, b *recall.Bench) error {
			r, err := b.Round(ctx, o.duration)
			if err != nil {
				return err
			}
			results = append(results, r)
			if o.questions == 0 {
				return nil
			}
			exact, err := b.Exact(ctx, o.questions)
			r.ExactTop10, r.Questions = &exact, o.questions
			return err
		}); err != nil {
			return err
		}
	}
	if o.growth != "" {
		g := recall.Grow(results)
		return a.answer(g, func(p *printer) { _ = g.WriteText(p.w) }) // the writer keeps its error, and the end of the command tells it
	}
	return a.answer(results[0], func(p *printer) { _ = results[0].WriteText(p.w) })
}

// benchLoaded loads the memories into a database of their own, for as long as work takes.
func (a *app) benchLoaded(ctx context.Context, o benchRecallFlags, mix recall.Mix, work func(context.Context, *recall.Bench) error) error {
	show, clean := a.progress("loading", "memory")
	defer clean()
	tracer := &recall.Tracer{}
	return a.withScratch(ctx, o.provider, postgres.Scratch{Suffix: "_bench" + o.follow, Tracer: tracer}, func(ctx context.Context, s opened) error {
		b, err := recall.New(ctx, recall.Options{DB: s.db, OwnerURL: s.owner, Store: s.store, Embedder: s.embedder, Tracer: tracer,
			Memories: o.memories, Projects: o.projects, Concurrency: o.concurrency, Mix: mix, Seed: o.seed, Progress: show})
		clean()
		if err != nil {
			return err
		}
		return work(ctx, b)
	})
}

// benchCompared has this build and another one measured in turns.
func (a *app) benchCompared(ctx context.Context, o benchRecallFlags) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	args := func(suffix string) []string {
		return []string{"bench", "recall", "--follow", suffix, "--memories", strconv.Itoa(o.memories), "--projects", strconv.Itoa(o.projects),
			"--concurrency", strconv.Itoa(o.concurrency), "--mix", o.mix, "--provider", o.provider, "--seed", strconv.FormatUint(o.seed, 10)}
	}
	show, clean := a.progress("measuring", "round")
	defer clean()
	c, err := recall.Compare(ctx, [2]string{self, o.compare}, [2][]string{args("_a"), args("_b")}, o.rounds, o.duration, o.questions, show)
	if err != nil {
		return err
	}
	clean()
	return a.answer(c, func(p *printer) { _ = c.WriteText(p.w) })
}
