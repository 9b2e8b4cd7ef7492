package memory_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestRankingWith(t *testing.T) {
	t.Parallel()
	want := memory.DefaultRanking()
	want.BestShare, want.HalfLife, want.Kind[memory.Pitfall], want.CitationFull = 0.3, 90*24*time.Hour, 4, 10
	got, err := memory.DefaultRanking().With("best_share=0.3, kind.pitfall = 4,half_life_days=90,citation_full=10,")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if memory.DefaultRanking().Kind[memory.Pitfall] != 3 {
		t.Error("the defaults themselves changed")
	}
	for _, bad := range []string{"best_shar=0.3", "best_share", "best_share=2", "advantage_power=11", "feedback_words=2", "doubt=-1", "doubt=NaN", "citation_full=1.5", "max_terms=0", "half_life_days=0", "kind.idea=1"} {
		if _, err := memory.DefaultRanking().With(bad); !problem.Is(err, problem.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
