package evidence

import (
	"slices"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
)

// The short way for plain folders finds what the pattern means.
func TestMatching(t *testing.T) {
	t.Parallel()
	s := &Snapshot{}
	for _, p := range []string{"a", "api-x/b.go", "api.go", "api/a", "api/deep/c.go", "b/api/d.go", "x"} {
		s.Entries = append(s.Entries, git.Entry{Path: p})
	}
	for _, pattern := range []string{"/api", "/api/", "api/deep", "api/deep/", "api/deep/c.go", "api", "/a", "/", ".", "", "/api/**", "b/api", "/x/y", "/ap?", "deep/c.go", "/./api"} {
		var want []string
		for _, e := range s.Entries {
			if c4model.Matches(pattern, e.Path) {
				want = append(want, e.Path)
			}
		}
		if got := s.matching(pattern); !slices.Equal(got, want) {
			t.Errorf("%q matches %q, want %q", pattern, got, want)
		}
	}
}
