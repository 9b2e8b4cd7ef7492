package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/bench/recall"
	"github.com/stele-dev/stele/internal/problem"
)

func (a *app) benchWriteCommand() *cobra.Command {
	var o benchRecallFlags
	var imported int
	c := &cobra.Command{
		Use: "write", Short: "Measure how fast memories are stored", Args: cobra.NoArgs,
		Long: "Load invented memories into a scratch database, have callers remember more side\n" +
			"by side, then import some, and say how many rows a second were on disk with the\n" +
			"terms they are found by, and how their vectors followed. Nothing of yours is\n" +
			"touched.",
		Example: "  stele bench write --concurrency 16 --import 10000 --provider none\n" +
			"  stele bench write --memories 100000 --projects 20 --json",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchWrite(cmd.Context(), o, imported) },
	}
	f := c.Flags()
	f.IntVar(&o.memories, "memories", 5_000, "that are there before, of all projects together")
	f.IntVar(&o.projects, "projects", 5, "the n-th has 1/n of the first's memories")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "of remembering")
	f.IntVar(&o.concurrency, "concurrency", 16, "callers that remember at a time")
	f.IntVar(&imported, "import", 10_000, "memories to import afterwards; 0 leaves it")
	f.StringVar(&o.provider, "provider", "", "encoder: builtin, openai, ollama or none (default: as configured)")
	f.Uint64Var(&o.seed, "seed", 1, "of what is invented")
	a.completeFlag(c, "provider", fixed(builtin, openAI, ollama, none))
	return c
}

func (a *app) benchWrite(ctx context.Context, o benchRecallFlags, imported int) error {
	o.rounds = 1 // there is one
	if err := o.check(); err != nil {
		return err
	}
	if imported != 0 && (imported < o.projects || imported > 1_000_000) {
		return problem.Invalidf("import", "%d is not from one for each project to 1000000", imported).Fix("choose another number, or 0 to leave it")
	}
	var w *recall.Writes
	if err := a.benchLoaded(ctx, o, recall.Mix{"remember": 1}, func(ctx context.Context, b *recall.Bench) (err error) {
		w, err = b.Write(ctx, o.duration, imported)
		return err
	}); err != nil {
		return err
	}
	return a.answer(w, func(p *printer) { _ = w.WriteText(p.w) }) // the writer keeps its error, and the end of the command tells it
}
