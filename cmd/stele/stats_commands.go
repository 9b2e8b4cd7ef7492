package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/memory"
)

func (a *app) statsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Count what recall goes over, and what waits for a vector", Args: cobra.NoArgs,
		Long: "Count the memories that a recall here goes over: those of the project, of the\n" +
			"organization and your own. Of their vectors it says how many there are of each\n" +
			"model, how many memories wait for one, and how they are compared.",
		Example: "  stele stats\n  stele stats --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(b *backend, c memory.Caller) error {
				s, err := b.Stats(cmd.Context(), c)
				if err != nil {
					return err
				}
				return a.answer(s, func(p *printer) { p.stats(s) })
			})
		},
	}
}

// comparisons says in words how vectors are compared.
var comparisons = map[memory.Comparison]string{
	memory.ComparedNone:      "no vector yet, so recall goes by words",
	memory.ComparedAll:       "every vector is compared, so nothing is missed",
	memory.ComparedIndex:     "an index finds the nearest, which may miss a few",
	memory.ComparedUnindexed: "every vector is compared; an index would be faster: a server builds it, or stele db index",
}

func (p *printer) stats(s memory.Stats) {
	row := func(name, value string) { p.hanging(pad(name, 13), strings.Repeat(" ", 13), memory.Line(value)) }
	row("memories", fmt.Sprintf("%d live, %d superseded, %d retired, %d erased, %d candidates", s.Memories.Live, s.Memories.Superseded,
		s.Memories.Retired, s.Memories.Erased, s.Memories.Candidates))
	kinds := make([]string, 0, len(memory.Kinds))
	for _, k := range memory.Kinds {
		kinds = append(kinds, fmt.Sprintf("%s %d", k, s.Kinds[k]))
	}
	row("live", strings.Join(kinds, ", "))
	e := s.Embedding
	if e.Model == "" {
		row("vectors", "no encoder is configured, so recall goes by words")
	} else {
		row("vectors", fmt.Sprintf("%d of %s, %d waiting, %d refused by the model", e.Vectors, e.Model, e.Waiting, e.Refused))
		row("compared", comparisons[e.Compared])
	}
	for _, m := range s.Models {
		if m.Model != e.Model {
			row("", fmt.Sprintf("%d of %s, which is not used", m.Vectors, m.Model))
		}
	}
	row("size", fmt.Sprintf("texts %s, vectors %s, %s of words", doctor.Size(s.TextBytes), doctor.Size(s.VectorBytes), count(int(s.Postings), "posting")))
}
