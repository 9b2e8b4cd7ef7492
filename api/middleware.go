package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/internal/problem"
)

// request is what is told of one. The outside of the chain learns route and user from its inside.
type request struct {
	id     string
	method string
	route  string // pattern, never the path: that may hold a title
	user   string
	began  time.Time
}

type requestKey struct{}

// noteRoute notes which pattern a request matches; the innermost that knows has the last word.
func noteRoute(route func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q, ok := r.Context().Value(requestKey{}).(*request); ok {
			if pattern := route(r); pattern != "" {
				q.route = pattern
			}
		}
		next.ServeHTTP(w, r)
	})
}

// noteUser notes who calls.
func noteUser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q, ok := r.Context().Value(requestKey{}).(*request); ok {
			if c, _, err := auth.CallerFrom(r.Context()); err == nil {
				q.user = c.User
			}
		}
		next.ServeHTTP(w, r)
	})
}

// observe gives every request an id, a line in the log, its place in the metrics and a bounded body, and survives its
// panics.
func observe(log *slog.Logger, m *metrics, bodyLimit func(*http.Request) int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := &request{id: uuid.NewString(), method: r.Method, began: time.Now()}
		rec := &recorder{ResponseWriter: w}
		h := rec.Header()
		h.Set("Stele-Request-Id", q.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		m.begin()
		defer q.end(r.Context(), log, m, rec)
		limit := bodyLimit(r)
		if r.ContentLength > limit {
			auth.Refuse(rec, problem.New(problem.TooLarge, "", fmt.Sprintf("the request has %d bytes, more than %d", r.ContentLength, limit), "send less at once"))
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, q))
		r.Body = http.MaxBytesReader(rec, r.Body, limit)
		next.ServeHTTP(rec, r)
	})
}

// end is deferred around a request: a panic is an answer like any other, and every answer is told of.
func (q *request) end(ctx context.Context, log *slog.Logger, m *metrics, rec *recorder) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			panic(p)
		}
		log.ErrorContext(ctx, "a request panicked", "id", q.id, "route", q.route, "panic", panicText(p), "stack", string(debug.Stack()))
		if rec.status == 0 {
			auth.Refuse(rec, problem.New(problem.Internal, "", "this request failed inside Stele; the reason is in its log",
				"try once more", "tell the operator the Stele-Request-Id of this answer"))
		}
	}
	took := time.Since(q.began)
	m.end(q.method, q.route, rec.code(), took)
	log.LogAttrs(ctx, levelOf(rec.code(), q.route), "request", slog.String("id", q.id), slog.String("method", q.method), slog.String("route", q.route),
		slog.Int("status", rec.code()), slog.Float64("took_ms", float64(took.Microseconds())/1000), slog.String("user", q.user))
}

// levelOf keeps probes out of the log and brings faults up.
func levelOf(status int, route string) slog.Level {
	switch {
	case status >= http.StatusInternalServerError:
		return slog.LevelWarn
	case route == "GET /healthz", route == "GET /readyz":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// panicText tells what panicked without its value, which may hold a text of a memory.
func panicText(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", p)
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController through.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// code is the status; 499 stands for a client that went away before it got an answer, as other servers write it.
func (r *recorder) code() int {
	if r.status == 0 {
		return 499
	}
	return r.status
}

func lower(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(n)), ".")
	}
	return out
}
