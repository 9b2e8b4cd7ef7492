package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

// world is a server with two organizations, each with the project shop.
type world struct {
	t            *testing.T
	service      api.Domain
	http         *httptest.Server
	acme, globex tenant
}

// tenant is an organization with the model of a shop. The caller is its admin.
type tenant struct {
	memory.Caller

	tokens map[memory.Role]string
}

func newWorld(t *testing.T, change ...func(*api.Options)) *world {
	t.Helper()
	return newWorldAt(t, memory.Options{}, change...)
}

// newWorldAt is newWorld with a memory of its own kind, such as one with another clock.
func newWorldAt(t *testing.T, mem memory.Options, change ...func(*api.Options)) *world {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	store := postgres.New(pgtest.New(t), master)
	w := &world{t: t, service: api.NewDomain(memory.New(store, mem), store)}
	o := api.Options{Service: w.service, Version: "test"}
	o.Limits.PerToken, o.Limits.Burst = 1_000_000, 1_000_000
	for _, c := range change {
		c(&o)
	}
	server, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(server.Handler())
	t.Cleanup(w.http.Close)
	w.acme, w.globex = w.tenant("acme"), w.tenant("globex")
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tenant(name string) tenant {
	w.t.Helper()
	ctx := context.Background()
	org, err := w.service.CreateOrganization(ctx, name)
	w.must(err)
	n := tenant{Caller: memory.Caller{Org: org.ID, User: "root", Role: memory.RoleAdmin, Door: memory.FromCLI}, tokens: map[memory.Role]string{}}
	project, err := w.service.CreateProject(ctx, n.Caller, "shop", nil)
	w.must(err)
	n.Project = project.ID
	w.model(n, "shop.web", "shop.api")
	for _, role := range []memory.Role{memory.RoleAgent, memory.RoleReviewer, memory.RoleAdmin} {
		made, err := w.service.CreateToken(ctx, n.Caller, memory.TokenRequest{Name: "the " + string(role), Role: role})
		w.must(err)
		n.tokens[role] = made.Text
	}
	return n
}

// model makes the project's model that of some containers of the shop.
func (w *world) model(n tenant, keys ...string) {
	w.t.Helper()
	m := &c4model.Model{Elements: []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System, Description: "Sells things."}}}
	var bindings []c4model.Binding
	for _, key := range keys {
		name := strings.TrimPrefix(key, "shop.")
		m.Elements = append(m.Elements, c4model.Element{Key: key, Name: "The " + name, Level: c4model.Container, Parent: "shop", Technology: "Go"})
		bindings = append(bindings, c4model.Binding{Element: key, Pattern: name + "/**", Source: "model"})
	}
	if len(keys) > 1 {
		m.Relationships = []c4model.Relationship{{Source: keys[0], Destination: keys[1], Description: "asks for prices"}}
	}
	_, err := w.service.ImportModel(context.Background(), n.Caller, memory.ModelImport{Model: m, Bindings: bindings, Source: "workspace.dsl"})
	w.must(err)
}

func (w *world) remember(n tenant, r memory.RememberRequest) memory.Memory {
	w.t.Helper()
	if r.Imported != nil {
		n.Door = memory.FromImport
	}
	out, err := w.service.Remember(context.Background(), n.Caller, r)
	w.must(err)
	return out.Memory
}

// disputed is a memory that somebody says does not hold.
func (w *world) disputed(n tenant, content string) memory.Memory {
	w.t.Helper()
	m := w.remember(n, memory.RememberRequest{Kind: memory.Pitfall, Content: content, Elements: []string{"shop.api"}})
	_, err := w.service.Confirm(context.Background(), n.Caller, memory.ConfirmRequest{Memory: m.Handle, Note: "not since the rewrite of " + m.Handle})
	w.must(err)
	return m
}

// run pushes a tracked run of a commit, with findings.
func (w *world) run(n tenant, commit string, before []string, findings ...drift.Finding) {
	w.t.Helper()
	score := 100 - len(findings)
	_, err := w.service.PushRun(context.Background(), n.Caller, memory.RunPush{Repository: "example.org/shop", Branch: "main", DefaultBranch: "main", Tracked: true,
		Ancestors: append([]string{commit}, before...),
		Report:    drift.Report{Status: drift.Checked, Score: &score, Passed: score, Weight: 100, Commit: commit, InputHash: commit, EngineVersion: 1, History: "full", Findings: findings}})
	w.must(err)
}

// memory reads a memory as it is now.
func (w *world) memory(n tenant, handle string) memory.Memory {
	w.t.Helper()
	found, err := w.service.Get(context.Background(), n.Caller, []string{handle})
	w.must(err)
	return found[0]
}

// visitor is a browser without scripts.
type visitor struct {
	*world

	client *http.Client
}

// page is what a visitor got.
type page struct {
	status int
	path   string // where they are in the end
	body   string
}

// visit signs in.
func (w *world) visit(n tenant, role memory.Role) *visitor {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	w.must(err)
	v := &visitor{w, &http.Client{Jar: jar}}
	if in := v.post("/sign-in", url.Values{"token": {n.tokens[role]}}); in.status != http.StatusOK {
		w.t.Fatalf("sign in: %d %s", in.status, in.body)
	}
	return v
}

func (v *visitor) get(path string) page {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil)
}

func (v *visitor) post(path string, form url.Values, change ...func(*http.Request)) page {
	v.t.Helper()
	return v.send(http.MethodPost, path, form, change...)
}

func (v *visitor) send(method, path string, form url.Values, change ...func(*http.Request)) page {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.http.URL+path, strings.NewReader(form.Encode()))
	v.must(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range change {
		c(r)
	}
	res, err := v.client.Do(r)
	v.must(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	v.must(err)
	return page{res.StatusCode, res.Request.URL.RequestURI(), string(text)}
}

// shows checks that a page is there with some words, and without others, which begin with "!".
func (p page) shows(t *testing.T, words ...string) {
	t.Helper()
	if p.status != http.StatusOK {
		t.Errorf("%s: status %d", p.path, p.status)
	}
	p.says(t, words...)
}

func (p page) says(t *testing.T, words ...string) {
	t.Helper()
	for _, word := range words {
		if word, forbidden := strings.CutPrefix(word, "!"); strings.Contains(p.body, word) == forbidden {
			t.Errorf("%s: %q in the page is %v:\n%s", p.path, word, forbidden, p.body)
		}
	}
}
