package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Bounds of bodies, in bytes. A memory has at most 20 KiB of text; a model or a folder of decisions has thousands of
// elements, as the readers of model files allow; a run has a verdict for every memory. Whoever may not import any sends at most
// MaxBody: enough to check a model.
const (
	MaxBody      = 1 << 20
	MaxModelBody = 16 << 20
)

const (
	// maxLarge is how many bodies above MaxBody are worked on at once: one of 16 MiB takes more than 100 MB until it is stored.
	maxLarge = 2
	// largeWait is how long another one waits for its turn; an import of thousands of elements takes a few seconds.
	largeWait = 10 * time.Second
)

// bounds say how large a body may be.
type bounds struct {
	most  int64         // bytes, from those in large; MaxBody from all others
	large []memory.Role // the first is who is meant to send such bodies
}

// importers are those from whom a model is taken.
var importers = []memory.Role{memory.RoleReviewer, memory.RoleAdmin}

// BodyLimit is how many bytes the body of a request may have, by its route.
func (a *API) BodyLimit(r *http.Request) int64 { return cmp.Or(a.limits[a.Route(r)], MaxBody) }

// readBody reads a JSON object into dst. encoding/json takes what people do not mean: fields nobody reads, a field twice,
// bytes that are no UTF-8; so the tokens are compared with the schema of the document first. Since schemas are closed and
// no deeper than the types, nothing nests deeper than they do. Rules about values are those of the domain.
func (a *API) readBody(ctx context.Context, x *exchange, schema *huma.Schema, b bounds, dst any) error {
	if kind := x.r.Header.Get("Content-Type"); kind != "" {
		if parsed, _, err := mime.ParseMediaType(kind); err != nil || parsed != "application/json" {
			return withStatus(http.StatusUnsupportedMediaType, problem.Invalidf("Content-Type", "%q is not read here", clip(kind)).
				Fix("send application/json, as curl does with --json"))
		}
	}
	data, err := a.receive(ctx, x, b)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}") // nothing to say where everything may be left out
	}
	if !utf8.Valid(data) {
		return badBody(nil, "the body is not UTF-8", "encode it as UTF-8")
	}
	c := &comparison{stopped: ctx.Err, tokens: json.NewDecoder(bytes.NewReader(data)), schemas: a.huma.OpenAPI().Components.Schemas}
	c.tokens.UseNumber()
	if err := c.value(schema, ""); err != nil {
		return err
	}
	if _, err := c.tokens.Token(); !errors.Is(err, io.EOF) {
		return badBody(nil, "something follows the JSON object", "send one object")
	}
	if err := json.Unmarshal(data, dst); err != nil {
		return badBody(err, "the body cannot be read", "compare it with the schema at /docs")
	}
	return nil
}

// receive reads a body. What is larger than MaxBody waits for its turn before the rest of it is read, and has it until the
// request ends.
func (a *API) receive(ctx context.Context, x *exchange, b bounds) ([]byte, error) {
	bound := b.most
	if !slices.Contains(b.large, x.caller.Role) {
		bound = MaxBody
	}
	tooLarge := func(err error) error {
		p := problem.New(problem.TooLarge, "", fmt.Sprintf("the body is larger than %d bytes", bound), "send less at once")
		if bound < b.most {
			_ = p.Fix("use a token of role %s, from whom it may have %d", b.large[0], b.most)
		}
		return p.Because(err)
	}
	if x.r.ContentLength > bound {
		return nil, tooLarge(nil)
	}
	body := http.MaxBytesReader(x.w, x.r.Body, bound)
	var data bytes.Buffer
	n, err := io.CopyN(&data, body, MaxBody+1)
	if errors.Is(err, io.EOF) {
		return data.Bytes(), nil
	}
	if n > MaxBody {
		if err := a.takeTurn(ctx, x); err != nil {
			return nil, err
		}
		_, err = io.Copy(&data, body)
	}
	if tooMuch := (*http.MaxBytesError)(nil); errors.As(err, &tooMuch) {
		return nil, tooLarge(err)
	}
	if err != nil {
		return nil, badBody(err, "the body did not arrive whole", "send it again")
	}
	return data.Bytes(), nil
}

// takeTurn waits until one of the few large bodies may be worked on; x.release gives the turn to the next.
func (a *API) takeTurn(ctx context.Context, x *exchange) error {
	wait := time.NewTimer(largeWait)
	defer wait.Stop()
	select {
	case a.large <- struct{}{}:
		x.release = func() { <-a.large }
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return problem.New(problem.Unavailable, "", "the server works on as many large bodies as it can", "try again in a moment")
	}
}

// badBody refuses a body that is no JSON: the request was not understood at all.
func badBody(cause error, detail, fix string) error {
	return withStatus(http.StatusBadRequest, problem.New(problem.Invalid, "", detail, fix).Because(cause))
}

// comparison reads the tokens of a body and compares them with a schema.
type comparison struct {
	stopped func() error // why nobody waits for the result any more
	tokens  *json.Decoder
	schemas huma.Registry
}

func (c *comparison) token() (json.Token, error) {
	if err := c.stopped(); err != nil {
		return nil, err
	}
	t, err := c.tokens.Token()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, badBody(err, fmt.Sprintf("the body is no JSON: %s at byte %d", syntax.Error(), syntax.Offset), "send one JSON object")
	}
	if err != nil {
		return nil, badBody(err, "the JSON of the body ends early", "send one JSON object")
	}
	return t, nil
}

// value compares one value; path says where it is: elements[2].key.
func (c *comparison) value(s *huma.Schema, path string) error {
	s = c.resolve(s)
	t, err := c.token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return c.object(s, path)
		}
		return c.array(s, path)
	case nil:
		if path == "" {
			return expected(s, path, "null")
		}
		return nil // as if it were left out
	case string:
		if s.Type != huma.TypeString {
			return expected(s, path, "a text")
		}
		if s.Format == "date-time" {
			if _, err := time.Parse(time.RFC3339, t); err != nil {
				return problem.Invalidf(path, "%q is not a time", clip(t)).Fix("give RFC 3339, such as 2030-01-31T12:00:00Z")
			}
		}
	case bool:
		if s.Type != huma.TypeBoolean {
			return expected(s, path, strconv.FormatBool(t))
		}
	case json.Number:
		whole := s.Type == huma.TypeInteger
		if !whole && s.Type != huma.TypeNumber {
			return expected(s, path, "a number")
		}
		if _, err := strconv.Atoi(t.String()); whole && err != nil {
			return problem.Invalidf(path, "%s is not a whole number", clip(t.String())).Fix("give digits, such as 20")
		}
	}
	return nil
}

func (c *comparison) object(s *huma.Schema, path string) error {
	if s.Type != huma.TypeObject {
		return expected(s, path, "an object")
	}
	seen := map[string]bool{}
	for c.tokens.More() {
		t, err := c.token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		at := clip(name)
		if path != "" {
			at = path + "." + at
		}
		if seen[name] {
			return problem.Invalidf(at, "the field is given twice").Fix("leave one of them out")
		}
		seen[name] = true
		field := s.Properties[name]
		if values, open := s.AdditionalProperties.(*huma.Schema); open && field == nil {
			field = values
		}
		if field == nil {
			known := slices.Sorted(maps.Keys(s.Properties))
			if len(known) == 0 {
				return problem.Invalidf(at, "there is no such field").Fix("leave it out: this takes none")
			}
			return problem.Invalidf(at, "there is no such field").Fix("use %s", strings.Join(known, ", "))
		}
		if err := c.value(field, at); err != nil {
			return err
		}
	}
	_, err := c.token() // the closing brace
	return err
}

func (c *comparison) array(s *huma.Schema, path string) error {
	if s.Type != huma.TypeArray {
		return expected(s, path, "a list")
	}
	for n := 0; c.tokens.More(); n++ {
		if err := c.value(s.Items, fmt.Sprintf("%s[%d]", path, n)); err != nil {
			return err
		}
	}
	_, err := c.token() // the closing bracket
	return err
}

// resolve follows references, and takes what is there of "this or null".
func (c *comparison) resolve(s *huma.Schema) *huma.Schema {
	for s.Ref != "" || len(s.AnyOf) > 0 {
		if s.Ref != "" {
			s = c.schemas.SchemaFromRef(s.Ref)
		} else {
			s = s.AnyOf[0]
		}
	}
	return s
}

func expected(s *huma.Schema, path, got string) error {
	want := map[string]string{huma.TypeObject: "an object", huma.TypeArray: "a list", huma.TypeString: "a text", huma.TypeBoolean: "true or false",
		huma.TypeInteger: "a whole number", huma.TypeNumber: "a number"}[s.Type]
	return problem.Invalidf(path, "%s is expected here, not %s", want, got).Fix("send %s, or leave it out", want)
}
