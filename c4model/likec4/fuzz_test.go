package likec4_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/likec4"
	"github.com/stele-dev/stele/internal/problem"
)

// FuzzRead checks for any file that it gives an error that names what is wrong, or a whole model that keeps its promises.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/models/harbour/*.c4")
	if err != nil || len(names) < 2 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, []byte(`{"include": {"paths": ["../up", "more"]}}`))
	}
	f.Add([]byte("model { extend a { a = app { -> b\n it -> this } } a -> a.b .calls a.b.a\n import"), []byte(`{"title": 1, // x
		"exclude": ["a",],}`))
	f.Fuzz(func(t *testing.T, data, configuration []byte) {
		m, err := likec4.Read(t.Context(), folder(map[string]string{
			"a.c4": string(data), "b.c4": kinds + "model { a = system { b = app } }", "likec4.config.json": string(configuration), "more/c.c4": "model {}",
		}), ".", nil)
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
	})
}
