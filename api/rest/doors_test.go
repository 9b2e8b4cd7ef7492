package rest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestOrganizationAndTokens(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	type identity struct {
		Organization   memory.OrganizationInfo `json:"organization"`
		User           string                  `json:"user"`
		Role           memory.Role             `json:"role"`
		ProjectID      *string                 `json:"project_id"`
		CreateProjects bool                    `json:"create_projects"`
		TokenID        string                  `json:"token_id"`
	}
	made := as[memory.NewToken](s.do(post("/v1/tokens", fields{"name": "builder", "role": "agent", "project": "shop", "expires": "30d"})).wants(http.StatusCreated))
	if made.Text == "" || made.ProjectID == nil || *made.ProjectID != s.project.ID || made.ExpiresAt == nil {
		t.Errorf("made %+v", made)
	}
	who := as[identity](s.do(call{method: http.MethodGet, path: "/v1/whoami", token: made.Text}).wants(http.StatusOK))
	if who.Organization.Name != "acme" || who.User != "builder" || who.Role != memory.RoleAgent || *who.ProjectID != s.project.ID.String() || who.TokenID != made.ID.String() {
		t.Errorf("it is %+v", who)
	}
	if admin := as[identity](s.do(get("/v1/whoami"))); admin.ProjectID != nil {
		t.Errorf("the admin is bound to %s", *admin.ProjectID)
	}
	s.do(post("/v1/tokens", fields{"name": "builder"})).refused(http.StatusConflict, problem.Conflict, "name")
	s.do(post("/v1/tokens", fields{"name": "x", "role": "king"})).refused(http.StatusUnprocessableEntity, problem.Invalid, "role")
	s.do(post("/v1/tokens", fields{"name": "x"}).by(memory.RoleReviewer)).refused(http.StatusForbidden, problem.Forbidden, "")
	if strings.Contains(string(s.do(get("/v1/tokens")).wants(http.StatusOK).body), made.Text) {
		t.Error("the list shows the text of a token")
	}
	for range 2 {
		s.do(call{method: http.MethodDelete, path: "/v1/tokens/builder"}).wants(http.StatusOK)
	}
	s.do(call{method: http.MethodDelete, path: "/v1/tokens/nobody"}).refused(http.StatusNotFound, problem.NotFound, "token")
	s.do(call{method: http.MethodGet, path: "/v1/whoami", token: made.Text}).refused(http.StatusUnauthorized, problem.Unauthenticated, "")

	orgs := as[struct {
		Organizations []memory.OrganizationInfo `json:"organizations"`
	}](s.do(get("/v1/organizations")).wants(http.StatusOK))
	if len(orgs.Organizations) != 1 || orgs.Organizations[0].ID != s.org {
		t.Errorf("organizations are %+v", orgs)
	}

	page := as[memory.AuditResponse](s.do(get("/v1/audit?limit=2")).wants(http.StatusOK))
	next := as[memory.AuditResponse](s.do(get("/v1/audit?limit=2&cursor=" + page.NextCursor)).wants(http.StatusOK))
	if len(page.Lines) != 2 || page.Lines[0].Verb != memory.VerbRevokeToken || len(next.Lines) != 2 || next.Lines[0].ID == page.Lines[1].ID {
		t.Errorf("the trail is %+v, then %+v", page.Lines, next.Lines)
	}
	if none := as[memory.AuditResponse](s.do(get("/v1/audit?author=nobody&since=2020-01-01")).wants(http.StatusOK)); len(none.Lines) != 0 {
		t.Errorf("nobody did %+v", none.Lines)
	}
	s.do(get("/v1/audit?limit=1000")).refused(http.StatusUnprocessableEntity, problem.Invalid, "limit")
}

func TestProjects(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	p := as[memory.ProjectInfo](s.do(post("/v1/projects", fields{"name": "till", "identities": []string{"remote:example.org/till"}})).wants(http.StatusCreated))
	s.do(post("/v1/projects", fields{"name": "till"})).refused(http.StatusConflict, problem.Conflict, "project")
	s.do(post("/v1/projects", fields{"name": "scale"}).by(memory.RoleAgent)).refused(http.StatusForbidden, problem.Forbidden, "project")
	more := as[memory.ProjectInfo](s.do(post("/v1/projects/till/identities", fields{"identities": []string{"remote:example.org/mirror/till"}})).wants(http.StatusOK))
	if more.ID != p.ID || len(more.Identities) != 2 {
		t.Errorf("it is %+v now", more)
	}
	found := as[memory.ProjectInfo](s.do(get("/v1/projects/remote:example.org%2Fmirror%2Ftill")).wants(http.StatusOK))
	if found.ID != p.ID {
		t.Errorf("the identity leads to %s", found.Name)
	}
	list := as[struct {
		Projects []memory.ProjectInfo `json:"projects"`
	}](s.do(get("/v1/projects")).wants(http.StatusOK))
	if len(list.Projects) != 2 {
		t.Errorf("projects are %+v", list.Projects)
	}
	bound := as[memory.NewToken](s.do(post("/v1/tokens", fields{"name": "shopper", "role": "admin", "project": "shop"})).wants(http.StatusCreated)).Text
	for _, path := range []string{"/v1/projects/till", "/v1/projects/till/memories", "/v1/projects/" + p.ID.String() + "/model"} {
		s.do(call{method: http.MethodGet, path: path, token: bound}).refused(http.StatusNotFound, problem.NotFound, "project")
	}
}

// What is set on the server is listed with its source, outlives an import, and is offered to the repository.
func TestBindings(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	empty := as[struct {
		Text     string             `json:"text"`
		Bindings *[]c4model.Binding `json:"bindings"`
	}](s.do(get(shop + "/bindings/patch")).wants(http.StatusOK))
	if empty.Text != "" || empty.Bindings == nil || len(*empty.Bindings) != 0 {
		t.Errorf("nothing to commit is %+v", empty)
	}
	s.importShop()
	body := fields{"element": "shop.api", "patterns": []string{"till/**", "*.go"}}
	s.do(post(shop+"/bindings", body).by(memory.RoleAgent)).refused(http.StatusForbidden, problem.Forbidden, "")
	if r := as[memory.BindResponse](s.do(post(shop+"/bindings", body)).wants(http.StatusOK)); r.Element != "shop.api" || len(r.Bindings) != 3 {
		t.Errorf("bound %+v", r)
	}
	s.importShop()
	listed := string(s.do(get(shop + "/bindings")).wants(http.StatusOK).body)
	if !strings.Contains(listed, `"pattern":"till/**","source":"server"`) || !strings.Contains(listed, `"pattern":"api/**","source":"model"`) {
		t.Errorf("listed %s", listed)
	}
	patch := as[struct {
		Text string `json:"text"`
	}](s.do(get(shop + "/bindings/patch")).wants(http.StatusOK))
	if want := "bindings:\n  shop.api:\n    - \"*.go\"\n    - till/**\n"; patch.Text != want {
		t.Errorf("to commit: %q, want %q", patch.Text, want)
	}
	s.do(post(shop+"/bindings", fields{"element": "shop.api", "patterns": []string{"../x"}})).refused(http.StatusUnprocessableEntity, problem.Invalid, "pattern")
	s.do(post(shop+"/bindings", fields{"element": "shop.desk", "patterns": []string{}})).refused(http.StatusNotFound, problem.NotFound, "element")
	s.do(post(shop+"/bindings", fields{"element": "shop.api", "patterns": []string{}})).wants(http.StatusOK)
	if again := string(s.do(get(shop + "/bindings")).wants(http.StatusOK).body); strings.Contains(again, "server") {
		t.Errorf("taken back, listed %s", again)
	}
}

func TestModelGoesInAndComesOut(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, path := range []string{"/model", "/elements", "/bindings", "/adrs", "/knowledge-map"} {
		s.do(get(shop + path)).wants(http.StatusOK) // before any import, lists are empty and not null
	}
	dry := shopModel()
	dry["dry_run"] = true
	if r := as[memory.ModelReport](s.do(post(shop+"/model", dry).by(memory.RoleAgent)).wants(http.StatusOK)); len(r.Added) != 4 {
		t.Errorf("would add %v", r.Added)
	}
	s.do(post(shop+"/model", shopModel()).by(memory.RoleAgent)).refused(http.StatusForbidden, problem.Forbidden, "")
	s.importShop()
	view := as[memory.ModelView](s.do(get(shop + "/model")).wants(http.StatusOK))
	if len(view.Elements) != 4 || len(view.Relationships) != 1 || len(view.Bindings) != 1 || view.Source != "workspace.dsl" || view.ImportedAt == nil {
		t.Errorf("the model is %+v", view)
	}
	if view.Elements[3].Properties["team"] != "checkout" {
		t.Errorf("properties are %v", view.Elements[3].Properties)
	}
	s.do(get(shop + "/elements")).wants(http.StatusOK)
	s.do(get(shop + "/bindings")).wants(http.StatusOK)

	decisions := fields{"decisions": []fields{{"id": "4", "title": "Queue the orders", "status": "accepted", "summary": "Orders wait in a queue.", "file": "0004.md"}}, "source": "docs/adr"}
	if r := as[memory.DecisionReport](s.do(post(shop+"/adrs", decisions)).wants(http.StatusOK)); len(r.Added) != 1 {
		t.Errorf("added %v", r.Added)
	}
	if !strings.Contains(string(s.do(get(shop+"/adrs")).wants(http.StatusOK).body), "Queue the orders") {
		t.Error("the decision is not listed")
	}
	s.do(post(shop+"/model", fields{})).refused(http.StatusUnprocessableEntity, problem.Invalid, "model")
	s.do(post(shop+"/model", fields{"model": fields{"elements": []fields{}}})).refused(http.StatusUnprocessableEntity, problem.Invalid, "model")
	alien := fields{"model": fields{"elements": []fields{{"key": "a", "name": "A", "level": "galaxy"}}}}
	s.do(post(shop+"/model", alien)).refused(http.StatusUnprocessableEntity, problem.Invalid, "elements", "galaxy", "container")

	padding := strings.Repeat(" ", 2<<20) // more than other bodies may have
	s.do(post(shop+"/adrs", `{"decisions":[],`+padding+`"source":"docs/adr"}`)).wants(http.StatusOK)
	s.do(post(shop+"/adrs", `{"decisions":[]`+strings.Repeat(padding, 8)+`}`)).refused(http.StatusRequestEntityTooLarge, problem.TooLarge, "", "16777216")
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.importShop()
	m := s.remember(fields{"kind": "pitfall", "title": "Orders arrive twice", "content": "The queue delivers at least once, see [[Queue rules]].", "elements": []string{"shop.api"}, "paths": []string{"api/orders.go"}})
	s.remember(fields{"kind": "convention", "title": "Queue rules", "content": "Handlers of the queue are idempotent.", "elements": []string{"shop.api"}})

	recalled := as[memory.RecallResponse](s.do(post(shop+"/recall", fields{"query": "why do orders arrive twice", "explain": true, "max_tokens": 500, "as_of": nil})).wants(http.StatusOK))
	if len(recalled.Results) == 0 || recalled.Results[0].ID != m.ID || recalled.Results[0].Factors == nil {
		t.Errorf("recalled %+v", recalled.Results)
	}
	if index := as[memory.RecallResponse](s.do(post(shop+"/recall", fields{"query": "orders", "max_tokens": 0})).wants(http.StatusOK)); len(index.Results) != 0 || len(index.Index) == 0 {
		t.Errorf("with no budget there are %d results and %d in the index", len(index.Results), len(index.Index))
	}
	s.do(post(shop+"/recall", fields{"query": "zebra"})).wants(http.StatusOK)

	// A decision that a memory links to is a result as well, with a status and an origin that no memory has.
	s.do(post(shop+"/adrs", fields{"decisions": []fields{{"id": "4", "title": "Queue the orders", "status": "accepted"}}, "source": "docs/adr"})).wants(http.StatusOK)
	s.remember(fields{"title": "Peaks", "content": "Christmas peaks wait in the queue, see [[ADR-4]].", "elements": []string{"shop.api"}})
	linked := as[memory.RecallResponse](s.do(post(shop+"/recall", fields{"query": "christmas peaks"})).wants(http.StatusOK))
	if !slices.ContainsFunc(linked.Results, func(r memory.Result) bool { return r.Kind == memory.DecisionKind && r.Status == "accepted" }) {
		t.Errorf("recalled %+v", linked.Results)
	}
	s.do(post(shop+"/recall", fields{"query": "x", "projects": []string{"nowhere"}})).refused(http.StatusNotFound, problem.NotFound, "projects")
	s.do(post(shop+"/recall", fields{"element": "nowhere"})).refused(http.StatusNotFound, problem.NotFound, "element")

	if c := as[memory.ContextResponse](s.do(post(shop+"/context", fields{"task": "Make the Orders queue faster"})).wants(http.StatusOK)); len(c.Elements) == 0 || c.Elements[0].Key != "shop.api" {
		t.Errorf("the context is %+v", c.Elements)
	}
	s.do(post(shop+"/context", fields{})).refused(http.StatusUnprocessableEntity, problem.Invalid, "task")

	why := as[memory.WhyResponse](s.do(get(shop + "/why?path=api/orders.go&line=12")).wants(http.StatusOK))
	if len(why.Entries) != 3 || why.Line != 12 {
		t.Errorf("why is %+v", why)
	}
	s.do(get(shop+"/why?path=api/orders.go&line=-1")).refused(http.StatusUnprocessableEntity, problem.Invalid, "line")
	s.do(get(shop+"/why")).refused(http.StatusUnprocessableEntity, problem.Invalid, "path")

	if known := as[memory.Map](s.do(get(shop + "/knowledge-map")).wants(http.StatusOK)); known.Documented != 1 || known.Total != 3 {
		t.Errorf("the map says %s", known.Headline)
	}
}
