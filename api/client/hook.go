package client

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/memory"
)

// Hook tells of an event of an agent's client. Told twice it may inject twice, and keeps nothing twice.
func (c *Client) Hook(ctx context.Context, by memory.Caller, r hook.Request) (hook.Response, error) {
	q, err := inProject(by, http.MethodPost, r, "hook")
	q.lost = repeatable
	return read[hook.Response](ctx, c, q, err)
}
