package memory_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-dev/stele/embedding/remote"
	"github.com/stele-dev/stele/memory"
)

// hanging is a provider on this machine that takes requests and answers none until it is let go.
type hanging struct {
	up       atomic.Bool
	requests atomic.Int32
}

func (h *hanging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Input []string `json:"input"`
	}
	h.requests.Add(1)
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !h.up.Load() {
		<-r.Context().Done()
		return
	}
	out := struct {
		Embeddings [][]float32 `json:"embeddings"`
	}{}
	for _, text := range asked.Input {
		out.Embeddings = append(out.Embeddings, []float32{1, float32(len(text)%7) / 7})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) //nolint:errchkjson // a client that left
}

// Of a provider that hangs one write learns; the writes and recalls after it send nothing and wait for nothing. Recall says
// that meaning takes no part. When the provider is back the backlog drains.
func TestAProviderThatHangs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := &hanging{}
	server := httptest.NewServer(h)
	defer server.Close()
	p, err := remote.NewOllama(remote.Options{URL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w := newWorld(t, p)
	const n = 20
	for i := range n {
		w.remember(memory.RememberRequest{Content: "Barrel " + string(rune('a'+i)) + " rolls to the east.", Separate: true})
	}
	got := w.recall(memory.RecallRequest{Query: "which barrel rolls"})
	if got.Degraded == nil || got.Degraded.Reason != "no vectors" || len(got.Results) == 0 {
		t.Errorf("degraded %+v, %d results", got.Degraded, len(got.Results))
	}
	// One, and on a slow machine those that were sent to see whether it is back.
	if sent := h.requests.Load(); sent > n/4 {
		t.Errorf("%d requests for %d writes", sent, n)
	}
	stats, err := w.Stats(ctx, w.c)
	w.must(err)
	if e := stats.Embedding; e.Waiting != n || e.Vectors != 0 || e.Compared != memory.ComparedNone || stats.Memories.Live != n || stats.Kinds[memory.Note] != n {
		t.Errorf("stats %+v", stats)
	}
	h.up.Store(true)
	done, err := w.Backfill(ctx, w.c.Org, time.Time{}, nil)
	w.must(err)
	if done.Filled != n || done.Waiting != 0 {
		t.Errorf("back-filled %+v", done)
	}
	stats, err = w.Stats(ctx, w.c)
	w.must(err)
	if e := stats.Embedding; e.Waiting != 0 || e.Vectors != n || e.Compared != memory.ComparedAll || len(stats.Models) != 1 || stats.VectorBytes == 0 {
		t.Errorf("stats %+v", stats)
	}
}
