package uselite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func embed(t testing.TB, p *Provider, texts ...string) []embedding.Vector {
	t.Helper()
	vs, err := p.Embed(t.Context(), texts)
	if err != nil || len(vs) != len(texts) {
		t.Fatalf("%d vectors for %d texts, %v", len(vs), len(texts), err)
	}
	return vs
}

func cosine(a, b embedding.Vector) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestModelNamesTheseWeights fails when weights.bin changes: vectors of the old and of the new weights must not be
// compared, so that the model needs another name.
func TestModelNamesTheseWeights(t *testing.T) {
	t.Parallel()
	const want = "uselite-en-0.2.0-int8 be41689b7e392fb3a86964ea0928b0b56e0e0b7c1ddd923bcb4281653c177faa"
	if got := fmt.Sprintf("%s %x", New(Options{}).Model(), sha256.Sum256(weights)); got != want {
		t.Errorf("model and weights are %s, expected %s", got, want)
	}
}

// TestVectorsOfRawTexts holds the first components of a text as people write it, so that a change of normalisation or
// tokeniser is seen: it changes vectors, hence the name of the model.
func TestVectorsOfRawTexts(t *testing.T) {
	t.Parallel()
	v := embed(t, New(Options{}), "Rate-limiting!")[0]
	if len(v) != Dimensions {
		t.Fatalf("%d dimensions", len(v))
	}
	if length := cosine(v, v); math.Abs(length-1) > 1e-5 {
		t.Errorf("squared length %g", length)
	}
	// The reference implementation gives these for "rate limiting", in float32.
	for i, want := range []float32{-0.02049, -0.02372, 0.05538, -0.05586, 0.01333, -0.04005, 0.03106, -0.05684} {
		if math.Abs(float64(v[i]-want)) > 0.005 {
			t.Errorf("component %d is %.5f, expected about %.5f", i, v[i], want)
		}
	}
}

func TestMeaningIsNearerThanWords(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	for _, c := range [][3]string{ // a text, one of its meaning without a word in common, and another
		{"rate limiting", "throttling requests", "database schema"},
		{"delete the user", "remove an account", "paint the wall"},
	} {
		vs := embed(t, p, c[:]...)
		if near, far := cosine(vs[0], vs[1]), cosine(vs[0], vs[2]); near <= far {
			t.Errorf("%q is %.2f from %q and %.2f from %q", c[0], near, c[1], far, c[2])
		}
	}
	vs := embed(t, p, "Sessions live in Redis.", "sessions live in redis")
	if c := cosine(vs[0], vs[1]); c < 1-1e-6 {
		t.Errorf("texts that differ in capitals and a period have a cosine of %.6f", c)
	}
}

func TestEmbedKeepsTheOrder(t *testing.T) {
	t.Parallel()
	p := New(Options{CacheSize: -1, Parallelism: 3})
	texts := []string{"cache", "Die Sitzung läuft nach einer Stunde ab", "queue", "Cache!", "", "lock", "queue"}
	all := embed(t, p, texts...)
	for i, text := range texts {
		alone := embed(t, p, text)[0]
		if !slices.Equal(all[i], alone) {
			t.Errorf("%q has another vector among others", text)
		}
	}
	if all[1] != nil || all[4] != nil {
		t.Error("a text that the model cannot embed got a vector")
	}
	all[0][0] = 7
	if all[3][0] == 7 {
		t.Error("equal texts share one vector")
	}
	if none := embed(t, p); len(none) != 0 {
		t.Errorf("no texts gave %d vectors", len(none))
	}
}

func TestRepeatedTextsComeFromTheCache(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	original := embed(t, p, "cache")[0]
	want := slices.Clone(original)
	original[0] = 7
	for range cap(p.slots) {
		<-p.slots // nothing can be encoded any more
	}
	first := embed(t, p, "Cache.")[0]
	if !slices.Equal(first, want) {
		t.Error("the cached vector is another one")
	}
	first[0] = 7
	if again := embed(t, p, "cache")[0]; !slices.Equal(again, want) {
		t.Error("what a caller did to its vector reached the next one")
	}
	ended, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := p.Embed(ended, []string{"queue"})
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("while waiting for its turn: %v", err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache(3)
	for i := range 5 {
		c.put(fmt.Sprint(i), embedding.Vector{float32(i)})
		c.get("2") // is asked for again and again, once it is there
	}
	c.put("4", embedding.Vector{9})
	for i, want := range []bool{false, false, true, true, true} {
		v, ok := c.get(fmt.Sprint(i))
		if ok != want || (ok && !slices.Equal(v, embedding.Vector{float32(i)})) {
			t.Errorf("%d: %v, %v", i, v, ok)
		}
	}
	if len(c.entries) != 3 || c.order.Len() != 3 {
		t.Errorf("%d entries, %d in order", len(c.entries), c.order.Len())
	}
	none := newCache(-1)
	none.put("a", embedding.Vector{1})
	if _, ok := none.get("a"); ok || len(none.entries) > 0 {
		t.Error("a cache of no size keeps something")
	}
}

func TestKeysOfTokensDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string][]int{}
	for _, tokens := range [][]int{{1}, {256}, {1, 0}, {0, 1}, {257}, {1, 1}, {8001}, {}} {
		if other, ok := seen[key(tokens)]; ok {
			t.Errorf("%v and %v have one key", tokens, other)
		}
		seen[key(tokens)] = tokens
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	p := New(Options{CacheSize: 2, Parallelism: 2})
	texts := []string{"cache", "queue", "lock", "index"}
	want := embed(t, New(Options{}), texts...)
	var group sync.WaitGroup
	for n := range 6 {
		group.Go(func() {
			i := n % len(texts)
			got, err := p.Embed(t.Context(), []string{texts[i], texts[(i+1)%len(texts)]})
			if err != nil || !slices.Equal(got[0], want[i]) || !slices.Equal(got[1], want[(i+1)%len(texts)]) {
				t.Errorf("%q: another vector, or %v", texts[i], err)
			}
		})
	}
	group.Wait()
	if len(p.slots) != cap(p.slots) || len(p.cache.entries) > 2 {
		t.Errorf("%d of %d turns came back, %d vectors are kept", len(p.slots), cap(p.slots), len(p.cache.entries))
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if vs, err := p.Embed(ended, []string{"cache"}); !errors.Is(err, context.Canceled) || vs != nil {
		t.Errorf("%v, %v", vs, err)
	}
	if len(p.slots) != cap(p.slots) {
		t.Error("a turn was not given back")
	}
}

func TestDamagedWeights(t *testing.T) {
	t.Parallel()
	damaged := slices.Clone(weights)
	damaged[len(damaged)/2] ^= 1
	p := newProvider(Options{}, damaged)
	for range 2 { // the second call must not find half a model
		_, err := p.Embed(t.Context(), []string{"cache"})
		if !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "checksum") || !strings.Contains(err.Error(), "install Stele again") {
			t.Errorf("got %v", err)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	if n := cap(p.slots); n < 1 || n > maxParallelism || p.cache.size != DefaultCacheSize {
		t.Errorf("%d texts at a time, %d vectors kept", n, p.cache.size)
	}
	if got, want := p.Thresholds(), (embedding.Thresholds{Dedupe: 0.94, Similar: 0.82, Floor: 0.2}); got != want {
		t.Errorf("thresholds %+v, expected %+v", got, want)
	}
}

// TestLongTexts: what is beyond the limits changes nothing and costs no more.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	long := strings.Repeat("The queue is drained before the server stops. ", 400)
	vs := embed(t, p, long[:maxText], long, long+strings.Repeat("And more. ", 1<<17))
	if !slices.Equal(vs[0], vs[1]) || !slices.Equal(vs[1], vs[2]) {
		t.Error("text past the limit changes the vector")
	}
}
