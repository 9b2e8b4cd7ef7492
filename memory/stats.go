package memory

import (
	"context"
	"fmt"
	"time"
)

// Stats is what a recall of a caller goes over: the memories of the project, of the organization and the caller's own.
type Stats struct {
	Memories    StatusCounts  `json:"memories"`
	Kinds       map[Kind]int  `json:"kinds"` // live memories of each kind
	Embedding   EmbeddingInfo `json:"embedding"`
	Models      []ModelCount  `json:"models"` // vectors of each model, by name
	TextBytes   int64         `json:"text_bytes"`
	VectorBytes int64         `json:"vector_bytes"`
	Postings    int64         `json:"postings"` // in the index of words: one for each live memory and word
}

// StatusCounts counts memories by status.
type StatusCounts struct {
	Live       int `json:"live"`
	Candidates int `json:"candidates"`
	Superseded int `json:"superseded"`
	Retired    int `json:"retired"`
	Erased     int `json:"erased"`
}

// EmbeddingInfo tells how far live memories can be found by meaning.
type EmbeddingInfo struct {
	Model   string `json:"model"`   // of the configured provider; "" for none
	Vectors int    `json:"vectors"` // of that model
	Waiting int    `json:"waiting"` // memories that are to get one
	Refused int    `json:"refused"` // memories whose text the model does not embed; they are found by words
	// Compared says what a recall compares its query with.
	Compared Comparison `json:"compared"`
}

// Comparison is how the vectors of a recall are compared.
type Comparison string

// The comparisons.
const (
	ComparedNone  Comparison = "none"  // no provider, or no vector of its model
	ComparedAll   Comparison = "all"   // every vector: exact
	ComparedIndex Comparison = "index" // what an index finds nearest: approximate
	// ComparedUnindexed compares every vector though they are so many that an index would pay: it is being built, or the
	// operator has to build it.
	ComparedUnindexed Comparison = "unindexed"
)

// ModelCount is how many vectors of a model there are.
type ModelCount struct {
	Model   string `json:"model"`
	Vectors int    `json:"vectors"`
}

// statsView counts.
type statsView interface {
	// Stats counts what there is in the spaces; of the model the vectors, and at a moment what waits for one.
	Stats(ctx context.Context, spaces []int32, model string, at time.Time) (Stats, error)
}

// Stats counts what the caller's recall goes over.
func (s *Service) Stats(ctx context.Context, c Caller) (Stats, error) {
	var out Stats
	err := s.view(ctx, c, func(v View) error {
		keys := c.spaceKeys()
		spaces, err := v.Spaces(ctx, keys)
		if err != nil {
			return err
		}
		out, err = v.Stats(ctx, orderedSpaceIDs(spaces, keys), s.embedder.Model(), s.now())
		return err
	})
	if err != nil {
		return Stats{}, fmt.Errorf("stats: %w", err)
	}
	return out, nil
}
