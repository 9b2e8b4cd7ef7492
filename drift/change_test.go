package drift_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/drift"
)

// Between two runs every finding is new, as it was, or gone, and what is accepted is neither new nor gone.
func TestWhatChangedBetweenRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) *drift.Report {
			r := &drift.Report{}
			for _, f := range rapid.SliceOfDistinct(rapid.StringMatching(`[a-h]`), rapid.ID[string]).Draw(t, label) {
				if rapid.Bool().Draw(t, "waived") {
					r.Waived = append(r.Waived, drift.WaivedFinding{Finding: drift.Finding{Fingerprint: f}})
				} else {
					r.Findings = append(r.Findings, drift.Finding{Fingerprint: f})
				}
			}
			return r
		}
		states := func(r *drift.Report) map[string]string {
			out := map[string]string{}
			for _, f := range r.Findings {
				out[f.Fingerprint] = "found"
			}
			for _, f := range r.Waived {
				out[f.Fingerprint] = "waived"
			}
			return out
		}
		before, after := draw("before"), draw("after")
		was, is := states(before), states(after)
		want, got := map[string]string{}, map[string]string{}
		for f := range is {
			if is[f] == "found" && was[f] == "" {
				want[f] = "new"
			}
		}
		for f := range was {
			if was[f] == "found" && is[f] == "" {
				want[f] = "gone"
			}
		}
		for _, f := range after.Gone(before) {
			got[f.Fingerprint] = "gone"
		}
		after.Compare(before)
		for _, f := range after.Findings {
			if f.New {
				got[f.Fingerprint] = "new"
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
