package rest

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

// The groups of operations, in the order of the page.
const (
	tagMemories     = "Memories"
	tagLifecycle    = "Life of a memory"
	tagQuestions    = "Questions"
	tagSessions     = "Work sessions"
	tagModel        = "Model"
	tagDrift        = "Drift"
	tagReview       = "Review"
	tagEvents       = "Events"
	tagProjects     = "Projects"
	tagOrganization = "Organization"
)

var tags = []*huma.Tag{
	{Name: tagMemories, Description: "Write and read facts."},
	{Name: tagLifecycle, Description: "Confirm, dispute, retire, erase, restore, look back."},
	{Name: tagQuestions, Description: "Ask what is known."},
	{Name: tagSessions, Description: "Who works where, and what came of it."},
	{Name: tagModel, Description: "The architecture model that memories hang on."},
	{Name: tagDrift, Description: "Whether code and model still agree."},
	{Name: tagReview, Description: "What a person should look at, and what is decided about it."},
	{Name: tagEvents, Description: "Follow what happens."},
	{Name: tagProjects, Description: "What there is memory about."},
	{Name: tagOrganization, Description: "The tenant: who calls, tokens, trail."},
}

// bearer is the name of the security scheme.
const bearer = "bearer"

// extensionRef marks parameters and fields that hold an id, with what it is the id of, so that a test can send each of
// them the ids of another tenant.
const extensionRef = "x-stele-ref"

func parameterRef(header string) string { return "#/components/parameters/" + header }

func responseRef(status int) string {
	return "#/components/responses/" + strings.ReplaceAll(http.StatusText(status), " ", "")
}

// components are the parts of the document that do not follow from a type.
func components() *huma.Components {
	schemas := huma.NewMapRegistry("#/components/schemas/", nameOfSchema)
	for t, as := range spellings {
		schemas.RegisterTypeAlias(t, as)
	}
	text := func(name, description, example string) *huma.Param {
		return &huma.Param{Name: name, In: "header", Description: description, Example: example, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	door := text(headerDoor, "The door before this one, where there is one; api when left out.", "cli")
	for _, d := range doors {
		door.Schema.Enum = append(door.Schema.Enum, string(d))
	}
	c := &huma.Components{
		Schemas: schemas,
		SecuritySchemes: map[string]*huma.SecurityScheme{bearer: { //nolint:gosec // it says what a token looks like
			Type: "http", Scheme: "bearer", BearerFormat: "stele_…",
			Description: "A token. It names the user, the role, and perhaps the one project it is for. An admin makes one with `stele token create`.",
		}},
		Parameters: map[string]*huma.Param{
			headerAgent: text(headerAgent, "The client program, which is named in authors before the user: agent/user.", "claude-code"),
			headerSession: text(headerSession, "The session or connection that this call belongs to. What a session was shown decides "+
				"whether its confirmation comes too late.", "5b2f7c1e"),
			headerDoor: door,
			headerRetry: text(headerRetry, "A key of your choice, such as a UUID. A write that is repeated under its key within 24 hours is "+
				"answered as the first time and writes nothing; the key with another request is a conflict.", "0190c5a8-9d3a-7cc1-b6ab-1f0f0c4a2d11"),
			headerMatch: text(headerMatch, "The ETag of the memory as you saw it, or `*`. When the memory is at another revision by now, the "+
				"answer is 412 and nothing is changed.", `"r3"`),
			headerEvent: text(headerEvent, "The id of the last event that was seen.", "7.0.0"),
		},
		Responses: map[string]*huma.Response{},
	}
	problemSchema := schemas.Schema(reflect.TypeFor[auth.Problem](), true, "")
	for status, r := range refusals {
		r := huma.Response{Description: r.Description, Headers: r.Headers, Content: map[string]*huma.MediaType{"application/problem+json": {Schema: problemSchema}}}
		c.Responses[strings.TrimPrefix(responseRef(status), "#/components/responses/")] = &r
	}
	return c
}

// nameOfSchema names the schema of a type. What is short inside its package says here whose it is.
func nameOfSchema(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.PkgPath() == reflect.TypeFor[session.Summary]().PkgPath() && slices.Contains(ofSessions, name) {
		return "Session" + name
	}
	if t.PkgPath() == reflect.TypeFor[hook.Request]().PkgPath() {
		return "Hook" + name
	}
	if t.PkgPath() == reflect.TypeFor[review.Decision]().PkgPath() {
		return "Review" + name
	}
	return name
}

// ofSessions are the types of package session whose names say too little outside it.
var ofSessions = []string{"Summary", "Status", "List", "Receipt"}

// refusals are the answers that are problems.
var refusals = map[int]huma.Response{
	http.StatusBadRequest:            {Description: "The body is no JSON."},
	http.StatusUnauthorized:          {Description: "No token, or one that is unknown, expired or revoked.", Headers: oneHeader("WWW-Authenticate", "How to authenticate.")},
	http.StatusForbidden:             {Description: "The role of the token does not allow it."},
	http.StatusNotFound:              {Description: "There is nothing by that name that the token may know of."},
	http.StatusConflict:              {Description: "A name fits several things, the state of the target forbids it, or an idempotency key was used for something else."},
	http.StatusPreconditionFailed:    {Description: "The memory changed since the revision that was sent."},
	http.StatusRequestEntityTooLarge: {Description: "The body is larger than what is read."},
	http.StatusUnsupportedMediaType:  {Description: "The body is not declared to be application/json."},
	http.StatusUnprocessableEntity:   {Description: "An argument cannot be accepted; `field` says which."},
	http.StatusTooManyRequests:       {Description: "More requests than the limit.", Headers: oneHeader("Retry-After", "Seconds to wait.")},
	http.StatusInternalServerError:   {Description: "Something went wrong inside; the server's log has the reason."},
	http.StatusServiceUnavailable:    {Description: "A part that is needed is not there now.", Headers: oneHeader("Retry-After", "Seconds to wait.")},
}

func oneHeader(name, description string) map[string]*huma.Header {
	return map[string]*huma.Header{name: {Description: description, Schema: &huma.Schema{Type: huma.TypeString}}}
}

// spellings says how types of the domain look as JSON where huma cannot see it.
var spellings = map[reflect.Type]reflect.Type{
	reflect.TypeFor[uuid.UUID]():         reflect.TypeFor[idText](),
	reflect.TypeFor[memory.Kind]():       reflect.TypeFor[kindText](),
	reflect.TypeFor[memory.Scope]():      reflect.TypeFor[scopeText](),
	reflect.TypeFor[memory.Status]():     reflect.TypeFor[statusText](),
	reflect.TypeFor[memory.Origin]():     reflect.TypeFor[originText](),
	reflect.TypeFor[memory.Role]():       reflect.TypeFor[roleText](),
	reflect.TypeFor[c4model.Level]():     reflect.TypeFor[levelText](),
	reflect.TypeFor[memory.Comparison](): reflect.TypeFor[comparisonText](),
	reflect.TypeFor[review.Reason]():     reflect.TypeFor[reasonText](),
	reflect.TypeFor[review.Action]():     reflect.TypeFor[actionText](),
	reflect.TypeFor[memory.Door]():       reflect.TypeFor[doorText](),
	reflect.TypeFor[session.State]():     reflect.TypeFor[stateText](),
	reflect.TypeFor[session.Verdict]():   reflect.TypeFor[verdictText](),
	reflect.TypeFor[session.Outcome]():   reflect.TypeFor[outcomeText](),
	reflect.TypeFor[doctor.State]():      reflect.TypeFor[judgementText](),
}

type (
	idText         string
	kindText       string
	scopeText      string
	statusText     string
	originText     string
	roleText       string
	levelText      string
	comparisonText string
	reasonText     string
	actionText     string
	doorText       string
	stateText      string
	verdictText    string
	outcomeText    string
)

func (idText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

func (kindText) Schema(huma.Registry) *huma.Schema {
	return oneOf(append(slices.Clone(memory.Kinds), memory.DecisionKind)...)
}

func (scopeText) Schema(huma.Registry) *huma.Schema {
	return oneOf(memory.Personal, memory.Project, memory.Organization)
}

func (statusText) Schema(huma.Registry) *huma.Schema {
	return oneOf(memory.Live, memory.Superseded, memory.Retired, memory.Erased, memory.CandidateStatus)
}

func (originText) Schema(huma.Registry) *huma.Schema {
	return oneOf(memory.FromMCP, memory.FromAPI, memory.FromWeb, memory.FromCLI, memory.FromHook, memory.FromImport, memory.FromSession)
}

func (roleText) Schema(huma.Registry) *huma.Schema {
	return oneOf(memory.RoleAgent, memory.RoleCI, memory.RoleReviewer, memory.RoleAdmin)
}

func (levelText) Schema(huma.Registry) *huma.Schema {
	return oneOf(c4model.Person, c4model.System, c4model.Container, c4model.Component, c4model.Code)
}

func (comparisonText) Schema(huma.Registry) *huma.Schema {
	return oneOf(memory.ComparedNone, memory.ComparedAll, memory.ComparedIndex, memory.ComparedUnindexed)
}

func (doorText) Schema(huma.Registry) *huma.Schema {
	return oneOf(memory.DoorRecall, memory.DoorPrompt, memory.DoorFile, memory.DoorBriefing, memory.DoorIndex, memory.DoorLink)
}

func (stateText) Schema(huma.Registry) *huma.Schema {
	return oneOf(session.Active, session.Finished, session.Expired, session.Cancelled)
}

func (verdictText) Schema(huma.Registry) *huma.Schema {
	return oneOf(session.Allow, session.Warn, session.Deny)
}

func (outcomeText) Schema(huma.Registry) *huma.Schema {
	return oneOf(session.Done, session.Incomplete, session.Failed)
}

func (reasonText) Schema(huma.Registry) *huma.Schema { return oneOf(review.Reasons...) }

func (actionText) Schema(huma.Registry) *huma.Schema { return oneOf(review.Actions...) }

func oneOf[T ~string](values ...T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// schema gives the reference to the schema of a type.
func (a *API) schema(v any) *huma.Schema {
	return a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(v), true, "")
}

// describeOperations says what parameters and answers are, and gives the schemas that requests consist of.
func (a *API) describeOperations(doc *huma.OpenAPI) map[string]bool {
	sent := map[string]bool{}
	for _, op := range operations(doc) {
		if op.RequestBody != nil {
			a.reach(op.RequestBody.Content[contentJSON].Schema, sent)
		}
		for _, p := range op.Parameters {
			if p.Ref != "" {
				continue
			}
			if ref, ok := references[p.Name]; ok {
				p.Extensions = map[string]any{extensionRef: ref}
			}
			if len(p.Schema.Examples) > 0 {
				p.Example = p.Schema.Examples[0]
			}
			p.Schema.Description, p.Schema.Examples, p.Schema.Nullable = "", nil, false // said by the parameter
		}
		for of, also := range map[string]string{
			"/memories": "It restates a memory that is there already, which the answer shows.",
			"/sessions": "It goes on with a session that was open, or the gate denied it; the answer shows which.",
		} {
			if created, known := op.Responses["201"], op.Responses["200"]; created != nil && known == nil && strings.Contains(op.Path, of) {
				merged := *created
				merged.Description = also
				op.Responses["200"] = &merged
			}
		}
	}
	return sent
}

// describe makes the schemas say what the JSON is: what a request may leave out, where null stands, what a field means,
// and which fields hold ids.
func (a *API) describe() {
	doc := a.huma.OpenAPI()
	sent := a.describeOperations(doc)
	schemas := doc.Components.Schemas
	delete(schemas.Map(), "ErrorModel") // huma's own, which no answer has
	delete(schemas.Map(), "ErrorDetail")
	for name, s := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		s.Description = cmp.Or(doctorDescriptions[name], importDescriptions[name], contextDescriptions[name], diagramDescriptions[name],
			driftDescriptions[name], hookDescriptions[name], reviewDescriptions[name], sessionDescriptions[name], descriptions[name])
		if sent[name] {
			s.Required = required[name]
		}
		for _, f := range reflect.VisibleFields(t) {
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := s.Properties[key]
			if p == nil || f.Anonymous {
				continue
			}
			a.describeField(p, f.Type, sent[name], options == "omitempty")
			p.Description = descriptionOf(name, key)
			if values, ok := narrower[name+"."+key]; ok {
				p.Enum = oneOf(values...).Enum
			}
			if slices.Contains(wider, name+"."+key) {
				p.Enum = nil
			}
			if ref, ok := references[name+"."+key]; ok {
				holder := p
				if p.Items != nil {
					holder = p.Items
				}
				holder.Extensions = map[string]any{extensionRef: ref}
			}
		}
	}
}

// describeField says where a field may be null: an answer has null for what there is not, unless the field is left out
// then, and lists are never null; a request may send null for everything that it may leave out.
func (a *API) describeField(p *huma.Schema, t reflect.Type, sent, omitted bool) {
	switch {
	case t.Kind() == reflect.Slice:
		p.Nullable = sent
	case t.Kind() != reflect.Pointer || omitted && !sent:
	case p.Ref != "":
		p.AnyOf, p.Ref = []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}, ""
	default:
		p.Nullable = true
	}
}

// reach notes a schema and those it consists of.
func (a *API) reach(s *huma.Schema, into map[string]bool) {
	switch {
	case s == nil:
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		if !into[name] {
			into[name] = true
			for _, p := range a.huma.OpenAPI().Components.Schemas.Map()[name].Properties {
				a.reach(p, into)
			}
		}
	case s.Items != nil:
		a.reach(s.Items, into)
	}
}

// operationAt gives the operation of a method and path.
func operationAt(doc *huma.OpenAPI, method, path string) *huma.Operation {
	all := operations(doc)
	return all[slices.IndexFunc(all, func(op *huma.Operation) bool { return op.Method == method && op.Path == path })]
}

// operations lists the operations of a document by path and method.
func operations(doc *huma.OpenAPI) []*huma.Operation {
	var all []*huma.Operation
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
			if op != nil {
				all = append(all, op)
			}
		}
	}
	slices.SortFunc(all, func(a, b *huma.Operation) int {
		return strings.Compare(a.Path+" "+strconv.Itoa(order(a))+a.Method, b.Path+" "+strconv.Itoa(order(b))+b.Method)
	})
	return all
}

// order puts reading before writing.
func order(op *huma.Operation) int {
	return slices.Index([]string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete}, op.Method)
}

// narrower lists the kinds where not every one can stand: work sessions alone write outcomes, and decisions are no memories.
var narrower = map[string][]memory.Kind{
	"RememberRequest.kind": {memory.Pitfall, memory.Convention, memory.Note},
	"SupersedeMemory.kind": {memory.Pitfall, memory.Convention, memory.Note},
	"Memory.kind":          memory.Kinds,
	"StreamEvent.kind":     memory.Kinds,
	"TimelineEntry.kind":   memory.Kinds,
}

// wider lists the fields in which a decision among the results says what no memory does.
var wider = []string{"Result.status", "Result.origin"}

// references says what the ids in parameters (by name) and in fields of requests are ids of.
var references = map[string]string{
	"project": "project", "memory": "memory", "token": "token", "element": "element", "run": "run", "session": "session", "group": "group", "decision": "decision",
	"ReviewDecideRequest.group": "group", "ReviewDecideRequest.items": "item",
	"RememberRequest.elements": "element", "RememberRequest.supersedes": "memory",
	"SupersedeMemory.elements": "element", "EditMemory.elements": "element",
	"OpenMemories.memories": "memory",
	"RecallRequest.element": "element", "RecallRequest.projects": "project",
	"StartRequest.elements": "element", "StartRequest.continues": "session", "HookRequest.continues": "session", "HookRequest.conversation": "session",
	"HeartbeatSession.elements": "element",
	"TokenRequest.project":      "project", "BindElement.element": "element",
	"ReviewDecideRequest.memories": "memory", "ReviewDecideRequest.elements": "element", "ReviewDecideRequest.into": "memory",
}

// required lists what a request cannot leave out, and of types that requests and answers share, what is always there.
var required = map[string][]string{
	"HookRequest": {"event"}, "RememberRequest": {"content"}, "SupersedeMemory": {"content"}, "OpenMemories": {"memories"}, "UndoRequest": {"author", "since"},
	"ContextRequest": {"task"}, "PlanRequest": {"task"}, "TokenRequest": {"name"}, "CreateProject": {"name"}, "AddIdentities": {"identities"},
	"ImportModel": {"model"}, "ImportDecisions": {"decisions"}, "Model": {"elements"}, "BindElement": {"element"},
	"Element": {"key", "name", "level"}, "Relationship": {"source", "destination"}, "Binding": {"element", "pattern"}, "Decision": {"id", "title"},
	"Warning": {"message"}, "RunPush": {"repository", "ancestors", "report"}, "Report": {"status", "score", "commit", "input_hash"},
	"Finding": {"fingerprint", "check", "subject"}, "Verdict": {"id"}, "DecideModel": {"accept"}, "ReviewDecideRequest": {"action"},
}
