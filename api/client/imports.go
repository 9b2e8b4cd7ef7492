package client

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/memory"
)

// ImportMemories brings memories from elsewhere. Said twice it is as said once: every record has a key.
func (c *Client) ImportMemories(ctx context.Context, by memory.Caller, r memory.ImportRequest) (memory.ImportResponse, error) {
	q, err := inProject(by, http.MethodPost, r, "imports")
	q.lost = repeatable
	return write[memory.ImportResponse](ctx, c, q, err)
}
