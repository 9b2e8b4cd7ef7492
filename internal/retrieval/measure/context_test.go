package measure_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/c4model/formats"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/embedding/uselite"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/retrieval"
	"github.com/stele-dev/stele/internal/retrieval/measure"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
)

// Which elements of a model of our own tasks find, to three decimals, by words alone and by meaning as well.
func TestScoresOfTasks(t *testing.T) {
	t.Parallel()
	const folder = "../../../testdata/context"
	tasks, err := retrieval.LoadTasks(os.DirFS(folder), "clinic.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	m, err := formats.Read(t.Context(), filepath.Join(folder, "clinic.dsl"))
	if err != nil {
		t.Fatal(err)
	}
	im := memory.ModelImport{Model: m, Source: "clinic.dsl"}
	for name, provider := range map[string]embedding.Provider{"words": embedding.None{}, "builtin": uselite.New(uselite.Options{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, err := secret.GenerateMaster()
			if err != nil {
				t.Fatal(err)
			}
			got, err := measure.Context(t.Context(), im, tasks, measure.Options{Store: postgres.New(pgtest.New(t), master), Embedder: provider})
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := got.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "tasks-"+name+".txt")
			if *update {
				if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Errorf("the scores changed; see docs/context.md, and go test -update when it is meant (-before +now):\n%s", diff)
			}
		})
	}
	lost := &retrieval.Tasks{Tasks: []retrieval.Task{{ID: "x", Text: "x", Elements: []string{"clinic.core.nothing"}}}}
	_, err = measure.Context(t.Context(), im, lost, measure.Options{})
	if p, ok := problem.As(err); !ok || p.Field != "tasks" {
		t.Errorf("a task about no element: %v", err)
	}
}
