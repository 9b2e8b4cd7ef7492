package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

const pathEvents = pathProject + "/events"

// eventsQuery says where to begin.
type eventsQuery struct {
	ProjectPath

	After  string  `query:"after" doc:"The position behind which to begin: the id of an event, or empty for the beginning of everything. Left out: now. Last-Event-ID goes before it."`
	Before string  `query:"before" doc:"A position to go back from, or now: newest first; the page's position is the next before, 0.0.0 at the beginning. Not for a stream."`
	Limit  Integer `query:"limit" doc:"Events of a page, 1 to 500; not for a stream."`
}

// streamed is an answer that writes itself.
type streamed struct {
	Body func(huma.Context)
}

// The types of an answer that is read to its end, and of one that has none.
const (
	contentJSON   = "application/json"
	contentStream = eventstream.ContentType
)

// events adds what happens in a project, as it happens.
func (a *API) events() {
	add(a, endpoint{id: "events", method: http.MethodGet, path: pathEvents, tag: tagEvents,
		summary: "Follow what happens", description: "Streams what happens to the memories and the model that the caller may see, as server-sent " +
			"events: `id` is the position behind the event, `event` its verb, `data` a StreamEvent. A client that was cut off sends the last id as " +
			"`Last-Event-ID`, as browsers do by themselves, and misses nothing. A comment keeps a " +
			"quiet stream alive. With `Accept: application/json` the answer is a page instead, and its `position` goes into the next `after`, or `before`.",
		answers: "The stream, or a page of it."}, a.follow)
	op := a.huma.OpenAPI().Paths[pathEvents].Get
	op.Parameters = append(op.Parameters, &huma.Param{Ref: parameterRef(headerEvent)})
	event := a.schema(memory.StreamEvent{})
	op.Responses["200"].Content = map[string]*huma.MediaType{
		contentJSON: {Schema: a.schema(memory.EventsResponse{})},
		contentStream: {Schema: &huma.Schema{Type: huma.TypeString, Description: "Server-sent events; every `data` line is a StreamEvent.",
			Extensions: map[string]any{"x-stele-data": event}},
			Example: `id: 7.0.0
event: remember
data: {"id":"7.0.0","at":"2030-01-31T12:00:00Z","verb":"remember","memory":"m-7k3f9qa","kind":"note","scope":"project","revision":1,"author":"alex","door":"api"}

`},
	}
}

// Streams tells whether a request asks for a stream of events, which stays open and does no work, and not for a page.
func (a *API) Streams(r *http.Request) bool {
	if r.Method != http.MethodGet || a.Route(r) != http.MethodGet+" "+pathEvents {
		return false
	}
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, contentStream) || !strings.Contains(accept, contentJSON)
}

func (a *API) follow(ctx context.Context, x *exchange, in *eventsQuery) (*streamed, error) {
	after := memory.FromNow
	if x.r.URL.Query().Has("after") {
		after = in.After
	}
	if last := x.r.Header.Get(headerEvent); last != "" {
		after = last // newer than the address, which a browser sends again as it was
	}
	limit, err := in.Limit.value("limit")
	if err != nil {
		return nil, err
	}
	if limit < 0 || limit > memory.MaxEvents {
		return nil, problem.Invalidf("limit", "%d is not between 1 and %d", limit, memory.MaxEvents).Fix("leave it out for %d", memory.MaxEvents)
	}
	page := !a.Streams(x.r)
	if !page && limit != 0 {
		return nil, problem.Invalidf("limit", "a stream has no pages").Fix("leave it out, or send Accept: application/json for a page")
	}
	back := x.r.URL.Query().Has("before")
	switch {
	case back && !page:
		return nil, problem.Invalidf("before", "a stream goes forward").Fix("leave it out, or send Accept: application/json for a page")
	case back && x.r.URL.Query().Has("after"):
		return nil, problem.Invalidf("before", "a page goes either forward or back").Fix("give one of after and before")
	}
	// The first page is asked for before anything is sent, so that what is wrong can still be said.
	var first memory.EventsResponse
	if back {
		first, err = a.service.EarlierEvents(ctx, x.caller, in.Before, limit)
	} else {
		first, err = a.service.Events(ctx, x.caller, after, limit)
	}
	if err != nil {
		return nil, err
	}
	if page {
		return &streamed{func(huma.Context) {
			x.w.Header().Set("Content-Type", contentJSON)
			_ = marshal(x.w, first) // see marshal
		}}, nil
	}
	done, err := a.options.Stream(x.r)
	if err != nil {
		return nil, err
	}
	return &streamed{func(huma.Context) {
		defer done()
		s := eventstream.Stream{
			Events: func(ctx context.Context, after string) (memory.EventsResponse, error) {
				return a.service.Events(ctx, x.caller, after, 0)
			},
			Frames: frames, Admitted: func() error { return a.options.Admitted(x.r) }, Done: a.options.Done, Pace: a.options.Pace,
		}
		if err := s.Serve(ctx, x.w, first); err != nil && ctx.Err() == nil {
			// The status is sent: all that is left is to end, and the client comes back with its last event.
			a.options.Log.InfoContext(ctx, "a stream of events ended", "error", err)
		}
	}}, nil
}

// frames are events as JSON, each named by its verb.
func frames(_ context.Context, events []memory.StreamEvent) ([]eventstream.Frame, error) {
	out := make([]eventstream.Frame, len(events))
	for i, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", e.ID, err)
		}
		out[i] = eventstream.Frame{Name: string(e.Verb), Data: string(data)}
	}
	return out, nil
}
