package main

import (
	"context"
	"log/slog"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/embedding/remote"
	"github.com/stele-dev/stele/embedding/uselite"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
)

// The encoders one can choose.
const (
	builtin = "builtin"
	openAI  = "openai"
	ollama  = "ollama"
	none    = "none"
)

// newEmbedder is the encoder of a configuration. Nothing is asked of it yet.
func newEmbedder(c config.Config, log *slog.Logger) (embedding.Provider, error) {
	o := remote.Options{URL: c.EmbeddingURL, Model: c.EmbeddingModel, Key: c.EmbeddingAPIKey, Insecure: c.Insecure, Dimensions: c.EmbeddingDimensions,
		Program: "stele/" + thisBuild().Version, Log: log}
	switch c.EmbeddingProvider {
	case builtin:
		return uselite.New(uselite.Options{}), nil
	case none:
		return embedding.None{}, nil
	case openAI:
		return remote.NewOpenAI(o)
	case ollama:
		return remote.NewOllama(o)
	}
	return nil, problem.Invalidf("STELE_EMBEDDING_PROVIDER", "%q is not a provider", c.EmbeddingProvider).Fix("use %s, %s, %s or %s", builtin, openAI, ollama, none)
}

// leaves tells whether a text leaves this process to be encoded.
func leaves(c config.Config) bool {
	return c.EmbeddingProvider == openAI || c.EmbeddingProvider == ollama
}

// warm lets an encoder on the network load its model before the first query needs it.
func (b *backend) warm(ctx context.Context, log *slog.Logger) {
	p, ok := b.embedder.(interface {
		Warm(ctx context.Context) error
	})
	if !ok {
		return
	}
	if err := p.Warm(ctx); err != nil && ctx.Err() == nil {
		log.WarnContext(ctx, "embedding provider does not answer", "error", err)
	}
}
