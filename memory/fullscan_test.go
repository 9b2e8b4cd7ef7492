package memory_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/terms"
)

// questions are texts to ask with: words of the vocabulary, of one memory, and both.
func (l *loaded) questions(n int) []string {
	out := make([]string, n)
	for i := range out {
		words := strings.Fields(l.sentence(1 + l.random.IntN(4)))
		from := strings.Fields(l.records[l.random.IntN(len(l.records))].Content)
		for range 1 + l.random.IntN(4) {
			words = append(words, from[l.random.IntN(len(from))])
		}
		out[i] = strings.Join(words, " ")
	}
	return out
}

func (l *loaded) search(limit int) memory.Search {
	return memory.Search{Spaces: l.spaces, Ranking: memory.DefaultRanking(), At: l.now, Limit: limit}
}

// The indexed search leaves out what it can prove to be no result. On 20,000 memories of mixed kinds and ages the ten best
// are those of a scan over all of them.
func TestRecallEqualsAFullScan(t *testing.T) {
	t.Parallel()
	l := load(t, 20_000, 7)
	corpus := memory.NewCorpus(l.records)
	tokens := 0
	empty := 0
	for i, q := range l.questions(100) {
		r := memory.RecallRequest{Query: q, Limit: 10, MaxTokens: &tokens}
		s := l.search(10)
		switch i % 5 {
		case 1:
			r.Kinds = []memory.Kind{memory.Note, memory.SessionOutcome}
			s.Narrow.Kinds = r.Kinds
		case 2:
			e := l.elements[1+l.random.IntN(len(l.elements)-1)]
			r.Element = e.Key
			s.Narrow.ByElement, s.Narrow.Elements = true, memory.Family(l.elements, e.ID)
		case 3:
			r.Tags, s.Narrow.Tags = []string{"tag1"}, []string{"tag1"}
			r.IncludeExpired, s.Expired = true, true
		case 4:
			r.Limit, s.Limit = 1, 1 // most candidates are left where they are
		}
		found, err := l.Recall(context.Background(), l.c, r)
		l.must(err)
		want := handles(corpus.Scan(s, terms.Of(q)))
		if diff := cmp.Diff(want, entries(found)); diff != "" {
			t.Fatalf("question %d %q, narrowed %+v (-scan +recall):\n%s", i, q, s.Narrow, diff)
		}
		if len(want) == 0 {
			empty++
		}
	}
	if empty > 30 {
		t.Errorf("%d of 100 questions found nothing: the test compares too little", empty)
	}
	for _, kinds := range [][]memory.Kind{nil, {memory.Convention}} {
		found, err := l.Recall(context.Background(), l.c, memory.RecallRequest{Kinds: kinds, Limit: 100, MaxTokens: &tokens})
		l.must(err)
		s := l.search(100)
		s.Narrow.Kinds = kinds
		if diff := cmp.Diff(handles(corpus.Scan(s, nil)), entries(found)); diff != "" {
			t.Fatalf("without a query, kinds %v (-scan +recall):\n%s", kinds, diff)
		}
	}
}

func handles(found []memory.Scanned) []string {
	out := []string{}
	for _, f := range found {
		out = append(out, f.Handle)
	}
	return out
}

func entries(r memory.RecallResponse) []string {
	out := []string{}
	for _, m := range r.Results {
		out = append(out, m.Handle)
	}
	for _, e := range r.Index {
		out = append(out, e.Handle)
	}
	return out
}
