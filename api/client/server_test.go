package client_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/api/rest"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

// site is a server with an organization and a project, behind a network that loses answers when told to.
type site struct {
	*client.Client

	local api.Domain
	admin memory.Caller // at the database, in the project
	by    memory.Caller // of the client, in the project
	url   string
	lose  atomic.Int32 // how many of the next answers are lost after the server gave them
	lost  atomic.Int32
}

func newSite(t *testing.T, o memory.Options) *site {
	t.Helper()
	master, err := secret.GenerateMaster()
	check(t, err)
	store := postgres.New(pgtest.New(t), master)
	s := &site{local: api.NewDomain(memory.New(store, o), store)}
	org, err := s.local.CreateOrganization(t.Context(), "acme")
	check(t, err)
	s.admin = memory.Caller{Org: org.ID, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	shop, err := s.local.CreateProject(t.Context(), s.admin, "shop", []string{"remote:code.example/team/shop"})
	check(t, err)
	made, err := s.local.CreateToken(t.Context(), s.admin, memory.TokenRequest{Name: "kim", Role: memory.RoleAdmin})
	check(t, err)
	s.admin.Project = shop.ID
	s.by = memory.Caller{Project: shop.ID, Agent: "tester", Door: memory.FromCLI}

	log := slog.New(slog.DiscardHandler)
	gate := auth.NewGate(auth.Config{Tokens: s.local, Log: log, Limits: auth.Limits{PerToken: 1e6, Burst: 1e6}})
	mux := http.NewServeMux()
	rest.New(rest.Options{Service: s.local, Log: log, Version: "1.2"}).Register(mux, gate.Wrap)
	h := httptest.NewServer(http.StripPrefix("/team", s.lossy(mux)))
	t.Cleanup(h.Close)
	s.url = h.URL + "/team"
	s.Client = connect(t, client.Options{URL: s.url, Token: made.Text})
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lossy answers like h, or does what h does and breaks the connection.
func (s *site) lossy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if s.lose.Add(-1) >= 0 {
			s.lost.Add(1)
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// A write whose answer was lost is not done twice, and the answer is the first one.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	ctx := t.Context()
	first, err := s.Remember(ctx, s.by, memory.RememberRequest{Title: "Cup", Content: "Cups are blue."})
	check(t, err)
	handle := first.Memory.Handle
	tags := []string{"china"}
	for _, tc := range []struct {
		name string
		do   func() (any, error)
		want func() (any, error) // what the answer has to be, asked afterwards
	}{
		{"remember", func() (any, error) {
			r, err := s.Remember(ctx, s.by, memory.RememberRequest{Title: "Tea", Content: "Tea is hot."})
			return []any{r.Deduplicated, r.Memory.Confirmations, r.Memory.Title}, err
		}, func() (any, error) {
			page, err := s.local.List(ctx, s.admin, memory.ListRequest{})
			return []any{false, 0, page.Memories[0].Title}, cmpErr(err, len(page.Memories) == 2)
		}},
		{"confirm", func() (any, error) {
			m, err := s.Confirm(ctx, s.by, memory.ConfirmRequest{Memory: handle, Holds: true})
			return m.Confirmations, err
		}, func() (any, error) { return 1, nil }},
		{"edit", func() (any, error) {
			m, err := s.Edit(ctx, s.by, memory.EditRequest{Memory: handle, Tags: &tags, Revision: 1})
			return m.Revision, err
		}, func() (any, error) { return 2, nil }},
		{"retire", func() (any, error) {
			r, err := s.Forget(ctx, s.by, memory.ForgetRequest{Memory: handle})
			return r.Memory.Status, err
		}, func() (any, error) { return memory.Retired, nil }},
		{"restore", func() (any, error) {
			m, err := s.Restore(ctx, s.by, handle)
			return m.Status, err
		}, func() (any, error) { return memory.Live, nil }},
		{"supersede", func() (any, error) {
			r, err := s.Remember(ctx, s.by, memory.RememberRequest{Content: "Cups are green.", Supersedes: handle})
			return r.Memory.Content, err
		}, func() (any, error) {
			page, err := s.local.List(ctx, s.admin, memory.ListRequest{Status: "all"})
			return "Cups are green.", cmpErr(err, len(page.Memories) == 3)
		}},
		{"project", func() (any, error) {
			p, err := s.CreateProject(ctx, s.by, "depot", nil)
			return p.ID, err
		}, func() (any, error) {
			p, err := s.local.FindProject(ctx, s.admin, "depot")
			return p.ID, err
		}},
	} {
		s.lose.Store(2)
		got, err := tc.do()
		if err != nil || s.lose.Load() >= 0 {
			t.Errorf("%s: %v, %d answers to lose are left", tc.name, err, s.lose.Load()+1)
			continue
		}
		want, err := tc.want()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tc.name, err, diff)
		}
	}
	if s.lost.Load() < 14 {
		t.Errorf("only %d answers were lost", s.lost.Load())
	}
	if m, err := s.local.Get(ctx, s.admin, []string{handle}); err != nil || m[0].Confirmations != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

func cmpErr(err error, holds bool) error {
	if err == nil && !holds {
		return problem.Invalidf("", "the number of memories is wrong")
	}
	return err
}

// A write that never came through is told as what it is: perhaps done.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	s.lose.Store(1000)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := s.Remember(ctx, s.by, memory.RememberRequest{Content: "Tea is hot."})
	if !problem.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "whether it was done is not known") || !strings.Contains(err.Error(), "remembered again is recognised") {
		t.Error(err)
	}
	s.lose.Store(0)
	again, err := s.Remember(t.Context(), s.by, memory.RememberRequest{Content: "Tea is hot."})
	if err != nil || !again.Deduplicated {
		t.Errorf("repeated: %+v, %v", again, err)
	}
}

// Whatever a memory is called, it is found by its name.
func TestOddNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	for _, title := range []string{"a/b", "..", ".", "50% of é", "what? #1", "confirm", "open", "a  b", "%2F", `back\slash`, "+1", "茶", "../../v1/tokens"} {
		made, err := s.Remember(t.Context(), s.by, memory.RememberRequest{Title: title, Content: "The name is " + title + ".", Separate: true})
		if err != nil {
			t.Errorf("%q: %v", title, err)
			continue
		}
		h, err := s.History(t.Context(), s.by, title)
		if err != nil || h.Memory.Handle != made.Memory.Handle {
			t.Errorf("%q: %s, %v", title, h.Memory.Handle, err)
		}
		if m, err := s.Confirm(t.Context(), s.by, memory.ConfirmRequest{Memory: title, Holds: true}); err != nil || m.Handle != made.Memory.Handle {
			t.Errorf("%q: %s, %v", title, m.Handle, err)
		}
	}
}

// The domain over the network is the domain: the same answers, and the same refusals.
func TestSameAsTheDomain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := newSite(t, memory.Options{Now: func() time.Time { return now }}) // scores fade with time
	ctx := t.Context()
	model := &c4model.Model{Name: "Shop", Elements: []c4model.Element{
		{Key: "shop", Name: "Shop", Level: c4model.System}, {Key: "shop.api", Name: "API", Level: c4model.Container, Parent: "shop", Technology: "Go"},
	}}
	im := memory.ModelImport{Model: model, Bindings: []c4model.Binding{{Element: "shop.api", Pattern: "api/**", Source: "stele.yaml"}}, Source: "a.dsl"}
	dry := im
	dry.DryRun = true
	if _, err := s.ImportModel(ctx, s.by, dry); err != nil {
		t.Error(err)
	}
	report, err := s.ImportModel(ctx, s.by, im)
	if err != nil || len(report.Added) != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := s.ImportDecisions(ctx, s.by, []c4model.Decision{{ID: "1", Title: "Brew", Status: "Accepted"}}, "docs/adr"); err != nil {
		t.Error(err)
	}
	made, err := s.Remember(ctx, s.by, memory.RememberRequest{
		Kind: memory.Pitfall, Title: "Tea", Content: "Tea is hot, see [[ADR-1]].", Why: "physics", Elements: []string{"API"}, Paths: []string{"api/tea.go"},
		Tags: []string{"brew"}, Expires: "30d", Seen: &memory.Seen{Commit: strings.Repeat("a", 40), Branch: "main"},
	})
	check(t, err)
	since, zero := time.Now().Add(-time.Hour), 0
	later := time.Now().Add(time.Hour)
	type domain interface {
		Recall(ctx context.Context, c memory.Caller, r memory.RecallRequest) (memory.RecallResponse, error)
		Get(ctx context.Context, c memory.Caller, refs []string) ([]memory.Memory, error)
		List(ctx context.Context, c memory.Caller, r memory.ListRequest) (memory.ListResponse, error)
		Timeline(ctx context.Context, c memory.Caller, ref string, limit int) (memory.TimelineResponse, error)
		History(ctx context.Context, c memory.Caller, ref string) (memory.HistoryResponse, error)
		Context(ctx context.Context, c memory.Caller, r memory.ContextRequest) (memory.ContextResponse, error)
		Why(ctx context.Context, c memory.Caller, path string, line int) (memory.WhyResponse, error)
		Map(ctx context.Context, c memory.Caller) (memory.Map, error)
		Model(ctx context.Context, c memory.Caller) (memory.ModelView, error)
		Edit(ctx context.Context, c memory.Caller, r memory.EditRequest) (memory.Memory, error)
		Undo(ctx context.Context, c memory.Caller, r memory.UndoRequest) (memory.UndoResponse, error)
		Organization(ctx context.Context, c memory.Caller) (memory.OrganizationInfo, error)
		Projects(ctx context.Context, c memory.Caller) ([]memory.ProjectInfo, error)
		FindProject(ctx context.Context, c memory.Caller, ref string) (memory.ProjectInfo, error)
		CreateProject(ctx context.Context, c memory.Caller, name string, identities []string) (memory.ProjectInfo, error)
		CreateToken(ctx context.Context, c memory.Caller, r memory.TokenRequest) (memory.NewToken, error)
		RevokeToken(ctx context.Context, c memory.Caller, ref string) (memory.Token, error)
		AuditLog(ctx context.Context, c memory.Caller, r memory.AuditRequest) (memory.AuditResponse, error)
	}
	for name, ask := range map[string]func(d domain, c memory.Caller) (any, error){
		"recall": func(d domain, c memory.Caller) (any, error) {
			return d.Recall(ctx, c, memory.RecallRequest{Query: "hot tea", Explain: true})
		},
		"recall, index": func(d domain, c memory.Caller) (any, error) {
			return d.Recall(ctx, c, memory.RecallRequest{Query: "tea", MaxTokens: &zero})
		},
		"recall, as of": func(d domain, c memory.Caller) (any, error) {
			return d.Recall(ctx, c, memory.RecallRequest{Query: "tea", AsOf: &later})
		},
		"recall, bad": func(d domain, c memory.Caller) (any, error) {
			return d.Recall(ctx, c, memory.RecallRequest{Kinds: []memory.Kind{"trap"}})
		},
		"get": func(d domain, c memory.Caller) (any, error) {
			return d.Get(ctx, c, []string{"Tea", made.Memory.ID.String()})
		},
		"get nothing": func(d domain, c memory.Caller) (any, error) { return d.Get(ctx, c, nil) },
		"get unknown": func(d domain, c memory.Caller) (any, error) { return d.Get(ctx, c, []string{"m-2222222"}) },
		"list": func(d domain, c memory.Caller) (any, error) {
			return d.List(ctx, c, memory.ListRequest{Kinds: []memory.Kind{memory.Pitfall}, Status: "all", Since: &since, Element: "API", Author: "tester/kim", Origin: memory.FromCLI, Limit: 1})
		},
		"list, bad": func(d domain, c memory.Caller) (any, error) { return d.List(ctx, c, memory.ListRequest{Status: "odd"}) },
		"timeline":  func(d domain, c memory.Caller) (any, error) { return d.Timeline(ctx, c, "Tea", 5) },
		"history":   func(d domain, c memory.Caller) (any, error) { return d.History(ctx, c, "Tea") },
		"context": func(d domain, c memory.Caller) (any, error) {
			return d.Context(ctx, c, memory.ContextRequest{Task: "heat the API"})
		},
		"context, empty": func(d domain, c memory.Caller) (any, error) { return d.Context(ctx, c, memory.ContextRequest{}) },
		"why":            func(d domain, c memory.Caller) (any, error) { return d.Why(ctx, c, "api/tea.go", 3) },
		"why, empty":     func(d domain, c memory.Caller) (any, error) { return d.Why(ctx, c, "", 0) },
		"map":            func(d domain, c memory.Caller) (any, error) { return d.Map(ctx, c) },
		"model":          func(d domain, c memory.Caller) (any, error) { return d.Model(ctx, c) },
		"edit, stale": func(d domain, c memory.Caller) (any, error) {
			return d.Edit(ctx, c, memory.EditRequest{Memory: "Tea", Revision: 9})
		},
		"undo, dry": func(d domain, c memory.Caller) (any, error) {
			return d.Undo(ctx, c, memory.UndoRequest{Author: "kim", Since: since, DryRun: true})
		},
		"undo nobody":  func(d domain, c memory.Caller) (any, error) { return d.Undo(ctx, c, memory.UndoRequest{Since: since}) },
		"organization": func(d domain, c memory.Caller) (any, error) { return d.Organization(ctx, c) },
		"projects":     func(d domain, c memory.Caller) (any, error) { return d.Projects(ctx, c) },
		"project by remote": func(d domain, c memory.Caller) (any, error) {
			return d.FindProject(ctx, c, "remote:code.example/team/shop")
		},
		"project by name": func(d domain, c memory.Caller) (any, error) { return d.FindProject(ctx, c, " SHOP ") },
		"no project":      func(d domain, c memory.Caller) (any, error) { return d.FindProject(ctx, c, "shoe") },
		"a name taken":    func(d domain, c memory.Caller) (any, error) { return d.CreateProject(ctx, c, "shop", nil) },
		"no name":         func(d domain, c memory.Caller) (any, error) { return d.CreateProject(ctx, c, "", nil) },
		"no role": func(d domain, c memory.Caller) (any, error) {
			return d.CreateToken(ctx, c, memory.TokenRequest{Name: "x", Role: "king"})
		},
		"no token": func(d domain, c memory.Caller) (any, error) { return d.RevokeToken(ctx, c, "nobody") },
		"audit": func(d domain, c memory.Caller) (any, error) {
			return d.AuditLog(ctx, c, memory.AuditRequest{Author: "kim", Since: &since, Limit: 2})
		},
	} {
		// Impressions and last uses aside, nothing below changes what the next question finds.
		remote, rerr := ask(s.Client, s.by)
		local, lerr := ask(s.local, memory.Caller{Org: s.admin.Org, Project: s.by.Project, User: "kim", Agent: "tester", Role: memory.RoleAdmin, Door: memory.FromCLI})
		if diff := cmp.Diff(asJSON(t, local), asJSON(t, remote)); lerr == nil && diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		lp, lok := problem.As(lerr)
		rp, rok := problem.As(rerr)
		if (lerr == nil) != (rerr == nil) || lok != rok || lok && (lp.Code != rp.Code || lp.Field != rp.Field || lp.Detail != rp.Detail || !cmp.Equal(lp.Fixes, rp.Fixes)) {
			t.Errorf("%s: the server says %v, the domain %v", name, rerr, lerr)
		}
	}
	if version, err := s.Version(ctx); err != nil || version != "1.2" {
		t.Errorf("version %q, %v", version, err)
	}
	who, err := s.Whoami(ctx)
	if err != nil || who.User != "kim" || who.Role != memory.RoleAdmin || who.ProjectID != nil || who.Organization.Name != "acme" || who.TokenID == uuid.Nil {
		t.Errorf("%+v, %v", who, err)
	}
	wrong := connect(t, client.Options{URL: s.url, Token: token})
	if _, err := wrong.Whoami(ctx); !problem.Is(err, problem.Unauthenticated) || !strings.Contains(err.Error(), "set STELE_TOKEN") {
		t.Error(err)
	}
}

// asJSON is what doors show of an answer.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	check(t, err)
	return string(text)
}
