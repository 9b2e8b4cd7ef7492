package client_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Runs over the network are the runs of the domain, and a push whose answer is lost is pushed once.
func TestRunsOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	ctx := t.Context()
	score, commit := 90, strings.Repeat("a", 40)
	p := memory.RunPush{Repository: "example.org/shop", Branch: "main", DefaultBranch: "main", Tracked: true, Ancestors: []string{commit},
		Report: drift.Report{Status: drift.Checked, Score: &score, Commit: commit, InputHash: "1", Findings: []drift.Finding{{Fingerprint: "f", Check: drift.UndocumentedCode, Subject: "x"}}}}
	s.lose.Store(1)
	a, err := s.PushRun(ctx, s.by, p)
	check(t, err)
	if !a.Tracked || len(a.NewFindings) != 1 {
		t.Errorf("%+v", a)
	}
	runs, err := s.DriftHistory(ctx, s.by, memory.RunQuery{Tracked: true, Limit: 5})
	check(t, err)
	local, err := s.local.DriftHistory(ctx, s.admin, memory.RunQuery{Tracked: true, Limit: 5})
	check(t, err)
	if diff := cmp.Diff(local, runs); diff != "" || len(runs) != 1 {
		t.Errorf("history (-domain +client): %s", diff)
	}
	for _, id := range []string{"", a.RunID} {
		got, err := s.DriftRun(ctx, s.by, id)
		check(t, err)
		want, err := s.local.DriftRun(ctx, s.admin, id)
		check(t, err)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("run %q (-domain +client): %s", id, diff)
		}
	}
	if _, err := s.DriftRun(ctx, s.by, "01a22bbd-3bc9-73d0-9d82-86b33fbd8a8a"); !problem.Is(err, problem.NotFound) {
		t.Error(err)
	}
	got, err := s.DriftScore(ctx, s.by)
	check(t, err)
	if got.Status != drift.NotChecked && got.Score == nil || len(got.Runs) != 1 {
		t.Errorf("score %+v", got)
	}
	branch := "release"
	set, err := s.ChangeDriftSettings(ctx, s.by, memory.DriftSettingsChange{TrackedBranch: &branch})
	check(t, err)
	if again, err := s.DriftSettings(ctx, s.by); err != nil || again != set || set.TrackedBranch != branch {
		t.Errorf("%+v, %+v, %v", set, again, err)
	}
	if list, err := s.Watch(ctx, s.by, ""); err != nil || list.TrackedBranch != branch || len(list.Memories) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, found, err := s.HeldModel(ctx, s.by); err != nil || found {
		t.Errorf("held: %v, %v", found, err)
	}
	if _, err := s.DecideModel(ctx, s.by, true); !problem.Is(err, problem.NotFound) {
		t.Error(err)
	}
}
