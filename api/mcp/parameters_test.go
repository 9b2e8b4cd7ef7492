package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/problem"
)

type sampleArgs struct {
	Query  string   `arg:"query,required" also:"question" doc:"what to look for"`
	Paths  []string `arg:"paths" also:"file"`
	Kinds  []string `arg:"kind" enum:"pitfall,convention,session_outcome"`
	Scope  string   `arg:"scope" enum:"project,personal"`
	Limit  *int     `arg:"maxItems"`
	Holds  *bool    `arg:"holds"`
	Whole  bool     `arg:"whole"`
	Search []string `arg:"projects"`
	place
}

func TestBind(t *testing.T) {
	t.Parallel()
	seven, yes, no := 7, true, false
	for args, want := range map[string]sampleArgs{
		`{"query":"a"}`:                                        {Query: "a"},
		`{"question":"a"}`:                                     {Query: "a"},
		`{"Query":"a"}`:                                        {Query: "a"},
		`{"queries":"a"}`:                                      {Query: "a"},
		`{"query":["a"]}`:                                      {Query: "a"},
		`{"query":42}`:                                         {Query: "42"},
		`{"query":1234567890123}`:                              {Query: "1234567890123"},
		`{"query":"a","paths":"x"}`:                            {Query: "a", Paths: []string{"x"}},
		`{"query":"a","path":["x","y"]}`:                       {Query: "a", Paths: []string{"x", "y"}},
		`{"query":"a","paths":"[\"x\",\"y\"]"}`:                {Query: "a", Paths: []string{"x", "y"}},
		`{"query":"a","paths":"[x]/**"}`:                       {Query: "a", Paths: []string{"[x]/**"}},
		`{"query":"a","paths":["x",3,""]}`:                     {Query: "a", Paths: []string{"x", "3"}},
		`{"query":"a","paths":["x"],"path":"y","files":["x"]}`: {Query: "a", Paths: []string{"x", "y"}},
		`{"query":"a","paths":null,"maxItems":null}`:           {Query: "a"},
		`{"query":"a","kind":"Pitfalls"}`:                      {Query: "a", Kinds: []string{"pitfall"}},
		`{"query":"a","kinds":["session-outcome","PITFALL"]}`:  {Query: "a", Kinds: []string{"session_outcome", "pitfall"}},
		`{"query":"a","scope":"Personal"}`:                     {Query: "a", Scope: "personal"},
		`{"query":"a","scope":""}`:                             {Query: "a"},
		`{"query":"a","maxItems":7}`:                           {Query: "a", Limit: &seven},
		`{"query":"a","max_items":"7"}`:                        {Query: "a", Limit: &seven},
		`{"query":"a","max-item":7.0}`:                         {Query: "a", Limit: &seven},
		`{"query":"a","holds":"false"}`:                        {Query: "a", Holds: &no},
		`{"query":"a","hold":true}`:                            {Query: "a", Holds: &yes},
		`{"query":"a","holds":1}`:                              {Query: "a", Holds: &yes},
		`{"query":"a","whole":"yes"}`:                          {Query: "a", Whole: true},
		`{"query":"a","project_id":"p","session_id":"s"}`:      {Query: "a", place: place{ProjectID: "p", SessionID: "s"}},
		`{"query":"a","project":"p"}`:                          {Query: "a", place: place{ProjectID: "p"}},
		`{"query":"a","projects":"p"}`:                         {Query: "a", Search: []string{"p"}},
		`"{\"query\":\"a\"}"`:                                  {Query: "a"},
		`{"query":"a","queries":"a"}`:                          {Query: "a"},
	} {
		var raw any
		if err := json.Unmarshal([]byte(args), &raw); err != nil {
			t.Fatal(err)
		}
		var got sampleArgs
		if err := bind(parametersOf(reflect.TypeFor[sampleArgs]()), raw, &got); err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sampleArgs{})); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
}

func TestBindRefuses(t *testing.T) {
	t.Parallel()
	const all = "the arguments are query, paths, kind, scope, maxItems, holds, whole, projects, projectId, sessionId"
	for args, want := range map[string]string{
		`{}`:                                 "query: it is required; give query: what to look for",
		`null`:                               "query: it is required",
		`""`:                                 "query: it is required",
		`{"query":null}`:                     "query: it is required",
		`{"query":""}`:                       "query: it is required",
		`{"query":"a","depth":3}`:            "depth: there is no such argument; " + all,
		`{"query":"a","limit":null}`:         "limit: there is no such argument; " + all,
		`{"query":{"text":"a"}}`:             `query: {"text":"a"} is not accepted; give what to look for`,
		`{"query":"a","maxItems":"many"}`:    `maxItems: "many" is not accepted; give a whole number`,
		`{"query":"a","maxItems":1.5}`:       "maxItems: 1.5 is not accepted",
		`{"query":"a","maxItems":1e12}`:      "maxItems: 1000000000000 is not accepted",
		`{"query":"a","maxItems":[1,2]}`:     "maxItems: [1,2] is not accepted",
		`{"query":"a","holds":"perhaps"}`:    `holds: "perhaps" is not accepted; give a boolean`,
		`{"query":"a","kind":["trap"]}`:      `kind: "trap" is not accepted; give one of pitfall, convention, session_outcome`,
		`{"query":"a","paths":[{"a":1}]}`:    "paths:",
		`{"query":"a","paths":{"a":1}}`:      "paths:",
		`{"query":"a","question":"b"}`:       "query: given twice, as query and as question, with different values; give query once",
		`["a"]`:                              "arguments: they are not an object",
		`"query"`:                            "arguments: they are not an object",
		`{"query":["a","b"]}`:                "query:",
		`{"query":"a","scope":"everywhere"}`: "give one of project, personal",
	} {
		var raw any
		if err := json.Unmarshal([]byte(args), &raw); err != nil {
			t.Fatal(err)
		}
		var got sampleArgs
		err := bind(parametersOf(reflect.TypeFor[sampleArgs]()), raw, &got)
		if !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

// No two arguments of a tool may answer to one spelling by accident, and every argument must answer to its own name.
func TestSpellingsOfTheToolsAreDistinct(t *testing.T) {
	t.Parallel()
	for _, tool := range tools() {
		seen := map[string]string{}
		find := lookup(tool.parameters)
		for n, p := range tool.parameters {
			for _, name := range append([]string{p.name}, p.also...) {
				if other, taken := seen[name]; taken {
					t.Errorf("%s: %s means both %s and %s", tool.name, name, other, p.name)
				}
				seen[name] = p.name
				if got, ok := find(name); !ok || got != n {
					t.Errorf("%s: %s does not find %s", tool.name, name, p.name)
				}
			}
		}
	}
}

func FuzzBind(f *testing.F) {
	for _, seed := range []string{`{"query":"a"}`, `{"query":["a",{}],"paths":"[1"}`, `"{}"`, `{"maxItems":"0x1p-2","query":1e400}`, `[]`} {
		f.Add(seed)
	}
	ps := parametersOf(reflect.TypeFor[sampleArgs]())
	f.Fuzz(func(t *testing.T, text string) {
		var raw any
		if json.Unmarshal([]byte(text), &raw) != nil {
			return
		}
		var got sampleArgs
		err := bind(ps, raw, &got)
		if err == nil && got.Query == "" {
			t.Errorf("%q was accepted without its required argument", text)
		}
		if err != nil {
			if p, ok := problem.As(err); !ok || len(p.Fixes) == 0 || !utf8.ValidString(p.Error()) {
				t.Errorf("%q: no problem with a fix: %v", text, err)
			}
		}
	})
}

func TestCamel(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"similar_to":[{"created_at":"a_b","x":{"sessions_30d":1}}],"a":null}`: `{"similarTo":[{"createdAt":"a_b","x":{"sessions30d":1}}],"a":null}`,
		`{"text":"say \"created_at\": yes","n":12345678901234567890,"f":1.50}`:  `{"text":"say \"created_at\": yes","n":12345678901234567890,"f":1.50}`,
		`["created_at","b_c"]`: `["created_at","b_c"]`,
		`{"a_":1,"_b":2}`:      `{"a":1,"B":2}`,
		`"a_b"`:                `"a_b"`,
		`{"ends\\":"b_c"}`:     `{"ends\\":"b_c"}`,
	} {
		got, err := camelJSON(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", in, got, err, want)
		}
	}
	if _, err := camelJSON(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}
