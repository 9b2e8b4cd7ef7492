package memory_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/memory"
)

// hosting is what a host of repositories knows of one.
type hosting struct {
	head     string              // its default branch
	branches map[string][]string // commits by branch
}

func (h hosting) Contains(_ context.Context, _, branch, commit string) (bool, error) {
	return slices.Contains(h.branches[branch], commit), nil
}

func (h hosting) DefaultBranch(context.Context, string) (string, error) {
	if h.head == "" {
		return "", errors.New("nobody knows")
	}
	return h.head, nil
}

// A token that may not speak for the tracked branch is believed where the server sees the commit on it: on the branch of the
// settings, else on the repository's own default, and not on one that the run calls so.
func TestRunIsVouchedFor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		head, settings, branch string
		want                   bool
	}{
		"the default branch":                  {"main", "", "main", true},
		"a branch that the run calls default": {"main", "", "work", false},
		"the branch of the settings":          {"main", "work", "work", true},
		"the default, which is not tracked":   {"main", "work", "main", false},
		"a default that nobody knows":         {"", "", "main", false},
		"a branch without the commit":         {"empty", "", "empty", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			w := h.world(t, nil)
			host := hosting{tc.head, map[string][]string{"main": {commit(1)}, "work": {commit(1)}}}
			w.Service = memory.New(h.store, memory.Options{Branches: host, Now: func() time.Time { return w.now }})
			ctx := context.Background()
			p, err := w.CreateProject(ctx, w.c, "seen", []string{"remote:example.org/seen"})
			w.must(err)
			c := w.c
			c.Project = p.ID
			if tc.settings != "" {
				_, err := w.ChangeDriftSettings(ctx, c, memory.DriftSettingsChange{TrackedBranch: &tc.settings})
				w.must(err)
			}
			c.Role = memory.RoleCI
			score := 100
			a, err := w.PushRun(ctx, c, memory.RunPush{
				Repository: "example.org/seen", Branch: tc.branch, DefaultBranch: tc.branch, Ancestors: chain(1), Tracked: true,
				Report: drift.Report{Status: drift.Checked, Score: &score, Commit: commit(1), InputHash: "x", EngineVersion: 1},
			})
			w.must(err)
			if a.Tracked != tc.want {
				t.Errorf("tracked %v, %v", a.Tracked, a.Warnings)
			}
		})
	}
}

// Whoever pushes runs cannot find out what a personal memory quotes by guessing.
func TestRunTellsNothingOfPersonalClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "`stripHeaders` drops long headers", Elements: []string{"shop.api"}, Scope: memory.Personal}).Memory
	list, err := w.Watch(context.Background(), w.c, "")
	w.must(err)
	if len(list.Memories) != 1 || len(list.Memories[0].Claims) != 0 {
		t.Fatalf("the watch list tells %+v", list.Memories)
	}
	for n, state := range []evidence.State{evidence.Holds, evidence.Gone} {
		w.now = w.now.Add(time.Minute)
		a, err := w.push(n+1, func(p *memory.RunPush) {
			guess := evidence.ClaimVerdict{Claim: evidence.Claim{Text: "stripHeaders", Kind: evidence.Symbol}, State: state, Evidence: true}
			p.Verdicts = []evidence.Verdict{{ID: list.Memories[0].ID, SeenIn: true, Claims: []evidence.ClaimVerdict{guess}}}
		})
		w.must(err)
		if len(a.Doubted) != 0 {
			t.Errorf("a guess that is right is answered with %+v", a.Doubted)
		}
	}
	if f := flags(w.get(m.Handle)); slices.Contains(f, "verify") {
		t.Errorf("flags %v", f)
	}
}

// A run of one project says nothing of the elements and files that other projects know a memory by.
func TestRunTellsNothingOfOtherProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	other, err := w.CreateProject(ctx, w.c, "vault", nil)
	w.must(err)
	there := w.c
	there.Project = other.ID
	_, err = w.ImportModel(ctx, there, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "vault", Name: "Vault", Level: c4model.System}}}, Source: "v.dsl"})
	w.must(err)
	written, err := w.Remember(ctx, there, memory.RememberRequest{
		Content: "`stripHeaders` drops long headers", Elements: []string{"vault"}, Paths: []string{"vault/secret.go"}, Scope: memory.Organization,
	})
	w.must(err)
	_, err = w.Edit(ctx, w.c, memory.EditRequest{Memory: written.Memory.Handle, Elements: &[]string{"shop.api"}})
	w.must(err)
	list, err := w.Watch(ctx, w.c, "")
	w.must(err)
	if len(list.Memories) != 1 {
		t.Fatalf("%+v", list.Memories)
	}
	if text := asJSON(t, list); strings.Contains(text, "vault") {
		t.Errorf("the watch list tells %s", text)
	}
	for n, state := range []evidence.State{evidence.Holds, evidence.Gone} {
		w.now = w.now.Add(time.Minute)
		a, err := w.push(n+1, func(p *memory.RunPush) {
			claim := evidence.ClaimVerdict{Claim: claimOf(list.Memories[0].Claims[0]), State: state, Evidence: true}
			p.Verdicts = []evidence.Verdict{{ID: list.Memories[0].ID, SeenIn: true, Claims: []evidence.ClaimVerdict{claim}}}
		})
		w.must(err)
		if text := asJSON(t, a); strings.Contains(text, "vault") {
			t.Errorf("the answer tells %s", text)
		}
		if want := n; len(a.Doubted) != want {
			t.Errorf("run %d doubts %+v", n+1, a.Doubted)
		}
	}
}

// Thousands of findings about thousands of memories are decided in the time of a request.
func BenchmarkPushRunOfManyDependencies(b *testing.B) {
	w := newWorld(b, nil)
	ctx := context.Background()
	m := &c4model.Model{}
	const elements, findings = 300, 1000
	for n := range elements {
		key := "service" + commit(n)[36:]
		m.Elements = append(m.Elements, c4model.Element{Key: key, Name: "Service " + commit(n)[36:], Level: c4model.System})
	}
	_, err := w.ImportModel(ctx, w.c, memory.ModelImport{Model: m, Source: "w.dsl"})
	w.must(err)
	for n := range 500 {
		w.remember(memory.RememberRequest{Content: strings.Repeat("words about service"+commit(n % elements)[36:]+" and others. ", 40) + uuid.NewString(), Separate: true, Elements: []string{m.Elements[n%elements].Key}})
	}
	var list []drift.Finding
	for n := range findings {
		from, to := m.Elements[n%elements].Key, m.Elements[(n/elements+n+1)%elements].Key
		list = append(list, drift.Finding{Fingerprint: commit(n), Check: drift.UndocumentedDependency, Element: from, Subject: to,
			Since: &drift.Since{Commit: commit(2), Time: w.now, Cause: drift.CodeChanged}})
	}
	w.pushed(1)
	n := 2
	for b.Loop() {
		w.now = w.now.Add(time.Minute)
		_, err := w.push(n, func(p *memory.RunPush) {
			p.Tracked, p.Report.Findings, p.Report.InputHash = false, list, uuid.NewString()
		})
		w.must(err)
	}
}
