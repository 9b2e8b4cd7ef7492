package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// commit is a full hash that says which one it is.
func commit(n int) string { return fmt.Sprintf("%040x", n) }

// chain is the first parents of a commit of a straight history, itself first.
func chain(n int) []string {
	var out []string
	for i := n; i >= 1; i-- {
		out = append(out, commit(i))
	}
	return out
}

// gone is the finding that an element has no files since a commit.
func gone(w *world, element string, since int) drift.Finding {
	return drift.Finding{
		Fingerprint: "existence-" + element, Check: drift.Existence, Outcome: drift.Missing, Element: element, Subject: element + "/**",
		Message: "no file matches " + element + "/**", Weight: 3,
		Since: &drift.Since{Commit: commit(since), Time: w.now.Add(-time.Hour), Author: "Ana", Subject: "Move things", Cause: drift.CodeChanged},
	}
}

// push sends a run of a commit of a straight history.
func (w *world) push(n int, change func(*memory.RunPush)) (memory.RunAnswer, error) {
	score := 100
	p := memory.RunPush{
		Repository: "example.org/shop", Branch: "main", DefaultBranch: "main", Ancestors: chain(n), Tracked: true,
		Report: drift.Report{
			Status: drift.Checked, Score: &score, Commit: commit(n), CommittedAt: w.now, InputHash: fmt.Sprint("input", n), EngineVersion: 1, History: "full",
		},
	}
	if change != nil {
		change(&p)
	}
	c := w.c
	c.Role, c.Tracked = memory.RoleCI, true
	return w.PushRun(context.Background(), c, p)
}

func (w *world) pushed(n int, findings ...drift.Finding) memory.RunAnswer {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	a, err := w.push(n, func(p *memory.RunPush) { p.Report.Findings = findings })
	w.must(err)
	return a
}

func claimOf(c evidence.WatchedClaim) evidence.Claim {
	return evidence.Claim{Text: c.Text, Kind: c.Kind}
}

func flags(m memory.Memory) []string {
	var out []string
	for _, f := range m.Flags {
		out = append(out, f.Flag)
	}
	return out
}

func TestRunPutsMemoriesInDoubtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.ImportModel(context.Background(), w.c, shopModel())
	w.must(err)
	m := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "the gateway strips long headers", Elements: []string{"shop.api"}}).Memory
	other := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "the page caches prices", Elements: []string{"shop.web"}}).Memory
	outcome := w.pushed(1)
	if len(outcome.Doubted) != 0 || !outcome.Tracked || outcome.Baseline != "" {
		t.Fatalf("the first run: %+v", outcome)
	}
	a := w.pushed(2, gone(w, "shop.api", 2))
	if len(a.Doubted) != 1 || a.Doubted[0].Handle != m.Handle || a.Doubted[0].Cause != "drifted" || !slices.Equal(a.Stamped, []string{"shop.api"}) || a.Baseline != commit(1) {
		t.Fatalf("drift gives %+v", a)
	}
	got := w.get(m.Handle)
	if !slices.Equal(flags(got), []string{"verify"}) || !strings.Contains(got.Flags[0].Reason, "since 0000000 (Ana") {
		t.Errorf("flags %+v", got.Flags)
	}
	if f := flags(w.get(other.Handle)); len(f) != 0 {
		t.Errorf("a memory of another element has %v", f)
	}

	t.Log("a re-run changes nothing, whatever was confirmed since")
	w.now = w.now.Add(time.Minute)
	_, err = w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	w.must(err)
	if a := w.pushed(2, gone(w, "shop.api", 2)); !a.Repeated {
		t.Errorf("the same run again: %+v", a)
	}
	if a := w.pushed(3, gone(w, "shop.api", 2)); len(a.Doubted) != 0 || len(a.NewFindings) != 0 {
		t.Errorf("a finding that persists: %+v", a)
	}
	if a := w.pushed(2, gone(w, "shop.api", 2), gone(w, "shop.web", 2)); !a.Repeated {
		t.Errorf("the run of an older commit: %+v", a)
	}
	late, err := w.push(2, func(p *memory.RunPush) {
		p.Report.InputHash, p.Report.Findings = "other", []drift.Finding{gone(w, "shop.web", 2)}
	})
	w.must(err)
	if !late.Late || len(late.Doubted) != 0 {
		t.Errorf("a late run: %+v", late)
	}
	if f := flags(w.get(m.Handle)); len(f) != 0 {
		t.Errorf("flags %v after confirming", f)
	}
	seen := w.get(m.Handle).Seen
	if seen == nil || seen.Commit != commit(2) || !seen.Assumed {
		t.Errorf("whoever names no commit saw %+v", seen)
	}
}

func TestRunThatIsNoEventOfTheCode(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*memory.RunPush){
		"the model changed":        func(p *memory.RunPush) { p.Report.Findings[0].Since.Cause = drift.ModelChanged },
		"an old commit":            func(p *memory.RunPush) { p.Report.Findings[0].Since.Commit = commit(1) },
		"a commit beyond the list": func(p *memory.RunPush) { p.Report.Findings[0].Since.Commit = commit(99) },
		"history does not tell":    func(p *memory.RunPush) { p.Report.Findings[0].Since = nil },
		"another engine":           func(p *memory.RunPush) { p.Report.EngineVersion = 2 },
		"waived": func(p *memory.RunPush) {
			p.Report.Waived, p.Report.Findings = []drift.WaivedFinding{{Finding: p.Report.Findings[0]}}, nil
		},
		"a proposal":               func(p *memory.RunPush) { p.Tracked = false },
		"another branch":           func(p *memory.RunPush) { p.Branch = "feature" },
		"an unrelated history":     func(p *memory.RunPush) { p.Ancestors = []string{commit(2), commit(77)} },
		"the memory knew, by tree": func(p *memory.RunPush) { p.Verdicts[0].AsSeen = true },
		"the memory knew, commit":  func(p *memory.RunPush) { p.Verdicts[0].Contains = []string{commit(2)} },
		"moved, evidence elsewhere": func(p *memory.RunPush) {
			p.Report.Findings[0].Outcome, p.Verdicts[0].Claims[0].State, p.Verdicts[0].Claims[0].Evidence = drift.Moved, evidence.Moved, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			_, err := w.ImportModel(context.Background(), w.c, shopModel())
			w.must(err)
			m := w.remember(memory.RememberRequest{Content: "`stripHeaders` drops long headers", Elements: []string{"shop.api"}}).Memory
			w.pushed(1)
			list, err := w.Watch(context.Background(), w.c, "")
			w.must(err)
			if len(list.Memories) != 1 || len(list.Memories[0].Claims) != 1 || !slices.Equal(list.Memories[0].Elements, []string{"shop.api"}) {
				t.Fatalf("watched %+v", list)
			}
			w.now = w.now.Add(time.Minute)
			a, err := w.push(2, func(p *memory.RunPush) {
				p.Report.Findings = []drift.Finding{gone(w, "shop.api", 2)}
				p.Verdicts = []evidence.Verdict{{ID: list.Memories[0].ID, Tree: "now",
					Claims: []evidence.ClaimVerdict{{Claim: claimOf(list.Memories[0].Claims[0]), State: evidence.NeverFound}}}}
				change(p)
			})
			w.must(err)
			if f := flags(w.get(m.Handle)); len(f) != 0 {
				t.Errorf("doubted: %v, %+v", f, a)
			}
		})
	}
}

func TestRunFollowsEvidence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.ImportModel(context.Background(), w.c, shopModel())
	w.must(err)
	m := w.remember(memory.RememberRequest{Content: "`stripHeaders` and `neverThere` drop long headers", Elements: []string{"shop.api"}}).Memory
	declared := false
	judge := func(n int, state evidence.State, rewrite *evidence.Rewrite) memory.RunAnswer {
		t.Helper()
		w.now = w.now.Add(time.Minute)
		list, err := w.Watch(context.Background(), w.c, "")
		w.must(err)
		a, err := w.push(n, func(p *memory.RunPush) {
			v := evidence.Verdict{ID: list.Memories[0].ID, Tree: fmt.Sprint("tree", n), Rewrite: rewrite, SeenKnown: true, SeenIn: true}
			for i, c := range list.Memories[0].Claims {
				s := state
				if i > 0 {
					s = evidence.Gone
				}
				v.Claims = append(v.Claims, evidence.ClaimVerdict{Claim: claimOf(c), State: s, Evidence: declared && i == 0, Before: []string{"api/a.go"}, Now: []string{"api/a.go"}})
			}
			p.Verdicts = []evidence.Verdict{v}
		})
		w.must(err)
		return a
	}
	if a := judge(1, evidence.Gone, nil); len(a.Doubted) != 0 {
		t.Errorf("a claim that was never found: %+v", a)
	}
	if a := judge(2, evidence.Holds, nil); len(a.Doubted) != 0 {
		t.Errorf("a claim that the code mentions: %+v", a)
	}
	if a := judge(3, evidence.Gone, nil); len(a.Doubted) != 0 {
		t.Errorf("a claim that the code mentioned is gone: %+v", a)
	}
	declared = true
	if a := judge(4, evidence.Holds, nil); len(a.Doubted) != 0 {
		t.Errorf("a claim that the code declares: %+v", a)
	}
	declared = false
	if a := judge(5, evidence.Moved, nil); len(a.Doubted) != 0 {
		t.Errorf("evidence that is only mentioned now: %+v", a)
	}
	if a := judge(6, evidence.Gone, nil); len(a.Doubted) != 1 || a.Doubted[0].Cause != "evidence_gone" {
		t.Errorf("evidence that is gone: %+v", a)
	}
	if f := w.get(m.Handle).Flags; len(f) != 1 || !strings.Contains(f[0].Reason, "`stripHeaders`") {
		t.Errorf("flags %+v", f)
	}
	if a := judge(7, evidence.Gone, nil); len(a.Doubted) != 0 {
		t.Errorf("twice: %+v", a)
	}
	if a := judge(8, evidence.Holds, nil); a.Withdrawn != 1 || len(w.get(m.Handle).Flags) != 0 {
		t.Errorf("evidence that is back: %+v, %v", a, w.get(m.Handle).Flags)
	}
	judge(9, evidence.Gone, nil)
	_, err = w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	w.must(err)
	if a := judge(10, evidence.Gone, nil); len(a.Doubted) != 0 {
		t.Errorf("evidence that was forgotten by confirming: %+v", a)
	}
	judge(11, evidence.Gone, &evidence.Rewrite{Lines: 100, Gone: 18})
	if f := w.get(m.Handle).Flags; len(f) != 1 || f[0].Flag != "changed" || !strings.HasPrefix(f[0].Reason, "18 %") {
		t.Errorf("changed a little: %+v", f)
	}
	if a := judge(12, evidence.Gone, &evidence.Rewrite{Lines: 100, Gone: 50}); len(a.Doubted) != 1 || a.Doubted[0].Cause != "rewritten" {
		t.Errorf("rewritten: %+v", a)
	}
	if a := judge(13, evidence.Gone, &evidence.Rewrite{Lines: 100, Gone: 60}); len(a.Doubted) != 0 {
		t.Errorf("rewritten, twice: %+v", a)
	}
}

func TestWhoNamesNoCommitSawTheLastRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	before := w.remember(memory.RememberRequest{Content: "written before any run", Elements: []string{"shop.api"}}).Memory
	w.pushed(3)
	after := w.remember(memory.RememberRequest{Content: "written over the network", Elements: []string{"shop.api"}}).Memory
	named := w.remember(memory.RememberRequest{Content: "written in a checkout", Elements: []string{"shop.api"}, Seen: &memory.Seen{Commit: commit(2)}}).Memory
	if before.Seen != nil || after.Seen == nil || after.Seen.Commit != commit(3) || after.Seen.Branch != "main" || !after.Seen.Assumed {
		t.Errorf("before %+v, after %+v", before.Seen, after.Seen)
	}
	if named.Seen == nil || named.Seen.Commit != commit(2) || named.Seen.Assumed {
		t.Errorf("named %+v", named.Seen)
	}
}

func TestRunsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for says, change := range map[string]func(*memory.RunPush){
		"names no repository":   func(p *memory.RunPush) { p.Repository = " " },
		"control":               func(p *memory.RunPush) { p.Branch = "a\nb" },
		"not the commit":        func(p *memory.RunPush) { p.Ancestors = chain(1) },
		"is no commit":          func(p *memory.RunPush) { p.Ancestors = append(chain(2), "HEAD") },
		"contradict each":       func(p *memory.RunPush) { p.Report.Score = nil },
		"no report of a run":    func(p *memory.RunPush) { p.Report.InputHash = "" },
		"between 1 and":         func(p *memory.RunPush) { p.Ancestors = make([]string, 1000) },
		"numbers or characters": func(p *memory.RunPush) { bad := 101; p.Report.Score = &bad },
	} {
		if says == "control" {
			says = "no name of a branch"
		}
		if _, err := w.push(2, change); !problem.Is(err, problem.Invalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	agent := w.c
	agent.Role = memory.RoleAgent
	if _, err := w.PushRun(context.Background(), agent, memory.RunPush{}); !problem.Is(err, problem.Forbidden) {
		t.Errorf("an agent: %v", err)
	}
	ci := w.c
	ci.Role = memory.RoleCI
	if _, err := w.Recall(context.Background(), ci, memory.RecallRequest{Query: "anything"}); !problem.Is(err, problem.Forbidden) {
		t.Errorf("ci recalls: %v", err)
	}
}

// A page of the watch list ends where the next one begins; outcomes, what is gone and what is elsewhere are on none.
func TestWatchedComesInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	_, err := w.ImportModel(ctx, w.c, shopModel())
	w.must(err)
	want := map[string]bool{}
	for n := range 5 {
		m := w.remember(memory.RememberRequest{Content: fmt.Sprintf("fact number %d", n), Separate: true}).Memory
		want[m.ID.String()] = true
	}
	gone := w.remember(memory.RememberRequest{Content: "retired soon", Separate: true}).Memory
	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: gone.Handle})
	w.must(err)
	outcome := w.c
	outcome.Door = memory.FromSession
	_, err = w.Remember(ctx, outcome, memory.RememberRequest{Kind: memory.SessionOutcome, Content: "a session ended"})
	w.must(err)
	elsewhere := w.c
	depot, err := w.CreateProject(ctx, w.c, "depot", nil)
	w.must(err)
	elsewhere.Project = depot.ID
	_, err = w.Remember(ctx, elsewhere, memory.RememberRequest{Content: "of another project"})
	w.must(err)
	w.must(w.h.store.View(ctx, w.c.Org, func(v memory.View) error {
		after := uuid.Nil
		for page := 0; ; page++ {
			ids, err := v.Watched(ctx, w.c.Project, after, 2)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				if page != 3 || len(want) > 0 {
					t.Errorf("%d pages, %d memories are on none", page, len(want))
				}
				return nil
			}
			for _, id := range ids {
				if !want[id.String()] || id.String() <= after.String() {
					t.Errorf("page %d has %s after %s", page, id, after)
				}
				delete(want, id.String())
				after = id
			}
		}
	}))
	list, err := w.Watch(ctx, w.c, "")
	w.must(err)
	if len(list.Memories) != 5 || list.Next != "" {
		t.Errorf("the list: %+v", list)
	}
}

// The state of the files is asked for by the patterns that a run will look at, once the elements are known; a pattern that only
// the server knows is none of them.
func TestSeenIsCompletedByElements(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	im := shopModel()
	im.Bindings = append(im.Bindings, c4model.Binding{Element: "shop.web", Pattern: "web/**", Source: "stele.yaml"})
	_, err := w.ImportModel(ctx, w.c, im)
	w.must(err)
	_, err = w.Bind(ctx, w.c, memory.BindRequest{Element: "shop.web", Patterns: []string{"pages/**"}})
	w.must(err)
	var asked [][]string
	seen := &memory.Seen{Commit: commit(1), Branch: "main", TreeOf: func(_ context.Context, patterns []string) string {
		patterns = slices.Clone(patterns)
		slices.Sort(patterns)
		asked = append(asked, patterns)
		return fmt.Sprint("tree", len(asked))
	}}
	m := w.remember(memory.RememberRequest{Content: "pages are cached", Elements: []string{"shop.web"}, Paths: []string{"docs/a*.md", "docs/b.md"}, Seen: seen}).Memory
	if len(asked) != 1 || !slices.Equal(asked[0], []string{"/docs/b.md", "docs/a*.md", "web/**"}) || w.get(m.Handle).Seen.Tree != "tree1" {
		t.Errorf("asked for %q, kept %+v", asked, w.get(m.Handle).Seen)
	}
	if m := w.remember(memory.RememberRequest{Content: "of nothing in particular", Seen: seen}).Memory; len(asked) != 1 || w.get(m.Handle).Seen.Tree != "" {
		t.Errorf("a memory of no files asks for %q", asked)
	}
	w.now = w.now.Add(time.Minute)
	_, err = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true, Seen: seen})
	w.must(err)
	if len(asked) != 2 || w.get(m.Handle).Seen.Tree != "tree2" {
		t.Errorf("confirming asks for %q, keeps %+v", asked, w.get(m.Handle).Seen)
	}
	again := w.remember(memory.RememberRequest{Content: "pages are cached", Seen: seen})
	if !again.Deduplicated || len(asked) != 3 || !slices.Equal(asked[2], asked[0]) || w.get(m.Handle).Seen.Tree != "tree3" {
		t.Errorf("a restatement asks for %q", asked)
	}
}
