package retrieval_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/retrieval"
)

func query(id string, kind retrieval.Kind, answers ...string) *retrieval.Query {
	return &retrieval.Query{ID: id, Kind: kind, Answers: answers}
}

// near compares scores but for the rounding of a sum.
func near(a, b retrieval.Scores) bool {
	equal := func(x, y float64) bool { return math.Abs(x-y) < 1e-12 }
	return a.Queries == b.Queries && equal(a.RecallAt1, b.RecallAt1) && equal(a.RecallAt5, b.RecallAt5) &&
		equal(a.RecallAt10, b.RecallAt10) && equal(a.HitAt5, b.HitAt5) && equal(a.MRR, b.MRR)
}

// Each row is worked out by hand.
func TestScoresOfOneQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers []string
		got     string
		want    retrieval.Scores
	}{
		{"first", []string{"a"}, "a b c", retrieval.Scores{Queries: 1, RecallAt1: 1, RecallAt5: 1, RecallAt10: 1, HitAt5: 1, MRR: 1}},
		{"fifth", []string{"a"}, "v w x y a", retrieval.Scores{Queries: 1, RecallAt5: 1, RecallAt10: 1, HitAt5: 1, MRR: 0.2}},
		{"sixth", []string{"a"}, "v w x y z a", retrieval.Scores{Queries: 1, RecallAt10: 1, MRR: 1.0 / 6}},
		{"tenth", []string{"a"}, "1 2 3 4 5 6 7 8 9 a", retrieval.Scores{Queries: 1, RecallAt10: 1, MRR: 0.1}},
		{"eleventh", []string{"a"}, "1 2 3 4 5 6 7 8 9 10 a", retrieval.Scores{Queries: 1, MRR: 1.0 / 11}},
		{"never", []string{"a"}, "x y", retrieval.Scores{Queries: 1}},
		{"nothing came", []string{"a"}, "", retrieval.Scores{Queries: 1}},
		{"two, one on top", []string{"a", "b"}, "a x b", retrieval.Scores{Queries: 1, RecallAt1: 0.5, RecallAt5: 1, RecallAt10: 1, HitAt5: 1, MRR: 1}},
		{"two, one missed", []string{"a", "b"}, "x b y z", retrieval.Scores{Queries: 1, RecallAt5: 0.5, RecallAt10: 0.5, HitAt5: 1, MRR: 0.5}},
		{"three, spread", []string{"a", "b", "c"}, "x a y z w b v c", retrieval.Scores{Queries: 1, RecallAt5: 1.0 / 3, RecallAt10: 1, HitAt5: 1, MRR: 0.5}},
		{"results that repeat", []string{"a", "b"}, "a x a y x b", retrieval.Scores{Queries: 1, RecallAt1: 0.5, RecallAt5: 1, RecallAt10: 1, HitAt5: 1, MRR: 1}},
	} {
		r := retrieval.Score([]retrieval.Run{{Query: query("q", "", c.answers...), Got: strings.Fields(c.got)}})
		if !near(r.All, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, r.All, c.want)
		}
	}
}

func runs() []retrieval.Run {
	rival := query("q6", retrieval.Rival, "a")
	rival.Tempting = []string{"p"}
	beaten := query("q7", retrieval.Rival, "a")
	beaten.Tempting = []string{"p"}
	alone := query("q5", retrieval.Rival, "a")
	alone.Tempting = []string{"p"}
	return []retrieval.Run{
		{query("q1", retrieval.Negation, "a"), []string{"a"}},
		{query("q2", retrieval.Paraphrase, "a"), []string{"x", "a"}},
		{query("q3", retrieval.Paraphrase, "a"), nil},
		{query("q4", "other", "a"), []string{"x", "y", "z", "a"}},
		{alone, []string{"x", "p"}},
		{rival, []string{"x", "a", "p"}},
		{beaten, []string{"p", "a"}},
		{query("q8", retrieval.NoAnswer), nil},
		{query("q9", retrieval.NoAnswer), []string{"x"}},
		{query("q10", retrieval.NoAnswer), []string{}},
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := retrieval.Score(runs())
	// Seven queries have an answer: it comes first, second, never, fourth, never, second and second.
	all := retrieval.Scores{Queries: 7, RecallAt1: 1.0 / 7, RecallAt5: 5.0 / 7, RecallAt10: 5.0 / 7, HitAt5: 5.0 / 7, MRR: (1 + 0.5 + 0.25 + 0.5 + 0.5) / 7}
	if !near(r.All, all) {
		t.Errorf("all: %+v, want %+v", r.All, all)
	}
	want := []retrieval.KindScores{
		{Kind: retrieval.Paraphrase, Scores: retrieval.Scores{Queries: 2, RecallAt5: 0.5, RecallAt10: 0.5, HitAt5: 0.5, MRR: 0.25}},
		{Kind: retrieval.Negation, Scores: retrieval.Scores{Queries: 1, RecallAt1: 1, RecallAt5: 1, RecallAt10: 1, HitAt5: 1, MRR: 1}},
		{Kind: retrieval.Rival, Scores: retrieval.Scores{Queries: 3, RecallAt5: 2.0 / 3, RecallAt10: 2.0 / 3, HitAt5: 2.0 / 3, MRR: 1.0 / 3}},
		{Kind: "other", Scores: retrieval.Scores{Queries: 1, RecallAt5: 1, RecallAt10: 1, HitAt5: 1, MRR: 0.25}},
	}
	if len(r.Kinds) != len(want) {
		t.Fatalf("%d kinds, want %d: %+v", len(r.Kinds), len(want), r.Kinds)
	}
	for i, w := range want {
		if r.Kinds[i].Kind != w.Kind || !near(r.Kinds[i].Scores, w.Scores) {
			t.Errorf("kind %d is %+v, want %+v", i, r.Kinds[i], w)
		}
	}
	if r.Unanswerable != 3 || r.Silent != 2 || math.Abs(r.NoAnswerRate-2.0/3) > 1e-12 {
		t.Errorf("%d of %d without an answer got none (%v), want 2 of 3", r.Silent, r.Unanswerable, r.NoAnswerRate)
	}
	if got := strings.Join(r.Outranked, " "); got != "q5 q7" {
		t.Errorf("outranked in %q, want q5 and q7", got)
	}
}

func TestReportOfNothing(t *testing.T) {
	t.Parallel()
	r := retrieval.Score(nil)
	if !near(r.All, retrieval.Scores{}) || r.NoAnswerRate != 0 || len(r.Kinds) != 0 || len(r.Outranked) != 0 {
		t.Errorf("a report of no run is %+v", r)
	}
}

func TestReportAsText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := retrieval.Score(runs()).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `kind         queries    R@1    R@5   R@10  hit@5    MRR
paraphrase         2  0.000  0.500  0.500  0.500  0.250
negation           1  1.000  1.000  1.000  1.000  1.000
rival              3  0.000  0.667  0.667  0.667  0.333
other              1  0.000  1.000  1.000  1.000  0.250
all                7  0.143  0.714  0.714  0.714  0.393

no answer: 2 of 3 queries without an answer got none (0.667)
outranked by something tempting: q5 q7
`
	if b.String() != want {
		t.Errorf("the report is\n%s\nwant\n%s", b.String(), want)
	}
}
