package remote

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
)

func TestEmbed(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		make         func(Options) (*Provider, error)
		answer       func(http.ResponseWriter, asked)
		options      Options
		model        string
		path, below  string
		body, bearer string
	}{
		"openai": {
			make: NewOpenAI, answer: answerOpenAI, options: Options{Model: "text-embedding-3-small", Dimensions: 3, Key: "k-1"}, below: "/v1/",
			model: "openai:text-embedding-3-small@3", path: "/v1/embeddings", bearer: "Bearer k-1",
			body: `{"model":"text-embedding-3-small","input":["a <b> & c","次の文","z"],"encoding_format":"float","dimensions":3}`,
		},
		"openai of another, without key or dimensions": {
			make: NewOpenAI, answer: answerOpenAI, options: Options{Model: "BAAI/bge-m3"}, below: "/proxy/models/v1",
			model: "openai:BAAI/bge-m3", path: "/proxy/models/v1/embeddings",
			body: `{"model":"BAAI/bge-m3","input":["a <b> & c","次の文","z"],"encoding_format":"float"}`,
		},
		"ollama": {
			make: NewOllama, answer: answerOllama, options: Options{Model: "nomic-embed-text:latest"},
			model: "ollama:nomic-embed-text", path: "/api/embed",
			body: `{"model":"nomic-embed-text:latest","input":["a <b> & c","次の文","z"],"truncate":true}`,
		},
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answer: k.answer}
			k.options.URL = serve(t, f).URL + k.below
			p := provider(t, k.make, k.options)
			if p.Model() != k.model {
				t.Errorf("the model is %q, want %q", p.Model(), k.model)
			}
			texts := []string{"a <b> & c", " \n", " 次の文 ", "", "z"}
			vectors, err := p.Embed(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			if len(vectors) != 5 || !like(vectors[0], "a <b> & c") || vectors[1] != nil || !like(vectors[2], "次の文") || vectors[3] != nil || !like(vectors[4], "z") {
				t.Errorf("the vectors are not those of the texts, normalised and in order, nil for the blank: %v", vectors)
			}
			got := f.requests()
			if len(got) != 1 {
				t.Fatalf("%d requests for three texts, want 1", len(got))
			}
			if got[0].path != k.path || strings.TrimSpace(got[0].raw) != k.body || got[0].header.Get("Authorization") != k.bearer || got[0].header.Get("User-Agent") != "stele" {
				t.Errorf("asked %s with %q, as %q: %s", got[0].path, got[0].header.Get("Authorization"), got[0].header.Get("User-Agent"), got[0].raw)
			}
			if _, sent := got[0].header["Idempotency-Key"]; sent {
				t.Error("an empty Idempotency-Key was sent")
			}
		})
	}
}

func TestBlankTextsAskNobody(t *testing.T) {
	t.Parallel()
	f := &fake{answer: answerOpenAI}
	p := provider(t, NewOpenAI, Options{URL: serve(t, f).URL})
	for _, texts := range [][]string{nil, {""}, {" ", "\t\n"}} {
		vectors, err := p.Embed(t.Context(), texts)
		if err != nil || len(vectors) != len(texts) {
			t.Errorf("%q gave %v, %v", texts, vectors, err)
		}
	}
	if n := len(f.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options Options
		texts   []string
		want    []int
	}{
		"by count":                {Options{Batch: 3}, numbered(7), []int{3, 3, 1}},
		"by bytes":                {Options{BatchBytes: 12}, numbered(5), []int{2, 2, 1}},
		"one longer than a batch": {Options{BatchBytes: 10}, []string{"short", "much longer than ten bytes", "short"}, []int{1, 1, 1}},
		"by default":              {Options{}, numbered(33), []int{32, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{answer: answerOpenAI}
			c.options.URL = serve(t, f).URL
			vectors, err := provider(t, NewOpenAI, c.options).Embed(t.Context(), c.texts)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range vectors {
				if !like(v, c.texts[i]) {
					t.Errorf("vector %d is not that of %q", i, c.texts[i])
				}
			}
			var sizes []int
			for _, a := range f.requests() {
				sizes = append(sizes, len(a.Input))
			}
			if d := cmp.Diff(c.want, sizes); d != "" {
				t.Error(d)
			}
		})
	}
}

// The secrets have the forms of their issuers and were never issued.
func TestNothingSecretLeaves(t *testing.T) {
	t.Parallel()
	secrets := []string{"ghp_" + strings.Repeat("a1B2", 9), "hunter2pass", "correct-horse-9"}
	texts := []string{
		"deploys use " + secrets[0],
		"the database is postgres://app:" + secrets[1] + "@db.example/main",
		"password = \"" + secrets[2] + "\"",
		"the cache holds 100 entries",
	}
	f := &fake{answer: answerOpenAI}
	p := provider(t, NewOpenAI, Options{URL: serve(t, f).URL})
	vectors, err := p.Embed(t.Context(), texts)
	if err != nil || vectors[0] == nil || !like(vectors[3], texts[3]) {
		t.Fatalf("%v, %v", vectors, err)
	}
	sent := f.requests()[0]
	for _, s := range secrets {
		if strings.Contains(sent.raw, s) {
			t.Errorf("%s left the process: %s", s, sent.raw)
		}
	}
	if want := "deploys use [redacted]"; sent.Input[0] != want {
		t.Errorf("sent %q, want %q", sent.Input[0], want)
	}
}

// Whatever goes wrong, and however much a provider repeats, neither errors nor the log have text, key or answer.
func TestErrorsTellNoText(t *testing.T) {
	t.Parallel()
	const text, key = "the vault is behind the painting", "sk-not-issued-42"
	for _, status := range []int{200, 302, 400, 401, 402, 404, 413, 418, 422, 500} {
		f := &fake{answer: func(w http.ResponseWriter, a asked) {
			w.Header().Set("Location", "https://elsewhere.example/"+key)
			w.WriteHeader(status)
			writeJSON(w, map[string]any{"error": map[string]any{"message": text + " " + key, "type": text, "code": key, "input": a.Input}})
		}}
		var written log
		p := provider(t, NewOpenAI, Options{
			URL: serve(t, f).URL, Key: key, Timeout: hurry / 2, // tried once
			Log: slog.New(slog.NewTextHandler(&written, nil)),
		})
		for range tripAfter + 1 {
			_, err := p.Embed(t.Context(), []string{text})
			if err == nil {
				t.Fatalf("%d: no error", status)
			}
			for ; err != nil; err = errors.Unwrap(err) {
				if strings.Contains(err.Error(), text) || strings.Contains(err.Error(), key) {
					t.Errorf("%d: the error tells: %v", status, err)
				}
			}
		}
		if s := written.String(); !strings.Contains(s, "away") || strings.Contains(s, text) || strings.Contains(s, key) {
			t.Errorf("%d: the log says %q", status, s)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	const password = "swordfish-password"
	openAI, ollama := NewOpenAI, NewOllama
	for name, c := range map[string]struct {
		make  func(Options) (*Provider, error)
		o     Options
		field string // of the problem; "" for none
	}{
		"OpenAI itself":             {openAI, Options{Model: "m", Key: "k"}, ""},
		"Ollama here":               {ollama, Options{Model: "m"}, ""},
		"https elsewhere":           {openAI, Options{Model: "m", URL: "https://models.example/v1"}, ""},
		"http to this machine":      {openAI, Options{Model: "m", URL: "http://[::1]:8080/v1"}, ""},
		"http to localhost":         {openAI, Options{Model: "m", URL: "http://LocalHost:8080/v1"}, ""},
		"http elsewhere":            {openAI, Options{Model: "m", URL: "http://10.0.0.7/v1"}, urlSetting},
		"a name that looks local":   {openAI, Options{Model: "m", URL: "http://localhost.example/v1"}, urlSetting},
		"http elsewhere, on demand": {ollama, Options{Model: "m", URL: "http://10.0.0.7:11434", Insecure: true}, ""},
		"user":                      {openAI, Options{Model: "m", URL: "https://u:" + password + "@models.example/v1"}, urlSetting},
		"query":                     {openAI, Options{Model: "m", URL: "https://models.example/v1?key=" + password}, urlSetting},
		"no scheme":                 {openAI, Options{Model: "m", URL: "models.example/" + password}, urlSetting},
		"other scheme":              {openAI, Options{Model: "m", URL: "ftp://models.example/" + password}, urlSetting},
		"unreadable":                {openAI, Options{Model: "m", URL: "https://u:" + password + "@models.example:x/%zz"}, urlSetting},
		"whole path of openai":      {openAI, Options{Model: "m", URL: "https://models.example/v1/embeddings/"}, urlSetting},
		"whole path of ollama":      {ollama, Options{Model: "m", URL: "http://localhost:11434/api/embed"}, urlSetting},
		"no model":                  {openAI, Options{}, modelSetting},
		"blank model":               {ollama, Options{Model: " "}, modelSetting},
		"model with line end":       {ollama, Options{Model: "a\nb"}, modelSetting},
		"long model":                {ollama, Options{Model: strings.Repeat("m", 201)}, modelSetting},
		"key with line end":         {openAI, Options{Model: "m", Key: password + "\n"}, keySetting},
		"too many dimensions":       {openAI, Options{Model: "m", Dimensions: MaxDimensions + 1}, "dimensions"},
		"negative dimensions":       {openAI, Options{Model: "m", Dimensions: -1}, "dimensions"},
		"dimensions of ollama":      {ollama, Options{Model: "m", Dimensions: 256}, "dimensions"},
		"negative bound":            {ollama, Options{Model: "m", Batch: -1}, "embedding"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.make(c.o)
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			p, ok := problem.As(err)
			if !ok || p.Field != c.field || p.Code != problem.Invalid || len(p.Fixes) == 0 {
				t.Fatalf("got %v, want a problem of %s with a fix", err, c.field)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), password) {
					t.Errorf("the problem repeats what may be secret: %v", e)
				}
			}
		})
	}
}

func TestThresholds(t *testing.T) {
	t.Parallel()
	for model, similar := range map[string]float64{
		"text-embedding-3-large": 0.70, "text-embedding-ada-002": 0.92, "BAAI/bge-m3": 0.85, "bge-large-en-v1.5": 0.88,
		"Qwen/Qwen3-Embedding-0.6B": 0.85, "intfloat/multilingual-e5-base": 0.93, "nobody-knows": similarUnknown, "3": similarUnknown,
	} {
		p := provider(t, NewOpenAI, Options{Model: model})
		if d := cmp.Diff(embedding.Thresholds{Dedupe: never, Similar: similar}, p.Thresholds()); d != "" {
			t.Errorf("%s: %s", model, d)
		}
	}
	for range 50 { // whatever the order of the table
		if got := thresholdsOf("bge-m3").Similar; got != 0.85 {
			t.Fatalf("bge-m3 has %v, those of bge-", got)
		}
	}
	// Cosines of float32 vectors come out a little above 1.
	if never <= 1.0001 {
		t.Errorf("%v can be reached", never)
	}
	measured := embedding.Thresholds{Dedupe: 0.97, Similar: 0.8, Floor: 0.1}
	if got := provider(t, NewOllama, Options{Thresholds: &measured}).Thresholds(); got != measured {
		t.Errorf("got %v, want those that were set", got)
	}
}
