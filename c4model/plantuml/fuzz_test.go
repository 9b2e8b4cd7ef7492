package plantuml_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/plantuml"
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

func FuzzPlantUML(f *testing.F) {
	seeds(f, "testdata/models/mill/*.p*")
	f.Add([]byte("!include b.inc\n!include b.inc\n!define a $a\n!$a = \"a a\"\nSystem($a){\nSystem_Boundary(a, x)\n{\n}\n}\nBiRel(a,a)"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := plantuml.Read(t.Context(), folder(map[string]string{
			"a.puml": string(data), "b.inc": string(data), "c.puml": "@startuml\nSystem_Boundary(a, \"A\") {\nContainer(b)\n}\n@enduml",
		}), ".", nil)
		checkRead(t, m, err)
	})
}

func FuzzMermaid(f *testing.F) {
	seeds(f, "testdata/mermaid/*.mmd")
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := plantuml.ReadMermaid(t.Context(), folder(map[string]string{"a.mmd": string(data)}), "a.mmd", nil)
		checkRead(t, m, err)
	})
}
