package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stele-dev/stele/internal/git/gittest"
)

// hubToken is the token of a job.
const hubToken = "ghs_notatoken"

// hub is the part of GitHub's API that the action uses, for acme/shop.
type hub struct {
	url string

	mu       sync.Mutex
	comments []hubComment
	next     int
	checks   []map[string]any
	login    string         // who the token belongs to; "" is a token that may not ask
	fail     map[string]int // "METHOD path prefix" → status
	asked    []string
}

type hubComment struct {
	ID   int               `json:"id"`
	Body string            `json:"body"`
	User map[string]string `json:"user"`
}

const bot = "github-actions[bot]"

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{next: 1, fail: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

func (h *hub) say(author, body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	h.comments = append(h.comments, hubComment{h.next, body, map[string]string{"login": author}})
}

// by lists the comments of an author.
func (h *hub) by(author string) (out []hubComment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.comments {
		if c.User["login"] == author {
			out = append(out, c)
		}
	}
	return out
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.Method+" "+r.URL.Path)
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // the client finds out
	}
	message := func(status int) { answer(status, map[string]string{"message": http.StatusText(status)}) }
	if r.Header.Get("Authorization") != "Bearer "+hubToken {
		message(http.StatusUnauthorized)
		return
	}
	for prefix, status := range h.fail {
		if strings.HasPrefix(r.Method+" "+r.URL.Path, prefix) {
			if status == http.StatusTooManyRequests { // as GitHub says it
				w.Header().Set("X-Ratelimit-Limit", "1000")
				w.Header().Set("X-Ratelimit-Remaining", "0")
				w.Header().Set("X-Ratelimit-Reset", "4102444800")
				status = http.StatusForbidden
			}
			message(status)
			return
		}
	}
	var body struct {
		Body string `json:"body"`
	}
	const one = "/repos/acme/shop/issues/comments/"
	id, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, one))
	at := slices.IndexFunc(h.comments, func(c hubComment) bool { return c.ID == id })
	switch route := r.Method + " " + r.URL.Path; {
	case route == "GET /user" && h.login != "":
		answer(http.StatusOK, map[string]string{"login": h.login})
	case route == "GET /user":
		message(http.StatusForbidden)
	case route == "POST /repos/acme/shop/check-runs":
		var check map[string]any
		_ = json.NewDecoder(r.Body).Decode(&check)
		h.checks = append(h.checks, check)
		answer(http.StatusCreated, map[string]int{"id": 1})
	case route == "GET /repos/acme/shop/issues/7/comments":
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		from := min(max(page-1, 0)*size, len(h.comments))
		to := min(from+size, len(h.comments))
		if to < len(h.comments) {
			w.Header().Set("Link", fmt.Sprintf(`<%s%s?page=%d&per_page=%d>; rel="next"`, h.url, r.URL.Path, max(page, 1)+1, size))
		}
		answer(http.StatusOK, h.comments[from:to])
	case route == "POST /repos/acme/shop/issues/7/comments":
		_ = json.NewDecoder(r.Body).Decode(&body)
		h.next++
		author := h.login
		if author == "" {
			author = bot
		}
		h.comments = append(h.comments, hubComment{h.next, body.Body, map[string]string{"login": author}})
		answer(http.StatusCreated, h.comments[len(h.comments)-1])
	case r.Method == http.MethodPatch && at >= 0:
		_ = json.NewDecoder(r.Body).Decode(&body)
		h.comments[at].Body = body.Body
		answer(http.StatusOK, h.comments[at])
	case r.Method == http.MethodDelete && at >= 0:
		h.comments = slices.Delete(h.comments, at, at+1)
		w.WriteHeader(http.StatusNoContent)
	default:
		message(http.StatusNotFound)
	}
}

// proposed is a pull request that brings code the model does not know, checked out at its head.
func proposed(t *testing.T) (repo *gittest.Repo, base, head string) {
	t.Helper()
	repo = shop(t)
	base = repo.Head()
	tea(repo.Branch("topic"))
	return repo, base, repo.Head()
}

// One comment is kept: made, changed, and deleted when there is nothing left to say. It is found behind 150 others, and nobody
// else's is touched.
func TestActionKeepsOneComment(t *testing.T) {
	t.Parallel()
	repo, base, head := proposed(t)
	r := newRunner(t, repo)
	for i := range 150 {
		r.hub.say("kim", fmt.Sprintf("Remark %d", i))
	}
	forged := "<!-- stele-drift -->\nAll is well."
	r.hub.say("mallory", forged)
	r.pull("acme/shop", base, head).run().want(t, exitDone, map[string]string{"new-findings": "1"})
	made := r.hub.by(bot)
	if len(made) != 1 || !strings.HasPrefix(made[0].Body, "<!-- stele-drift -->\n### Drift score") || !strings.Contains(made[0].Body, "1 new finding") {
		t.Fatalf("the comment: %+v", made)
	}
	// Once more changes nothing; more findings change it.
	r.run()
	if again := r.hub.by(bot); len(again) != 1 || again[0].ID != made[0].ID || again[0].Body != made[0].Body {
		t.Errorf("after a second run: %+v", again)
	}
	repo.Rename("services/stock", "services/store").Commit("Move the stock")
	r.env["GITHUB_SHA"] = repo.Head()
	r.pull("acme/shop", base, repo.Head()).run()
	if changed := r.hub.by(bot); len(changed) != 1 || changed[0].ID != made[0].ID || changed[0].Body == made[0].Body {
		t.Errorf("after more findings: %+v", changed)
	}
	// A twin that two runs at once left behind goes too.
	r.hub.say(bot, made[0].Body)
	repo.Checkout("main")
	r.env["GITHUB_SHA"] = base
	repo.Branch("clean").Write("README.md", "Shop.\n").Commit("Describe")
	r.pull("acme/shop", base, repo.Head()).run().want(t, exitDone, map[string]string{"new-findings": "0"})
	if left := r.hub.by(bot); len(left) != 0 {
		t.Errorf("after it was settled: %+v", left)
	}
	if others := r.hub.by("mallory"); len(others) != 1 || others[0].Body != forged || len(r.hub.by("kim")) != 150 {
		t.Errorf("somebody else's comment was touched: %+v", others)
	}
}

// Whoever the token belongs to is the author that counts.
func TestActionKnowsItsAuthor(t *testing.T) {
	t.Parallel()
	repo, base, head := proposed(t)
	r := newRunner(t, repo).pull("acme/shop", base, head)
	r.hub.login = "release-robot"
	r.hub.say(bot, "<!-- stele-drift -->\nof another workflow")
	r.run()
	r.run()
	if own := r.hub.by("release-robot"); len(own) != 1 {
		t.Errorf("own comments: %+v", own)
	}
}

// What GitHub refuses is a warning, and what the job found is told all the same.
func TestActionOutlivesGitHub(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		at     string
		status int
		log    string
	}{
		{"GET /repos/acme/shop/issues", http.StatusForbidden, "give the job the permission pull-requests: write"},
		{"GET /repos/acme/shop/issues", http.StatusNotFound, "GitHub answered 404"},
		{"GET /repos/acme/shop/issues", http.StatusBadGateway, "GitHub answered 502"},
		{"GET /repos/acme/shop/issues", http.StatusTooManyRequests, "rate limit is used up until"},
		{"POST /repos/acme/shop/issues", http.StatusForbidden, "writing the comment: GitHub answered 403"},
		{"POST /repos/acme/shop/check-runs", http.StatusInternalServerError, "::warning title=Stele%3A check run::GitHub answered 500"},
	} {
		repo, base, head := proposed(t)
		r := newRunner(t, repo).pull("acme/shop", base, head)
		r.hub.fail[tc.at] = tc.status
		j := r.run()
		j.want(t, exitDone, map[string]string{"new-findings": "1"}, "1 new finding")
		if !strings.Contains(j.log, tc.log) || !strings.Contains(j.log, "::warning") {
			t.Errorf("%s answers %d: the log lacks %q:\n%s", tc.at, tc.status, tc.log, j.log)
		}
	}
	// A check run is made by whoever was given the permission; without it nobody is told.
	repo, base, head := proposed(t)
	r := newRunner(t, repo).pull("acme/shop", base, head)
	r.hub.fail["POST /repos/acme/shop/check-runs"] = http.StatusForbidden
	if j := r.run(); strings.Contains(j.log, "check run") {
		t.Errorf("the log speaks of a check run:\n%s", j.log)
	}
	r = newRunner(t, repo).pull("acme/shop", base, head).with("fail-on-new", "true").with("comment", "false")
	r.run()
	if len(r.hub.checks) != 1 || r.hub.checks[0]["conclusion"] != "failure" || r.hub.checks[0]["head_sha"] != head || len(r.hub.by(bot)) != 0 {
		t.Errorf("checks %v, comments %v", r.hub.checks, r.hub.by(bot))
	}
	// GitHub away altogether.
	r = newRunner(t, repo).pull("acme/shop", base, head)
	r.env["GITHUB_API_URL"] = "http://127.0.0.1:1"
	if j := r.run(); j.code != exitDone || !strings.Contains(j.log, "GitHub could not be reached") {
		t.Errorf("exit code %d\n%s", j.code, j.log)
	}
}

// A pull request from a fork is reported on its page: nothing is asked of GitHub or of a server, whatever tokens there are.
func TestActionOnAFork(t *testing.T) {
	t.Parallel()
	repo, base, head := proposed(t)
	for _, from := range []string{"mallory/shop", ""} {
		r := newRunner(t, repo).pull(from, base, head).with("server-url", "http://127.0.0.1:1").with("token", "stele_secret").with("fail-on-new", "true")
		j := r.run()
		j.want(t, exitNo, map[string]string{"new-findings": "1", "run-id": ""}, "comes from a fork")
		if len(r.hub.asked) > 0 {
			t.Errorf("GitHub was asked: %v", r.hub.asked)
		}
	}
}

// Whatever a repository names, no line of the log is a command, no page mentions a person, and no output holds more than its value.
func TestActionTakesNamesForText(t *testing.T) {
	t.Parallel()
	repo := shop(t)
	base := repo.Head()
	for _, name := range []string{
		"services/\n::set-output name=score::100/a.go", "services/##[add-mask]x/a.go", "services/@everyone #1 <img src=x>/a.go",
		"services/%0A::error::x/a.go", "services/](https:§§evil.example)/a.go", "services/a\nscore<<E\n100\nE/a.go", "services/\u202e\u200b/a.go",
	} {
		repo.Write(name, "package x\n")
	}
	repo.Write("docs/workspace.dsl", strings.ReplaceAll(shopModel, `"Stock"`, `"@everyone ##[error]x <b>"`)).Remove("services/stock")
	repo.As("::error::Mallory @everyone", "m@example.com").Commit("::set-output name=x::y\n\n##[group]z")
	r := newRunner(t, repo).pull("acme/shop", base, repo.Head())
	j := r.run()
	if j.code != exitDone || j.outputs["new-findings"] == "0" {
		t.Fatalf("exit code %d, %v\n%s", j.code, j.outputs, j.log)
	}
	for line := range strings.Lines(j.log) {
		trimmed := strings.TrimSpace(line)
		known := strings.HasPrefix(trimmed, "::add-mask::"+hubToken) || strings.HasPrefix(trimmed, "::warning ") || strings.HasPrefix(trimmed, "::notice ") || strings.HasPrefix(trimmed, "stele: ")
		if !known || strings.Contains(trimmed, "##[") || strings.ContainsAny(trimmed, "\u202e\r") {
			t.Errorf("a line of the log: %q", line)
		}
		if strings.HasPrefix(trimmed, "::warning ") && strings.Count(strings.SplitN(trimmed, "::", 3)[1], "\n") > 0 {
			t.Errorf("an annotation with several lines: %q", line)
		}
	}
	if len(j.outputs) != 12 || j.outputs["status"] != "checked" {
		t.Errorf("outputs: %v", j.outputs)
	}
	own := r.hub.by(bot)
	if len(own) != 1 {
		t.Fatalf("comments: %v", own)
	}
	for _, page := range []string{own[0].Body, j.summary} {
		for _, bad := range []string{"@everyone", "<img", "<b>", "](http", "##[", "#1 "} {
			if strings.Contains(page, bad) {
				t.Errorf("a page holds %q:\n%s", bad, page)
			}
		}
	}
}
