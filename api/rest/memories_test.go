package rest_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestMemoryIsWrittenAndRead(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.importShop()

	created := s.do(post(shop+"/memories", fields{"kind": "pitfall", "title": "Orders arrive twice", "content": "The queue delivers at least once.",
		"why": "A charge was doubled.", "elements": []string{"shop.api"}, "paths": nil, "tags": []string{"queue"}, "seen": nil}).
		with("Stele-Agent", "claude code/1").with("Stele-Door", "mcp")).wants(http.StatusCreated)
	m := as[memory.RememberResponse](created).Memory
	if m.Author != "claude-code-1/admin" || m.Origin != memory.FromMCP || m.Kind != memory.Pitfall {
		t.Errorf("stored as %+v", m)
	}
	if got, want := created.header.Get("Location"), "/v1/projects/"+s.project.ID.String()+"/memories/"+m.Handle; got != want {
		t.Errorf("Location is %q, want %q", got, want)
	}
	for _, ref := range []string{m.Handle, m.ID.String(), url.PathEscape(m.Title)} {
		found := s.do(get(shop + "/memories/" + ref)).wants(http.StatusOK)
		if got := as[one](found).Memory; got.ID != m.ID {
			t.Errorf("%s leads to %s, want %s", ref, got.Handle, m.Handle)
		}
		if got := found.header.Get("ETag"); got != `"r1"` {
			t.Errorf("ETag is %s", got)
		}
	}
	for _, project := range []string{"SHOP", s.project.ID.String(), url.PathEscape("remote:example.org/shop")} {
		s.do(get("/v1/projects/" + project + "/memories/" + m.Handle)).wants(http.StatusOK)
	}

	again := s.do(post(shop+"/memories", fields{"kind": "pitfall", "content": "The queue delivers at least once."})).wants(http.StatusOK)
	if r := as[memory.RememberResponse](again); !r.Deduplicated || r.Memory.ID != m.ID {
		t.Errorf("a restatement is %+v", r)
	}
	opened := as[memory.ListResponse](s.do(post(shop+"/memories/open", fields{"memories": []string{m.Handle, m.Handle}})).wants(http.StatusOK))
	if len(opened.Memories) != 2 {
		t.Errorf("opened %d, want 2", len(opened.Memories))
	}
}

func TestNobodyAndNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	_, other, tokens := s.organization("rival")
	m := s.remember(fields{"content": "The till is closed at ten."})
	for name, c := range map[string]struct {
		call
		status int
		code   problem.Code
		field  string
	}{
		"unknown project":                 {get("/v1/projects/nowhere/memories"), 404, problem.NotFound, "project"},
		"project of another organization": {get("/v1/projects/" + other.ID.String() + "/memories"), 404, problem.NotFound, "project"},
		"unknown memory":                  {get(shop + "/memories/m-aaaaaaa"), 404, problem.NotFound, "memory"},
		"memory of another organization":  {call{method: "GET", path: shop + "/memories/" + m.ID.String(), token: tokens[memory.RoleAdmin]}, 404, problem.NotFound, "memory"},
		"unknown path":                    {get("/v1/nowhere"), 404, problem.NotFound, ""},
		"other method":                    {call{method: "PUT", path: shop + "/recall"}, 405, problem.Invalid, ""},
		"role":                            {get(shop + "/memories").by(memory.RoleCI), 403, problem.Forbidden, ""},
		"tokens of the admin":             {get("/v1/tokens").by(memory.RoleReviewer), 403, problem.Forbidden, ""},
		"wrong token":                     {call{method: "GET", path: "/v1/whoami", token: "stele_guess"}, 401, problem.Unauthenticated, ""},
		"no token":                        {call{method: "GET", path: "/v1/whoami", token: "none"}, 401, problem.Unauthenticated, ""},
		"no token, unknown path":          {call{method: "GET", path: "/v1/nowhere", token: "none"}, 401, problem.Unauthenticated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.do(c.call)
			r.t = t
			r.refused(c.status, c.code, c.field)
			if c.status == 401 && r.header.Get("WWW-Authenticate") == "" {
				t.Error("401 does not say how to authenticate")
			}
			if c.status == 405 && r.header.Get("Allow") != "POST" {
				t.Errorf("Allow is %q", r.header.Get("Allow"))
			}
		})
	}
}

func TestRevisionsGuardEdits(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := s.remember(fields{"content": "The till is closed at ten.", "tags": []string{"till"}})
	path := shop + "/memories/" + m.Handle
	patch := func(body fields) call { return call{method: http.MethodPatch, path: path, body: body} }

	edited := s.do(patch(fields{"expires": "2100-01-01"}).with("If-Match", `"r1"`)).wants(http.StatusOK)
	if got := as[one](edited).Memory; edited.header.Get("ETag") != `"r2"` || got.ExpiresAt == nil || !slices.Equal(got.Tags, []string{"till"}) {
		t.Errorf("edited to %+v with ETag %s", got, edited.header.Get("ETag"))
	}
	s.do(patch(fields{"tags": []string{}}).with("If-Match", `"r1"`)).refused(http.StatusPreconditionFailed, problem.Stale, "revision")
	s.do(patch(fields{"tags": []string{}, "revision": 1})).refused(http.StatusPreconditionFailed, problem.Stale, "revision")
	s.do(post(path+"/confirm", fields{}).with("If-Match", `"r1"`)).refused(http.StatusPreconditionFailed, problem.Stale, "memory")
	s.do(patch(fields{"revision": 2}).with("If-Match", `"r1"`)).refused(http.StatusUnprocessableEntity, problem.Invalid, "revision")
	for _, wrong := range []string{"r1", `"1"`, `W/"r1"`, `"r1", "r2"`, `"r0"`, `"r99999999999999999999"`} {
		s.do(patch(fields{}).with("If-Match", wrong)).refused(http.StatusUnprocessableEntity, problem.Invalid, "If-Match", `\"r3\"`)
	}
	s.do(post(path+"/retire", fields{}).with("If-Match", `"r1"`)).refused(http.StatusUnprocessableEntity, problem.Invalid, "If-Match")
	s.do(patch(fields{"expires": "", "elements": nil}).with("If-Match", "*")).wants(http.StatusOK)
	s.do(post(path+"/confirm", fields{"note": "seen"}).with("If-Match", `"r3"`)).wants(http.StatusOK)
}

func TestLifeOfAMemory(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := s.remember(fields{"content": "The till is closed at ten."})
	path := shop + "/memories/" + m.Handle

	disputed := as[one](s.do(post(path+"/confirm", fields{"holds": false, "note": "It is open."})).wants(http.StatusOK)).Memory
	if !slices.ContainsFunc(disputed.Flags, func(f memory.Flag) bool { return f.Flag == "disputed" }) {
		t.Errorf("a disputed memory has the flags %v", disputed.Flags)
	}
	if c := as[one](s.do(post(path+"/confirm", nil)).wants(http.StatusOK)).Memory; len(c.Flags) > 0 {
		t.Errorf("a confirmed memory has the flags %v", c.Flags)
	}
	successor := as[memory.RememberResponse](s.do(post(path+"/supersede", fields{"content": "The till is closed at eleven."})).wants(http.StatusCreated)).Memory
	if old := as[one](s.do(get(path)).wants(http.StatusOK)).Memory; old.SupersededBy != successor.Handle {
		t.Errorf("superseded by %q, want %q", old.SupersededBy, successor.Handle)
	}
	s.do(post(path+"/supersede", fields{"content": "x", "supersedes": m.Handle})).refused(http.StatusUnprocessableEntity, problem.Invalid, "supersedes", "content, elements")

	path = shop + "/memories/" + successor.Handle
	retired := as[memory.ForgetResponse](s.do(post(path+"/retire", fields{"reason": "Closed for good."})).wants(http.StatusOK))
	if retired.Memory.Status != memory.Retired {
		t.Errorf("status is %s", retired.Memory.Status)
	}
	s.do(post(path+"/restore", fields{})).wants(http.StatusOK)
	history := as[memory.HistoryResponse](s.do(get(path + "/history")).wants(http.StatusOK))
	if len(history.Versions) != 1 || len(history.Events) < 3 {
		t.Errorf("history is %+v", history)
	}
	for _, p := range []string{path + "/timeline?limit=3", shop + "/timeline?memory=" + m.Handle} {
		if tl := as[memory.TimelineResponse](s.do(get(p)).wants(http.StatusOK)); len(tl.Entries) != 2 {
			t.Errorf("%s has %d entries, want 2", p, len(tl.Entries))
		}
	}
	s.do(get(shop+"/timeline")).refused(http.StatusUnprocessableEntity, problem.Invalid, "memory")

	erased := as[memory.ForgetResponse](s.do(post(path+"/erase", fields{"reason": "A name."})).wants(http.StatusOK))
	if erased.Memory.Content != "" || erased.Memory.Status != memory.Erased {
		t.Errorf("erased to %+v", erased.Memory)
	}
	s.do(get(path + "/history")).wants(http.StatusOK)
	s.do(post(path+"/restore", nil)).refused(http.StatusConflict, problem.Conflict, "memory")
}

func TestUndo(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := s.remember(fields{"content": "The till is closed at ten."})
	undo := fields{"author": "admin", "since": "2020-01-01T00:00:00Z", "reason": "leaked", "dry_run": true}
	if out := as[memory.UndoResponse](s.do(post(shop+"/memories/undo", undo)).wants(http.StatusOK)); !slices.Equal(out.Retired, []string{m.Handle}) {
		t.Errorf("would retire %v", out.Retired)
	}
	undo["dry_run"] = false
	s.do(post(shop+"/memories/undo", undo)).wants(http.StatusOK)
	if got := as[one](s.do(get(shop + "/memories/" + m.Handle))).Memory.Status; got != memory.Retired {
		t.Errorf("status is %s", got)
	}
	s.do(post(shop+"/memories/undo", fields{"author": "admin", "since": "yesterday"})).refused(http.StatusUnprocessableEntity, problem.Invalid, "since", "RFC 3339")
}

func TestPagesFollowEachOther(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.importShop()
	var want, got []string
	for i := range 7 {
		m := s.remember(fields{"content": "Shelf " + strings.Repeat("i", i+1) + " is for " + uuid.NewString(), "kind": []string{"note", "pitfall"}[i%2], "elements": []string{"shop.api"}})
		want = append([]string{m.Handle}, want...)
	}
	cursor := ""
	for range 10 {
		page := as[memory.ListResponse](s.do(get(shop + "/memories?limit=3&cursor=" + cursor)).wants(http.StatusOK))
		for _, m := range page.Memories {
			got = append(got, m.Handle)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages hold %v, want %v", got, want)
	}
	for query, n := range map[string]int{
		"kind=pitfall": 3, "kind=pitfall&kind=note": 7, "kind=convention": 0, "author=admin": 7, "author=nobody": 0, "origin=api": 7, "origin=mcp": 0,
		"element=shop.api": 7, "status=all": 7, "since=2020-01-01": 7, "since=2100-01-01T00:00:00Z": 0,
	} {
		if page := as[memory.ListResponse](s.do(get(shop + "/memories?" + query)).wants(http.StatusOK)); len(page.Memories) != n {
			t.Errorf("%s gives %d, want %d", query, len(page.Memories), n)
		}
	}
	for query, field := range map[string]string{
		"limit=101": "limit", "limit=x": "limit", "limit=1&limit=2": "limit", "kind=rumour": "kind", "status=gone": "status", "origin=moon": "origin", "since=then": "since",
		"cursor=x": "cursor", "kinds=note": "kinds", "limit=%zz": "", "author=%ff": "author",
	} {
		s.do(get(shop+"/memories?"+query)).refused(http.StatusUnprocessableEntity, problem.Invalid, field)
	}
	s.do(get(shop+"/memories?colour=red")).refused(http.StatusUnprocessableEntity, problem.Invalid, "colour", "kind, status, author")
	s.do(get("/v1/whoami?colour=red")).refused(http.StatusUnprocessableEntity, problem.Invalid, "colour", "takes none")
}

func TestRetryIsAnsweredAsTheFirst(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	body := fields{"content": "The till is closed at ten.", "separate": true}
	key := uuid.NewString()
	first := s.do(post(shop+"/memories", body).with("Idempotency-Key", key)).wants(http.StatusCreated)
	again := s.do(post(shop+"/memories", body).with("Idempotency-Key", key)).wants(http.StatusCreated)
	if string(first.body) != string(again.body) {
		t.Errorf("the retry is answered\n%s\nand the first was\n%s", again.body, first.body)
	}
	if page := as[memory.ListResponse](s.do(get(shop + "/memories"))); len(page.Memories) != 1 {
		t.Errorf("there are %d memories, want 1", len(page.Memories))
	}
	s.do(post(shop+"/memories", fields{"content": "Something else."}).with("Idempotency-Key", key)).refused(http.StatusConflict, problem.Conflict, "Idempotency-Key")
	s.do(post(shop+"/memories", body).with("Idempotency-Key", strings.Repeat("k", 300))).refused(http.StatusUnprocessableEntity, problem.Invalid, "Idempotency-Key")
	s.do(post(shop+"/memories", body).with("Idempotency-Key", "ключ")).refused(http.StatusUnprocessableEntity, problem.Invalid, "Idempotency-Key")

	// A retry of an edit is answered as the first, although the revision it was bound to is gone.
	edit := call{method: http.MethodPatch, path: shop + "/memories/" + as[memory.RememberResponse](first).Memory.Handle, body: fields{"tags": []string{"till"}}}.
		with("Idempotency-Key", uuid.NewString()).with("If-Match", `"r1"`)
	e1, e2 := s.do(edit).wants(http.StatusOK), s.do(edit).wants(http.StatusOK)
	if string(e1.body) != string(e2.body) || e2.header.Get("ETag") != `"r2"` {
		t.Errorf("the retry of an edit is answered %s, the first %s", e2.body, e1.body)
	}

	p1 := s.do(post("/v1/projects", fields{"name": "till"}).with("Idempotency-Key", key)).wants(http.StatusCreated)
	p2 := s.do(post("/v1/projects", fields{"name": "till"}).with("Idempotency-Key", key)).wants(http.StatusCreated)
	if string(p1.body) != string(p2.body) {
		t.Errorf("the retry is answered %s, the first %s", p2.body, p1.body)
	}
}

func TestHeadersAreRead(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	write := post(shop+"/memories", fields{"content": "The till is closed at ten."})
	s.do(write.with("Stele-Door", "window")).refused(http.StatusUnprocessableEntity, problem.Invalid, "Stele-Door")
	s.do(write.with("Stele-Session", strings.Repeat("s", 5000))).refused(http.StatusUnprocessableEntity, problem.Invalid, "Stele-Session")
	m := as[memory.RememberResponse](s.do(write.with("Stele-Agent", strings.Repeat("é/", 100))).wants(http.StatusCreated)).Memory
	if want := strings.Repeat("-", 64) + "/admin"; m.Author != want {
		t.Errorf("author is %q, want %q", m.Author, want)
	}
}
