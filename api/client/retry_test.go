package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// step is what happens to one attempt.
type step func() (*http.Response, error)

func answers(status int, kind, body string, headers ...string) step {
	return func() (*http.Response, error) { return response(status, kind, body, headers...), nil }
}

func fails(err error) step { return func() (*http.Response, error) { return nil, err } }

// stele is a problem as the server writes it.
func stele(status int, code problem.Code, detail string, headers ...string) step {
	return answers(status, "application/problem+json; charset=utf-8",
		fmt.Sprintf(`{"type":"about:blank","title":"x","status":%d,"code":%q,"field":"kind","detail":%q,"fixes":["do otherwise"]}`, status, code, detail), headers...)
}

var (
	done    = answers(http.StatusOK, "application/json", `{"memory":{"handle":"m-7k3f9qa"}}`)
	html    = answers(http.StatusBadGateway, "text/html", "<html>bad gateway</html>")
	busy    = stele(http.StatusServiceUnavailable, problem.Unavailable, "the database is away", "Retry-After", "1")
	refused = fails(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
)

// What to do when nobody knows whether a write was carried out depends on what it was.
func TestWhatToDoAboutALostWrite(t *testing.T) {
	t.Parallel()
	by := memory.Caller{Project: uuid.New()}
	for name, tc := range map[string]struct {
		run  func(ctx context.Context, c *client.Client) error
		want string
	}{
		"remember": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Remember(ctx, by, memory.RememberRequest{Content: "Tea is hot."})
			return err
		}, "a fact that is remembered again is recognised"},
		"confirm": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Confirm(ctx, by, memory.ConfirmRequest{Memory: "m-7k3f9qa", Holds: true})
			return err
		}, "look at what is there before you repeat the command"},
		"retire": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Forget(ctx, by, memory.ForgetRequest{Memory: "m-7k3f9qa"})
			return err
		}, "look at what is there before you repeat the command"},
		"token create": {func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateToken(ctx, by, memory.TokenRequest{Name: "kim"})
			return err
		}, "if the token was made just now, revoke it and make another"},
		"token revoke": {func(ctx context.Context, c *client.Client) error {
			_, err := c.RevokeToken(ctx, by, "kim")
			return err
		}, "done twice is as done once"},
		"project create": {func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateProject(ctx, by, "shop", nil)
			return err
		}, "look at what is there before you repeat the command"},
		"model import": {func(ctx context.Context, c *client.Client) error {
			_, err := c.ImportModel(ctx, by, memory.ModelImport{})
			return err
		}, "done twice is as done once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				steps := []step{busy, stele(409, problem.Conflict, "taken")}
				c := connect(t, client.Options{Transport: carrier(func(*http.Request) (*http.Response, error) {
					s := steps[0]
					steps = steps[1:]
					return s()
				})})
				err := tc.run(t.Context(), c)
				if !problem.Is(err, problem.Conflict) || !strings.Contains(err.Error(), "whether it was done is not known") || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
				if name != "remember" && strings.Contains(err.Error(), "a fact that") {
					t.Errorf("it is no fact: %v", err)
				}
			})
		})
	}
}

// repeated is a step for every attempt there will be.
func repeated(s step) []step {
	out := make([]step, 1000)
	for n := range out {
		out[n] = s
	}
	return out
}

// Clocks are virtual: no test waits.
func TestRetries(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps    []step
		read     bool
		tries    int // exact; 0 = more than two
		from, to time.Duration
		want     string // in the error; "" = success
		code     problem.Code
		not      string // not in the error
	}{
		"at once":             {steps: []step{done}, tries: 1},
		"unavailable, then":   {steps: []step{busy, done}, tries: 2, from: time.Second, to: time.Second},
		"a proxy, then":       {steps: []step{html, html, done}, tries: 3, from: 200 * time.Millisecond, to: time.Second},
		"refused, then":       {steps: []step{refused, done}, tries: 2, from: 100 * time.Millisecond, to: 300 * time.Millisecond},
		"broken, then":        {steps: []step{fails(io.ErrUnexpectedEOF), done}, tries: 2, from: 100 * time.Millisecond, to: 300 * time.Millisecond},
		"too many, then":      {steps: []step{stele(429, problem.TooMany, "slower", "Retry-After", "7"), done}, tries: 2, from: 7 * time.Second, to: 7 * time.Second},
		"come back at once":   {steps: []step{stele(429, problem.TooMany, "slower", "Retry-After", "0"), done}, tries: 2, from: 100 * time.Millisecond, to: 100 * time.Millisecond},
		"come back too late":  {steps: []step{stele(429, problem.TooMany, "slower", "Retry-After", "60")}, tries: 1, want: "kind: slower; nothing was done; do otherwise", code: problem.TooMany},
		"refused for good":    {steps: repeated(refused), from: 20 * time.Second, to: 30 * time.Second, want: "cannot be reached: connection refused (tried ", code: problem.Unavailable, not: "not known"},
		"refused, nothing":    {steps: repeated(refused), from: 20 * time.Second, to: 30 * time.Second, want: "; nothing was done; check that the server runs", code: problem.Unavailable},
		"unavailable always":  {steps: repeated(busy), from: 20 * time.Second, to: 30 * time.Second, want: "; whether it was done is not known; do otherwise; look at what is there before you repeat the command", code: problem.Unavailable},
		"a read fails":        {steps: repeated(busy), read: true, from: 20 * time.Second, to: 30 * time.Second, want: "kind: the database is away (tried ", code: problem.Unavailable, not: "done"},
		"invalid":             {steps: []step{stele(422, problem.Invalid, "it is odd")}, tries: 1, want: "kind: it is odd; do otherwise", code: problem.Invalid, not: "done"},
		"gone":                {steps: []step{stele(404, problem.NotFound, "none")}, tries: 1, want: "kind: none; do otherwise", code: problem.NotFound},
		"stale":               {steps: []step{stele(412, problem.Stale, "changed")}, tries: 1, want: "kind: changed", code: problem.Stale},
		"conflict after loss": {steps: []step{busy, stele(409, problem.Conflict, "taken")}, tries: 2, from: time.Second, to: time.Second, want: "kind: taken; whether it was done is not known", code: problem.Conflict},
		"unauthenticated":     {steps: []step{stele(401, problem.Unauthenticated, "the token is not accepted")}, tries: 1, want: "token: the token is not accepted; set STELE_TOKEN", code: problem.Unauthenticated, not: "do otherwise"},
		"a fault of its own": {steps: []step{stele(500, "internal", "it broke", "Stele-Request-Id", "r-1")}, tries: 1, code: problem.Unavailable,
			want: "server: stele.example failed: it broke; whether it was done is not known; do otherwise; the reason is in the log of the server, under request r-1"},
		"another program":  {steps: []step{answers(200, "text/html", "<html>hello</html>")}, tries: 1, code: problem.Unavailable, want: "does not answer as a Stele server does: it answered 200 OK with text/html", not: "<html>"},
		"not found at all": {steps: []step{answers(404, "text/plain", "404 page not found")}, tries: 1, code: problem.Unavailable, want: "it answered 404 Not Found with text/plain; check the address: it is what stands before /v1"},
		"an empty problem": {steps: []step{answers(403, "application/problem+json", "{}")}, tries: 1, code: problem.Unavailable, want: "it answered 403 Forbidden with application/problem+json"},
		"half a document":  {steps: []step{answers(200, "application/json", `{"memory":`)}, tries: 1, code: problem.Unavailable, want: "its answer is not of the form this program knows; what was asked for was done"},
		"no such host": {steps: []step{fails(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "stele.example", IsNotFound: true}})}, tries: 1,
			code: problem.Unavailable, want: "https://stele.example/team cannot be reached: there is no such host; check --server or STELE_SERVER", not: "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys, tries, told := map[string]bool{}, 0, 0
				c := connect(t, client.Options{Retrying: func(error) { told++ }, Transport: carrier(func(r *http.Request) (*http.Response, error) {
					keys[r.Header.Get("Idempotency-Key")] = true
					tries++
					return tc.steps[tries-1]()
				})})
				by := memory.Caller{Project: uuid.New()}
				start := time.Now()
				var err error
				if tc.read {
					_, err = c.Map(t.Context(), by)
				} else {
					_, err = c.Restore(t.Context(), by, "m-7k3f9qa")
				}
				took := time.Since(start)
				if tc.want == "" && err != nil || tc.want != "" && (!problem.Is(err, tc.code) || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("got %v, want %s %q", err, tc.code, tc.want)
				}
				if err != nil && (tc.not != "" && strings.Contains(err.Error(), tc.not) || strings.Contains(fmt.Sprintf("%+v", err), token)) {
					t.Errorf("the error says too much: %+v", err)
				}
				if tc.tries > 0 && tries != tc.tries || tc.tries == 0 && tries <= 2 || told < tries-1 || told > tries {
					t.Errorf("tried %d times, want %d; told of %d", tries, tc.tries, told)
				}
				if took < tc.from || took > max(tc.to, tc.from) {
					t.Errorf("took %s, want between %s and %s", took, tc.from, tc.to)
				}
				if len(keys) != 1 {
					t.Errorf("one write went under the keys %v", keys)
				}
			})
		})
	}
}

// A caller's own key goes over the client's.
func TestKeyOfTheCaller(t *testing.T) {
	t.Parallel()
	got := ""
	c := connect(t, client.Options{Transport: carrier(func(r *http.Request) (*http.Response, error) {
		got = r.Header.Get("Idempotency-Key")
		return done()
	})})
	if _, err := c.Restore(t.Context(), memory.Caller{Project: uuid.New(), Retry: "mine"}, "m-7k3f9qa"); err != nil || got != "mine" {
		t.Errorf("sent %q, %v", got, err)
	}
}

// The context ends a call at once: cancelled, it is the context's error; over its time, what went wrong is told.
func TestContextEndsACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, client.Options{Transport: carrier(func(*http.Request) (*http.Response, error) { return refused() })})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		if _, err := c.Whoami(ctx); !errors.Is(err, context.Canceled) || time.Since(start) != 3*time.Second {
			t.Errorf("cancelled: %v after %s", err, time.Since(start))
		}
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start = time.Now()
		if _, err := c.Whoami(ctx); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "connection refused") || time.Since(start) > 2*time.Second {
			t.Errorf("over its time: %v after %s", err, time.Since(start))
		}
		silent := connect(t, client.Options{Transport: carrier(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		start = time.Now()
		_, err := silent.Whoami(t.Context())
		if !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "it does not answer in time") || time.Since(start) != client.DefaultPatience {
			t.Errorf("a silent server: %v after %s", err, time.Since(start))
		}
	})
}

// The token goes to the server it is for, and nowhere else.
func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was sent elsewhere: %v", r.Method, r.URL, r.Header)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1?secret=x", status))
		c := connect(t, client.Options{URL: server.URL})
		_, err := c.Restore(t.Context(), memory.Caller{Project: uuid.New()}, "m-7k3f9qa")
		if !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "sends its callers to "+elsewhere.URL+"/v1, where the token was not sent") {
			t.Errorf("%d: %v", status, err)
		}
		server.Close()
	}
}

// What is wrong with a connection that is encrypted, or is not, is said, and not tried again.
func TestTLS(t *testing.T) {
	t.Parallel()
	tries := 0
	count := func(error) { tries++ }
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secured.StartTLS()
	defer secured.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for url, want := range map[string]string{
		secured.URL: "its certificate is not accepted (x509: certificate signed by unknown authority); use the name the certificate is made out to; or make its authority known with SSL_CERT_FILE",
		strings.Replace(plain.URL, "http:", "https:", 1):   "it does not speak TLS; check scheme and port",
		strings.Replace(secured.URL, "https:", "http:", 1): "it answered 400 Bad Request",
	} {
		c := connect(t, client.Options{URL: url, Retrying: count})
		if _, err := c.Whoami(t.Context()); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), want) || tries > 0 {
			t.Errorf("%s: %v, tried %d times more", url, err, tries)
		}
		c.Close()
	}
}

// An answer without an end does not fill the memory.
func TestAnswerWithoutEnd(t *testing.T) {
	t.Parallel()
	c := connect(t, client.Options{Transport: carrier(func(*http.Request) (*http.Response, error) {
		r := response(http.StatusOK, "application/json", "")
		r.Body = io.NopCloser(endless{})
		return r, nil
	})})
	if _, err := c.Whoami(t.Context()); !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "longer than 32 MiB") {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = ' '
	}
	return len(p), nil
}
