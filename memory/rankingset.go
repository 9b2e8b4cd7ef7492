package memory

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// With gives a copy of the ranking with some constants changed: "best_share=0.3, kind.pitfall=4, half_life_days=90". Errors are
// problems that name the constant and list those there are.
func (r Ranking) With(changes string) (Ranking, error) {
	r.Kind = maps.Clone(r.Kind)
	fraction := func(to *float64) func(float64) bool {
		return func(v float64) bool { *to = v; return v <= 1 }
	}
	factor := func(to *float64) func(float64) bool {
		return func(v float64) bool { *to = v; return v <= 100 }
	}
	count := func(to *int) func(float64) bool {
		return func(v float64) bool { *to = int(v); return v >= 1 && v <= 10_000 && v == math.Trunc(v) }
	}
	set := map[string]func(float64) bool{
		"semantic_weight": fraction(&r.SemanticWeight), "lexical_weight": fraction(&r.LexicalWeight),
		"advantage_power": func(v float64) bool { r.AdvantagePower = v; return v <= 10 },
		"half_life_days": func(v float64) bool {
			r.HalfLife = time.Duration(v * 24 * float64(time.Hour))
			return v >= 1 && v <= 36_500
		},
		"freshness_rest": fraction(&r.FreshnessRest), "citation_gain": factor(&r.CitationGain), "citation_full": count(&r.CitationFull),
		"ignored_from": count(&r.IgnoredFrom), "ignored": fraction(&r.Ignored), "doubt": fraction(&r.Doubt), "unreviewed": fraction(&r.Unreviewed),
		"best_share": fraction(&r.BestShare), "words_share": fraction(&r.WordsShare), "lexical_floor": fraction(&r.LexicalFloor), "max_terms": count(&r.MaxTerms),
		"feedback_vector": factor(&r.FeedbackVector), "feedback_words": fraction(&r.FeedbackWords),
	}
	for _, k := range Kinds {
		set["kind."+string(k)] = func(v float64) bool { r.Kind[k] = v; return v <= 100 }
	}
	for change := range strings.SplitSeq(changes, ",") {
		name, value, _ := strings.Cut(change, "=")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		apply := set[name]
		if apply == nil {
			return Ranking{}, problem.Invalidf("ranking", "there is no constant %q", clip(name, 40)).
				Fix("use %s", strings.Join(slices.Sorted(maps.Keys(set)), ", "))
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsNaN(v) || v < 0 || !apply(v) {
			return Ranking{}, problem.Invalidf("ranking", "%q is no value for %s", clip(strings.TrimSpace(value), 40), name).
				Fix("leave it out for the default; shares are between 0 and 1, counts whole numbers from 1")
		}
	}
	return r, nil
}
