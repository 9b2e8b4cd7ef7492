package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) driftScoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "score", Short: "Show how well code and model agree, by the stored runs", Args: cobra.NoArgs, Example: "  stele drift score --json",
		Long: "Add up the latest run of the tracked branch of each repository of the project.\n" +
			"100 means the code matches the model.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				s, err := b.DriftScore(cmd.Context(), c)
				if err != nil {
					return err
				}
				if err := a.answer(s, func(p *printer) { p.driftScore(s) }); err != nil {
					return err
				}
				if s.Score == nil {
					return errNo
				}
				return nil
			})
		},
	}
}

func (a *app) driftHistoryCommand() *cobra.Command {
	q := memory.RunQuery{Tracked: true}
	var all bool
	c := &cobra.Command{
		Use: "history", Short: "List the stored runs with their scores, newest first", Args: cobra.NoArgs, Example: "  stele drift history --limit 50",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				q.Tracked = !all
				runs, err := b.DriftHistory(cmd.Context(), c, q)
				if err != nil {
					return err
				}
				return a.answer(map[string]any{"runs": append([]memory.RunSummary{}, runs...)}, func(p *printer) {
					for _, r := range runs {
						p.run(r)
					}
					if len(runs) == 0 {
						p.line("no run is stored yet: stele drift run --push")
					}
				})
			})
		},
	}
	f := c.Flags()
	f.IntVar(&q.Limit, "limit", 20, "at most this many, 1 to 200")
	f.StringVar(&q.Repository, "repository", "", "only runs of this repository")
	f.StringVar(&q.Branch, "branch", "", "only runs of this branch")
	f.BoolVar(&all, "all", false, "runs of proposals and of other branches, too")
	return c
}

func (a *app) driftSettingsCommand() *cobra.Command {
	var branch, address, schedule, badge string
	c := &cobra.Command{
		Use: "settings", Short: "Show or change what drift is told about the project", Args: cobra.NoArgs,
		Example: "  stele drift settings --tracked-branch develop\n  stele drift settings --badge on",
		Long: "Without flags, show the settings; with flags, change those. They need the role\n" +
			"reviewer, or the machine of the database.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			change := memory.DriftSettingsChange{}
			changed := false
			for name, to := range map[string]struct {
				from *string
				to   **string
			}{"tracked-branch": {&branch, &change.TrackedBranch}, "clone-url": {&address, &change.CloneURL}, "schedule": {&schedule, &change.Schedule}} {
				if cmd.Flags().Changed(name) {
					*to.to, changed = to.from, true
				}
			}
			if cmd.Flags().Changed("badge") {
				on := badge == "on"
				if !on && badge != "off" {
					return problem.Invalidf("badge", "%q is neither on nor off", badge).Fix("write --badge on or --badge off")
				}
				change.Badge, changed = &on, true
			}
			return a.with(cmd.Context(), changed, func(b *backend, c memory.Caller) error {
				var s memory.DriftSettings
				var err error
				if changed {
					s, err = b.ChangeDriftSettings(cmd.Context(), c, change)
				} else {
					s, err = b.DriftSettings(cmd.Context(), c)
				}
				if err != nil {
					return err
				}
				return a.answer(s, func(p *printer) { p.driftSettings(s) })
			})
		},
	}
	f := c.Flags()
	f.StringVar(&branch, "tracked-branch", "", "branch whose runs put memories in doubt; \"\": the default branch")
	f.StringVar(&address, "clone-url", "", "where the server reads the repository itself; \"\": it does not")
	f.StringVar(&schedule, "schedule", "", "when the server runs: five cron fields, UTC; \"\": never")
	f.StringVar(&badge, "badge", "", "on: a new secret address for badges; off: none")
	a.completeFlag(c, "badge", fixed("on", "off"))
	return c
}

func (p *printer) driftScore(s memory.DriftScore) {
	if s.Score == nil {
		p.hanging("", indent, p.paint(alarm, "Not checked: ")+memory.Line(s.Reason))
	} else {
		p.line("%s   100 means the code matches the model", p.paint(strong, fmt.Sprintf("Score %d", *s.Score)))
		if s.Coverage != nil {
			p.line("%s   percent of the elements in scope are bound to code", p.paint(strong, fmt.Sprintf("Coverage %d", *s.Coverage)))
		}
		p.line("%s", count(s.Findings, "finding"))
	}
	for _, r := range s.Runs {
		p.run(r)
	}
}

// run writes a stored run.
func (p *printer) run(r memory.RunSummary) {
	score := "not checked"
	if r.Score != nil {
		score = fmt.Sprintf("score %d", *r.Score)
	}
	text := r.ArrivedAt.UTC().Format(dateTime) + "  " + p.paint(strong, score)
	if r.NewFindings > 0 {
		text += ", " + count(r.NewFindings, "new finding")
	}
	if r.Doubted > 0 {
		text += ", " + count(r.Doubted, "memory") + " in doubt"
	}
	if r.Late {
		text += ", late"
	}
	if !r.Tracked {
		text += ", proposal"
	}
	p.hanging("", indent, text)
	p.hanging(indent, indent, firstDigits(r.Commit)+" on "+memory.Line(r.Branch)+" of "+memory.Line(r.Repository)+", by "+memory.Line(r.Actor)+", run "+memory.Line(r.ID))
}

func (p *printer) driftSettings(s memory.DriftSettings) {
	or := func(value, otherwise string) string {
		if value == "" {
			return p.paint(faint, otherwise)
		}
		return memory.Line(value)
	}
	p.line("tracked branch  %s", or(s.TrackedBranch, "the default branch that runs name"))
	p.line("clone url       %s", or(s.CloneURL, "none: the server reads nothing itself"))
	p.line("schedule        %s", or(s.Schedule, "never"))
	p.line("badge           %s", or(s.Badge, "off"))
}
