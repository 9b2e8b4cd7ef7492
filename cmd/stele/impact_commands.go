package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/memory"
)

func (a *app) impactCommand() *cobra.Command {
	var r memory.ImpactRequest
	c := &cobra.Command{
		Use: "impact ELEMENT", Short: "Show what a change of an element touches", Args: cobra.ExactArgs(1), Example: "  stele impact shop.api --depth 3",
		Long: "Show what depends on an element and what it depends on, by the model and by the\n" +
			"imports that the latest run of the tracked branch found; what is known there,\n" +
			"pitfalls first, and who works there now.",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Element = args[0]
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				out, err := b.Impact(cmd.Context(), c, r)
				if err != nil {
					return err
				}
				return a.answer(out, func(p *printer) { p.lines(memory.ImpactText(out)) })
			})
		},
	}
	c.Flags().IntVar(&r.Depth, "depth", memory.DefaultImpactDepth, "steps along dependencies, at most 6")
	c.Flags().IntVar(&r.Limit, "limit", memory.DefaultImpactLimit, "elements in each direction at most")
	return c
}

func (a *app) planCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "plan TASK", Short: "Put a task in steps on elements of the model", Args: cobra.MinimumNArgs(1), Example: `  stele plan "let customers cancel an order"`,
		Long: "Choose the elements a task is about and order them, what others depend on first:\n" +
			"each with the decisions, conventions and pitfalls that bind it, the doubts to\n" +
			"settle first and the neighbours to look at after. No language model takes part.",
		RunE: func(cmd *cobra.Command, args []string) error {
			task, err := a.text(args)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				out, err := b.Plan(cmd.Context(), c, memory.PlanRequest{Task: task, Limit: limit})
				if err != nil {
					return err
				}
				return a.answer(out, func(p *printer) { p.lines(memory.PlanText(out)) })
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", memory.DefaultPlanLimit, "how many steps at most")
	return c
}

// lines writes text that has been cleaned, wrapped below the beginning of each line.
func (p *printer) lines(text string) {
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " ")
		before := line[:len(line)-len(rest)]
		p.hanging(before, before+indent, rest)
	}
}
