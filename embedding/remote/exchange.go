package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/stele-dev/stele/embedding"
)

// api is how one kind of provider is spoken to.
type api interface {
	name() string    // the model as vectors carry it
	path() string    // of the request, below the base address
	base() string    // an address as it should be, for fixes
	example() string // a model, for fixes
	missing() string // what to do when address or model do not exist
	request(texts []string) any
	// vectors gives the vectors of an answer in the order of n texts. An error says what is wrong with the answer.
	vectors(body []byte, n int) ([]json.RawMessage, error)
}

// question is one request: texts that go together.
type question struct {
	texts []string
	plain bool // the texts are such as every model takes, so a refusal means the request
}

// Bounds of an answer: what the longest vectors take as text, with room around them. A number of a double takes up to 25
// bytes with its comma, or 30 indented.
const (
	maxAnswerEach = MaxDimensions * 32
	maxAnswerRest = 64 << 10
)

// exchange sends one request and checks the answer. A vector without direction is nil.
func (p *Provider) exchange(ctx context.Context, q question) ([]embedding.Vector, *failure) {
	vectors, f := p.send(ctx, q.texts)
	if q.plain && (f != nil && f.refused || f == nil && vectors[0] == nil) {
		if f == nil {
			f = p.refusal("it gives vectors without direction")
		}
		f.refused = false
		f.problem.Detail += ", to every text"
	}
	return vectors, f
}

func (p *Provider) send(ctx context.Context, texts []string) ([]embedding.Vector, *failure) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(p.api.request(texts)); err != nil {
		return nil, p.refusal("the request cannot be written") // never: texts are valid UTF-8
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint, &body)
	if err != nil {
		return nil, p.wrong(urlSetting, "the address cannot be asked", "write it as "+p.api.base())
	}
	req.Header = p.header.Clone()
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, p.unsent(ctx, err)
	}
	defer resp.Body.Close()
	bound := len(texts)*maxAnswerEach + maxAnswerRest
	answer, err := io.ReadAll(io.LimitReader(resp.Body, int64(bound)+1))
	switch {
	case err != nil:
		return nil, p.unsent(ctx, err)
	case resp.StatusCode != http.StatusOK:
		return nil, p.declined(resp, answer)
	case len(answer) > bound:
		return nil, p.strange("it is longer than %d bytes", bound)
	}
	return p.read(resp, answer, len(texts))
}

// read makes vectors of an answer.
func (p *Provider) read(resp *http.Response, answer []byte, n int) ([]embedding.Vector, *failure) {
	if !json.Valid(answer) {
		// Python writes NaN where a model computed it, which is not JSON. Asked text by text, the others come through.
		if bytes.Contains(answer, []byte("NaN")) || bytes.Contains(answer, []byte("Infinity")) {
			return nil, p.refusal("it computes no finite vector")
		}
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if kind == "text/html" {
			return nil, p.strange("it is a web page")
		}
		return nil, p.strange("it is not JSON")
	}
	raw, err := p.api.vectors(answer, n)
	if err != nil {
		return nil, p.strange("%v", err)
	}
	vectors := make([]embedding.Vector, n)
	for i, text := range raw {
		numbers, err := parseVector(text)
		if err != nil {
			return nil, p.strange("%v", err)
		}
		if f := p.checkDimensions(len(numbers)); f != nil {
			return nil, f
		}
		vectors[i] = normalised(numbers)
	}
	return vectors, nil
}

// checkDimensions holds every vector of the model to one length: as asked for, else that of the first answer.
func (p *Provider) checkDimensions(n int) *failure {
	if n == 0 || n > MaxDimensions {
		return p.strange("a vector has %d numbers, and 1 to %d are possible", n, MaxDimensions)
	}
	if p.dimensions.CompareAndSwap(0, int64(n)) {
		return nil
	}
	want := int(p.dimensions.Load())
	switch {
	case n == want:
		return nil
	case p.shortened:
		return p.wrong("dimensions", fmt.Sprintf("a vector has %d numbers, and %d were asked for", n, want),
			"leave dimensions out, or choose a model that can shorten its vectors")
	}
	return p.wrong(modelSetting, fmt.Sprintf("a vector has %d numbers, and those before had %d", n, want),
		"the provider runs another model under this name: restart Stele with a name that tells them apart")
}
