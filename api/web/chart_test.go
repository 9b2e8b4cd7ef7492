package web

import (
	"testing"
	"time"

	"github.com/stele-dev/stele/memory"
)

func TestChart(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2030, 1, n, 0, 0, 0, 0, time.UTC) }
	score := func(n int) *int { return &n }
	run := func(repository string, at time.Time, s *int) memory.RunSummary {
		return memory.RunSummary{Repository: repository, CommittedAt: at, Score: s}
	}
	for name, c := range map[string]struct {
		runs  []memory.RunSummary // newest first
		low   int
		lines map[string]string
	}{
		"none":             {nil, 90, map[string]string{}},
		"nothing compared": {[]memory.RunSummary{run("a", day(1), nil)}, 90, map[string]string{}},
		"one moment":       {[]memory.RunSummary{run("a", day(1), score(100))}, 90, map[string]string{"a": "500.0,0.0"}},
		"two repositories": {[]memory.RunSummary{run("b", day(5), score(20)), run("a", day(3), score(60)), run("b", day(3), nil), run("a", day(1), score(100))}, 10,
			map[string]string{"a": "0.0,0.0 500.0,44.4", "b": "1000.0,88.9"}},
		"by commit, not by arrival": {[]memory.RunSummary{run("a", day(1), score(80)), run("a", day(3), score(75))}, 60, map[string]string{"a": "0.0,50.0 1000.0,62.5"}},
		"nothing agrees":            {[]memory.RunSummary{run("a", day(2), score(0)), run("a", day(1), score(5))}, 0, map[string]string{"a": "0.0,95.0 1000.0,100.0"}},
		"of one second":             {[]memory.RunSummary{run("a", day(1), score(90)), run("a", day(1), score(100))}, 80, map[string]string{"a": "500.0,0.0 500.0,50.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := chartOf(c.runs)
			if got.Low != c.low || len(got.Series) != len(c.lines) {
				t.Fatalf("from %d, %d lines", got.Low, len(got.Series))
			}
			for _, s := range got.Series {
				if s.Line != c.lines[s.Repository] {
					t.Errorf("%s: %s, not %s", s.Repository, s.Line, c.lines[s.Repository])
				}
			}
		})
	}
}
