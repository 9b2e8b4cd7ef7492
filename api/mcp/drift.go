package mcp

import (
	"context"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type driftScoreArgs struct{ readPlace }

type driftDetailsArgs struct {
	Run     string `arg:"run" also:"id" doc:"default: the newest"`
	Element string `arg:"element" doc:"only this one"`
	readPlace
}

type driftHistoryArgs struct {
	Limit  *int   `arg:"limit"`
	Before string `arg:"before" doc:"time or date"`
	readPlace
}

// driftRuns is the shape of an answer that is several runs.
type driftRuns struct {
	Runs []memory.RunSummary `json:"runs"`
}

func driftScore(ctx context.Context, c *call, _ driftScoreArgs) (memory.DriftScore, string, error) {
	s, err := c.DriftScore(ctx, c.caller)
	if err != nil {
		return s, "", err
	}
	return s, memory.RenderDriftScore(s), nil
}

func driftDetails(ctx context.Context, c *call, a driftDetailsArgs) (memory.RunReport, string, error) {
	r, err := c.DriftRun(ctx, c.caller, a.Run)
	if err != nil {
		return r, "", err
	}
	if a.Element != "" {
		r = r.Of(a.Element)
	}
	return r, memory.RenderRunReport(r), nil
}

func driftHistory(ctx context.Context, c *call, a driftHistoryArgs) (driftRuns, string, error) {
	before, err := moment("before", a.Before)
	if err != nil {
		return driftRuns{}, "", err
	}
	q := memory.RunQuery{Tracked: true}
	if before != nil {
		q.Before = before.Add(time.Microsecond)
	}
	if a.Limit != nil {
		if *a.Limit < 1 || *a.Limit > maxRuns {
			return driftRuns{}, "", problem.Invalidf("limit", "%d is out of range", *a.Limit).Fix("give 1 to %d", maxRuns)
		}
		q.Limit = *a.Limit
	}
	runs, err := c.DriftHistory(ctx, c.caller, q)
	if err != nil {
		return driftRuns{}, "", err
	}
	return driftRuns{runs}, memory.RenderRuns(runs), nil
}

// maxRuns is the most runs of one answer; the domain takes no more.
const maxRuns = 200
