package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

func named(id string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Stele-Session", id) }
}

func decode[T any](t *testing.T, r reply, status int) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(r.body), &out); err != nil || r.status != status {
		t.Fatalf("status %d, want %d (%v): %.400s", r.status, status, err, r.body)
	}
	return out
}

// A memory of another tenant or of another user alone cannot be cited, and nobody learns that it is there.
func TestForeignCitations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.acme.tokens[agentToken]
	started := decode[session.Started](t, w.send(agent, http.MethodPost, "/v1/projects/shop/sessions", map[string]any{"task": "Cite."}), 201)
	foreign := append(foreign(w.globex, "memory"), w.acme.personal.Handle)
	used := append(slices.Clone(foreign), w.acme.memory.Handle)
	path := "/v1/projects/shop/sessions/" + started.SessionID + "/finish"
	w.send(agent, http.MethodGet, "/v1/projects/shop/memories/"+w.acme.memory.Handle, nil, named(started.SessionID))
	ended := decode[session.Ended](t, w.send(agent, http.MethodPost, path, map[string]any{"summary": "Cited.", "used_memories": used}), 200)
	if !slices.Equal(ended.Unmatched, foreign) || !slices.Equal(ended.Cited, []string{w.acme.memory.Handle}) || ended.Repeated {
		t.Errorf("unmatched %v, cited %v", ended.Unmatched, ended.Cited)
	}
	again := decode[session.Ended](t, w.send(agent, http.MethodPost, path, map[string]any{"summary": "Cited otherwise."}), 200)
	if !again.Repeated || again.Memory == nil || again.Memory.ID != ended.Memory.ID || !slices.Equal(again.Unmatched, foreign) || !slices.Equal(again.Cited, ended.Cited) {
		t.Errorf("finished again: %+v", again)
	}
	if got := w.send(agent, http.MethodPost, strings.TrimSuffix(path, "finish")+"cancel", map[string]any{}); got.status != 409 {
		t.Errorf("cancelled afterwards: %d %s", got.status, got.body)
	}
	// The same through the door for agents.
	got := w.rpc(agent, "/mcp/p/shop", "tools/call", map[string]any{"name": "start_work_session", "arguments": map[string]any{"task": "Cite."}})
	name := between(got, `"sessionId":"`, `"`)
	got = w.rpc(agent, "/mcp/p/shop", "tools/call", map[string]any{"name": "finish_work_session", "arguments": map[string]any{"sessionId": name, "usedMemories": used}})
	if strings.Contains(got, `"isError":true`) || forbidden(got) != nil || !strings.Contains(got, "Cited: "+w.acme.memory.Handle+".") || !strings.Contains(got, `\"`+w.globex.memory.Handle+`\"`) {
		t.Errorf("finish_work_session: %s", got)
	}
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

// A session named in a header is known from there on; one that is nobody's, or another's, is refused at the door.
func TestSessionHeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.acme.tokens[agentToken]
	for _, id := range []string{w.acme.session, w.globex.session, "ws-aaaaaaa"} {
		for _, path := range []string{"/v1/projects/shop/memories", "/v1/whoami"} {
			got := w.send(agent, http.MethodGet, path, nil, named(id))
			if got.status != 404 || !strings.Contains(got.body, "Stele-Session") || forbidden(got.body) != nil {
				t.Errorf("%s with %s: %d %s", path, id, got.status, got.body)
			}
		}
	}
	// An id of the client is a session once one is started under it, with all that it was shown before.
	w.send(agent, http.MethodPost, "/v1/projects/shop/recall", map[string]any{"query": "stock cached"}, named("conversation 1"))
	started := decode[session.Started](t, w.send(agent, http.MethodPost, "/v1/projects/shop/sessions", map[string]any{"task": "Look.", "max_tokens": 0}, named("conversation 1")), 201)
	receipt := decode[session.Receipt](t, w.send(agent, http.MethodGet, "/v1/projects/shop/sessions/"+started.SessionID, nil), 200)
	if len(receipt.Served) != 1 || receipt.Served[0].Handle != w.acme.memory.Handle || receipt.Tokens == 0 {
		t.Errorf("it was shown %+v", receipt.Served)
	}
	again := decode[session.Started](t, w.send(agent, http.MethodPost, "/v1/projects/shop/sessions", map[string]any{"task": "Look.", "max_tokens": 0}, named("conversation 1")), 200)
	if !again.Adopted || again.SessionID != started.SessionID {
		t.Errorf("started again: %+v", again)
	}
	// The same id of another user is another session.
	other := decode[session.Started](t, w.send(w.acme.tokens[agentOfShop], http.MethodPost, "/v1/projects/shop/sessions", map[string]any{"max_tokens": 0}, named("conversation 1")), 201)
	if other.SessionID == started.SessionID {
		t.Error("two users have one session")
	}
}

// Agents that share a token and name no session are no single session.
func TestOneTokenManyAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.acme.tokens[agentToken]
	call := func(tool string, arguments map[string]any) string {
		return w.rpc(agent, "/mcp/p/shop", "tools/call", map[string]any{"name": tool, "arguments": arguments})
	}
	first := call("start_work_session", map[string]any{"task": "One.", "element": "acme.shop"})
	second := call("start_work_session", map[string]any{"task": "Two.", "element": "acme.shop"})
	one, two := between(first, `"sessionId":"`, `"`), between(second, `"sessionId":"`, `"`)
	if one == two || !strings.Contains(second, `"verdict":"warn"`) || !strings.Contains(second, one) {
		t.Errorf("the first is %s; the second: %s", one, second)
	}
	if got := call("finish_work_session", map[string]any{"summary": "Which?"}); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "start_work_session") {
		t.Errorf("no session was named: %s", got)
	}
	if got := call("finish_work_session", map[string]any{"sessionId": "ws-aaaaaaa"}); !strings.Contains(got, "not_found") {
		t.Errorf("a session that is none: %s", got)
	}
	for range 2 {
		if got := call("finish_work_session", map[string]any{"sessionId": one, "summary": "Done."}); !strings.Contains(got, "Finished "+one) {
			t.Errorf("finished: %s", got)
		}
	}
	if got := call("list_work_sessions", map[string]any{"element": "acme.shop"}); strings.Contains(got, one) || !strings.Contains(got, two) {
		t.Errorf("at work: %s", got)
	}
}

// A recall that names its session is its sign of life.
func TestRecallIsAHeartbeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.acme.tokens[agentToken]
	started := decode[session.Started](t, w.send(agent, http.MethodPost, "/v1/projects/shop/sessions", map[string]any{"task": "Live."}), 201)
	beat := func() time.Time {
		return decode[session.Receipt](t, w.send(agent, http.MethodGet, "/v1/projects/shop/sessions/"+started.SessionID, nil), 200).BeatAt
	}
	for name, recall := range map[string]func() string{
		"mcp": func() string {
			return w.rpc(agent, "/mcp/p/shop", "tools/call", map[string]any{"name": "recall", "arguments": map[string]any{"query": "stock", "session_id": started.SessionID}})
		},
		"rest": func() string {
			return w.send(agent, http.MethodPost, "/v1/projects/shop/recall", map[string]any{"query": "stock"}, named(started.SessionID)).body
		},
	} {
		before := beat()
		w.passed.Add(int64(20 * time.Minute))
		if got := recall(); !strings.Contains(got, canary("acme", "shop")) {
			t.Fatalf("%s: %s", name, got)
		}
		if now := beat(); now.Sub(before) < 19*time.Minute {
			t.Errorf("%s: its last sign of life was at %s before and is at %s", name, before, now)
		}
	}
	// It expired, and its next call brings it back.
	w.passed.Add(int64(time.Hour))
	if err := w.service.Sweep(t.Context(), w.acme.org); err != nil {
		t.Fatal(err)
	}
	if got := w.send(agent, http.MethodGet, "/v1/projects/shop/sessions?state=expired", nil); !strings.Contains(got.body, started.SessionID) {
		t.Errorf("it should have expired: %s", got.body)
	}
	w.send(agent, http.MethodPost, "/v1/projects/shop/recall", map[string]any{"query": "stock"}, named(started.SessionID))
	if got := w.send(agent, http.MethodGet, "/v1/projects/shop/sessions", nil); !strings.Contains(got.body, started.SessionID) {
		t.Errorf("it should live again: %s", got.body)
	}
}

// What is too much is refused in words, at every door, and nothing of it is kept.
func TestTooMuchInASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.acme.tokens[agentToken]
	started := decode[session.Started](t, w.send(agent, http.MethodPost, "/v1/projects/shop/sessions", map[string]any{"task": "Much."}), 201)
	path := "/v1/projects/shop/sessions/" + started.SessionID
	elements := make([]string, 5000)
	for n := range elements {
		elements[n] = fmt.Sprintf("acme.shop.%d", n)
	}
	long := strings.Repeat("It was long. ", 1<<20/13)
	for what, tc := range map[string]struct {
		path   string
		body   map[string]any
		status int
		says   string
	}{
		"5000 elements":      {"/v1/projects/shop/sessions", map[string]any{"elements": elements}, 422, "64"},
		"5000 more elements": {path + "/heartbeat", map[string]any{"elements": elements}, 422, "64"},
		"a summary of 1 MB":  {path + "/finish", map[string]any{"summary": long}, 413, ""},
		"a summary of 10 kB": {path + "/finish", map[string]any{"summary": long[:10<<10]}, 422, "8000"},
		"501 memories":       {path + "/finish", map[string]any{"used_memories": make([]string, 501)}, 422, "500"},
		"a mood":             {path + "/finish", map[string]any{"outcome": "happy"}, 422, "done, partial or failed"},
	} {
		got := w.send(agent, http.MethodPost, tc.path, tc.body)
		if got.status != tc.status || !strings.Contains(got.body, tc.says) || len(got.body) > 2000 {
			t.Errorf("%s: %d %.500s", what, got.status, got.body)
		}
	}
	for tool, arguments := range map[string]map[string]any{
		"start_work_session":     {"element": elements},
		"heartbeat_work_session": {"sessionId": started.SessionID, "element": elements},
		"finish_work_session":    {"sessionId": started.SessionID, "summary": long[:100<<10]},
	} {
		got := w.rpc(agent, "/mcp/p/shop", "tools/call", map[string]any{"name": tool, "arguments": arguments})
		if !strings.Contains(got, `"isError":true`) || len(got) > 2000 {
			t.Errorf("%s: %.500s", tool, got)
		}
	}
	receipt := decode[session.Receipt](t, w.send(agent, http.MethodGet, path, nil), 200)
	if receipt.State != session.Active || len(receipt.Leases) > 0 {
		t.Errorf("it is %+v", receipt.Summary)
	}
}

// A start that is retried under its key is one session; a denied one is an answer and no error.
func TestStartOverREST(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.acme.tokens[agentToken]
	key := func(r *http.Request) { r.Header.Set("Idempotency-Key", "0190c5a8") }
	body := map[string]any{"task": "Once.", "elements": []string{"acme.shop"}}
	first := w.send(agent, http.MethodPost, "/v1/projects/shop/sessions", body, key)
	again := w.send(agent, http.MethodPost, "/v1/projects/shop/sessions", body, key)
	one, two := decode[session.Started](t, first, 201), decode[session.Started](t, again, 201)
	if one.SessionID != two.SessionID || two.Adopted || two.Briefing == "" || !strings.HasSuffix(first.header.Get("Location"), "/sessions/"+one.SessionID) {
		t.Errorf("retried: %+v", two)
	}
	if got := w.send(agent, http.MethodPost, "/v1/projects/shop/sessions", map[string]any{"task": "Other."}, key); got.status != 409 {
		t.Errorf("the key for another start: %d", got.status)
	}
	body["exclusive"] = true
	refused := w.send(w.acme.tokens[agentOfShop], http.MethodPost, "/v1/projects/shop/sessions", body)
	denied := decode[session.Started](t, refused, 200)
	if denied.Gate.Verdict != session.Deny || denied.SessionID != "" || len(denied.Gate.Reasons) == 0 || refused.header.Get("Location") != "" {
		t.Errorf("exclusive work beside others: %+v", denied)
	}
	list := decode[session.List](t, w.send(agent, http.MethodGet, "/v1/projects/shop/sessions?limit=1", nil), 200)
	next := decode[session.List](t, w.send(agent, http.MethodGet, "/v1/projects/shop/sessions?limit=1&cursor="+list.NextCursor, nil), 200)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != one.SessionID || len(next.Sessions) != 1 || next.Sessions[0].SessionID != w.acme.session {
		t.Errorf("at work: %+v, then %+v", list, next)
	}
	if got := w.send(w.acme.tokens[agentOfDepot], http.MethodGet, "/v1/projects/depot/sessions/"+one.SessionID, nil); got.status != 404 {
		t.Errorf("a session of another project: %d %s", got.status, got.body)
	}
	c := memory.Caller{Org: w.acme.org, Project: w.acme.shop.ID, User: "reviewer", Role: memory.RoleReviewer}
	if _, err := w.service.CancelSession(t.Context(), c, one.SessionID); err != nil {
		t.Error(err)
	}
}
