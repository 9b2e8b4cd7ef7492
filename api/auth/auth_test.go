package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// tokens is an Authenticator with two valid tokens and one that meets a fault.
type tokens struct {
	asked atomic.Int64
	hold  chan struct{} // when not nil, lookups wait until it is closed
}

const (
	valid  = "stele_valid"
	other  = "stele_another"
	faulty = "stele_faulty"
)

func (s *tokens) Authenticate(_ context.Context, text string) (memory.Caller, memory.Token, error) {
	s.asked.Add(1)
	if s.hold != nil {
		<-s.hold
	}
	switch text {
	case valid, other:
		return memory.Caller{Org: uuid.New(), User: "ana", Role: memory.RoleAgent}, memory.Token{ID: uuid.New(), Name: "ana"}, nil
	case faulty:
		return memory.Caller{}, memory.Token{}, errors.New("connection to 10.0.0.7 refused, password=hunter2")
	}
	return memory.Caller{}, memory.Token{}, problem.New(problem.Unauthenticated, "", "the token is not accepted")
}

func gate(c auth.Config) (*tokens, http.Handler) {
	known := &tokens{}
	c.Tokens = known
	c.Log = slog.New(slog.DiscardHandler)
	return known, auth.NewGate(c).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, _, err := auth.CallerFrom(r.Context()); err != nil || c.User != "ana" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func ask(t *testing.T, h http.Handler, change func(*http.Request)) reply {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:7420/v1/whoami", nil)
	r.RemoteAddr = "192.0.2.1:1234"
	change(r)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.Bytes()}
}

func with(authorization ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header["Authorization"] = authorization }
}

func TestGate(t *testing.T) {
	t.Parallel()
	_, h := gate(auth.Config{})
	for name, c := range map[string]struct {
		header []string
		status int
	}{
		"none":             {nil, 401},
		"valid":            {[]string{"Bearer " + valid}, 200},
		"any case":         {[]string{"bearer " + valid}, 200},
		"spaces":           {[]string{"Bearer   " + valid + " "}, 200},
		"wrong":            {[]string{"Bearer stele_other"}, 401},
		"empty":            {[]string{"Bearer "}, 401},
		"basic":            {[]string{"Basic " + valid}, 401},
		"two":              {[]string{"Bearer " + valid, "Bearer " + valid}, 401},
		"the database off": {[]string{"Bearer " + faulty}, 503},
	} {
		res := ask(t, h, with(c.header...))
		if res.status != c.status {
			t.Errorf("%s: %d, want %d", name, res.status, c.status)
		}
		if c.status == 200 {
			continue
		}
		var p auth.Problem
		if err := json.Unmarshal(res.body, &p); err != nil || p.Status != c.status || p.Detail == "" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if strings.Contains(p.Detail, "hunter2") || res.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %+v as %s", name, p, res.header.Get("Content-Type"))
		}
		if (c.status == 401) != (res.header.Get("WWW-Authenticate") != "") || (c.status == 503) != (res.header.Get("Retry-After") != "") {
			t.Errorf("%s: headers %v", name, res.header)
		}
	}
}

// A handler that is mounted past the gate learns of nobody.
func TestNobodyCallsWithoutTheGate(t *testing.T) {
	t.Parallel()
	if _, _, err := auth.CallerFrom(t.Context()); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("got %v", err)
	}
}

func TestGuessingIsSlowedAndHoldersAreNot(t *testing.T) {
	t.Parallel()
	known, h := gate(auth.Config{Limits: auth.Limits{Failures: 3}})
	if res := ask(t, h, with("Bearer "+valid)); res.status != 200 {
		t.Fatal(res.status)
	}
	for n := range 3 {
		if res := ask(t, h, with(fmt.Sprintf("Bearer stele_guess%d", n))); res.status != 401 {
			t.Fatal(res.status)
		}
	}
	asked := known.asked.Load()
	res := ask(t, h, with("Bearer stele_guess3"))
	if res.status != 429 || res.header.Get("Retry-After") == "" || known.asked.Load() != asked {
		t.Errorf("the guess after the limit: %d, looked up %d times", res.status, known.asked.Load()-asked)
	}
	if res := ask(t, h, with("Bearer "+valid)); res.status != 200 {
		t.Errorf("who holds a token is locked out: %d", res.status)
	}
	elsewhere := func(r *http.Request) {
		with("Bearer stele_guess4")(r)
		r.RemoteAddr = "192.0.2.2:1"
	}
	if res := ask(t, h, elsewhere); res.status != 401 {
		t.Errorf("another address: %d", res.status)
	}
}

// Guesses that come all at once get no further than those that come one by one.
func TestGuessesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known, h := gate(auth.Config{Limits: auth.Limits{Failures: 3}})
		seen := map[int]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for n := range 50 {
			all.Go(func() {
				status := ask(t, h, with(fmt.Sprintf("Bearer stele_guess%d", n))).status
				mu.Lock()
				defer mu.Unlock()
				seen[status]++
			})
		}
		all.Wait()
		if known.asked.Load() != 3 || seen[401] != 3 || seen[429] != 47 {
			t.Errorf("looked up %d times, answered %v", known.asked.Load(), seen)
		}
	})
}

// Holders of tokens that are not known yet, as after a restart of the server, may be more at once than wrong tokens: they
// are looked up a few at a time, and none is refused.
func TestHoldersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known, h := gate(auth.Config{Limits: auth.Limits{Failures: 3}})
		known.hold = make(chan struct{})
		var all sync.WaitGroup
		var let atomic.Int64
		for range 20 {
			all.Go(func() {
				if ask(t, h, with("Bearer "+valid)).status == 200 {
					let.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := known.asked.Load(); n != 3 {
			t.Errorf("%d lookups at once, want 3", n)
		}
		// One whose client goes away waits no longer.
		ctx, leave := context.WithCancel(t.Context())
		leaving := func(r *http.Request) {
			with("Bearer " + other)(r)
			*r = *r.WithContext(ctx)
		}
		gone := make(chan struct{})
		go func() {
			ask(t, h, leaving)
			close(gone)
		}()
		synctest.Wait()
		leave()
		<-gone
		close(known.hold)
		all.Wait()
		if n := let.Load(); n != 20 {
			t.Errorf("%d of 20 holders were let in", n)
		}
	})
}

// A client that goes on with a revoked token harms nobody at its address, and costs nothing.
func TestARefusedTokenIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := 0
		known, h := gate(auth.Config{Limits: auth.Limits{Failures: 3}, Count: func(reason string) {
			if reason == "wrong_token" {
				refused++
			}
		}})
		for range 100 {
			if res := ask(t, h, with("Bearer stele_revoked")); res.status != 401 {
				t.Fatal(res.status)
			}
		}
		if known.asked.Load() != 1 || refused != 100 {
			t.Errorf("looked up %d times, counted %d times", known.asked.Load(), refused)
		}
		if res := ask(t, h, with("Bearer "+valid)); res.status != 200 {
			t.Errorf("a holder at the same address: %d", res.status)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		asked := known.asked.Load()
		if ask(t, h, with("Bearer stele_revoked")); known.asked.Load() != asked+1 {
			t.Error("it is refused for ever without being looked up")
		}
	})
}

func TestATokenIsLimited(t *testing.T) {
	t.Parallel()
	known := &same{id: uuid.New()}
	g := auth.NewGate(auth.Config{Tokens: known, Limits: auth.Limits{PerToken: 0.001, Burst: 2, Streams: 1}, Log: slog.New(slog.DiscardHandler)})
	h := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for n, want := range []int{200, 200, 429, 429} {
		if res := ask(t, h, with("Bearer "+valid)); res.status != want {
			t.Errorf("request %d: %d, want %d", n, res.status, want)
		}
	}
	if known.asked != 2 {
		t.Errorf("requests over the limit cost lookups: %d", known.asked)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r = r.WithContext(auth.WithCaller(r.Context(), memory.Caller{}, memory.Token{ID: known.id}))
	done, err := g.Stream(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Stream(r); !problem.Is(err, problem.TooMany) {
		t.Errorf("a second stream: %v", err)
	}
	done()
	if _, err := g.Stream(r); err != nil {
		t.Errorf("after the first ended: %v", err)
	}
}

type same struct {
	id    uuid.UUID
	asked int
}

func (s *same) Authenticate(context.Context, string) (memory.Caller, memory.Token, error) {
	s.asked++
	return memory.Caller{User: "ana"}, memory.Token{ID: s.id}, nil
}

func TestAddress(t *testing.T) {
	t.Parallel()
	g := auth.NewGate(auth.Config{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for _, c := range []struct{ peer, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.7", "192.0.2.1"}, // not a proxy of ours
		{"10.0.0.2:5", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.2:5", "203.0.113.9, 198.51.100.7", "198.51.100.7"}, // what a client claims stands further left
		{"10.0.0.2:5", "198.51.100.7, 10.0.0.3", "198.51.100.7"},
		{"10.0.0.2:5", "nonsense", "10.0.0.2"},
		{"10.0.0.2:5", "", "10.0.0.2"},
		{"[2001:db8:1:2:3:4:5:6]:5", "", "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:5", "", "192.0.2.1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := g.Address(r); got != c.want {
			t.Errorf("%s behind %q: %s, want %s", c.forwarded, c.peer, got, c.want)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	h := auth.Hosts{Names: []string{"memory.example.org"}}.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		host, origin, site string
		status             int
	}{
		{"localhost:7420", "", "", 200},
		{"127.0.0.1:7420", "", "", 200},
		{"[::1]:7420", "", "", 200},
		{"192.0.2.5", "", "", 200},
		{"memory.example.org", "", "", 200},
		{"Memory.Example.org.:443", "", "", 200},
		{"evil.example", "", "", 403},
		{"memory.example.org.evil.example", "", "", 403},
		{"localhost.evil.example:7420", "", "", 403},
		{"", "", "", 403},
		{"localhost:7420", "http://localhost:7420", "", 200},
		{"127.0.0.1:7420", "http://localhost:7420", "", 200},
		{"localhost:7420", "http://localhost:3000", "", 403}, // another program on this machine
		{"localhost:7420", "http://evil.example", "", 403},
		{"localhost:7420", "null", "", 403},
		{"memory.example.org", "https://memory.example.org", "", 200},
		{"memory.example.org", "https://memory.example.org:8443", "", 403},
		{"memory.example.org", "chrome-extension://memory.example.org", "", 403},
		{"memory.example.org", "", "cross-site", 403},
		{"memory.example.org", "", "same-site", 403},
		{"memory.example.org", "", "same-origin", 200},
		{"memory.example.org", "", "none", 200},
	} {
		res := ask(t, h, func(r *http.Request) {
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
		})
		if res.status != c.status {
			t.Errorf("Host %q, Origin %q, site %q: %d, want %d", c.host, c.origin, c.site, res.status, c.status)
		}
	}
	for n, two := range [][]string{{"http://localhost:7420", "http://evil.example"}} {
		if res := ask(t, h, func(r *http.Request) { r.Header["Origin"] = two }); res.status != 403 {
			t.Errorf("%d: two origins: %d", n, res.status)
		}
	}
	if res := ask(t, h, func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	}); res.status != 200 {
		t.Errorf("following a link: %d", res.status)
	}
}

// A flood of addresses costs memory of a known size, and forgets nobody who is being limited while others are not.
func TestLimitsAreOfABoundedSize(t *testing.T) {
	t.Parallel()
	if n := auth.Tracked(30_000); n > 10_000 {
		t.Errorf("%d addresses are kept", n)
	}
}
