package evidence

import (
	"slices"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// The short way by the folder that a pattern names finds what the pattern means.
func TestMatching(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	paths := []string{"a", "api-x/b.go", "api.go", "api/a", "api/deep/c.go", "b/api/d.go", "x"}
	for _, p := range paths {
		g.Write(p, p)
	}
	repo, err := git.Open(t.Context(), g.Commit("start").Dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSearcher(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	head, err := s.At(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		"/api", "/api/", "api/deep", "api/deep/", "api/deep/c.go", "api", "/a", "/", ".", "", "/.", "./", "//", "/api/**", "api/a/**", "b/api", "/x/y", "/ap?", "deep/c.go", "/./api", "./api/**",
		"**/deep/*.go", "*.go", "api*/**", "{api,b}/**", `/a\pi/**`, "api/*/c.go", "./*", "api//*", ".hidden/**",
	} {
		var want []string
		for _, p := range paths {
			if c4model.Matches(pattern, p) {
				want = append(want, p)
			}
		}
		found, err := head.matching(pattern)
		var got []string
		for _, e := range found {
			got = append(got, e.Path)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q matches %q, want %q, %v", pattern, got, want, err)
		}
	}
}
