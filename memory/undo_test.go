package memory_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// A poisoned author is undone by one call: what they wrote leaves recall, what they drove out comes back.
func TestUndo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	before := w.remember(memory.RememberRequest{Content: "Refunds need two people.", Title: "Refunds"}).Memory
	driven := w.remember(memory.RememberRequest{Content: "Keys rotate monthly."}).Memory
	disputed := w.remember(memory.RememberRequest{Content: "Logs are kept for a year."}).Memory
	kept := w.remember(memory.RememberRequest{Content: "Tea is sold by weight."}).Memory

	mallory := w.c
	mallory.User, mallory.Role = "mallory", memory.RoleReviewer
	w.now = w.now.Add(time.Hour)
	old, err := w.Remember(ctx, mallory, memory.RememberRequest{Content: "An older note."})
	w.must(err)
	w.now = w.now.Add(time.Hour)
	since := w.now
	first, err := w.Remember(ctx, mallory, memory.RememberRequest{Content: "Refunds need nobody.", Title: "Refunds", Supersedes: before.Handle})
	w.must(err)
	w.now = w.now.Add(time.Second)
	second, err := w.Remember(ctx, mallory, memory.RememberRequest{Content: "Refunds are automatic.", Supersedes: first.Memory.Handle})
	w.must(err)
	_, err = w.Forget(ctx, mallory, memory.ForgetRequest{Memory: driven.Handle})
	w.must(err)
	_, err = w.Confirm(ctx, mallory, memory.ConfirmRequest{Memory: disputed.Handle, Holds: false, Note: "not at all"})
	w.must(err)
	w.now = w.now.Add(time.Hour)

	r := memory.UndoRequest{Author: "mallory", Since: since, Reason: "the token was stolen", DryRun: true}
	plan, err := w.Undo(ctx, w.c, r)
	w.must(err)
	if w.get(second.Memory.Handle).Status != memory.Live {
		t.Error("a dry run retired something")
	}
	r.DryRun = false
	done, err := w.Undo(ctx, w.c, r)
	w.must(err)
	for _, want := range []string{before.Handle, driven.Handle} {
		if !slices.Contains(done.Restored, want) {
			t.Errorf("restored %v, lacks %s", done.Restored, want)
		}
		if m := w.get(want); m.Status != memory.Live {
			t.Errorf("%s is %s", want, m.Status)
		}
	}
	if !slices.Equal(done.Retired, []string{second.Memory.Handle}) || !slices.Equal(plan.Retired, done.Retired) {
		t.Errorf("retired %v, planned %v", done.Retired, plan.Retired)
	}
	for handle, want := range map[string]memory.Status{
		first.Memory.Handle: memory.Superseded, second.Memory.Handle: memory.Retired, old.Memory.Handle: memory.Live, kept.Handle: memory.Live,
	} {
		if got := w.get(handle).Status; got != want {
			t.Errorf("%s is %s, want %s", handle, got, want)
		}
	}
	if !slices.ContainsFunc(done.Kept, func(k memory.KeptDeed) bool { return k.Memory == disputed.Handle && k.Verb == memory.VerbDispute }) {
		t.Errorf("the dispute is not reported: %+v", done.Kept)
	}
	again, err := w.Undo(ctx, w.c, r)
	w.must(err)
	if len(again.Retired)+len(again.Restored) != 0 || !slices.Contains(again.Undone, second.Memory.Handle) || !slices.Contains(again.Undone, driven.Handle) {
		t.Errorf("a second time: %+v", again)
	}

	for _, bad := range []memory.UndoRequest{{Since: since}, {Author: "mallory"}} {
		_, err := w.Undo(ctx, w.c, bad)
		wants(t, err, problem.Invalid)
	}
}

// What somebody else decided since stands.
func TestUndoLeavesLaterDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "Orders are printed."}).Memory
	mallory, judge := w.c, w.c
	mallory.User, judge.User = "mallory", "judge"
	tick := func() time.Time { w.now = w.now.Add(time.Minute); return w.now }
	since := tick()
	_, err := w.Forget(ctx, mallory, memory.ForgetRequest{Memory: m.Handle})
	w.must(err)
	tick()
	_, err = w.Restore(ctx, judge, m.Handle)
	w.must(err)
	tick()
	_, err = w.Forget(ctx, judge, memory.ForgetRequest{Memory: m.Handle, Reason: "it names a customer"})
	w.must(err)
	tick()
	out, err := w.Undo(ctx, w.c, memory.UndoRequest{Author: "mallory", Since: since})
	w.must(err)
	if len(out.Restored) != 0 || len(out.Kept) != 1 || out.Kept[0].Reason != "judge decided about it since (retire)" || w.get(m.Handle).Status != memory.Retired {
		t.Errorf("%+v", out)
	}
}

// One command for every project, for those who may look at every project.
func TestUndoEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	depot, err := w.CreateProject(ctx, w.c, "depot", nil)
	w.must(err)
	mallory := w.c
	mallory.User = "mallory"
	here, err := w.Remember(ctx, mallory, memory.RememberRequest{Content: "Here it is wrong."})
	w.must(err)
	mallory.Project = depot.ID
	there, err := w.Remember(ctx, mallory, memory.RememberRequest{Content: "There it is wrong."})
	w.must(err)
	r := memory.UndoRequest{Author: "mallory", Since: w.now, Everywhere: true}
	bound := w.c
	bound.Bound = bound.Project
	_, err = w.Undo(ctx, bound, r)
	wants(t, err, problem.Forbidden, "everywhere")
	out, err := w.Undo(ctx, w.c, memory.UndoRequest{Author: "mallory", Since: w.now})
	w.must(err)
	if !slices.Equal(out.Retired, []string{here.Memory.Handle}) {
		t.Errorf("in one project: %+v", out)
	}
	out, err = w.Undo(ctx, w.c, r)
	w.must(err)
	if !slices.Equal(out.Retired, []string{there.Memory.Handle}) || !slices.Equal(out.Undone, []string{here.Memory.Handle}) {
		t.Errorf("everywhere: %+v", out)
	}
}
