package repocheck

import (
	"testing"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/git"
)

// The model describes this repository: of the commit that is checked out, the score is 100 and everything in scope is bound.
func TestOwnDriftScoreIsFull(t *testing.T) {
	t.Parallel()
	repo, err := git.Open(t.Context(), top)
	if err != nil {
		t.Fatal(err)
	}
	source := drift.Source{Repository: repo, ModelFile: modelFile}
	in, err := source.Load(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	r, err := drift.Run(t.Context(), repo, in, drift.Options{History: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("%s: %s; %s", f.Fingerprint, f.Message, f.Fix)
	}
	if r.Score == nil || *r.Score != 100 || r.Coverage == nil || *r.Coverage != 100 {
		t.Errorf("status %s (%s), score %v, coverage %v, unbound %v", r.Status, r.Reason, value(r.Score), value(r.Coverage), r.Unbound)
	}
	if len(r.Waived) > 0 {
		t.Errorf("%d findings are waived", len(r.Waived))
	}
}

// value is the number behind a pointer; nil for none.
func value(n *int) any {
	if n == nil {
		return nil
	}
	return *n
}
