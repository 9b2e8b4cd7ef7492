package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// jaccard is the share that two sets of distinct terms have in common.
func jaccard(a, b []string) float64 {
	common := 0
	for _, t := range a {
		if slices.Contains(b, t) {
			common++
		}
	}
	if len(a)+len(b) == 0 {
		return 0
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

// A text repeats a better one exactly when the definition, applied to the two texts alone, says so.
func TestTwinIsTheDefinition(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom(strings.Fields("cache token retry queue lock 3 4 not header order"))
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 9).Draw(t, "words"), " ") })
	folded := 0
	rapid.Check(t, func(t *rapid.T) {
		var all said
		var kept sayings
		var better []*Memory
		for range rapid.IntRange(1, 6).Draw(t, "texts") {
			m := &Memory{Content: text.Draw(t, "text"), ID: uuid.UUID{byte(len(better) + 1)}, Revision: rapid.IntRange(1, 2).Draw(t, "revision")}
			if rapid.IntRange(0, 9).Draw(t, "readable") == 0 {
				r := Record{Memory: *m}
				r.MarkUnreadable()
				*m = r.Memory
			}
			want := slices.IndexFunc(better, func(b *Memory) bool {
				x, y := IndexOf(&Memory{Content: m.Content}), IndexOf(&Memory{Content: b.Content})
				same, _ := sameFacts(b, m)
				return !isUnreadable(m.Flags) && !isUnreadable(b.Flags) && (x.Normal == y.Normal || jaccard(x.Terms, y.Terms) >= foldOverlap) && same
			})
			says := kept.of(m)
			if got := all.twin(says); got != want {
				t.Fatalf("%q repeats number %d, not %d", m.Content, want, got)
			}
			if want >= 0 {
				folded++
			}
			all, better = append(all, says), append(better, m)
		}
	})
	if folded == 0 {
		t.Error("no text repeated another: the test shows nothing")
	}
}

// Four times the results cost about four times the work: each text is read once, however many there are.
func TestTwinReadsEachTextOnce(t *testing.T) { //nolint:paralleltest // it counts what is allocated meanwhile
	work := func(n int) float64 {
		texts := make([]*Memory, n)
		for i := range texts {
			texts[i] = &Memory{Content: fmt.Sprintf("order %d waits in queue %d until worker %d answers the retry of header %d", i, i, i, i)}
		}
		return testing.AllocsPerRun(1, func() {
			var all said
			var kept sayings
			for _, m := range texts {
				says := kept.of(m)
				all.twin(says)
				all = append(all, says)
			}
		})
	}
	if few, many := work(10), work(40); many > 5*few {
		t.Errorf("%v allocations for 10 results, %v for 40", few, many)
	}
}

// What many say is read beforehand, and found then.
func TestSayingsAreReadBeforehand(t *testing.T) {
	t.Parallel()
	var s sayings
	all := make([]Record, 50)
	for i := range all {
		all[i].Memory = Memory{ID: uuid.UUID{byte(i + 1)}, Revision: 1, Content: fmt.Sprintf("order %d waits in a queue", i)}
	}
	s.read(all)()
	if len(s.kept) != len(all) {
		t.Errorf("%d of %d are kept", len(s.kept), len(all))
	}
	for i := range all {
		if got, want := s.of(&all[i].Memory).hashedText, hashed(all[i].Content); !slices.Equal(got.terms, want.terms) || got.normal != want.normal {
			t.Errorf("%q is read as %v, want %v", all[i].Content, got, want)
		}
	}
}

// A revision that was shown is not split again, another one is; what is kept has its bound.
func TestSayingsAreKept(t *testing.T) {
	t.Parallel()
	var s sayings
	m := &Memory{ID: uuid.UUID{1}, Revision: 1, Content: "orders wait in a queue"}
	first := s.of(m)
	if again := s.of(m); again.hashedText != first.hashedText {
		t.Error("it was split again")
	}
	m = &Memory{ID: uuid.UUID{1}, Revision: 2, Content: "orders wait nowhere"}
	if other := s.of(m); other.normal == first.normal {
		t.Error("another revision says what the first said")
	}
	for i := range 2*keptSayings + 1 {
		s.of(&Memory{ID: uuid.UUID{2, byte(i), byte(i >> 8), byte(i >> 16)}, Revision: 1, Content: "x"})
	}
	if len(s.kept) > keptSayings {
		t.Errorf("%d texts are kept", len(s.kept))
	}
}
