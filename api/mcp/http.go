package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// HTTP is the same server over Streamable HTTP, at every protocol revision the library knows, with the handshake
// (2025-11-25 and earlier) and without (2026-07-28). It is to be mounted at any path; where the pattern has a wildcard
// {project}, as in /mcp/p/{project}, the endpoint is that of one project.
//
// It expects that Host and Origin have been checked, that the body is bounded (http.MaxBytesReader, whose error becomes
// status 413), and that Backend.Caller finds out from the context of the request who calls.
//
// Nothing is kept between two requests, so any replica answers any of them and there is nothing to close. This server
// has nothing to say unasked, so an answer is one JSON document and never a stream: GET, which would open one, is refused
// with status 405 as the protocol provides for. So is DELETE, since there is no session to end.
func (s *Server) HTTP() http.Handler {
	transport := server.NewStreamableHTTPServer(s.mcp,
		server.WithSessionIdManager(sessionIDs{}),
		server.WithHTTPContextFunc(func(ctx context.Context, _ *http.Request) context.Context {
			return s.mcp.WithContext(ctx, newHTTPSession(server.ClientSessionFromContext(ctx)))
		}),
		server.WithStreamableHTTPLogger(slog.New(detail{s.log.Handler()})),
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, r.Method+" is not used here: send each message by POST, the answer comes with it", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(r.Body)
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("the message is larger than %d bytes: send less at once", tooLarge.Limit), http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, "the message could not be read to its end: send it again", http.StatusBadRequest)
			return
		}
		e := &exchange{project: r.PathValue("project"), header: http.Header{}}
		ctx := withFaults(context.WithValue(r.Context(), exchangeKey{}, e), &e.faults)
		transport.Handle(e, &server.HTTPRequest{Method: r.Method, URL: r.URL, Header: r.Header, Body: body, Context: ctx})
		e.send(w)
	})
}

// detail is a log in which everything is a detail: what the library calls an error is a client that went away or sent
// what nobody asked for, and a client must not be able to fill a log with that.
type detail struct{ slog.Handler }

// Enabled implements slog.Handler.
func (d detail) Enabled(ctx context.Context, _ slog.Level) bool {
	return d.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (d detail) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return d.Handler.Handle(ctx, r) //nolint:wrapcheck // it is the handler
}

// exchange is one HTTP request with its answer, which is held back until it is complete: whether an error has to be put
// right is known only then. It is the server.HTTPResponseWriter that the library writes to.
type exchange struct {
	project string // of the endpoint, as the path names it; "" for any
	faults  faults

	header http.Header
	status int
	body   bytes.Buffer
}

type exchangeKey struct{}

// exchangeOf is the exchange that ctx belongs to; nil when the call did not come over HTTP.
func exchangeOf(ctx context.Context) *exchange {
	e, _ := ctx.Value(exchangeKey{}).(*exchange)
	return e
}

// Header implements server.HTTPResponseWriter.
func (e *exchange) Header() http.Header { return e.header }

// WriteHeader implements server.HTTPResponseWriter.
func (e *exchange) WriteHeader(status int) { e.status = status }

// Write implements server.HTTPResponseWriter.
func (e *exchange) Write(p []byte) (int, error) {
	e.status = cmp.Or(e.status, http.StatusOK)
	return e.body.Write(p)
}

// Flush implements server.HTTPResponseWriter; nothing leaves before the end.
func (e *exchange) Flush() {}

// CanStream implements server.HTTPResponseWriter.
func (e *exchange) CanStream() bool { return false }

// send writes the answer, unless there is none because the client has gone.
func (e *exchange) send(w http.ResponseWriter) {
	if e.status == 0 {
		return
	}
	body, code := e.faults.correct(e.body.Bytes())
	switch code { // as revision 2026-07-28 has it, and earlier ones leave it open
	case mcp.INVALID_PARAMS:
		e.status = http.StatusBadRequest
	case mcp.METHOD_NOT_FOUND:
		e.status = http.StatusNotFound
	}
	maps.Copy(w.Header(), e.header)
	w.WriteHeader(e.status)
	_, _ = w.Write(body) // a client that has gone is told nothing
}

// Session ids look like <uuid>.<client program>. They carry what a later request has to be told of the handshake, so
// that a replica which did not see it knows as much. They are no secret and no proof: a request is authenticated by
// itself, and the name of a client program is what the client says it is.

// newSessionID makes the id of a session with a client program, as agentName spells it.
func newSessionID(agent string) string { return uuid.NewString() + "." + agent }

// parseSessionID takes a session id apart.
func parseSessionID(id string) (connection, agent string, ok bool) {
	connection, agent, ok = strings.Cut(id, ".")
	if parsed, err := uuid.Parse(connection); !ok || err != nil || parsed.String() != connection || agentName(agent) != agent {
		return "", "", false
	}
	return connection, agent, true
}

// startSession is the hook that runs after the handshake.
func startSession(ctx context.Context, _ any, r *mcp.InitializeRequest, _ *mcp.InitializeResult) {
	if e := exchangeOf(ctx); e != nil {
		e.header.Set(server.HeaderKeySessionID, newSessionID(agentName(r.Params.ClientInfo.Name)))
	}
}

// sessionIDs tells the library which session ids are ours. It makes none through the library, which would keep each in
// memory until a client ends it: startSession does.
type sessionIDs struct{}

// Generate implements server.SessionIdManager.
func (sessionIDs) Generate() string { return "" }

// Validate implements server.SessionIdManager. A client need not have a session.
func (sessionIDs) Validate(id string) (terminated bool, err error) {
	if _, _, ok := parseSessionID(id); id != "" && !ok {
		return false, fmt.Errorf("%q is no session of this server", id)
	}
	return false, nil
}

// Terminate implements server.SessionIdManager.
func (sessionIDs) Terminate(string) (notAllowed bool, err error) { return true, nil }

// httpSession is what the library sees as the session of one request.
type httpSession struct {
	server.ClientSession
	connection string // what the requests of one client share; "" when the request came without a session
	agent      string // client program, by the session id
	key        string
}

func newHTTPSession(of server.ClientSession) *httpSession {
	s := &httpSession{ClientSession: of}
	s.connection, s.agent, _ = parseSessionID(of.SessionID())
	s.key = s.connection
	if s.key == "" {
		s.key = uuid.NewString()
	}
	return s
}

// SessionID is what the library tells clients apart by: a client may cancel the requests of its own session by their
// number. One without a session gets an id for each request, or it could cancel those of others.
func (s *httpSession) SessionID() string { return s.key }

// callerFor says who calls and about which project: the one that the arguments name, else that of the endpoint, else
// what the backend makes of none. At the endpoint of one project a call about another is a mistake of the caller,
// and following either name would do it in the wrong place.
func callerFor(ctx context.Context, b Backend, named string, writes bool) (memory.Caller, error) {
	e := exchangeOf(ctx)
	if e == nil || e.project == "" || named == "" || named == e.project {
		if e != nil {
			named = cmp.Or(named, e.project)
		}
		return b.Caller(ctx, named, writes)
	}
	c, err := b.Caller(ctx, e.project, writes)
	if err != nil {
		return c, err
	}
	other, err := b.Caller(ctx, named, false) // it may be the same project by another name
	if err != nil {
		return other, err
	}
	if c.Project != other.Project {
		return memory.Caller{}, problem.Invalidf("projectId", "%q is another project than %q, which this endpoint is for", named, e.project).
			Fix("leave projectId out to mean the project of this endpoint").
			Fix("for the other one, use the server's endpoint /mcp, or /mcp/p/%s", other.Project)
	}
	return c, nil
}
