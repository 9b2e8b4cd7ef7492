package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

const (
	// attemptPatience is how long a client tries before it tells; the write is then repeated under the same key.
	attemptPatience = 5 * time.Second
	// meanPause is what a client thinks between two calls, on average.
	meanPause = 25 * time.Millisecond
)

// fact is what a client was told is stored, and so what must be there.
type fact struct {
	handle        string
	content       string
	word          string // found by it alone
	tags          []string
	confirmations int
	status        memory.Status
}

// writer is one client of one server, with memories of its own that nobody else changes.
type writer struct {
	t      *testing.T
	n      int
	server *server
	client *client.Client
	by     memory.Caller
	rand   *rand.Rand

	facts []*fact
	steps int

	acknowledged atomic.Int64 // writes
	answered     atomic.Int64 // reads
	failed       atomic.Int64 // attempts, of both
	gaveUp       atomic.Int64 // calls whose patience ended before they came through
	told         atomic.Value // string: why the last of them did not
}

// newWriter makes a client with a token of its own.
func newWriter(t *testing.T, s *server, n int, seed uint64, token string, by memory.Caller) *writer {
	t.Helper()
	w := &writer{t: t, n: n, server: s, by: by, rand: rand.New(rand.NewPCG(seed, uint64(n)))}
	w.by.Session = fmt.Sprintf("client-%d", n)
	c, err := client.New(client.Options{URL: s.address().String(), Token: token, Patience: attemptPatience, Retrying: func(error) { w.failed.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	w.client = c
	t.Cleanup(c.Close)
	return w
}

// work writes and reads until the context ends. A step is never left half way: who holds the gate finds no call under way.
func (w *writer) work(ctx context.Context, gate *sync.RWMutex) {
	for ctx.Err() == nil {
		gate.RLock()
		if ctx.Err() == nil {
			w.step(ctx)
		}
		gate.RUnlock()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(w.rand.Int64N(int64(2 * meanPause)))): // an agent thinks between two calls
		}
	}
}

// live is one of the writer's memories that are in recall; nil when there is none.
func (w *writer) live() *fact {
	for range 20 {
		if len(w.facts) == 0 {
			return nil
		}
		if f := w.facts[w.rand.IntN(len(w.facts))]; f.status == memory.Live {
			return f
		}
	}
	return nil
}

func (w *writer) step(ctx context.Context) {
	w.steps++
	known := w.live()
	switch dice := w.rand.IntN(100); {
	case dice < 25 || known == nil:
		w.remember(ctx, nil)
	case dice < 30:
		w.remember(ctx, known)
	case dice < 45:
		w.write(ctx, "confirm", func(by memory.Caller) error {
			_, err := w.client.Confirm(ctx, by, memory.ConfirmRequest{Memory: known.handle, Holds: true})
			return err
		}, func() { known.confirmations++ })
	case dice < 55:
		tags := []string{words[w.rand.IntN(len(words))], fmt.Sprintf("step-%d", w.steps)}
		w.write(ctx, "edit", func(by memory.Caller) error {
			_, err := w.client.Edit(ctx, by, memory.EditRequest{Memory: known.handle, Tags: &tags})
			return err
		}, func() { known.tags = tags })
	case dice < 60:
		w.write(ctx, "retire", func(by memory.Caller) error {
			_, err := w.client.Forget(ctx, by, memory.ForgetRequest{Memory: known.handle, Reason: "it is over"})
			return err
		}, func() { known.status = memory.Retired })
	default:
		w.recall(ctx, known)
	}
}

var words = strings.Fields("cart order price stock queue token cache index lock retry budget parcel label invoice refund courier depot shelf ledger basket voucher cellar window bridge")

// remember stores a fact, in the place of another or beside all others.
func (w *writer) remember(ctx context.Context, old *fact) {
	pick := func() string { return words[w.rand.IntN(len(words))] }
	f := &fact{word: fmt.Sprintf("w%dx%s", w.n, strings.ReplaceAll(uuid.NewString(), "-", "")[:12]), status: memory.Live}
	f.content = fmt.Sprintf("Client %d saw in step %d that the %s of the %s has mark %s.", w.n, w.steps, pick(), pick(), f.word)
	r := memory.RememberRequest{Content: f.content, Separate: true}
	if old != nil {
		r.Supersedes = old.handle
	}
	w.write(ctx, "remember", func(by memory.Caller) error {
		out, err := w.client.Remember(ctx, by, r)
		f.handle = out.Memory.Handle
		return err
	}, func() {
		w.facts = append(w.facts, f)
		if old != nil {
			old.status = memory.Superseded
		}
	})
}

// write carries out one write under one key, again and again until it is acknowledged, and then notes what it did.
func (w *writer) write(ctx context.Context, what string, call func(memory.Caller) error, done func()) {
	by := w.by
	by.Retry = uuid.NewString()
	for deadline := time.Now().Add(patience); ; {
		err := call(by)
		if err == nil {
			w.acknowledged.Add(1)
			done()
			return
		}
		if !w.excused(what, err) {
			return
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			w.t.Errorf("client %d of %s: %s did not come through in %s: %v", w.n, w.server.name, what, patience, err)
			return
		}
	}
}

// recall asks for what the client wrote, which must be found by its word.
func (w *writer) recall(ctx context.Context, f *fact) {
	for deadline := time.Now().Add(patience); ; {
		out, err := w.client.Recall(ctx, w.by, memory.RecallRequest{Query: f.word})
		if err == nil {
			w.answered.Add(1)
			if !slices.ContainsFunc(out.Results, func(r memory.Result) bool { return r.Handle == f.handle && r.Content == f.content }) {
				w.t.Errorf("client %d of %s: %s is stored and not found by %q: %+v", w.n, w.server.name, f.handle, f.word, out.Results)
			}
			return
		}
		if !w.excused("recall", err) || time.Now().After(deadline) || ctx.Err() != nil {
			return
		}
	}
}

// excused counts a failure that may be: a server or its database was away, and the answer says so. Any other fails the test.
func (w *writer) excused(what string, err error) bool {
	w.failed.Add(1)
	w.gaveUp.Add(1)
	w.told.Store(err.Error())
	if problem.Is(err, problem.Unavailable) || problem.Is(err, problem.TooMany) {
		return true
	}
	w.t.Errorf("client %d of %s: %s failed with %v", w.n, w.server.name, what, err)
	return false
}
