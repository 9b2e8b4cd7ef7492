// Package embedding is the seam between memories and sentence encoders. A provider turns text into a vector; everything
// else in Stele works without one.
package embedding

import "context"

// Vector is one embedding, L2-normalised by the provider.
type Vector []float32

// Provider turns texts into vectors of one model.
type Provider interface {
	// Model names the model and its version; vectors of different models are never compared. It is "" for None.
	Model() string
	// Embed returns one vector per text, in order. A nil vector means that the model cannot embed that text (its
	// language gate refused it); the text is then found by words alone. An error concerns all texts of the call.
	Embed(ctx context.Context, texts []string) ([]Vector, error)
	// Thresholds are the model's measured cosine bounds.
	Thresholds() Thresholds
}

// Thresholds belong to a model: cosines of different encoders are not on one scale.
type Thresholds struct {
	Dedupe  float64 // above it, and with the same facts, a text restates an existing memory
	Similar float64 // from it upwards a memory is offered in similarTo
	Floor   float64 // least relevance of a recall result
}

// None is the provider that embeds nothing: recall, deduplication and similarity go by words.
type None struct{}

// Model is "": no vector carries it.
func (None) Model() string { return "" }

// Embed gives a nil vector for every text.
func (None) Embed(_ context.Context, texts []string) ([]Vector, error) {
	return make([]Vector, len(texts)), nil
}

// Thresholds of None: nothing has a cosine to compare.
func (None) Thresholds() Thresholds { return Thresholds{Dedupe: 1, Similar: 1} }
