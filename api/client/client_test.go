package client_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// token is no token of any server.
const token = "stele_abcdefghijklmnopqrstuvwxyz234567"

// carrier is a network of one function.
type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// response makes an answer of a status, a media type and a text.
func response(status int, kind, body string, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {kind}}
	for n := 0; n < len(headers); n += 2 {
		h.Set(headers[n], headers[n+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func connect(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	if o.URL == "" {
		o.URL = "https://stele.example/team/"
	}
	if o.Token == "" {
		o.Token = token
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		url, token string
		insecure   bool
		want       string // the address, or a part of the error
	}{
		{url: "https://stele.example", want: "https://stele.example"},
		{url: " https://stele.example:8443/team/ ", want: "https://stele.example:8443/team"},
		{url: "http://localhost:7420", want: "http://localhost:7420"},
		{url: "http://127.0.0.1:7420/", want: "http://127.0.0.1:7420"},
		{url: "http://[::1]:7420", want: "http://[::1]:7420"},
		{url: "http://stele.example", want: "server: http to another machine (stele.example) would show the token"},
		{url: "http://localhost.example", want: "http to another machine"},
		{url: "http://10.0.0.7:7420", want: "http to another machine"},
		{url: "http://10.0.0.7:7420", insecure: true, want: "http://10.0.0.7:7420"},
		{url: "stele.example", want: `"stele.example" is not the address of a server`},
		{url: "stele.example:7420", want: "is not the address of a server"},
		{url: "ftp://stele.example", want: "is not the address of a server"},
		{url: "https://", want: "is not the address of a server"},
		{url: "https://kim:hunter2@stele.example", want: "the address holds a user or password"},
		{url: "ftp://kim:hunter2@stele.example", want: "is not the address of a server"},
		{url: "https://stele.example\x7f:hunter2", want: "the address cannot be read"},
		{url: "https://stele.example?token=hunter2", want: "the address goes on after its path"},
		{url: "https://stele.example", token: " ", want: "token: the server stele.example wants a token, and none is set; set STELE_TOKEN"},
		{url: "https://stele.example", token: "hunter2\nX: y", want: "token: it has characters that no token has"},
	} {
		if tc.token == "" {
			tc.token = token
		}
		c, err := client.New(client.Options{URL: tc.url, Token: tc.token, Insecure: tc.insecure})
		switch {
		case err == nil && c.URL() != tc.want:
			t.Errorf("%q: got %s, want %s", tc.url, c.URL(), tc.want)
		case err != nil && !strings.Contains(err.Error(), tc.want):
			t.Errorf("%q: got %v, want %s", tc.url, err, tc.want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%q: the error tells what was secret: %v", tc.url, err)
		}
		if p, ok := problem.As(err); err != nil && (!ok || len(p.Fixes) == 0) {
			t.Errorf("%q: %v is no problem with a fix", tc.url, err)
		}
	}
}

// sent is what a server would see of one call.
type sent struct {
	Line  string // method, path and query, as on the wire
	Body  string
	Write bool // under an idempotency key
}

// Every call of the domain is one request of the API.
func TestRequests(t *testing.T) {
	t.Parallel()
	project := uuid.MustParse("0190aaaa-0000-7000-8000-000000000001")
	by := memory.Caller{Project: project, Agent: "tester", Session: "mcp-1", Door: memory.FromMCP}
	since := time.Date(2026, 1, 31, 12, 0, 0, 0, time.FixedZone("", 3600))
	in := func(path string) string { return "/team/v1/projects/" + project.String() + path }
	none, hot, zero := []string{}, []string{"hot"}, 0
	never := ""
	for name, tc := range map[string]struct {
		call func(ctx context.Context, c *client.Client) error
		want sent
	}{
		"remember": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Remember(ctx, by, memory.RememberRequest{Kind: memory.Pitfall, Content: "Tea is hot.", Tags: hot})
			return err
		}, sent{"POST " + in("/memories"), `{"content":"Tea is hot.","kind":"pitfall","separate":false,"tags":["hot"]}`, true}},
		"recall": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Recall(ctx, by, memory.RecallRequest{Query: "tea", MaxTokens: &zero, Limit: 8})
			return err
		}, sent{"POST " + in("/recall"), `{"explain":false,"include_expired":false,"limit":8,"max_tokens":0,"query":"tea"}`, false}},
		"dispute": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Confirm(ctx, by, memory.ConfirmRequest{Memory: "m-7k3f9qa", Revision: 3})
			return err
		}, sent{"POST " + in("/memories/m-7k3f9qa/confirm"), `{"holds":false,"revision":3}`, true}},
		"edit": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Edit(ctx, by, memory.EditRequest{Memory: "Stock cache", Tags: &none, Expires: &never})
			return err
		}, sent{"PATCH " + in("/memories/Stock%20cache"), `{"expires":"","tags":[]}`, true}},
		"retire": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Forget(ctx, by, memory.ForgetRequest{Memory: "a/b", Reason: "gone"})
			return err
		}, sent{"POST " + in("/memories/a%2Fb/retire"), `{"reason":"gone"}`, true}},
		"erase": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Forget(ctx, by, memory.ForgetRequest{Memory: "..", Erase: true})
			return err
		}, sent{"POST " + in("/memories/%2E%2E/erase"), `{}`, true}},
		"restore": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Restore(ctx, by, "50% of é")
			return err
		}, sent{"POST " + in("/memories/50%25%20of%20%C3%A9/restore"), `{}`, true}},
		"get": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Get(ctx, by, []string{"m-7k3f9qa", "Stock"})
			return err
		}, sent{"POST " + in("/memories/open"), `{"memories":["m-7k3f9qa","Stock"]}`, false}},
		"list": {func(ctx context.Context, c *client.Client) error {
			_, err := c.List(ctx, by, memory.ListRequest{Kinds: []memory.Kind{memory.Note, memory.Pitfall}, Status: "all", Since: &since, Limit: 5, Cursor: "x"})
			return err
		}, sent{"GET " + in("/memories?cursor=x&kind=note&kind=pitfall&limit=5&since=2026-01-31T11%3A00%3A00Z&status=all"), "", false}},
		"timeline": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Timeline(ctx, by, "m-7k3f9qa", 20)
			return err
		}, sent{"GET " + in("/memories/m-7k3f9qa/timeline?limit=20"), "", false}},
		"timeline of the project": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Timeline(ctx, by, " ", 0)
			return err
		}, sent{"GET " + in("/timeline"), "", false}},
		"history": {func(ctx context.Context, c *client.Client) error {
			_, err := c.History(ctx, by, "m-7k3f9qa")
			return err
		}, sent{"GET " + in("/memories/m-7k3f9qa/history"), "", false}},
		"context": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Context(ctx, by, memory.ContextRequest{Task: "brew", Limit: 3})
			return err
		}, sent{"POST " + in("/context"), `{"limit":3,"task":"brew"}`, false}},
		"why": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Why(ctx, by, "a b/tea.go", 12)
			return err
		}, sent{"GET " + in("/why?line=12&path=a+b%2Ftea.go"), "", false}},
		"map": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Map(ctx, by)
			return err
		}, sent{"GET " + in("/knowledge-map"), "", false}},
		"import": {func(ctx context.Context, c *client.Client) error {
			_, err := c.ImportModel(ctx, by, memory.ModelImport{Model: &c4model.Model{Name: "Shop"}, Source: "a.dsl"})
			return err
		}, sent{"POST " + in("/model"), `{"bindings":[],"dry_run":false,"model":{"elements":null,"name":"Shop","relationships":null,"warnings":null},"source":"a.dsl"}`, true}},
		"check": {func(ctx context.Context, c *client.Client) error {
			_, err := c.ImportModel(ctx, by, memory.ModelImport{Source: "a.dsl", DryRun: true})
			return err
		}, sent{"POST " + in("/model"), `{"bindings":[],"dry_run":true,"source":"a.dsl"}`, false}},
		"model": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Model(ctx, by)
			return err
		}, sent{"GET " + in("/model"), "", false}},
		"bind": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Bind(ctx, by, memory.BindRequest{Element: "shop.api"})
			return err
		}, sent{"POST " + in("/bindings"), `{"element":"shop.api","patterns":[]}`, true}},
		"uncommitted bindings": {func(ctx context.Context, c *client.Client) error {
			_, err := c.UncommittedBindings(ctx, by)
			return err
		}, sent{"GET " + in("/bindings/patch"), "", false}},
		"decisions": {func(ctx context.Context, c *client.Client) error {
			_, err := c.ImportDecisions(ctx, by, nil, "docs/adr")
			return err
		}, sent{"POST " + in("/adrs"), `{"decisions":[],"source":"docs/adr"}`, true}},
		"undo": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Undo(ctx, by, memory.UndoRequest{Author: "sam", Since: since.UTC()})
			return err
		}, sent{"POST " + in("/memories/undo"), `{"author":"sam","dry_run":false,"everywhere":false,"since":"2026-01-31T11:00:00Z"}`, true}},
		"undo, dry": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Undo(ctx, by, memory.UndoRequest{Author: "sam", Since: since.UTC(), DryRun: true})
			return err
		}, sent{"POST " + in("/memories/undo"), `{"author":"sam","dry_run":true,"everywhere":false,"since":"2026-01-31T11:00:00Z"}`, false}},
		"whoami": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Whoami(ctx)
			return err
		}, sent{"GET /team/v1/whoami", "", false}},
		"version": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Version(ctx)
			return err
		}, sent{"GET /team/openapi.json", "", false}},
		"doctor": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Doctor(ctx)
			return err
		}, sent{"GET /team/v1/doctor", "", false}},
		"projects": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Projects(ctx, by)
			return err
		}, sent{"GET /team/v1/projects", "", false}},
		"find": {func(ctx context.Context, c *client.Client) error {
			_, err := c.FindProject(ctx, by, "remote:code.example/team/shop")
			return err
		}, sent{"GET /team/v1/projects/remote:code.example%2Fteam%2Fshop", "", false}},
		"create project": {func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateProject(ctx, by, "shop", nil)
			return err
		}, sent{"POST /team/v1/projects", `{"identities":[],"name":"shop"}`, true}},
		"identities": {func(ctx context.Context, c *client.Client) error { return c.AddIdentities(ctx, by, project, hot) },
			sent{"POST " + in("/identities"), `{"identities":["hot"]}`, true}},
		"create token": {func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateToken(ctx, by, memory.TokenRequest{Name: "ci", Role: memory.RoleCI})
			return err
		}, sent{"POST /team/v1/tokens", `{"create_projects":false,"name":"ci","role":"ci"}`, true}},
		"tokens": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Tokens(ctx, by)
			return err
		}, sent{"GET /team/v1/tokens", "", false}},
		"revoke": {func(ctx context.Context, c *client.Client) error {
			_, err := c.RevokeToken(ctx, by, "ci bot")
			return err
		}, sent{"DELETE /team/v1/tokens/ci%20bot", "", true}},
		"audit": {func(ctx context.Context, c *client.Client) error {
			_, err := c.AuditLog(ctx, by, memory.AuditRequest{Author: "a/sam", Limit: 7})
			return err
		}, sent{"GET /team/v1/audit?author=a%2Fsam&limit=7", "", false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got sent
			c := connect(t, client.Options{Program: "stele/1.2", Transport: carrier(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				key := r.Header.Get("Idempotency-Key")
				got = sent{Line: r.Method + " " + r.URL.RequestURI(), Body: sorted(t, body), Write: uuid.Validate(key) == nil}
				if r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("User-Agent") != "stele/1.2" || key != "" && !got.Write {
					t.Errorf("headers: %v", r.Header)
				}
				if agent := r.Header.Get("Stele-Agent"); agent != "" && (agent != "tester" || r.Header.Get("Stele-Session") != "mcp-1" || r.Header.Get("Stele-Door") != "mcp") {
					t.Errorf("headers: %v", r.Header)
				}
				return response(http.StatusOK, "application/json", `{"organizations":[{}]}`), err
			})})
			if err := tc.call(t.Context(), c); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sorted is JSON with the members of every object in order.
func sorted(t *testing.T, body []byte) string {
	t.Helper()
	if len(body) == 0 {
		return ""
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// What cannot be asked is said without asking.
func TestNotSent(t *testing.T) {
	t.Parallel()
	c := connect(t, client.Options{Transport: carrier(func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s was sent", r.URL)
		return response(http.StatusOK, "application/json", "{}"), nil
	})})
	somewhere := memory.Caller{Project: uuid.New()}
	for name, call := range map[string]func() error{
		"project: no project is chosen": func() error { _, err := c.Map(t.Context(), memory.Caller{}); return err },
		"memory: no memory is named":    func() error { _, err := c.Restore(t.Context(), somewhere, " "); return err },
		"memory: no memory has so long a name": func() error {
			_, err := c.History(t.Context(), somewhere, strings.Repeat("x", 2000))
			return err
		},
		"project: no project has such a name": func() error { _, err := c.FindProject(t.Context(), somewhere, ""); return err },
		"token: no token has such a name":     func() error { _, err := c.RevokeToken(t.Context(), somewhere, ""); return err },
		"sessionId: it is not an id": func() error {
			_, err := c.Map(t.Context(), memory.Caller{Project: somewhere.Project, Session: "a\r\nX-Role: admin"})
			return err
		},
	} {
		if err := call(); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	if err := c.AddIdentities(t.Context(), somewhere, somewhere.Project, nil); err != nil {
		t.Error(err)
	}
}
