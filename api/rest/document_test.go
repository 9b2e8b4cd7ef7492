package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/api/auth"
	"github.com/stele-dev/stele/api/rest"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// TestDocumentIsCommitted compares the document with the committed one, so that a change of the API is seen in review.
func TestDocumentIsCommitted(t *testing.T) {
	t.Parallel()
	got := rest.New(rest.Options{}).Document()
	file := filepath.Join("..", "..", "docs", "openapi.json")
	if *update {
		must(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/openapi.json is not what the code says; run make generate (-committed +generated):\n%s", diff)
	}
}

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(rest.New(rest.Options{}).Document())
	must(t, err)
	return doc
}

func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	doc := document(t)
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("it is OpenAPI %s", doc.OpenAPI)
	}
	must(t, doc.Validate(context.Background()))
}

// TestEveryOperationIsDescribed walks all operations: what a reader, a retrying client and a matrix of permissions rely on.
func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	doc := document(t)
	// Questions with a body, and what is the same one whenever it is repeated: a push, what a session says, its end.
	reads := []string{"open-memories", "recall", "find-context", "plan", "push-run", "heartbeat-session", "finish-session", "cancel-session", "hook"}
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			ids[op.OperationID] = true
			if op.Summary == "" || op.Description == "" || len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
				t.Errorf("%s lacks summary, description or tag", name)
			}
			headers := map[string]bool{}
			for _, p := range op.Parameters {
				if p.Value.Description == "" || p.Value.Schema == nil {
					t.Errorf("%s does not describe %s", name, p.Value.Name)
				}
				headers[p.Value.Name] = true
			}
			writes := method != http.MethodGet && !slices.Contains(reads, op.OperationID)
			if headers["Idempotency-Key"] != writes {
				t.Errorf("%s takes Idempotency-Key: %v, want %v", name, !writes, writes)
			}
			for _, status := range []string{"401", "403", "422", "429", "500", "503"} {
				r := op.Responses.Value(status)
				if r == nil || r.Value.Content.Get("application/problem+json") == nil {
					t.Errorf("%s does not describe %s", name, status)
				}
			}
			if (op.RequestBody != nil) != (method == http.MethodPost || method == http.MethodPatch) {
				t.Errorf("%s has a body: %v", name, op.RequestBody != nil)
			}
			for status, r := range op.Responses.Map() {
				if *r.Value.Description == "" {
					t.Errorf("%s does not say what %s is", name, status)
				}
			}
		}
	}
	if len(ids) != 71 {
		t.Errorf("there are %d operations, want 71: a new one needs its row in docs/rest.md", len(ids))
	}
	for name, s := range doc.Components.Schemas {
		if s.Value.Description == "" {
			t.Errorf("schema %s is not described", name)
		}
		for field, p := range s.Value.Properties {
			if p.Value.Description == "" {
				t.Errorf("%s.%s is not described", name, field)
			}
		}
	}
}

// TestGuideListsEveryOperation compares the table of the guide with the document, and that every path it shows exists.
func TestGuideListsEveryOperation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "rest.md"))
	must(t, err)
	_, table, found := strings.Cut(string(text), "## All there is")
	if !found {
		t.Fatal("the guide has no table")
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("`(GET|POST|PATCH|DELETE) ([^`]+)`").FindAllStringSubmatch(table, -1) {
		path := m[2]
		for short, long := range map[string]string{"P": "/v1/projects/{project}", "M": "/v1/projects/{project}/memories/{memory}"} {
			if rest, ok := strings.CutPrefix(path, short); ok {
				path = long + rest
			}
		}
		listed[m[1]+" "+path] = true
	}
	for path, item := range document(t).Paths.Map() {
		for method := range item.Operations() {
			if !listed[method+" "+path] {
				t.Errorf("the guide does not list %s %s", method, path)
			}
			delete(listed, method+" "+path)
		}
	}
	for stray := range listed {
		t.Errorf("the guide lists %s, which is not there", stray)
	}
	api := rest.New(rest.Options{})
	for _, m := range regexp.MustCompile(`\$STELE(/v1[^ "?]*)`).FindAllStringSubmatch(string(text), -1) {
		if api.Route(httptest.NewRequestWithContext(t.Context(), http.MethodGet, m[1], nil)) == "" && api.Route(httptest.NewRequestWithContext(t.Context(), http.MethodPost, m[1], nil)) == "" {
			t.Errorf("the guide calls %s, which is not there", m[1])
		}
	}
}

// TestReferencesAreMarked finds the ids by their names, so that a new one cannot stay out of the matrix.
func TestReferencesAreMarked(t *testing.T) {
	t.Parallel()
	doc := document(t)
	got := map[string]any{}
	note := func(at string, extensions map[string]any, name string) {
		mark := extensions["x-stele-ref"]
		if mark != nil {
			got[at] = mark
		} else if slices.Contains([]string{"project", "projects", "memory", "memories", "element", "elements", "token", "supersedes", "run", "session"}, name) {
			t.Errorf("%s holds ids and is not marked", at)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for _, p := range op.Parameters {
				note(method+" "+path+" "+p.Value.Name, p.Value.Extensions, p.Value.Name)
			}
			if op.RequestBody == nil {
				continue
			}
			ref := op.RequestBody.Value.Content["application/json"].Schema
			if name := ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]; name != "ImportModel" && name != "ImportDecisions" { // they bring elements along
				for field, p := range ref.Value.Properties {
					holder := p.Value
					if holder.Items != nil {
						holder = holder.Items.Value
					}
					note(name+"."+field, holder.Extensions, field)
				}
			}
		}
	}
	kinds := map[any]bool{}
	for _, mark := range got {
		kinds[mark] = true
	}
	if len(kinds) != 9 || got["RememberRequest.supersedes"] != "memory" || got["RecallRequest.projects"] != "project" {
		t.Errorf("marked are %v", got)
	}
}

func TestPageNeedsNothingElse(t *testing.T) {
	t.Parallel()
	api := rest.New(rest.Options{})
	w := httptest.NewRecorder()
	api.ServePage(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs", nil))
	html := w.Body.String()
	for _, alien := range []string{"<script", "http://", "https://", "url(", "@import", "<img", "<iframe"} {
		if at := strings.Index(html, alien); at >= 0 {
			t.Errorf("the page has %q: …%s…", alien, html[at:min(at+60, len(html))])
		}
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") {
		t.Errorf("the policy is %q", policy)
	}
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if anchors[m[1]] {
			t.Errorf("two things have the anchor %s", m[1])
		}
		anchors[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if !anchors[m[1]] {
			t.Errorf("a link leads to %s, which is not there", m[1])
		}
	}
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			if !anchors[op.OperationID] || !strings.Contains(html, path) {
				t.Errorf("%s %s is not on the page", method, path)
			}
		}
	}
}

func TestRegisterPutsTheGateBeforeTheAPIOnly(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	api := rest.New(rest.Options{Version: "1.2.3"})
	api.Register(mux, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	})
	for path, want := range map[string]int{"/v1/whoami": http.StatusTeapot, "/v1/nowhere": http.StatusTeapot, "/openapi.json": 200, "/docs": 200, "/elsewhere": 404} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s is answered %d, want %d", path, w.Code, want)
		}
		if path == "/openapi.json" && !bytes.Contains(w.Body.Bytes(), []byte(`"version": "1.2.3"`)) {
			t.Error("the document does not tell the version of the program")
		}
	}
}

// silent fails when it is called: a request that nobody may make must not reach the domain.
type silent struct{ rest.Service }

// TestNobodyReachesAHandler calls every operation without a caller in the context, as a server would that forgot its gate.
func TestNobodyReachesAHandler(t *testing.T) {
	t.Parallel()
	api := rest.New(rest.Options{Service: silent{}})
	wildcard := regexp.MustCompile(`\{\w+\}`)
	n := 0
	for path, item := range document(t).Paths.Map() {
		for method := range maps.Keys(item.Operations()) {
			n++
			r := httptest.NewRequestWithContext(t.Context(), method, wildcard.ReplaceAllString(path, "x"), strings.NewReader(`{}`))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			var p auth.Problem
			body, err := io.ReadAll(w.Body)
			must(t, err)
			must(t, json.Unmarshal(body, &p))
			if w.Code != http.StatusUnauthorized || p.Code != "unauthenticated" || w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s is answered %d %s to nobody", method, path, w.Code, body)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d operations were called", n)
	}
}

var _ rest.Service = api.Domain{}
