package structurizr_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/structurizr"
	"github.com/stele-dev/stele/internal/problem"
)

// checkRead holds for any input: an error that names what is wrong, or a whole model that keeps its promises.
func checkRead(t *testing.T, m *c4model.Model, err error) {
	t.Helper()
	if err != nil {
		if m != nil {
			t.Fatal("a model together with an error")
		}
		if p, ok := problem.As(err); !ok || p.Code != problem.Invalid || p.Detail == "" {
			t.Fatalf("no problem of code invalid: %v", err)
		}
		return
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	c4model.BindingHints(m, c4model.Tree{})
}

func seeds(f *testing.F, pattern string) {
	f.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		f.Fatal(pattern, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func FuzzDSL(f *testing.F) {
	seeds(f, "testdata/models/*.dsl")
	f.Add([]byte("workspace extends w.dsl {\n}\n"))
	f.Add([]byte("workspace {\nmodel {\n!include w.dsl\n!include more\n!adrs .\n}\n}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := c4model.NewRoot(fstest.MapFS{
			"w.dsl":      {Data: data},
			"more/a.dsl": {Data: []byte("b = softwareSystem B {\n")},
			"w.json":     {Data: []byte(`{"model": {"people": [{"id": "1", "name": "A"}]}}`)},
			"1-a.md":     {Data: data},
		})
		m, err := structurizr.ReadDSL(t.Context(), root, "w.dsl")
		checkRead(t, m, err)
	})
}

func FuzzJSON(f *testing.F) {
	seeds(f, "testdata/models/*.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := structurizr.ReadJSON(t.Context(), c4model.NewRoot(fstest.MapFS{"w.json": {Data: data}}), "w.json")
		checkRead(t, m, err)
	})
}
