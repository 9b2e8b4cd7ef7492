package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/stele-dev/stele/embedding"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is a request as a provider reads it.
type asked struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Encoding   string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions"`
	Truncate   bool     `json:"truncate"`

	path   string
	header http.Header
	raw    string
}

// fake is a provider whose answers a test decides. It remembers what it was asked.
type fake struct {
	answer func(w http.ResponseWriter, a asked)

	mu   sync.Mutex
	seen []asked
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var a asked
	if err != nil || json.Unmarshal(body, &a) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	a.path, a.header, a.raw = r.URL.Path, r.Header, string(body)
	f.mu.Lock()
	f.seen = append(f.seen, a)
	f.mu.Unlock()
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "no POST of JSON", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	f.answer(w, a)
}

func (f *fake) requests() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// RoundTrip answers without a network, so that a test can run in a bubble with a clock of its own.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// roundTripper is a network in one function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// serve runs a fake on a port of this machine.
func serve(t *testing.T, f *fake) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

// provider makes one of a kind, for a server.
func provider(t *testing.T, makeIt func(Options) (*Provider, error), o Options) *Provider {
	t.Helper()
	if o.Model == "" {
		o.Model = "m"
	}
	p, err := makeIt(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// direction is the vector a fake gives a text: of length other than 1, and another for each text.
func direction(text string) []float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	angle := float64(h.Sum64()%100000) / 100000 * math.Pi
	return []float64{3 * math.Cos(angle), 3 * math.Sin(angle), 1}
}

// like tells whether v is the normalised direction of a text.
func like(v embedding.Vector, text string) bool {
	d := direction(text)
	if len(v) != len(d) {
		return false
	}
	for i, x := range v {
		if math.Abs(float64(x)-d[i]/math.Sqrt(10)) > 1e-6 {
			return false
		}
	}
	return true
}

// answerOpenAI writes the directions of all texts, last first, as the API allows.
func answerOpenAI(w http.ResponseWriter, a asked) {
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	data := []item{}
	for i, text := range slices.Backward(a.Input) {
		data = append(data, item{"embedding", i, direction(text)})
	}
	writeJSON(w, map[string]any{"object": "list", "data": data, "model": a.Model, "usage": map[string]int{"total_tokens": 7}})
}

func answerOllama(w http.ResponseWriter, a asked) {
	vectors := [][]float64{}
	for _, text := range a.Input {
		vectors = append(vectors, direction(text))
	}
	writeJSON(w, map[string]any{"model": a.Model, "embeddings": vectors, "load_duration": 1})
}

func writeJSON(w io.Writer, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err) // a fault of the test
	}
}

// refuse answers as OpenAI does to a text that its model does not take.
func refuse(w http.ResponseWriter) {
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, `{"error":{"message":"cannot take \"...\"","type":"invalid_request_error","param":"input","code":null}}`)
}

// refusing refuses every request with a text that is poison.
func refusing(poison func(string) bool) func(http.ResponseWriter, asked) {
	return func(w http.ResponseWriter, a asked) {
		if slices.ContainsFunc(a.Input, poison) {
			refuse(w)
			return
		}
		answerOpenAI(w, a)
	}
}

// numbered gives n texts.
func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text %d", i)
	}
	return out
}

// log is a writer that goroutines may share.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// listen opens a port of this machine.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// one embeds one text and gives the error.
func one(ctx context.Context, p *Provider) error {
	_, err := p.Embed(ctx, []string{"the worker takes jobs from a queue"})
	return err
}

func wantDetail(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("got error %v, want it to say %q", err, part)
	}
}
