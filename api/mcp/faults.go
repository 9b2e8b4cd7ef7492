package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/stele-dev/stele/internal/problem"
)

// faults keeps, for the requests of one connection or one HTTP exchange, what the protocol says about errors that the
// library calls otherwise: every error of a resource and of a prompt is an internal one to it (−32603), whatever it was.
// The answer is put right on its way out. The zero value is ready for use; a nil one keeps nothing.
type faults struct {
	mu   sync.Mutex
	byID map[string]fault // by the id of the request, as JSON
}

// fault is an error by the protocol: its code, and the resource that was asked for where that was what failed.
type fault struct {
	code int
	uri  string
}

type faultsKey struct{}

func withFaults(ctx context.Context, f *faults) context.Context {
	return context.WithValue(ctx, faultsKey{}, f)
}

// note keeps what is wrong with the request of that id, for its answer.
func (f *faults) note(id any, found fault) {
	key, err := json.Marshal(id)
	if f == nil || err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID == nil {
		f.byID = map[string]fault{}
	}
	f.byID[string(key)] = found
}

// noteFault is the hook that runs after a request failed and before its answer is written.
func noteFault(ctx context.Context, id any, method mcp.MCPMethod, message any, err error) {
	if found, ok := faultOf(ctx, method, message, err); ok {
		kept, _ := ctx.Value(faultsKey{}).(*faults)
		kept.note(id, found)
	}
}

// faultOf classifies the errors that a caller can act on; ok is false for those that are internal indeed, and for those
// that have their code already.
func faultOf(ctx context.Context, method mcp.MCPMethod, message any, err error) (f fault, ok bool) {
	p, acted := problem.As(err)
	switch {
	case method == mcp.MethodResourcesRead && (errors.Is(err, server.ErrResourceNotFound) || acted && p.Code == problem.NotFound):
		f = fault{code: mcp.RESOURCE_NOT_FOUND}
		if server.IsModernRequest(ctx) {
			f.code = mcp.INVALID_PARAMS // revision 2026-07-28 gave the code of its own up
		}
		if r, is := message.(*mcp.ReadResourceRequest); is {
			f.uri = r.Params.URI
		}
		return f, true
	case method != mcp.MethodResourcesRead && method != mcp.MethodPromptsGet || !acted:
		return fault{}, false
	}
	switch p.Code {
	case problem.Invalid, problem.NotFound, problem.Ambiguous:
		return fault{code: mcp.INVALID_PARAMS}, true
	default:
		return fault{}, false
	}
}

// errNoSubscriptions answers subscriptions/listen.
var errNoSubscriptions = errors.New("there is nothing to subscribe to: nothing that this server lists changes while it runs")

// refuseSubscriptions is the hook that runs before a request is looked at. The library would serve a subscription to
// nothing, and loses its acknowledgement, which has to come first, when the end follows at once.
func refuseSubscriptions(ctx context.Context, id any, message any) error {
	raw, _ := message.(json.RawMessage)
	var request struct {
		Method mcp.MCPMethod `json:"method"`
	}
	if json.Unmarshal(raw, &request) != nil || request.Method != mcp.MethodSubscriptionsListen {
		return nil //nolint:nilerr // what cannot be read is refused by the library, in better words
	}
	kept, _ := ctx.Value(faultsKey{}).(*faults)
	kept.note(id, fault{code: mcp.METHOD_NOT_FOUND})
	return errNoSubscriptions
}

// correct gives a message the code it should have; code is 0 for one that is right as it is.
func (f *faults) correct(message []byte) (corrected []byte, code int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byID) == 0 {
		return message, 0
	}
	var answer struct {
		JSONRPC string                   `json:"jsonrpc"`
		ID      any                      `json:"id"`
		Error   *mcp.JSONRPCErrorDetails `json:"error"`
	}
	if json.Unmarshal(message, &answer) != nil || answer.Error == nil {
		return message, 0
	}
	key, err := json.Marshal(answer.ID)
	if err != nil {
		return message, 0
	}
	found, ok := f.byID[string(key)]
	if !ok {
		return message, 0
	}
	delete(f.byID, string(key))
	answer.Error.Code = found.code
	if found.uri != "" {
		answer.Error.Data = map[string]string{"uri": found.uri}
	}
	corrected, err = json.Marshal(answer)
	if err != nil {
		return message, 0
	}
	return append(corrected, '\n'), found.code
}
