package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/rest"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

// server is the door before a real domain, with one organization, a project "shop" and a token of every role.
type server struct {
	t       testing.TB
	api     *rest.API
	service api.Domain
	store   *postgres.Store
	org     uuid.UUID
	project memory.ProjectInfo
	tokens  map[memory.Role]string
	router  routers.Router
	log     *bytes.Buffer
}

func newServer(t testing.TB, options ...func(*rest.Options)) *server {
	t.Helper()
	master, err := secret.GenerateMaster()
	must(t, err)
	s := &server{t: t, store: postgres.New(pgtest.New(t), master), tokens: map[memory.Role]string{}, log: &bytes.Buffer{}}
	s.service = api.NewDomain(memory.New(s.store, memory.Options{}), s.store)
	s.mount(s.service, options...)
	s.org, s.project, s.tokens = s.organization("acme")
	return s
}

// mount puts the door before a service.
func (s *server) mount(service rest.Service, options ...func(*rest.Options)) {
	s.t.Helper()
	o := rest.Options{Service: service, Log: slog.New(slog.NewTextHandler(s.log, nil))}
	for _, set := range options {
		set(&o)
	}
	s.api = rest.New(o)
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(s.api.Document())
	must(s.t, err)
	s.router, err = gorillamux.NewRouter(doc)
	must(s.t, err)
}

// organization makes a tenant with a project "shop", its model, and tokens.
func (s *server) organization(name string) (org uuid.UUID, project memory.ProjectInfo, tokens map[memory.Role]string) {
	s.t.Helper()
	ctx := context.Background()
	o, err := s.service.CreateOrganization(ctx, name)
	must(s.t, err)
	operator := memory.Caller{Org: o.ID, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	project, err = s.service.CreateProject(ctx, operator, "shop", []string{"remote:example.org/shop"})
	must(s.t, err)
	tokens = map[memory.Role]string{}
	for _, role := range []memory.Role{memory.RoleAgent, memory.RoleCI, memory.RoleReviewer, memory.RoleAdmin} {
		made, err := s.service.CreateToken(ctx, operator, memory.TokenRequest{Name: string(role), Role: role})
		must(s.t, err)
		tokens[role] = made.Text
	}
	return o.ID, project, tokens
}

// ServeHTTP authenticates as the gate does, without its limits.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		c, t, err := s.service.Authenticate(r.Context(), token)
		if p, refused := problem.As(err); refused {
			auth.Refuse(w, p)
			return
		}
		must(s.t, err)
		r = r.WithContext(auth.WithCaller(r.Context(), c, t))
	}
	s.api.ServeHTTP(w, r)
}

// reply is an answer, and what it was.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// call is one request.
type call struct {
	method, path string
	role         memory.Role       // admin when empty
	token        string            // instead of a role; "none" sends none
	header       map[string]string // beside the usual ones
	body         any               // string or []byte as it is, else JSON
}

// do sends a request and checks the answer against the OpenAPI document: status, headers, content type, schema.
func (s *server) do(c call) reply {
	s.t.Helper()
	var body io.Reader
	switch b := c.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	case []byte:
		body = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		must(s.t, err)
		body = bytes.NewReader(data)
	}
	r := httptest.NewRequestWithContext(s.t.Context(), c.method, c.path, body)
	if c.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.role == "" {
		c.role = memory.RoleAdmin
	}
	if c.token == "" {
		c.token = s.tokens[c.role]
	}
	if c.token != "none" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	out := reply{s.t, w.Code, w.Header(), w.Body.Bytes()}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		s.t.Errorf("%s %s: Cache-Control is %q, want no-store", c.method, c.path, got)
	}
	s.conforms(r, out)
	return out
}

// conforms holds an answer against the document.
func (s *server) conforms(r *http.Request, got reply) {
	s.t.Helper()
	route, params, err := s.router.FindRoute(r)
	if err != nil {
		if !slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized}, got.status) {
			s.t.Errorf("%s %s is no operation of the document and was answered %d", r.Method, r.URL, got.status)
		}
		return
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route, PathParams: params},
		Status:                 got.status, Header: got.header, Body: io.NopCloser(bytes.NewReader(got.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		s.t.Errorf("%s %s answers %d %s, against its document: %v", r.Method, r.URL, got.status, got.body, err)
	}
}

func (r reply) wants(status int) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("answered %d %s, want %d", r.status, r.body, status)
	}
	return r
}

// refused checks a problem: status, code, field, and that it says how to go on.
func (r reply) refused(status int, code problem.Code, field string, words ...string) {
	r.t.Helper()
	r.wants(status)
	var p auth.Problem
	r.into(&p)
	if p.Code != code || p.Field != field || p.Status != status || p.Type != "about:blank" || p.Title != http.StatusText(status) {
		r.t.Errorf("answered %s, want code %s about %q", r.body, code, field)
	}
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		r.t.Errorf("a problem has the type %q", got)
	}
	if p.Detail == "" || len(p.Fixes) == 0 {
		r.t.Errorf("%s says nothing, or not what to do", r.body)
	}
	for _, word := range words {
		if !strings.Contains(string(r.body), word) {
			r.t.Errorf("%s lacks %q", r.body, word)
		}
	}
}

func (r reply) into(v any) {
	r.t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		r.t.Fatalf("%s: %v", r.body, err)
	}
}

// as reads the answer as a value of T.
func as[T any](r reply) T {
	r.t.Helper()
	var v T
	r.into(&v)
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type fields = map[string]any

// one is {"memory": …}.
type one struct {
	Memory memory.Memory `json:"memory"`
}

const shop = "/v1/projects/shop"

func post(path string, body any) call { return call{method: http.MethodPost, path: path, body: body} }
func get(path string) call            { return call{method: http.MethodGet, path: path} }

func (c call) by(role memory.Role) call { c.role = role; return c }
func (c call) with(name, value string) call {
	h := map[string]string{name: value}
	maps.Copy(h, c.header)
	c.header = h
	return c
}

// remember stores a fact and gives it.
func (s *server) remember(body fields) memory.Memory {
	s.t.Helper()
	return as[memory.RememberResponse](s.do(post(shop+"/memories", body)).wants(http.StatusCreated)).Memory
}

// importShop imports a small model.
func (s *server) importShop() {
	s.t.Helper()
	s.do(post(shop+"/model", shopModel())).wants(http.StatusOK)
}

func shopModel() fields {
	return fields{"model": fields{"name": "Shop", "elements": []fields{
		{"key": "customer", "name": "Customer", "level": "person"},
		{"key": "shop", "name": "Shop", "level": "system"},
		{"key": "shop.web", "name": "Storefront", "level": "container", "parent": "shop", "tags": nil},
		{"key": "shop.api", "name": "Orders", "level": "container", "parent": "shop", "technology": "Go", "properties": fields{"team": "checkout"}},
	}, "relationships": []fields{{"source": "shop.web", "destination": "shop.api", "description": "places orders"}}},
		"bindings": []fields{{"element": "shop.api", "pattern": "api/**", "source": "model"}}, "source": "workspace.dsl"}
}
