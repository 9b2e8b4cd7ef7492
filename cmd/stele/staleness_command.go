package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/drift/staleness"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

func (a *app) benchStalenessCommand() *cobra.Command {
	var repository string
	var o staleness.Options
	c := &cobra.Command{
		Use: "staleness", Short: "Measure, on a history, which alarms about statements are right", Args: cobra.NoArgs,
		Long: "Take what the documents of a repository (CLAUDE.md, AGENTS.md, README.md,\n" +
			"CONTRIBUTING.md, docs) stated at an old commit, walk its history forward, and\n" +
			"hold the alerts of each rule against two truths: what Universal Ctags and git\n" +
			"say is gone, and what the authors later rewrote or removed. Nothing is written,\n" +
			"and neither a server nor a database is needed. With --json, every statement and\n" +
			"alert is told.",
		Example: "  stele bench staleness --repo ../shop\n  stele bench staleness --repo ../shop --from 2024-06-01 --steps 12 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Steps < 0 {
				return problem.Invalidf("steps", "%d steps cannot be walked", o.Steps).Fix("use 1 or more, or 0 for every commit that touches the ground")
			}
			ctx := cmd.Context()
			dir, err := a.folder()
			if err != nil {
				return err
			}
			if !filepath.IsAbs(repository) {
				repository = filepath.Join(dir, repository)
			}
			repo, err := git.Open(ctx, repository)
			if err != nil {
				return err
			}
			show, clean := a.progress("walking", "step")
			defer clean()
			o.Progress = show
			report, err := staleness.Replay(ctx, repo, o)
			if err != nil {
				return err
			}
			clean()
			return a.answer(report, func(p *printer) { p.staleness(report) })
		},
	}
	f := c.Flags()
	f.StringVar(&repository, "repo", ".", "repository whose history is replayed")
	f.StringVar(&o.From, "from", "", "commit, branch, tag or day to begin at (default two years before the end)")
	f.StringVar(&o.To, "to", "", "commit, branch or tag to end at (default HEAD)")
	f.IntVar(&o.Steps, "steps", staleness.DefaultSteps, "commits to look from, evenly spaced; 0: each that touches the ground")
	f.StringVar(&o.Ctags, "ctags", "ctags", "program of Universal Ctags")
	return c
}

// staleness prints what the rules of a replay are worth.
func (p *printer) staleness(r *staleness.Report) {
	last := r.Steps[len(r.Steps)-1]
	day := func(s staleness.Step) string { return fmt.Sprintf("%.7s (%s)", s.Commit, s.Time.Format(time.DateOnly)) }
	p.hanging("", "", fmt.Sprintf("%s of %s, from %s to %s in %s. Left out: %s that rest on nothing found in code.",
		count(len(r.Statements), "statement"), count(r.Documents, "document"), day(r.From), day(last), count(len(r.Steps), "step"), count(r.Ungrounded, "statement")))
	p.line("")
	if r.Mechanical == nil {
		p.hanging("", indent, "Not measured against what is gone from the repository: "+r.NotMeasured+".")
	} else {
		p.truth("Against what is gone from the repository", "gone", r.Mechanical)
	}
	p.line("")
	p.truth("Against what the authors rewrote or removed", "rewritten", r.Human)
}

func (p *printer) truth(title, stale string, t *staleness.Truth) {
	p.line("%s (%s, %d %s)", title, count(t.Statements, "statement"), t.Stale, stale)
	p.line("%s%-14s  %6s  %5s  %9s  %7s  %6s  %9s  %7s", indent, "RULE", "ALERTS", "RIGHT", "PRECISION", "CATCHES", "RECALL", "PER CATCH", "UNKNOWN")
	for _, s := range t.Scores {
		p.line("%s%-14s  %6d  %5d  %9s  %7d  %6s  %9s  %7d", indent, s.Rule, s.Alerts, s.Right, quotient(s.Precision), s.Catches, quotient(s.Recall),
			quotient(s.AlertsPerCatch), s.Unknown)
	}
}

// quotient prints what may be nothing.
func quotient(r *float64) string {
	if r == nil {
		return "-"
	}
	return strconv.FormatFloat(*r, 'f', 2, 64)
}
