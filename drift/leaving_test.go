package drift_test

import (
	"strings"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// A link that leads out of the repository says why its element has no code; an address, and a path inside, say nothing.
func TestLinksThatLeave(t *testing.T) {
	t.Parallel()
	repo, err := git.Open(t.Context(), gittest.New(t).Write("api/a.go", "package api\n").Commit("start").Dir)
	if err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]bool{
		"../gone": true, "api/../../gone#L3": true, "..": true, "api/a.go": false, "https://example.org/../x": false, "/../x": false, "": false, "..x/y": false,
	} {
		m := &c4model.Model{Elements: []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System, URL: link}}}
		in, err := drift.Source{Repository: repo, Model: m}.Load(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		warned := len(in.Model.Warnings) == 1 && strings.Contains(in.Model.Warnings[0].Message, "leads out of it")
		if warned != want || len(in.Model.Warnings) > 1 {
			t.Errorf("%q: %v", link, in.Model.Warnings)
		}
	}
}
