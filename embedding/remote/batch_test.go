package remote

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestOneRefusedTextCostsNoOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := numbered(rapid.IntRange(1, 40).Draw(t, "texts"))
		batch := rapid.IntRange(1, 40).Draw(t, "batch")
		for i := range texts {
			if rapid.IntRange(0, 5).Draw(t, "refused") == 0 {
				texts[i] = "poison " + texts[i]
			}
		}
		poison := func(text string) bool { return strings.HasPrefix(text, "poison") }
		f := &fake{answer: refusing(poison)}
		p, err := NewOpenAI(Options{Model: "m", Batch: batch, Transport: f})
		if err != nil {
			t.Fatal(err)
		}
		vectors, err := p.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vectors {
			if poison(texts[i]) && v != nil || !poison(texts[i]) && !like(v, texts[i]) {
				t.Fatalf("%q has the vector %v", texts[i], v)
			}
		}
		if n := len(f.requests()); n > 2*len(texts)+1 {
			t.Fatalf("%d requests for %d texts", n, len(texts))
		}
		// Texts go in order, and what was accepted is not sent again.
		var sent []string
		for _, a := range f.requests() {
			if !slices.ContainsFunc(a.Input, poison) && a.Input[0] != control {
				sent = append(sent, a.Input...)
			}
		}
		if want := slices.DeleteFunc(slices.Clone(texts), poison); !slices.Equal(sent, want) {
			t.Fatalf("accepted were %q, want %q", sent, want)
		}
	})
}

// Servers that bound the number of texts do not say so beforehand.
func TestRefusedBatches(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity} {
		f := &fake{answer: func(w http.ResponseWriter, a asked) {
			if len(a.Input) > 10 {
				w.WriteHeader(status)
				return
			}
			answerOpenAI(w, a)
		}}
		p := provider(t, NewOpenAI, Options{URL: serve(t, f).URL})
		texts := numbered(32)
		vectors, err := p.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vectors {
			if !like(v, texts[i]) {
				t.Errorf("%d: %q has no vector", status, texts[i])
			}
		}
	}
}

func TestLongTextsAreShortened(t *testing.T) {
	t.Parallel()
	limit := 3000
	f := &fake{answer: refusing(func(text string) bool { return len(text) > limit })}
	p := provider(t, NewOpenAI, Options{URL: serve(t, f).URL})
	long := "x" + strings.Repeat("é", 8000)
	vectors, err := p.Embed(t.Context(), []string{"short", long})
	if err != nil {
		t.Fatal(err)
	}
	if !like(vectors[0], "short") || !like(vectors[1], long[:1999]) {
		t.Error("want the vectors of the short text and of the beginning of the long one")
	}
	limit = 10
	vectors, err = p.Embed(t.Context(), []string{"short", long})
	if err == nil && vectors[1] != nil {
		t.Error("a text that is refused at any length has a vector")
	}
	for _, a := range f.requests() {
		for _, text := range a.Input {
			if !utf8.ValidString(text) || len(text) < shortEnough/2 && strings.HasPrefix(text, "xé") {
				t.Errorf("a text of %d bytes was sent", len(text))
			}
		}
	}
}

// A model for which one text gives NaN fails with it, in Ollama, as if all was broken.
func TestNaNInOllamaIsARefusal(t *testing.T) {
	t.Parallel()
	f := &fake{answer: func(w http.ResponseWriter, a asked) {
		if slices.Contains(a.Input, "bad") {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"error":"failed to encode response: json: unsupported value: NaN"}`)
			return
		}
		answerOllama(w, a)
	}}
	p := provider(t, NewOllama, Options{URL: serve(t, f).URL})
	vectors, err := p.Embed(t.Context(), []string{"good", "bad", "fine"})
	if err != nil || !like(vectors[0], "good") || vectors[1] != nil || !like(vectors[2], "fine") {
		t.Errorf("got %v, %v", vectors, err)
	}
}

// Nobody may note a text as refused for good because a setting is wrong.
func TestWrongSettingsRefuseNoText(t *testing.T) {
	t.Parallel()
	f := &fake{answer: refusing(func(string) bool { return true })}
	p := provider(t, NewOpenAI, Options{URL: serve(t, f).URL})
	vectors, err := p.Embed(t.Context(), numbered(20))
	if vectors != nil {
		t.Error("texts were refused one by one")
	}
	wantDetail(t, err, "400 (invalid_request_error), to every text")
	if n := len(f.requests()); n != 2 {
		t.Errorf("%d requests, want one and one to make sure", n)
	}
}
