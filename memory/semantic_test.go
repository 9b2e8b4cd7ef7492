package memory_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/memory"
)

// compass is a provider of two dimensions: a text that names an angle points there. It refuses texts in Italian and can
// be switched off.
type compass struct{ off bool }

func (*compass) Model() string { return "compass-1" }

func (*compass) Thresholds() embedding.Thresholds {
	return embedding.Thresholds{Dedupe: 0.99999, Similar: 0.9999, Floor: 0.3}
}

func (p *compass) Embed(_ context.Context, texts []string) ([]embedding.Vector, error) {
	if p.off {
		return nil, errors.New("the provider is not there")
	}
	angles := map[string]float64{"north": 0, "northeast": math.Pi / 4, "east": math.Pi / 2, "south": math.Pi}
	out := make([]embedding.Vector, len(texts))
	for i, t := range texts {
		for word, a := range angles {
			if strings.Contains(t, "to the "+word+".") {
				out[i] = embedding.Vector{float32(math.Cos(a)), float32(math.Sin(a))}
			}
		}
	}
	return out, nil
}

func TestRecallByMeaning(t *testing.T) {
	t.Parallel()
	p := &compass{}
	w := newWorld(t, p)
	north := w.remember(memory.RememberRequest{Content: "Grain is kept to the north."}).Memory
	northeast := w.remember(memory.RememberRequest{Content: "Barrels roll to the northeast."}).Memory
	w.remember(memory.RememberRequest{Content: "Wolves howl to the south."})
	words := w.remember(memory.RememberRequest{Content: "La cantina conserva barrels antichi"}).Memory
	by := func(q string) (map[string]memory.Result, memory.RecallResponse) {
		got := w.recall(memory.RecallRequest{Query: q, Explain: true})
		out := map[string]memory.Result{}
		for _, r := range got.Results {
			out[r.Handle] = r
		}
		return out, got
	}
	found, got := by("barrels to the north.")
	half := math.Sqrt2 / 2
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-3 { // vectors are stored in half precision
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	if len(found) != 3 {
		t.Fatalf("found %v, want the two near in meaning and the one with the word", entries(got))
	}
	weights := memory.IDF(4, 2) + memory.IDF(4, 1)
	near("semantic", found[north.Handle].Factors.Semantic, 1)
	near("blend without the rarer word", found[north.Handle].Factors.Relevance, 0.55+0.45*memory.IDF(4, 1)/weights)
	near("blend", found[northeast.Handle].Factors.Relevance, 0.55*half+0.45*memory.IDF(4, 2)/weights)
	near("words alone where there is no vector", found[words.Handle].Factors.Relevance, memory.IDF(4, 2)/weights)
	if got.Degraded != nil { // the Italian text waits for no vector
		t.Errorf("degraded %+v", got.Degraded)
	}
	if _, got = by("barili"); got.Degraded == nil || got.Degraded.Reason != "language" || !strings.Contains(got.Empty, "multilingual") {
		t.Errorf("degraded %+v, %q; want the language and what to do", got.Degraded, got.Empty)
	}
	p.off = true
	found, got = by("barrels to the north.")
	if got.Degraded == nil || got.Degraded.Reason != "no vectors" || len(found) != 3 {
		t.Errorf("without the provider %v, degraded %+v; want the words and no vectors", entries(got), got.Degraded)
	}
}
