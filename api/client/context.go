package client

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/memory"
)

// Impact tells what a change of an element touches.
func (c *Client) Impact(ctx context.Context, by memory.Caller, r memory.ImpactRequest) (memory.ImpactResponse, error) {
	q, err := inProject(by, http.MethodGet, nil, "impact")
	q.query = query(map[string]string{"element": r.Element, "depth": number(r.Depth), "limit": number(r.Limit)})
	return read[memory.ImpactResponse](ctx, c, q, err)
}

// Plan puts a task in steps.
func (c *Client) Plan(ctx context.Context, by memory.Caller, r memory.PlanRequest) (memory.PlanResponse, error) {
	q, err := inProject(by, http.MethodPost, r, "plan")
	return read[memory.PlanResponse](ctx, c, q, err)
}
