// Package embedtest is a provider for tests: a text's vector is the normalised sum of one fixed direction per word, so
// that texts sharing words are close, equal bags of words have cosine 1, and nothing has to be loaded.
package embedtest

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/stele-dev/stele/embedding"
)

// Dimensions of the vectors.
const Dimensions = 64

// Provider embeds by words. Its switches may be turned while it is in use.
type Provider struct {
	Name string // the model; "words-1" when empty
	// Synonyms maps a word to the one it shares its direction with, so that a test can have meaning without words.
	Synonyms map[string]string
	// Down makes every call fail, as a dead provider would.
	Down atomic.Bool
	// Gate refuses a text (nil vector), as a language gate would; nil refuses none.
	Gate func(text string) bool
}

// ErrDown is what a provider that is Down answers.
var ErrDown = errors.New("embedtest: the provider is down")

// Model names the model.
func (p *Provider) Model() string {
	if p.Name == "" {
		return "words-1"
	}
	return p.Name
}

// Thresholds are those of the contract.
func (p *Provider) Thresholds() embedding.Thresholds {
	return embedding.Thresholds{Dedupe: 0.94, Similar: 0.82, Floor: 0.2}
}

// Embed sums the directions of the words.
func (p *Provider) Embed(ctx context.Context, texts []string) ([]embedding.Vector, error) {
	if p.Down.Load() {
		return nil, ErrDown
	}
	out := make([]embedding.Vector, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.Gate == nil || !p.Gate(text) {
			out[i] = p.embed(text)
		}
	}
	return out, nil
}

func (p *Provider) embed(text string) embedding.Vector {
	sum := make([]float64, Dimensions)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if s, ok := p.Synonyms[word]; ok {
			word = s
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(word))
		x := h.Sum64()
		for d := range sum {
			x ^= x << 13 // xorshift64 (Marsaglia 2003): the same direction for a word everywhere
			x ^= x >> 7
			x ^= x << 17
			sum[d] += float64(int64(x)) / math.MaxInt64 //nolint:gosec // the bits as they are
		}
	}
	norm := 0.0
	for _, f := range sum {
		norm += f * f
	}
	v := make(embedding.Vector, Dimensions)
	if norm == 0 {
		v[0] = 1 // no word at all is a direction of its own
		return v
	}
	for d, f := range sum {
		v[d] = float32(f / math.Sqrt(norm))
	}
	return v
}
