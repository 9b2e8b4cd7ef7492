package rest

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// ProjectPath is the parameter of every path below a project.
type ProjectPath struct {
	Project string `path:"project" doc:"The project: its id, its name, or an identity such as remote:example.org/shop (escaped)." example:"shop"`
}

func (p *ProjectPath) project() string { return p.Project }

// MemoryPath names a memory of a project.
type MemoryPath struct {
	ProjectPath

	Memory string `path:"memory" doc:"The memory: its handle, its id, or its title (escaped)." example:"m-7k3f9qa"`
}

// JSON is a body. The door reads it itself (see readBody), so that every fault of one is a problem like any other.
type JSON[B any] struct {
	Sent B
}

func (j *JSON[B]) body() any { return &j.Sent }

// Integer is a whole number in a query, kept as it was sent: what is none is refused in the words of every other problem.
type Integer string

// Schema implements huma.SchemaProvider.
func (Integer) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeInteger} }

// value reads the number; 0 when none was sent.
func (n Integer) value(name string) (int, error) {
	if n == "" {
		return 0, nil
	}
	v, err := strconv.Atoi(string(n))
	if err != nil {
		return 0, problem.Invalidf(name, "%q is not a whole number", clip(string(n))).Fix("give digits, such as 20")
	}
	return v, nil
}

// Moment is a time in a query, kept as it was sent.
type Moment string

// Schema implements huma.SchemaProvider.
func (Moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// value reads the time; nil when none was sent.
func (m Moment) value(name string) (*time.Time, error) {
	if m == "" {
		return nil, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, string(m)); err == nil {
			return &t, nil
		}
	}
	return nil, problem.Invalidf(name, "%q is not a time", clip(string(m))).Fix("give RFC 3339, such as 2030-01-31T12:00:00Z, or a date (its beginning, UTC)")
}

// answer is an answer with a body.
type answer[T any] struct {
	Body T
}

// revised is an answer about one memory.
type revised[T any] struct {
	ETag string `header:"ETag" doc:"The revision of the memory, for If-Match." example:"\"r3\""`
	Body T
}

// endpoint is an operation with what the document and the door must know beside its types.
type endpoint struct {
	id, method, path, tag string

	summary, description string
	answers              string // what the answer is, one sentence
	status               int    // of success; 200 when 0

	writes  bool          // takes Idempotency-Key
	matches bool          // takes If-Match
	limit   int64         // of the body in bytes; MaxBody when 0
	large   []memory.Role // who may send more than MaxBody; importers when nil
	example any           // of the body
}

// add makes an operation of an endpoint and what it runs. I holds its parameters by huma's tags, O its answer.
func add[I, O any](a *API, e endpoint, run func(ctx context.Context, x *exchange, in *I) (*O, error)) {
	op := huma.Operation{OperationID: e.id, Method: e.method, Path: e.path, Summary: e.summary, Description: e.description,
		Tags: []string{e.tag}, DefaultStatus: e.status, SkipValidateBody: true, SkipValidateParams: true}
	if op.DefaultStatus == 0 {
		op.DefaultStatus = http.StatusOK
	}
	op.Responses = map[string]*huma.Response{strconv.Itoa(op.DefaultStatus): {Description: e.answers}}
	headers := []string{headerAgent, headerSession, headerDoor}
	refusals := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusServiceUnavailable}
	if strings.Contains(e.path, "{") {
		refusals = append(refusals, http.StatusNotFound, http.StatusConflict) // Conflict: a title may fit several
	}
	if e.writes {
		headers = append(headers, headerRetry)
		refusals = append(refusals, http.StatusConflict)
	}
	if e.matches {
		headers = append(headers, headerMatch)
		refusals = append(refusals, http.StatusPreconditionFailed)
	}
	var body *huma.RequestBody
	var schema *huma.Schema
	if in, ok := any(new(I)).(interface{ body() any }); ok {
		schema = a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(in.body()).Elem(), true, "")
		body = &huma.RequestBody{Required: e.example != nil, Content: map[string]*huma.MediaType{contentJSON: {Schema: schema, Example: e.example}}}
		refusals = append(refusals, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(headers)
	for _, h := range headers {
		op.Parameters = append(op.Parameters, &huma.Param{Ref: parameterRef(h)})
	}
	for _, status := range refusals {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: responseRef(status)}
	}
	size := bounds{most: cmp.Or(e.limit, MaxBody), large: e.large}
	if size.large == nil {
		size.large = importers
	}
	if size.most > MaxBody {
		a.limits[e.method+" "+e.path] = size.most
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		x, admitted := ctx.Value(exchangeKey{}).(*exchange)
		if !admitted {
			return nil, newFailure(problem.New(problem.Unauthenticated, "", "nobody was admitted", "send Authorization: Bearer stele_…"))
		}
		if p, ok := any(in).(interface{ project() string }); ok {
			found, err := a.service.FindProject(ctx, x.caller, p.project())
			if err != nil {
				return nil, a.failure(x.r, err)
			}
			x.caller.Project = found.ID
		}
		if b, ok := any(in).(interface{ body() any }); ok {
			defer func() { x.release() }() // reading sets it
			if err := a.readBody(ctx, x, schema, size, b.body()); err != nil {
				return nil, a.failure(x.r, err)
			}
		}
		out, err := run(ctx, x, in)
		if err != nil {
			return nil, a.failure(x.r, err)
		}
		return out, nil
	})
	// huma reads the bodies of operations that have one, so this one gets its body when huma has looked.
	operationAt(a.huma.OpenAPI(), e.method, e.path).RequestBody = body
}
