package remote

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// openAI is the embeddings API of OpenAI, as vLLM, llama.cpp, LM Studio, text-embeddings-inference and many others have it.
type openAI struct {
	model      string
	dimensions int
}

func (a openAI) name() string {
	if a.dimensions > 0 {
		return "openai:" + a.model + "@" + strconv.Itoa(a.dimensions)
	}
	return "openai:" + a.model
}

func (openAI) path() string    { return "/embeddings" }
func (openAI) base() string    { return "https://host.example/v1" }
func (openAI) example() string { return "text-embedding-3-small" }
func (openAI) missing() string {
	return "check the model, and that " + urlSetting + " ends where /embeddings is to follow, mostly in /v1"
}

func (a openAI) request(texts []string) any {
	return struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Encoding   string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{a.model, texts, "float", a.dimensions}
}

// vectors puts them in order by index. An answer without any index is taken as it stands.
func (openAI) vectors(body []byte, n int) ([]json.RawMessage, error) {
	var answer struct {
		Data []struct {
			Index     *int            `json:"index"`
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errForm
	}
	if len(answer.Data) != n {
		return nil, fmt.Errorf("%d vectors came for %d texts", len(answer.Data), n)
	}
	out := make([]json.RawMessage, n)
	indexed := 0
	for i, d := range answer.Data {
		if d.Index != nil {
			indexed++
			i = *d.Index
		}
		if i < 0 || i >= n || out[i] != nil {
			return nil, fmt.Errorf("the index %d is out of place among %d texts", i, n)
		}
		if out[i] = d.Embedding; len(d.Embedding) == 0 {
			return nil, errNotNumbers
		}
	}
	if indexed != 0 && indexed != n {
		return nil, fmt.Errorf("%d of %d vectors have an index", indexed, n)
	}
	return out, nil
}
