package c4model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOwnershipCoversWhatMatchesSays(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "*.go", "?", "{a,b}", "[ab]", "a.go"})
	rapid.Check(t, func(t *rapid.T) {
		written := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			p := ""
			for i, s := range rapid.SliceOfN(part, 1, 4).Draw(t, "parts") {
				if i > 0 {
					p += "/"
				}
				p += s
			}
			return rapid.SampledFrom([]string{"", "/"}).Draw(t, "anchor") + p + rapid.SampledFrom([]string{"", "/"}).Draw(t, "end")
		}), 1, 6).Draw(t, "patterns")
		path := ""
		for i, s := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "a.go", "b.go"}), 1, 4).Draw(t, "path") {
			if i > 0 {
				path += "/"
			}
			path += s
		}
		var want []int
		for i, p := range written {
			if Matches(p, path) {
				want = append(want, i)
			}
		}
		if got := NewOwnership(written).Covering(path); !slices.Equal(got, want) {
			t.Fatalf("patterns %q cover %q: got %v, want %v", written, path, got, want)
		}
	})
}
