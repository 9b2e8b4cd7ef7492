package encoder

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
)

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// golden gives the sentences of testdata/golden.json with the tokens and vectors of the trained float32 model, which
// internal/convert -golden computed in float64. TensorFlow.js, running the package as published, gives the same tokens
// and the same vectors within 7.3e-7.
func golden(t *testing.T) (texts []string, tokens [][]int, vectors [][]float32) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct {
		Text   string `json:"text"`
		Tokens []int  `json:"tokens"`
		Vector []byte `json:"vector"`
	}
	if err := json.Unmarshal(data, &examples); err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		v := make([]float32, len(e.Vector)/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(e.Vector[4*i:]))
		}
		texts, tokens, vectors = append(texts, e.Text), append(tokens, e.Tokens), append(vectors, v)
	}
	if len(texts) < 20 {
		t.Fatalf("only %d sentences", len(texts))
	}
	return texts, tokens, vectors
}

func encode(t *testing.T, e *Encoder, tokens []int, s *Scratch) []float32 {
	t.Helper()
	v, err := e.Encode(t.Context(), tokens, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	e, err := New(shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	texts, tokens, vectors := golden(t)
	scratch, mean := e.NewScratch(), 0.0
	for i, text := range texts {
		if got := e.Tokenize(text); !slices.Equal(got, tokens[i]) {
			t.Errorf("%q: tokens %v, expected %v", text, got, tokens[i])
		}
		got := encode(t, e, tokens[i], scratch)
		if len(got) != e.Dimensions() || len(got) != 512 {
			t.Fatalf("%d dimensions", len(got))
		}
		if length := cosine(got, got) * float64(dot(got, got)); math.Abs(length-1) > 1e-5 {
			t.Errorf("%q: squared length %g", text, length)
		}
		c := cosine(got, vectors[i])
		if c < 0.999 {
			t.Errorf("%q: cosine %.6f to the float32 model", text, c)
		}
		mean += c / float64(len(texts))
	}
	if mean < 0.9995 {
		t.Errorf("mean cosine to the float32 model %.6f, expected at least 0.9995", mean)
	}
}

// TestPortableVectors uses short texts: under the race detector the portable code takes its time.
func TestPortableVectors(t *testing.T) {
	t.Parallel()
	file := shipped(t)
	fast, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := build(file, portable)
	if err != nil {
		t.Fatal(err)
	}
	scratch := fast.NewScratch()
	for _, text := range []string{"cache", "rate limiting", "sessions live in redis for thirty minutes"} {
		tokens := fast.Tokenize(text)
		if off := 1 - cosine(encode(t, fast, tokens, scratch), encode(t, slow, tokens, scratch)); off > 1e-6 {
			t.Errorf("%q: cosine distance %g between the portable code and the kernel", text, off)
		}
	}
}

// TestLengths compares the kernel and the portable code on the tiny model for numbers of tokens that fill their tiles and
// that do not.
func TestLengths(t *testing.T) {
	t.Parallel()
	file := written(t, tiny(t))
	fast, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := build(file, portable)
	if err != nil {
		t.Fatal(err)
	}
	used, other := fast.NewScratch(), slow.NewScratch()
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 18, 31, 66, 127, MaxTokens, 2} {
		tokens := make([]int, n)
		for i := range tokens {
			tokens[i] = (i*7 + n) % fast.weights.Rows
		}
		got := encode(t, fast, tokens, used)
		if off := 1 - cosine(got, encode(t, slow, tokens, other)); !(off < 1e-6) {
			t.Errorf("%d tokens: cosine distance %g", n, off)
		}
		// What an earlier text left in the scratch must not show.
		if fresh := encode(t, fast, tokens, fast.NewScratch()); !slices.Equal(got, fresh) {
			t.Errorf("%d tokens: another vector with a new scratch", n)
		}
	}
}

func TestEncodeConcurrently(t *testing.T) {
	t.Parallel()
	e, err := New(written(t, tiny(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := encode(t, e, []int{6, 7, 8}, e.NewScratch())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got, err := e.Encode(t.Context(), []int{6, 7, 8}, e.NewScratch())
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("another vector, or %v", err)
			}
		})
	}
	group.Wait()
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	e, err := New(written(t, tiny(t)))
	if err != nil {
		t.Fatal(err)
	}
	for name, tokens := range map[string][]int{"none": {}, "too many": make([]int, MaxTokens+1), "negative": {-1}, "past the table": {12}} {
		if v, err := e.Encode(t.Context(), tokens, e.NewScratch()); err == nil || v != nil {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Encode(ended, []int{1}, e.NewScratch()); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}
