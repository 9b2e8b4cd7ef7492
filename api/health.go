package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Check is one thing that must hold before requests are sent to a server.
type Check struct {
	Name  string // database, schema, keys
	Run   func(ctx context.Context) error
	Every time.Duration // how long it holds that all is well; at least a second. That something fails holds for a second
}

const (
	checkTimeout = 5 * time.Second
	// checkEvery is how long an answer holds at least: whoever may ask without a token must not be able to keep the database
	// busy.
	checkEvery = time.Second
)

// health answers probes.
type health struct {
	checks   []Check
	log      *slog.Logger
	stopping atomic.Bool

	mu   sync.Mutex
	last []checked // of each check
}

// checked is what a check found.
type checked struct {
	at  time.Time
	err error
}

// readiness is what /readyz answers. Why something fails is in the log: anyone may ask.
type readiness struct {
	Ready  bool            `json:"ready"`
	Checks map[string]bool `json:"checks"`
}

func newHealth(checks []Check, log *slog.Logger) *health {
	return &health{checks: checks, log: log, last: make([]checked, len(checks))}
}

// live tells that the process answers.
func (h *health) live(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ready tells whether requests should be sent here.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	got := h.check(r.Context())
	status := http.StatusOK
	if !got.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, got)
}

func (h *health) check(ctx context.Context) readiness {
	if h.stopping.Load() {
		return readiness{Checks: map[string]bool{"running": false}}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// A probe that gives up must not leave its impatience to the next ones as an answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	var all sync.WaitGroup
	for i, c := range h.checks {
		holds := max(c.Every, checkEvery)
		if h.last[i].err != nil {
			holds = checkEvery // what was away for a moment is back soon, and nobody sends work here before it is seen
		}
		if time.Since(h.last[i].at) < holds {
			continue
		}
		all.Go(func() {
			err := c.Run(ctx)
			if err != nil {
				h.log.WarnContext(ctx, "not ready", "check", c.Name, "error", err)
			}
			h.last[i] = checked{time.Now(), err}
		})
	}
	all.Wait()
	got := readiness{Ready: true, Checks: map[string]bool{}}
	for i, c := range h.checks {
		good := h.last[i].err == nil
		got.Checks[c.Name] = good
		got.Ready = got.Ready && good
	}
	return got
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone already is nobody to tell.
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // what is given is maps and structs of this file
}
