// Package rest is the REST door: the domain as JSON under /v1, described by an OpenAPI 3.1 document that is made from the
// types of the domain and served beside it.
//
// Requests and answers are the structs of package memory. The door adds what only HTTP knows: paths, queries, headers,
// entity tags, statuses, and a stream of events. What a caller may do is decided behind it.
package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Service is the part of the domain that this door calls; *memory.Service is one.
type Service interface {
	Organization(ctx context.Context, c memory.Caller) (memory.OrganizationInfo, error)
	Tokens(ctx context.Context, c memory.Caller) ([]memory.Token, error)
	CreateToken(ctx context.Context, c memory.Caller, r memory.TokenRequest) (memory.NewToken, error)
	SignInLink(ctx context.Context, c memory.Caller, token uuid.UUID) (memory.SignIn, error)
	RevokeToken(ctx context.Context, c memory.Caller, ref string) (memory.Token, error)
	AuditLog(ctx context.Context, c memory.Caller, r memory.AuditRequest) (memory.AuditResponse, error)

	Projects(ctx context.Context, c memory.Caller) ([]memory.ProjectInfo, error)
	FindProject(ctx context.Context, c memory.Caller, ref string) (memory.ProjectInfo, error)
	Impact(ctx context.Context, c memory.Caller, r memory.ImpactRequest) (memory.ImpactResponse, error)
	Plan(ctx context.Context, c memory.Caller, r memory.PlanRequest) (memory.PlanResponse, error)
	ChangeProjectSettings(ctx context.Context, c memory.Caller, change memory.ProjectSettingsChange) (memory.ProjectInfo, error)
	CreateProject(ctx context.Context, c memory.Caller, name string, identities []string) (memory.ProjectInfo, error)
	AddIdentities(ctx context.Context, c memory.Caller, project uuid.UUID, identities []string) error

	Remember(ctx context.Context, c memory.Caller, r memory.RememberRequest) (memory.RememberResponse, error)
	List(ctx context.Context, c memory.Caller, r memory.ListRequest) (memory.ListResponse, error)
	Get(ctx context.Context, c memory.Caller, refs []string) ([]memory.Memory, error)
	Edit(ctx context.Context, c memory.Caller, r memory.EditRequest) (memory.Memory, error)
	Confirm(ctx context.Context, c memory.Caller, r memory.ConfirmRequest) (memory.Memory, error)
	Forget(ctx context.Context, c memory.Caller, r memory.ForgetRequest) (memory.ForgetResponse, error)
	Restore(ctx context.Context, c memory.Caller, ref string) (memory.Memory, error)
	History(ctx context.Context, c memory.Caller, ref string) (memory.HistoryResponse, error)
	Usage(ctx context.Context, c memory.Caller, ref string) (memory.Usage, error)
	CodeSpan(ctx context.Context, c memory.Caller, ref string) (memory.CodeSpan, error)
	Timeline(ctx context.Context, c memory.Caller, ref string, limit int) (memory.TimelineResponse, error)
	Undo(ctx context.Context, c memory.Caller, r memory.UndoRequest) (memory.UndoResponse, error)

	Recall(ctx context.Context, c memory.Caller, r memory.RecallRequest) (memory.RecallResponse, error)
	Context(ctx context.Context, c memory.Caller, r memory.ContextRequest) (memory.ContextResponse, error)
	Why(ctx context.Context, c memory.Caller, path string, line int) (memory.WhyResponse, error)
	Map(ctx context.Context, c memory.Caller) (memory.Map, error)
	Diagram(ctx context.Context, c memory.Caller, r memory.DiagramRequest) (diagram.View, error)
	Stats(ctx context.Context, c memory.Caller) (memory.Stats, error)

	Model(ctx context.Context, c memory.Caller) (memory.ModelView, error)
	ImportModel(ctx context.Context, c memory.Caller, im memory.ModelImport) (memory.ModelReport, error)
	Bind(ctx context.Context, c memory.Caller, r memory.BindRequest) (memory.BindResponse, error)
	UncommittedBindings(ctx context.Context, c memory.Caller) ([]c4model.Binding, error)
	ImportDecisions(ctx context.Context, c memory.Caller, decisions []c4model.Decision, source string) (memory.DecisionReport, error)

	Events(ctx context.Context, c memory.Caller, after string, limit int) (memory.EventsResponse, error)
	EarlierEvents(ctx context.Context, c memory.Caller, upTo string, limit int) (memory.EventsResponse, error)

	driftService
	reviewService
	sessionService
	hookService
	importService
}

// Options of an API. Service is required; zero values of the rest mean the defaults.
type Options struct {
	Service Service
	// RunDrift has a project compared with its code soon; nil: this server reads no repositories.
	RunDrift func(ctx context.Context, org, project uuid.UUID) error
	// Doctor examines the server for an admin of an organization; nil: it does not examine itself.
	Doctor  func(ctx context.Context, c memory.Caller) (doctor.Report, error)
	Log     *slog.Logger // internal errors, which callers are not shown; default slog.Default()
	Version string       // of the program, in the document; default "1", as in docs/openapi.json

	// Stream admits one more stream of the caller of a request; done is called when it ends. Default: as many as one likes.
	Stream func(*http.Request) (done func(), err error)
	// Admitted tells whether the caller of a request would still be let in. A stream asks at every heartbeat and ends with
	// problem.Unauthenticated, so that a revoked token does not go on listening; other errors it outlives. Default: yes.
	Admitted func(*http.Request) error
	// Done ends all streams, for a server that shuts down; nil never does. Clients come back with the last event they saw.
	Done <-chan struct{}
	// Pace is that of streams.
	Pace eventstream.Pace
}

// API is the door. It is safe for concurrent use.
type API struct {
	service  Service
	options  Options
	mux      *http.ServeMux
	huma     huma.API
	limits   map[string]int64 // of bodies that may be larger than MaxBody, by route
	large    chan struct{}    // holds one for each of those that is worked on
	document []byte
	page     []byte // the document as HTML
}

// New makes the door. It panics where operations contradict each other, which the first test of any kind finds.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Stream == nil {
		o.Stream = func(*http.Request) (func(), error) { return func() {}, nil }
	}
	if o.Admitted == nil {
		o.Admitted = func(*http.Request) error { return nil }
	}
	a := &API{service: o.Service, options: o, mux: http.NewServeMux(), limits: map[string]int64{}, large: make(chan struct{}, maxLarge)}
	a.huma = humago.New(a.mux, configuration(cmp.Or(o.Version, "1")))
	a.huma.UseMiddleware(a.admit)
	a.organization()
	a.examine()
	a.projects()
	a.memories()
	a.imports()
	a.lifecycle()
	a.questions()
	a.sessions()
	a.hooks()
	a.work()
	a.diagrams()
	a.model()
	a.drift()
	a.review()
	a.events()
	a.describe()

	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(a.huma.OpenAPI()); err != nil {
		panic(err) // the document is made of constants
	}
	a.document, a.page = document.Bytes(), page(a.huma.OpenAPI())
	return a
}

// Register mounts what this package serves: /v1/ behind the gate, which lets requests through only with their caller in
// the context (auth.WithCaller), and /openapi.json and /docs before it.
func (a *API) Register(mux *http.ServeMux, gate func(http.Handler) http.Handler) {
	mux.Handle("/v1/", gate(a))
	mux.HandleFunc("GET /openapi.json", a.ServeDocument)
	mux.HandleFunc("GET /docs", a.ServePage)
}

// ServeHTTP answers requests below /v1. One without a caller in its context is refused with 401.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if handler, pattern := a.mux.Handler(r); pattern == "" {
		a.unknown(w, r, handler)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// Route is the pattern that a request matches, "" when none: what may be logged and counted, since a path may hold a title.
func (a *API) Route(r *http.Request) string {
	_, pattern := a.mux.Handler(r)
	return pattern
}

// unknown answers for a path or method that does not exist as every other problem is answered. handler is what the mux
// would have said.
func (a *API) unknown(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	said := &verdict{header: http.Header{}}
	handler.ServeHTTP(said, r)
	if _, _, err := auth.CallerFrom(r.Context()); err != nil {
		a.fail(w, r, err)
		return
	}
	if said.status == http.StatusMethodNotAllowed {
		allowed := said.header.Get("Allow")
		w.Header().Set("Allow", allowed)
		a.fail(w, r, withStatus(http.StatusMethodNotAllowed, problem.Invalidf("", "%s is not used here", r.Method).Fix("use %s", allowed)))
		return
	}
	if said.status >= http.StatusMultipleChoices && said.status < http.StatusBadRequest {
		handler.ServeHTTP(w, r) // to the clean form of the path
		return
	}
	a.fail(w, r, problem.New(problem.NotFound, "", "there is nothing at this path", "see /docs for what there is"))
}

// verdict keeps status and headers of an answer that is not sent.
type verdict struct {
	header http.Header
	status int
}

func (v *verdict) Header() http.Header         { return v.header }
func (v *verdict) Write(p []byte) (int, error) { return len(p), nil }
func (v *verdict) WriteHeader(status int)      { v.status = status }

// Document gives the OpenAPI 3.1 document, indented.
func (a *API) Document() []byte { return slices.Clone(a.document) }

// ServeDocument serves the OpenAPI document.
func (a *API) ServeDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(a.document) // a client that is gone is nobody to tell
}

// ServePage serves the document as a page for people.
func (a *API) ServePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(a.page)
}

// configuration of huma: nothing but JSON, no page that loads from elsewhere, no route of its own.
func configuration(version string) huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			Info: &huma.Info{Title: "Stele", Version: version, Description: introduction,
				License: &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"}},
			Components: components(),
			Security:   []map[string][]string{{bearer: {}}},
			Tags:       tags,
		},
		Formats:       map[string]huma.Format{contentJSON: {Marshal: marshal}, "json": {Marshal: marshal}}, // "json" is that of problem+json
		DefaultFormat: contentJSON,
	}
}
