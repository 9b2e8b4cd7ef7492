// Package remote gives vectors of sentence encoders that other programs run: any endpoint that speaks OpenAI's embeddings
// API, and Ollama.
//
// Three things hold for whoever uses it. Every text is redacted here, at the one place where texts leave the process,
// whatever was done to it before. An answer is believed only after it was checked; vectors are normalised here. And a
// provider that is away costs next to nothing: after a few failures it is left alone for half a minute (see lane), and of
// calls in a hurry one waits for it in vain and no other (see prompt).
//
// Errors are problems. Code Unavailable says that the provider is away and the same call may succeed later; Invalid says that
// an operator has to put something right. A text that the model does not take is no error, its vector is nil. No error
// and no log line holds a text, a key, or what the provider wrote about them.
package remote

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/endpoint"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/redact"
)

// Defaults of Options.
const (
	// DefaultTimeout bounds one call of Embed. A local model of half a gigabyte that is loaded first takes up to half of it.
	DefaultTimeout = time.Minute
	// DefaultBatch is what the servers with the smallest limits that are common take in one request (32 of Hugging Face's
	// text-embeddings-inference).
	DefaultBatch = 32
	// DefaultBatchBytes of texts in one request: of the longest memories, which have 16 KiB, eight.
	DefaultBatchBytes = 128 << 10
	// DefaultConcurrency is how many requests are under way at once, of calls in a hurry and of the others each.
	DefaultConcurrency = 4
)

// Where the providers are when nothing is said.
const (
	openAIURL = "https://api.openai.com/v1"
	ollamaURL = "http://127.0.0.1:11434"
)

// Bounds of connections.
const (
	connectTimeout = 2 * time.Second // for TCP, and again for TLS
	idleTimeout    = time.Minute
	maxHeaderBytes = 64 << 10
)

// MaxDimensions is the length of the longest vector that is taken: what an index over half-precision vectors can hold.
const MaxDimensions = 4000

// The settings that problems name.
const (
	urlSetting   = "STELE_EMBEDDING_URL"
	modelSetting = "STELE_EMBEDDING_MODEL"
	keySetting   = "STELE_EMBEDDING_API_KEY"
)

// Options of a Provider. Only Model has no default.
type Options struct {
	// URL is the address below which the API is; a path, such as /v1, stays.
	URL string
	// Model is the provider's name for the encoder.
	Model string
	// Key is sent as bearer token, to the host of URL and nowhere else; "" sends none.
	Key string
	// Insecure allows plain http to another machine, where everyone on the way can read texts and key.
	Insecure bool
	// Dimensions asks an OpenAI-compatible model for shorter vectors; 0 leaves it to the model.
	Dimensions int
	// Thresholds replace those this package knows for the model.
	Thresholds *embedding.Thresholds
	// Timeout bounds one call of Embed, whose context may end it earlier; DefaultTimeout when 0.
	Timeout time.Duration
	// Batch and BatchBytes bound the texts of one request; DefaultBatch and DefaultBatchBytes when 0.
	Batch, BatchBytes int
	// Concurrency is how many requests are under way at once; DefaultConcurrency when 0.
	Concurrency int
	// Program names the caller in User-Agent, such as stele/1.2.
	Program string
	// Log is told when the provider goes away and when it is back; nil for nobody.
	Log *slog.Logger
	// Transport carries the requests; by default one of the provider's own, which Close ends.
	Transport http.RoundTripper
}

// Provider is an encoder on the network; it is an embedding.Provider. It is safe for concurrent use.
type Provider struct {
	api        api
	model      string // as vectors carry it
	host       string
	endpoint   string
	header     http.Header
	thresholds embedding.Thresholds
	timeout    time.Duration
	batch      int
	batchBytes int
	// dimensions of this model's vectors: as asked for, else as the first answer had them; 0 until then.
	dimensions         atomic.Int64
	shortened          bool // the dimensions were asked for
	hurried, unhurried *lane
	prompt             *prompt
	http               *http.Client
}

var _ embedding.Provider = (*Provider)(nil)

// NewOpenAI makes a provider that speaks OpenAI's embeddings API, as most servers of models do. The default URL is that of
// OpenAI. Nothing is sent yet. Errors are problems that name the setting.
func NewOpenAI(o Options) (*Provider, error) {
	o.URL = cmp.Or(strings.TrimSpace(o.URL), openAIURL)
	return newProvider(o, openAI{model: o.Model, dimensions: o.Dimensions})
}

// NewOllama makes a provider that asks Ollama. The default URL is that of an Ollama on this machine. Nothing is sent yet.
// Errors are problems that name the setting.
func NewOllama(o Options) (*Provider, error) {
	if o.Dimensions != 0 {
		return nil, problem.Invalidf("dimensions", "models of Ollama have the dimensions they have").Fix("leave dimensions out")
	}
	o.URL = cmp.Or(strings.TrimSpace(o.URL), ollamaURL)
	return newProvider(o, ollama{model: o.Model})
}

func newProvider(o Options, a api) (*Provider, error) {
	base, err := endpoint.Parse(o.URL, endpoint.Rules{Setting: urlSetting, KeySetting: keySetting, Of: "a provider", Example: "write it as " + a.base(), Path: a.path(),
		Insecure: o.Insecure})
	if err != nil {
		return nil, err
	}
	const longestModel = 200 // bytes
	switch {
	case strings.TrimSpace(o.Model) != o.Model || o.Model == "":
		return nil, problem.Invalidf(modelSetting, "a provider on the network needs the name of a model").Fix("set %s, to %s for example", modelSetting, a.example())
	case len(o.Model) > longestModel || strings.ContainsFunc(o.Model, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, problem.Invalidf(modelSetting, "it is not the name of a model").Fix("give the name under which the provider lists it, %s for example", a.example())
	case strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, problem.Invalidf(keySetting, "it has characters that no key has").Fix("set it to the key alone, without quotes, blanks or line ends")
	case o.Dimensions < 0 || o.Dimensions > MaxDimensions:
		return nil, problem.Invalidf("dimensions", "%d is not between 1 and %d", o.Dimensions, MaxDimensions).Fix("leave dimensions out for those of the model")
	case min(o.Batch, o.BatchBytes, o.Concurrency) < 0 || o.Timeout < 0:
		return nil, problem.Invalidf("embedding", "a bound is negative").Fix("leave it out for the default")
	}
	p := &Provider{
		api: a, model: a.name(), host: base.Host, endpoint: strings.TrimRight(base.String(), "/") + a.path(),
		header: http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {cmp.Or(o.Program, "stele")},
			// Not sent, since it has no value. It tells net/http that a request may be repeated on a new connection
			// when an idle one turns out to be closed.
			"Idempotency-Key": {},
		},
		thresholds: thresholdsOf(o.Model), timeout: cmp.Or(o.Timeout, DefaultTimeout),
		batch: cmp.Or(o.Batch, DefaultBatch), batchBytes: cmp.Or(o.BatchBytes, DefaultBatchBytes),
		shortened: o.Dimensions > 0,
		http: &http.Client{
			Transport: o.Transport,
			// Whoever answers with another address gets neither key nor texts.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if o.Key != "" {
		p.header.Set("Authorization", "Bearer "+o.Key)
	}
	if o.Thresholds != nil {
		p.thresholds = *o.Thresholds
	}
	p.dimensions.Store(int64(o.Dimensions))
	slots := cmp.Or(o.Concurrency, DefaultConcurrency)
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler)).With("model", p.model, "host", p.host)
	p.hurried, p.unhurried = newLane(slots, log.With("calls", "in a hurry")), newLane(slots, log.With("calls", "with time"))
	p.prompt = newPrompt(slots, log)
	if p.http.Transport == nil {
		p.http.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext, TLSHandshakeTimeout: connectTimeout,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2 * slots, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
		}
	}
	return p, nil
}

// Model names the provider's kind and its model, openai:text-embedding-3-small@512 for example, and not the host: one
// model is the same model wherever it runs.
func (p *Provider) Model() string { return p.model }

// Thresholds are those of Options, else what is known of the model (see thresholdsOf).
func (p *Provider) Thresholds() embedding.Thresholds { return p.thresholds }

// Close ends requests that nobody waits for any more, and idle connections.
func (p *Provider) Close() {
	p.prompt.close()
	p.http.CloseIdleConnections()
}

// Warm asks for one vector with all the time of a call, so that the provider has its model in memory when somebody in a hurry
// comes. Its error is one for the log: whoever needs a vector asks again.
func (p *Provider) Warm(ctx context.Context) error {
	_, err := p.Embed(ctx, []string{control})
	return err
}

// Embed gives a normalised vector for each text, in order; nil for one that is blank once it is redacted, and for one that
// the model does not take. A text that is too long for the model has the vector of its beginning. Embed tries again while
// its context and Timeout leave time, unless the context ends within five seconds: then it tries once. An error is a problem
// that concerns all texts, or the context's when the caller gave up.
func (p *Provider) Embed(ctx context.Context, texts []string) ([]embedding.Vector, error) {
	out := make([]embedding.Vector, len(texts))
	var clean []string
	var at []int // clean[i] is texts[at[i]]
	for i, text := range texts {
		text, _ = redact.Redact(text)
		if text = strings.TrimSpace(text); text != "" {
			clean, at = append(clean, text), append(at, i)
		}
	}
	if len(clean) == 0 {
		return out, nil
	}
	bounded, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	lane := p.laneFor(bounded)
	request := func(ctx context.Context) ([]embedding.Vector, error) {
		c := call{provider: p, lane: lane}
		vectors := make([]embedding.Vector, 0, len(clean))
		for batch := range p.batches(clean) {
			vs, err := c.embed(ctx, batch)
			if err != nil {
				return nil, err
			}
			vectors = append(vectors, vs...)
		}
		return vectors, nil
	}
	var vectors []embedding.Vector
	var err error
	if lane == p.hurried {
		vectors, err = p.prompt.do(bounded, request)
	} else {
		vectors, err = request(bounded)
	}
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, p.gaveUp(ctx.Err())
	case errors.Is(err, errTooLate):
		return nil, p.away("it did not answer in time", context.DeadlineExceeded).problem
	case errors.Is(err, errNoTurn):
		return nil, p.busy(err).problem
	case errors.Is(err, errLate):
		return nil, p.late()
	default:
		return nil, err
	}
	for i, v := range vectors {
		out[at[i]] = v
	}
	return out, nil
}

// late is what a call in a hurry hears that did not wait: the reason why the breaker rests when it does.
func (p *Provider) late() error {
	if p.hurried.breaker.State() == gobreaker.StateOpen {
		return p.hurried.resting(p).problem
	}
	return p.away("it did not answer in time, and is not waited for until it does", errLate).problem
}
