package memory_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/memory"
)

// slow is a provider that answers when it is told to.
type slow struct {
	bag
	asked chan struct{} // told when it is
	free  chan struct{} // closed: it answers
}

func (p *slow) Embed(ctx context.Context, texts []string) ([]embedding.Vector, error) {
	p.asked <- struct{}{}
	select {
	case <-p.free:
		return p.bag.Embed(ctx, texts)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// own is one that works on the processors of this process.
type own struct{ *slow }

const atOnce = 2

func (own) AtOnce() int { return atOnce }

// A write that finds the encoder busy is stored without its vector, which follows; those before it get theirs.
func TestWritesDoNotQueueForTheEncoder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := &slow{asked: make(chan struct{}, 100), free: make(chan struct{})}
	w := newWorld(t, nil) // a model is embedded, too
	service := func(p embedding.Provider) *memory.Service {
		return memory.New(w.h.store, memory.Options{Embedder: p, EmbedWait: 20 * time.Second, Now: func() time.Time { return w.now }})
	}
	w.Service = service(own{p})
	var wg sync.WaitGroup
	words := []string{"apple", "bridge", "candle"}
	for _, word := range words[:atOnce] {
		wg.Go(func() {
			if _, err := w.Remember(ctx, w.c, memory.RememberRequest{Content: "the " + word + " has a turn"}); err != nil {
				t.Error(err)
			}
		})
	}
	for range atOnce {
		<-p.asked
	}
	late := w.remember(memory.RememberRequest{Content: "nobody waits for the " + words[atOnce]})
	if len(p.asked) != 0 {
		t.Error("the encoder was asked while it was busy")
	}
	// A provider on the network is asked by as many as write.
	wg.Go(func() {
		if _, err := service(p).Remember(ctx, w.c, memory.RememberRequest{Content: "a desert has an engine of its own"}); err != nil {
			t.Error(err)
		}
	})
	<-p.asked
	close(p.free)
	wg.Wait()
	stats, err := w.Stats(ctx, w.c)
	w.must(err)
	if stats.Embedding.Waiting != 1 {
		t.Errorf("%d memories wait for a vector, want %s alone", stats.Embedding.Waiting, late.Memory.Handle)
	}
	if _, err := w.Backfill(ctx, w.c.Org, time.Time{}, nil); err != nil {
		t.Error(err)
	}
	if stats, err = w.Stats(ctx, w.c); err != nil || stats.Embedding.Waiting != 0 {
		t.Errorf("afterwards %+v, %v", stats.Embedding, err)
	}
}
