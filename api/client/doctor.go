package client

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/doctor"
)

// Doctor has the server examine itself and the organization of the token, which needs the admin role. A server of a version
// that cannot answers problem.NotFound.
func (c *Client) Doctor(ctx context.Context) (doctor.Report, error) {
	return read[doctor.Report](ctx, c, request{method: http.MethodGet, path: []string{api, "doctor"}}, nil)
}
