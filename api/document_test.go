package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// operation is one of the OpenAPI document.
type operation struct {
	id, method, path string
	description      string
	parameters       []parameter
	body             *schema
}

type parameter struct {
	Ref    string `json:"$ref"`
	Name   string `json:"name"`
	In     string `json:"in"`
	Stele  string `json:"x-stele-ref"`
	Schema schema `json:"schema"`
}

type schema struct {
	Ref        string             `json:"$ref"`
	Stele      string             `json:"x-stele-ref"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
}

// document reads the operations that the server tells of.
func (w *world) document() []operation {
	w.t.Helper()
	var d struct {
		Paths map[string]map[string]struct {
			OperationID string      `json:"operationId"`
			Description string      `json:"description"`
			Parameters  []parameter `json:"parameters"`
			RequestBody *struct {
				Content map[string]struct {
					Schema schema `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
		Components struct {
			Schemas    map[string]*schema   `json:"schemas"`
			Parameters map[string]parameter `json:"parameters"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(w.send("", http.MethodGet, "/openapi.json", nil).body), &d); err != nil {
		w.t.Fatal(err)
	}
	var resolve func(s *schema, depth int) *schema
	resolve = func(s *schema, depth int) *schema {
		if s == nil || depth > 8 {
			return s
		}
		if s.Ref != "" {
			return resolve(d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]], depth+1)
		}
		for name, p := range s.Properties {
			s.Properties[name] = resolve(p, depth+1)
		}
		s.Items = resolve(s.Items, depth+1)
		return s
	}
	var out []operation
	for path, methods := range d.Paths {
		for method, o := range methods {
			op := operation{id: o.OperationID, method: strings.ToUpper(method), path: path, description: o.Description}
			for _, p := range o.Parameters {
				if p.Ref != "" {
					p = d.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
				}
				op.parameters = append(op.parameters, p)
			}
			if o.RequestBody != nil {
				for _, c := range o.RequestBody.Content {
					op.body = resolve(&c.Schema, 0)
				}
			}
			out = append(out, op)
		}
	}
	slices.SortFunc(out, func(a, b operation) int { return strings.Compare(a.id, b.id) })
	return out
}

var neededRole = regexp.MustCompile(`[Nn]eeds the (\w+) role`)

// What the document says about roles is what the matrix holds them to.
func TestTheDocumentTellsTheRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, op := range w.document() {
		want, got := "", ""
		switch r := matrix[op.id]; {
		case r.want[reviewerToken] == 403:
			want = "admin"
		case r.want[agentToken] == 403:
			want = "reviewer"
		}
		if m := neededRole.FindStringSubmatch(op.description); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%s needs the role %q and is described to need %q: %s", op.id, want, got, op.description)
		}
		if matrix[op.id].want[ciCreating] < 300 && matrix[op.id].want[ciToken] == 403 && !strings.Contains(op.description, "may create projects") {
			t.Errorf("%s does not say that a token that may create projects is enough: %s", op.id, op.description)
		}
	}
}
