package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/api/mcp"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The revisions of the protocol that differ over HTTP: with a handshake, and without.
const (
	sessions  = "2025-11-25"
	stateless = "2026-07-28"
)

// office is a backend for many callers: who calls is in the context of the request, as a middleware leaves it there.
type office struct {
	*domain
	projects map[string]uuid.UUID // by id and by name
}

type callerKey struct{}

func newOffice() office {
	shop, mill := uuid.MustParse("0190aaaa-0000-7000-8000-00000000000a"), uuid.MustParse("0190aaaa-0000-7000-8000-00000000000b")
	return office{&domain{}, map[string]uuid.UUID{"shop": shop, shop.String(): shop, "mill": mill, mill.String(): mill}}
}

func (o office) Caller(ctx context.Context, project string, _ bool) (memory.Caller, error) {
	c, _ := ctx.Value(callerKey{}).(memory.Caller)
	if project == "" {
		return c, problem.New(problem.Ambiguous, "projectId", "several projects apply", "give one of shop, mill")
	}
	id, ok := o.projects[project]
	if !ok {
		return c, problem.New(problem.NotFound, "projectId", fmt.Sprintf("there is no project %q", project), "give one of shop, mill")
	}
	c.Project = id
	return c, nil
}

func (o office) Seen(context.Context) *memory.Seen { return nil }

// replica is one server process of several: nothing but the backend is shared between them.
func replica(t testing.TB, b mcp.Backend) http.Handler {
	t.Helper()
	return logging(t, b, nil)
}

func logging(t testing.TB, b mcp.Backend, log *slog.Logger) http.Handler {
	t.Helper()
	s, err := mcp.New(mcp.Options{Backend: b, Version: "1.2.3", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.HTTP())
	mux.Handle("/mcp/p/{project}", s.HTTP())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		c := memory.Caller{User: r.Header.Get("Test-User"), Session: r.Header.Get("Test-Session"), Role: memory.RoleAgent}
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// exchange is a request and what came back.
type exchange struct {
	path, version, method string
	params                map[string]any
	id                    any               // default 1; nil with notification
	notification          bool              // no id, no answer
	header                map[string]string // further ones
	client                string            // in _meta, without a handshake

	status int
	answer http.Header
	body   []byte
	result map[string]any
	code   int // of the error
	text   string
	data   any
}

func (x exchange) request(ctx context.Context) *http.Request {
	message := map[string]any{"jsonrpc": "2.0", "method": x.method}
	if !x.notification {
		message["id"] = 1
		if x.id != nil {
			message["id"] = x.id
		}
	}
	params := map[string]any{}
	maps.Copy(params, x.params)
	if x.version == stateless {
		meta := map[string]any{"io.modelcontextprotocol/protocolVersion": stateless, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
		if x.client != "" {
			meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": x.client, "version": "1"}
		}
		params["_meta"] = meta
	}
	message["params"] = params
	body, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	path := x.path
	if path == "" {
		path = "/mcp/p/shop"
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if x.version != "" {
		r.Header.Set("Mcp-Protocol-Version", x.version)
	}
	if x.version == stateless {
		r.Header.Set("Mcp-Method", x.method)
		for _, key := range []string{"name", "uri"} {
			if name, ok := x.params[key].(string); ok {
				r.Header.Set("Mcp-Name", name)
			}
		}
	}
	for k, v := range x.header {
		r.Header.Set(k, v)
	}
	return r
}

func (x exchange) with(t testing.TB, h http.Handler) exchange {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, x.request(t.Context()))
	x.status, x.answer, x.body = w.Code, w.Header(), w.Body.Bytes()
	var message struct {
		Result map[string]any `json:"result"`
		Error  struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Data    any    `json:"data"`
		} `json:"error"`
	}
	if strings.HasPrefix(x.answer.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(x.body, &message); err != nil {
			t.Fatalf("%s: %v: %s", x.method, err, x.body)
		}
	}
	x.result, x.code, x.text, x.data = message.Result, message.Error.Code, message.Error.Message, message.Error.Data
	return x
}

// tool is a call of a tool, and toolText what it said.
func tool(version, name string, arguments map[string]any) exchange {
	return exchange{version: version, method: "tools/call", params: map[string]any{"name": name, "arguments": arguments}}
}

func (x exchange) toolText(t testing.TB) (text string, failed bool) {
	t.Helper()
	contents, _ := x.result["content"].([]any)
	if len(contents) != 1 {
		t.Fatalf("status %d: %s", x.status, x.body)
	}
	text, _ = contents[0].(map[string]any)["text"].(string)
	failed, _ = x.result["isError"].(bool)
	return text, failed
}

func shake(t testing.TB, h http.Handler, client string) (session string) {
	t.Helper()
	x := exchange{version: sessions, method: "initialize", params: map[string]any{
		"protocolVersion": sessions, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": client, "version": "1"},
	}}.with(t, h)
	if x.status != http.StatusOK || x.result["protocolVersion"] != sessions {
		t.Fatalf("status %d: %s", x.status, x.body)
	}
	return x.answer.Get("Mcp-Session-Id")
}

// A session begun at one replica goes on at another, which knows as much of it.
func TestAnyReplicaAnswers(t *testing.T) {
	t.Parallel()
	o := newOffice()
	replicas := []http.Handler{replica(t, o), replica(t, o)}
	session := shake(t, replicas[0], "claude-code")
	header := map[string]string{"Mcp-Session-Id": session, "Test-User": "kim"}
	if x := (exchange{version: sessions, method: "notifications/initialized", notification: true, header: header}).with(t, replicas[1]); x.status != http.StatusAccepted {
		t.Errorf("initialized: status %d", x.status)
	}
	implicit := ""
	for n := range 6 {
		x := tool(sessions, "recall", map[string]any{"query": "stock"})
		x.header, x.id = header, n+2
		if text, failed := x.with(t, replicas[n%2]).toolText(t); failed || !strings.Contains(text, "Stock is cached") {
			t.Errorf("call %d: %s", n, text)
		}
		c := o.caller
		if implicit == "" {
			implicit = c.Session
		}
		if c.Agent != "claude-code" || c.User != "kim" || c.Door != memory.FromMCP || c.Project != o.projects["shop"] || c.Session == "" || c.Session != implicit {
			t.Errorf("call %d: caller %+v, the first session was %q", n, c, implicit)
		}
	}
	if other := shake(t, replicas[1], "claude-code"); other == session {
		t.Error("two clients share a session")
	}
	for n := range 4 {
		x := tool(stateless, "recall", map[string]any{"query": "stock"})
		x.client, x.header = "cursor", map[string]string{"Test-User": "lee", "Mcp-Session-Id": session}
		if text, failed := x.with(t, replicas[n%2]).toolText(t); failed {
			t.Errorf("stateless call %d: %s", n, text)
		}
		if c := o.caller; c.Agent != "cursor" || c.User != "lee" || c.Session != "" {
			t.Errorf("stateless call %d: caller %+v", n, c)
		}
	}
}

// A call belongs to the session it names, else to the connection it came by, else to what its caller counts as one: the
// agents that share a token are told apart where the protocol allows it.
func TestSessionOverHTTP(t *testing.T) {
	t.Parallel()
	o := newOffice()
	h := replica(t, o)
	connection := shake(t, h, "x")
	for _, tc := range []struct{ argument, caller, connection, want string }{
		{"ws-1", "token-1", connection, "ws-1"},
		{"", "token-1", connection, "mcp-" + connection[:36]},
		{"", "token-1", "", "token-1"},
		{"", "", connection, "mcp-" + connection[:36]},
		{"", "", "", ""},
	} {
		x := tool(sessions, "recall", map[string]any{"sessionId": tc.argument})
		x.header = map[string]string{"Test-Session": tc.caller, "Mcp-Session-Id": tc.connection}
		x.with(t, h)
		if o.caller.Session != tc.want {
			t.Errorf("%+v: session %q", tc, o.caller.Session)
		}
	}
	if o.caller.Agent != "mcp" {
		t.Errorf("a client that never said its name is called %q", o.caller.Agent)
	}
}

// Whatever a client calls itself, its session id can stand in a header, and every replica reads the same name from it.
func TestSessionIDs(t *testing.T) {
	t.Parallel()
	o := newOffice()
	a, b := replica(t, o), replica(t, o)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9 ./-]{0,90}`)).Draw(rt, "name")
		id := shake(t, a, name)
		if strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) || len(id) > 101 {
			rt.Fatalf("session id %q", id)
		}
		x := tool(sessions, "recall", nil)
		x.header = map[string]string{"Mcp-Session-Id": id}
		if x = x.with(t, b); x.status != http.StatusOK {
			rt.Fatalf("status %d: %s", x.status, x.body)
		}
		if _, agent, _ := strings.Cut(id, "."); o.caller.Agent != agent || strings.ContainsAny(agent, "/ ") {
			rt.Fatalf("agent %q, session %q", o.caller.Agent, id)
		}
	})
	for _, id := range []string{"mcp-session-0190aaaa-0000-4000-8000-000000000001", "x", uuid.NewString(), uuid.NewString() + ".", uuid.NewString() + ".a b",
		"{" + uuid.NewString() + "}.x", uuid.NewString() + "." + strings.Repeat("x", 65)} {
		x := tool(sessions, "recall", nil)
		x.header = map[string]string{"Mcp-Session-Id": id}
		if x = x.with(t, a); x.status != http.StatusNotFound { // which makes a client begin a new session
			t.Errorf("%q: status %d", id, x.status)
		}
	}
}

func TestProjectOfTheEndpoint(t *testing.T) {
	t.Parallel()
	o := newOffice()
	h := replica(t, o)
	shop, mill := o.projects["shop"].String(), o.projects["mill"].String()
	for _, tc := range []struct{ path, argument, project, refused string }{
		{"/mcp", "shop", shop, ""},
		{"/mcp", "", "", "several projects apply (ambiguous)\n- give one of shop, mill"},
		{"/mcp/p/shop", "", shop, ""},
		{"/mcp/p/" + mill, "", mill, ""},
		{"/mcp/p/" + mill, mill, mill, ""},
		{"/mcp/p/" + mill, "mill", mill, ""}, // the same one by another name
		{"/mcp/p/shop", "mill", "", `projectId: "mill" is another project than "shop", which this endpoint is for (invalid)
- leave projectId out to mean the project of this endpoint
- for the other one, use the server's endpoint /mcp, or /mcp/p/` + mill},
		{"/mcp/p/shop", "elsewhere", "", `there is no project "elsewhere"`},
		{"/mcp/p/elsewhere", "", "", `there is no project "elsewhere"`},
		{"/mcp/p/elsewhere", "shop", "", `there is no project "elsewhere"`},
	} {
		for _, version := range []string{sessions, stateless} {
			o.calls, o.caller = nil, memory.Caller{}
			x := tool(version, "remember", map[string]any{"content": "x", "projectId": tc.argument})
			x.path = tc.path
			text, failed := x.with(t, h).toolText(t)
			if tc.refused != "" {
				if !failed || !strings.Contains(text, tc.refused) || o.calls != nil {
					t.Errorf("%s %s: asked %v, %q", tc.path, tc.argument, o.calls, text)
				}
				continue
			}
			if failed || o.caller.Project.String() != tc.project {
				t.Errorf("%s %s: project %s, %q", tc.path, tc.argument, o.caller.Project, text)
			}
		}
	}
	x := exchange{path: "/mcp/p/" + mill, version: stateless, method: "resources/read", params: map[string]any{"uri": "stele://map"}}
	if x = x.with(t, h); x.result == nil || o.caller.Project.String() != mill {
		t.Errorf("resource: project %s, %s", o.caller.Project, x.body)
	}
}

// A fault is logged with the kind of what was asked for: the address itself may be the title of a memory, or a text by mistake.
func TestFaultsAreLoggedWithoutAddresses(t *testing.T) {
	t.Parallel()
	o := newOffice()
	o.err = errors.New("no connection")
	var log bytes.Buffer
	h := logging(t, o, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	const word = "quetzalcoatl"
	for _, uri := range []string{"stele://memory/" + word, "stele://element/" + word} {
		x := exchange{path: "/mcp/p/shop", version: stateless, method: "resources/read", params: map[string]any{"uri": uri}}.with(t, h)
		if x.code != -32603 {
			t.Errorf("%s: %s", uri, x.body)
		}
	}
	for _, uri := range []string{"stele://memory/{handle}", "stele://element/{key}"} {
		if !strings.Contains(log.String(), uri) {
			t.Errorf("the log lacks %s: %s", uri, log.String())
		}
	}
	if strings.Contains(log.String(), word) {
		t.Errorf("the log tells what was asked for: %s", log.String())
	}
}

// What was asked for and is not there has the code that the revision has for it, and names the resource.
func TestFaultCodes(t *testing.T) {
	t.Parallel()
	o := newOffice()
	h := replica(t, o)
	missing := problem.New(problem.NotFound, "memory", "there is no m-zzzzzzz", "look at the list")
	for _, tc := range []struct {
		name, method string
		params       map[string]any
		err          error
		codes        [2]int // with sessions, stateless
		text         string
	}{
		{"memory", "resources/read", map[string]any{"uri": "stele://memory/m-zzzzzzz"}, missing, [2]int{-32002, -32602}, "memory: there is no m-zzzzzzz; look at the list"},
		{"address", "resources/read", map[string]any{"uri": "other://x"}, nil, [2]int{-32002, -32602}, "not found"},
		{"fault", "resources/read", map[string]any{"uri": "stele://map"}, fmt.Errorf("secret-host is down"), [2]int{-32603, -32603}, "failed inside Stele"},
		{"unavailable", "resources/read", map[string]any{"uri": "stele://map"}, problem.New(problem.Unavailable, "", "no keys"), [2]int{-32603, -32603}, "no keys"},
		{"no task", "prompts/get", map[string]any{"name": "brief"}, nil, [2]int{-32602, -32602}, "task: it is required"},
		{"other prompt", "prompts/get", map[string]any{"name": "nonsense"}, nil, [2]int{-32602, -32602}, "not found"},
		{"project", "prompts/get", map[string]any{"name": "brief", "arguments": map[string]any{"task": "x", "projectId": "mill"}}, nil,
			[2]int{-32602, -32602}, "another project"},
	} {
		for n, version := range []string{sessions, stateless} {
			o.err = tc.err
			x := exchange{version: version, method: tc.method, params: tc.params, id: "a\u00e9<"}.with(t, h)
			status := http.StatusOK
			if version == stateless && tc.codes[n] == -32602 {
				status = http.StatusBadRequest
			}
			if x.code != tc.codes[n] || x.status != status && version == stateless || !strings.Contains(x.text, tc.text) || strings.Contains(x.text, "secret") {
				t.Errorf("%s at %s: status %d, %s", tc.name, version, x.status, x.body)
			}
			var id struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(x.body, &id); err != nil || id.ID != "a\u00e9<" {
				t.Errorf("%s at %s: id %q, %v", tc.name, version, id.ID, err)
			}
			want := any(nil)
			if tc.name == "memory" || tc.name == "address" {
				want = map[string]any{"uri": tc.params["uri"]}
			}
			if diff := cmp.Diff(want, x.data); diff != "" {
				t.Errorf("%s at %s: data %s", tc.name, version, diff)
			}
		}
	}
}

func TestOnlyPost(t *testing.T) {
	t.Parallel()
	h := replica(t, newOffice())
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodHead, http.MethodPut} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "/mcp", nil)
		r.Header.Set("Accept", "text/event-stream")
		h.ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("%s: status %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
	x := tool(stateless, "remember", map[string]any{"content": strings.Repeat("x", 1<<20)})
	if x = x.with(t, h); x.status != http.StatusRequestEntityTooLarge || !strings.Contains(string(x.body), "1048576 bytes") {
		t.Errorf("status %d: %s", x.status, x.body)
	}
}

// Answers to questions that the server never asked are refused, and are no news.
func TestUnaskedAnswers(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := logging(t, newOffice(), slog.New(slog.NewTextHandler(&log, nil)))
	session := shake(t, h, "x")
	for _, id := range []string{"", session, "nonsense"} {
		for _, version := range []string{sessions, stateless} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":{"x":1}}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Header.Set("Mcp-Session-Id", id)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound {
				t.Errorf("session %q at %s: status %d", id, version, w.Code)
			}
		}
	}
	if log.Len() > 0 {
		t.Errorf("the log says %s", log.String())
	}
}

// Whatever a client sends, it gets a status, and a message of the protocol where it says so.
func FuzzMessages(f *testing.F) {
	for _, x := range []exchange{
		tool(sessions, "recall", map[string]any{"query": "x"}), tool(stateless, "remember", map[string]any{"content": "x"}),
		{version: stateless, method: "resources/read", params: map[string]any{"uri": "stele://memory/m-a"}},
		{version: stateless, method: "subscriptions/listen"}, {version: sessions, method: "notifications/cancelled", notification: true},
	} {
		body, err := io.ReadAll(x.request(f.Context()).Body)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, x.version, x.method, uuid.NewString()+".x")
	}
	f.Add([]byte(`[]`), "2026-99-99", "", "x")
	h := replica(f, newOffice())
	f.Fuzz(func(t *testing.T, body []byte, version, method, session string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Protocol-Version", version)
		r.Header.Set("Mcp-Method", method)
		r.Header.Set("Mcp-Session-Id", session)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var message struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			return
		}
		if err := json.Unmarshal(w.Body.Bytes(), &message); err != nil || message.JSONRPC != "2.0" || w.Code >= http.StatusInternalServerError {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}

// slow is a domain whose recall lasts until the test or the request says otherwise.
type slow struct {
	office
	asked    chan struct{}
	released chan struct{}
}

func (s slow) Service() mcp.Service { return s }

func (s slow) Recall(ctx context.Context, _ memory.Caller, _ memory.RecallRequest) (memory.RecallResponse, error) {
	s.asked <- struct{}{}
	select {
	case <-s.released:
		return memory.RecallResponse{}, nil
	case <-ctx.Done():
		return memory.RecallResponse{}, ctx.Err()
	}
}

// A client cancels the requests of its own session by their number, and of no other: everybody counts from 1.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, version   string
		begins, cancels func(session string) string // which session each of the two requests names
		cancelled       bool
	}{
		{name: "own session", version: sessions, cancels: func(s string) string { return s }, cancelled: true},
		{name: "another session", version: sessions, cancels: func(string) string { return uuid.NewString() + ".x" }},
		{name: "no session", version: sessions, begins: func(string) string { return "" }, cancels: func(string) string { return "" }},
		{name: "stateless", version: stateless, cancels: func(s string) string { return s }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := slow{newOffice(), make(chan struct{}), make(chan struct{})}
			h := replica(t, s)
			session := shake(t, h, "x")
			first := tool(tc.version, "recall", nil)
			first.header = map[string]string{"Mcp-Session-Id": session}
			if tc.begins != nil {
				first.header["Mcp-Session-Id"] = tc.begins(session)
			}
			ended := make(chan exchange)
			go func() { ended <- first.with(t, h) }()
			select {
			case <-s.asked:
			case got := <-ended:
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			cancel := exchange{
				version: tc.version, method: "notifications/cancelled", notification: true,
				params: map[string]any{"requestId": 1}, header: map[string]string{"Mcp-Session-Id": tc.cancels(session)},
			}.with(t, h)
			if cancel.status != http.StatusAccepted {
				t.Errorf("status %d: %s", cancel.status, cancel.body)
			}
			if !tc.cancelled {
				close(s.released)
			}
			got := <-ended
			if answered := got.result != nil && got.result["isError"] != true; answered == tc.cancelled {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
}

// Nothing here lasts longer than a request, so a server that shuts down has nothing to wait for.
func TestNoStreams(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(replica(t, newOffice()))
	defer s.Close()
	for _, version := range []string{sessions, stateless} {
		r := exchange{version: version, method: "subscriptions/listen", params: map[string]any{
			"notifications": map[string]any{"toolsListChanged": true, "resourceSubscriptions": []string{"stele://map"}},
		}}.request(t.Context())
		r.RequestURI = ""
		var err error
		if r.URL, err = url.Parse(s.URL + "/mcp"); err != nil {
			t.Fatal(err)
		}
		answer, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body) // to the end, which comes by itself
		if err != nil || answer.StatusCode != http.StatusNotFound || !strings.Contains(string(body), `"code":-32601`) {
			t.Errorf("at %s: %v, status %d: %s", version, err, answer.StatusCode, body)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Config.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A client that begins a session again and again costs nothing that stays. The library keeps some 10 kB for each.
//
//nolint:paralleltest // tests that run beside it would allocate too
func TestSessionsCostNoMemory(t *testing.T) {
	h := replica(t, newOffice())
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // once more for what had a finalizer
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	shake(t, h, "x")
	before := heap()
	const clients = 2000
	for n := range clients {
		session := shake(t, h, "x")
		exchange{version: sessions, method: "ping", id: n + 2, header: map[string]string{"Mcp-Session-Id": session}}.with(t, h)
	}
	if after := heap(); after > before+1<<20 {
		t.Errorf("%d sessions left %d kB behind", clients, (after-before)>>10)
	}
	runtime.KeepAlive(h)
}

// A model pays for the list of tools in every conversation.
func TestToolsListOverHTTP(t *testing.T) {
	t.Parallel()
	h := replica(t, newOffice())
	const budget = 1800 // of the whole profile coding, without output schemas
	var lists [2]any
	for n, version := range []string{sessions, stateless} {
		x := exchange{path: "/mcp", version: version, method: "tools/list"}.with(t, h)
		list, ok := x.result["tools"].([]any)
		if !ok || len(list) == 0 {
			t.Fatalf("status %d: %s", x.status, x.body)
		}
		for _, one := range list {
			delete(one.(map[string]any), "outputSchema")
		}
		lists[n] = list
		if cost := tokens(t, list); cost > budget {
			t.Errorf("at %s tools/list costs %d tokens, at most %d", version, cost, budget)
		}
	}
	if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
		t.Errorf("the lists of the two revisions differ: %s", diff)
	}
}
