package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift"
)

// earlierRuns is how many runs before one are looked through for the nearest that compared anything.
const earlierRuns = 20

// RunChange is a run with what became different since the run before it.
type RunChange struct {
	RunReport // its findings are New where the run before had none like them; as stored without a run before

	// Before is the newest run that arrived earlier for the same repository and branch and compared anything; for a run of the tracked
	// branch one of it, too. Nil when there is none, or when this one compared nothing.
	Before *RunSummary
	Gone   []drift.Finding // of the run before, that this one neither has nor waives
}

// DriftRunChange gives one run and what became different since the run before; "" is the newest tracked one.
func (s *Service) DriftRunChange(ctx context.Context, c Caller, id string) (RunChange, error) {
	run, err := s.DriftRun(ctx, c, id)
	if err != nil {
		return RunChange{}, err
	}
	out := RunChange{RunReport: run, Gone: []drift.Finding{}}
	if run.Report.Status != drift.Checked {
		return out, nil
	}
	err = s.viewRuns(ctx, c, func(v View) error {
		out = RunChange{RunReport: run, Gone: []drift.Finding{}}
		earlier, err := v.Runs(ctx, c.Project, RunQuery{Repository: run.Run.Repository, Branch: run.Run.Branch, Tracked: run.Run.Tracked, Before: run.Run.ArrivedAt, Limit: earlierRuns})
		if err != nil {
			return err
		}
		for i := range earlier {
			if earlier[i].Status != string(drift.Checked) {
				continue
			}
			before, found, err := v.RunReport(ctx, c.Project, uuid.MustParse(earlier[i].ID))
			if err != nil || !found {
				return err
			}
			out.Before, out.Gone = &earlier[i], out.Report.Gone(&before.Report)
			out.Report.Compare(&before.Report)
			return nil
		}
		return nil
	})
	return out, wrap("drift run", err)
}
