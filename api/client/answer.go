package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// shortestAfter keeps a server that says "come back in 0 seconds" from being asked without a pause.
const shortestAfter = 100 * time.Millisecond

// attempt sends a message once: the JSON of the answer, or why there is none.
func (c *Client) attempt(ctx context.Context, m message) ([]byte, *failure) {
	r, arrived, err := c.send(ctx, m)
	if err != nil {
		return nil, c.unsent(err, arrived)
	}
	if len(r.body) > maxAnswer {
		return nil, &failure{problem: c.strange(fmt.Sprintf("its answer is longer than %d MiB", maxAnswer>>20)).Fix("ask for less, such as with --limit"), perhaps: true}
	}
	switch kind := r.kind(); {
	case kind == "application/problem+json":
		return nil, c.refused(r)
	case r.status/100 == 2 && (kind == "application/json" || strings.HasSuffix(kind, "+json")):
		return r.body, nil
	}
	return nil, c.foreign(r)
}

// kind is the media type of the answer.
func (r reply) kind() string {
	kind, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// unsent explains why an attempt brought no answer at all.
func (c *Client) unsent(err error, arrived bool) *failure {
	// The outer error repeats method and address; people know the address, and programs the method.
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	f := &failure{again: true, perhaps: arrived}
	unreachable := func(reason string, fixes ...string) {
		f.problem = problem.New(problem.Unavailable, "server", fmt.Sprintf("%s cannot be reached: %s", c.base, reason), fixes...).Because(err)
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		f.again = false
		unreachable("its certificate is not accepted ("+certificate.Err.Error()+")",
			"use the name the certificate is made out to", "or make its authority known with SSL_CERT_FILE")
		return f
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		f.again = false
		unreachable("there is no such host", "check --server or STELE_SERVER")
		return f
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		f.again = false
		unreachable("it does not speak TLS", "check scheme and port of --server or STELE_SERVER")
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		unreachable("it does not answer in time", "check that the server runs: stele doctor")
		return f
	}
	if arrived {
		unreachable("the connection broke before the answer was there", "check that the server runs: stele doctor")
		return f
	}
	unreachable(plainReason(err), "check that the server runs, and --server or STELE_SERVER")
	return f
}

// plainReason is the innermost text of a network error: "connection refused".
func plainReason(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

// document is a problem as REST writes it.
type document struct {
	Status int          `json:"status"`
	Code   problem.Code `json:"code"`
	Field  string       `json:"field"`
	Detail string       `json:"detail"`
	Fixes  []string     `json:"fixes"`
}

// known are the codes that mean here what they mean on the server.
var known = []problem.Code{
	problem.Invalid, problem.NotFound, problem.Ambiguous, problem.Conflict, problem.Stale, problem.Forbidden, problem.Unavailable,
	problem.Unauthenticated, problem.TooLarge, problem.TooMany,
}

// refused translates a problem of the server back.
func (c *Client) refused(r reply) *failure {
	var d document
	if err := json.Unmarshal(r.body, &d); err != nil || d.Detail == "" {
		return c.foreign(r)
	}
	f := &failure{problem: problem.New(d.Code, d.Field, d.Detail, d.Fixes...), again: transient(r.status), after: r.after()}
	// A refusal is made before anything is done. A fault may come after it was.
	f.perhaps = r.status >= http.StatusInternalServerError
	switch {
	case d.Code == problem.Unauthenticated:
		f.problem.Field, f.problem.Fixes = "token", []string{"set STELE_TOKEN to one that is; an admin makes it with `stele token create`"}
	case !slices.Contains(known, d.Code):
		f.problem = problem.New(problem.Unavailable, "server", fmt.Sprintf("%s failed: %s", c.host, d.Detail), d.Fixes...)
	}
	if id := r.header.Get("Stele-Request-Id"); id != "" && r.status == http.StatusInternalServerError {
		_ = f.problem.Fix("the reason is in the log of the server, under request %s", memory.Line(id))
	}
	return f
}

// transient tells whether the same request may get another answer a moment later.
func transient(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// foreign explains an answer that no Stele server gives: that of a proxy, or of another program.
func (c *Client) foreign(r reply) *failure {
	f := &failure{again: transient(r.status), after: r.after(), perhaps: r.status >= http.StatusInternalServerError || r.status/100 == 2}
	status := fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))
	switch {
	case r.status/100 == 3:
		to := "another address"
		if u, err := url.Parse(r.header.Get("Location")); err == nil && u.Host != "" {
			u.RawQuery, u.Fragment, u.User = "", "", nil
			to = memory.Line(strings.TrimSuffix(u.String(), "/"))
		}
		f.problem = problem.New(problem.Unavailable, "server", fmt.Sprintf("%s sends its callers to %s, where the token was not sent", c.host, to),
			"if that is your server, set STELE_SERVER to its address")
	case f.again:
		f.problem = problem.New(problem.Unavailable, "server", fmt.Sprintf("%s answered %s", c.host, status), "check that the server runs: stele doctor")
	default:
		what := r.kind()
		if what == "" {
			what = "no kind of document"
		}
		f.problem = c.strange(fmt.Sprintf("it answered %s with %s", status, memory.Line(what)))
	}
	return f
}

// strange is the problem of a server that is none of Stele's, or of another age.
func (c *Client) strange(what string) *problem.Error {
	return problem.New(problem.Unavailable, "server", fmt.Sprintf("%s does not answer as a Stele server does: %s", c.base, what),
		"check the address: it is what stands before /v1", "something in between may have answered, such as a proxy or a sign-in page")
}

// after is the pause a server asks for, in seconds or until a date; 0 when it asks for none.
func (r reply) after() time.Duration {
	text := r.header.Get("Retry-After")
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return max(time.Duration(seconds)*time.Second, shortestAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), shortestAfter)
	}
	return 0
}
