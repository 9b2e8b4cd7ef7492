// Package auth is the gate before every door that listens on the network: it says who calls, refuses whom it must, and
// bounds how much anyone can ask. What a caller may do is decided by the rules behind the doors, not here.
package auth

import (
	"context"
	"net/http"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Authenticator knows tokens; *memory.Service is one.
type Authenticator interface {
	// Authenticate gives the caller that a token speaks for. Errors that are no problem.Unauthenticated are faults.
	Authenticate(ctx context.Context, token string) (memory.Caller, memory.Token, error)
}

// identity is what the gate knows about a request that passed it.
type identity struct {
	caller memory.Caller
	token  memory.Token
}

type identityKey struct{}

// WithCaller gives a context in which c calls. The gate does so for every request that it lets through.
func WithCaller(ctx context.Context, c memory.Caller, t memory.Token) context.Context {
	return context.WithValue(ctx, identityKey{}, identity{c, t})
}

// CallerFrom gives who calls. Without the gate nobody does: a door that was mounted past it answers nothing.
func CallerFrom(ctx context.Context) (memory.Caller, memory.Token, error) {
	if id, ok := ctx.Value(identityKey{}).(identity); ok {
		return id.caller, id.token, nil
	}
	return memory.Caller{}, memory.Token{}, errNoToken()
}

func errNoToken() error {
	return problem.New(problem.Unauthenticated, "", "no token was sent", "send Authorization: Bearer stele_…", "an admin makes one with `stele token create`")
}

// bearer reads the token of a request. There is one place for it: never an address, which ends in logs and histories.
func bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", errNoToken()
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || strings.TrimSpace(token) == "" {
		return "", problem.New(problem.Unauthenticated, "Authorization", "it is not one bearer token", "send Authorization: Bearer stele_…")
	}
	return strings.TrimSpace(token), nil
}
