package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/memory"
)

func TestOpenPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, want := range map[string]string{"/healthz": `"ok"`, "/readyz": `"ready":true`, "/openapi.json": `"3.1.0"`, "/docs": "<html", "/sign-in": "<html", "/": "Sign in"} {
		if got := w.send("", http.MethodGet, path, nil); got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %.200s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1", "/v1/nothing", "/metrics", "/mcp", "/mcp/p/shop", "/debug/pprof/", "/v1/../healthz/x", "/%2e%2e/etc/passwd"} {
		if got := w.send("", http.MethodGet, path, nil); got.status != 401 {
			t.Errorf("%s without a token: %d %.200s", path, got.status, got.body)
		}
	}
	if got := w.send(w.acme.tokens[agentToken], http.MethodGet, "/nothing", nil); got.status != 404 || !strings.Contains(got.body, `"not_found"`) {
		t.Errorf("nothing: %d %s", got.status, got.body)
	}
}

// Anyone may ask whether a server is ready; why it is not is in the log.
func TestReadinessTellsNoReasons(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *api.Options) {
		o.Ready = append(o.Ready, api.Check{Name: "disk", Run: func(context.Context) error { return errors.New("password=hunter2") }})
	})
	got := w.send("", http.MethodGet, "/readyz", nil)
	if got.status != 503 || strings.Contains(got.body, "hunter2") || !strings.Contains(got.body, `"disk":false`) || !strings.Contains(got.body, `"database":true`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if !strings.Contains(w.log.String(), "hunter2") {
		t.Error("the log does not say why")
	}
}

// Metrics count by route, never by what somebody asked for. They are about all tenants, so they are on an address of their
// own, and no token opens them on that of the tenants.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.acme.tokens[agentToken]
	w.send(agent, http.MethodGet, "/v1/projects/shop/memories/"+w.acme.memory.Handle, nil)
	w.send(agent, http.MethodGet, "/v1/projects/secretplan/memories", nil)
	w.send("", http.MethodGet, "/secretplan", nil)
	w.send("stele_wrong", http.MethodGet, "/v1/whoami", nil)
	for _, holder := range []string{ciToken, agentToken, reviewerToken, adminToken} {
		if got := w.send(w.acme.tokens[holder], http.MethodGet, "/metrics", nil); got.status != 404 {
			t.Errorf("as %s: %d %.200s", holder, got.status, got.body)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- w.server.ServeMetrics(ctx, l) }()
	text := scrape(t, "http://"+l.Addr().String()+"/metrics", 200)
	for _, want := range []string{
		`stele_http_requests_total{method="GET",route="GET /v1/projects/{project}/memories/{memory}",status="200"} 1`,
		`stele_refused_total{reason="wrong_token"} 1`, `stele_build_info{version="test"} 1`, "go_goroutines", "stele_http_request_seconds_bucket",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	for _, word := range []string{"secretplan", w.acme.memory.Handle, "acme", agentToken + `"`} {
		if strings.Contains(text, word) {
			t.Errorf("the metrics tell %q", word)
		}
	}
	scrape(t, "http://"+l.Addr().String()+"/v1/projects", 404)
	cancel()
	if err := <-served; err != nil {
		t.Errorf("serving metrics ended with %v", err)
	}
}

// scrape asks as Prometheus does.
func scrape(t *testing.T, url string, want int) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		t.Fatalf("%s: %s %v", url, res.Status, err)
	}
	return string(text)
}

// Lines of the log tell who asked what kind of question, never which.
func TestTheLogTellsNoContent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.acme.tokens[adminToken]
	const word = "quetzalcoatl"
	w.send(admin, http.MethodPost, "/v1/projects/shop/memories", memory.RememberRequest{Content: word + " sleeps", Title: word})
	w.send(admin, http.MethodPost, "/v1/projects/shop/recall", memory.RecallRequest{Query: word})
	w.send(admin, http.MethodGet, "/v1/projects/shop/memories/"+word, nil)
	w.send(admin, http.MethodGet, "/v1/projects/"+word+"/memories?author="+word, nil)
	w.send(admin, http.MethodPost, "/v1/projects/shop/memories", `{"content":"`+word)
	w.send(admin, http.MethodPost, "/v1/projects/shop/memories", map[string]any{word: 1})
	w.send(admin, http.MethodPost, "/mcp/p/shop", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "recall", "arguments": map[string]any{word: word}}})
	w.send(admin, http.MethodPost, "/mcp/p/"+word, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": word}})
	log := w.log.String()
	for _, secret := range []string{word, "canary", admin, admin[:30], "stele_"} {
		if strings.Contains(strings.ToLower(log), secret) {
			t.Errorf("the log tells %q:\n%s", secret, log)
		}
	}
	if !strings.Contains(log, `"took_ms":`) {
		t.Errorf("the log does not tell how long a request took:\n%s", log)
	}
	if !strings.Contains(log, `"route":"POST /v1/projects/{project}/recall"`) || !strings.Contains(log, `"user":"admin"`) {
		t.Errorf("the log does not tell what was asked, or by whom:\n%s", log)
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/healthz", "/v1/whoami", "/nothing", "/openapi.json"} {
		h := w.send(w.acme.tokens[agentToken], http.MethodGet, path, nil).header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") == "" || h.Get("Stele-Request-Id") == "" || h.Get("Server") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// stubborn is a service whose parts panic, as a bug does.
type stubborn struct{ api.Domain }

func (stubborn) Map(context.Context, memory.Caller) (memory.Map, error) {
	panic(errors.New("hunter2 in a panic"))
}

func TestAPanicIsOneRequestOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *api.Options) { o.Service = stubborn{o.Service.(api.Domain)} })
	agent := w.acme.tokens[agentToken]
	got := w.send(agent, http.MethodGet, "/v1/projects/shop/knowledge-map", nil)
	if got.status != 500 || strings.Contains(got.body, "hunter2") || strings.Contains(got.body, ".go") || !strings.Contains(got.body, "internal") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if log := w.log.String(); strings.Contains(log, "hunter2") || !strings.Contains(log, "knowledge.go") && !strings.Contains(log, "server_test.go") {
		t.Errorf("the log should tell where, and not the value: %s", log)
	}
	if got := w.send(agent, http.MethodGet, "/v1/whoami", nil); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// A server that is told to stop says so, ends streams, finishes what it works on, and leaves nothing running.
//
//nolint:paralleltest // it counts what runs
func TestStopping(t *testing.T) {
	w := newWorld(t)
	w.http.Close()
	w.http.Client().CloseIdleConnections()
	before := goleak.IgnoreCurrent()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ctx, l) }()
	transport := &http.Transport{}
	client := &http.Client{Transport: transport}
	get := func(path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+w.acme.tokens[agentToken])
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	stream := get("/v1/projects/shop/events?after=0.0.0")
	lines := bufio.NewScanner(stream.Body)
	if !lines.Scan() {
		t.Fatal("the stream says nothing")
	}
	cancel()
	ended := make(chan struct{})
	go func() {
		for lines.Scan() {
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the stream goes on")
	}
	if err := <-served; err != nil {
		t.Errorf("serving ended with %v", err)
	}
	_ = stream.Body.Close()
	transport.CloseIdleConnections()
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

// raw sends bytes as they are and gives the first line of the answer.
func raw(t *testing.T, w *world, text string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", w.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// A server that refuses early may close before it read everything.
	_, _ = fmt.Fprint(conn, text)
	line, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line)
}
