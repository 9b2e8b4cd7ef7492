// Package problem is the error that every door shows to people and agents: what was wrong, where, and how to fix it.
//
// Domain packages return *Error for everything a caller can act on. Doors translate it once, at the edge: the command
// line prints one line, MCP answers with isError, REST with problem+json. Any other error is an internal fault whose
// text is logged and not shown to remote callers.
package problem

import (
	"errors"
	"fmt"
	"strings"
)

// Code classifies a problem; it is stable and scripts may rely on it.
type Code string

// The codes. Each maps to one exit code and one HTTP status at the edge.
const (
	Invalid     Code = "invalid"     // an argument cannot be accepted as it is
	NotFound    Code = "not_found"   // nothing by that name is visible to this caller
	Ambiguous   Code = "ambiguous"   // the name fits several things
	Conflict    Code = "conflict"    // the state of the target forbids it (superseded, title taken)
	Stale       Code = "stale"       // the caller decided on an older state than the current one
	Forbidden   Code = "forbidden"   // the role does not allow it
	Unavailable Code = "unavailable" // a part Stele needs is not there now (database, keys, setup)

	Unauthenticated Code = "unauthenticated" // no token, or one that is unknown, expired or revoked
	TooLarge        Code = "too_large"       // a request over the size that is read
	TooMany         Code = "too_many"        // more requests than the limit; later ones will be served
	Internal        Code = "internal"        // a fault of Stele's own, of which a remote caller is told nothing more
)

// Error is a problem with its fix.
type Error struct {
	Code   Code     `json:"code"`
	Field  string   `json:"field,omitempty"` // argument the problem is about, as the caller spelled it
	Detail string   `json:"detail"`          // what was wrong, one sentence, no trailing period
	Fixes  []string `json:"fixes"`           // what to do instead, most likely first
	cause  error
}

// Error gives "field: detail; first fix", one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field)
		b.WriteString(": ")
	}
	b.WriteString(e.Detail)
	if len(e.Fixes) > 0 {
		b.WriteString("; ")
		b.WriteString(strings.Join(e.Fixes, "; "))
	}
	return b.String()
}

// Unwrap gives the cause, if one was kept.
func (e *Error) Unwrap() error { return e.cause }

// New makes a problem of the given code.
func New(code Code, field, detail string, fixes ...string) *Error {
	if fixes == nil {
		fixes = []string{}
	}
	return &Error{Code: code, Field: field, Detail: detail, Fixes: fixes}
}

// Invalidf is the most common problem: an argument that cannot be accepted.
func Invalidf(field, format string, args ...any) *Error {
	return New(Invalid, field, fmt.Sprintf(format, args...))
}

// Fix adds a fix and returns e.
func (e *Error) Fix(format string, args ...any) *Error {
	e.Fixes = append(e.Fixes, fmt.Sprintf(format, args...))
	return e
}

// Because keeps the cause for logs and errors.Is, and returns e.
func (e *Error) Because(err error) *Error {
	e.cause = err
	return e
}

// As finds the problem in err's chain.
func As(err error) (*Error, bool) {
	var p *Error
	ok := errors.As(err, &p)
	return p, ok
}

// Is tells whether err is a problem of that code.
func Is(err error, code Code) bool {
	p, ok := As(err)
	return ok && p.Code == code
}
