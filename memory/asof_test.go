package memory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/memory"
)

// A recall as of an instant tells what was known then, whatever became of it.
func TestRecallOfThePast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	step := func() time.Time {
		at := w.now
		w.now = w.now.Add(time.Hour)
		return at
	}
	ask := func(at time.Time, q string) memory.RecallResponse {
		return w.recall(memory.RecallRequest{Query: q, AsOf: &at, Explain: true})
	}
	before := step()
	old := w.remember(memory.RememberRequest{Content: "The beacon retries three times", Tags: []string{"first"}, Elements: []string{"shop.api"}}).Memory
	written := step()
	_, err := w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: old.Handle, Note: "saw it retry twice"})
	w.must(err)
	disputed := step()
	_, err = w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: old.Handle, Holds: true})
	w.must(err)
	confirmed := step()
	tags, elements := []string{"second"}, []string{"shop.web"}
	_, err = w.Edit(ctx, w.c, memory.EditRequest{Memory: old.Handle, Tags: &tags, Elements: &elements})
	w.must(err)
	edited := step()
	next := w.remember(memory.RememberRequest{Content: "The beacon gives up at once", Supersedes: old.Handle}).Memory
	superseded := step()
	_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: next.Handle})
	w.must(err)
	retired := step()
	_, err = w.Restore(ctx, w.c, next.Handle)
	w.must(err)
	restored := step()

	for _, c := range []struct {
		name string
		at   time.Time
		want []string
	}{
		{"before", before.Add(-time.Second), nil}, {"written", written, []string{old.Handle}}, {"disputed", disputed, []string{old.Handle}},
		{"confirmed", confirmed, []string{old.Handle}}, {"edited", edited, []string{old.Handle}},
		{"superseded", superseded, []string{next.Handle}}, {"retired", retired, nil}, {"restored", restored, []string{next.Handle}},
	} {
		if got := entries(ask(c.at, "beacon")); strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: found %v, want %v", c.name, got, c.want)
		}
	}
	at := func(when time.Time) memory.Result { return ask(when, "beacon").Results[0] }
	if r := at(written); r.Factors.Doubt != 1 || r.Tags[0] != "first" || r.Elements[0].Key != "shop.api" || r.Confirmations != 0 {
		t.Errorf("as written: %+v", r)
	}
	if r := at(disputed); r.Factors.Doubt != 0.6 || len(r.Flags) != 1 || r.Flags[0].Reason != "saw it retry twice" {
		t.Errorf("as disputed: doubt %v, flags %+v", r.Factors.Doubt, r.Flags)
	}
	if r := at(confirmed); r.Factors.Doubt != 1 || r.Confirmations != 1 || r.ConfirmedAt != confirmed {
		t.Errorf("as confirmed: %+v", r)
	}
	if r := at(edited); r.Tags[0] != "second" || len(r.Elements) != 1 || r.Elements[0].Key != "shop.web" {
		t.Errorf("as edited: %+v", r)
	}
	here := memory.RecallRequest{Element: "shop.api", AsOf: &written}
	if got := entries(w.recall(here)); cmp.Diff([]string{old.Handle}, got) != "" {
		t.Errorf("where it was attached then: %v", got)
	}
}
