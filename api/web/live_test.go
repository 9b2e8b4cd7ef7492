package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/api/web"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// pages is a server of the pages alone, in a hurry.
type pages struct {
	*httptest.Server

	streams atomic.Int64  // that are open
	stop    chan struct{} // ends them
}

func (w *world) pages(limits auth.Limits) *pages {
	w.t.Helper()
	limits.PerToken, limits.Burst = 1e6, 1e6
	gate := auth.NewGate(auth.Config{Tokens: w.service, Limits: limits, Log: slog.New(slog.DiscardHandler)})
	p := &pages{stop: make(chan struct{})}
	as := func(h http.Handler) http.Handler { return h }
	mux := http.NewServeMux()
	web.New(web.Options{Service: w.service, Signed: gate.WrapBy, Within: as, Limited: as, Admitted: gate.AdmittedBy, Done: p.stop,
		Stream: func(r *http.Request) (func(), error) {
			done, err := gate.Stream(r)
			if err != nil {
				return nil, err
			}
			p.streams.Add(1)
			return func() { p.streams.Add(-1); done() }, nil
		},
		Pace: eventstream.Pace{Poll: 2 * time.Millisecond, Heartbeat: 20 * time.Millisecond}}).Register(mux)
	p.Server = httptest.NewServer(mux)
	w.t.Cleanup(p.Close)
	return p
}

// cookie signs in; it is good on every server of the database.
func (w *world) cookie(n tenant, role memory.Role) *http.Cookie {
	w.t.Helper()
	in, err := w.service.SignIn(w.t.Context(), n.tokens[role])
	w.must(err)
	return &http.Cookie{Name: "stele", Value: in.Text}
}

// listener reads a stream as a browser does: an event counts once the blank line behind it is there.
type listener struct {
	body  io.ReadCloser
	lines *bufio.Reader
	last  string
}

var streamPath = "/p/shop/live/events"

// listen asks for a stream; after is what a browser has as its last event.
func listen(ctx context.Context, at string, c *http.Cookie, after string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	if c != nil {
		r.AddCookie(c)
	}
	r.Header.Set("Accept", "text/event-stream")
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(r)
}

// next gives the next event; an error when the stream ended or was cut.
func (l *listener) next() (data string, err error) {
	id := l.last
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return "", err // what came of an event that is not whole does not count
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "":
			l.last = id
			if data != "" {
				return data, nil
			}
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			data += line[6:] + "\n"
		}
	}
}

// torn breaks off after some bytes, in the middle of whatever is sent.
type torn struct {
	io.ReadCloser

	left int
}

func (t *torn) Read(p []byte) (int, error) {
	if t.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := t.ReadCloser.Read(p[:min(len(p), t.left)])
	t.left -= n
	return n, err
}

var ofHandle = regexp.MustCompile(`/memories/(m-[a-z2-7]{7})"`)

// While people write, the connection is cut at random and the server replaced: every event comes once, and in order.
func TestLiveMissesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	servers := []*pages{w.pages(auth.Limits{Streams: 100}), w.pages(auth.Limits{Streams: 100})}
	cookie := w.cookie(w.acme, memory.RoleAgent)
	me := w.acme.Caller
	me.User = "the agent"
	start, err := w.service.Events(t.Context(), me, memory.FromNow, 0)
	w.must(err)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))

	const writers, each = 3, 20
	var writing sync.WaitGroup
	var mu sync.Mutex
	written := map[string]bool{}
	for n := range writers {
		c := me
		c.Role = memory.RoleReviewer
		writing.Go(func() {
			for i := range each {
				scope := []memory.Scope{memory.Project, memory.Organization, memory.Personal}[(i+n)%3]
				out, err := w.service.Remember(context.Background(), c, memory.RememberRequest{Content: fmt.Sprintf("Rack %d holds %d boxes of kind %d.", n, i, n*each+i), Scope: scope, Separate: true})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				written[out.Memory.Handle] = true
				mu.Unlock()
			}
		})
	}
	l := &listener{last: start.Position}
	at, seen, cuts := place(t, start.Position), map[string]int{}, 0
	for len(seen) < writers*each && !t.Failed() {
		on := servers[cuts%2]
		switch {
		case cuts == 9: // the first is stopped as a server is, which ends its streams
			close(servers[0].stop)
		case cuts > 9:
			on = servers[1]
		}
		res, err := listen(t.Context(), on.URL+streamPath+"?after="+start.Position, cookie, l.last) //nolint:bodyclose // where it is cut
		w.must(err)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Content-Encoding") != "" {
			t.Fatalf("the stream is answered %d %s", res.StatusCode, res.Header)
		}
		left := 1 + random.IntN(4000)
		l.body, l.lines = res.Body, bufio.NewReaderSize(&torn{res.Body, left}, 16)
		for len(seen) < writers*each {
			data, err := l.next()
			if err != nil {
				break
			}
			now := place(t, l.last)
			if !follows(at, now) {
				t.Errorf("behind %v comes %v", at, now)
			}
			at = now
			if m := ofHandle.FindStringSubmatch(data); m != nil && strings.Contains(data, "wrote") && strings.Contains(data, `data-id="`+l.last+`"`) {
				seen[m[1]]++
			} else {
				t.Errorf("an event is shown as %s", data)
			}
		}
		w.must(l.body.Close())
		cuts++
	}
	writing.Wait()
	for handle := range written {
		if seen[handle] != 1 {
			t.Errorf("%s came %d times", handle, seen[handle])
		}
	}
	end, err := w.service.Events(t.Context(), me, start.Position, 0)
	w.must(err)
	if end.Position != l.last || len(end.Events) != writers*each || cuts < 5 {
		t.Errorf("after %d cuts the stream is at %s of %s", cuts, l.last, end.Position)
	}
}

// place is a position in numbers.
func place(t *testing.T, text string) (out [3]int) {
	t.Helper()
	parts := strings.Split(text, ".")
	for i := range out {
		n, err := strconv.Atoi(parts[i])
		if err != nil || len(parts) != len(out) {
			t.Fatalf("%q is no position", text)
		}
		out[i] = n
	}
	return out
}

// follows tells whether one event lies between two positions.
func follows(a, b [3]int) bool {
	steps := 0
	for i := range a {
		if b[i] < a[i] {
			return false
		}
		steps += b[i] - a[i]
	}
	return steps == 1
}

func TestLivePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.visit(w.acme, memory.RoleAgent)
	first := w.remember(w.acme, memory.RememberRequest{Kind: memory.Pitfall, Title: "Gate " + hostile, Content: "The gate sticks in winter."})
	_, err := w.service.Confirm(t.Context(), w.acme.Caller, memory.ConfirmRequest{Memory: first.Handle, Note: "It was oiled in spring."})
	w.must(err)
	other := w.acme.Caller
	other.User = "ana"
	own, err := w.service.Remember(t.Context(), other, memory.RememberRequest{Title: "Ana alone", Content: "I would rather work at night.", Scope: memory.Personal})
	w.must(err)
	w.remember(w.globex, memory.RememberRequest{Title: "Globex alone", Content: "The safe is behind the picture."})
	w.run(w.acme, strings.Repeat("c0ffee11", 5), nil)
	began := w.start(w.acme, "bob", session.StartRequest{Task: "Oil every gate."})

	p := agent.get("/p/shop/live")
	p.shows(t, `href="/p/shop/memories/`+first.Handle+`"`, "wrote", "disputed", `href="/p/shop/sessions/`+began.SessionID+`"`, "began", "coder/bob", `compared the code with the model: <a href="/p/shop/drift/runs/`, "imported", "the model",
		`aria-current="page">Live`, `data-stream="/p/shop/live/events"`, "live.js", `role="status"`,
		"!sticks in winter", "!oiled in spring", "!Oil every gate", "!<script>alert", "!Ana alone", "!"+own.Memory.Handle, "!Globex", "!globex")
	if strings.Index(p.body, "disputed") > strings.Index(p.body, "wrote") {
		t.Error("what happened first stands first")
	}

	for i := range 60 {
		w.remember(w.acme, memory.RememberRequest{Content: fmt.Sprintf("Gate %d opens to the north of hall %d.", i, i*i), Separate: true})
	}
	var ids []string
	pages := 0
	for at := "/p/shop/live"; at != "" && pages < 9; pages++ {
		p := agent.get(at)
		p.shows(t)
		for _, m := range regexp.MustCompile(`<li data-id="([0-9.]+)"`).FindAllStringSubmatch(p.body, -1) {
			ids = append(ids, m[1])
		}
		at = ""
		if m := regexp.MustCompile(`<p><a id="earlier" rel="next" href="([^"]+)"`).FindStringSubmatch(p.body); m != nil {
			at = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if pages < 2 {
		t.Errorf("%d pages", pages)
	}
	for i := 1; i < len(ids); i++ {
		if !follows(place(t, ids[i]), place(t, ids[i-1])) {
			t.Errorf("behind %s comes %s", ids[i-1], ids[i])
		}
	}
	if last := place(t, ids[len(ids)-1]); last[0]+last[1]+last[2] != 1 {
		t.Errorf("the last page ends with %v", last)
	}
	for _, wrong := range []string{"?before=x", "?before=1000.0.0"} {
		if p := agent.get("/p/shop/live" + wrong); p.status < 400 || p.status > 499 {
			t.Errorf("%s: %d", wrong, p.status)
		}
	}
	w.visit(w.globex, memory.RoleAdmin).get("/p/shop/live").shows(t, "Globex alone", "!"+first.Handle, "!bob")
	if p := w.visit(w.globex, memory.RoleAdmin).get("/p/" + w.acme.Project.String() + "/live"); p.status != http.StatusNotFound {
		t.Errorf("another organization's: %d", p.status)
	}
}

// Whoever asks for a stream and gets none is told as programs are, so that a browser does not take a page for one.
func TestLiveStreamIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pages(auth.Limits{Streams: 1})
	agent, spy := w.cookie(w.acme, memory.RoleAgent), w.cookie(w.globex, memory.RoleAdmin)
	open, err := listen(t.Context(), p.URL+streamPath, agent, "")
	w.must(err)
	defer open.Body.Close()
	for _, c := range []struct {
		name, path string
		cookie     *http.Cookie
		last       string
		status     int
		code       problem.Code
	}{
		{"nobody", streamPath, nil, "", http.StatusUnauthorized, problem.Unauthenticated},
		{"a stranger", streamPath, &http.Cookie{Name: "stele", Value: "stele_x"}, "", http.StatusUnauthorized, problem.Unauthenticated},
		{"one too many", streamPath, agent, "", http.StatusTooManyRequests, problem.TooMany},
		{"no position", streamPath + "?after=x", spy, "", http.StatusUnprocessableEntity, problem.Invalid},
		{"ahead of everything", streamPath, spy, "1000.0.0", http.StatusConflict, problem.Conflict},
		{"another organization's", "/p/" + w.acme.Project.String() + "/live/events", spy, "", http.StatusNotFound, problem.NotFound},
		{"no project", "/p/" + uuid.NewString() + "/live/events", agent, "", http.StatusNotFound, problem.NotFound},
	} {
		res, err := listen(t.Context(), p.URL+c.path, c.cookie, c.last)
		w.must(err)
		var said struct {
			Code problem.Code `json:"code"`
		}
		if err := json.NewDecoder(res.Body).Decode(&said); err != nil || res.StatusCode != c.status || said.Code != c.code {
			t.Errorf("%s: %d %+v, %v", c.name, res.StatusCode, said, err)
		}
		if again := res.Header.Get("Retry-After"); (again != "") != (c.status == http.StatusTooManyRequests) {
			t.Errorf("%s: come back after %q", c.name, again)
		}
		w.must(res.Body.Close())
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, p.URL+streamPath, nil)
	w.must(err)
	r.AddCookie(agent)
	res, err := http.DefaultClient.Do(r) // and comes back: a stream without a body would never end
	w.must(err)
	if w.must(res.Body.Close()); res.StatusCode != http.StatusOK || p.streams.Load() != 1 {
		t.Errorf("HEAD is answered %d, with %d streams open", res.StatusCode, p.streams.Load())
	}
}

// A stream ends with the sign-in, with the token, and with the server.
func TestLiveStreamEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, p *pages, c *http.Cookie){
		"signed out": func(w *world, _ *pages, c *http.Cookie) { w.must(w.service.SignOut(context.Background(), c.Value)) },
		"revoked": func(w *world, _ *pages, _ *http.Cookie) {
			_, err := w.service.RevokeToken(context.Background(), w.acme.Caller, "the agent")
			w.must(err)
		},
		"shutdown": func(_ *world, p *pages, _ *http.Cookie) { close(p.stop) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.pages(auth.Limits{})
			cookie := w.cookie(w.acme, memory.RoleAgent)
			res, err := listen(t.Context(), p.URL+streamPath, cookie, "")
			w.must(err)
			defer res.Body.Close()
			l := &listener{lines: bufio.NewReader(res.Body)}
			m := w.remember(w.acme, memory.RememberRequest{Content: "The lift is out of order."})
			if data, err := l.next(); err != nil || !strings.Contains(data, m.Handle) {
				t.Fatalf("%s, %v", data, err)
			}
			end(w, p, cookie)
			if data, err := l.next(); err != io.EOF { //nolint:errorlint // nothing else is a clean end
				t.Errorf("it goes on with %q, %v", data, err)
			}
			if name == "shutdown" {
				return
			}
			res, err = listen(t.Context(), p.URL+streamPath, cookie, l.last)
			w.must(err)
			if w.must(res.Body.Close()); res.StatusCode != http.StatusUnauthorized {
				t.Errorf("and is opened again: %d", res.StatusCode)
			}
		})
	}
}

// Streams that are dropped leave nothing behind.
//
//nolint:paralleltest // it counts goroutines
func TestDroppedStreamsLeaveNothing(t *testing.T) {
	w := newWorld(t)
	p := w.pages(auth.Limits{Streams: 50})
	cookie := w.cookie(w.acme, memory.RoleAgent)
	w.remember(w.acme, memory.RememberRequest{Content: "The bell rings at noon."})
	before := goleak.IgnoreCurrent()
	// Where a write was slow the driver reads ahead; a connection of the pool does so until it is used again.
	ahead := goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).bgRead")
	for round := range 2 { // the second finds the places of the first free again
		var drop []func()
		for n := range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			res, err := listen(ctx, p.URL+streamPath+"?after=0.0.0", cookie, "") //nolint:bodyclose // it is dropped below
			w.must(err)
			if res.StatusCode != http.StatusOK {
				t.Fatalf("stream %d of round %d: %d", n, round, res.StatusCode)
			}
			drop = append(drop, cancel, func() { _ = res.Body.Close() })
		}
		if open := p.streams.Load(); open != 50 {
			t.Errorf("%d streams are open", open)
		}
		for _, d := range drop {
			d()
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := goleak.Find(before, ahead); err != nil { // waits for them
			t.Fatal(err)
		}
		if open := p.streams.Load(); open != 0 {
			t.Errorf("%d streams are left", open)
		}
	}
}
