package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/api/rest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// streamSite serves the streams of a site over connections that break after some bytes.
func streamSite(t *testing.T, s *site, cut func() int) *client.Client {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	gate := auth.NewGate(auth.Config{Tokens: s.local, Log: log, Limits: auth.Limits{PerToken: 1e6, Burst: 1e6}})
	mux := http.NewServeMux()
	rest.New(rest.Options{Service: s.local, Log: log, Version: "1.2", Stream: gate.Stream, Admitted: gate.Admitted,
		Pace: eventstream.Pace{Poll: 2 * time.Millisecond, Heartbeat: 20 * time.Millisecond}}).Register(mux, gate.Wrap)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(&breaking{ResponseWriter: w, left: cut()}, r)
	}))
	t.Cleanup(h.Close)
	made, err := s.local.CreateToken(t.Context(), s.admin, memory.TokenRequest{Name: "follower"})
	check(t, err)
	return connect(t, client.Options{URL: h.URL, Token: made.Text})
}

// breaking is an answer whose connection breaks after some bytes; never when it begins below 0. It also says that clients may come
// back at once.
type breaking struct {
	http.ResponseWriter

	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	text := strings.ReplaceAll(string(p), "retry: 1000\n", "retry: 1\n")
	if b.left < 0 {
		_, err := b.ResponseWriter.Write([]byte(text))
		return len(p), err
	}
	if len(text) > b.left {
		_, _ = b.ResponseWriter.Write([]byte(text[:b.left]))
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	b.left -= len(text)
	_, err := b.ResponseWriter.Write([]byte(text))
	return len(p), err
}

func (b *breaking) Unwrap() http.ResponseWriter { return b.ResponseWriter }

var errEnough = errors.New("enough")

// Over connections that break anywhere a follower gets every event once.
func TestFollowEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	connections := 0
	c := streamSite(t, s, func() int {
		mu.Lock()
		defer mu.Unlock()
		connections++
		return 300 + random.IntN(1500)
	})
	start, err := c.EarlierEvents(t.Context(), s.by, memory.FromNow, 1)
	check(t, err)
	const each = 30
	var want []string
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range each {
			out, err := s.local.Remember(context.WithoutCancel(t.Context()), s.admin, memory.RememberRequest{Content: fmt.Sprintf("Cup %d is of batch %d.", i, i*i), Separate: true})
			if err != nil {
				t.Error(err)
				return
			}
			want = append(want, out.Memory.Handle)
		}
	})
	var got []string
	after := memory.Beginning
	if len(start.Events) > 0 {
		after = start.Events[0].ID
	}
	err = c.FollowEvents(t.Context(), s.by, after, func(e memory.StreamEvent) error {
		if got = append(got, e.Memory); len(got) == each {
			return errEnough
		}
		return nil
	})
	writing.Wait()
	if !errors.Is(err, errEnough) || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v\nwant %v, %v", got, want, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if connections < 4 {
		t.Errorf("it took %d connections", connections)
	}

	page, err := s.Events(t.Context(), s.by, after, 5)
	if err != nil || len(page.Events) != 5 || page.Events[0].Memory != want[0] {
		t.Errorf("a page begins with %+v, %v", page.Events, err)
	}
	back, err := s.EarlierEvents(t.Context(), s.by, memory.FromNow, 5)
	if err != nil || len(back.Events) != 5 || back.Events[0].Memory != want[each-1] {
		t.Errorf("the newest are %+v, %v", back.Events, err)
	}
	all, err := s.Events(t.Context(), s.by, "", 0)
	if err != nil || len(all.Events) < each || all.Events[0].ID != "1.0.0" {
		t.Errorf("from the beginning come %d, %v", len(all.Events), err)
	}
}

// What no waiting mends ends a follower, and so does the one who follows.
func TestFollowEventsEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	c := streamSite(t, s, func() int { return -1 })
	none := func(memory.StreamEvent) error { return nil }
	if err := c.FollowEvents(t.Context(), s.by, "1000.0.0", none); !problem.Is(err, problem.Conflict) {
		t.Errorf("ahead of everything: %v", err)
	}
	if err := c.FollowEvents(t.Context(), memory.Caller{}, "", none); !problem.Is(err, problem.Invalid) {
		t.Errorf("without a project: %v", err)
	}
	m, err := s.local.Remember(t.Context(), s.admin, memory.RememberRequest{Content: "Cups are blue."})
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	err = c.FollowEvents(ctx, s.by, "", func(e memory.StreamEvent) error {
		if e.Memory == m.Memory.Handle {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	err = c.FollowEvents(t.Context(), s.by, "", func(e memory.StreamEvent) error {
		if e.Memory == m.Memory.Handle {
			_, err := s.local.RevokeToken(t.Context(), s.admin, "follower")
			return err
		}
		return nil
	})
	if !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("revoked: %v", err)
	}
}
