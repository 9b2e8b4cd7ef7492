package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// errForm is about JSON that is not of the form of the API.
var errForm = errors.New("it is not of the form of this API")

// ollama is the API of Ollama, from version 0.3 on.
type ollama struct{ model string }

// name leaves out the tag that Ollama adds itself.
func (a ollama) name() string    { return "ollama:" + strings.TrimSuffix(a.model, ":latest") }
func (ollama) path() string      { return "/api/embed" }
func (ollama) base() string      { return ollamaURL }
func (ollama) example() string   { return "nomic-embed-text" }
func (a ollama) missing() string { return "run `ollama pull " + a.model + "` where Ollama runs" }

func (a ollama) request(texts []string) any {
	return struct {
		Model    string   `json:"model"`
		Input    []string `json:"input"`
		Truncate bool     `json:"truncate"`
	}{a.model, texts, true}
}

func (ollama) vectors(body []byte, n int) ([]json.RawMessage, error) {
	var answer struct {
		Embeddings []json.RawMessage `json:"embeddings"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errForm
	}
	if len(answer.Embeddings) != n {
		return nil, fmt.Errorf("%d vectors came for %d texts", len(answer.Embeddings), n)
	}
	return answer.Embeddings, nil
}
