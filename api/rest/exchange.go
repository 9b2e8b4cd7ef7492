package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/eventstream"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// exchange is one admitted request, with its caller.
type exchange struct {
	w http.ResponseWriter
	r *http.Request

	caller   memory.Caller
	token    memory.Token
	revision int // of If-Match; 0 = any

	release func() // ends what the size of the body occupies
}

type exchangeKey struct{}

// admit runs before everything else of a request: it finds the caller, reads the headers, and refuses what no operation
// here would read. A request without a caller ends here whatever stands before this door.
func (a *API) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	x := &exchange{w: w, r: r, release: func() {}}
	var err error
	if x.caller, x.token, err = auth.CallerFrom(r.Context()); err == nil {
		err = x.read(ctx.Operation())
	}
	if err == nil && x.caller.Session != "" {
		x.caller, err = a.service.Arrive(r.Context(), x.caller)
		err = spelled(err, "sessionId", headerSession)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	setCommon(w.Header())
	next(huma.WithValue(ctx, exchangeKey{}, x))
}

// The headers that callers send.
const (
	headerAgent   = "Stele-Agent"
	headerSession = "Stele-Session"
	headerDoor    = "Stele-Door"
	headerRetry   = "Idempotency-Key"
	headerMatch   = "If-Match"
	headerEvent   = eventstream.LastID
)

// doors are the doors that may stand before this one: the command line and hooks of a client call a server through it.
var doors = []memory.Origin{memory.FromCLI, memory.FromMCP, memory.FromAPI, memory.FromHook}

// read takes everything from the request that is not path or body: headers, and the names of the query.
func (x *exchange) read(op *huma.Operation) error {
	c := &x.caller
	values := map[string]string{}
	for _, name := range []string{headerAgent, headerSession, headerDoor, headerRetry, headerMatch, headerEvent} {
		all := x.r.Header.Values(name)
		if len(all) > 1 {
			return problem.Invalidf(name, "the header is sent %d times", len(all)).Fix("send it once")
		}
		values[name] = x.r.Header.Get(name)
	}
	c.Agent, c.Session, c.Door = memory.AgentName(values[headerAgent]), values[headerSession], memory.FromAPI
	if door := memory.Origin(values[headerDoor]); door != "" {
		if !slices.Contains(doors, door) {
			return problem.Invalidf(headerDoor, "%q is not a door", clip(string(door))).Fix("use cli, mcp, api or hook, or leave it out")
		}
		c.Door = door
	}
	if takes(op, headerRetry) {
		c.Retry = values[headerRetry]
	}
	if match := values[headerMatch]; match != "" {
		var err error
		if x.revision, err = parseMatch(match); err != nil {
			return err
		}
		if !takes(op, headerMatch) {
			// To carry on as if there were no condition is the one thing that its sender cannot want.
			return problem.Invalidf(headerMatch, "this request cannot be bound to a revision").Fix("leave the header out")
		}
	}
	return checkQuery(x.r.URL.RawQuery, op)
}

// takes tells whether an operation takes a header.
func takes(op *huma.Operation, header string) bool {
	return slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.Ref == parameterRef(header) })
}

// checkQuery refuses queries that cannot be read, parameters nobody asks about, and two values where one is meant.
func checkQuery(raw string, op *huma.Operation) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return problem.Invalidf("", "the query of the address cannot be read").Fix("escape it, as curl does with --get --data-urlencode")
	}
	known := []string{}
	for _, p := range op.Parameters {
		if p.In != "query" {
			continue
		}
		known = append(known, p.Name)
		values := query[p.Name]
		if len(values) > 1 && p.Schema.Type != huma.TypeArray {
			return problem.Invalidf(p.Name, "the parameter is given %d times", len(values)).Fix("give it once")
		}
		for _, v := range values {
			if !utf8.ValidString(v) {
				return problem.Invalidf(p.Name, "it is not UTF-8").Fix("escape the bytes of its UTF-8 form")
			}
		}
	}
	for name := range query {
		if slices.Contains(known, name) {
			continue
		}
		p := problem.Invalidf(clip(name), "there is no such parameter")
		if len(known) == 0 {
			return p.Fix("leave it out: this takes none")
		}
		return p.Fix("use %s", strings.Join(known, ", "))
	}
	return nil
}

var entityTag = regexp.MustCompile(`^"r([1-9][0-9]{0,8})"$`)

// parseMatch reads If-Match: an entity tag that was given out, or * for whatever is there.
func parseMatch(match string) (revision int, err error) {
	match = strings.TrimSpace(match)
	if match == "*" {
		return 0, nil
	}
	found := entityTag.FindStringSubmatch(match)
	if found == nil {
		return 0, problem.Invalidf(headerMatch, "it is not an entity tag of a memory").Fix(`send the ETag as it was answered, in its quotes, such as "r3"`)
	}
	return strconv.Atoi(found[1])
}

// etag is the entity tag of a revision.
func etag(m memory.Memory) string { return fmt.Sprintf(`"r%d"`, m.Revision) }

// decidedOn gives the revision that a request was decided on: that of If-Match, or of the body.
func (x *exchange) decidedOn(body int) (int, error) {
	if x.revision != 0 && body != 0 && x.revision != body {
		return 0, problem.Invalidf("revision", "the body says %d and If-Match says %d", body, x.revision).Fix("send one of them")
	}
	if body == 0 {
		return x.revision, nil
	}
	return body, nil
}
