package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/client"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/stele-dev/stele/api/mcp"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

var update = flag.Bool("update", false, "write the snapshots anew")

// domain answers with fixed values and keeps what it was asked.
type domain struct {
	mu     sync.Mutex
	calls  []string
	caller memory.Caller
	last   any
	err    error

	arrived []string               // sessions of all calls
	started func(*session.Started) // changes what a start is answered
}

func (d *domain) asked(name string, c memory.Caller, request any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.caller, d.last = append(d.calls, name), c, request
	return d.err
}

func sample() memory.Memory {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return memory.Memory{
		ID: uuid.MustParse("0190aaaa-0000-7000-8000-000000000001"), Handle: "m-aaaaaaa", Kind: memory.Pitfall, Content: "Stock is cached for a minute.",
		Scope: memory.Project, Status: memory.Live, Elements: []memory.ElementRef{{Key: "shop.api", Name: "API", Level: "container", Reason: "by api/stock.go"}},
		Paths: []string{"api/stock.go"}, Tags: []string{}, Author: "kim", Origin: memory.FromCLI, CreatedAt: at, ConfirmedAt: at, Revision: 1,
		Flags: []memory.Flag{}, Links: []memory.Link{},
	}
}

func (d *domain) Remember(_ context.Context, c memory.Caller, r memory.RememberRequest) (memory.RememberResponse, error) {
	return memory.RememberResponse{
		Memory: sample(), SimilarTo: []memory.Similar{{Handle: "m-bbbbbbb", Excerpt: "Stock is cached for two minutes.", Cosine: 0.9, Differs: "numbers"}},
		Redacted: []memory.Redaction{{Kind: "token", Count: 1}}, Warnings: []string{},
	}, d.asked("remember", c, r)
}

func (d *domain) Recall(_ context.Context, c memory.Caller, r memory.RecallRequest) (memory.RecallResponse, error) {
	return memory.RecallResponse{Results: []memory.Result{{Memory: sample(), Score: 1.5}}, Index: []memory.IndexEntry{}, TotalTokens: 12}, d.asked("recall", c, r)
}

func (d *domain) Confirm(_ context.Context, c memory.Caller, r memory.ConfirmRequest) (memory.Memory, error) {
	return sample(), d.asked("confirm", c, r)
}

func (d *domain) Get(_ context.Context, c memory.Caller, refs []string) ([]memory.Memory, error) {
	return []memory.Memory{sample()}, d.asked("get", c, refs)
}

func (d *domain) List(_ context.Context, c memory.Caller, r memory.ListRequest) (memory.ListResponse, error) {
	other := sample()
	other.Handle = "m-bbbbbbb"
	return memory.ListResponse{Memories: []memory.Memory{sample(), other}}, d.asked("list", c, r)
}

func (d *domain) Timeline(_ context.Context, c memory.Caller, ref string, limit int) (memory.TimelineResponse, error) {
	return memory.TimelineResponse{Entries: []memory.TimelineEntry{}}, d.asked("timeline", c, fmt.Sprint(ref, limit))
}

func (d *domain) Context(_ context.Context, c memory.Caller, r memory.ContextRequest) (memory.ContextResponse, error) {
	return memory.ContextResponse{Elements: []memory.ContextElement{}}, d.asked("context", c, r)
}

func (d *domain) Impact(_ context.Context, c memory.Caller, r memory.ImpactRequest) (memory.ImpactResponse, error) {
	return memory.ImpactResponse{
		Element: memory.ElementRef{Key: r.Element, Level: "container"}, Paths: []string{}, Dependencies: []memory.ImpactElement{}, Work: []memory.Work{},
		Dependents: []memory.ImpactElement{{ElementRef: memory.ElementRef{Key: "shop.web"}, Distance: 1, Model: []string{"places orders"}, Code: []memory.CodeLine{}}},
		Code:       memory.CodeWitness{Runs: []memory.CodeRun{}, Note: "no run"}, Memories: []memory.KnownMemory{},
	}, d.asked("impact", c, r)
}

func (d *domain) Plan(_ context.Context, c memory.Caller, r memory.PlanRequest) (memory.PlanResponse, error) {
	return memory.PlanResponse{
		Steps: []memory.PlanStep{{
			Element: memory.ElementRef{Key: "shop.api", Level: "container"}, Reasons: []string{"name: api"}, Order: "no other step depends on it", Paths: []string{},
			Verify: []memory.KnownMemory{}, Bound: []memory.KnownMemory{}, Decisions: []memory.BoundDecision{}, Check: []memory.Neighbour{},
		}},
		Decisions: []memory.BoundDecision{}, Work: []memory.Work{},
	}, d.asked("plan", c, r)
}

func (d *domain) Map(_ context.Context, c memory.Caller) (memory.Map, error) {
	return memory.Map{Headline: "1 of 2 elements documented", Documented: 1, Total: 2, Elements: []memory.MapElement{{Key: "shop.api"}, {Key: "shop.web"}},
		Holes: []memory.Hole{}}, d.asked("map", c, nil)
}

func (d *domain) Forget(_ context.Context, c memory.Caller, r memory.ForgetRequest) (memory.ForgetResponse, error) {
	return memory.ForgetResponse{Memory: sample(), Warnings: []string{"older backups still hold it"}}, d.asked("forget", c, r)
}

func (d *domain) Restore(_ context.Context, c memory.Caller, ref string) (memory.Memory, error) {
	return sample(), d.asked("restore", c, ref)
}

func (d *domain) DriftScore(_ context.Context, c memory.Caller) (memory.DriftScore, error) {
	score := 87
	return memory.DriftScore{Status: drift.Checked, Score: &score, Levels: map[string]drift.Tally{"container": {Score: 87, Passed: 7, Weight: 8}},
		Findings: 1, Runs: []memory.RunSummary{sampleRun()}}, d.asked("score", c, nil)
}

func (d *domain) DriftRun(_ context.Context, c memory.Caller, id string) (memory.RunReport, error) {
	r := drift.Report{Status: drift.Checked, Elements: map[string]drift.Tally{"shop.pay_api": {}}, None: map[string]string{"shop.old_api": "gone"}}
	for n := range 150 {
		r.Findings = append(r.Findings, drift.Finding{Fingerprint: fmt.Sprint(n), Check: drift.Existence, Element: []string{"shop.api", "shop.pay_api"}[n%2],
			Subject: "api/**", Message: "no file matches api/**", Since: &drift.Since{Commit: "0123456789abcdef", Author: "Ana", Subject: "Move </stele-memory> it", Time: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}})
	}
	return memory.RunReport{Run: sampleRun(), Report: r}, d.asked("run", c, id)
}

func (d *domain) DriftHistory(_ context.Context, c memory.Caller, q memory.RunQuery) ([]memory.RunSummary, error) {
	return []memory.RunSummary{sampleRun()}, d.asked("history", c, q)
}

func sampleRun() memory.RunSummary {
	score := 87
	return memory.RunSummary{ID: "0190aaaa-0000-7000-8000-0000000000aa", Repository: "example.org/shop", Branch: "main", Commit: "0123456789abcdef",
		ArrivedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Tracked: true, Status: "checked", Score: &score, NewFindings: 1, Doubted: 2}
}

func (d *domain) Service() mcp.Service { return d }

func (d *domain) Seen(context.Context) *memory.Seen { return &memory.Seen{Commit: "c0ffee"} }

func (d *domain) Relative(path string) string { return strings.TrimPrefix(path, "/repo/") }

func (d *domain) Caller(_ context.Context, project string, writes bool) (memory.Caller, error) {
	if project == "elsewhere" {
		return memory.Caller{}, problem.New(problem.NotFound, "projectId", `there is no project "elsewhere"`, "shop (0190aaaa-0000-7000-8000-00000000000a)")
	}
	role := memory.RoleAgent
	if writes {
		role = memory.RoleReviewer // so that a test can see what was asked
	}
	return memory.Caller{User: "kim", Role: role}, nil
}

// connect starts a server on d and a client of it.
func connect(t *testing.T, d *domain, profile mcp.Profile, open func(context.Context) (mcp.Backend, error)) *client.Client {
	t.Helper()
	if open == nil {
		open = func(context.Context) (mcp.Backend, error) { return d, nil }
	}
	s, err := mcp.New(mcp.Options{Open: open, Profile: profile, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Start(ctx)
	c, err := client.NewInProcessClient(s.Handler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		s.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var hello protocol.InitializeRequest
	hello.Params.ProtocolVersion = protocol.ProtocolVersion20250618
	hello.Params.ClientInfo = protocol.Implementation{Name: "test client/é\n", Version: "1"}
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	return c
}

func callTool(t *testing.T, c *client.Client, name, arguments string) (*protocol.CallToolResult, string) {
	t.Helper()
	var r protocol.CallToolRequest
	r.Params.Name = name
	if err := json.Unmarshal([]byte(arguments), &r.Params.Arguments); err != nil {
		t.Fatal(err)
	}
	got, err := c.CallTool(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(got.Content) != 1 {
		t.Fatalf("%s: %d contents", name, len(got.Content))
	}
	text, ok := got.Content[0].(protocol.TextContent)
	if !ok {
		t.Fatalf("%s: content %T", name, got.Content[0])
	}
	return got, text.Text
}

// Budgets of tools/list in tokens (bytes ÷ 4), without and with output schemas, which clients keep to themselves.
const (
	inputBudget  = 1800
	outputBudget = 4000
)

func TestToolsList(t *testing.T) {
	t.Parallel()
	for _, profile := range []mcp.Profile{mcp.Coding, mcp.Full} {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			c := connect(t, &domain{}, profile, nil)
			list, err := c.ListTools(t.Context(), protocol.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range list.Tools {
				a := tool.Annotations
				if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
					t.Errorf("%s: not all four annotations are set", tool.Name)
				}
			}
			text, err := json.MarshalIndent(list.Tools, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "tools-"+string(profile)+".json", append(text, '\n'))
			if profile != mcp.Coding {
				return
			}
			var generic []map[string]any
			if err := json.Unmarshal(text, &generic); err != nil {
				t.Fatal(err)
			}
			whole := tokens(t, generic)
			for _, tool := range generic {
				delete(tool, "outputSchema")
			}
			lean := tokens(t, generic)
			t.Logf("tools/list costs %d tokens, %d with output schemas", lean, whole)
			if lean > inputBudget || whole > outputBudget {
				t.Errorf("tools/list costs %d tokens (at most %d), %d with output schemas (at most %d)", lean, inputBudget, whole, outputBudget)
			}
		})
	}
}

func tokens(t *testing.T, v any) int {
	t.Helper()
	b, err := json.Marshal(map[string]any{"tools": v})
	if err != nil {
		t.Fatal(err)
	}
	return (len(b) + 3) / 4
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test -update writes it anew): %s", name, diff)
	}
}

// The protocol promises that structured content fits the output schema; every tool's answer is held to it.
func TestAnswersFitTheirSchemas(t *testing.T) {
	t.Parallel()
	c := connect(t, &domain{}, mcp.Full, nil)
	list, err := c.ListTools(t.Context(), protocol.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	arguments := map[string]string{
		"remember": `{"content":"x"}`, "recall": `{}`, "confirm_memory": `{"memory":"m-aaaaaaa"}`, "get_memories": `{"memory":"m-aaaaaaa"}`,
		"timeline": `{"memory":"m-aaaaaaa"}`, "find_relevant_context": `{"task":"x"}`, "knowledge_map": `{}`, "impact_of": `{"element":"x"}`, "plan_work": `{"task":"x"}`, "forget_memory": `{"memory":"m-aaaaaaa"}`,
		"restore_memory": `{"memory":"m-aaaaaaa"}`, "get_drift_score": `{}`, "get_drift_details": `{}`, "get_drift_history": `{}`, "review_queue": `{}`,
		"resolve_review":     `{"action":"keep","memory":"m-aaaaaaa"}`,
		"start_work_session": `{}`, "heartbeat_work_session": `{}`, "finish_work_session": `{}`, "list_work_sessions": `{}`,
	}
	for _, tool := range list.Tools {
		got, text := callTool(t, c, tool.Name, arguments[tool.Name])
		if got.IsError || text == "" {
			t.Errorf("%s: error %v, text %q", tool.Name, got.IsError, text)
			continue
		}
		answer, ok := got.StructuredContent.(map[string]any)
		if !ok {
			t.Errorf("%s: structured content is %T", tool.Name, got.StructuredContent)
			continue
		}
		for key, value := range answer {
			property, ok := tool.OutputSchema.Properties[key].(map[string]any)
			if !ok {
				t.Errorf("%s: %s is not in the schema", tool.Name, key)
				continue
			}
			if !fits(property, value) {
				t.Errorf("%s: %s is %T, the schema says %v", tool.Name, key, value, property)
			}
			if strings.Contains(key, "_") {
				t.Errorf("%s: %s is not camelCase", tool.Name, key)
			}
		}
	}
}

func fits(schema map[string]any, value any) bool {
	if several, ok := schema["anyOf"].([]any); ok {
		return slices.ContainsFunc(several, func(one any) bool {
			s, ok := one.(map[string]any)
			return ok && fits(s, value)
		})
	}
	is := "null"
	switch v := value.(type) {
	case string:
		is = "string"
	case bool:
		is = "boolean"
	case float64:
		is = "number"
		if v == float64(int(v)) && schema["type"] == "integer" {
			is = "integer"
		}
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	}
	return schema["type"] == is
}

func TestRemember(t *testing.T) {
	t.Parallel()
	d := &domain{}
	c := connect(t, d, mcp.Coding, nil)
	got, text := callTool(t, c, "remember", `{"content":"Stock is cached.","type":"pitfalls","elements":"shop.api","path":"[\"/repo/api/stock.go\"]","why":"load"}`)
	if diff := cmp.Diff(memory.RememberRequest{
		Content: "Stock is cached.", Kind: memory.Pitfall, Elements: []string{"shop.api"}, Paths: []string{"api/stock.go"}, Why: "load",
		Seen: &memory.Seen{Commit: "c0ffee"},
	}, d.last); diff != "" {
		t.Error(diff)
	}
	if c := d.caller; c.Agent != "test-client-" || c.Door != memory.FromMCP || c.User != "kim" || c.Role != memory.RoleReviewer || c.Session == "" {
		t.Errorf("caller %+v", c)
	}
	for _, want := range []string{"Stored m-aaaaaaa (pitfall).", "shop.api, by api/stock.go", "Removed before storing: 1 × token", "m-bbbbbbb Stock is cached for two minutes. (differs in numbers)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the text:\n%s", want, text)
		}
	}
	answer := got.StructuredContent.(map[string]any)
	if _, ok := answer["similarTo"]; !ok {
		t.Errorf("structured content %v", answer)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	d := &domain{}
	a, b := connect(t, d, mcp.Coding, nil), connect(t, d, mcp.Coding, nil)
	session := func(c *client.Client, args string) string {
		callTool(t, c, "recall", args)
		return d.caller.Session
	}
	first := session(a, `{}`)
	if first == "" || first != session(a, `{"query":"x"}`) {
		t.Error("one connection is not one session")
	}
	if first == session(b, `{}`) {
		t.Error("two connections share a session")
	}
	if got := session(a, `{"session_id":"ws-1"}`); got != "ws-1" {
		t.Errorf("a named session became %q", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	d := &domain{}
	c := connect(t, d, mcp.Coding, nil)
	for _, tc := range []struct{ tool, arguments, want string }{
		{"remember", `{"content":"x","colour":"red"}`, "colour: there is no such argument (invalid)\n- the arguments are content, kind,"},
		{"recall", `{"limit":0}`, "limit: 0 is out of range"},
		{"recall", `{"asOf":"yesterday"}`, "asOf: \"yesterday\" is not a time"},
		{"recall", `{"projectId":"elsewhere"}`, "there is no project \"elsewhere\" (not_found)\n- shop (0190aaaa"},
		{"confirm_memory", `{}`, "memory: it is required"},
	} {
		got, text := callTool(t, c, tc.tool, tc.arguments)
		if !got.IsError || !strings.Contains(text, tc.want) {
			t.Errorf("%s %s: error %v, %q", tc.tool, tc.arguments, got.IsError, text)
		}
	}
	if d.calls != nil {
		t.Errorf("the domain was asked %v", d.calls)
	}
	d.err = errors.New("connection to secret-host refused")
	if got, text := callTool(t, c, "recall", `{}`); !got.IsError || strings.Contains(text, "secret-host") {
		t.Errorf("a fault: error %v, %q", got.IsError, text)
	}
	d.err = fmt.Errorf("confirm: %w", problem.New(problem.Stale, "memory", "it has changed", "read it again"))
	if got, text := callTool(t, c, "confirm_memory", `{"memory":"m-aaaaaaa","holds":"no"}`); !got.IsError || text != "memory: it has changed (stale)\n- read it again" {
		t.Errorf("a wrapped problem: error %v, %q", got.IsError, text)
	}
	if r, ok := d.last.(memory.ConfirmRequest); !ok || r.Holds {
		t.Errorf("asked %+v", d.last)
	}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	if _, err := mcp.New(mcp.Options{Profile: "everything"}); !problem.Is(err, problem.Invalid) {
		t.Errorf("got %v", err)
	}
	c := connect(t, &domain{}, mcp.Coding, nil)
	var r protocol.CallToolRequest
	r.Params.Name = "forget_memory"
	if _, err := c.CallTool(t.Context(), r); err == nil {
		t.Error("profile coding forgets")
	}
}

// A client has its tools before the database is up; a call waits for it, says what is wrong, and works once it is mended.
func TestOpensLazily(t *testing.T) {
	t.Parallel()
	d := &domain{}
	gate := make(chan struct{})
	var mu sync.Mutex
	openings, wrong := 0, error(problem.New(problem.Unavailable, "", "no PostgreSQL server is installed", "run: stele setup"))
	c := connect(t, d, mcp.Coding, func(context.Context) (mcp.Backend, error) {
		<-gate
		mu.Lock()
		defer mu.Unlock()
		openings++
		return d, wrong
	})
	if list, err := c.ListTools(t.Context(), protocol.ListToolsRequest{}); err != nil || len(list.Tools) != 12 {
		t.Errorf("%v, %v", list, err)
	}
	close(gate)
	if got, text := callTool(t, c, "recall", `{}`); !got.IsError || text != "no PostgreSQL server is installed (unavailable)\n- run: stele setup" {
		t.Errorf("got %q", text)
	}
	mu.Lock()
	wrong, openings = nil, 0
	mu.Unlock()
	for range 3 {
		if got, text := callTool(t, c, "recall", `{}`); got.IsError {
			t.Errorf("after it was mended: %q", text)
		}
	}
	if openings != 1 {
		t.Errorf("opened %d times", openings)
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	d := &domain{}
	c := connect(t, d, mcp.Coding, nil)
	for uri, want := range map[string]struct{ asked, text string }{
		"stele://map":                 {"map", "1 of 2 elements"},
		"stele://memory/m-aaaaaaa":    {"get", "Stock is cached"},
		"stele://element/shop.api":    {"recall", "Stock is cached"},
		"stele://element/shop.~a%20b": {"recall", "Stock is cached"},
	} {
		var r protocol.ReadResourceRequest
		r.Params.URI = uri
		got, err := c.ReadResource(t.Context(), r)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		text, ok := got.Contents[0].(protocol.TextResourceContents)
		if !ok || !strings.Contains(text.Text, want.text) || d.calls[len(d.calls)-1] != want.asked {
			t.Errorf("%s: asked %v, got %+v", uri, d.calls, got.Contents)
		}
		if strings.Contains(uri, "%20") && d.last.(memory.RecallRequest).Element != "shop.~a b" {
			t.Errorf("%s: asked for %+v", uri, d.last)
		}
	}
	d.err = problem.New(problem.NotFound, "memory", "there is no m-zzzzzzz", "look at stele list")
	var r protocol.ReadResourceRequest
	r.Params.URI = "stele://memory/m-zzzzzzz"
	if _, err := c.ReadResource(t.Context(), r); err == nil || !strings.Contains(err.Error(), "there is no m-zzzzzzz") {
		t.Errorf("got %v", err)
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	c := connect(t, &domain{}, mcp.Coding, nil)
	for _, tc := range []struct {
		uri, typed string
		want       []string
	}{
		{"stele://memory/{handle}", "m-b", []string{"m-bbbbbbb"}},
		{"stele://element/{key}", "SHOP.", []string{"shop.api", "shop.web"}},
		{"stele://element/{key}", "x", []string{}},
	} {
		var r protocol.CompleteRequest
		r.Params.Ref = protocol.ResourceReference{Type: "ref/resource", URI: tc.uri}
		r.Params.Argument = protocol.CompleteArgument{Name: "x", Value: tc.typed}
		got, err := c.Complete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got.Completion.Values); diff != "" {
			t.Errorf("%s %q: %s", tc.uri, tc.typed, diff)
		}
	}
}

// What was asked before the input ended is answered, and then the server ends. The library keeps one global session for
// standard input and output, so everything about it is in this one test.
func TestStdio(t *testing.T) {
	t.Parallel()
	d := &domain{}
	var log bytes.Buffer
	s, err := mcp.New(mcp.Options{
		Open: func(context.Context) (mcp.Backend, error) { return d, nil },
		Log:  slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`this is not JSON`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"recall","arguments":{"query":"private words"}}}`,
		`{"jsonrpc":"2.0","id":"three","method":"tools/call","params":{"name":"recall","arguments":{"nonsense":1}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"other://x"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"ping"}`, // the last one without an end of line
	}, "\n")
	var out bytes.Buffer
	if err := s.ServeStdio(t.Context(), io.MultiReader(strings.NewReader(in)), &out); err != nil {
		t.Fatal(err)
	}
	answered := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Result  json.RawMessage `json:"result"`
			Error   json.RawMessage `json:"error"`
		}
		if strings.Contains(line, `"id":5`) && !strings.Contains(line, `"code":-32002`) {
			t.Errorf("what is not there is called %s", line)
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			t.Errorf("not protocol: %q", line)
		}
		answered[string(m.ID)] = m.Result != nil
	}
	if diff := cmp.Diff(map[string]bool{"1": true, "2": true, `"three"`: true, "4": true, "5": false, "null": false}, answered); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(log.String(), "private words") {
		t.Errorf("the log holds what was asked: %s", log.String())
	}
}
