package c4model

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Matches tells whether a binding pattern covers a repository-relative path. Patterns follow gitignore: one without a
// slash matches a name at any depth, one with a slash is anchored at the root, and a pattern that matches a folder
// covers everything below it. The pattern must be valid (ValidPattern); an invalid one matches nothing.
func Matches(pattern, path string) bool {
	p := strings.TrimSuffix(strings.TrimPrefix(pattern, "/"), "/")
	if p == "" || p == "." {
		return true
	}
	if !strings.Contains(p, "/") && !strings.HasPrefix(pattern, "/") {
		p = "**/" + p
	}
	for {
		if ok, err := doublestar.Match(p, path); err != nil || ok {
			return err == nil
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[:i]
	}
}

// maxAlternatives bounds what the braces of one pattern expand to, multiplied out: matching tries them one after the
// other, so that 26 pairs of braces would mean 2²⁶ comparisons of one path.
const maxAlternatives = 256

// ValidPattern tells whether a pattern can be matched: well formed, and of a bounded number of alternatives.
func ValidPattern(pattern string) bool {
	if !doublestar.ValidatePattern(pattern) {
		return false
	}
	total := 1
	var open []int // commas in each open brace
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 0)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				total *= open[len(open)-1] + 1
				open = open[:len(open)-1]
			}
		}
		if total > maxAlternatives {
			return false
		}
	}
	return true
}

// Owners gives the indexes of the patterns that own a path: those of the most specific pattern that covers it. More than
// one index is a tie, which the model should settle. A path may itself be a glob ("auth/**"); it is owned by the pattern
// that covers what it stands for. For many paths, make an Ownership.
func Owners(patterns []string, path string) []int {
	return NewOwnership(patterns).Owners(sample(path))
}

// Ownership finds the patterns that cover a path without trying them all: a pattern is looked up by the folder that its
// literal beginning names. It is safe for concurrent use.
type Ownership struct {
	patterns  []string
	byPrefix  map[string][]int
	specifics [][3]int
}

// NewOwnership prepares patterns; the indexes that it gives are those of this slice.
func NewOwnership(patterns []string) *Ownership {
	o := &Ownership{patterns: patterns, byPrefix: make(map[string][]int, len(patterns)), specifics: make([][3]int, len(patterns))}
	for i, p := range patterns {
		prefix := strings.TrimPrefix(StaticPrefix(strings.TrimPrefix(p, "/")), "./")
		if !strings.Contains(strings.Trim(p, "/"), "/") && !strings.HasPrefix(p, "/") || prefix == "." {
			prefix = "" // such a pattern matches at any depth
		}
		o.byPrefix[prefix] = append(o.byPrefix[prefix], i)
		o.specifics[i] = specificity(p)
	}
	return o
}

// Covering gives the indexes of all patterns that cover a path, in order.
func (o *Ownership) Covering(path string) []int {
	var out []int
	for prefix := path; ; {
		for _, i := range o.byPrefix[prefix] {
			if Matches(o.patterns[i], path) {
				out = append(out, i)
			}
		}
		if prefix == "" {
			break
		}
		prefix = prefix[:max(strings.LastIndexByte(prefix, '/'), 0)]
	}
	slices.Sort(out)
	return out
}

// Owners gives the indexes of the most specific patterns among those that cover a path; several are a tie.
func (o *Ownership) Owners(path string) []int {
	var best []int
	var most [3]int
	for _, i := range o.Covering(path) {
		switch c := slices.Compare(o.specifics[i][:], most[:]); {
		case best == nil || c > 0:
			best, most = []int{i}, o.specifics[i]
		case c == 0:
			best = append(best, i)
		}
	}
	return best
}

// specificity orders patterns: longer literal part before the first wildcard, then no wildcard at all, then more literal
// characters altogether.
func specificity(p string) [3]int {
	p = strings.Trim(strings.TrimSuffix(p, "/**"), "/") // "src/auth" and "src/auth/**" say the same
	static := strings.IndexAny(p, `*?[{\`)
	exact := 0
	if static < 0 {
		static, exact = len(p), 1
	}
	literal := 0
	for _, r := range p {
		if !strings.ContainsRune("*?[]{}", r) {
			literal++
		}
	}
	return [3]int{static, exact, literal}
}

// sample turns a glob into one path it stands for.
func sample(glob string) string {
	if !strings.ContainsAny(glob, "*?[{") {
		return strings.TrimSuffix(glob, "/")
	}
	return strings.NewReplacer("**", "x", "*", "x", "?", "x", "[", "", "]", "", "{", "", "}", "").Replace(strings.TrimSuffix(glob, "/"))
}

// StaticPrefix is the part of a glob before its first wildcard, cut at a slash: "auth/mw" of "auth/mw/**", "" of "*.go".
func StaticPrefix(glob string) string {
	i := strings.IndexAny(glob, `*?[{\`)
	if i < 0 {
		return strings.TrimSuffix(glob, "/")
	}
	return strings.TrimSuffix(glob[:strings.LastIndexByte(glob[:i], '/')+1], "/")
}
