package client

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/memory"
)

// Diagram gives a view of the model.
func (c *Client) Diagram(ctx context.Context, by memory.Caller, r memory.DiagramRequest) (diagram.View, error) {
	q, err := inProject(by, http.MethodGet, nil, "diagram")
	q.query = query(map[string]string{"element": r.Element, "view": string(r.View)})
	return read[diagram.View](ctx, c, q, err)
}
