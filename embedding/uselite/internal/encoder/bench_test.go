package encoder

import (
	"os"
	"strings"
	"testing"
)

// thirtyWords is a text of the length that the time of an embedding is stated for.
const thirtyWords = "the payment service retries failed charges three times with exponential backoff and then publishes a dead " +
	"letter event so that the billing team can inspect the order manually later today"

func shipped(tb testing.TB) []byte {
	tb.Helper()
	file, err := os.ReadFile("../../weights.bin")
	if err != nil {
		tb.Fatal(err)
	}
	return file
}

// BenchmarkEncode compares the code chosen for this processor with the portable one: the ratio is what counts, as both
// run on the same machine at the same time.
func BenchmarkEncode(b *testing.B) {
	file := shipped(b)
	for _, variant := range []struct {
		name   string
		kernel kernel
	}{{"fastest", fastest()}, {"portable", portable}} {
		e, err := build(file, variant.kernel)
		if err != nil {
			b.Fatal(err)
		}
		scratch := e.NewScratch()
		for _, text := range []struct{ name, text string }{{"2words", "rate limiting"}, {"30words", thirtyWords}, {"full", strings.Repeat(thirtyWords+" ", 5)}} {
			b.Run(variant.name+"/"+text.name, func(b *testing.B) {
				tokens := e.Tokenize(text.text)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := e.Encode(b.Context(), tokens, scratch); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(tokens)), "tokens")
			})
		}
	}
}

func BenchmarkTokenize(b *testing.B) {
	e, err := New(shipped(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e.Tokenize(thirtyWords)
	}
}

func BenchmarkNew(b *testing.B) {
	file := shipped(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(file); err != nil {
			b.Fatal(err)
		}
	}
}
