package web

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// driftRunView is one run, and what became different since the one before it.
type driftRunView struct {
	memory.RunChange

	Levels []levelTally   // outermost first
	New    []findingGroup // found here and not by the run before; dearest first
	NewIn  int            // findings of New
	Groups []findingGroup // the others, or all without a run before
	Waived []waived
	Rise   int // of the score since the run before; less than nothing when it fell
}

func (p *Pages) driftRunPage(v *visit) error {
	id := v.r.PathValue("run")
	if _, err := uuid.Parse(id); err != nil {
		return problem.New(problem.NotFound, "run", "there is no such run in this project", "see the runs on the page of drift")
	}
	change, err := p.Service.DriftRunChange(v.ctx(), v.caller, id)
	if err != nil {
		return err
	}
	view := driftRunView{RunChange: change, Levels: levelsOf(change.Report.Levels)}
	for _, f := range change.Report.Waived {
		view.Waived = append(view.Waived, waived{f, change.Run})
	}
	fresh, known := change.RunReport, change.RunReport
	fresh.Report.Findings, known.Report.Findings = nil, nil
	for _, f := range change.Report.Findings {
		if f.New && change.Before != nil {
			fresh.Report.Findings = append(fresh.Report.Findings, f)
		} else {
			known.Report.Findings = append(known.Report.Findings, f)
		}
	}
	view.NewIn = len(fresh.Report.Findings)
	if view.New, err = p.groups(v, []memory.RunReport{fresh}); err != nil {
		return err
	}
	if view.Groups, err = p.groups(v, []memory.RunReport{known}); err != nil {
		return err
	}
	if before := change.Before; before != nil && before.Score != nil && change.Run.Score != nil {
		view.Rise = *change.Run.Score - *before.Score
	}
	return v.show(http.StatusOK, "driftrun", "Run of "+shortCommit(change.Run.Commit), view)
}

// Fell is by how many points the score is lower than in the run before.
func (d driftRunView) Fell() int { return max(0, -d.Rise) }

// Mended is the findings of the run before that are gone.
func (d driftRunView) Mended() []drift.Finding { return d.Gone }
