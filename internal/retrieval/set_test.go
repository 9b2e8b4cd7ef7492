package retrieval_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/retrieval"
)

// developer loads the set of this repository, which checks it as well.
func developer(t *testing.T) *retrieval.Set {
	t.Helper()
	set, err := retrieval.Load(os.DirFS("../.."), "testdata/retrieval")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// atLeast is a floor under each count. The set is what recall is judged by, so it may grow but not shrink.
func atLeast[K comparable](t *testing.T, what string, got, want map[K]int) {
	t.Helper()
	for k, n := range want {
		if got[k] < n {
			t.Errorf("%d %s %v, want at least %d", got[k], what, k, n)
		}
	}
}

func TestSetHasEnoughOfEverything(t *testing.T) {
	t.Parallel()
	set := developer(t)
	queries, answered := map[retrieval.Kind]int{}, 0
	languages := map[string]int{}
	for _, q := range set.Queries {
		queries[q.Kind]++
		languages[q.Language]++
		if len(q.Answers) > 0 {
			answered++
		}
	}
	atLeast(t, "queries of kind", queries, map[retrieval.Kind]int{
		retrieval.Paraphrase: 60, retrieval.Identifier: 30, retrieval.Path: 20, retrieval.MultiHop: 20, retrieval.Negation: 15,
		retrieval.CJK: 10, retrieval.Italian: 10, retrieval.NoAnswer: 40, retrieval.Rival: 20, retrieval.Doubt: 15,
	})
	atLeast(t, "queries in", languages, map[string]int{"zh": 3, "ja": 3, "ko": 3, "it": 10})
	if answered < 200 {
		t.Errorf("%d queries with an answer, want at least 200", answered)
	}

	kinds, spoken, projects := map[string]int{}, map[string]int{}, map[string]int{}
	for _, m := range set.Memories {
		kinds[m.Kind]++
		spoken[m.Language]++
		projects[m.Project]++
	}
	if len(set.Memories) < 300 {
		t.Errorf("%d memories, want at least 300", len(set.Memories))
	}
	atLeast(t, "memories of kind", kinds, map[string]int{"pitfall": 60, "convention": 20, "note": 60, "session_outcome": 10})
	atLeast(t, "memories in", spoken, map[string]int{"zh": 4, "ja": 4, "ko": 4, "it": 8})
	atLeast(t, "memories about", projects, map[string]int{"express": 50, "pgx": 50, "ripgrep": 50, "nats": 50, "mcp": 50})
	if cjk := spoken["zh"] + spoken["ja"] + spoken["ko"]; cjk < 12 {
		t.Errorf("%d memories in Chinese, Japanese and Korean, want at least 12", cjk)
	}
}

// Freshness is part of every score, so a set in which everything is of one age would not notice when it goes wrong.
func TestAgesAreSpread(t *testing.T) {
	t.Parallel()
	set := developer(t)
	day := map[string]time.Time{}
	for _, p := range set.Projects {
		day[p.ID] = p.AsOf.Time
	}
	created, confirmed, later := [4]int{}, [4]int{}, 0 // by quarters of the 400 days
	for _, m := range set.Memories {
		quarter := func(d retrieval.Date) int { return min(3, int(day[m.Project].Sub(d.Time)/(100*24*time.Hour))) }
		created[quarter(m.Created)]++
		confirmed[quarter(m.Confirmed)]++
		if m.Confirmed.After(m.Created.Time) {
			later++
		}
	}
	for i := range 4 {
		if created[i] < 50 || confirmed[i] < 25 {
			t.Errorf("%d memories created and %d confirmed %d to %d days before, want at least 50 and 25", created[i], confirmed[i], i*100, i*100+100)
		}
	}
	if later < 50 {
		t.Errorf("%d memories confirmed after the day they were made, want at least 50", later)
	}
}

func TestEveryFactNamesItsSource(t *testing.T) {
	t.Parallel()
	set := developer(t)
	commit := regexp.MustCompile(`^[0-9a-f]{40}$`)
	for _, p := range set.Projects {
		if !commit.MatchString(p.Commit) || p.License == "" || p.Repository == "" {
			t.Errorf("%s has repository %q, commit %q and license %q", p.ID, p.Repository, p.Commit, p.License)
		}
	}
	for _, m := range set.Memories {
		if m.Source == "" && !m.Disputed { // there is no place where what does not hold can be seen
			t.Errorf("%s does not say where its fact can be seen", m.ID)
		}
		if len(m.Elements) == 0 {
			t.Errorf("%s hangs on no element", m.ID)
		}
	}
}
