package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type driftService interface {
	findingService
	Model(ctx context.Context, c memory.Caller) (memory.ModelView, error)
	DriftRunChange(ctx context.Context, c memory.Caller, id string) (memory.RunChange, error)
	ChangeDriftSettings(ctx context.Context, c memory.Caller, change memory.DriftSettingsChange) (memory.DriftSettings, error)
	DriftHistory(ctx context.Context, c memory.Caller, q memory.RunQuery) ([]memory.RunSummary, error)
	MayRunDrift(ctx context.Context, c memory.Caller) error
}

const (
	// shownRuns is how many runs a page lists.
	shownRuns = 30
	// chartedRuns is how many tracked runs the chart goes back: the most that can be asked for at once.
	chartedRuns = 200
)

func (p *Pages) registerDrift(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/drift", p.project(p.driftPage))
	mux.Handle("GET /p/{project}/drift/runs/{run}", p.project(p.driftRunPage))
	mux.Handle("POST /p/{project}/drift/run", p.project(p.runDrift))
	mux.Handle("POST /p/{project}/drift/settings", p.project(p.setDrift))
	mux.Handle("POST /p/{project}/drift/badge", p.project(p.setBadge))
}

// driftView is how code and model agree.
type driftView struct {
	memory.DriftScore

	Levels []levelTally // outermost first
	Chart  chart
	Groups []findingGroup // dearest first
	Waived []waived
	Past   []memory.RunSummary
	Older  string         // address of the runs that did not fit
	MayRun bool           // the server would compare now
	NoRun  *problem.Error // why not, for those who could ask; nil where it cannot be asked at all
	Queued bool
	Wrong  *problem.Error

	Settings *driftForm // for those who may change them
}

// levelTally is the score of one level of the model.
type levelTally struct {
	Level string
	drift.Tally
}

// findingGroup is what runs found at one element of one repository.
type findingGroup struct {
	Key, Name  string // of the element; "" for code that belongs to none
	Known      bool   // the model has it
	Repository string // "" where there is only one
	Gain       float64
	Findings   []found
}

// waived is an accepted finding with the repository it is of.
type waived struct {
	drift.WaivedFinding

	Run memory.RunSummary
}

func (p *Pages) driftPage(v *visit) error { return p.showDrift(v, http.StatusOK, driftView{}) }

// runDrift has the server compare the project soon.
func (p *Pages) runDrift(v *visit) error {
	err := p.Service.MayRunDrift(v.ctx(), v.caller)
	switch {
	case err == nil && p.RunDrift == nil:
		err = problem.New(problem.Unavailable, "", "this server reads no repositories", "push a run: stele drift run --push")
	case err == nil:
		err = p.RunDrift(v.ctx(), v.caller.Org, v.project.ID)
	}
	if pr, ok := problem.As(err); ok {
		return p.showDrift(v, status(pr.Code), driftView{Wrong: pr})
	}
	if err != nil {
		return err
	}
	return v.redirect(with(v.place("drift"), "queued", "1"))
}

// showDrift shows the page, with what a form of it led to.
func (p *Pages) showDrift(v *visit, code int, view driftView) error {
	q := v.r.URL.Query()
	view.Queued = q.Get("queued") != ""
	past := memory.RunQuery{Limit: shownRuns}
	if text := q.Get("before"); text != "" {
		before, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return problem.Invalidf("before", "it is not a moment").Fix("follow the link to older runs, or leave it out")
		}
		past.Before = before
	}
	if err := p.compared(v, &view); err != nil {
		return err
	}
	tracked, err := p.Service.DriftHistory(v.ctx(), v.caller, memory.RunQuery{Tracked: true, Limit: chartedRuns})
	if err != nil {
		return err
	}
	view.Chart = chartOf(tracked)
	if view.Past, err = p.Service.DriftHistory(v.ctx(), v.caller, past); err != nil {
		return err
	}
	if len(view.Past) == shownRuns {
		view.Older = with(v.place("drift"), "before", view.Past[shownRuns-1].ArrivedAt.Format(time.RFC3339Nano)) + "#runs"
	}
	if p.RunDrift != nil && v.caller.MayReview() {
		err := p.Service.MayRunDrift(v.ctx(), v.caller)
		if pr, ok := problem.As(err); ok {
			view.NoRun = pr
		} else if err != nil {
			return err
		}
		view.MayRun = err == nil
	}
	if v.caller.MayReview() {
		if view.Settings == nil {
			settings, err := p.Service.DriftSettings(v.ctx(), v.caller)
			if err != nil {
				return err
			}
			view.Settings = &driftForm{TrackedBranch: settings.TrackedBranch, CloneURL: settings.CloneURL, Schedule: settings.Schedule, Badge: settings.Badge}
		}
		view.Settings.badgesAt(v)
	}
	return v.show(code, "drift", "Drift", view)
}

// levelOrder is how the model nests.
var levelOrder = []string{string(c4model.System), string(c4model.Container), string(c4model.Component)}

// levelsOf puts levels in the order in which they nest.
func levelsOf(tallies map[string]drift.Tally) []levelTally {
	var out []levelTally
	for level, tally := range tallies {
		out = append(out, levelTally{level, tally})
	}
	slices.SortFunc(out, func(a, b levelTally) int {
		return cmp.Or(slices.Index(levelOrder, a.Level)-slices.Index(levelOrder, b.Level), cmp.Compare(a.Level, b.Level))
	})
	return out
}

// compared fills in what the latest tracked run of each repository says.
func (p *Pages) compared(v *visit, view *driftView) error {
	var err error
	if view.DriftScore, err = p.Service.DriftScore(v.ctx(), v.caller); err != nil {
		return err
	}
	view.Levels = levelsOf(view.DriftScore.Levels)
	runs := make([]memory.RunReport, len(view.Runs))
	for i, run := range view.Runs {
		if runs[i], err = p.Service.DriftRun(v.ctx(), v.caller, run.ID); err != nil {
			return err
		}
		for _, f := range runs[i].Report.Waived {
			view.Waived = append(view.Waived, waived{f, run})
		}
	}
	view.Groups, err = p.groups(v, runs)
	return err
}

// groups puts what runs found together by element, dearest first.
func (p *Pages) groups(v *visit, runs []memory.RunReport) ([]findingGroup, error) {
	model, err := p.Service.Model(v.ctx(), v.caller)
	if err != nil {
		return nil, err
	}
	names := make(map[string]c4model.Element, len(model.Elements))
	for _, e := range model.Elements {
		names[c4model.FoldKey(e.Key)] = e
	}
	type place struct{ repository, key string }
	at := map[place]int{}
	var groups []findingGroup
	for _, run := range runs {
		for _, f := range run.Report.Findings {
			here := place{run.Run.Repository, c4model.FoldKey(f.Element)}
			i, ok := at[here]
			if !ok {
				i = len(groups)
				at[here] = i
				g := findingGroup{Key: f.Element, Name: f.Element}
				if e, ok := names[here.key]; ok {
					g.Key, g.Name, g.Known = e.Key, e.Name, true
				}
				if len(runs) > 1 {
					g.Repository = run.Run.Repository
				}
				groups = append(groups, g)
			}
			groups[i].Findings = append(groups[i].Findings, found{f, run.Run})
			groups[i].Gain += f.Gain
		}
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Findings, func(a, b found) int { return cmp.Compare(b.Gain, a.Gain) })
	}
	slices.SortStableFunc(groups, func(a, b findingGroup) int { return cmp.Compare(b.Gain, a.Gain) })
	return groups, nil
}
