package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/rest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// follower reads a stream of server-sent events as a browser does.
type follower struct {
	t      testing.TB
	body   io.ReadCloser
	lines  *bufio.Scanner
	header http.Header
	last   string // id, as a browser keeps it
}

// follow opens a stream; the test ends when nothing comes for as long as no machine needs.
func follow(t testing.TB, url, token, after string, query string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+shop+"/events"+query, nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	resp, err := http.DefaultClient.Do(r) //nolint:bodyclose // the test closes it, which is what it tests
	must(t, err)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("the stream is answered %d %s", resp.StatusCode, body)
	}
	return &follower{t: t, body: resp.Body, lines: bufio.NewScanner(resp.Body), header: resp.Header, last: after}
}

// next gives the next event; ok is false when the stream ended.
func (f *follower) next() (e memory.StreamEvent, ok bool) {
	f.t.Helper()
	var name, data string
	for f.lines.Scan() {
		line := f.lines.Text()
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && data == "":
		case line == "":
			if err := json.Unmarshal([]byte(data), &e); err != nil || string(e.Verb) != name || e.ID != f.last {
				f.t.Fatalf("event %s with id %s is %s (%v)", name, f.last, data, err)
			}
			return e, true
		case field == "id":
			f.last = value
		case field == "event":
			name = value
		case field == "data":
			data = value
		}
	}
	return e, false
}

// await reads until the stream says where it begins.
func (f *follower) await() {
	f.t.Helper()
	for f.lines.Scan() {
		if id, ok := strings.CutPrefix(f.lines.Text(), "id: "); ok {
			f.last = id
			return
		}
	}
	f.t.Fatal("the stream does not say where it begins")
}

// TestStreamMissesNothing cuts a stream off again and again while two services write, and counts what came.
func TestStreamMissesNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(o *rest.Options) { o.Pace.Poll = 2 * time.Millisecond })
	web := httptest.NewServer(s)
	defer web.Close()

	const each = 25
	f := follow(t, web.URL, s.tokens[memory.RoleAgent], "", "")
	f.await() // writes from here on are to be seen
	c := memory.Caller{Org: s.org, Project: s.project.ID, User: "writer", Role: memory.RoleReviewer, Door: memory.FromAPI}
	var writers sync.WaitGroup
	var mu sync.Mutex
	want := map[string]int{}
	for w := range 2 {
		service := memory.New(s.store, memory.Options{})
		writers.Go(func() {
			for i := range each {
				scope := []memory.Scope{memory.Project, memory.Organization}[i%2]
				out, err := service.Remember(context.Background(), c, memory.RememberRequest{Content: fmt.Sprintf("Shelf %d of rack %d.", i, w), Scope: scope, Separate: true})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				want[out.Memory.Handle]++
				mu.Unlock()
			}
		})
	}
	got := map[string]int{}
	connections := 1
	for n := range 2 * each {
		if n%7 == 6 {
			must(t, f.body.Close())
			f = follow(t, web.URL, s.tokens[memory.RoleAgent], f.last, "?after=now") // the header goes before the address
			connections++
		}
		e, ok := f.next()
		if !ok {
			t.Fatalf("the stream ended after %d events: %v", n, f.lines.Err())
		}
		if e.Verb != memory.VerbRemember {
			t.Errorf("event %+v", e)
		}
		got[e.Memory]++
	}
	writers.Wait()
	must(t, f.body.Close())
	for handle := range want {
		if got[handle] != 1 {
			t.Errorf("%s was announced %d times", handle, got[handle])
		}
	}
	if len(got) != 2*each || connections < 5 {
		t.Errorf("%d memories were announced over %d connections, want %d", len(got), connections, 2*each)
	}

	// And all of it again from the beginning, in pages.
	var all []string
	after := ""
	for {
		page := as[memory.EventsResponse](s.do(get(shop+"/events?limit=20&after="+after).with("Accept", "application/json")).wants(http.StatusOK))
		for _, e := range page.Events {
			if e.Verb == memory.VerbRemember {
				all = append(all, e.Memory)
			}
		}
		after = page.Position
		if len(page.Events) == 0 {
			break
		}
	}
	if slices.Sort(all); len(all) != 2*each || len(slices.Compact(all)) != 2*each {
		t.Errorf("pages hold %d events", len(all))
	}
}

func TestStreamBeginsWhereItIsAsked(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(o *rest.Options) { o.Pace.Poll = 2 * time.Millisecond })
	web := httptest.NewServer(s)
	defer web.Close()
	first := s.remember(fields{"content": "The till is closed at ten."})

	for _, query := range []string{"?after=", "?after=0.0.0"} {
		f := follow(t, web.URL, s.tokens[memory.RoleAgent], "", query)
		if e, ok := f.next(); !ok || e.Memory != first.Handle {
			t.Errorf("%s begins with %+v", query, e)
		}
		must(t, f.body.Close())
	}
	f := follow(t, web.URL, s.tokens[memory.RoleAgent], "", "")
	f.await()
	second := s.remember(fields{"content": "Somebody stands at the door."})
	if e, ok := f.next(); !ok || e.Memory != second.Handle {
		t.Errorf("a stream from now begins with %+v", e)
	}
	must(t, f.body.Close())

	s.do(get(shop+"/events?after=x")).refused(http.StatusUnprocessableEntity, problem.Invalid, "after")
	s.do(get(shop+"/events").with("Last-Event-ID", "1.2")).refused(http.StatusUnprocessableEntity, problem.Invalid, "after")
	s.do(get(shop+"/events?limit=5")).refused(http.StatusUnprocessableEntity, problem.Invalid, "limit")
	s.do(get(shop+"/events?limit=501").with("Accept", "application/json")).refused(http.StatusUnprocessableEntity, problem.Invalid, "limit")
	s.do(get("/v1/projects/nowhere/events")).refused(http.StatusNotFound, problem.NotFound, "project")
	s.do(get(shop+"/events").by(memory.RoleCI)).refused(http.StatusForbidden, problem.Forbidden, "")
	if now := as[memory.EventsResponse](s.do(get(shop+"/events").with("Accept", "application/json")).wants(http.StatusOK)); len(now.Events) != 0 || now.Position == "" {
		t.Errorf("a page from now is %+v", now)
	}
	head := httptest.NewRequestWithContext(t.Context(), http.MethodHead, shop+"/events", nil)
	head.Header.Set("Authorization", "Bearer "+s.tokens[memory.RoleAgent])
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, head); w.Code != http.StatusOK { // and comes back: a stream without a body would never end
		t.Errorf("HEAD is answered %d", w.Code)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(o *rest.Options) {
		o.Stream = func(*http.Request) (func(), error) {
			return nil, problem.New(problem.TooMany, "", "enough", "close one")
		}
	})
	r := s.do(get(shop + "/events"))
	r.refused(http.StatusTooManyRequests, problem.TooMany, "")
	if r.header.Get("Retry-After") == "" {
		t.Error("it does not say when to come back")
	}
}

// scripted answers Events from a script; the last answer stays.
type scripted struct {
	rest.Service

	mu      sync.Mutex
	answers []func() (memory.EventsResponse, error)
	asked   int
}

func (s *scripted) FindProject(context.Context, memory.Caller, string) (memory.ProjectInfo, error) {
	return memory.ProjectInfo{ID: uuid.New(), Name: "shop"}, nil
}

func (s *scripted) Events(_ context.Context, _ memory.Caller, after string, _ int) (memory.EventsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.asked <= len(s.answers) {
		return s.answers[s.asked-1]()
	}
	if after == memory.FromNow {
		after = "1.0.0"
	}
	return memory.EventsResponse{Events: []memory.StreamEvent{}, Position: after}, nil
}

// screen is a client that keeps what it is sent, with the deadlines it was given; block makes it take nothing more.
type screen struct {
	mu       sync.Mutex
	header   http.Header
	text     strings.Builder
	deadline time.Time
	block    bool
}

var quiet = slog.New(slog.DiscardHandler)

var errDeadline = errors.New("the deadline is over")

func (s *screen) Header() http.Header             { return s.header }
func (s *screen) WriteHeader(int)                 {}
func (s *screen) Flush()                          {}
func (s *screen) SetReadDeadline(time.Time) error { return nil }

func (s *screen) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	return nil
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadline.IsZero() {
		return 0, errors.New("a write without a deadline")
	}
	if s.block {
		time.Sleep(time.Until(s.deadline)) //nolint:forbidigo // in a bubble, where time is what the test says
		return 0, errDeadline
	}
	return s.text.Write(p)
}

func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// serve runs a stream against the screen in a bubble; the channel is closed when the handler returned.
func (s *screen) serve(ctx context.Context, api *rest.API) <-chan struct{} {
	s.header = http.Header{}
	r := httptest.NewRequestWithContext(auth.WithCaller(ctx, memory.Caller{Org: uuid.New(), User: "u", Role: memory.RoleAgent}, memory.Token{}), http.MethodGet, shop+"/events", nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		api.ServeHTTP(s, r)
	}()
	return done
}

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func TestQuietStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		admitted, streams := 0, 0
		api := rest.New(rest.Options{Service: &scripted{}, Log: quiet, Admitted: func(*http.Request) error { admitted++; return nil },
			Stream: func(*http.Request) (func(), error) { streams++; return func() { streams-- }, nil }})
		ctx, cancel := context.WithCancel(t.Context())
		var s screen
		done := s.serve(ctx, api)
		synctest.Wait()
		if got := s.shows(); got != "retry: 1000\nid: 1.0.0\n\n" {
			t.Errorf("a stream begins with %q", got)
		}
		time.Sleep(46 * time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if got := strings.Count(s.shows(), ": still here\n\n"); got != 3 || admitted != 3 || streams != 1 {
			t.Errorf("%d heartbeats and %d admissions in 46 s, %d streams", got, admitted, streams)
		}
		if !s.deadline.IsZero() {
			t.Error("a deadline is left between writes")
		}
		cancel()
		synctest.Wait()
		if !ended(done) || streams != 0 {
			t.Errorf("the client is gone and the stream is not; %d streams", streams)
		}
	})
}

// One rule says what is a stream, for the door and for whoever counts requests.
func TestStreams(t *testing.T) {
	t.Parallel()
	a := rest.New(rest.Options{Service: &scripted{}, Log: quiet})
	for _, c := range []struct {
		method, path string
		accept       []string
		want         bool
	}{
		{http.MethodGet, shop + "/events", nil, true},
		{http.MethodGet, shop + "/events", []string{"*/*"}, true},
		{http.MethodGet, shop + "/events", []string{"text/event-stream"}, true},
		{http.MethodGet, shop + "/events", []string{"application/json"}, false},
		{http.MethodGet, shop + "/events", []string{"Application/JSON"}, false},
		{http.MethodGet, shop + "/events", []string{"application/json, text/event-stream"}, true},
		{http.MethodGet, shop + "/events", []string{"application/json", "text/event-stream"}, true},
		{http.MethodHead, shop + "/events", nil, false},
		{http.MethodPost, shop + "/events", nil, false},
		{http.MethodGet, shop + "/memories/events", nil, false},
		{http.MethodGet, "/v1/projects/events", nil, false},
		{http.MethodGet, "/mcp/p/events", nil, false},
	} {
		ctx, cancel := context.WithCancel(auth.WithCaller(t.Context(), memory.Caller{Org: uuid.New(), User: "kim", Role: memory.RoleAgent}, memory.Token{}))
		r := httptest.NewRequestWithContext(ctx, c.method, c.path, nil)
		r.Header["Accept"] = c.accept
		if got := a.Streams(r); got != c.want {
			t.Errorf("%s %s, accepting %q: %t", c.method, c.path, c.accept, got)
		}
		cancel() // a stream ends at once
		if c.path != shop+"/events" || c.method == http.MethodPost {
			continue
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if streamed := w.Header().Get("Content-Type") == "text/event-stream"; streamed != c.want {
			t.Errorf("%s %s, accepting %q: answered as %q", c.method, c.path, c.accept, w.Header().Get("Content-Type"))
		}
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		options func(o *rest.Options, stop chan struct{})
		within  time.Duration
		because func(s *screen, stop chan struct{})
	}{
		"when the server stops": {
			options: func(o *rest.Options, stop chan struct{}) { o.Done = stop },
			because: func(_ *screen, stop chan struct{}) { close(stop) },
		},
		"when the token is revoked, and not when nobody can tell": {
			options: func(o *rest.Options, stop chan struct{}) {
				asked := 0
				o.Admitted = func(*http.Request) error {
					select {
					case <-stop:
						return problem.New(problem.Unauthenticated, "", "revoked")
					default:
						asked++
						return []error{nil, problem.New(problem.Unavailable, "", "starting"), errors.New("broken")}[asked%3]
					}
				}
			},
			because: func(_ *screen, stop chan struct{}) { close(stop) },
			within:  15 * time.Second,
		},
		"when the client takes nothing": {
			options: func(*rest.Options, chan struct{}) {},
			because: func(s *screen, _ chan struct{}) { s.mu.Lock(); s.block = true; s.mu.Unlock() },
			within:  25 * time.Second, // a heartbeat, and the time for a write
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				o := rest.Options{Service: &scripted{}, Log: quiet}
				end.options(&o, stop)
				var s screen
				done := s.serve(t.Context(), rest.New(o))
				time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
				synctest.Wait()
				if ended(done) {
					t.Fatal("it ended before there was a reason")
				}
				end.because(&s, stop)
				time.Sleep(end.within) //nolint:forbidigo // in a bubble
				synctest.Wait()
				if !ended(done) {
					t.Errorf("it goes on after %s", end.within)
				}
			})
		})
	}
}

func TestStreamOutlivesTheDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := func() (memory.EventsResponse, error) {
			return memory.EventsResponse{}, problem.New(problem.Unavailable, "", "starting")
		}
		full := func() (memory.EventsResponse, error) {
			p := memory.EventsResponse{Position: "500.0.0"}
			for i := range memory.MaxEvents {
				p.Events = append(p.Events, memory.StreamEvent{ID: fmt.Sprintf("%d.0.0", i+1), Verb: memory.VerbRemember})
			}
			return p, nil
		}
		none := func() (memory.EventsResponse, error) { return memory.EventsResponse{Position: "0.0.0"}, nil }
		broken := func() (memory.EventsResponse, error) { return memory.EventsResponse{}, errors.New("broken") }
		service := &scripted{answers: []func() (memory.EventsResponse, error){none, gone, gone, full, full, none, broken}}
		var s screen
		done := s.serve(t.Context(), rest.New(rest.Options{Service: service, Log: quiet}))
		time.Sleep(2500 * time.Millisecond) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if got := s.shows(); strings.Contains(got, "event") {
			t.Errorf("something came from nowhere: %q", got)
		}
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		// A page that is full is followed by the next one at once.
		if got := strings.Count(s.shows(), "event: remember\n"); got != 2*memory.MaxEvents {
			t.Errorf("%d events came, want %d", got, 2*memory.MaxEvents)
		}
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if !ended(done) {
			t.Error("an error that stays does not end the stream")
		}
	})
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
