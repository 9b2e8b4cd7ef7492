package api_test

import (
	"bufio"
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
)

// However many organizations take all they get, the next one gets something; and all of it is given back.
func TestShares(t *testing.T) {
	t.Parallel()
	const size = 256
	for greedy := range 7 {
		s := api.NewSlots(size)
		var given []func()
		takeAll := func(tokens int) (got int) {
			org := uuid.New()
			for range tokens {
				token, of := uuid.New(), 0
				for give := s.Take(org, token); give != nil; give = s.Take(org, token) {
					given = append(given, give)
					of++
				}
				if got += of; of > size/8 {
					t.Fatalf("one token has %d of %d", of, size)
				}
			}
			return got
		}
		for range greedy {
			takeAll(100)
		}
		if got, want := takeAll(100), size/2>>greedy; got != want {
			t.Errorf("behind %d others an organization gets %d of %d, want %d", greedy, got, size, want)
		}
		for _, give := range given {
			give()
		}
		if orgs, tokens := s.Known(); orgs != 0 || tokens != 0 {
			t.Errorf("%d organizations and %d tokens are still counted", orgs, tokens)
		}
		if got := takeAll(100); got != size/2 {
			t.Errorf("afterwards one gets %d of %d", got, size)
		}
	}
}

// A token that sends more than its share is told to wait, and nobody else is.
func TestOneTokenLeavesRoom(t *testing.T) {
	t.Parallel()
	const share = 2
	hold, held := make(chan struct{}), make(chan struct{}, share)
	w := newWorld(t, func(o *api.Options) {
		o.InFlight = 8 * share
		o.Service = slow{o.Service.(api.Domain), held, hold}
	})
	var all sync.WaitGroup
	for range share {
		all.Go(func() {
			if got := w.send(w.acme.tokens[agentToken], http.MethodGet, "/v1/projects/shop/knowledge-map", nil); got.status != 200 {
				t.Errorf("a request that was let in: %d %s", got.status, got.body)
			}
		})
	}
	for range share {
		<-held
	}
	if got := w.send(w.acme.tokens[agentToken], http.MethodGet, "/v1/whoami", nil); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("one more of the token: %d %s", got.status, got.body)
	}
	for holder, token := range map[string]string{"another token": w.acme.tokens[reviewerToken], "another organization": w.globex.tokens[agentToken]} {
		if got := w.send(token, http.MethodGet, "/v1/whoami", nil); got.status != 200 {
			t.Errorf("%s: %d %s", holder, got.status, got.body)
		}
	}
	close(hold)
	all.Wait()
	if got := w.send(w.acme.tokens[agentToken], http.MethodGet, "/v1/whoami", nil); got.status != 200 {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

// A stream is open for hours and does no work: it takes nobody's place, whatever its client accepts beside it.
func TestStreamsTakeNoPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *api.Options) { o.InFlight = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, accept := range []string{"", "text/event-stream", "application/json, text/event-stream"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.http.URL+"/v1/projects/shop/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+w.acme.tokens[agentToken])
		r.Header.Set("Accept", accept)
		res, err := w.http.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("accepting %q: %s %q %v", accept, res.Status, line, err)
		}
		if got := w.send(w.globex.tokens[adminToken], http.MethodGet, "/v1/projects", nil); got.status != 200 {
			t.Errorf("beside a stream accepting %q: %d %s", accept, got.status, got.body)
		}
	}
}
