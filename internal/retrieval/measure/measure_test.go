package measure_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/embedding/uselite"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/retrieval"
	"github.com/stele-dev/stele/internal/retrieval/measure"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory/postgres"
)

var update = flag.Bool("update", false, "write the scores of the developer set anew")

// What recall finds on the developer set, to three decimals: a change that helps or hurts shows as a diff of these files.
func TestScoresOfTheDeveloperSet(t *testing.T) {
	t.Parallel()
	set, err := retrieval.Load(os.DirFS("../../../testdata"), "retrieval")
	if err != nil {
		t.Fatal(err)
	}
	for name, provider := range map[string]embedding.Provider{"words": embedding.None{}, "builtin": uselite.New(uselite.Options{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, err := secret.GenerateMaster()
			if err != nil {
				t.Fatal(err)
			}
			got, err := measure.Do(t.Context(), set, measure.Options{Store: postgres.New(pgtest.New(t), master), Embedder: provider})
			if err != nil {
				t.Fatal(err)
			}
			if got.Memories != len(set.Memories) || len(got.Runs) != len(set.Queries) || name == "builtin" && got.Vectors == 0 {
				t.Errorf("%d memories, %d questions, %d vectors", got.Memories, len(got.Runs), got.Vectors)
			}
			var text bytes.Buffer
			if err := got.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".txt")
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
				t.Errorf("the scores changed; see docs/retrieval.md, and go test -update when it is meant (-before +now):\n%s", diff)
			}
		})
	}
}
