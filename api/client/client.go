// Package client speaks the REST API of a Stele server: the domain as package memory has it, over HTTP. It is the other
// side of package rest, and what the command line and stdio MCP work on when they are given a server.
//
// A call that did not come through is tried again until it does or patience ends. Every write carries an idempotency key
// that stays the same over its attempts, so that one that was stored although its answer was lost is not stored twice.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/loopback"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// DefaultPatience is how long a call is tried: longer than a server takes to start anew, shorter than a person waits.
const DefaultPatience = 30 * time.Second

// importPatience is for models and decisions, which may be large: as long as a server gives an answer.
const importPatience = 90 * time.Second

// maxAnswer bounds an answer, in bytes: more than the largest page and the largest model a server takes.
const maxAnswer = 32 << 20

// Bounds of making a connection.
const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 10 * time.Second
	maxHeaderBytes   = 64 << 10
)

// api is the first segment of every path of the API.
const api = "v1"

// Options of a Client.
type Options struct {
	// URL is the address of the server, https://memory.example.org or, behind a reverse proxy, with a path.
	URL string
	// Token is the bearer token, stele_…. It is sent to the host of URL and nowhere else, and stands in no error.
	Token string
	// Insecure allows plain HTTP to another machine, where everyone on the way can read the token.
	Insecure bool
	// Program names the caller in User-Agent, such as stele/1.2.
	Program string
	// Patience is how long a call is tried before it is given up; DefaultPatience when 0. The context may end it earlier.
	Patience time.Duration
	// Transport carries the requests; by default one of the client's own, which Close ends.
	Transport http.RoundTripper
	// Retrying is told when a call did not come through and will be tried again. It may be called concurrently.
	Retrying func(reason error)
}

// Client is the domain of a server. It is safe for concurrent use.
type Client struct {
	base     string // without a trailing slash
	host     string
	token    string
	program  string
	patience time.Duration
	retrying func(error)
	http     *http.Client
}

// New makes a client. Nothing is sent yet. Errors are problems of the field server or token.
func New(o Options) (*Client, error) {
	base, err := parseURL(o.URL, o.Insecure)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(o.Token)
	switch {
	case token == "":
		return nil, problem.New(problem.Unauthenticated, "token", "the server "+base.Host+" wants a token, and none is set",
			"set STELE_TOKEN; an admin makes one with `stele token create`")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, problem.Invalidf("token", "it has characters that no token has").Fix("set STELE_TOKEN to the text that `stele token create` printed")
	}
	c := &Client{
		base: strings.TrimRight(base.String(), "/"), host: base.Host, token: token, program: cmp.Or(o.Program, "stele"),
		patience: cmp.Or(o.Patience, DefaultPatience), retrying: o.Retrying,
		http: &http.Client{
			Transport: o.Transport,
			// Whoever answers with another address does not get the token; the person decides whether to go there.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if c.retrying == nil {
		c.retrying = func(error) {}
	}
	if c.http.Transport == nil {
		c.http.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: handshakeTimeout,
			ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeaderBytes,
		}
	}
	return c, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// URL is the address of the server.
func (c *Client) URL() string { return c.base }

// parseURL reads the address of a server, and refuses one that would give the token away.
func parseURL(text string, insecure bool) (*url.URL, error) {
	const example = "write it as https://memory.example.org, with the path of a reverse proxy if there is one"
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		// The text may hold a password, so it is not repeated.
		return nil, problem.Invalidf("server", "the address cannot be read").Fix(example)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, problem.Invalidf("server", "%q is not the address of a server", u.Redacted()).Fix(example)
	case u.User != nil:
		return nil, problem.Invalidf("server", "the address holds a user or password, which this server does not know").Fix("put the token in STELE_TOKEN")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, problem.Invalidf("server", "the address goes on after its path").Fix("leave out what begins with ? or #")
	case u.Scheme == "http" && !insecure && !loopback.Is(u.Hostname()):
		return nil, problem.Invalidf("server", "http to another machine (%s) would show the token to everyone on the way", u.Host).
			Fix("use https").Fix("or, in a network you trust, say --insecure or set STELE_INSECURE=true")
	}
	return u, nil
}

// request is one call: what the door asks, not yet one attempt at it.
type request struct {
	method string
	path   []string // segments below the server's address, not escaped
	query  url.Values
	body   any // JSON; nil for none
	caller memory.Caller
	write  bool
	lost   string // fix for a write whose answer was lost; lookFirst when empty
	large  bool   // takes longer to send and to carry out
}

// What to do about a write of which nobody knows whether it was carried out.
const (
	lookFirst  = "look at what is there before you repeat the command"
	repeatable = "repeat the command: done twice is as done once"
	recognised = "look at what is there, or repeat the command: a fact that is remembered again is recognised, not doubled"
	anew       = "see `stele token list`: if the token was made just now, revoke it and make another, since its text cannot be shown again"
)

// message is a request ready to be sent any number of times.
type message struct {
	method, url string
	header      http.Header
	body        []byte
}

func (c *Client) message(r request) (message, error) {
	m := message{method: r.method, url: c.base, header: http.Header{
		"Authorization": {"Bearer " + c.token}, "Accept": {"application/json"}, "User-Agent": {c.program},
	}}
	for _, segment := range r.path {
		m.url += "/" + escape(segment)
	}
	if len(r.query) > 0 {
		m.url += "?" + r.query.Encode()
	}
	for name, value := range map[string]string{
		"Stele-Agent": r.caller.Agent, "Stele-Session": r.caller.Session, "Stele-Door": string(r.caller.Door),
	} {
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return m, problem.Invalidf("sessionId", "it is not an id that was given out").Fix("pass the id that started the session, or leave it out")
		}
		if value != "" {
			m.header.Set(name, value)
		}
	}
	if r.write {
		m.header.Set("Idempotency-Key", cmp.Or(r.caller.Retry, uuid.NewString()))
	}
	if r.body == nil {
		return m, nil
	}
	m.header.Set("Content-Type", "application/json")
	var err error
	m.body, err = encode(r.body)
	return m, err
}

// escape makes a text one segment of a path. Dots alone would be taken for a way up.
func escape(segment string) string {
	if strings.Trim(segment, ".") == "" {
		return strings.ReplaceAll(segment, ".", "%2E")
	}
	return url.PathEscape(segment)
}

// exact is a body whose empty members have a meaning of their own.
type exact map[string]any

// encode gives a request as JSON. What is null or an empty text is left out: in the requests of the domain it means the
// default.
func encode(body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	if _, ok := body.(exact); ok {
		return text, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	maps.DeleteFunc(members, func(_ string, v json.RawMessage) bool { return string(v) == "null" || string(v) == `""` })
	if text, err = json.Marshal(members); err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return text, nil
}

// reply is what a server answered, read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// send makes one attempt. arrived tells whether a connection was there to carry the request: without one, nothing can have
// been done.
func (c *Client) send(ctx context.Context, m message) (_ reply, arrived bool, err error) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), m.method, m.url, bytes.NewReader(m.body))
	if err != nil {
		return reply{}, false, err
	}
	req.Header = m.header.Clone()
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, connected.Load(), err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if cerr := resp.Body.Close(); err == nil && cerr != nil {
		err = cerr
	}
	return reply{status: resp.StatusCode, header: resp.Header, body: body}, true, err
}
