package mcp

import (
	"context"
	"time"

	"github.com/stele-dev/stele/drift"
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

// maxFindings bounds the findings of one answer: a model reads all of them, and more than these is a list for the command line.
const maxFindings = 100

// driftReport is the shape of an answer that is a run.
type driftReport struct {
	Run     memory.RunSummary `json:"run"`
	Report  drift.Report      `json:"report"`
	Omitted int               `json:"omitted"` // findings left out; name an element to see its own
}

func driftDetails(ctx context.Context, c *call, a driftDetailsArgs) (driftReport, string, error) {
	r, err := c.DriftRun(ctx, c.caller, a.Run)
	if err != nil {
		return driftReport{}, "", err
	}
	if a.Element != "" {
		if r, err = r.Of(a.Element); err != nil {
			return driftReport{}, "", err
		}
	}
	text := memory.RenderRunReport(r)
	// Keys of elements must not be turned into camelCase, as names of fields are; findings name what has one.
	r.Report.Elements, r.Report.None = nil, nil
	shown := min(len(r.Report.Findings), maxFindings)
	out := driftReport{Run: r.Run, Report: r.Report, Omitted: len(r.Report.Findings) - shown}
	out.Report.Findings = r.Report.Findings[:shown]
	return out, text, nil
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
