package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/memory"
)

// waitingModel is the pushed model that waits, as JSON has it; null when none does.
type waitingModel struct {
	Held *memory.HeldModel `json:"held"`
}

func (a *app) modelHeldCommand() *cobra.Command {
	return &cobra.Command{
		Use: "held", Short: "Show the pushed model that waits for a decision", Args: cobra.NoArgs, Example: "  stele model held",
		Long: "A run whose model would drop more than 30 percent of the project's elements is\n" +
			"stored, and its model waits until a reviewer accepts or rejects it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				held, found, err := b.HeldModel(cmd.Context(), c)
				if err != nil {
					return err
				}
				if !found {
					if err := a.answer(waitingModel{}, func(p *printer) { p.line("no model waits") }); err != nil {
						return err
					}
					return errNo
				}
				return a.answer(waitingModel{&held}, func(p *printer) { p.heldModel(held) })
			})
		},
	}
}

// modelDecisionCommand is accept, or reject.
func (a *app) modelDecisionCommand(name, does string, accept bool) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: does, Args: cobra.NoArgs, Example: "  stele model " + name,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), true, func(b *backend, c memory.Caller) error {
				held, err := b.DecideModel(cmd.Context(), c, accept)
				if err != nil {
					return err
				}
				return a.answer(waitingModel{&held}, func(p *printer) {
					if accept {
						p.line("Accepted: %s left", count(len(held.Removed), "element"))
					} else {
						p.line("Rejected: the project keeps its model")
					}
				})
			})
		},
	}
}

func (p *printer) heldModel(h memory.HeldModel) {
	p.hanging("", indent, "A model pushed "+h.HeldAt.UTC().Format(dateTime)+" by "+memory.Line(h.Actor)+" (run "+memory.Line(h.RunID)+") would drop "+
		count(len(h.Removed), "element")+" of "+count(h.Elements, "element")+":")
	p.hanging(indent, indent, memory.Line(strings.Join(h.Removed, ", ")))
	p.line("stele model accept makes it the project's; stele model reject refuses it")
}
