package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// indexStep is a step of `stele db index` as scripts see it.
type indexStep struct {
	Index   string  `json:"index"`
	Model   string  `json:"model"` // "" when it was dropped
	Seconds float64 `json:"seconds"`
}

func (a *app) dbIndexCommand() *cobra.Command {
	return &cobra.Command{
		Use: "index", Short: "Build the indexes over vectors that are due, drop the others", Args: cobra.NoArgs,
		Long: "Build the indexes over vectors that are due, and drop those of models that are\n" +
			"not used any more. A process that serves does so by itself when it has the\n" +
			"address of the owner, as it has on the embedded database; where servers have\n" +
			"STELE_DATABASE_URL alone, run this with STELE_DATABASE_OWNER_URL, too. Reads\n" +
			"and writes go on meanwhile.",
		Example: "  stele db index",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.operator(cmd.Context())
			if err != nil {
				return err
			}
			if b.owner == "" {
				return problem.New(problem.Invalid, config.Prefix+"DATABASE_OWNER_URL", "it is not set, and "+postgres.AppRole+" may not build indexes",
					"set it to the same database as "+postgres.OwnerRole)
			}
			told := a.tellWhenSlow("indexing vectors")
			steps := []indexStep{}
			err = b.keepIndexes(cmd.Context(), func(c postgres.IndexChange) {
				steps = append(steps, indexStep{c.Name, c.Model, c.Took.Seconds()})
			})
			told.Stop()
			if err != nil {
				return err
			}
			return a.answer(map[string]any{"steps": steps}, func(p *printer) {
				for _, s := range steps {
					if s.Model == "" {
						p.line("Dropped %s", s.Index)
					} else {
						p.line("Built %s over the vectors of %s in %s", s.Index, memory.Line(s.Model), time.Duration(s.Seconds*float64(time.Second)).Round(time.Second/10))
					}
				}
				if len(steps) == 0 {
					p.line("No index is due")
				}
			})
		},
	}
}

// keepIndexes builds and drops indexes over vectors. The owner is needed only when there is something to do; without
// one that is an error that says what to do.
func (b *backend) keepIndexes(ctx context.Context, done func(postgres.IndexChange)) error {
	models, err := b.store.VectorIndexes(ctx)
	if err != nil {
		return err
	}
	there, err := b.db.VectorIndexes(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	due := false
	for _, m := range models {
		wanted[m.IndexName()] = true
		due = due || !there[m.IndexName()].Ready
	}
	due = due || slices.ContainsFunc(slices.Collect(maps.Keys(there)), func(name string) bool { return !wanted[name] })
	switch {
	case !due:
		return nil
	case b.owner == "":
		return errNoOwner
	}
	return postgres.KeepVectorIndexes(ctx, b.owner, models, done)
}

// errNoOwner says that this process may not do what is due.
var errNoOwner = problem.New(problem.Forbidden, config.Prefix+"DATABASE_OWNER_URL", "an index over vectors is due, and "+postgres.AppRole+" may not build it",
	"run `stele db index` where the address of "+postgres.OwnerRole+" is set")
