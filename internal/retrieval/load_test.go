package retrieval_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/retrieval"
)

// lines writes a set the way files hold it.
func lines(t *testing.T, s *retrieval.Set) string {
	t.Helper()
	var b strings.Builder
	write := func(name string, v any) {
		line, err := json.Marshal(map[string]any{name: v})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	for _, p := range s.Projects {
		write("project", p)
	}
	for _, e := range s.Elements {
		write("element", e)
	}
	for _, m := range s.Memories {
		write("memory", m)
	}
	for _, q := range s.Queries {
		write("query", q)
	}
	return b.String()
}

func TestLoadReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	want := small(t)
	whole := lines(t, want)
	cut := strings.Index(whole, `{"query"`)
	tree := fstest.MapFS{
		"one/all.jsonl":     {Data: []byte(whole)},
		"two/1.jsonl":       {Data: []byte(whole[:cut] + "\n")},
		"two/2.jsonl":       {Data: []byte(whole[cut:])},
		"two/README.md":     {Data: []byte("# no record")},
		"two/old/all.jsonl": {Data: []byte("no record")},
	}
	for _, name := range []string{"one/all.jsonl", "two"} {
		got, err := retrieval.Load(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is read as another set (-want +got):\n%s", name, diff)
		}
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"empty/README.md": {Data: []byte("nothing")},
		"word.jsonl":      {Data: []byte("\nword\n")},
		"none.jsonl":      {Data: []byte("{}\n")},
		"two.jsonl":       {Data: []byte(`{"query":{"id":"a-1"},"memory":{"id":"a-2"}}`)},
		"more.jsonl":      {Data: []byte(`{"query":{"id":"a-1"}} {"query":{"id":"a-2"}}`)},
		"field.jsonl":     {Data: []byte(`{"query":{"id":"a-1","answer":["a-1"]}}`)},
		"date.jsonl":      {Data: []byte(`{"project":{"id":"a","as_of":"2026-13-01"}}`)},
		"number.jsonl":    {Data: []byte(`{"project":{"id":"a","as_of":20260101}}`)},
		"long.jsonl":      {Data: []byte(`{"query":{"id":"` + strings.Repeat("x", 300<<10) + `"}}`)},
		"faults.jsonl":    {Data: []byte(`{"query":{"id":"a-1","project":"a","text":"x","answers":["a-2"]}}`)},
	}
	for _, c := range []struct{ name, want string }{
		{"gone.jsonl", "gone.jsonl cannot be read"},
		{"empty", "empty has no .jsonl file"},
		{"word.jsonl", "word.jsonl:2: invalid character 'w'"},
		{"none.jsonl", "none.jsonl:1: 0 records on a line"},
		{"two.jsonl", "two.jsonl:1: 2 records on a line"},
		{"more.jsonl", "more.jsonl:1: more than one record"},
		{"field.jsonl", `field.jsonl:1: json: unknown field "answer"`},
		{"date.jsonl", "date.jsonl:1: parsing time"},
		{"number.jsonl", "number.jsonl:1: parsing time"},
		{"long.jsonl", "long.jsonl:1: bufio.Scanner: token too long"},
		{"faults.jsonl", `faults.jsonl: a-1: no project "a" (and 1 more)`},
	} {
		_, err := retrieval.Load(tree, c.name)
		p, ok := problem.As(err)
		if !ok {
			t.Errorf("%s: %v is no problem", c.name, err)
			continue
		}
		if p.Code != problem.Invalid || p.Field != "data" || !strings.Contains(p.Detail, c.want) {
			t.Errorf("%s: %s %q, want one about data with %q", c.name, p.Code, err, c.want)
		}
	}
}
