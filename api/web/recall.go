package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type recallService interface {
	Recall(ctx context.Context, c memory.Caller, r memory.RecallRequest) (memory.RecallResponse, error)
	Ranking() memory.Ranking
}

// recallView is the playground: a question as an agent asks it, and the answer taken apart.
type recallView struct {
	Query, Element, Paths, AsOf string

	Kinds          map[memory.Kind]bool
	Limit, Tokens  string
	IncludeExpired bool
	Asked          bool
	Answer         memory.RecallResponse
	Results        []explained
	Wrong          *problem.Error
}

// explained is a result with its score taken apart.
type explained struct {
	memory.Result

	Factors []factor
}

// factor is one number of a score. Most is what it can be at most, so that bars compare.
type factor struct {
	Name  string
	Value float64
	Most  float64
	Means string
}

func (p *Pages) registerRecall(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/recall", p.project(p.recallPage))
}

func (p *Pages) recallPage(v *visit) error {
	q := v.r.URL.Query()
	view := recallView{Query: strings.TrimSpace(q.Get("q")), Element: strings.TrimSpace(q.Get("element")), Paths: q.Get("paths"), AsOf: strings.TrimSpace(q.Get("as_of")),
		Kinds: map[memory.Kind]bool{}, Limit: q.Get("limit"), Tokens: q.Get("tokens"), IncludeExpired: q.Get("expired") != "", Asked: v.r.URL.RawQuery != ""}
	for _, k := range q["kind"] {
		view.Kinds[memory.Kind(k)] = true
	}
	if !view.Asked {
		view.Limit, view.Tokens = strconv.Itoa(memory.DefaultLimit), strconv.Itoa(memory.DefaultMaxTokens)
		return v.show(http.StatusOK, "recall", "Recall", view)
	}
	r, err := view.request(q)
	if err == nil {
		view.Answer, err = p.Service.Recall(v.ctx(), v.caller, r)
	}
	code := http.StatusOK
	if pr, ok := problem.As(err); ok {
		view.Wrong, code = pr, status(pr.Code)
	} else if err != nil {
		return err
	}
	for _, res := range view.Answer.Results {
		view.Results = append(view.Results, explained{res, factors(res, p.Service.Ranking())})
	}
	return v.show(code, "recall", "Recall", view)
}

// request is the question.
func (view *recallView) request(q url.Values) (memory.RecallRequest, error) {
	r := memory.RecallRequest{Query: view.Query, Element: view.Element, Paths: list(view.Paths), IncludeExpired: view.IncludeExpired, Explain: true}
	for _, k := range q["kind"] {
		r.Kinds = append(r.Kinds, memory.Kind(k))
	}
	var err error
	if view.Limit != "" {
		if r.Limit, err = strconv.Atoi(view.Limit); err != nil {
			return r, problem.Invalidf("limit", "it is not a number").Fix("give one from 1 to %d", memory.MaxLimit)
		}
	}
	if view.Tokens != "" {
		n, err := strconv.Atoi(view.Tokens)
		if err != nil {
			return r, problem.Invalidf("max_tokens", "it is not a number").Fix("give one from 0 to %d", memory.MaxMaxTokens)
		}
		r.MaxTokens = &n
	}
	if view.AsOf != "" {
		at, err := momentOf(view.AsOf)
		if err != nil {
			return r, err
		}
		r.AsOf = &at
	}
	return r, nil
}

// momentOf reads what a field for a moment sends, or a person types into it, as UTC.
func momentOf(text string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, problem.Invalidf("as_of", "it is not a moment").Fix("write it as 2026-01-31T18:00, in UTC")
}

// factors are the numbers of a score in the order of its formula.
func factors(r memory.Result, by memory.Ranking) []factor {
	f := r.Factors
	if f == nil {
		return nil
	}
	mostKind := f.Kind
	for _, weight := range by.Kind {
		mostKind = max(mostKind, weight)
	}
	return []factor{
		{"semantic", f.Semantic, 1, "how near its meaning is to the question"},
		{"lexical", f.Lexical, 1, "how much of the question's words it has, rare ones counting more"},
		{"relevance", f.Relevance, 1, "the two above, weighed together"},
		{"kind", f.Kind, mostKind, "a " + strings.ReplaceAll(string(r.Kind), "_", " ") + " counts so much"},
		{"freshness", f.Freshness, 1, "time since somebody confirmed it"},
		{"citation", f.Citation, 1 + by.CitationGain, "sessions that relied on it"},
		{"ignored", f.Ignored, 1, "below 1 when sessions were served it again and again and did not use it"},
		{"doubt", f.Doubt, 1, "below 1 while it is in doubt or disputed"},
		{"trust", f.Trust, 1, "below 1 until somebody reviewed what an import or a hook brought"},
	}
}
