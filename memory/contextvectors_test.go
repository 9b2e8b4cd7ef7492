package memory_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/embedding/embedtest"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
	storage "github.com/stele-dev/stele/memory/postgres"
)

// meaningful knows that people who cannot sign in have to do with Auth, and that a till is a storefront.
func meaningful(name string) *embedtest.Provider {
	return &embedtest.Provider{Name: name, Synonyms: map[string]string{"till": "storefront", "counter": "storefront"}}
}

// with is the same world as a server serves it that has another encoder.
func (w *world) with(p *embedtest.Provider) *memory.Service {
	w.t.Helper()
	db, err := postgres.Open(context.Background(), postgres.Config{URL: w.h.database.App})
	w.must(err)
	w.t.Cleanup(db.Close)
	return memory.New(storage.New(db, w.h.master), memory.Options{Embedder: p, EmbedWait: time.Minute, Now: func() time.Time { return w.now }})
}

// Elements are found by what the model says of them, in other words, with the reason; whether the encoder is changed, away, or
// refuses a text, the answer is right or says what it lacks.
func TestContextByMeaning(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	first := meaningful("first")
	w := newWorld(t, first)
	ask := func(s *memory.Service, task string) (keys []string, best memory.ContextElement, degraded *memory.Degraded) {
		t.Helper()
		r, err := s.Context(ctx, w.c, memory.ContextRequest{Task: task})
		w.must(err)
		for _, e := range r.Elements {
			keys = append(keys, e.Key)
		}
		if len(r.Elements) > 0 {
			best = r.Elements[0]
		}
		return keys, best, r.Degraded
	}
	const task = "the till"
	keys, best, degraded := ask(w.Service, task)
	if best.Key != "shop.web" || degraded != nil || !slices.ContainsFunc(best.Reasons, func(r string) bool { return strings.HasPrefix(r, "meaning: ") }) {
		t.Fatalf("%v, %v, %v", keys, best.Reasons, degraded)
	}

	first.Down.Store(true)
	if keys, _, degraded := ask(w.Service, task); len(keys) != 0 || degraded == nil || degraded.Reason != "no vectors" {
		t.Errorf("without an encoder: %v, %+v", keys, degraded)
	}
	first.Down.Store(false)

	// Another encoder: what was kept is of no use to it, and what it keeps is of none to the first.
	second := w.with(meaningful("second"))
	for _, s := range []*memory.Service{second, w.with(first), second} {
		if keys, best, degraded := ask(s, task); best.Key != "shop.web" || degraded != nil {
			t.Errorf("after a change of the encoder: %v, %+v", keys, degraded)
		}
	}

	// A text that changed is embedded anew, and one that the encoder refuses is not waited for.
	w.importModel(func(im *memory.ModelImport) {
		for i := range im.Model.Elements {
			switch e := &im.Model.Elements[i]; e.Key {
			case "shop.web":
				e.Name = "Kiosk"
			case "shop.api":
				e.Description = "the counter where customers pay"
			}
		}
	})
	if keys, best, degraded := ask(w.with(first), task); best.Key != "shop.api" || degraded != nil {
		t.Errorf("after a change of the model: %v, %+v", keys, degraded)
	}
	gated := meaningful("gated")
	gated.Gate = func(text string) bool { return strings.Contains(text, "counter") }
	s := w.with(gated)
	if keys, _, degraded := ask(s, task); slices.Contains(keys, "shop.api") || degraded != nil {
		t.Errorf("refused texts: %v, %+v", keys, degraded)
	}
	if n, err := s.BackfillElements(ctx, w.c.Org); n != 0 || err != nil {
		t.Errorf("%d refused texts are tried again, %v", n, err)
	}
}

// What an import could not embed in time is counted as missing, and made by upkeep.
func TestElementsAreEmbeddedLater(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := meaningful("late")
	p.Down.Store(true)
	w := newWorld(t, p)
	only := w.with(meaningful("late"))
	if n, err := only.BackfillElements(ctx, w.c.Org); err != nil || n != 5 {
		t.Errorf("upkeep embedded %d elements of 5, %v", n, err)
	}
	if n, err := only.BackfillElements(ctx, w.c.Org); err != nil || n != 0 {
		t.Errorf("and again %d, %v", n, err)
	}
	other := meaningful("late")
	other.Down.Store(true)
	if _, err := w.with(other).BackfillElements(ctx, w.c.Org); err != nil {
		t.Errorf("nothing is missing, and yet: %v", err)
	}
	w.importModel(func(im *memory.ModelImport) { im.Model.Elements[2].Description = "where people pay" })
	if _, err := w.with(other).BackfillElements(ctx, w.c.Org); err == nil {
		t.Error("a provider that is away is not told")
	}
}
