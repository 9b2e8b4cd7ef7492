package retrieval_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/retrieval"
)

func readPairs(t *testing.T, name string) []retrieval.Pair {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pairs, err := retrieval.ReadPairs(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

func TestPairsAreEnough(t *testing.T) {
	t.Parallel()
	same, differ := map[string]int{}, map[string]int{}
	for _, p := range readPairs(t, "../../testdata/duplicates/pairs.tsv") {
		if p.Same {
			same[p.Reason]++
			same[""]++
		} else {
			differ[p.Reason]++
			differ[""]++
		}
	}
	atLeast(t, "pairs that are the same by", same, map[string]int{
		"": 200, "casing": 5, "punctuation": 10, "order": 15, "synonym": 20, "voice": 15, "restatement": 50, "several_sentences": 10,
	})
	atLeast(t, "pairs that differ by", differ, map[string]int{
		"": 200, "number": 20, "unit": 15, "version": 12, "negation": 25, "literal": 15, "identifier": 15, "path": 10, "direction": 18,
		"always_never": 10, "before_after": 12, "who": 15, "min_max": 12, "environment": 10, "condition": 10, "opposite": 15,
	})
}

// What the guard is developed against proves nothing about how far it reaches.
func TestPairsAreNotThoseTheGuardIsDevelopedAgainst(t *testing.T) {
	t.Parallel()
	known := map[[2]string]bool{}
	text, err := os.ReadFile("../../memory/facts/testdata/pairs.tsv") // its verdicts are three, of which two are known here
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(f) == 4 {
			known[[2]string{f[2], f[3]}], known[[2]string{f[3], f[2]}] = true, true
		}
	}
	if len(known) < 500 {
		t.Fatalf("only %d pairs were read", len(known)/2)
	}
	for _, p := range readPairs(t, "../../testdata/duplicates/pairs.tsv") {
		if known[[2]string{p.A, p.B}] {
			t.Errorf("%q and %q are a pair of memory/facts as well", p.A, p.B)
		}
	}
}

func TestReadPairsSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lines, want string }{
		{"same\tcasing\ta", "x.tsv:1: it is no labelled pair"},
		{"# head\n\nmaybe\tcasing\ta\tb", "x.tsv:3: it is no labelled pair"},
		{"same\t\ta\tb", "x.tsv:1: it is no labelled pair"},
		{"same\tcasing\ta\ta", "x.tsv:1: the texts are equal"},
		{"same\tcasing\ta\tb\ndiffer\tnumber\tB\ta", "x.tsv:2: line 1 has the same pair"},
		{"same\tcasing\ta\t" + strings.Repeat("b", 300<<10), "x.tsv:1: bufio.Scanner: token too long"},
	} {
		_, err := retrieval.ReadPairs(strings.NewReader(c.lines), "x.tsv")
		if p, ok := problem.As(err); !ok || p.Detail != c.want {
			t.Errorf("%.40q: %v, want %q", c.lines, err, c.want)
		}
	}
}

func TestCountMerged(t *testing.T) {
	t.Parallel()
	pairs := []retrieval.Pair{
		{Same: false, Reason: "number", A: "1", B: "2"},
		{Same: true, Reason: "voice", A: "x", B: "y"},
		{Same: true, Reason: "casing", A: "a", B: "A"},
		{Same: true, Reason: "casing", A: "b", B: "c"},
		{Same: false, Reason: "number", A: "3", B: "4"},
	}
	got := retrieval.CountMerged(pairs, func(a, b string) bool { return strings.EqualFold(a, b) || a == "4" && b == "3" })
	want := []retrieval.ReasonCount{
		{Same: true, Reason: "casing", Pairs: 2, Merged: 1},
		{Same: true, Reason: "voice", Pairs: 1, Merged: 0},
		{Same: false, Reason: "number", Pairs: 2, Merged: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
