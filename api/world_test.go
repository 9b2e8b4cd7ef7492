package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/api/mcp"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/session"
)

// world is a server with two organizations on one database.
type world struct {
	t       *testing.T
	service api.Domain
	server  *api.Server
	http    *httptest.Server
	log     *logged
	passed  atomic.Int64 // nanoseconds that the clock of the domain is ahead

	acme, globex tenant
}

// tenant is an organization with a project "shop" and a project "depot", a memory in each of its scopes, and a token of
// every kind.
type tenant struct {
	org         uuid.UUID
	shop, depot memory.ProjectInfo
	admin       memory.Caller
	memory      memory.Memory // in shop
	other       memory.Memory // in depot
	personal    memory.Memory // of the admin
	run         string        // id of a comparison of shop
	group       string        // of the review queue of shop
	item        string        // of that group
	decision    string        // about a group of shop
	session     string        // a work session of the admin in shop
	tokens      map[string]string
	tokenIDs    map[string]uuid.UUID
}

// The holders of tokens, as the matrix names them.
const (
	nobody        = "nobody"
	ciToken       = "ci"
	ciCreating    = "ci, may create projects"
	agentToken    = "agent"
	agentOfShop   = "agent of shop"
	agentOfDepot  = "agent of depot"
	reviewerToken = "reviewer"
	adminToken    = "admin"
	adminOfShop   = "admin of shop"
	revoked       = "revoked"
)

// full serves every tool.
func full(o *api.Options) { o.Profile = mcp.Full }

func newWorld(t *testing.T, options ...func(*api.Options)) *world {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, log: &logged{}}
	db := pgtest.New(t)
	store := postgres.New(db, master)
	w.service = api.NewDomain(memory.New(store, memory.Options{Now: w.now}), store)
	o := api.Options{
		Service: w.service, Version: "test", Log: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready: []api.Check{{Name: "database", Run: db.Ping}, {Name: "schema", Run: db.CheckSchema}, {Name: "keys", Run: store.CheckKeys}},
	}
	o.Limits.Failures = 1_000_000 // of one address: what is tested in package auth would be in the way here
	o.Limits.PerToken, o.Limits.Burst = 1_000_000, 1_000_000
	for _, change := range options {
		change(&o)
	}
	if w.server, err = api.New(o); err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(w.server.Handler())
	t.Cleanup(w.http.Close)
	w.acme = w.tenant("acme")
	w.globex = w.tenant("globex")
	return w
}

// now is the clock of the domain.
func (w *world) now() time.Time {
	return time.Now().Add(time.Duration(w.passed.Load())).Truncate(time.Microsecond)
}

func (w *world) tenant(name string) tenant {
	w.t.Helper()
	ctx := context.Background()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	org, err := w.service.CreateOrganization(ctx, name)
	must(err)
	n := tenant{org: org.ID, admin: memory.Caller{Org: org.ID, User: "root of " + name, Role: memory.RoleAdmin, Door: memory.FromCLI},
		tokens: map[string]string{}, tokenIDs: map[string]uuid.UUID{}}
	for project, info := range map[string]*memory.ProjectInfo{"shop": &n.shop, "depot": &n.depot} {
		*info, err = w.service.CreateProject(ctx, n.admin, project, []string{"remote:example.org/" + name + "/" + project})
		must(err)
		c := n.admin
		c.Project = info.ID
		// The key of an element carries the tenant's name, so that an element of another tenant can be asked for.
		_, err = w.service.ImportModel(ctx, c, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{
			{Key: name, Name: name, Level: c4model.System}, {Key: name + "." + project, Name: project, Level: c4model.Container, Parent: name},
		}, Decisions: []c4model.Decision{{ID: "1", Title: canary(name, project) + " decision", Status: "accepted"}}},
			Bindings: []c4model.Binding{{Element: name + "." + project, Pattern: project + "/**", Source: "model"}}, Source: "workspace.dsl"})
		must(err)
		out, err := w.service.Remember(ctx, c, memory.RememberRequest{Content: "Stock is cached, says " + canary(name, project) + ".", Title: "Title of " + name + " " + project, Why: canary(name, project),
			Elements: []string{name + "." + project}})
		must(err)
		if project == "shop" {
			n.memory = out.Memory
		} else {
			n.other = out.Memory
		}
	}
	n.admin.Project = n.shop.ID
	out, err := w.service.Remember(ctx, n.admin, memory.RememberRequest{Content: "Private is " + canary(name, "personal") + ".", Scope: memory.Personal})
	must(err)
	n.personal = out.Memory
	score := 100
	commit := strings.Repeat("a", 40)
	pushed, err := w.service.PushRun(ctx, n.admin, memory.RunPush{Repository: "example.org/" + name + "/shop", Branch: "main", DefaultBranch: "main", Tracked: true,
		Ancestors: []string{commit}, Report: drift.Report{Status: drift.Checked, Score: &score, Commit: commit, InputHash: "1"}})
	must(err)
	n.run = pushed.RunID
	n.group, n.item, n.decision = w.reviewed(n, name)
	started, err := w.service.StartSession(ctx, n.admin, session.StartRequest{Task: canary(name, "shop") + " is to be mended.", Elements: []string{name + ".shop"}})
	must(err)
	n.session = started.SessionID
	for holder, r := range map[string]memory.TokenRequest{
		ciToken: {Role: memory.RoleCI}, ciCreating: {Role: memory.RoleCI, CreateProjects: true}, agentToken: {Role: memory.RoleAgent},
		agentOfShop: {Role: memory.RoleAgent, Project: "shop"}, agentOfDepot: {Role: memory.RoleAgent, Project: "depot"},
		reviewerToken: {Role: memory.RoleReviewer}, adminToken: {Role: memory.RoleAdmin}, adminOfShop: {Role: memory.RoleAdmin, Project: "shop"},
		revoked: {Role: memory.RoleAdmin},
	} {
		r.Name = holder
		made, err := w.service.CreateToken(ctx, n.admin, r)
		must(err)
		n.tokens[holder], n.tokenIDs[holder] = made.Text, made.ID
	}
	_, err = w.service.RevokeToken(ctx, n.admin, revoked)
	must(err)
	return n
}

// canary is a word that only what belongs to one project, or is personal, says.
func canary(tenant, place string) string { return "canary" + tenant + place }

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes one request. body is JSON when it is no string.
func (w *world) send(token, method, path string, body any, change ...func(*http.Request)) reply {
	w.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		reader = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), method, w.http.URL+path, reader)
	if err != nil {
		w.t.Fatal(err)
	}
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, c := range change {
		c(r)
	}
	res, err := w.http.Client().Do(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{res.StatusCode, res.Header, string(text)}
}

// logged collects what the server logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
