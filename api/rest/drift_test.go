package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/rest"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// runOf is a run of the n-th commit of a straight history, as a program would send it.
func runOf(n int, change func(push, report fields)) fields {
	var ancestors []string
	for i := n; i > 0; i-- {
		ancestors = append(ancestors, fmt.Sprintf("%040x", i))
	}
	report := fields{"status": "checked", "score": 100, "commit": ancestors[0], "committed_at": "2030-01-02T03:04:05Z", "input_hash": fmt.Sprint("input", n),
		"engine_version": 1, "history": "full"}
	push := fields{"repository": "example.org/shop", "branch": "main", "default_branch": "main", "tracked": true, "ancestors": ancestors, "report": report}
	if change != nil {
		change(push, report)
	}
	return push
}

// goneSince says that the files of shop.api are gone since the n-th commit.
func goneSince(n int) []fields {
	return []fields{{"fingerprint": "0123456789abcdef", "check": "existence", "outcome": "missing", "element": "shop.api", "subject": "api/**",
		"message": "no file matches api/**", "weight": 5, "gain": 12.5,
		"since": fields{"commit": fmt.Sprintf("%040x", n), "time": "2030-01-02T03:04:05Z", "author": "Ana", "subject": "Drop it", "cause": "code"}}}
}

// tracker is the text of a ci token that may speak for the tracked branch.
func (s *server) tracker() string {
	s.t.Helper()
	made, err := s.service.CreateToken(context.Background(), memory.Caller{Org: s.org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI},
		memory.TokenRequest{Name: "pipeline", Role: memory.RoleCI, Tracked: true})
	must(s.t, err)
	return made.Text
}

func (c call) holding(token string) call { c.token = token; return c }

// A pipeline asks what is watched and pushes what it found; nothing that anybody wrote reaches it, but what they quote as code.
func TestRunsOfAPipeline(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.importShop()
	m := s.remember(fields{"kind": "pitfall", "title": "A canary title", "content": "The canary sings: `stripHeaders` drops long headers.", "why": "canary", "elements": []string{"shop.api"}})
	s.remember(fields{"content": "A canary of my own: `privateName` matters.", "scope": "personal", "elements": []string{"shop.api"}})
	ci := s.tracker()
	silent := func(r reply, kept ...string) reply {
		t.Helper()
		text := strings.ToLower(string(r.body))
		for _, word := range []string{"canary", "sings", "drops", "privatename"} {
			if strings.Contains(text, word) && !slices.Contains(kept, word) {
				t.Errorf("a pipeline is told %q: %s", word, r.body)
			}
		}
		return r
	}
	list := as[memory.WatchList](silent(s.do(get(shop + "/drift/watch").holding(ci)).wants(http.StatusOK)))
	if len(list.Memories) != 2 || list.Next != "" {
		t.Fatalf("watched %+v", list)
	}
	var claims []evidence.WatchedClaim
	for _, w := range list.Memories {
		claims = append(claims, w.Claims...)
	}
	if len(claims) != 1 || claims[0].Text != "stripHeaders" {
		t.Errorf("claims %+v", claims)
	}
	push := func(body fields) memory.RunAnswer {
		t.Helper()
		return as[memory.RunAnswer](silent(s.do(post(shop+"/drift/runs", body).holding(ci)).wants(http.StatusOK)))
	}
	if a := push(runOf(1, nil)); !a.Tracked || len(a.Doubted) != 0 {
		t.Errorf("the first run: %+v", a)
	}
	broken := runOf(2, func(_, report fields) { report["findings"], report["score"] = goneSince(2), 40 })
	a := push(broken)
	if len(a.Doubted) != 2 || !slices.ContainsFunc(a.Doubted, func(d memory.DoubtedMemory) bool { return d.Handle == m.Handle && d.Element == "shop.api" }) {
		t.Errorf("drift: %+v", a)
	}
	if again := push(broken); !again.Repeated || again.RunID != a.RunID {
		t.Errorf("the same run again: %+v", again)
	}
	if got := as[one](s.do(get(shop + "/memories/" + m.Handle)).wants(http.StatusOK)).Memory; len(got.Flags) != 1 || !strings.Contains(got.Flags[0].Reason, "0000000 (Ana") {
		t.Errorf("flags %+v", got.Flags)
	}
	for path, want := range map[string]string{
		"/drift/runs": a.RunID, "/drift/runs?tracked=true&limit=1": a.RunID, "/drift/history": a.RunID, "/drift/runs/latest": "no file matches", "/drift/runs/" + a.RunID: "no file matches",
		"/drift/score": `"score":40`,
	} {
		if r := silent(s.do(get(shop + path).holding(ci)).wants(http.StatusOK)); !strings.Contains(string(r.body), want) {
			t.Errorf("%s lacks %q: %s", path, want, r.body)
		}
	}
	s.do(get(shop+"/drift/runs/"+uuid.NewString()).holding(ci)).refused(http.StatusNotFound, problem.NotFound, "run")
	s.do(get(shop+"/drift/runs?limit=many").holding(ci)).refused(http.StatusUnprocessableEntity, problem.Invalid, "limit")
	silent(s.do(get(shop + "/memories/" + m.Handle).holding(ci)).wants(http.StatusForbidden))
	silent(s.do(post(shop+"/recall", fields{"query": "canary"}).holding(ci)).wants(http.StatusForbidden))
	s.do(get(shop+"/drift/watch").by(memory.RoleAgent)).refused(http.StatusForbidden, problem.Forbidden, "")
	s.do(post(shop+"/drift/runs", runOf(3, nil)).by(memory.RoleAgent)).refused(http.StatusForbidden, problem.Forbidden, "")
	s.do(get("/v1/projects/elsewhere/drift/watch").holding(ci)).refused(http.StatusNotFound, problem.NotFound, "project")
	_, foreign, _ := s.organization("globex")
	s.do(post("/v1/projects/"+foreign.ID.String()+"/drift/runs", runOf(1, nil)).holding(ci)).refused(http.StatusNotFound, problem.NotFound, "project")
	s.do(get(shop+"/drift/watch?after=soon").holding(ci)).refused(http.StatusUnprocessableEntity, problem.Invalid, "after")
	// A ci token that was not given the right reports only.
	if a := as[memory.RunAnswer](s.do(post(shop+"/drift/runs", runOf(4, nil)).by(memory.RoleCI)).wants(http.StatusOK)); a.Tracked || len(a.Warnings) != 1 {
		t.Errorf("a token that may not track: %+v", a)
	}
}

// A model that would drop much of the project's waits, and a reviewer decides.
func TestAPushedModelWaits(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.importShop()
	ci := s.tracker()
	small := runOf(1, func(push, _ fields) {
		push["model"], push["source"] = fields{"elements": []fields{{"key": "shop", "name": "Shop", "level": "system"}}}, "workspace.dsl"
	})
	a := as[memory.RunAnswer](s.do(post(shop+"/drift/runs", small).holding(ci)).wants(http.StatusOK))
	if a.Held == nil || a.Imported != nil || len(a.Held.Removed) != 3 {
		t.Fatalf("answered %+v", a)
	}
	s.do(get(shop+"/model/held").holding(ci)).refused(http.StatusForbidden, problem.Forbidden, "")
	held := as[struct{ Held *memory.HeldModel }](s.do(get(shop + "/model/held").by(memory.RoleReviewer)).wants(http.StatusOK)).Held
	if held == nil || held.ID != a.Held.ID || held.Actor != "pipeline" {
		t.Errorf("held %+v", held)
	}
	s.do(post(shop+"/model/held", fields{}).by(memory.RoleAgent)).refused(http.StatusForbidden, problem.Forbidden, "")
	s.do(post(shop+"/model/held", fields{"accept": true}).by(memory.RoleReviewer).with("Idempotency-Key", "k")).wants(http.StatusOK)
	s.do(post(shop+"/model/held", fields{"accept": true}).by(memory.RoleReviewer)).refused(http.StatusNotFound, problem.NotFound, "model")
	if r := s.do(get(shop + "/elements")).wants(http.StatusOK); strings.Count(string(r.body), `"key"`) != 1 {
		t.Errorf("after it was accepted: %s", r.body)
	}
	if r := s.do(get(shop + "/model/held").by(memory.RoleReviewer)).wants(http.StatusOK); !strings.Contains(string(r.body), `"held":null`) {
		t.Errorf("nothing waits: %s", r.body)
	}
}

func TestDriftSettings(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	change := func(body fields) call {
		return call{method: http.MethodPatch, path: shop + "/drift/settings", body: body}
	}
	got := as[memory.DriftSettings](s.do(change(fields{"tracked_branch": "develop", "badge": true}).by(memory.RoleReviewer)).wants(http.StatusOK))
	if got.TrackedBranch != "develop" || len(got.Badge) < 20 {
		t.Errorf("changed to %+v", got)
	}
	if again := as[memory.DriftSettings](s.do(get(shop + "/drift/settings").by(memory.RoleReviewer)).wants(http.StatusOK)); again != got {
		t.Errorf("%+v is kept of %+v", again, got)
	}
	for body, field := range map[string]string{
		`{"tracked_branch":"--upload-pack=x"}`: "tracked_branch", `{"clone_url":"file:///etc"}`: "clone_url", `{"clone_url":"https://me:secret@example.org/a"}`: "clone_url",
		`{"clone_url":"https://localhost./a"}`: "clone_url", `{"clone_url":"https://[::1]/a"}`: "clone_url", `{"clone_url":"ssh://169.254.169.254/a"}`: "clone_url",
		`{"clone_url":"ssh://-oProxyCommand=x/a"}`: "clone_url", `{"clone_url":"https://127.1.2.3:8443/a"}`: "clone_url",
		`{"clone_url":"ext::sh -c x"}`: "clone_url", `{"schedule":"often"}`: "schedule", `{"badge":"on"}`: "badge", `{"token":"x"}`: "token",
	} {
		s.do(call{method: http.MethodPatch, path: shop + "/drift/settings", body: body}).refused(http.StatusUnprocessableEntity, problem.Invalid, field)
	}
	s.do(change(fields{"tracked_branch": "x"}).by(memory.RoleAgent)).refused(http.StatusForbidden, problem.Forbidden, "")
}

// What no run is gets a problem, whatever it holds and however much of it there is.
//
//nolint:tparallel,paralleltest // one large body after the other: a server takes few at once
func TestHostileRuns(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.importShop()
	ci := s.tracker()
	send := func(body any) reply {
		t.Helper()
		return s.do(post(shop+"/drift/runs", body).holding(ci))
	}
	text := func(change func(push, report fields)) string {
		t.Helper()
		data, err := json.Marshal(runOf(1, change))
		must(t, err)
		return string(data)
	}
	const ten = 10 << 20
	many := make([]fields, 50_001)
	for i := range many {
		many[i] = fields{"id": "x"}
	}
	for what, c := range map[string]struct {
		body   any
		status int
		field  string
	}{
		"ten megabytes of letters":   {bytes.Repeat([]byte("x"), ten), http.StatusBadRequest, ""},
		"ten megabytes of zeros":     {make([]byte, ten), http.StatusBadRequest, ""},
		"too much":                   {bytes.Repeat([]byte(" "), rest.MaxModelBody+1), http.StatusRequestEntityTooLarge, ""},
		"lists in lists":             {strings.Repeat("[", 100_000), http.StatusUnprocessableEntity, ""},
		"objects in objects":         {`{"report":{"levels":` + strings.Repeat(`{"a":`, 100_000), http.StatusUnprocessableEntity, "report.levels.a.a"},
		"no UTF-8":                   {"{\"repository\":\"\xff\"}", http.StatusBadRequest, ""},
		"nothing":                    {"", http.StatusUnprocessableEntity, "repository"},
		"a list":                     {"[]", http.StatusUnprocessableEntity, ""},
		"50,001 verdicts":            {text(func(p, _ fields) { p["verdicts"] = many }), http.StatusUnprocessableEntity, "verdicts"},
		"a field nobody knows":       {text(func(p, _ fields) { p["admin"] = true }), http.StatusUnprocessableEntity, "admin"},
		"a report that is a text":    {text(func(p, _ fields) { p["report"] = "checked" }), http.StatusUnprocessableEntity, "report"},
		"a score that is a text":     {text(func(_, r fields) { r["score"] = "100" }), http.StatusUnprocessableEntity, "report.score"},
		"a finding that is a number": {text(func(_, r fields) { r["findings"] = []int{1} }), http.StatusUnprocessableEntity, "report.findings[0]"},
		"half a point":               {text(func(_, r fields) { r["score"] = 99.5 }), http.StatusUnprocessableEntity, "report.score"},
		"an impossible score":        {text(func(_, r fields) { r["score"] = 101 }), http.StatusUnprocessableEntity, "report"},
		"an impossible coverage":     {text(func(_, r fields) { r["coverage"] = 70_000 }), http.StatusUnprocessableEntity, "report"},
		"a huge engine":              {text(func(_, r fields) { r["engine_version"] = int64(1) << 40 }), http.StatusUnprocessableEntity, "report"},
		"an endless weight":          {text(func(_, r fields) { r["passed"], r["weight"] = 1, int64(1)<<62 }), http.StatusUnprocessableEntity, "report"},
		"a negative level":           {text(func(_, r fields) { r["levels"] = fields{"code": fields{"passed": -1}} }), http.StatusUnprocessableEntity, "report"},
		"a time that is none":        {text(func(_, r fields) { r["committed_at"] = "yesterday" }), http.StatusUnprocessableEntity, "report.committed_at"},
		"control in the repository":  {text(func(p, _ fields) { p["repository"] = "a\x1b[2Jb" }), http.StatusUnprocessableEntity, "repository"},
		"control in the hash":        {text(func(_, r fields) { r["input_hash"] = "a\x00b" }), http.StatusUnprocessableEntity, "report"},
		"NUL in a finding":           {text(func(_, r fields) { f := goneSince(1); f[0]["message"] = "a\x00b"; r["findings"] = f }), http.StatusUnprocessableEntity, "report"},
		"NUL in a key":               {text(func(_, r fields) { r["elements"] = fields{"a\x00b": fields{}} }), http.StatusUnprocessableEntity, "report"},
		"NUL in a model": {text(func(p, _ fields) {
			p["model"] = fields{"elements": []fields{{"key": "a", "name": "a\x00", "level": "system"}}}
		}), http.StatusUnprocessableEntity, "model"},
		"an ancestor that is a name": {text(func(p, _ fields) { p["ancestors"] = append(p["ancestors"].([]string), "HEAD") }), http.StatusUnprocessableEntity, "ancestors"},
		"an ancestor without end":    {text(func(p, _ fields) { p["ancestors"] = append(p["ancestors"].([]string), strings.Repeat("a", 5000)) }), http.StatusUnprocessableEntity, "ancestors"},
		"a model in an unknown level": {text(func(p, _ fields) {
			p["model"] = fields{"elements": []fields{{"key": "a", "name": "a", "level": "planet"}}}
		}), http.StatusUnprocessableEntity, "elements"},
		"a report of another commit":     {text(func(_, r fields) { r["commit"] = strings.Repeat("b", 40) }), http.StatusUnprocessableEntity, "ancestors"},
		"two reports":                    {strings.Replace(text(nil), `"report":`, `"report":{},"report":`, 1), http.StatusUnprocessableEntity, "report"},
		"a second object after it":       {text(nil) + "{}", http.StatusBadRequest, ""},
		"a body that ends in the middle": {text(nil)[:200], http.StatusBadRequest, ""},
	} {
		t.Run(what, func(t *testing.T) {
			r := send(c.body)
			var p auth.Problem
			if err := json.Unmarshal(r.body, &p); err != nil || r.status != c.status || p.Field != c.field || p.Detail == "" || len(p.Fixes) == 0 || len(r.body) > 4000 {
				t.Errorf("answered %d %.600s, want %d about %q", r.status, r.body, c.status, c.field)
			}
		})
	}
	if s.log.Len() > 0 {
		t.Errorf("faults of a client are logged as the server's: %.500s", s.log)
	}
	// What is odd and harmless is taken: verdicts about nothing, elements nobody knows, characters that terminals obey.
	r := send(text(func(p, r fields) {
		f := goneSince(1)
		f[0]["message"], f[0]["element"] = "a \x1b[31m red\nline", "nowhere"
		r["findings"] = f
		p["verdicts"] = []fields{{"id": "x"}, {"id": uuid.NewString(), "claims": []fields{{"text": "x", "state": "gone"}}}}
	})).wants(http.StatusOK)
	if a := as[memory.RunAnswer](r); len(a.Doubted) != 0 || len(a.NewFindings) != 1 {
		t.Errorf("answered %s", r.body)
	}
}

// pages is a service with several pages to watch.
type pages struct {
	rest.Service

	asked []string
}

func (*pages) FindProject(context.Context, memory.Caller, string) (memory.ProjectInfo, error) {
	return memory.ProjectInfo{ID: uuid.New(), Name: "shop"}, nil
}

func (p *pages) Watch(_ context.Context, _ memory.Caller, after string) (memory.WatchList, error) {
	p.asked = append(p.asked, after)
	return memory.WatchList{Memories: []evidence.Watched{}, Next: map[string]string{"": "a b", "a b": "c"}[after]}, nil
}

func (*pages) PushRun(context.Context, memory.Caller, memory.RunPush) (memory.RunAnswer, error) {
	return memory.RunAnswer{}, nil
}

func TestWatchListHasPages(t *testing.T) {
	t.Parallel()
	p := &pages{}
	a := rest.New(rest.Options{Service: p, Log: quiet})
	path := shop + "/drift/watch"
	for next := path; next != ""; {
		r := httptest.NewRequestWithContext(auth.WithCaller(t.Context(), memory.Caller{Org: uuid.New(), Role: memory.RoleCI}, memory.Token{}), http.MethodGet, next, nil)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		var list memory.WatchList
		must(t, json.Unmarshal(w.Body.Bytes(), &list))
		if next = ""; list.Next != "" {
			next = path + "?after=" + strings.ReplaceAll(list.Next, " ", "%20")
		}
	}
	if !slices.Equal(p.asked, []string{"", "a b", "c"}) {
		t.Errorf("pages asked for: %q", p.asked)
	}
}

// A run has a verdict for every memory: ci may send more of it than of anything else.
func TestRunsMayBeLarge(t *testing.T) {
	t.Parallel()
	a := rest.New(rest.Options{Service: &pages{}, Log: quiet})
	body := `{"repository":"r","ancestors":[],"report":{"status":"checked","score":1,"commit":"c","input_hash":"h"},"verdicts":[` +
		strings.Repeat(`{"id":"`+strings.Repeat("x", 1000)+`"},`, 1500) + `{"id":"x"}]}`
	for role, want := range map[memory.Role]int{memory.RoleAgent: 413, memory.RoleCI: 200, memory.RoleReviewer: 200} {
		r := httptest.NewRequestWithContext(auth.WithCaller(t.Context(), memory.Caller{Org: uuid.New(), Role: role}, memory.Token{ID: uuid.New()}), http.MethodPost, shop+"/drift/runs", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if a.ServeHTTP(w, r); w.Code != want || want == 413 && !strings.Contains(w.Body.String(), "role ci") {
			t.Errorf("%s: %d %.300s", role, w.Code, w.Body)
		}
	}
}
