package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/github"
	"github.com/stele-dev/stele/drift/since"
	"github.com/stele-dev/stele/internal/config/checkout"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// maxQueued bounds the projects that wait for a run of this server. A push that finds no place comes again with the next one.
const maxQueued = 100

// runTimeout bounds one run, with bringing the repository here.
const runTimeout = 20 * time.Minute

// codeTimeout bounds a look at code that a page waits for.
const codeTimeout = 10 * time.Second

// driftRunner compares projects whose repositories this server reads itself: by schedule, after a push that GitHub tells of, or
// when somebody asks. One at a time: a run takes a processor and a disk for a while.
type driftRunner struct {
	b         *backend
	dir       string   // of the mirrors
	protocols []string // of git; nil is https and ssh
	log       *slog.Logger
	started   time.Time

	queue chan projectRef

	mu      sync.Mutex
	waiting map[projectRef]bool
	last    map[projectRef]time.Time // when the schedule last had it run
}

type projectRef struct{ org, project uuid.UUID }

func newDriftRunner(b *backend, log *slog.Logger) *driftRunner {
	return &driftRunner{
		b: b, dir: filepath.Join(b.config.DataDir, "repositories"), log: log, started: time.Now(),
		queue: make(chan projectRef, maxQueued), waiting: map[projectRef]bool{}, last: map[projectRef]time.Time{},
	}
}

// errBusy says that too many projects wait.
var errBusy = problem.New(problem.TooMany, "", "too many projects wait for a run of this server", "try again in a minute")

// Queue has a project compared soon. One that waits already waits once.
func (r *driftRunner) Queue(_ context.Context, org, project uuid.UUID) error {
	ref := projectRef{org, project}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[ref] {
		return nil
	}
	select {
	case r.queue <- ref:
		r.waiting[ref] = true
		return nil
	default:
		return errBusy
	}
}

// Pushed queues the projects that follow a branch which GitHub tells of, and counts them.
func (r *driftRunner) Pushed(ctx context.Context, p github.Push) (int, error) {
	orgs, err := r.b.store.OrganizationIDs(ctx)
	if err != nil {
		return 0, err
	}
	queued := 0
	for _, org := range orgs {
		projects, err := r.b.local.DriftProjects(ctx, org)
		if err != nil {
			return queued, err
		}
		for _, dp := range projects {
			follows := dp.Settings.TrackedBranch == "" || dp.Settings.TrackedBranch == p.Branch
			if checkout.Normalize(dp.Settings.CloneURL) != p.Repository || !follows {
				continue
			}
			if err := r.Queue(ctx, org, dp.Project); err != nil {
				return queued, err
			}
			queued++
		}
	}
	return queued, nil
}

// sweep removes the mirrors of projects that are not read any more.
func (r *driftRunner) sweep(ctx context.Context) error {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for mirrors: %w", err)
	}
	orgs, err := r.b.store.OrganizationIDs(ctx)
	if err != nil {
		return err
	}
	read := map[string]bool{}
	for _, org := range orgs {
		projects, err := r.b.local.DriftProjects(ctx, org)
		if err != nil {
			return err
		}
		for _, p := range projects {
			read[p.Project.String()] = true
		}
	}
	for _, e := range entries {
		if _, err := uuid.Parse(e.Name()); err != nil || read[e.Name()] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(r.dir, e.Name())); err != nil {
			return fmt.Errorf("removing a mirror: %w", err)
		}
	}
	return nil
}

// work runs what is queued until ctx is done.
func (r *driftRunner) work(ctx context.Context) {
	if err := r.sweep(ctx); err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "mirrors that are not needed any more could not be removed", "error", err)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case ref := <-r.queue:
			r.mu.Lock()
			delete(r.waiting, ref)
			r.mu.Unlock()
			err := survive(ctx, ref.org, func(ctx context.Context, org uuid.UUID) error {
				ctx, cancel := context.WithTimeout(ctx, runTimeout)
				defer cancel()
				return r.run(ctx, org, ref.project)
			})
			if err != nil && ctx.Err() == nil {
				r.log.WarnContext(ctx, "a project could not be compared with its code", "organization", ref.org, "project", ref.project, "error", err)
			}
		}
	}
}

// due queues the projects of an organization whose schedule says so.
func (r *driftRunner) due(ctx context.Context, org uuid.UUID) error {
	projects, err := r.b.local.DriftProjects(ctx, org)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	for _, dp := range projects {
		if dp.Settings.Schedule == "" {
			continue
		}
		schedule, err := cron.ParseStandard(dp.Settings.Schedule)
		if err != nil {
			continue // it was checked when it was set; a newer program may know more
		}
		ref := projectRef{org, dp.Project}
		r.mu.Lock()
		last, known := r.last[ref]
		if !known {
			last = r.started.UTC()
		}
		isDue := !schedule.Next(last).After(now)
		if isDue {
			r.last[ref] = now
		}
		r.mu.Unlock()
		if isDue {
			if err := r.Queue(ctx, org, dp.Project); err != nil {
				return err
			}
		}
	}
	return nil
}

// run brings the repository here, compares the tip of the tracked branch, and takes the run as any other.
func (r *driftRunner) run(ctx context.Context, org, project uuid.UUID) error {
	c := memory.Caller{Org: org, Project: project, User: "stele", Role: memory.RoleAdmin, Door: memory.FromAPI}
	settings, err := r.b.local.DriftSettings(ctx, c)
	if err != nil || settings.CloneURL == "" {
		return err
	}
	repo, tip, err := git.Mirror(ctx, filepath.Join(r.dir, project.String()), git.Remote{URL: settings.CloneURL, Branch: settings.TrackedBranch, Protocols: r.protocols})
	if err != nil {
		return err
	}
	branch := repo.Branch(ctx)
	push := memory.RunPush{
		Repository: cmp.Or(checkout.Normalize(settings.CloneURL), settings.CloneURL), Branch: branch, DefaultBranch: branch, Tracked: true,
	}
	if push.Ancestors, err = repo.Ancestors(ctx, tip.ID, memory.MaxAncestors); err != nil {
		return err
	}
	if push.Owners, err = codeOwners(ctx, repo, tip.ID); err != nil {
		return err
	}
	source := drift.Source{Repository: repo}
	in, err := source.Load(ctx, tip.ID)
	if problem.Is(err, problem.NotFound) {
		in, err = r.withStoredModel(ctx, c, &source, tip)
	}
	p, explained := problem.As(err)
	switch {
	case err != nil && !explained:
		return err
	case err != nil:
		push.Report = *drift.Unchecked(tip, tip.Time, p.Detail, p.Fixes...)
	default:
		report, err := drift.Run(ctx, repo, in, drift.Options{Source: &source})
		if err != nil {
			return err
		}
		push.Report = *report
		if in.ModelFile != "" {
			push.Model, push.Bindings, push.Source = in.Model, in.Bindings, in.ModelFile
		}
		if push.Verdicts, err = judge(ctx, r.b.local, c, repo, in, report); err != nil {
			return err
		}
	}
	answer, err := r.b.local.PushRun(ctx, c, push)
	if err == nil {
		r.log.InfoContext(ctx, "compared a project with its code", "organization", org, "project", project, "repeated", answer.Repeated, "new_findings",
			len(answer.NewFindings), "doubted", len(answer.Doubted))
	}
	return err
}

// code compares the code of a span in the mirror of a project, as far as an earlier run brought it here.
func (r *driftRunner) code(ctx context.Context, project uuid.UUID, span memory.CodeSpan) (since.Changes, error) {
	ctx, cancel := context.WithTimeout(ctx, codeTimeout)
	defer cancel()
	repo, err := git.Open(ctx, filepath.Join(r.dir, project.String()))
	if err != nil {
		return since.Changes{}, problem.New(problem.NotFound, "", "this server has no copy of the repository", "name its address: stele drift settings --clone-url URL",
			"in a checkout: stele changes "+span.Handle)
	}
	return compareSpan(ctx, repo, span)
}

// compareSpan compares the code of a span, up to the newest commit of the repository where no tracked run tells of another.
func compareSpan(ctx context.Context, repo *git.Repository, span memory.CodeSpan) (since.Changes, error) {
	to := span.To
	if _, err := repo.Commit(ctx, to); to == "" || err != nil {
		to = "HEAD"
	}
	out, err := since.Compare(ctx, repo, since.Span{From: span.From, To: to, Patterns: span.Patterns})
	if err != nil && ctx.Err() == nil {
		return out, problem.New(problem.NotFound, "", "the repository here does not have "+memory.Line(span.From)+", against which "+span.Handle+" was written",
			"fetch its history: git fetch --unshallow")
	}
	return out, err
}

// withStoredModel compares a repository that holds no model with the one that the server keeps.
func (r *driftRunner) withStoredModel(ctx context.Context, c memory.Caller, source *drift.Source, tip git.Commit) (*drift.Input, error) {
	view, err := r.b.local.Model(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(view.Elements) == 0 {
		return nil, problem.New(problem.NotFound, "model", "neither the repository nor the server has a model", "stele model draft", "stele model import FILE")
	}
	source.Model, source.Bindings = view.Model(), view.Bindings
	return source.Load(ctx, tip.ID)
}

// branches asks GitHub whether a branch has a commit, when it was told how to.
func (b *backend) branches() memory.Branches {
	if b.config.GitHubToken == "" {
		return nil
	}
	c, err := github.NewClient(b.config.GitHubToken, b.config.GitHubAPI, http.DefaultTransport)
	if err != nil {
		return nil // an address that is none: nobody is asked, and runs need a token with the right
	}
	return c
}
