package remote

import (
	"context"
	"iter"
	"unicode/utf8"

	"github.com/stele-dev/stele/embedding"
)

const (
	// control is a text that every model takes: when it is refused as well, it was not the text.
	control = "a short sentence in plain words"
	// shortEnough is the length, in bytes, from which a refused text is not tried shortened: a model that does not take so
	// much (256 tokens of English) refuses it for another reason.
	shortEnough = 1 << 10
)

// batches cuts texts into pieces of one request each. A text over the bound on bytes is a batch of its own.
func (p *Provider) batches(texts []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		start, size := 0, 0
		for i, text := range texts {
			if i > start && (i-start == p.batch || size+len(text) > p.batchBytes) {
				if !yield(texts[start:i]) {
					return
				}
				start, size = i, 0
			}
			size += len(text)
		}
		yield(texts[start:])
	}
}

// call is one Embed under way.
type call struct {
	provider *Provider
	lane     *lane
	accepted bool // the provider gave a vector during this call
}

// embed gives the vectors of a batch. What the provider refuses as a whole it is given in halves, and a single text in its
// first half, until it is short: limits on the size of a request and on the length of a text differ, few providers name
// theirs, and Ollama has ignored its option to cut a text (ollama/ollama#14186). A batch of n texts takes at most 2n
// requests, and a long text up to four more.
func (c *call) embed(ctx context.Context, texts []string) ([]embedding.Vector, error) {
	vectors, err := c.ask(ctx, question{texts: texts})
	if err != nil && !isRefusal(err) {
		return nil, err
	}
	if !c.accepted {
		// A text was refused for what it is only when the provider takes another one. A wrong setting refuses all of them in
		// the same way, and whoever keeps vectors would note each as refused for good.
		if _, err := c.ask(ctx, question{texts: []string{control}, plain: true}); err != nil {
			return nil, err
		}
	}
	switch {
	case err == nil:
		return vectors, nil
	case len(texts) > 1:
		half := len(texts) / 2
		first, err := c.embed(ctx, texts[:half])
		if err != nil {
			return nil, err
		}
		second, err := c.embed(ctx, texts[half:])
		return append(first, second...), err
	case len(texts[0]) > shortEnough:
		return c.embed(ctx, []string{firstHalf(texts[0])})
	}
	return []embedding.Vector{nil}, nil
}

// ask notes whether a vector came back.
func (c *call) ask(ctx context.Context, q question) ([]embedding.Vector, error) {
	vectors, err := c.lane.ask(ctx, c.provider, q)
	for _, v := range vectors {
		c.accepted = c.accepted || v != nil
	}
	return vectors, err
}

// firstHalf cuts a text at half its length, between two characters.
func firstHalf(text string) string {
	n := len(text) / 2
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
