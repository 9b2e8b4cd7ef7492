package retrieval_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/retrieval"
)

func day(t *testing.T, s string) retrieval.Date {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return retrieval.Date{Time: d}
}

// small gives a set without a fault, for tests to break.
func small(t *testing.T) *retrieval.Set {
	t.Helper()
	made := day(t, "2026-01-10")
	return &retrieval.Set{
		Projects: []retrieval.Project{{ID: "shop", Name: "Shop", About: "a shop", AsOf: day(t, "2026-03-01")}},
		Elements: []retrieval.Element{
			{Project: "shop", Key: "shop", Kind: "system", Name: "Shop"},
			{Project: "shop", Key: "shop.api", Kind: "container", Name: "Gateway", Paths: []string{"api/**"}},
			{Project: "shop", Key: "shop.web", Kind: "container", Name: "Pages"},
		},
		Memories: []retrieval.Memory{
			{ID: "shop-1", Project: "shop", Kind: "note", Title: "Throttling", Content: "Orders are throttled to ten a second.", Elements: []string{"shop.api"}, Paths: []string{"api/limit.go"}, Tags: []string{"limits"}, Created: made, Confirmed: made, Source: "api/limit.go:7"},
			{ID: "shop-2", Project: "shop", Kind: "pitfall", Content: "The limit counts retries too, see [[throttling]].", Elements: []string{"shop.web"}, Created: made, Confirmed: made},
			{ID: "shop-3", Project: "shop", Kind: "note", Language: "ja", Content: "注文は毎秒十件まで。", Created: made, Confirmed: made},
		},
		Queries: []retrieval.Query{
			{ID: "shop-q1", Project: "shop", Kind: retrieval.Paraphrase, Text: "why do purchases slow down", Answers: []string{"shop-1"}},
			{ID: "shop-q2", Project: "shop", Kind: retrieval.Path, Text: "limit", Paths: []string{"api/limit.go"}, Answers: []string{"shop-1"}},
			{ID: "shop-q3", Project: "shop", Kind: retrieval.MultiHop, Text: "throttling and retries", Answers: []string{"shop-1", "shop-2"}},
			{ID: "shop-q4", Project: "shop", Kind: retrieval.CJK, Language: "ja", Text: "注文の上限", Answers: []string{"shop-3"}},
			{ID: "shop-q5", Project: "shop", Kind: retrieval.NoAnswer, Text: "gift cards"},
			{ID: "shop-q6", Project: "shop", Kind: retrieval.Rival, Text: "orders a second", Answers: []string{"shop-1"}, Tempting: []string{"shop-2"}},
			{ID: "shop-q7", Project: "shop", Text: "orders", Answers: []string{"shop-1"}},
		},
	}
}

func TestSmallSetHasNoFault(t *testing.T) {
	t.Parallel()
	for _, err := range small(t).Check() {
		t.Error(err)
	}
}

func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		spoil      func(*retrieval.Set)
	}{
		{"project twice", "shop: the id is taken", func(s *retrieval.Set) { s.Projects = append(s.Projects, s.Projects[0]) }},
		{"project without a day", "shop: as_of is missing", func(s *retrieval.Set) { s.Projects[0].AsOf = retrieval.Date{} }},
		{"element twice", "shop.api: the key is taken", func(s *retrieval.Set) { s.Elements = append(s.Elements, s.Elements[1]) }},
		{"element of another project", `shop.api: no project "inn"`, func(s *retrieval.Set) { s.Elements[1].Project = "inn" }},
		{"element without parent", "its parent shop.db is not before it", func(s *retrieval.Set) { s.Elements[2].Key = "shop.db.table" }},
		{"kind of element", `"layer" is no kind of element`, func(s *retrieval.Set) { s.Elements[1].Kind = "layer" }},
		{"absolute path", `"/api" is no path relative`, func(s *retrieval.Set) { s.Elements[1].Paths = []string{"/api"} }},
		{"path out of the repository", `"../api" is no path relative`, func(s *retrieval.Set) { s.Memories[1].Paths = []string{"../api"} }},
		{"path with a detour", `"a//b" is no path relative`, func(s *retrieval.Set) { s.Queries[0].Paths = []string{"a//b"} }},
		{"broken glob", `"a[" is no path relative`, func(s *retrieval.Set) { s.Memories[1].Paths = []string{"a["} }},
		{"memory twice", "shop-1: the id is taken", func(s *retrieval.Set) { s.Memories[1].ID = "shop-1" }},
		{"foreign id", "inn-1: an id is its project", func(s *retrieval.Set) { s.Memories[1].ID = "inn-1" }},
		{"kind of memory", `"fact" is no kind of memory`, func(s *retrieval.Set) { s.Memories[0].Kind = "fact" }},
		{"no content", "shop-3: the content is missing", func(s *retrieval.Set) { s.Memories[2].Content = " " }},
		{"unknown element", "shop-1: no element shop.db", func(s *retrieval.Set) { s.Memories[0].Elements = []string{"shop.db"} }},
		{"element of the neighbour", "shop-1: no element inn", func(s *retrieval.Set) {
			s.Projects = append(s.Projects, retrieval.Project{ID: "inn", AsOf: s.Projects[0].AsOf})
			s.Elements = append(s.Elements, retrieval.Element{Project: "inn", Key: "inn", Kind: "system", Name: "Inn"})
			s.Memories[0].Elements = append(s.Memories[0].Elements, "inn")
		}},
		{"answer of the neighbour", "shop-q7: no memory inn-1", func(s *retrieval.Set) {
			s.Projects = append(s.Projects, retrieval.Project{ID: "inn", AsOf: s.Projects[0].AsOf})
			m := s.Memories[1]
			m.ID, m.Project, m.Content, m.Elements = "inn-1", "inn", "Rooms are cleaned at noon.", nil
			s.Memories = append(s.Memories, m)
			s.Queries[6].Answers = append(s.Queries[6].Answers, "inn-1")
		}},
		{"same content", "shop-2: shop-1 has the same content", func(s *retrieval.Set) { s.Memories[1].Content = "orders are throttled to ten a second" }},
		{"same title", "shop-2: shop-1 has the same title", func(s *retrieval.Set) { s.Memories[1].Title = "throttling" }},
		{"source elsewhere", `source "web/x.go:3" is not one of its paths`, func(s *retrieval.Set) { s.Memories[0].Source = "web/x.go:3" }},
		{"source without a line", `source "api/limit.go" is not one of its paths`, func(s *retrieval.Set) { s.Memories[0].Source = "api/limit.go" }},
		{"too old", "within the 400 days", func(s *retrieval.Set) { s.Memories[0].Created = day(t, "2025-01-24") }},
		{"from tomorrow", "within the 400 days", func(s *retrieval.Set) { s.Memories[0].Confirmed = day(t, "2026-03-02") }},
		{"confirmed too early", "confirmed before it was created", func(s *retrieval.Set) { s.Memories[0].Confirmed = day(t, "2026-01-09") }},
		{"language not flagged", "shop-3: the text looks chinese", func(s *retrieval.Set) { s.Memories[2].Language, s.Memories[2].Content = "", "注文" }},
		{"wrong language", `looks japanese, which is not the language "ko"`, func(s *retrieval.Set) { s.Memories[2].Language = "ko" }},
		{"query twice", "shop-q1: the id is taken", func(s *retrieval.Set) { s.Queries[1].ID = "shop-q1" }},
		{"query named as a memory", "shop-1: the id is taken", func(s *retrieval.Set) { s.Queries[1].ID = "shop-1" }},
		{"same question", "shop-q7: shop-q5 asks the same", func(s *retrieval.Set) { s.Queries[6].Text = "Gift  cards" }},
		{"kind of query", `"hard" is no kind of query`, func(s *retrieval.Set) { s.Queries[0].Kind = "hard" }},
		{"no text", "shop-q1: the text is missing", func(s *retrieval.Set) { s.Queries[0].Text = "" }},
		{"unknown answer", "shop-q1: no memory shop-9", func(s *retrieval.Set) { s.Queries[0].Answers = []string{"shop-9"} }},
		{"answer twice", "shop-q6: shop-1 is listed twice", func(s *retrieval.Set) { s.Queries[5].Tempting = []string{"shop-1"} }},
		{"no answer", "shop-q1: 0 answers for a query of kind paraphrase", func(s *retrieval.Set) { s.Queries[0].Answers = nil }},
		{"an answer after all", "shop-q5: 1 answers for a query of kind no_answer", func(s *retrieval.Set) { s.Queries[4].Answers = []string{"shop-1"} }},
		{"nothing tempting", "shop-q6: 0 tempting memories", func(s *retrieval.Set) { s.Queries[5].Tempting = nil }},
		{"undisputed doubt", "shop-q6: nobody disputes shop-2", func(s *retrieval.Set) { s.Queries[5].Kind = retrieval.Doubt }},
		{"tempting note", "shop-3 tempts and is a note", func(s *retrieval.Set) { s.Queries[5].Tempting = []string{"shop-3"} }},
		{"common term", "a paraphrase has terms of shop-1: second", func(s *retrieval.Set) { s.Queries[0].Text = "purchases per second" }},
		{"common stem", "a paraphrase has terms of shop-1: throttl", func(s *retrieval.Set) { s.Queries[0].Text = "purchases throttle" }},
		{"name of an element", "a paraphrase has terms of shop-1: gateway", func(s *retrieval.Set) { s.Queries[0].Text = "slow gateways" }},
		{"no path", "a query of kind path names none", func(s *retrieval.Set) { s.Queries[1].Paths = nil }},
		{"one hop", "a query of several hops has 1 answers", func(s *retrieval.Set) { s.Queries[2].Answers = []string{"shop-1"} }},
		{"hop without a bridge", "neither a link nor an element connects shop-1 and shop-2", func(s *retrieval.Set) { s.Memories[1].Content = "The limit counts retries." }},
		{"not CJK", "no Han, Kana or Hangul", func(s *retrieval.Set) { s.Queries[3].Text, s.Queries[3].Language = "chumon", "" }},
		{"not Italian", `the language is ""`, func(s *retrieval.Set) { s.Queries[0].Kind = retrieval.Italian }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := small(t)
			c.spoil(set)
			var got []string
			for _, err := range set.Check() {
				got = append(got, err.Error())
			}
			if all := strings.Join(got, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("faults are\n%s\nwant one with %q", all, c.want)
			}
		})
	}
}

func TestCommonElementIsABridge(t *testing.T) {
	t.Parallel()
	set := small(t)
	set.Memories[1].Content, set.Memories[1].Elements = "The limit counts retries.", []string{"shop.web", "shop.api"}
	for _, err := range set.Check() {
		t.Error(err)
	}
}
