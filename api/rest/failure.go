package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/internal/problem"
)

// failure is an error as huma and HTTP want it.
type failure struct {
	auth.Problem
}

func (f *failure) Error() string { return f.Detail }

// GetStatus implements huma.StatusError.
func (f *failure) GetStatus() int { return f.Status }

// GetHeaders implements huma.HeadersError.
func (f *failure) GetHeaders() http.Header {
	h := http.Header{}
	auth.SetHeaders(h, f.Code)
	return h
}

// ContentType implements huma.ContentTypeFilter.
func (f *failure) ContentType(string) string { return "application/problem+json" }

// statusError is a problem whose status is not the one of its code.
type statusError struct {
	status int
	error
}

func (e statusError) Unwrap() error { return e.error }

func withStatus(status int, p *problem.Error) error { return statusError{status, p} }

// fieldNames says how this door spells what the domain calls otherwise.
var fieldNames = map[string]string{"sessionId": "Stele-Session"}

// failure translates an error. One that is no problem is logged, and the caller learns nothing from it.
func (a *API) failure(r *http.Request, err error) *failure {
	p, ok := problem.As(err)
	switch {
	case ok:
	case r.Context().Err() != nil, errors.Is(err, context.DeadlineExceeded):
		// Either nobody waits, or the server gave this request no more time.
		p = problem.New(problem.Unavailable, "", "the request took too long and was given up", "ask for less, or try again")
	default:
		a.options.Log.ErrorContext(r.Context(), "a request failed", "method", r.Method, "pattern", r.Pattern, "error", err)
		p = problem.New(problem.Internal, "", "something went wrong inside Stele; the server's log has the reason", "try again, and tell the operator if it stays")
	}
	f := newFailure(p)
	if s := (statusError{}); errors.As(err, &s) {
		f.Status, f.Title = s.status, http.StatusText(s.status)
	}
	return f
}

func newFailure(p *problem.Error) *failure {
	f := &failure{auth.Problem{Type: "about:blank", Status: auth.Status(p.Code), Code: p.Code, Field: p.Field, Detail: p.Detail, Fixes: p.Fixes}}
	f.Title = http.StatusText(f.Status)
	if name, ok := fieldNames[f.Field]; ok {
		f.Field = name
	}
	return f
}

// fail answers with a problem where huma is not there to do it.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := a.failure(r, err)
	auth.SetHeaders(w.Header(), f.Code)
	setCommon(w.Header())
	w.Header().Set("Content-Type", f.ContentType(""))
	w.WriteHeader(f.Status)
	_ = marshal(w, f)
}

// setCommon sets what every answer carries: memories belong in no cache, and JSON is never a page.
func setCommon(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// clip bounds what an error repeats of a request.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// marshal writes v as every door does. Whoever does not wait for the answer is nobody to tell, so errors of writing are
// dropped; huma would panic with them.
func marshal(w io.Writer, v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	_, _ = w.Write(b.Bytes())
	return nil
}
