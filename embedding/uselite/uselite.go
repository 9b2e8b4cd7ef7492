package uselite

import (
	"context"
	_ "embed" // the weights
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/kljensen/snowball/english"
	"golang.org/x/sync/errgroup"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/embedding/uselite/internal/encoder"
	"github.com/stele-dev/stele/internal/problem"
)

//go:embed weights.bin
var weights []byte

// Model is the name of the model. It changes with whatever changes vectors: the weights, and what is done to a text
// before it is encoded.
const Model = "uselite-en-0.2.0-int8"

// Dimensions of the vectors.
const Dimensions = 512

const (
	// DefaultCacheSize is how many vectors are kept for texts that come again: queries are repeated, a text that is
	// remembered was often asked for, and a back-fill comes back to what an interruption left. These are hundreds of
	// texts, rarely thousands, and each saves 10 ms. 2,048 vectors with their keys take 5 MB at most.
	DefaultCacheSize = 2048

	// maxParallelism bounds the default: each text that is encoded takes 2 MB, and more than eight at once come from
	// imports, which need not take all of a large machine.
	maxParallelism = 8
)

// Measured on this model's vectors of normalised texts; other encoders have other scales.
const (
	// Of the labelled pairs half of the restatements lie above 0.92 and nine of ten above 0.80, but so do different facts of
	// one shape (half above 0.93): no threshold divides them, the comparison of facts before a merge does. dedupe keeps
	// small how much is left to that; similar is what hardly any unrelated text reaches (99 of 100 stay below 0.60).
	// TestDuplicates measures it, docs/dedupe.md has the tables.
	dedupe  = 0.94
	similar = 0.82

	// floor is compared with a relevance of which the cosine is 0.55 (the rest is words in common). It is the largest that
	// costs nothing: on 1,018 public questions 0.14 to 0.20 leave recall at 5 and 10 as they are, 0.22 costs a tenth of a
	// point, 0.25 half a point and 0.30 two. It silences few questions that nothing answers, since the nearest of many
	// unrelated texts is often as near as an answer; docs/retrieval.md has the table.
	floor = 0.2
)

// Options of a Provider. The zero value is ready for use.
type Options struct {
	// CacheSize is how many vectors are kept for texts that come again; 0 is DefaultCacheSize, a negative number none.
	CacheSize int
	// Parallelism is how many texts are encoded at the same time, over all calls; 0 is GOMAXPROCS, but at most 8.
	Parallelism int
}

// Provider embeds English texts. It is safe for concurrent use, and loads the weights when it is first asked for a
// vector (about 5 ms). It holds no goroutine between calls.
type Provider struct {
	load  func() (*encoder.Encoder, error)
	slots chan *encoder.Scratch // one for each text that may be encoded at the same time; nil until used
	cache *cache
}

var _ embedding.Provider = (*Provider)(nil)

// New makes a provider. Nothing is loaded yet, so that a command that embeds nothing does not pay for it.
func New(o Options) *Provider { return newProvider(o, weights) }

func newProvider(o Options, file []byte) *Provider {
	if o.CacheSize == 0 {
		o.CacheSize = DefaultCacheSize
	}
	if o.Parallelism < 1 {
		o.Parallelism = min(runtime.GOMAXPROCS(0), maxParallelism)
	}
	p := &Provider{
		load:  sync.OnceValues(func() (*encoder.Encoder, error) { return encoder.New(file) }),
		slots: make(chan *encoder.Scratch, o.Parallelism),
		cache: newCache(o.CacheSize),
	}
	for range o.Parallelism {
		p.slots <- nil
	}
	return p
}

// Model names the model and its version.
func (*Provider) Model() string { return Model }

// Thresholds are the cosines and the relevance measured for this model.
func (*Provider) Thresholds() embedding.Thresholds {
	return embedding.Thresholds{Dedupe: dedupe, Similar: similar, Floor: floor}
}

// Embed gives one vector of Dimensions per text, in order; nil for a text in another language than English, and for one
// without any word. Only the first 128 tokens of a text count, about 90 words. Equal texts are encoded once.
//
// The error is that of ctx, which is heeded between texts and between the layers of one, or a *problem.Error of code
// Unavailable when the weights in this binary are damaged. There are no vectors then.
func (p *Provider) Embed(ctx context.Context, texts []string) ([]embedding.Vector, error) {
	e, err := p.encoder(ctx)
	if err != nil {
		return nil, err
	}
	tokens := make([][]int, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tokens[i] = tokenize(e, text)
	}
	return p.vectors(ctx, e, tokens)
}

// encoder loads the weights unless it is too late for that.
func (p *Provider) encoder(ctx context.Context) (*encoder.Encoder, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e, err := p.load()
	if err != nil {
		return nil, problem.New(problem.Unavailable, "", "the built-in encoder cannot be loaded: "+err.Error(),
			"the binary is damaged: install Stele again", "choose another embedding provider, or none").Because(err)
	}
	return e, nil
}

// vectors encodes texts; nil for one without tokens.
func (p *Provider) vectors(ctx context.Context, e *encoder.Encoder, tokens [][]int) ([]embedding.Vector, error) {
	vectors := make([]embedding.Vector, len(tokens))
	type job struct {
		tokens []int
		texts  []int // whose vector it is
	}
	jobs := map[string]*job{}
	for i, of := range tokens {
		if of == nil {
			continue
		}
		k := key(of)
		if j, ok := jobs[k]; ok {
			j.texts = append(j.texts, i)
		} else if v, ok := p.cache.get(k); ok {
			vectors[i] = v
		} else {
			jobs[k] = &job{tokens: of, texts: []int{i}}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cap(p.slots))
	for k, j := range jobs {
		group.Go(func() error {
			v, err := p.encode(ctx, e, j.tokens)
			if err != nil {
				return err
			}
			p.cache.put(k, v)
			for n, i := range j.texts {
				vectors[i] = v
				if n > 0 {
					vectors[i] = append(embedding.Vector(nil), v...)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// AtOnce is how many texts are encoded at the same time, over all calls.
func (p *Provider) AtOnce() int { return cap(p.slots) }

// EmbedQuery gives the vector to look for a question with: that of its words without the stop words of English. What a
// question is made of (what, did, the) is in no answer, and draws the vector of a short text towards other questions. On 1,018
// public questions recall at 5 and 10 rises from 0.612 and 0.684 to 0.617 and 0.687. A question of stop words only is as Embed
// has it, and so are nil and errors.
func (p *Provider) EmbedQuery(ctx context.Context, text string) (embedding.Vector, error) {
	e, err := p.encoder(ctx)
	if err != nil {
		return nil, err
	}
	tokens := tokenize(e, text) // the language shows in the stop words
	if tokens == nil {
		return nil, nil
	}
	if bare := e.Tokenize(normalize(withoutStopWords(clip(text)))); len(bare) > 0 {
		tokens = bare
	}
	vectors, err := p.vectors(ctx, e, [][]int{tokens})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// withoutStopWords leaves out of a text what carries no topic.
func withoutStopWords(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		return english.IsStopWord(strings.ToLower(strings.TrimFunc(word, unicode.IsPunct)))
	}), " ")
}

// encode waits for its turn, which it shares with all calls.
func (p *Provider) encode(ctx context.Context, e *encoder.Encoder, tokens []int) (embedding.Vector, error) {
	var scratch *encoder.Scratch
	select {
	case scratch = <-p.slots:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { p.slots <- scratch }()
	if scratch == nil {
		scratch = e.NewScratch()
	}
	return e.Encode(ctx, tokens, scratch)
}

// tokenize gives what the model sees of a text; nil when it should see nothing of it.
func tokenize(e *encoder.Encoder, text string) []int {
	text = clip(text)
	found := gather(text)
	if !found.isEnglish(func(words []string) int { return len(e.Tokenize(strings.Join(words, " "))) }) {
		return nil
	}
	normal := normalize(text)
	if normal == "" {
		return nil
	}
	tokens := e.Tokenize(normal)
	unknown := 0
	for _, t := range tokens {
		if t == encoder.Unknown {
			unknown++
		}
	}
	if unknown*unknownShare >= len(tokens) {
		return nil
	}
	return tokens
}
