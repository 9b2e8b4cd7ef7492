package drift_test

import (
	"fmt"
	"testing"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// The code took the folder away; that the model gave its element another key afterwards does not make the model the cause.
func TestCauseOfARenamedElement(t *testing.T) {
	t.Parallel()
	model := func(key, id string) string {
		return fmt.Sprintf("workspace {\nmodel {\ns = softwareSystem \"S\" {\n%s = container \"C\" {\nproperties {\npath api\nstele.id %s\n}\n}\nweb = container \"W\" {\nproperties {\npath web\n}\n}\n}\n}\n}\n", key, id)
	}
	for id, want := range map[string]drift.Cause{"c-1": drift.CodeChanged, "c-2": drift.ModelChanged} {
		g := gittest.New(t).Write("workspace.dsl", model("api", "c-1")).Write("api/a.go", "package api\n").Write("web/w.go", "package web\n").Commit("start")
		g.Remove("api").Commit("take it away")
		g.Write("workspace.dsl", model("orders", id)).Commit("rename")
		r, err := git.Open(t.Context(), g.Dir)
		if err != nil {
			t.Fatal(err)
		}
		source := drift.Source{Repository: r}
		in, err := source.Load(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		report, err := drift.Run(t.Context(), r, in, drift.Options{Source: &source})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range report.Findings {
			if f.Check == drift.Existence {
				found = true
				if f.Since == nil || f.Since.Cause != want {
					t.Errorf("stele.id %s: since %+v, want a cause in the %s", id, f.Since, want)
				}
			}
		}
		if !found {
			t.Errorf("no finding of existence: %+v", report.Findings)
		}
	}
}
