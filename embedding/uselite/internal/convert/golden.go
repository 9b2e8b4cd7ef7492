package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/stele-dev/stele/embedding/uselite/internal/encoder"
)

// example is a sentence of the golden file. The text is what the encoder gets: lower case, letters and digits.
type example struct {
	Text   string `json:"text"`
	Tokens []int  `json:"tokens"`
	Vector []byte `json:"vector"` // float32, little-endian; base64 in JSON
}

// updateGolden computes the vectors of the file's sentences anew and tells how near the quantised encoder comes.
func updateGolden(ctx context.Context, name string, m *model, quantized *encoder.Encoder, stdout io.Writer) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var examples []example
	if err := json.Unmarshal(data, &examples); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n, err := m.network()
	if err != nil {
		return err
	}
	scratch := quantized.NewScratch()
	mean, least := 0.0, 1.0
	for i := range examples {
		e := &examples[i]
		e.Tokens = quantized.Tokenize(e.Text)
		e.Vector = nil
		near, err := quantized.Encode(ctx, e.Tokens, scratch)
		if err != nil {
			return fmt.Errorf("%q: %w", e.Text, err)
		}
		var cosine float64
		for j, v := range n.vector(e.Tokens) {
			e.Vector = binary.LittleEndian.AppendUint32(e.Vector, math.Float32bits(float32(v)))
			cosine += v * float64(near[j])
		}
		mean += cosine / float64(len(examples))
		least = min(least, cosine)
	}
	fmt.Fprintf(stdout, "%s: %d sentences, cosine of int8 and float32: mean %.6f, least %.6f\n", name, len(examples), mean, least)
	var out bytes.Buffer
	encode := json.NewEncoder(&out)
	encode.SetEscapeHTML(false)
	encode.SetIndent("", " ")
	if err := encode.Encode(examples); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644) //nolint:gosec // it goes into the repository
}
