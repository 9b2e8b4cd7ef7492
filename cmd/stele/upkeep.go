package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// upkeepElection is the number of the election of whoever does the work below (postgres.Election.ID).
const upkeepElection int32 = 1

// dropBatch bounds how many vectors one statement removes, so that none takes long.
const dropBatch = 5000

// elected does the upkeep whenever this process is the one of all that share the database to do it, until ctx is done.
func (b *backend) elected(ctx context.Context, log *slog.Logger, runner *driftRunner) {
	b.db.Elect(ctx, postgres.Election{ID: upkeepElection, Name: "upkeep", Log: log, Work: func(ctx context.Context) error { return b.upkeep(ctx, log, runner) }})
}

// upkeep does what one server does for all, until ctx is done: it removes old answers, gives vectors to memories that were
// written without one, removes those of a model that is no longer used, ends work sessions that fell silent, folds old
// impressions, removes work sessions and runs that are past their time, keeps the indexes over vectors, and analyzes tables that
// were just filled. A run that takes longer than its interval is not joined by another; what fails in one organization is tried
// again later and holds nobody else up.
func (b *backend) upkeep(ctx context.Context, log *slog.Logger, runner *driftRunner) error {
	u := &upkeep{backend: b, log: log}
	jobs := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DiscardLogger)))
	for _, job := range u.jobs(runner) {
		if _, err := jobs.AddFunc(job.every, func() { u.each(ctx, job.run) }); err != nil {
			return err
		}
	}
	// An index takes minutes to build; meanwhile the rest goes on, and the next run finds the lock taken.
	if _, err := jobs.AddFunc("@every 10m", func() { u.index(ctx) }); err != nil {
		return err
	}
	if _, err := jobs.AddFunc("@every 1m", func() { u.analyze(ctx) }); err != nil {
		return err
	}
	u.analyze(ctx)
	u.each(ctx, u.embedAll) // what waited while nobody worked
	jobs.Start()
	u.index(ctx)
	<-ctx.Done()
	<-jobs.Stop().Done()
	return nil
}

// upkeep is the work of one term of office.
type upkeep struct {
	*backend
	log *slog.Logger

	toldOwner sync.Once // that an index is due that this process may not build
}

// upkeepJob is what is done for every organization, and how often.
type upkeepJob struct {
	every string
	run   func(context.Context, uuid.UUID) error
}

// jobs are the jobs of a term. runner is nil where this process reads no repositories.
func (u *upkeep) jobs(runner *driftRunner) []upkeepJob {
	jobs := []upkeepJob{
		{"@every 10m", u.dropAnswers},
		{"@every 15s", u.embedRecent},
		{"@every 10m", u.embedAll},
		{"@every 1m", u.domain.Sweep},
		{"@every 1h", u.domain.Retain},
		{"@every 1h", u.domain.DropCandidates},
		{"@every 1h", u.dropSessions},
		{"@every 1h", u.dropRuns},
	}
	if runner != nil {
		jobs = append(jobs, upkeepJob{"@every 1m", runner.due})
	}
	return jobs
}

// each does a job for every organization.
func (u *upkeep) each(ctx context.Context, run func(context.Context, uuid.UUID) error) {
	orgs, err := u.store.OrganizationIDs(ctx)
	if err != nil && ctx.Err() == nil {
		u.log.WarnContext(ctx, "upkeep cannot list the organizations", "error", err)
	}
	for _, org := range orgs {
		if ctx.Err() != nil {
			return
		}
		if err := survive(ctx, org, run); err != nil && ctx.Err() == nil {
			u.log.WarnContext(ctx, "upkeep failed", "organization", org, "error", err)
		}
	}
}

// recently is how far back the frequent look for memories without a vector goes: longer than a provider that is away
// usually stays away. The rare one looks at everything.
const recently = time.Hour

// survive makes a panic of one job an error: what one organization holds must not end the servers of all, one after the
// other. The value of the panic may be a text, and is left out.
func survive(ctx context.Context, org uuid.UUID, run func(context.Context, uuid.UUID) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked with a %T at\n%s", p, debug.Stack())
		}
	}()
	return run(ctx, org)
}

// dropAnswers removes what retries can no longer ask for.
func (u *upkeep) dropAnswers(ctx context.Context, org uuid.UUID) error {
	n, err := u.store.DropAnswers(ctx, org, time.Now().Add(-memory.AnswerLife))
	if n > 0 {
		u.log.DebugContext(ctx, "dropped answers", "organization", org, "answers", n)
	}
	return err
}

func (u *upkeep) embedRecent(ctx context.Context, org uuid.UUID) error {
	return u.embed(ctx, org, time.Now().Add(-recently))
}

func (u *upkeep) embedAll(ctx context.Context, org uuid.UUID) error {
	if err := u.embed(ctx, org, time.Time{}); err != nil {
		return err
	}
	n, err := u.local.BackfillElements(ctx, org)
	if n > 0 {
		u.log.DebugContext(ctx, "embedded elements", "organization", org, "elements", n)
	}
	if err != nil {
		return err
	}
	return u.dropVectors(ctx, org)
}

// longEmbedding is from how many memories on the log follows a back-fill: the built-in encoder takes some seconds for them.
const longEmbedding = 200

func (u *upkeep) embed(ctx context.Context, org uuid.UUID, since time.Time) error {
	total, told := 0, 0 // told in tenths of total
	done, err := u.local.Backfill(ctx, org, since, func(b memory.Backfilled) {
		total = max(total, b.Filled+b.Refused+b.Waiting)
		if tenth := 10 * (total - b.Waiting) / max(total, 1); total >= longEmbedding && (b.Filled+b.Refused == 0 || tenth > told) && b.Waiting > 0 {
			told = tenth
			u.log.InfoContext(ctx, "embedding", "organization", org, "model", b.Model, "percent", 10*tenth, "done", b.Filled+b.Refused, "waiting", b.Waiting)
		}
	})
	if done.Filled+done.Refused > 0 {
		u.log.InfoContext(ctx, "embedded", "organization", org, "model", done.Model, "vectors", done.Filled, "refused", done.Refused)
	}
	return err
}

// index keeps the indexes over vectors. Without the owner's address it tells once who has to.
func (u *upkeep) index(ctx context.Context) {
	err := survive(ctx, uuid.Nil, func(ctx context.Context, _ uuid.UUID) error {
		return u.keepIndexes(ctx, func(c postgres.IndexChange) {
			what := "built an index over vectors"
			if c.Model == "" {
				what = "dropped an index over vectors"
			}
			u.log.InfoContext(ctx, what, "index", c.Name, "model", c.Model, "took", c.Took.Round(time.Millisecond).String())
		})
	})
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, postgres.ErrIndexing):
	case errors.Is(err, errNoOwner):
		u.toldOwner.Do(func() { u.log.WarnContext(ctx, "upkeep cannot build an index", "error", err) })
	default:
		u.log.WarnContext(ctx, "upkeep failed to keep the indexes over vectors", "error", err)
	}
}

// dropVectors removes vectors of other models, once everything has one of this.
func (u *upkeep) dropVectors(ctx context.Context, org uuid.UUID) error {
	model := u.embedder.Model()
	if model == "" {
		return nil // with no provider at all the old ones may be wanted again
	}
	for {
		n, err := u.store.DropVectors(ctx, org, model, dropBatch)
		if err != nil || n < dropBatch {
			return err
		}
	}
}
