package c4model

import (
	"slices"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"auth", "auth/mw.go", true},
		{"auth", "src/auth/mw.go", true},
		{"/auth", "src/auth/mw.go", false},
		{"src/auth", "src/auth/deep/mw.go", true},
		{"src/auth/", "src/auth/deep/mw.go", true},
		{"src/auth", "lib/src/auth/mw.go", false},
		{"src/auth/**", "src/auth/mw.go", true},
		{"src/auth/**", "src/authz/mw.go", false},
		{"src/auth/*.go", "src/auth/deep/mw.go", false},
		{"*.go", "a/b/c.go", true},
		{"a/**/c.go", "a/c.go", true},
		{"**", "anything/at/all", true},
		{"/", "anything", true},
		{"src/[", "src/[", false},
		{"cmd/{a,b}", "cmd/b/main.go", true},
	} {
		if got := Matches(tc.pattern, tc.path); got != tc.want {
			t.Errorf("Matches(%q, %q) = %v, want %v", tc.pattern, tc.path, got, tc.want)
		}
	}
}

func TestOwnersMostSpecificWins(t *testing.T) {
	t.Parallel()
	patterns := []string{"src/**", "src/auth/**", "src/auth/mw.go", "**/*.sql", "src/auth"}
	for _, tc := range []struct {
		path string
		want []int
	}{
		{"src/web/a.ts", []int{0}},
		{"src/auth/mw.go", []int{2}},
		{"src/auth/other.go", []int{1, 4}},
		{"src/auth/**", []int{1, 4}},
		{"migrations/1.sql", []int{3}},
		{"docs/a.md", nil},
	} {
		if got := Owners(patterns, tc.path); !slices.Equal(got, tc.want) {
			t.Errorf("Owners(%q) = %v, want %v", tc.path, got, tc.want)
		}
	}
	if got := Owners([]string{"a/**", "a/**"}, "a/x"); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("a tie must name both, got %v", got)
	}
}

func TestStaticPrefix(t *testing.T) {
	t.Parallel()
	for glob, want := range map[string]string{"auth/mw/**": "auth/mw", "*.go": "", "auth/mw.go": "auth/mw.go", "a/b*": "a", "a/": "a", "**": ""} {
		if got := StaticPrefix(glob); got != want {
			t.Errorf("StaticPrefix(%q) = %q, want %q", glob, got, want)
		}
	}
}

func TestValidPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"src/**/*.{ts,tsx}":                   true,
		"{a,b,{c,d}}/x":                       true,
		"a/[b":                                false,
		`a/\[b`:                               true,
		strings.Repeat("{a,b}", 8):            true,
		strings.Repeat("{a,b}", 9):            false,
		strings.Repeat("{a,a}", 26) + "b":     false,
		"{" + strings.Repeat("a,", 300) + "}": false,
	} {
		if got := ValidPattern(pattern); got != want {
			t.Errorf("ValidPattern(%.40q) = %v, want %v", pattern, got, want)
		}
	}
}
