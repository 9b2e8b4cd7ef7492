package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

const pathEvents = pathProject + "/events"

// eventsQuery says where to begin.
type eventsQuery struct {
	ProjectPath

	After string  `query:"after" doc:"The position behind which to begin: the id of an event, or empty for the beginning of everything. Left out: now. Last-Event-ID goes before it."`
	Limit Integer `query:"limit" doc:"Events of a page, 1 to 500; not for a stream."`
}

// streamed is an answer that writes itself.
type streamed struct {
	Body func(huma.Context)
}

// The types of an answer that is read to its end, and of one that has none.
const (
	contentJSON   = "application/json"
	contentStream = "text/event-stream"
)

// events adds what happens in a project, as it happens.
func (a *API) events() {
	add(a, endpoint{id: "events", method: http.MethodGet, path: pathEvents, tag: tagEvents,
		summary: "Follow what happens", description: "Streams what happens to the memories and the model that the caller may see, as server-sent " +
			"events: `id` is the position behind the event, `event` its verb, `data` a StreamEvent. A client that was cut off sends the last id as " +
			"`Last-Event-ID`, as browsers do by themselves, and misses nothing. A comment keeps a " +
			"quiet stream alive. With `Accept: application/json` the answer is a page instead, and its `position` goes into the next `after`.",
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
	// The first page is asked for before anything is sent, so that what is wrong can still be said.
	first, err := a.service.Events(ctx, x.caller, after, limit)
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
		s := &stream{w: x.w, control: http.NewResponseController(x.w), timeout: a.options.WriteTimeout}
		if err := a.stream(ctx, x, s, first); err != nil && ctx.Err() == nil {
			// The status is sent: all that is left is to end, and the client comes back with its last event.
			a.options.Log.InfoContext(ctx, "a stream of events ended", "error", err)
		}
	}}, nil
}

// stream sends events until the client is gone, the server shuts down, or the caller would no longer be let in. It
// returns why; nil for the server.
func (a *API) stream(ctx context.Context, x *exchange, s *stream, page memory.EventsResponse) error {
	if err := s.open(page.Position, len(page.Events) == 0); err != nil {
		return err
	}
	poll, beat := time.NewTicker(a.options.Poll), time.NewTicker(a.options.Heartbeat)
	defer poll.Stop()
	defer beat.Stop()
	more := make(chan time.Time) // always ready
	close(more)
	for {
		if len(page.Events) > 0 {
			if err := s.send(page.Events); err != nil {
				return err
			}
		}
		next := poll.C
		if len(page.Events) == memory.MaxEvents {
			next = more
		}
		page.Events = nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.options.Done:
			return nil
		case <-beat.C:
			// That nobody can be asked now, as while the database restarts, says nothing about the token.
			if err := a.options.Admitted(x.r); problem.Is(err, problem.Unauthenticated) {
				return err
			}
			if err := s.beat(); err != nil {
				return err
			}
		case <-next:
			events, err := a.service.Events(ctx, x.caller, page.Position, 0)
			switch {
			case err == nil:
				page = events
			case !problem.Is(err, problem.Unavailable): // a database that restarts is no reason for everybody to come back at once
				return err
			}
		}
	}
}

// stream writes server-sent events, each write within a deadline of its own: a client that takes nothing is not waited for.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// open sends the headers, how soon to come back, and for a stream that has nothing to say yet where it begins: a client
// that is cut off before the first event resumes there.
func (s *stream) open(position string, quiet bool) error {
	// Neither deadline of the server is meant for a stream.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	h := s.w.Header()
	h.Set("Content-Type", contentStream)
	h.Set("X-Accel-Buffering", "no") // proxies that collect answers would hold events back
	begin := "retry: 1000\n"
	if quiet {
		begin += "id: " + position + "\n"
	}
	return s.write(func(w io.Writer) error {
		_, err := io.WriteString(w, begin+"\n")
		return err
	})
}

func (s *stream) send(events []memory.StreamEvent) error {
	return s.write(func(w io.Writer) error {
		for _, e := range events {
			data, err := json.Marshal(e) // on one line
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Verb, data); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *stream) beat() error {
	return s.write(func(w io.Writer) error {
		_, err := io.WriteString(w, ": still here\n\n")
		return err
	})
}

// write writes and flushes within the timeout. Between writes there is no deadline: HTTP/2 would end the stream by it.
func (s *stream) write(fn func(io.Writer) error) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := fn(s.w); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := s.control.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
