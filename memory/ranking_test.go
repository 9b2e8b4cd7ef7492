package memory_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/memory"
)

const day = 24 * time.Hour

// The constants are the contract: a change of one is a decision, not an accident.
func TestRankingConstants(t *testing.T) {
	t.Parallel()
	want := memory.Ranking{
		SemanticWeight: 0.55, LexicalWeight: 0.45,
		Kind:           map[memory.Kind]float64{memory.Pitfall: 3, memory.Convention: 2, memory.Note: 1.5, memory.SessionOutcome: 1},
		AdvantagePower: 4, HalfLife: 45 * day, FreshnessRest: 0.3,
		CitationGain: 0.8, CitationFull: 20,
		IgnoredFrom: 5, Ignored: 0.75, Doubt: 0.6, Unreviewed: 0.5,
		BestShare: 0.4, WordsShare: 0.3, LexicalFloor: 0.1, FeedbackVector: 0.5, FeedbackWords: 0.4, MaxTerms: 64,
	}
	if diff := cmp.Diff(want, memory.DefaultRanking()); diff != "" {
		t.Errorf("a constant of the ranking changed (-contract +code):\n%s", diff)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %.12f, want %.12f", what, got, want)
	}
}

func TestFactors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		semantic *float64
		lexical  float64
		standing memory.Standing
		age      time.Duration
		want     memory.Factors
		score    float64
	}{
		{name: "the best there is", semantic: new(1.0), lexical: 1, standing: memory.Standing{Kind: memory.Pitfall, Citations: 20},
			want:  memory.Factors{Semantic: 1, Lexical: 1, Relevance: 1, Kind: 3, Freshness: 1, Citation: 1.8, Ignored: 1, Doubt: 1, Trust: 1},
			score: 5.4},
		{name: "blend, age, citations and doubt", semantic: new(0.8), lexical: 0.5, age: 45 * day,
			standing: memory.Standing{Kind: memory.Pitfall, Citations: 5, Doubted: true},
			want:     memory.Factors{Semantic: 0.8, Lexical: 0.5, Relevance: 0.665, Kind: 3, Freshness: 0.65, Citation: 1.470815244329, Ignored: 1, Doubt: 0.6, Trust: 1},
			score:    1.144367800850},
		{name: "words alone, ignored and unreviewed", lexical: 0.4, age: 90 * day,
			standing: memory.Standing{Kind: memory.Note, IgnoredBy: 5, Unreviewed: true},
			want:     memory.Factors{Lexical: 0.4, Relevance: 0.4, Kind: 1.5, Freshness: 0.475, Citation: 1, Ignored: 0.75, Doubt: 1, Trust: 0.5},
			score:    0.106875},
		{name: "an opposite meaning counts as none, citations are bounded", semantic: new(-0.7), lexical: 0.6, age: 10 * day,
			standing: memory.Standing{Kind: memory.Convention, Citations: 100},
			want:     memory.Factors{Lexical: 0.6, Relevance: 0.27, Kind: 2, Freshness: 0.900070787997, Citation: 1.8, Ignored: 1, Doubt: 1, Trust: 1},
			score:    0.874868805933},
		{name: "four reporting sessions are not enough to be ignored", lexical: 1, standing: memory.Standing{Kind: memory.Note, IgnoredBy: 4},
			want:  memory.Factors{Lexical: 1, Relevance: 1, Kind: 1.5, Freshness: 1, Citation: 1, Ignored: 1, Doubt: 1, Trust: 1},
			score: 1.5},
		{name: "cited once, it is not ignored by the others", lexical: 1, standing: memory.Standing{Kind: memory.SessionOutcome, IgnoredBy: 50, Citations: 1},
			want:  memory.Factors{Lexical: 1, Relevance: 1, Kind: 1, Freshness: 1, Citation: 1.182136198958, Ignored: 1, Doubt: 1, Trust: 1},
			score: 1.182136198958},
		{name: "confirmed in the future is fresh", lexical: 1, age: -day, standing: memory.Standing{Kind: memory.SessionOutcome},
			want:  memory.Factors{Lexical: 1, Relevance: 1, Kind: 1, Freshness: 1, Citation: 1, Ignored: 1, Doubt: 1, Trust: 1},
			score: 1},
	} {
		got := memory.DefaultRanking().FactorsAt(c.semantic, c.lexical, c.standing, c.age)
		near(t, c.name+": semantic", got.Semantic, c.want.Semantic)
		near(t, c.name+": lexical", got.Lexical, c.want.Lexical)
		near(t, c.name+": relevance", got.Relevance, c.want.Relevance)
		near(t, c.name+": kind", got.Kind, c.want.Kind)
		near(t, c.name+": freshness", got.Freshness, c.want.Freshness)
		near(t, c.name+": citation", got.Citation, c.want.Citation)
		near(t, c.name+": ignored", got.Ignored, c.want.Ignored)
		near(t, c.name+": doubt", got.Doubt, c.want.Doubt)
		near(t, c.name+": trust", got.Trust, c.want.Trust)
		near(t, c.name+": score", got.Score(), c.score)
	}
}

// Kind and freshness are advantages that go with relevance; what speaks against a memory counts twice, in the score and in
// what is left of the advantages.
func TestAmong(t *testing.T) {
	t.Parallel()
	r := memory.DefaultRanking()
	pitfall, note := memory.Standing{Kind: memory.Pitfall}, memory.Standing{Kind: memory.Note}
	for _, c := range []struct {
		name      string
		relevance float64
		standing  memory.Standing
		age       time.Duration
		best      float64
		kind      float64
		freshness float64
		score     float64
	}{
		{"the best has what the contract says", 0.8, pitfall, 45 * day, 0.8, 3, 0.65, 1.56},
		{"without a best, nothing is above it", 0.8, pitfall, 45 * day, 0, 3, 0.65, 1.56},
		{"half as relevant has a sixteenth of the advantage", 0.4, pitfall, 0, 0.8, 1.125, 0.34375, 0.1546875},
		{"the kind without an advantage keeps its weight", 0.4, memory.Standing{Kind: memory.SessionOutcome}, 0, 0.8, 1, 0.34375, 0.1375},
		{"an old note that answers, beside the pitfall above", 0.8, note, 180 * day, 0.8, 1.5, 0.34375, 0.4125},
		{"doubt takes from the advantage too", 0.8, memory.Standing{Kind: memory.Note, Doubted: true}, 0, 0.6, 1.2048, 0.58672, 0.33930252288},
		{"doubted, and still the best there is", 0.8, memory.Standing{Kind: memory.Note, Doubted: true}, 0, 0.48, 1.5, 1, 0.72},
	} {
		f := r.Among(r.FactorsAt(nil, c.relevance, c.standing, c.age), c.best)
		near(t, c.name+": kind", f.Kind, c.kind)
		near(t, c.name+": freshness", f.Freshness, c.freshness)
		near(t, c.name+": score", f.Score(), c.score)
	}
}

func TestIDF(t *testing.T) {
	t.Parallel()
	near(t, "3 of 100", memory.IDF(100, 3), math.Log(1+97.5/3.5))
	near(t, "none of 100", memory.IDF(100, 0), math.Log(202))
	near(t, "all of 100", memory.IDF(100, 100), math.Log(1+0.5/100.5))
	near(t, "none of none", memory.IDF(0, 0), math.Log(2))
}

func TestWeigh(t *testing.T) {
	t.Parallel()
	r := memory.DefaultRanking()
	w := r.Weigh([]string{"common", "rare", "unseen"}, 100, []int{60, 2, 0})
	if len(w.Terms) != 2 || w.Terms[0].Term != "rare" || w.Terms[1].Term != "common" {
		t.Fatalf("terms %+v, want rare before common and no unseen", w.Terms)
	}
	common, rare, unseen := memory.IDF(100, 60), memory.IDF(100, 2), memory.IDF(100, 0)
	near(t, "lexical of the rare word", w.Lexical(w.Terms[0].Weight), rare/(rare+common))
	near(t, "coverage of the rare word", w.Coverage(w.Terms[0].Weight), rare/(rare+common+unseen))
	near(t, "everything seen", w.Lexical(w.Seen), 1)
	if got := (memory.Words{}).Lexical(0); got != 0 {
		t.Errorf("no word has lexical %v", got)
	}
	r.MaxTerms = 1
	if w = r.Weigh([]string{"common", "rare"}, 100, []int{60, 2}); len(w.Terms) != 1 || w.Terms[0].Term != "rare" || w.Seen != w.Terms[0].Weight {
		t.Errorf("of more terms than allowed %+v is kept, want the rarest", w)
	}
}

// Whatever a memory is, its score keeps within the bounds of the contract, and each part keeps its direction.
func TestScoreBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := memory.DefaultRanking()
		s := memory.Standing{
			Kind:      rapid.SampledFrom(memory.Kinds).Draw(t, "kind"),
			Citations: rapid.IntRange(0, 1_000_000).Draw(t, "citations"), IgnoredBy: rapid.IntRange(0, 1000).Draw(t, "ignored"),
			Doubted: rapid.Bool().Draw(t, "doubted"), Unreviewed: rapid.Bool().Draw(t, "unreviewed"),
		}
		age := time.Duration(rapid.Int64Range(0, int64(200*365*day)).Draw(t, "age"))
		lexical := rapid.Float64Range(0, 1).Draw(t, "lexical")
		var semantic *float64
		if rapid.Bool().Draw(t, "has vector") {
			semantic = new(rapid.Float64Range(-1, 1).Draw(t, "cosine"))
		}
		f := r.FactorsAt(semantic, lexical, s, age)
		if score := f.Score(); score < 0 || score > 5.4+1e-9 {
			t.Fatalf("score %v of %+v", score, f)
		}
		if f.Freshness < 0.3 || f.Freshness > 1 || f.Citation < 1 || f.Citation > 1.8+1e-12 {
			t.Fatalf("freshness or citation out of bounds: %+v", f)
		}
		if older := r.FactorsAt(semantic, lexical, s, age+day); older.Freshness > f.Freshness {
			t.Fatalf("a day more made it fresher: %v, %v", f.Freshness, older.Freshness)
		}
		best := rapid.Float64Range(0, 1).Draw(t, "best")
		if among := r.Among(f, best); among.Score() > f.Score()+1e-12 || among.Kind < 1 || among.Freshness < 0.3-1e-12 || best <= f.Held() && among != f {
			t.Fatalf("%+v among results of at most %v: %+v", f, best, among)
		}
		more := s
		more.Citations++
		if cited := r.FactorsAt(semantic, lexical, more, age); cited.Citation < f.Citation || cited.Ignored != 1 {
			t.Fatalf("a citation more made it worse: %+v, %+v", f, cited)
		}
	})
}
