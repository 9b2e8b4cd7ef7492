// Package api composes the doors that listen on the network into one HTTP server: REST and MCP behind one gate, health, and
// metrics apart from them. The doors translate; what they share is here: limits, logs, metrics, starting and stopping.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/mcp"
	"github.com/stele-dev/stele/api/rest"
	"github.com/stele-dev/stele/api/web"
	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/drift/github"
	"github.com/stele-dev/stele/drift/since"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Service is the domain as the doors need it; *memory.Service is one.
type Service interface {
	auth.Authenticator
	Health(ctx context.Context, c memory.Caller) (memory.Health, error)
	Badge(ctx context.Context, org, project uuid.UUID, secret string) (memory.DriftScore, error)
	rest.Service
	mcp.Service
	web.Service
}

// Options of a Server. Zero values mean the defaults.
type Options struct {
	Service Service
	Webhook Webhook // what GitHub may call
	// RunDrift has a project compared with its code soon; nil: this server reads no repositories.
	RunDrift func(ctx context.Context, org, project uuid.UUID) error
	// Code compares the code of a span in the copy of the repository that this server keeps; nil: it keeps none.
	Code func(ctx context.Context, project uuid.UUID, span memory.CodeSpan) (since.Changes, error)
	// Doctor is what an admin has the server examine besides the organization, in order. The organization is asked about once
	// "database" and "schema" are good, as far as they are there, and before what needs "keys". Default: what Ready asks.
	Doctor  []doctor.Probe
	Ready   []Check                // what must hold before requests are sent here
	Metrics []prometheus.Collector // further metrics, such as those of the database pool
	Profile mcp.Profile            // set of MCP tools; default mcp.Coding
	Version string                 // of the binary
	Log     *slog.Logger           // default: none. No text of a memory, no token and no path of a request is written to it

	Hosts    []string       // names of this server beside localhost and addresses in numbers
	Proxies  []netip.Prefix // whose X-Forwarded-For is believed
	Limits   auth.Limits    // of each caller
	InFlight int            // requests worked on at once, streams not counted; default 256, of which one token has at most an eighth. More are told to come back
}

// Bounds on one connection.
const (
	maxHeaderBytes  = 32 << 10
	defaultInFlight = 256
	// stopTimeout is how long requests that are being worked on are waited for; longer than any statement.
	stopTimeout = 35 * time.Second
)

// timeouts of one connection.
type timeouts struct {
	header time.Duration // to read the head of a request
	read   time.Duration // to read all of it: a client that sends a byte a second does not hold a connection
	write  time.Duration // to write an answer that is no stream: twice the longest statement
	idle   time.Duration // between requests
}

var defaultTimeouts = timeouts{header: 5 * time.Second, read: 30 * time.Second, write: 60 * time.Second, idle: 2 * time.Minute}

// Server is the HTTP server. It is safe for concurrent use.
type Server struct {
	options Options
	handler http.Handler
	metrics http.Handler
	health  *health
	timeouts
	stop chan struct{} // closed when the server begins to stop: streams end then
}

// New makes a server.
func New(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.InFlight == 0 {
		o.InFlight = defaultInFlight
	}
	s := &Server{options: o, timeouts: defaultTimeouts, stop: make(chan struct{})}
	s.health = newHealth(o.Ready, o.Log)
	m := newMetrics(o.Version, o.Metrics)
	s.metrics = m.handler()
	gate := auth.NewGate(auth.Config{Tokens: o.Service, Limits: o.Limits, Proxies: o.Proxies, Log: o.Log, Count: m.refused})

	forAgents, err := newAgents(o)
	if err != nil {
		return nil, err
	}
	examined := newDiagnoses(o)
	doors := rest.New(rest.Options{Service: o.Service, Version: o.Version, Log: o.Log, Done: s.stop, Stream: gate.Stream, Admitted: gate.Admitted,
		RunDrift: o.RunDrift, Doctor: examined.run})
	busy := newSlots(o.InFlight)
	behind := func(h http.Handler) http.Handler {
		return gate.Wrap(noteUser(bounded(busy, doors.Streams, m.refused, h)))
	}

	mux := http.NewServeMux()
	doors.Register(mux, func(h http.Handler) http.Handler { return noteRoute(doors.Route, behind(h)) })
	mux.Handle("/mcp", behind(forAgents.HTTP()))
	mux.Handle("/mcp/p/{project}", behind(forAgents.HTTP()))
	// These two hold no token, so that all who call them share one bound.
	mux.Handle("POST /v1/webhooks/github", shared(http.HandlerFunc(o.Webhook.serve)))
	mux.Handle("GET /v1/badges/{organization}/{project}/{secret}/{what}", shared(http.HandlerFunc(badges{o.Service}.serve)))
	web.New(web.Options{Service: o.Service, Log: o.Log, Version: o.Version, Signed: gate.WrapBy, Limited: shared, RunDrift: o.RunDrift,
		Code: o.Code, Doctor: examined.run, Within: func(h http.Handler) http.Handler {
			return noteUser(bounded(busy, web.Streams, m.refused, h))
		}, Stream: gate.Stream, Admitted: gate.AdmittedBy, Done: s.stop}).Register(mux)
	mux.HandleFunc("GET /healthz", s.health.live)
	mux.HandleFunc("GET /readyz", s.health.ready)
	mux.Handle("/", gate.Wrap(http.HandlerFunc(nothing)))

	routes := func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		return pattern
	}
	s.handler = observe(o.Log, m, bodyLimit(doors.BodyLimit), auth.Hosts{Names: lower(o.Hosts)}.Wrap(noteRoute(routes, mux)))
	return s, nil
}

// bodyLimit is how large the body of a request may be, in bytes: what GitHub sends is larger than what callers do.
func bodyLimit(ofDoor func(*http.Request) int64) func(*http.Request) int64 {
	return func(r *http.Request) int64 {
		if r.URL.Path == "/v1/webhooks/github" {
			return github.MaxPayload
		}
		return ofDoor(r)
	}
}

// Bounds of what is asked without a token, of all callers together.
const (
	sharedRate  = 20 // a second
	sharedBurst = 100
)

// shared bounds what anyone may ask.
func shared(h http.Handler) http.Handler {
	limit := rate.NewLimiter(sharedRate, sharedBurst)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !limit.Allow() {
			w.Header().Set("Retry-After", "1")
			auth.Refuse(w, problem.New(problem.TooMany, "", "too many requests come without a token", "try again in a second"))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// nothing answers where nothing is.
func nothing(w http.ResponseWriter, _ *http.Request) {
	auth.Refuse(w, problem.New(problem.NotFound, "", "there is nothing at this path", "see /docs for what there is"))
}

// Handler is everything the server answers to the network.
func (s *Server) Handler() http.Handler { return s.handler }

// ServeMetrics tells the operator, by Prometheus's scrapes, how busy the server is: at /metrics, on a listener of their own until
// ctx is done, which it closes. They are about all tenants, so no token of any is the right one to ask for: they belong on an
// address that only the operator reaches.
func (s *Server) ServeMetrics(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics)
	server := s.listening(mux)
	end := context.AfterFunc(ctx, func() { _ = server.Close() }) // nobody misses a scrape
	defer end()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}

// listening is a server with the bounds of every connection.
func (s *Server) listening(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: s.header, ReadTimeout: s.read, WriteTimeout: s.write, IdleTimeout: s.idle, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug), // broken handshakes and the like: nothing to act on
	}
}

// Serve answers on a listener until ctx is done, then stops: it reports itself as not ready, ends streams, and waits for
// requests that are being worked on. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := s.listening(s.handler)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	s.health.stopping.Store(true)
	close(s.stop)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := server.Shutdown(stop)
	if err != nil {
		_ = server.Close()
		err = fmt.Errorf("requests were still running after %s and were cut off: %w", stopTimeout, err)
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
