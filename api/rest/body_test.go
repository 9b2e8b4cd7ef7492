package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/stele-dev/stele/api/rest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestBodiesThatAreNotMeant(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for name, c := range map[string]struct {
		body   string
		status int
		code   problem.Code
		field  string
		words  string
	}{
		"no JSON":             {"content=x", 400, problem.Invalid, "", "no JSON"},
		"cut off":             {`{"content":"x"`, 400, problem.Invalid, "", "ends early"},
		"cut off in a text":   {`{"content":"x`, 400, problem.Invalid, "", ""},
		"two objects":         {`{"content":"x"}{}`, 400, problem.Invalid, "", "follows"},
		"rubbish behind":      {`{"content":"x"} x`, 400, problem.Invalid, "", "follows"},
		"missing comma":       {`{"content":"x" "why":"y"}`, 400, problem.Invalid, "", "no JSON"},
		"missing colon":       {`{"content" "x"}`, 400, problem.Invalid, "", "no JSON"},
		"byte order mark":     {"\ufeff{}", 400, problem.Invalid, "", "no JSON"},
		"no UTF-8":            {"{\"content\":\"\xff\"}", 400, problem.Invalid, "", "UTF-8"},
		"control character":   {"{\"content\":\"a\x01b\"}", 400, problem.Invalid, "", "no JSON"},
		"a list":              {`[]`, 422, problem.Invalid, "", "an object is expected here, not a list"},
		"null":                {`null`, 422, problem.Invalid, "", "an object is expected"},
		"a text":              {`"content"`, 422, problem.Invalid, "", "an object is expected"},
		"unknown field":       {`{"contents":"x"}`, 422, problem.Invalid, "contents", "content, elements, expires"},
		"other case":          {`{"Content":"x"}`, 422, problem.Invalid, "Content", "no such field"},
		"field of an import":  {`{"content":"x","imported":{}}`, 422, problem.Invalid, "imported", ""},
		"field within":        {`{"content":"x","seen":{"comit":"a"}}`, 422, problem.Invalid, "seen.comit", "branch, commit, tree"},
		"field twice":         {`{"content":"x","content":"y"}`, 422, problem.Invalid, "content", "twice"},
		"number for text":     {`{"content":7}`, 422, problem.Invalid, "content", "a text is expected here, not a number"},
		"text for list":       {`{"content":"x","tags":"queue"}`, 422, problem.Invalid, "tags", "a list is expected here, not a text"},
		"number in list":      {`{"content":"x","tags":["queue",7]}`, 422, problem.Invalid, "tags[1]", "a text"},
		"text for truth":      {`{"content":"x","separate":"yes"}`, 422, problem.Invalid, "separate", "true or false"},
		"truth for text":      {`{"content":true}`, 422, problem.Invalid, "content", "not true"},
		"list for object":     {`{"content":"x","seen":[]}`, 422, problem.Invalid, "seen", "an object"},
		"object for text":     {`{"content":{"a":1}}`, 422, problem.Invalid, "content", "a text"},
		"deep lists":          {`{"tags":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `}`, 422, problem.Invalid, "tags[0]", "a text"},
		"deep objects":        {`{"seen":` + strings.Repeat(`{"seen":`, 90_000) + "1" + strings.Repeat("}", 90_001), 422, problem.Invalid, "seen.seen", "no such field"},
		"name without end":    {`{"` + strings.Repeat("x", 100_000) + `":1}`, 422, problem.Invalid, strings.Repeat("x", 80) + "…", ""},
		"too large":           {`{"content":"` + strings.Repeat("x", 1<<20) + `"}`, 413, problem.TooLarge, "", "1048576"},
		"rule of the domain":  {`{"content":"x","kind":"rumour"}`, 422, problem.Invalid, "kind", ""},
		"limit of the domain": {`{"content":"` + strings.Repeat("x", 16385) + `"}`, 422, problem.Invalid, "content", "16384"},
		"wrong expiry":        {`{"content":"x","expires":"soon"}`, 422, problem.Invalid, "expires", ""},
		"unknown element":     {`{"content":"x","elements":["nowhere"]}`, 404, problem.NotFound, "elements", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.do(post(shop+"/memories", c.body))
			r.t = t
			r.refused(c.status, c.code, c.field, c.words)
			if len(r.body) > 2000 {
				t.Errorf("the answer repeats too much: %d bytes", len(r.body))
			}
		})
	}
	s.do(post(shop+"/memories", `{"content":"x"}`).with("Content-Type", "text/plain")).refused(http.StatusUnsupportedMediaType, problem.Invalid, "Content-Type", "--json")
	s.do(post(shop+"/memories", `{"content":"The till is closed."}`).with("Content-Type", "application/json; charset=utf-8")).wants(http.StatusCreated)
	s.do(post(shop+"/recall", `{"limit":1.5}`)).refused(http.StatusUnprocessableEntity, problem.Invalid, "limit", "1.5 is not a whole number")
	s.do(post(shop+"/recall", `{"limit":99999999999999999999}`)).refused(http.StatusUnprocessableEntity, problem.Invalid, "limit")
	s.do(post(shop+"/recall", `{"as_of":"today"}`)).refused(http.StatusUnprocessableEntity, problem.Invalid, "as_of", "RFC 3339")
	s.do(post(shop+"/model", `{"model":{"elements":[{"key":"a","name":"A","level":"system","source":{"line":"one"}}]}}`)).
		refused(http.StatusUnprocessableEntity, problem.Invalid, "model.elements[0].source.line", "a whole number")
	s.do(post(shop+"/model", `{"model":{"elements":[{"key":"a","name":"A","level":"system","properties":{"a":1}}]}}`)).
		refused(http.StatusUnprocessableEntity, problem.Invalid, "model.elements[0].properties.a", "a text")
	if s.log.Len() > 0 {
		t.Errorf("logged as if something were broken:\n%s", s.log)
	}
}

// TestAbsurdTextsAnywhere puts texts that break things elsewhere into every text of every body, query and path: nothing of
// it may be an internal error. It finds the places in the document, so that a new one is tried as well.
func TestAbsurdTextsAnywhere(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.importShop()
	m := s.remember(fields{"content": "The till is closed at ten."})
	victim := s.remember(fields{"content": "Somebody stands at the door."}) // of what ends a memory
	texts := []string{"\x00", "a\x00b", "\ufffe\U0010ffff", "'; DROP TABLE memories; --", "{{.}}${x}%s%n", "\u202eevil\u2066", strings.Repeat("z", 40_000), "\r\nX-Evil: 1", "../../etc/passwd",
		"<script>alert(1)</script>", "-1", "00000000-0000-0000-0000-000000000000", " "}
	n := 0
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			names := []string{"{project}", "shop", "{memory}", m.Handle, "{token}", "nobody", "{run}", "latest", "{session}", "ws-nowhere", "{group}", "g-000000000000", "{decision}",
				"01a22c43-247e-7b6c-81cc-53d0f3012d8f"}
			if slices.Contains([]string{"retire-memory", "erase-memory", "supersede-memory", "restore-memory", "undo-author"}, op.OperationID) {
				names[3] = victim.Handle
			}
			target := strings.NewReplacer(names...).Replace(path)
			for _, text := range texts {
				for _, body := range absurdBodies(op, text) {
					n++
					s.unbroken(call{method: method, path: target, body: body})
				}
				for _, p := range op.Parameters {
					switch p.Value.In {
					case "query":
						n++
						s.unbroken(call{method: method, path: target + "?" + p.Value.Name + "=" + escape(text), body: bodyOf(op)})
					case "path":
						if len(text) < 1000 {
							n++
							odd := strings.NewReplacer(append([]string{"{" + p.Value.Name + "}", escape(text)}, names...)...).Replace(path)
							s.unbroken(call{method: method, path: odd, body: bodyOf(op)})
						}
					case "header": // read in one place for all operations
						if op.OperationID == "edit-memory" && !strings.ContainsAny(text, "\x00\r\n") {
							n++
							s.unbroken(call{method: method, path: target, body: bodyOf(op)}.with(p.Value.Name, text))
						}
					}
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d requests were tried", n)
	}
	if s.log.Len() > 0 {
		t.Errorf("internal errors were logged:\n%.3000s", s.log)
	}
}

// unbroken sends a request whose answer may be anything but an internal error; do holds it against the document.
func (s *server) unbroken(c call) {
	s.t.Helper()
	c = c.with("Accept", "application/json") // events as a page
	if r := s.do(c); r.status >= http.StatusInternalServerError {
		s.t.Errorf("%s %.200s with %.300v is answered %d %s", c.method, c.path, c.body, r.status, r.body)
	}
}

func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// bodyOf is a body that an operation may have, changing little.
func bodyOf(op *openapi3.Operation) any {
	if op.RequestBody == nil {
		return nil
	}
	return fields{}
}

// absurdBodies puts a text into every field of a body that takes one, one at a time.
func absurdBodies(op *openapi3.Operation, text string) []fields {
	if op.RequestBody == nil {
		return nil
	}
	var out []fields
	schema := op.RequestBody.Value.Content["application/json"].Schema.Value
	for name, p := range schema.Properties {
		for _, value := range absurd(p.Value, text, 0) {
			body := fields{"content": "A fact.", "author": "nobody", "since": "2100-01-01T00:00:00Z", "dry_run": true}
			for known := range body {
				if schema.Properties[known] == nil {
					delete(body, known)
				}
			}
			body[name] = value
			out = append(out, body)
		}
	}
	return out
}

func absurd(s *openapi3.Schema, text string, depth int) []any {
	if len(s.AnyOf) > 0 {
		s = s.AnyOf[0].Value
	}
	switch {
	case depth > 4 || s.Type == nil:
	case s.Type.Includes("string"):
		return []any{text}
	case s.Type.Includes("array"):
		var out []any
		for _, value := range absurd(s.Items.Value, text, depth+1) {
			out = append(out, []any{value})
		}
		return out
	case s.Type.Includes("object"):
		var out []any
		for name, p := range s.Properties {
			for _, value := range absurd(p.Value, text, depth+1) {
				object := fields{}
				for _, needed := range s.Required {
					object[needed] = map[string]any{"level": "system", "elements": []fields{{"key": "a", "name": "A", "level": "system"}}}[needed]
					if object[needed] == nil {
						object[needed] = "a"
					}
				}
				object[name] = value
				out = append(out, object)
			}
		}
		if s.AdditionalProperties.Schema != nil {
			out = append(out, fields{text: text})
		}
		return out
	}
	return nil
}

// broken is a domain in which everything fails.
type broken struct {
	rest.Service

	err error
}

func (b broken) Projects(context.Context, memory.Caller) ([]memory.ProjectInfo, error) {
	return nil, b.err
}

func TestFaultsAreLoggedAndNotShown(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.mount(broken{err: errors.New("password of the database")})
	r := s.do(get("/v1/projects"))
	r.refused(http.StatusInternalServerError, "internal", "")
	if strings.Contains(string(r.body), "password") || !strings.Contains(s.log.String(), "password") {
		t.Errorf("answered %s and logged %s", r.body, s.log)
	}
	s.log.Reset()
	s.mount(broken{err: fmt.Errorf("projects: %w", context.DeadlineExceeded)})
	s.do(get("/v1/projects")).refused(http.StatusServiceUnavailable, problem.Unavailable, "")
	s.mount(broken{err: fmt.Errorf("projects: %w", problem.New(problem.Unavailable, "", "starting", "wait"))})
	gone := s.do(get("/v1/projects"))
	gone.refused(http.StatusServiceUnavailable, problem.Unavailable, "")
	if gone.header.Get("Retry-After") != "1" || s.log.Len() > 0 {
		t.Errorf("Retry-After is %q, logged %s", gone.header.Get("Retry-After"), s.log)
	}
}

func TestBodyThatStopsOnTheWay(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, shop+"/memories", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(`{"content":"x"}`))))
	r.Header.Set("Authorization", "Bearer "+s.tokens[memory.RoleAdmin])
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	reply{t, w.Code, w.Header(), w.Body.Bytes()}.refused(http.StatusBadRequest, problem.Invalid, "", "did not arrive whole")
}

func TestPersonalMemoriesStayPersonal(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := as[memory.RememberResponse](s.do(post(shop+"/memories", fields{"content": "Only I know.", "scope": "personal"}).by(memory.RoleAgent)).wants(http.StatusCreated)).Memory
	s.do(get(shop+"/memories/"+m.Handle)).refused(http.StatusNotFound, problem.NotFound, "memory")
	s.do(get(shop + "/memories/" + m.Handle).by(memory.RoleAgent)).wants(http.StatusOK)
}
