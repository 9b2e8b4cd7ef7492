package client

import (
	"context"
	"net/http"
	"time"

	"github.com/stele-dev/stele/memory"
)

// Watch gives a page of what a run is asked about.
func (c *Client) Watch(ctx context.Context, by memory.Caller, after string) (memory.WatchList, error) {
	q, err := inProject(by, http.MethodGet, nil, "drift", "watch")
	q.query = query(map[string]string{"after": after})
	return read[memory.WatchList](ctx, c, q, err)
}

// PushRun sends a run. Sent twice it is the same run, so it may be tried again.
func (c *Client) PushRun(ctx context.Context, by memory.Caller, p memory.RunPush) (memory.RunAnswer, error) {
	q, err := inProject(by, http.MethodPost, p, "drift", "runs")
	q.large, q.lost = true, repeatable
	return read[memory.RunAnswer](ctx, c, q, err)
}

// DriftHistory lists runs, newest first.
func (c *Client) DriftHistory(ctx context.Context, by memory.Caller, r memory.RunQuery) ([]memory.RunSummary, error) {
	type answer struct {
		Runs []memory.RunSummary `json:"runs"`
	}
	q, err := inProject(by, http.MethodGet, nil, "drift", "runs")
	values := map[string]string{"repository": r.Repository, "branch": r.Branch, "limit": number(r.Limit)}
	if r.Tracked {
		values["tracked"] = "true"
	}
	if !r.Before.IsZero() {
		values["before"] = r.Before.UTC().Format(time.RFC3339Nano)
	}
	q.query = query(values)
	a, err := read[answer](ctx, c, q, err)
	return a.Runs, err
}

// DriftRun gives one run; "" is the newest tracked one.
func (c *Client) DriftRun(ctx context.Context, by memory.Caller, id string) (memory.RunReport, error) {
	if id == "" {
		id = "latest"
	}
	q, err := inProject(by, http.MethodGet, nil, "drift", "runs", id)
	return read[memory.RunReport](ctx, c, q, err)
}

// DriftScore adds up the latest tracked run of each repository.
func (c *Client) DriftScore(ctx context.Context, by memory.Caller) (memory.DriftScore, error) {
	q, err := inProject(by, http.MethodGet, nil, "drift", "score")
	return read[memory.DriftScore](ctx, c, q, err)
}

// RunDrift has the server compare the project soon.
func (c *Client) RunDrift(ctx context.Context, by memory.Caller) error {
	q, err := inProject(by, http.MethodPost, struct{}{}, "drift", "run")
	q.lost = repeatable
	_, err = write[struct {
		Queued bool `json:"queued"`
	}](ctx, c, q, err)
	return err
}

// DriftSettings gives what drift is told about the project.
func (c *Client) DriftSettings(ctx context.Context, by memory.Caller) (memory.DriftSettings, error) {
	q, err := inProject(by, http.MethodGet, nil, "drift", "settings")
	return read[memory.DriftSettings](ctx, c, q, err)
}

// ChangeDriftSettings changes them; what is nil stays.
func (c *Client) ChangeDriftSettings(ctx context.Context, by memory.Caller, change memory.DriftSettingsChange) (memory.DriftSettings, error) {
	q, err := inProject(by, http.MethodPatch, change, "drift", "settings")
	q.lost = repeatable
	return write[memory.DriftSettings](ctx, c, q, err)
}

// held is the answer about a model that waits.
type held struct {
	Held *memory.HeldModel `json:"held"`
}

// HeldModel gives the model that waits for a decision.
func (c *Client) HeldModel(ctx context.Context, by memory.Caller) (memory.HeldModel, bool, error) {
	q, err := inProject(by, http.MethodGet, nil, "model", "held")
	a, err := read[held](ctx, c, q, err)
	if err != nil || a.Held == nil {
		return memory.HeldModel{}, false, err
	}
	return *a.Held, true, nil
}

// DecideModel accepts or refuses it.
func (c *Client) DecideModel(ctx context.Context, by memory.Caller, accept bool) (memory.HeldModel, error) {
	q, err := inProject(by, http.MethodPost, map[string]bool{"accept": accept}, "model", "held")
	a, err := write[held](ctx, c, q, err)
	if err != nil || a.Held == nil {
		return memory.HeldModel{}, err
	}
	return *a.Held, nil
}
