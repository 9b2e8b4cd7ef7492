package retrieval

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Run is a query and what recall gave for it: ids of memories, best first. Ten are enough for every score.
type Run struct {
	Query *Query
	Got   []string
}

// Scores are means over queries that have an answer, each between 0 and 1.
type Scores struct {
	Queries    int     `json:"queries"`
	RecallAt1  float64 `json:"recall_at_1"` // share of the answers among the first result
	RecallAt5  float64 `json:"recall_at_5"`
	RecallAt10 float64 `json:"recall_at_10"`
	HitAt5     float64 `json:"hit_at_5"` // whether the first five results have any answer
	MRR        float64 `json:"mrr"`      // 1 ÷ rank of the first answer, 0 when there is none among what came
}

// KindScores are the scores of one kind of query.
type KindScores struct {
	Kind Kind `json:"kind"`
	Scores
}

// Report is what a run over a set came to.
type Report struct {
	All   Scores       `json:"all"`   // of all queries with an answer, rivals among them
	Kinds []KindScores `json:"kinds"` // of each kind that has such queries, in the order of Kinds, others after them by name

	Unanswerable int      `json:"unanswerable"`   // queries that nothing answers
	Silent       int      `json:"silent"`         // those of them that rightly got no result
	NoAnswerRate float64  `json:"no_answer_rate"` // Silent ÷ Unanswerable, 0 without such queries
	Outranked    []string `json:"outranked"`      // ids of queries in which a tempting memory came before every answer
}

// Score judges runs. A memory that comes back twice counts where it came first.
func Score(runs []Run) *Report {
	r := &Report{Outranked: []string{}}
	sums := map[Kind]*Scores{}
	for _, run := range runs {
		if len(run.Query.Answers) == 0 {
			r.Unanswerable++
			if len(run.Got) == 0 {
				r.Silent++
			}
			continue
		}
		one := judge(run)
		r.All.add(one)
		if sums[run.Query.Kind] == nil {
			sums[run.Query.Kind] = &Scores{}
		}
		sums[run.Query.Kind].add(one)
		if outranked(run) {
			r.Outranked = append(r.Outranked, run.Query.ID)
		}
	}
	r.All.divide()
	for kind, s := range sums {
		s.divide()
		r.Kinds = append(r.Kinds, KindScores{kind, *s})
	}
	slices.SortFunc(r.Kinds, func(a, b KindScores) int {
		if x, y := position(a.Kind), position(b.Kind); x != y {
			return x - y
		}
		return strings.Compare(string(a.Kind), string(b.Kind))
	})
	if r.Unanswerable > 0 {
		r.NoAnswerRate = float64(r.Silent) / float64(r.Unanswerable)
	}
	return r
}

func position(kind Kind) int {
	if i := slices.Index(Kinds, kind); i >= 0 {
		return i
	}
	return len(Kinds)
}

// judge scores one run.
func judge(run Run) Scores {
	s := Scores{Queries: 1}
	each := 1 / float64(len(run.Query.Answers))
	rank := 0
	seen := map[string]bool{}
	for _, id := range run.Got {
		if seen[id] {
			continue
		}
		seen[id] = true
		rank++
		if !slices.Contains(run.Query.Answers, id) {
			continue
		}
		if s.MRR == 0 {
			s.MRR = 1 / float64(rank)
		}
		if rank <= 1 {
			s.RecallAt1 += each
		}
		if rank <= 5 {
			s.RecallAt5 += each
			s.HitAt5 = 1
		}
		if rank <= 10 {
			s.RecallAt10 += each
		}
	}
	return s
}

// outranked tells whether a tempting memory came before every answer, or came where no answer did.
func outranked(run Run) bool {
	for _, id := range run.Got {
		switch {
		case slices.Contains(run.Query.Answers, id):
			return false
		case slices.Contains(run.Query.Tempting, id):
			return true
		}
	}
	return false
}

func (s *Scores) add(o Scores) {
	s.Queries += o.Queries
	s.RecallAt1 += o.RecallAt1
	s.RecallAt5 += o.RecallAt5
	s.RecallAt10 += o.RecallAt10
	s.HitAt5 += o.HitAt5
	s.MRR += o.MRR
}

func (s *Scores) divide() {
	n := float64(max(1, s.Queries))
	s.RecallAt1 /= n
	s.RecallAt5 /= n
	s.RecallAt10 /= n
	s.HitAt5 /= n
	s.MRR /= n
}

// WriteText writes the report as a table of three decimals, the same bytes for the same scores, so that a file of it shows
// in a diff which kind of query a change has helped or hurt.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %7s %6s %6s %6s %6s %6s\n", "kind", "queries", "R@1", "R@5", "R@10", "hit@5", "MRR")
	row := func(name string, s Scores) {
		fmt.Fprintf(&b, "%-12s %7d %6.3f %6.3f %6.3f %6.3f %6.3f\n", name, s.Queries, s.RecallAt1, s.RecallAt5, s.RecallAt10, s.HitAt5, s.MRR)
	}
	for _, k := range r.Kinds {
		name := string(k.Kind)
		if name == "" {
			name = "plain"
		}
		row(name, k.Scores)
	}
	row("all", r.All)
	fmt.Fprintf(&b, "\nno answer: %d of %d queries without an answer got none (%.3f)\n", r.Silent, r.Unanswerable, r.NoAnswerRate)
	outranked := "none"
	if len(r.Outranked) > 0 {
		outranked = strings.Join(slices.Sorted(slices.Values(r.Outranked)), " ")
	}
	fmt.Fprintf(&b, "outranked by something tempting: %s\n", outranked)
	_, err := io.WriteString(w, b.String())
	return err
}
