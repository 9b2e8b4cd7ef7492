package retrieval

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/terms"
)

// Pair is two texts with the judgement of a person whether they state one fact.
type Pair struct {
	Same   bool
	Reason string // what makes them alike or tells them apart, one word
	A, B   string
}

// ReadPairs reads pairs from lines of four fields parted by tabs: "same" or "differ", reason, and the texts. Blank lines and
// those that begin with # are skipped. A pair that occurs twice, whichever way round, is refused, as are equal texts.
func ReadPairs(r io.Reader, name string) ([]Pair, error) {
	var pairs []Pair
	seen := map[[2]string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := lines.Text()
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		bad := func(format string, args ...any) error {
			return problem.Invalidf("pairs", "%s:%d: %s", name, number, fmt.Sprintf(format, args...)).
				Fix("a line is same or differ, the reason, and two texts, parted by tabs")
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || f[0] != "same" && f[0] != "differ" || slices.Contains(f, "") {
			return nil, bad("it is no labelled pair")
		}
		key := unordered(f[2], f[3])
		if first := seen[key]; first > 0 {
			return nil, bad("line %d has the same pair", first)
		}
		if f[2] == f[3] {
			return nil, bad("the texts are equal")
		}
		seen[key] = number
		pairs = append(pairs, Pair{Same: f[0] == "same", Reason: f[1], A: f[2], B: f[3]})
	}
	if err := lines.Err(); err != nil {
		return nil, problem.Invalidf("pairs", "%s:%d: %v", name, number+1, err).Because(err)
	}
	return pairs, nil
}

// unordered gives the same key for a pair and its reverse.
func unordered(a, b string) [2]string {
	a, b = terms.Fold(a), terms.Fold(b)
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// ReasonCount tells how many pairs of one verdict and reason were merged.
type ReasonCount struct {
	Same   bool   `json:"same"` // what they are labelled
	Reason string `json:"reason"`
	Pairs  int    `json:"pairs"`
	Merged int    `json:"merged"`
}

// CountMerged asks merges about every pair and counts by verdict and reason: same before differ, reasons by name. Merged
// pairs that are labelled different are lost facts; merges is therefore asked both ways round, and one yes counts.
func CountMerged(pairs []Pair, merges func(a, b string) bool) []ReasonCount {
	var counts []ReasonCount
	for _, p := range pairs {
		i := slices.IndexFunc(counts, func(c ReasonCount) bool { return c.Same == p.Same && c.Reason == p.Reason })
		if i < 0 {
			i = len(counts)
			counts = append(counts, ReasonCount{Same: p.Same, Reason: p.Reason})
		}
		counts[i].Pairs++
		if merges(p.A, p.B) || merges(p.B, p.A) {
			counts[i].Merged++
		}
	}
	slices.SortFunc(counts, func(a, b ReasonCount) int {
		if a.Same != b.Same {
			if a.Same {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return counts
}
