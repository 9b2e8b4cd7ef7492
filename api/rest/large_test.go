package rest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/rest"
	"github.com/stele-dev/stele/memory"
)

// busy is a service whose imports wait until they are let go.
type busy struct {
	rest.Service

	asked   atomic.Int64 // imports that were begun
	running atomic.Int64
	hold    chan struct{}
}

func (*busy) FindProject(context.Context, memory.Caller, string) (memory.ProjectInfo, error) {
	return memory.ProjectInfo{ID: uuid.New(), Name: "shop"}, nil
}

func (b *busy) ImportModel(context.Context, memory.Caller, memory.ModelImport) (memory.ModelReport, error) {
	b.asked.Add(1)
	b.running.Add(1)
	defer b.running.Add(-1)
	<-b.hold
	return memory.ModelReport{}, nil
}

// counted is a body of which is known how much was read.
type counted struct {
	io.Reader

	read atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// modelOf is an import of about so many bytes.
func modelOf(bytes int) string {
	return `{"model":{"elements":[{"key":"a","name":"a","level":"system","description":"` + strings.Repeat("a", bytes) + `"}]},"source":"w.dsl"}`
}

func importAs(ctx context.Context, role memory.Role, body io.Reader) (*http.Request, *httptest.ResponseRecorder) {
	r := httptest.NewRequestWithContext(auth.WithCaller(ctx, memory.Caller{Org: uuid.New(), User: "kim", Role: role}, memory.Token{ID: uuid.New()}), http.MethodPost, shop+"/model", body)
	r.Header.Set("Content-Type", "application/json")
	return r, httptest.NewRecorder()
}

// Whoever may not import is not listened to at length.
func TestLargeBodiesAreForReviewers(t *testing.T) {
	t.Parallel()
	service := &busy{hold: make(chan struct{})}
	close(service.hold)
	a := rest.New(rest.Options{Service: service, Log: quiet})
	for role, want := range map[memory.Role]int{memory.RoleAgent: 413, memory.RoleCI: 413, memory.RoleReviewer: 200, memory.RoleAdmin: 200} {
		for _, known := range []bool{true, false} {
			body := &counted{Reader: strings.NewReader(modelOf(rest.MaxBody * 5 / 4))}
			r, w := importAs(t.Context(), role, body)
			if known {
				r.ContentLength = int64(len(modelOf(rest.MaxBody * 5 / 4)))
			}
			a.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s: answered %d %.200s, want %d", role, w.Code, w.Body, want)
			}
			if want == 413 && (body.read.Load() > rest.MaxBody+1 || known && body.read.Load() > 0 || !strings.Contains(w.Body.String(), "reviewer")) {
				t.Errorf("%s: %d bytes were read; answered %s", role, body.read.Load(), w.Body)
			}
		}
		r, w := importAs(t.Context(), role, strings.NewReader(modelOf(1000)))
		if a.ServeHTTP(w, r); w.Code != 200 { // what a small one may do is decided elsewhere
			t.Errorf("a small model as %s: %d %s", role, w.Code, w.Body)
		}
	}
}

// Large bodies are worked on two at a time; the others wait a while, before they are read. Small ones do not wait for them.
func TestLargeBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &busy{hold: make(chan struct{})}
		a := rest.New(rest.Options{Service: service, Log: quiet})
		text := modelOf(rest.MaxBody * 5 / 4)
		var all sync.WaitGroup
		send := func(body io.Reader) *httptest.ResponseRecorder {
			r, w := importAs(t.Context(), memory.RoleReviewer, body)
			all.Go(func() { a.ServeHTTP(w, r) })
			return w
		}
		send(strings.NewReader(text))
		send(strings.NewReader(text))
		synctest.Wait()
		body := &counted{Reader: strings.NewReader(text)}
		third := send(body)
		synctest.Wait()
		if service.running.Load() != 2 || body.read.Load() > rest.MaxBody+1 {
			t.Errorf("%d large imports run; %d bytes of the third were read", service.running.Load(), body.read.Load())
		}
		send(strings.NewReader(modelOf(1000)))
		synctest.Wait()
		if service.running.Load() != 3 {
			t.Error("a small import waits for the large ones")
		}
		time.Sleep(11 * time.Second) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if third.Code != http.StatusServiceUnavailable || third.Header().Get("Retry-After") == "" {
			t.Errorf("the third was answered %d %s", third.Code, third.Body)
		}
		fourth := send(strings.NewReader(text))
		synctest.Wait()
		close(service.hold)
		all.Wait()
		if fourth.Code != http.StatusOK {
			t.Errorf("the fourth, whose turn came, was answered %d %s", fourth.Code, fourth.Body)
		}
	})
}

// Nobody's request is worked on.
func TestAbandonedBodies(t *testing.T) {
	t.Parallel()
	service := &busy{hold: make(chan struct{})}
	close(service.hold)
	a := rest.New(rest.Options{Service: service, Log: quiet})
	ctx, leave := context.WithCancel(t.Context())
	r, w := importAs(ctx, memory.RoleReviewer, strings.NewReader(modelOf(1000)))
	leave()
	if a.ServeHTTP(w, r); service.asked.Load() != 0 || w.Code != http.StatusServiceUnavailable {
		t.Errorf("it was imported %d times and answered %d %s", service.asked.Load(), w.Code, w.Body)
	}
}

// Limits belong to operations, not to what a path ends with.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	a := rest.New(rest.Options{Log: quiet})
	for what, want := range map[string]int64{
		"POST " + shop + "/model": rest.MaxModelBody, "POST " + shop + "/adrs": rest.MaxModelBody, "GET " + shop + "/model": rest.MaxBody,
		"POST /mcp/p/model": rest.MaxBody, "POST /v1/projects/model": rest.MaxBody, "DELETE /v1/tokens/model": rest.MaxBody,
		"PATCH " + shop + "/memories/model": rest.MaxBody, "POST " + shop + "/memories": rest.MaxBody, "POST /nothing/model": rest.MaxBody,
	} {
		method, path, _ := strings.Cut(what, " ")
		if got := a.BodyLimit(httptest.NewRequestWithContext(t.Context(), method, path, nil)); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
}
