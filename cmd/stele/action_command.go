package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/action"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/report"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// actionCommand is what the GitHub Action runs. It takes its inputs from the environment, as runners hand them over.
func (a *app) actionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action", Hidden: true, Args: cobra.NoArgs,
		Short: "Compare the model with the code in a job of GitHub Actions",
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runAction(cmd.Context()) },
	}
}

// jobRun is one job of GitHub Actions.
type jobRun struct {
	*app

	job    *action.Job
	log    action.Log
	e      *driftEvaluation
	out    action.Result
	b      *backend // the server, once it was asked for
	caller memory.Caller
}

func (a *app) runAction(ctx context.Context) error {
	job, err := action.ReadJob(a.environment.Variables)
	r := &jobRun{app: a, job: job, log: action.NewLog(a.out)}
	// Standard error goes to the same log, where a line may be a command to the runner.
	a.err = r.log.Errors()
	r.log.Mask(job.Secrets()...)
	if err != nil {
		return err
	}
	a.dir = job.Workspace
	if job.Deleted {
		r.out.Report = drift.Unchecked(git.Commit{}, time.Time{}, "the branch was deleted")
		return action.Publish(ctx, job, r.log, &r.out)
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.e.close()
	base, err := action.FindBase(ctx, job, r.e.repo, r.e.commit)
	if err != nil {
		return err
	}
	r.out.Notes = base.Notes
	if err := r.evaluate(ctx, base); err != nil {
		return err
	}
	r.askServer(ctx, base)
	if err := r.writeSARIF(); err != nil {
		return err
	}
	if err := action.Publish(ctx, job, r.log, &r.out); err != nil {
		return err
	}
	if !drift.Passed(r.out.Gates) {
		return errNo
	}
	return nil
}

func (r *jobRun) note(text string) { r.out.Notes = append(r.out.Notes, text) }

// open opens the checkout. A model that was named leads to its project: the nearest stele.yaml above it.
func (r *jobRun) open(ctx context.Context) error {
	folder, model := r.job.Workspace, ""
	if r.job.Model == fromServer {
		if r.silent() != "" {
			return r.openAt(ctx, folder, "")
		}
		if err := r.connect(ctx); err != nil {
			return err
		}
		model = fromServer
	} else if r.job.Model != "" {
		name, err := r.resolve(r.job.Model)
		if err != nil {
			return err
		}
		info, err := os.Stat(name)
		if err == nil && !info.IsDir() {
			name = filepath.Dir(name)
		}
		if err == nil {
			folder = name
		}
	}
	return r.openAt(ctx, folder, model)
}

func (r *jobRun) openAt(ctx context.Context, folder, model string) error {
	e, err := r.openDrift(ctx, driftOptions{repo: folder, model: model})
	if p, ok := problem.As(err); ok && p.Field == "repository" {
		return p.Fix("put a step with actions/checkout before this one")
	}
	r.e = e
	return err
}

// evaluate compares the commit with its model, and holds the gates. No model is neither good nor bad unless one is required; a
// model that cannot be read fails the gates there are.
func (r *jobRun) evaluate(ctx context.Context, base action.Base) error {
	gates := r.job.Gates
	var err error
	switch {
	case r.job.Model != fromServer:
		err = r.e.findModel(ctx, r.app, r.job.Model)
	case r.b == nil:
		err = problem.New(problem.NotFound, "model", "the model is on the server, and "+r.silent())
	}
	r.e.named = r.job.Model != ""
	if err == nil {
		r.e.input, err = r.e.source.LoadTree(ctx, r.e.commit, r.e.tree)
	}
	if err == nil {
		r.out.Report, err = drift.Run(ctx, r.e.repo, r.e.input, drift.Options{Cache: r.e.facts, Source: &r.e.source})
	}
	p, ok := problem.As(err)
	switch {
	case err == nil:
		r.out.Warnings = append(r.out.Warnings, r.e.warnings...)
		if serr := r.e.facts.save(); serr != nil {
			r.log.Say("the facts about files could not be kept for the next run: %v", serr)
		}
	case ok && (p.Code == problem.NotFound || p.Field == "model"):
		gates.AllowUnchecked = !gates.RequireModel
		reason := "the repository has no architecture model"
		if r.job.Model != "" {
			reason = p.Detail
		}
		r.out.Report = drift.Unchecked(r.e.commit, r.e.commit.Time, reason, append([]string{"stele model draft, to have one proposed"}, p.Fixes...)...)
	case ok && p.Code != problem.Unavailable:
		r.out.Report = drift.Unchecked(r.e.commit, r.e.commit.Time, "the model cannot be read: "+p.Field+": "+p.Detail, p.Fixes...)
		r.log.Annotate(located(p))
	default:
		return err
	}
	r.out.Branch = r.job.Branch
	results, unknown, err := action.Compare(ctx, r.out.Report, gates, base, func(ctx context.Context, c git.Commit) (*drift.Report, error) {
		tree, err := r.e.repo.Tree(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		report, _, err := r.e.runAt(ctx, c, tree, -1)
		return report, err
	})
	if err != nil {
		return err
	}
	r.out.Gates = results
	if unknown != "" && r.e.input != nil {
		r.note("New findings are not told apart: " + unknown + ".")
	}
	return nil
}

// place finds a file and a line at the beginning of a problem.
var placed = regexp.MustCompile(`^(\S+\.\w+):(\d+)`)

// located shows a problem of a file where it is.
func located(p *problem.Error) action.Annotation {
	out := action.Annotation{Level: action.Error, Title: "Stele", Text: p.Error()}
	if m := placed.FindStringSubmatch(p.Error()); m != nil {
		out.File = m[1]
		out.Line, _ = strconv.Atoi(m[2])
	}
	return out
}

// writeSARIF writes the findings for code scanning, when a file is named.
func (r *jobRun) writeSARIF() error {
	if r.job.SARIFFile == "" {
		return nil
	}
	text, err := report.SARIF(r.out.Report, thisBuild().Version)
	if err != nil {
		return err
	}
	name, err := r.resolve(r.job.SARIFFile)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755) //nolint:gosec // a later step, of any user, reads it
	}
	if err == nil {
		err = os.WriteFile(name, text, 0o644) //nolint:gosec // a later step uploads it
	}
	if err != nil {
		return problem.New(problem.Unavailable, "sarif-file", "the file cannot be written: "+err.Error(), "name another file").Because(err)
	}
	return nil
}

// silent says why no server is asked, "" when one is.
func (r *jobRun) silent() string {
	switch {
	case r.job.Fork():
		return "this pull request comes from a fork: it is reported on this page and nowhere else"
	case r.job.ServerURL == "":
		return "no server is named"
	case r.job.Token == "":
		return "there is no token for the Stele server, so nothing is sent to it"
	}
	return ""
}

// askServer sends the run and asks which memories it has to do with. Whatever goes wrong there is a warning: whether the code fits
// the model does not depend on it.
func (r *jobRun) askServer(ctx context.Context, base action.Base) {
	if why := r.silent(); why != "" {
		if r.job.Fork() || r.job.ServerURL != "" {
			r.note(strings.ToUpper(why[:1]) + why[1:] + ".")
		}
		return
	}
	if r.e.input == nil {
		return
	}
	if err := r.serve(ctx, base); err != nil && ctx.Err() == nil {
		r.log.Annotate(action.Annotation{Level: action.Warning, Title: "Stele: server", Text: r.asProblem(ctx, nil, err).Error()})
		r.note("The Stele server could not be asked; the annotations of the job say why.")
	}
}
