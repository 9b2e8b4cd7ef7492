package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/memory"
)

// watchedRun is a run of a straight history with a verdict about the only memory.
func (w *world) watchedRun(n int, change func(*memory.RunPush, *evidence.Verdict)) memory.RunAnswer {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	list, err := w.Watch(context.Background(), w.c, "")
	w.must(err)
	a, err := w.push(n, func(p *memory.RunPush) {
		v := evidence.Verdict{ID: list.Memories[0].ID, Tree: fmt.Sprint("tree", n), SeenKnown: true, SeenIn: true}
		for _, c := range list.Memories[0].Claims {
			v.Claims = append(v.Claims, evidence.ClaimVerdict{Claim: claimOf(c), State: evidence.Holds, Evidence: true, Now: []string{"api/a.go"}})
		}
		change(p, &v)
		p.Verdicts = []evidence.Verdict{v}
	})
	w.must(err)
	return a
}

// doubted is a project with one memory, in which a run follows on another.
func doubted(t *testing.T, content string) (*world, memory.Memory) {
	t.Helper()
	w := newWorld(t, nil)
	seen := &memory.Seen{Commit: commit(1), Branch: "work", Tree: "tree1"}
	return w, w.remember(memory.RememberRequest{Content: content, Elements: []string{"shop.api"}, Seen: seen}).Memory
}

func TestRunMeasuresByTheTrackedBranch(t *testing.T) {
	t.Parallel()
	w, m := doubted(t, "`stripHeaders` drops long headers")
	branch := func(_ *memory.RunPush, v *evidence.Verdict) {
		v.SeenIn, v.Rewrite, v.Claims[0].State = false, &evidence.Rewrite{Lines: 10, Gone: 9}, evidence.Gone
	}
	if a := w.watchedRun(2, branch); len(a.Doubted) != 0 {
		t.Errorf("what was written on a branch that is not merged: %+v", a)
	}
	squashed := func(_ *memory.RunPush, v *evidence.Verdict) { v.SeenIn, v.Tree = false, "tree1" }
	if a := w.watchedRun(3, squashed); len(a.Doubted) != 0 {
		t.Errorf("the very files that the writer had: %+v", a)
	}
	if s := w.get(m.Handle).Seen; s.Commit != commit(3) || s.Branch != "main" || s.Tree != "tree1" {
		t.Errorf("a memory of a squashed branch was seen on %+v", s)
	}
	gone := func(_ *memory.RunPush, v *evidence.Verdict) { v.Claims[0].State = evidence.Gone }
	if a := w.watchedRun(4, gone); len(a.Doubted) != 1 {
		t.Errorf("evidence of the tracked branch that is gone: %+v", a)
	}
}

func TestRunKnowsEvidenceThatNoRunSaw(t *testing.T) {
	t.Parallel()
	w, _ := doubted(t, "`stripHeaders` drops long headers")
	a := w.watchedRun(2, func(_ *memory.RunPush, v *evidence.Verdict) { v.Claims[0].State = evidence.Gone })
	if len(a.Doubted) != 1 || a.Doubted[0].Cause != "evidence_gone" {
		t.Errorf("what the code declared where the memory was written: %+v", a)
	}
}

func TestRunFindsForgottenEvidenceAgain(t *testing.T) {
	t.Parallel()
	w, m := doubted(t, "`stripHeaders` drops long headers")
	holds := func(*memory.RunPush, *evidence.Verdict) {}
	gone := func(_ *memory.RunPush, v *evidence.Verdict) { v.Claims[0].State = evidence.Gone }
	w.watchedRun(2, holds)
	w.watchedRun(3, gone)
	_, err := w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	w.must(err)
	w.watchedRun(4, holds)
	if a := w.watchedRun(5, gone); len(a.Doubted) != 1 {
		t.Errorf("evidence that was confirmed away, came back and went: %+v", a)
	}
}

func TestRunEndsDoubtsForTheirOwnReason(t *testing.T) {
	t.Parallel()
	moved := func(p *memory.RunPush, w *world) {
		p.Report.Findings = []drift.Finding{gone(w, "shop.api", 2)}
		p.Report.Findings[0].Outcome = drift.Moved
	}
	rename := func(p *memory.RunPush) {
		im := shopModel()
		for i := range im.Model.Elements {
			e := &im.Model.Elements[i]
			e.Key, e.Parent = strings.Replace(e.Key, "shop.api", "shop.orders", 1), strings.Replace(e.Parent, "shop.api", "shop.orders", 1)
		}
		im.Model.Relationships[0].Destination = "shop.orders"
		p.Model, p.Source = im.Model, im.Source
	}
	for name, tc := range map[string]struct {
		opens, then func(*world, *memory.RunPush, *evidence.Verdict)
		ends        bool
	}{
		"rewritten, and most is back": {
			func(_ *world, _ *memory.RunPush, v *evidence.Verdict) {
				v.Rewrite = &evidence.Rewrite{Lines: 10, Gone: 8}
			},
			func(_ *world, _ *memory.RunPush, v *evidence.Verdict) {
				v.Rewrite = &evidence.Rewrite{Lines: 10, Gone: 1}
			}, true,
		},
		"gone evidence, and the bound files are as before": {
			func(_ *world, _ *memory.RunPush, v *evidence.Verdict) {
				v.Claims[0].State, v.Tree = evidence.Gone, "tree1"
			},
			func(_ *world, _ *memory.RunPush, v *evidence.Verdict) {
				v.Claims[0].State, v.Tree = evidence.Gone, "tree1"
			}, false,
		},
		"drifted, and the files are as before": {
			func(w *world, p *memory.RunPush, _ *evidence.Verdict) {
				p.Report.Findings = []drift.Finding{gone(w, "shop.api", 2)}
			},
			func(_ *world, _ *memory.RunPush, v *evidence.Verdict) { v.Tree = "tree1" }, true,
		},
		"drifted, and a binding that never matched": {
			func(w *world, p *memory.RunPush, _ *evidence.Verdict) {
				p.Report.Findings = []drift.Finding{gone(w, "shop.api", 2)}
			},
			func(_ *world, _ *memory.RunPush, v *evidence.Verdict) { v.Tree, v.AsSeen = evidence.EmptyTree, true }, false,
		},
		"moved, and the model follows": {
			func(w *world, p *memory.RunPush, v *evidence.Verdict) { moved(p, w); v.Claims = nil },
			func(*world, *memory.RunPush, *evidence.Verdict) {}, true,
		},
		"moved, and waived": {
			func(w *world, p *memory.RunPush, v *evidence.Verdict) { moved(p, w); v.Claims = nil },
			func(w *world, p *memory.RunPush, _ *evidence.Verdict) {
				moved(p, w)
				p.Report.Waived, p.Report.Findings = []drift.WaivedFinding{{Finding: p.Report.Findings[0]}}, nil
			}, false,
		},
		"moved, and the element has another key": {
			func(w *world, p *memory.RunPush, v *evidence.Verdict) { moved(p, w); v.Claims = nil },
			func(w *world, p *memory.RunPush, _ *evidence.Verdict) {
				p.Report.Findings = []drift.Finding{gone(w, "shop.orders", 2)}
				rename(p)
			}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, m := doubted(t, "`stripHeaders` drops long headers")
			w.watchedRun(1, func(*memory.RunPush, *evidence.Verdict) {})
			if a := w.watchedRun(2, func(p *memory.RunPush, v *evidence.Verdict) { tc.opens(w, p, v) }); len(a.Doubted) != 1 {
				t.Fatalf("no doubt: %+v", a)
			}
			if f := flags(w.get(m.Handle)); !slices.Equal(f, []string{"verify"}) {
				t.Fatalf("flags %v", f)
			}
			a := w.watchedRun(3, func(p *memory.RunPush, v *evidence.Verdict) { tc.then(w, p, v) })
			if ended := !slices.Contains(flags(w.get(m.Handle)), "verify"); ended != tc.ends || (a.Withdrawn > 0) != tc.ends {
				t.Errorf("ended: %t, %+v", ended, a)
			}
		})
	}
}

func TestConfirmAssumesNoLateRun(t *testing.T) {
	t.Parallel()
	w, m := doubted(t, "long headers are dropped")
	w.pushed(3)
	if a := w.pushed(2); !a.Late {
		t.Fatalf("an older commit: %+v", a)
	}
	_, err := w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	w.must(err)
	if s := w.get(m.Handle).Seen; s.Commit != commit(3) || !s.Assumed {
		t.Errorf("whoever confirms after a late run saw %+v", s)
	}
}
