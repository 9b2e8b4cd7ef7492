package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

const runColumns = `run_id, repository, branch, ancestors, arrived_at, actor, tracked, late, report, answer, new_findings, doubted`

func scanRun(row pgx.CollectableRow) (memory.Run, error) {
	var r memory.Run
	var report []byte
	if err := row.Scan(&r.ID, &r.Repository, &r.Branch, &r.Ancestors, &r.ArrivedAt, &r.Actor, &r.Tracked, &r.Late, &report, &r.Answer, &r.New, &r.Doubted); err != nil {
		return r, err
	}
	r.ArrivedAt = r.ArrivedAt.UTC()
	return r, json.Unmarshal(report, &r.Report)
}

// runsOf collects runs of a project.
func (v *view) runsOf(ctx context.Context, project uuid.UUID, query string, args ...any) ([]memory.Run, error) {
	rows, err := v.tx.Query(ctx, `SELECT `+runColumns+` FROM drift_runs WHERE org_id = $1 AND project_id = $2 `+query, append([]any{v.org, project}, args...)...)
	if err != nil {
		return nil, err
	}
	runs, err := pgx.CollectRows(rows, scanRun)
	for i := range runs {
		runs[i].Project = project
	}
	return runs, err
}

// SameRun finds the run that a push repeats.
func (v *view) SameRun(ctx context.Context, r memory.Run) (memory.Run, bool, error) {
	runs, err := v.runsOf(ctx, r.Project, `AND repository = $3 AND branch = $4 AND commit = $5 AND input_hash = $6 AND tracked = $7`,
		r.Repository, r.Branch, r.Report.Commit, r.Report.InputHash, r.Tracked)
	if err != nil || len(runs) == 0 {
		return memory.Run{}, false, err
	}
	return runs[0], true, nil
}

// TrackedRuns gives the newest tracked, checked run of a branch that was not late, and the newest whose commit is among some,
// newest first.
func (v *view) TrackedRuns(ctx context.Context, project uuid.UUID, repository, branch string, commits []string) ([]memory.Run, error) {
	const these = `SELECT run_id FROM drift_runs
		WHERE org_id = $1 AND project_id = $2 AND repository = $3 AND branch = $4 AND tracked AND NOT late AND status = 'checked'`
	const newest = ` ORDER BY arrived_at DESC, run_id DESC LIMIT 1)`
	return v.runsOf(ctx, project, `AND run_id IN ((`+these+newest+` UNION (`+these+` AND commit = ANY ($5)`+newest+`) ORDER BY arrived_at DESC, run_id DESC`,
		repository, branch, commits)
}

// LatestTracked gives the latest tracked run of each repository.
func (v *view) LatestTracked(ctx context.Context, project uuid.UUID) ([]memory.Run, error) {
	return v.runsOf(ctx, project, `AND run_id IN (
		SELECT DISTINCT ON (repository) run_id FROM drift_runs
		WHERE org_id = $1 AND project_id = $2 AND tracked AND NOT late ORDER BY repository, arrived_at DESC, run_id DESC)
		ORDER BY repository`)
}

// SaveRun stores a run.
func (t *tx) SaveRun(_ context.Context, r memory.Run) error {
	report, err := json.Marshal(r.Report)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO drift_runs (org_id, project_id, run_id, repository, branch, commit, ancestors, committed_at, arrived_at, actor, tracked, late,
			status, score, coverage, engine_version, input_hash, new_findings, doubted, report, answer)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`,
		t.org, r.Project, r.ID, r.Repository, r.Branch, r.Report.Commit, r.Ancestors, r.Report.CommittedAt, r.ArrivedAt, r.Actor, r.Tracked, r.Late,
		r.Report.Status, r.Report.Score, r.Report.Coverage, r.Report.EngineVersion, r.Report.InputHash, r.New, r.Doubted, report, []byte(r.Answer))
	t.pipeline.later(b)
	return nil
}

const summaryColumns = `run_id, repository, branch, commit, committed_at, arrived_at, actor, tracked, late, status, score, coverage, new_findings, doubted`

func scanSummary(row pgx.CollectableRow) (memory.RunSummary, error) {
	var s memory.RunSummary
	var id uuid.UUID
	err := row.Scan(&id, &s.Repository, &s.Branch, &s.Commit, &s.CommittedAt, &s.ArrivedAt, &s.Actor, &s.Tracked, &s.Late, &s.Status, &s.Score, &s.Coverage,
		&s.NewFindings, &s.Doubted)
	s.ID, s.CommittedAt, s.ArrivedAt = id.String(), s.CommittedAt.UTC(), s.ArrivedAt.UTC()
	return s, err
}

// Runs lists runs, newest first.
func (v *view) Runs(ctx context.Context, project uuid.UUID, q memory.RunQuery) ([]memory.RunSummary, error) {
	rows, err := v.tx.Query(ctx, `SELECT `+summaryColumns+` FROM drift_runs
		WHERE org_id = $1 AND project_id = $2 AND ($3 = '' OR repository = $3) AND ($4 = '' OR branch = $4) AND (tracked AND NOT late OR NOT $5)
		  AND ($6::timestamptz IS NULL OR arrived_at < $6)
		ORDER BY arrived_at DESC, run_id DESC LIMIT $7`, v.org, project, q.Repository, q.Branch, q.Tracked, nullTime(q.Before), q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]memory.RunSummary{}, rows, scanSummary)
}

// latestCompared is what the newest tracked run of a project compared.
const latestCompared = `SELECT commit, branch FROM drift_runs WHERE org_id = $1 AND project_id = $2 AND tracked AND NOT late
	ORDER BY arrived_at DESC, run_id DESC LIMIT 1`

// LatestCompared gives the commit and branch of the newest tracked run.
func (v *view) LatestCompared(ctx context.Context, project uuid.UUID) (c memory.Compared, err error) {
	err = scanCompared(v.tx.QueryRow(ctx, latestCompared, v.org, project), &c)
	return c, err
}

func scanCompared(row pgx.Row, to *memory.Compared) error {
	if err := row.Scan(&to.Commit, &to.Branch); !postgres.IsNoRows(err) {
		return err
	}
	*to = memory.Compared{}
	return nil
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// RunReport gives the report of a run.
func (v *view) RunReport(ctx context.Context, project, run uuid.UUID) (r memory.RunReport, found bool, err error) {
	runs, err := v.runsOf(ctx, project, `AND run_id = $3`, run)
	if err != nil || len(runs) == 0 {
		return r, false, err
	}
	return memory.RunReport{Report: runs[0].Report, Run: runs[0].Summary()}, true, nil
}

// DriftSettings gives what drift is told about a project.
func (v *view) DriftSettings(ctx context.Context, project uuid.UUID) (memory.DriftSettings, error) {
	var s memory.DriftSettings
	err := v.tx.QueryRow(ctx, `SELECT tracked_branch, clone_url, schedule, badge FROM drift_settings WHERE org_id = $1 AND project_id = $2`, v.org, project).
		Scan(&s.TrackedBranch, &s.CloneURL, &s.Schedule, &s.Badge)
	if postgres.IsNoRows(err) {
		return memory.DriftSettings{}, nil
	}
	return s, err
}

// SetDriftSettings replaces what drift is told about a project.
func (t *tx) SetDriftSettings(_ context.Context, project uuid.UUID, s memory.DriftSettings) error {
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO drift_settings (org_id, project_id, tracked_branch, clone_url, schedule, badge) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (org_id, project_id) DO UPDATE SET tracked_branch = excluded.tracked_branch, clone_url = excluded.clone_url,
			schedule = excluded.schedule, badge = excluded.badge`, t.org, project, s.TrackedBranch, s.CloneURL, s.Schedule, s.Badge)
	t.pipeline.later(b)
	return nil
}

// Held gives the model that waits for a person.
func (v *view) Held(ctx context.Context, project uuid.UUID) (h memory.HeldModel, im memory.ModelImport, found bool, err error) {
	var id, run uuid.UUID
	var model []byte
	err = v.tx.QueryRow(ctx, `SELECT held_id, run_id, held_at, actor, removed, elements, model FROM held_models
		WHERE org_id = $1 AND project_id = $2 AND decided_at IS NULL`, v.org, project).
		Scan(&id, &run, &h.HeldAt, &h.Actor, &h.Removed, &h.Elements, &model)
	if postgres.IsNoRows(err) {
		return h, im, false, nil
	}
	if err != nil {
		return h, im, false, err
	}
	h.ID, h.RunID, h.HeldAt = id.String(), run.String(), h.HeldAt.UTC()
	return h, im, true, json.Unmarshal(model, &im) //nolint:musttag // written by HoldModel, read by nobody else
}

// HoldModel keeps a model for a person to decide about, in place of one that waits.
func (t *tx) HoldModel(_ context.Context, project uuid.UUID, h memory.HeldModel, im memory.ModelImport) error {
	model, err := json.Marshal(im) //nolint:musttag // read by Held, and by nobody else
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE held_models SET decided_at = $3, decided_by = $4, accepted = false WHERE org_id = $1 AND project_id = $2 AND decided_at IS NULL`,
		t.org, project, h.HeldAt, h.Actor)
	b.Queue(`INSERT INTO held_models (org_id, project_id, held_id, run_id, held_at, actor, model, removed, elements) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		t.org, project, uuid.MustParse(h.ID), uuid.MustParse(h.RunID), h.HeldAt, h.Actor, model, h.Removed, h.Elements)
	t.pipeline.later(b)
	return nil
}

// DecideModel closes the model that waits.
func (t *tx) DecideModel(_ context.Context, project uuid.UUID, accepted bool, by string, now time.Time) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE held_models SET decided_at = $3, decided_by = $4, accepted = $5 WHERE org_id = $1 AND project_id = $2 AND decided_at IS NULL`,
		t.org, project, now, by, accepted)
	t.pipeline.later(b)
	return nil
}

// DriftProjects gives the projects that have an address to read from.
func (v *view) DriftProjects(ctx context.Context) ([]memory.DriftProject, error) {
	rows, err := v.tx.Query(ctx, `SELECT project_id, tracked_branch, clone_url, schedule, badge FROM drift_settings
		WHERE org_id = $1 AND clone_url <> '' ORDER BY project_id`, v.org)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.DriftProject, error) {
		var p memory.DriftProject
		err := row.Scan(&p.Project, &p.Settings.TrackedBranch, &p.Settings.CloneURL, &p.Settings.Schedule, &p.Settings.Badge)
		return p, err
	})
}
