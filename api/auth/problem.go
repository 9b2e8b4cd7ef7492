package auth

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/stele-dev/stele/internal/problem"
)

// statuses says which HTTP status stands for a problem.
var statuses = map[problem.Code]int{
	problem.Invalid:         http.StatusUnprocessableEntity,
	problem.NotFound:        http.StatusNotFound,
	problem.Ambiguous:       http.StatusConflict,
	problem.Conflict:        http.StatusConflict,
	problem.Stale:           http.StatusPreconditionFailed,
	problem.Forbidden:       http.StatusForbidden,
	problem.Unavailable:     http.StatusServiceUnavailable,
	problem.Unauthenticated: http.StatusUnauthorized,
	problem.TooLarge:        http.StatusRequestEntityTooLarge,
	problem.TooMany:         http.StatusTooManyRequests,
}

// Status gives the HTTP status of a problem.
func Status(code problem.Code) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// retryAfter is how long a client is asked to wait, in seconds, where nothing better is known.
const retryAfter = 1

// SetHeaders adds what HTTP wants beside a problem: how to authenticate, when to come back.
func SetHeaders(h http.Header, code problem.Code) {
	switch code {
	case problem.Unauthenticated:
		h.Set("WWW-Authenticate", `Bearer realm="stele"`)
	case problem.Unavailable, problem.TooMany:
		if h.Get("Retry-After") == "" {
			h.Set("Retry-After", strconv.Itoa(retryAfter))
		}
	default:
	}
}

// Problem is a problem as HTTP shows it: RFC 9457 with the fields of every other door.
type Problem struct {
	Type   string       `json:"type"`
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Code   problem.Code `json:"code"`
	Field  string       `json:"field,omitempty"`
	Detail string       `json:"detail"`
	Fixes  []string     `json:"fixes"`
}

// Refuse answers with a problem. It is for what is refused before a door is reached.
func Refuse(w http.ResponseWriter, p *problem.Error) {
	status := Status(p.Code)
	SetHeaders(w.Header(), p.Code)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	text, err := json.Marshal(Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: p.Code, Field: p.Field, Detail: p.Detail, Fixes: p.Fixes})
	if err == nil { // there is nothing in it that could not be written
		_, _ = w.Write(append(text, '\n')) // a client that is gone already is nobody to tell
	}
}
