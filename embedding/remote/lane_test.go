package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// longestRest is when a breaker lets a request through at the latest.
const longestRest = rest + rest/10 + 1

// budget is what a write or a recall waits.
const budget = 250 * time.Millisecond

// within embeds one text in the time given.
func within(t *testing.T, d time.Duration, p *Provider) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return one(ctx, p)
}

// took tells how long f takes by the clock of the bubble.
func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// hung is a network that carries nothing back.
func hung(count *atomic.Int32) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		count.Add(1)
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
}

// Of a provider that hangs one call learns, and no other waits: not before the breaker opens, not after a rest. It is tried
// seldom, and used again when it answers in time.
func TestADeadProviderCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		var written log
		var up atomic.Bool
		f := &fake{answer: answerOpenAI}
		p := provider(t, NewOpenAI, Options{Log: slog.New(slog.NewTextHandler(&written, nil)), Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if up.Load() {
				return f.RoundTrip(r)
			}
			return hung(&sent)(r)
		})})
		if d := took(func() { wantDetail(t, within(t, budget, p), "did not answer in time") }); d != budget {
			t.Errorf("the first call took %s, want the budget", d)
		}
		const minutes = 5
		for range minutes * 60 {
			var calls sync.WaitGroup
			for range 20 {
				calls.Go(func() {
					if d := took(func() {
						err := within(t, budget, p)
						wantDetail(t, err, "did not answer in time")
						if !problem.Is(err, problem.Unavailable) {
							t.Errorf("%v is not Unavailable", err)
						}
					}); d != 0 {
						t.Errorf("a call of a provider that is away took %s", d)
					}
				})
			}
			calls.Wait()
			time.Sleep(time.Second) //nolint:forbidigo // the clock of the bubble, nobody waits
		}
		wantDetail(t, within(t, budget, p), "after 5 failures in a row it is not asked again")
		// One every nine seconds until the breaker opens, then one after each rest.
		if n, least, most := int(sent.Load()), minutes*60/int(longestRest/time.Second+10), minutes*60/9; n < least || n > most {
			t.Errorf("%d requests were sent in %d minutes, want %d to %d", n, minutes, least, most)
		}
		up.Store(true)
		time.Sleep(longestRest + longestAnswer) //nolint:forbidigo // the clock of the bubble, nobody waits
		_ = within(t, budget, p)                // sends a request that it does not wait for
		synctest.Wait()
		for range 3 {
			if err := within(t, budget, p); err != nil {
				t.Errorf("a provider that is back: %v", err)
			}
		}
		for _, part := range []string{"is late", "is away", "is back", "answers in time"} {
			if !strings.Contains(written.String(), part) {
				t.Errorf("the log does not tell that it %s: %s", part, written.String())
			}
		}
	})
}

// A crowd that found it out together is one that waits no more.
func TestThoseWhoWaitTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		p := provider(t, NewOpenAI, Options{Transport: hung(&sent)})
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if d := took(func() { _ = within(t, budget, p) }); d != budget {
					t.Errorf("a call took %s, want the budget", d)
				}
			})
		}
		calls.Wait()
		if d := took(func() { _ = within(t, budget, p) }); d != 0 || sent.Load() > 2*DefaultConcurrency {
			t.Errorf("then a call took %s; %d requests were sent, want at most %d", d, sent.Load(), 2*DefaultConcurrency)
		}
	})
}

// A provider that always needs longer than a call has is not waited for, however often it answers.
func TestASlowProviderIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: answerOpenAI}
		var pause atomic.Int64
		pause.Store(int64(2 * budget))
		p := provider(t, NewOpenAI, Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Duration(pause.Load())) //nolint:forbidigo // the clock of the bubble, nobody waits
			return f.RoundTrip(r)
		})})
		waited := 0
		call := func() error {
			var err error
			if took(func() { err = within(t, budget, p) }) > 0 {
				waited++
			}
			time.Sleep(time.Second) //nolint:forbidigo // the clock of the bubble, nobody waits
			return err
		}
		for range 60 {
			_ = call()
		}
		if waited != 1 {
			t.Errorf("%d calls waited, want 1", waited)
		}
		pause.Store(int64(budget / 10))
		for range 2 * int(triedEvery/time.Second) {
			_ = call()
		}
		if err := call(); err != nil {
			t.Errorf("it answers in time now: %v", err)
		}
	})
}

// Warming up is a call with time, of which calls in a hurry do not learn.
func TestWarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: answerOllama}
		loaded := false
		p := provider(t, NewOllama, Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if !loaded {
				time.Sleep(20 * time.Second) //nolint:forbidigo // the clock of the bubble, nobody waits
				loaded = true
			}
			return f.RoundTrip(r)
		})})
		if d := took(func() {
			if err := p.Warm(t.Context()); err != nil {
				t.Error(err)
			}
		}); d < 20*time.Second {
			t.Errorf("it was warm after %s", d)
		}
		if err := within(t, budget, p); err != nil {
			t.Error(err)
		}
	})
}

func TestAProviderComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: answerOpenAI}
		var down atomic.Bool
		var written log
		p := provider(t, NewOpenAI, Options{Log: slog.New(slog.NewTextHandler(&written, nil)), Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if down.Load() {
				return nil, errors.New("dial tcp: connection refused")
			}
			return f.RoundTrip(r)
		})})
		if err := within(t, budget, p); err != nil {
			t.Fatal(err)
		}
		down.Store(true)
		for range tripAfter {
			wantDetail(t, within(t, budget, p), "connection refused")
		}
		down.Store(false)
		wantDetail(t, within(t, budget, p), "not asked again")
		time.Sleep(longestRest) //nolint:forbidigo // the clock of the bubble, nobody waits
		for range 3 {
			if err := within(t, budget, p); err != nil {
				t.Errorf("a provider that is back: %v", err)
			}
		}
		if !strings.Contains(written.String(), "provider is back") {
			t.Errorf("the log does not tell that it is back: %s", written.String())
		}
	})
}

// A failure between successes opens nothing.
func TestFailuresInARowCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		f := &fake{answer: func(w http.ResponseWriter, a asked) {
			if n++; n%tripAfter != 0 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			answerOpenAI(w, a)
		}}
		p := provider(t, NewOpenAI, Options{Transport: f})
		for i := range 10 * tripAfter {
			if err := within(t, budget, p); (err == nil) != ((i+1)%tripAfter == 0) {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		if n != 10*tripAfter {
			t.Errorf("%d requests, want one for each call", n)
		}
	})
}

// A provider that takes a second is away for writes, and fills vectors in all the same. Writes do not wait behind that.
func TestLanesAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: answerOpenAI}
		p := provider(t, NewOpenAI, Options{Concurrency: 1, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(time.Second):
				return f.RoundTrip(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})})
		var patient sync.WaitGroup
		patient.Go(func() {
			if err := one(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // it has its turn
		if err := within(t, 2*time.Second, p); err != nil {
			t.Errorf("a call in a hurry beside one with time: %v", err)
		}
		patient.Wait()
		_ = within(t, budget, p)
		wantDetail(t, within(t, budget, p), "is not waited for")
		if err := one(t.Context(), p); err != nil {
			t.Errorf("a call with time: %v", err)
		}
	})
}

func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: answerOpenAI}
		var now, most atomic.Int32
		p := provider(t, NewOpenAI, Options{Concurrency: 3, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // the clock of the bubble, nobody waits
			return f.RoundTrip(r)
		})})
		var calls sync.WaitGroup
		var served atomic.Int32
		for range 30 {
			calls.Go(func() {
				if err := within(t, budget, p); err == nil {
					served.Add(1)
				} else if !problem.Is(err, problem.Unavailable) {
					t.Errorf("%v is not Unavailable", err)
				}
			})
		}
		calls.Wait()
		// In 250 ms each of three turns serves two calls; a third is cut off. No turn was a matter of the provider's.
		if most.Load() != 3 || served.Load() != 6 {
			t.Errorf("%d requests at once served %d calls, want 3 and 6", most.Load(), served.Load())
		}
		if err := within(t, budget, p); err != nil {
			t.Errorf("a crowd is no failure of the provider: %v", err)
		}
	})
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failures   int // before the provider answers
		status     int
		header     func() string // Retry-After
		time       time.Duration // that the context leaves
		requests   int
		says       string // "" for success
		from, till time.Duration
	}{
		"after 503":                      {2, 503, nil, time.Minute, 3, "", 300 * time.Millisecond, 900 * time.Millisecond},
		"after a lost connection":        {2, 0, nil, time.Minute, 3, "", 300 * time.Millisecond, 900 * time.Millisecond},
		"when told":                      {1, 429, func() string { return "7" }, time.Minute, 2, "", 7 * time.Second, 7 * time.Second},
		"when told a date":               {1, 503, func() string { return time.Now().Add(9 * time.Second).UTC().Format(http.TimeFormat) }, time.Minute, 2, "", 9 * time.Second, 9 * time.Second},
		"told a date of the past":        {1, 503, func() string { return "Mon, 02 Jan 1995 15:04:05 GMT" }, time.Minute, 2, "", 100 * time.Millisecond, 300 * time.Millisecond},
		"told nonsense":                  {1, 503, func() string { return "soon" }, time.Minute, 2, "", 100 * time.Millisecond, 300 * time.Millisecond},
		"told longer than there is time": {9, 429, func() string { return "20" }, 10 * time.Second, 1, "429", 0, 0},
		"in a hurry":                     {9, 503, nil, budget, 1, "503", 0, 0},
		"until it is left alone":         {99, 503, nil, time.Minute, tripAfter, "(tried 5 times)", time.Second, 5 * time.Second},
		"not with a wrong key":           {9, 401, nil, time.Minute, 1, "401", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				f := &fake{answer: func(w http.ResponseWriter, a asked) {
					if n > c.failures {
						answerOpenAI(w, a)
						return
					}
					if c.header != nil {
						w.Header().Set("Retry-After", c.header())
					}
					w.WriteHeader(c.status)
				}}
				p := provider(t, NewOpenAI, Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					if n++; n <= c.failures && c.status == 0 {
						return nil, errors.New("read: connection reset by peer")
					}
					return f.RoundTrip(r)
				})})
				var err error
				if d := took(func() { err = within(t, c.time, p) }); d < c.from || d > c.till {
					t.Errorf("took %s, want %s to %s", d, c.from, c.till)
				}
				if c.says != "" {
					wantDetail(t, err, c.says)
				} else if err != nil {
					t.Error(err)
				}
				if n != c.requests {
					t.Errorf("%d requests, want %d", n, c.requests)
				}
			})
		})
	}
}

// The reason of a failure is what the provider did, and not that the time was over when it was asked once more.
func TestReasonSurvivesTheLastAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := provider(t, NewOpenAI, Options{Timeout: 6 * time.Second, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 {
				return nil, errors.New("read: connection reset by peer")
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		if d := took(func() { wantDetail(t, one(t.Context(), p), "connection reset by peer (tried 2 times)") }); d != 6*time.Second {
			t.Errorf("took %s, want the timeout", d)
		}
	})
}

func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		p := provider(t, NewOpenAI, Options{Transport: hung(&sent), Concurrency: 1})
		for range 2 * tripAfter { // half of them while they wait for a turn
			ctx, cancel := context.WithCancel(t.Context())
			var calls sync.WaitGroup
			for range 2 {
				calls.Go(func() {
					err := one(ctx, p)
					if _, ok := problem.As(err); ok || !errors.Is(err, context.Canceled) {
						t.Errorf("got %v, want the error of the context", err)
					}
				})
			}
			synctest.Wait()
			cancel()
			calls.Wait()
		}
		if n := sent.Load(); n != 2*tripAfter {
			t.Errorf("%d requests, want %d: callers that give up are no failures of the provider", n, 2*tripAfter)
		}
	})
}

// A wrong setting is a failure like others: it costs no write a request for ever. It keeps its code.
func TestWrongSettingsOpenTheBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(w http.ResponseWriter, _ asked) { refuse(w) }}
		p := provider(t, NewOpenAI, Options{Transport: f})
		for range tripAfter {
			wantDetail(t, within(t, budget, p), "to every text")
		}
		n := len(f.requests())
		err := within(t, budget, p)
		wantDetail(t, err, "not asked again")
		if !problem.Is(err, problem.Invalid) || len(f.requests()) != n {
			t.Errorf("got %v after %d more requests, want Invalid after none", err, len(f.requests())-n)
		}
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := &fake{answer: answerOpenAI}
	target := serve(t, elsewhere).URL
	for _, status := range []int{301, 302, 307, 308} {
		f := &fake{answer: func(w http.ResponseWriter, _ asked) {
			w.Header().Set("Location", target+"/v1/embeddings")
			w.WriteHeader(status)
		}}
		p := provider(t, NewOpenAI, Options{URL: serve(t, f).URL, Key: "k"})
		wantDetail(t, one(t.Context(), p), "points elsewhere")
	}
	if n := len(elsewhere.requests()); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// Servers close connections that were idle. A call in a hurry, which is tried once, does not fail for that.
func TestConnectionClosedWhileIdle(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	var connections atomic.Int32
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			done.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for n := 0; ; n++ {
					r, err := http.ReadRequest(in)
					if err != nil || n == 1 { // the second request on a connection finds it closing
						return
					}
					_, _ = in.Discard(int(r.ContentLength))
					const body = `{"embeddings":[[3,4]]}`
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				}
			})
		}
	})
	p := provider(t, NewOllama, Options{URL: "http://" + listener.Addr().String(), Timeout: hurriedly})
	for i := range 3 {
		if err := one(t.Context(), p); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if n := connections.Load(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
	p.Close()
	listener.Close()
	done.Wait()
}

// BenchmarkAway is what a write pays for a provider that is away: redacting the text, and asking the breaker.
func BenchmarkAway(b *testing.B) {
	p, err := NewOpenAI(Options{Model: "m", Timeout: hurriedly, Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("dial tcp: connection refused")
	})})
	if err != nil {
		b.Fatal(err)
	}
	text := []string{strings.Repeat("the worker takes jobs from a queue and retries three times. ", 20)}
	for b.Loop() {
		if _, err := p.Embed(b.Context(), text); err == nil {
			b.Fatal("a vector without a provider")
		}
	}
}
