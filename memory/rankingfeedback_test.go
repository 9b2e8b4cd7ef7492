package memory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// Two memories are as relevant as each other. One says what the best two results say, in words or in meaning, and comes
// before the other; nothing comes or goes.
func TestFeedback(t *testing.T) {
	t.Parallel()
	search := memory.Search{Model: "m", Vector: []float32{1, 0, 0}, Ranking: memory.DefaultRanking(), Words: memory.Words{Seen: 100, All: 100}}
	candidate := func(handle string, matched int64, cosine float64) memory.Candidate {
		return memory.Candidate{ID: uuid.NewSHA1(uuid.Nil, []byte(handle)), Handle: handle,
			Evidence: memory.Evidence{Matched: matched, Cosine: &cosine}, Standing: memory.Standing{Kind: memory.Note}}
	}
	found := []memory.Candidate{candidate("best", 90, 0.8), candidate("second", 80, 0.8), candidate("a-stranger", 40, 0.6), candidate("kin", 40, 0.6)}
	of := func(terms []int64, x, y, z float32) memory.Traits {
		return memory.Traits{Terms: terms, Vector: []float32{x, y, z}}
	}
	leader := of([]int64{1, 2, 3, 4}, 0.8, 0.6, 0)
	for _, c := range []struct {
		name          string
		change        string
		stranger, kin memory.Traits
		want          []string
	}{
		{"words in common", "", of([]int64{1, 8, 9}, 0.6, 0, 0.8), of([]int64{1, 3, 4}, 0.6, 0, 0.8), []string{"best", "second", "kin", "a-stranger"}},
		{"meaning in common", "", of([]int64{1}, 0.6, 0, 0.8), of([]int64{1}, 0.6, 0.8, 0), []string{"best", "second", "kin", "a-stranger"}},
		{"nothing is known of either", "", memory.Traits{}, memory.Traits{}, []string{"best", "second", "a-stranger", "kin"}},
		{"none", "feedback_vector=0,feedback_words=0", of([]int64{1, 8, 9}, 0.6, 0, 0.8), of([]int64{1, 3, 4}, 0.6, 0, 0.8), []string{"best", "second", "a-stranger", "kin"}},
	} {
		s := search
		var err error
		if s.Ranking, err = s.Ranking.With(c.change); err != nil {
			t.Fatal(err)
		}
		before, after := memory.Moved(s, found, map[uuid.UUID]memory.Traits{found[0].ID: leader, found[1].ID: leader, found[2].ID: c.stranger, found[3].ID: c.kin})
		if diff := cmp.Diff([]string{"best", "second", "a-stranger", "kin"}, handles(before)); diff != "" {
			t.Fatalf("%s: without feedback (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.want, handles(after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
