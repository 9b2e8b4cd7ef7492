package c4model_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
)

// What a pattern means in a folder, its rooted form means in the repository.
func TestRooted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "b", "[c]", "d.go"})
		file := strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "file"), "/")
		folder := strings.Join(rapid.SliceOfN(part, 0, 2).Draw(t, "folder"), "/")
		elsewhere := rapid.SampledFrom([]string{"x", "a", "x/a"}).Draw(t, "elsewhere")
		written := rapid.SampledFrom([]string{"a", "/a", "a/", "a/**", "*.go", "**", "b/*.go", "/d.go", "**/d.go", "a/b"}).Draw(t, "pattern")
		pattern, err := c4model.NormalizePattern(written)
		if err != nil {
			t.Fatal(err)
		}
		rooted := c4model.Rooted(folder, pattern)
		inside := strings.TrimPrefix(folder+"/"+file, "/")
		if got, want := c4model.Matches(rooted, inside), c4model.Matches(pattern, file); got != want {
			t.Errorf("%q of %q is %q, which matches %q: %v, want %v", pattern, folder, rooted, inside, got, want)
		}
		outside := elsewhere + "/" + file
		if folder != "" && outside != inside && !strings.HasPrefix(outside, folder+"/") && c4model.Matches(rooted, outside) {
			t.Errorf("%q of %q is %q, which matches %q", pattern, folder, rooted, outside)
		}
	})
}
