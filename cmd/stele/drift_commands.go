package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/report"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (a *app) driftCommand() *cobra.Command {
	c := &cobra.Command{Use: "drift", Short: "Compare the architecture model with the code", Args: cobra.NoArgs, RunE: a.group,
		Example: "  stele drift run\n  stele drift run --min-score 80 --fail-on-new"}
	c.AddCommand(a.driftRunCommand(), a.driftShowCommand(), a.driftWaiveCommand(), a.driftIgnoreCommand(),
		a.driftScoreCommand(), a.driftHistoryCommand(), a.driftSettingsCommand())
	return c
}

func (a *app) driftRunCommand() *cobra.Command {
	var o driftOptions
	var g drift.Gates
	var minScore, minCoverage, maxDrop int
	var base string
	var push pushOptions
	outputs := &outputFlags{}
	c := &cobra.Command{
		Use: "run", Short: "Say where the model and the code of a commit disagree", Args: cobra.ArbitraryArgs,
		Long: "Compare the model with a commit, without a server and without a database. A\n" +
			"score of 100 means the code matches the model. Gates decide the exit code: 0\n" +
			"when all pass, 1 when one fails, 2 when nothing could be evaluated. Gates on new\n" +
			"findings and on a drop compare with the commit where the branch left the default\n" +
			"branch. What is not committed is not looked at. With --push the run is stored in\n" +
			"the project, on the server or in the database; on the tracked branch the model\n" +
			"becomes the project's and memories of what drifts come into doubt.",
		Example: "  stele drift run\n  stele drift run --min-score 80 --fail-on-new --markdown summary.md\n  stele drift run --patch | git apply\n  stele drift run --push",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := outputs.accept(args, a.json); err != nil {
				return err
			}
			for name, threshold := range map[string]struct {
				value *int
				gate  **int
			}{"min-score": {&minScore, &g.MinScore}, "min-coverage": {&minCoverage, &g.MinCoverage}, "max-drop": {&maxDrop, &g.MaxDrop}} {
				if cmd.Flags().Changed(name) {
					*threshold.gate = threshold.value
				}
			}
			if err := g.Validate(); err != nil {
				return err
			}
			if err := push.check(); err != nil {
				return err
			}
			return a.driftRun(cmd.Context(), o, g, base, outputs, push)
		},
	}
	f := c.Flags()
	o.flags(f)
	push.flags(f)
	f.StringVar(&base, "base", "", "commit to compare with (default: where the branch left the default branch)")
	f.IntVar(&minScore, "min-score", 0, "fail below this score")
	f.IntVar(&maxDrop, "max-drop", 0, "fail when the score is more than this below the base's")
	f.BoolVar(&g.FailOnNew, "fail-on-new", false, "fail on a finding that the base does not have")
	f.IntVar(&minCoverage, "min-coverage", 0, "fail when less of the model, in percent, is bound to code")
	f.BoolVar(&g.RequireModel, "require-model", false, "fail when there is no model to compare")
	f.BoolVar(&g.AllowUnchecked, "allow-unchecked", false, "let gates pass that cannot be evaluated")
	f.BoolVar(&o.noHistory, "no-history", false, "do not look up since when")
	outputs.add(f, "sarif", "write SARIF 2.1.0 to a file, - is standard output", func(r driftReport) ([]byte, error) { return report.SARIF(r.Report, thisBuild().Version) })
	outputs.add(f, "markdown", "write a summary for a pull request", func(r driftReport) ([]byte, error) { return []byte(report.Markdown(r.Report, r.Gates)), nil })
	outputs.add(f, "patch", "write one diff with the fixes of model and stele.yaml", func(r driftReport) ([]byte, error) { return report.Patch(r.Report, r.read) })
	return c
}

// outputFlags are flags whose value is a file or, left out, standard output: --sarif, --sarif=FILE and --sarif FILE. The
// flag package takes the FILE of the last spelling for an argument; it belongs to the flag that came before it.
type outputFlags struct {
	all []*outputFlag
}

type outputFlag struct {
	name   string
	file   string // "-" is standard output, "" not wanted
	before int    // arguments seen before the flag, when it came without a value
	set    *pflag.FlagSet
	order  *int // counts flags without a value, so that the last one before an argument is known
	nth    int
	render func(driftReport) ([]byte, error)
}

func (o *outputFlag) String() string { return "" }

// Type is what help shows for the value.
func (o *outputFlag) Type() string { return "FILE" }

// Set takes the value; pflag gives "-" when there is none.
func (o *outputFlag) Set(value string) error {
	if value == "" {
		return problem.Invalidf(o.name, "the name of the file is empty").Fix("leave it out for standard output")
	}
	*o.order++
	o.file, o.before, o.nth = value, o.set.NArg(), *o.order
	return nil
}

func (o *outputFlags) add(f *pflag.FlagSet, name, use string, render func(driftReport) ([]byte, error)) {
	order := new(int)
	if len(o.all) > 0 {
		order = o.all[0].order
	}
	flag := &outputFlag{name: name, set: f, order: order, render: render}
	o.all = append(o.all, flag)
	f.VarPF(flag, name, "", use).NoOptDefVal = "-"
}

// accept gives each argument to the flag it follows. Standard output holds one document.
func (o *outputFlags) accept(args []string, json bool) error {
	for i, arg := range args {
		var owner *outputFlag
		for _, flag := range o.all {
			if flag.file == "-" && flag.before == i && (owner == nil || flag.nth > owner.nth) {
				owner = flag
			}
		}
		if owner == nil || arg == "" {
			return problem.Invalidf("", "%q is no option of this command", arg).Fix("see: stele drift run --help")
		}
		owner.file, owner.before = arg, -1
	}
	var printed []string
	if json {
		printed = append(printed, "--json")
	}
	for _, flag := range o.all {
		if flag.file == "-" {
			printed = append(printed, "--"+flag.name)
		}
	}
	if len(printed) > 1 {
		return problem.Invalidf("", "%s would write to standard output together", strings.Join(printed, " and ")).Fix("give all but one a file: %s FILE", printed[len(printed)-1])
	}
	return nil
}

// driftReport is what scripts get: the report, what the gates said, and what was left out of it.
type driftReport struct {
	*drift.Report

	Gates       []drift.GateResult `json:"gates"`
	Uncommitted int                `json:"uncommitted,omitempty"` // files of the working tree that were not evaluated as they are
	Pushed      *memory.RunAnswer  `json:"pushed,omitempty"`      // what became of the run where it was stored

	read func(name string) ([]byte, error) // a file of the evaluated commit
}

func (a *app) driftRun(ctx context.Context, o driftOptions, g drift.Gates, base string, outputs *outputFlags, push pushOptions) error {
	e, err := a.openDrift(ctx, o)
	if err != nil {
		return err
	}
	defer e.close()
	r := driftReport{read: e.read}
	if r.Report, err = e.run(ctx); err != nil {
		return err
	}
	unknown := "no base was asked for"
	if g.NeedBase() || base != "" {
		if unknown, err = e.compare(ctx, r.Report, base); err != nil {
			return err
		}
	}
	if o.ref == "" {
		if r.Uncommitted, err = e.repo.Uncommitted(ctx); err != nil {
			return err
		}
	}
	r.Gates = g.Apply(r.Report, unknown)
	if err := e.facts.save(); err != nil {
		r.Warnings = append(r.Warnings, "the facts about files could not be kept for the next run: "+err.Error())
	}
	var unpushed error
	if push.push {
		// Who waits for the report gets it, though it could not be stored; a script gets one document.
		if r.Pushed, unpushed = e.push(ctx, a, r.Report, push); unpushed != nil && a.json {
			return unpushed
		}
	}
	if err := a.writeDrift(r, outputs); err != nil {
		return err
	}
	if unpushed != nil {
		return unpushed
	}
	if !drift.Passed(r.Gates) {
		return errNo
	}
	return nil
}

// writeDrift writes every output that was asked for, and the table unless one of them takes its place.
func (a *app) writeDrift(r driftReport, outputs *outputFlags) error {
	printed := false
	for _, flag := range outputs.all {
		if flag.file == "" {
			continue
		}
		text, err := flag.render(r)
		if err != nil {
			return err
		}
		if flag.file == "-" {
			printed = true
			if _, err := a.out.Write(text); err != nil {
				return fmt.Errorf("writing the output: %w", err)
			}
			continue
		}
		name, err := a.resolve(flag.file)
		if err != nil {
			return err
		}
		const mode = 0o644 // it is made to be read by other programs
		if err := os.WriteFile(name, text, mode); err != nil {
			return problem.New(problem.Unavailable, flag.name, "the file cannot be written: "+err.Error(), "name another file").Because(err)
		}
	}
	if printed {
		for _, gate := range r.Gates {
			if !gate.Passed {
				fmt.Fprintf(a.err, "stele: %s failed: %s\n", gate.Gate, gate.Detail)
			}
		}
		return a.out.Flush()
	}
	return a.answer(r, func(p *printer) { p.drift(r) })
}

// resolve makes a name relative to the working folder absolute.
func (a *app) resolve(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	dir, err := a.folder()
	return filepath.Join(dir, name), err
}

func (a *app) driftShowCommand() *cobra.Command {
	var o driftOptions
	c := &cobra.Command{
		Use: "show FINGERPRINT", Short: "Explain one finding: evidence, since when, and how to settle it", Args: cobra.ExactArgs(1),
		Long:    "Evaluate the commit again and explain the finding whose fingerprint begins so.",
		Example: "  stele drift show 3f9c2a",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.openDrift(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer e.close()
			r, err := e.run(cmd.Context())
			if err != nil {
				return err
			}
			_ = e.facts.save() // it only makes the next run faster
			f, err := findFinding(r, args[0])
			if err != nil {
				return err
			}
			return a.answer(f, func(p *printer) { p.finding(f) })
		},
	}
	o.flags(c.Flags())
	return c
}

// driftEdit is what waive and ignore answer.
type driftEdit struct {
	File        string   `json:"file"`
	Changed     bool     `json:"changed"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Expires     string   `json:"expires,omitempty"`
	Ignored     []string `json:"ignored,omitempty"`
}

// waiverDays is how long a finding is accepted when nobody says otherwise: a quarter.
const waiverDays = 90

func (a *app) driftWaiveCommand() *cobra.Command {
	var o driftOptions
	var reason, expires string
	c := &cobra.Command{
		Use: "waive FINGERPRINT", Short: "Accept a finding for a while, in stele.yaml", Args: cobra.ExactArgs(1),
		Long: "Write a waiver for the finding whose fingerprint begins so into the project's\n" +
			"stele.yaml. A waived finding counts neither for nor against the score, is listed\n" +
			"in every report, and comes back on the day the waiver ends.",
		Example: "  stele drift waive 3f9c2a --reason \"moves with the next release\" --expires 90d",
		RunE: func(cmd *cobra.Command, args []string) error {
			until, err := parseWaiverEnd(expires, time.Now())
			if err != nil {
				return err
			}
			o.noHistory = true
			e, err := a.openDrift(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer e.close()
			r, err := e.run(cmd.Context())
			if err != nil {
				return err
			}
			f, err := findFinding(r, args[0])
			if err != nil {
				return err
			}
			w := config.Waiver{Fingerprint: f.Fingerprint, Reason: reason, Expires: until}
			out := driftEdit{Fingerprint: f.Fingerprint, Expires: until.Format(time.DateOnly)}
			err = e.edit(&out, func(text []byte) ([]byte, error) { return config.AddWaiver(text, w) })
			if err != nil {
				return err
			}
			return a.answer(out, func(p *printer) {
				p.hanging("", indent, fmt.Sprintf("%s waived until %s in %s: %s", firstDigits(out.Fingerprint), out.Expires, memory.Line(out.File), memory.Line(f.Message)))
				p.line("Commit the file for it to count.")
			})
		},
	}
	o.flags(c.Flags())
	c.Flags().StringVar(&reason, "reason", "", "why it is accepted")
	c.Flags().StringVar(&expires, "expires", fmt.Sprintf("%dd", waiverDays), "when it ends: a day such as 2027-01-31, or 90d")
	_ = c.MarkFlagRequired("reason") // the flag is there
	return c
}

// parseWaiverEnd reads a day, or a number of days from now.
func parseWaiverEnd(s string, now time.Time) (time.Time, error) {
	today := now.UTC().Truncate(24 * time.Hour)
	end, err := time.Parse(time.DateOnly, s)
	if days, ok := strings.CutSuffix(s, "d"); err != nil && ok {
		var n int
		const most = 3660
		if n, err = strconv.Atoi(days); err == nil && (n < 1 || n > most) {
			err = strconv.ErrRange
		}
		end = today.AddDate(0, 0, n)
	}
	if err != nil || !end.After(today) {
		return time.Time{}, problem.Invalidf("expires", "%q is no day to come", s).Fix("write it as 90d or as %s", today.AddDate(0, 0, waiverDays).Format(time.DateOnly)).Because(err)
	}
	return end, nil
}

func (a *app) driftIgnoreCommand() *cobra.Command {
	var repo string
	c := &cobra.Command{
		Use: "ignore GLOB…", Short: "List code that the model need not know, in stele.yaml", Args: cobra.MinimumNArgs(1),
		Long: "Add globs to the section ignore of the project's stele.yaml, relative to its\n" +
			"folder: folders that no element owns and that are no finding. Quote them for\n" +
			"the shell.",
		Example: "  stele drift ignore 'examples/**' 'tools/gen/**'",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.openDrift(cmd.Context(), driftOptions{repo: repo})
			if err != nil {
				return err
			}
			defer e.close()
			out := driftEdit{Ignored: args}
			if err := e.edit(&out, func(text []byte) ([]byte, error) { return config.AddIgnore(text, args...) }); err != nil {
				return err
			}
			return a.answer(out, func(p *printer) {
				p.hanging("", indent, "ignored in "+memory.Line(out.File)+": "+memory.Line(strings.Join(args, ", ")))
				p.line("Commit the file for it to count.")
			})
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "folder of the project in its repository")
	return c
}

// minPrefix is the least of a fingerprint that names a finding.
const minPrefix = 4

// findFinding finds a finding, waived or not, by the beginning of its fingerprint.
func findFinding(r *drift.Report, prefix string) (drift.WaivedFinding, error) {
	prefix = strings.ToLower(strings.TrimSpace(prefix))
	if len(prefix) < minPrefix || strings.Trim(prefix, "0123456789abcdef") != "" {
		return drift.WaivedFinding{}, problem.Invalidf("fingerprint", "%q is no beginning of a fingerprint", prefix).
			Fix("copy at least %d characters of one that stele drift run shows", minPrefix)
	}
	all := slices.Clone(r.Waived)
	for _, f := range r.Findings {
		all = append(all, drift.WaivedFinding{Finding: f})
	}
	all = slices.DeleteFunc(all, func(f drift.WaivedFinding) bool { return !strings.HasPrefix(f.Fingerprint, prefix) })
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		return drift.WaivedFinding{}, problem.New(problem.Ambiguous, "fingerprint", fmt.Sprintf("%d findings begin with %s", len(all), prefix), "write more of it")
	case r.Status == drift.NotChecked:
		return drift.WaivedFinding{}, problem.New(problem.NotFound, "fingerprint", "nothing was checked: "+r.Reason, r.Fixes...)
	}
	return drift.WaivedFinding{}, problem.New(problem.NotFound, "fingerprint", fmt.Sprintf("no finding of this commit begins with %s", prefix), "stele drift run lists them")
}
