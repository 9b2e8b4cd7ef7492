package uselite

import (
	"fmt"
	"runtime"
	"testing"
)

// thirtyWords is a text of the length that the time of an embedding is stated for.
const thirtyWords = "The payment service retries failed charges three times with exponential backoff, and then publishes a dead-letter " +
	"event so that the billing team can inspect the order manually later today."

// BenchmarkEmbed takes a text from gate to vector, on one core with -cpu 1; the cached one shows what a repetition saves.
func BenchmarkEmbed(b *testing.B) {
	for name, size := range map[string]int{"encoded": -1, "cached": 1} {
		b.Run(name, func(b *testing.B) {
			p := New(Options{CacheSize: size})
			embed(b, p, thirtyWords)
			for b.Loop() {
				embed(b, p, thirtyWords)
			}
		})
	}
}

// BenchmarkBatch encodes 32 different texts in one call, on as many cores as there are.
func BenchmarkBatch(b *testing.B) {
	p := New(Options{CacheSize: -1})
	texts := make([]string, 32)
	for i := range texts {
		texts[i] = fmt.Sprintf("Case %d: %s", i, thirtyWords)
	}
	for b.Loop() {
		embed(b, p, texts...)
	}
}

func BenchmarkGate(b *testing.B) {
	for b.Loop() {
		gather(thirtyWords)
	}
}

// BenchmarkFirst is what the first vector of a process costs: loading the weights, and encoding two words. heap-MB is what
// stays.
func BenchmarkFirst(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var p *Provider
	for b.Loop() {
		p = New(Options{})
		embed(b, p, "rate limiting")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1e6, "heap-MB")
	runtime.KeepAlive(p)
}
