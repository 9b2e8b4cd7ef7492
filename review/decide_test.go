package review_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// Every action is taken back exactly: the memories are as before, and the items are open again under the same ids.
func TestUndoRestoresExactly(t *testing.T) {
	t.Parallel()
	pair := func(w *world) memory.Memory {
		w.remember(memory.RememberRequest{Title: "Retries", Content: "the payment client retries three times and then gives up for good", Elements: []string{"shop.web"}})
		return w.remember(memory.RememberRequest{Title: "Retry", Content: "the payment client retries four times and then gives up for good", Elements: []string{"shop.api"}})
	}
	doubted := func(w *world) memory.Memory {
		m := w.remember(memory.RememberRequest{Title: "Headers", Content: "the gateway strips headers", Elements: []string{"shop.api"}, Seen: &memory.Seen{Commit: commit(1), Tree: "t"}})
		w.push(1, nil)
		w.drifted(2, gone(w, "shop.api", 2))
		_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Note: "not since the proxy"})
		w.must(err)
		w.sql(`INSERT INTO evidence (org_id, memory_id, revision, version, ordinal, state) VALUES ($1, $2, 1, 1, 0, 'gone')`, w.c.Org, m.ID)
		w.later(time.Hour)
		return m
	}
	item := func(r review.Reason, change func(*review.DecideRequest)) func(*world, memory.Memory) review.DecideRequest {
		return func(w *world, m memory.Memory) review.DecideRequest {
			d := review.DecideRequest{Items: []string{w.item(m, r).ID}}
			change(&d)
			return d
		}
	}
	until := time.Date(2030, 3, 20, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		begin   func(*world) memory.Memory
		decide  func(*world, memory.Memory) review.DecideRequest
		settled review.Reason // by the decision
		still   []review.Reason
		edited  bool // undoing adds revisions
	}{
		{name: "confirm", begin: doubted, decide: item(review.Drifted, func(d *review.DecideRequest) { d.Action = review.Confirm }), settled: review.Drifted},
		{name: "confirm what expired", begin: func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the feature is frozen", Expires: "3d"})
			w.later(4 * day)
			return m
		}, decide: item(review.Expired, func(d *review.DecideRequest) { d.Action = review.Confirm }), settled: review.Expired, edited: true},
		{name: "confirm what a hook wrote", begin: func(w *world) memory.Memory {
			c := w.c
			c.Door = memory.FromHook
			return w.rememberAs(c, memory.RememberRequest{Content: "a hook said so"})
		}, decide: item(review.Unreviewed, func(d *review.DecideRequest) { d.Action = review.Confirm }), settled: review.Unreviewed},
		{name: "dispute", begin: doubted, decide: item(review.Drifted, func(d *review.DecideRequest) { d.Action, d.Reason = review.Dispute, "it is the proxy" }),
			settled: review.Drifted, still: []review.Reason{review.Disputed}},
		{name: "retire", begin: doubted, decide: item(review.Drifted, func(d *review.DecideRequest) { d.Action = review.Retire }), settled: review.Drifted},
		{name: "edit", begin: doubted, decide: item(review.Drifted, func(d *review.DecideRequest) { d.Action, d.Content = review.Edit, "the proxy strips headers" }),
			settled: review.Drifted},
		{name: "keep", begin: doubted, decide: item(review.Drifted, func(d *review.DecideRequest) { d.Action = review.Keep }), settled: review.Drifted,
			still: []review.Reason{review.Disputed}},
		{name: "snooze", begin: doubted, decide: item(review.Drifted, func(d *review.DecideRequest) { d.Action, d.Until = review.Snooze, &until }), settled: review.Drifted,
			still: []review.Reason{review.Disputed}},
		{name: "reattach", begin: doubted, decide: item(review.Drifted, func(d *review.DecideRequest) { d.Action, d.Elements = review.Reattach, []string{"shop.web"} }),
			settled: review.Drifted, still: []review.Reason{review.Disputed}, edited: true},
		{name: "promote", begin: func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Title: "Tags", Content: "tags are folded", Elements: []string{"shop.api"}})
			w.sql(`UPDATE memories SET ignored_by = 5, confirmations = 3 WHERE memory_id = $1`, m.ID)
			return m
		}, decide: item(review.Ignored, func(d *review.DecideRequest) { d.Action = review.Promote }), settled: review.Ignored},
		{name: "merge into one", begin: pair,
			decide: func(w *world, m memory.Memory) review.DecideRequest {
				i := w.item(m, review.Conflict)
				return review.DecideRequest{Action: review.Merge, Items: []string{i.ID}, Into: i.Other.Handle}
			}, settled: review.Conflict},
		{name: "merge into a new text", begin: pair,
			decide: item(review.Conflict, func(d *review.DecideRequest) {
				d.Action, d.Content = review.Merge, "the payment client retries as often as it is told"
			}),
			settled: review.Conflict},
		{name: "restore", begin: func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Title: "Headers", Content: "the gateway strips headers", Elements: []string{"shop.api"}})
			_, err := w.memories.Forget(context.Background(), w.c, memory.ForgetRequest{Memory: m.Handle})
			w.must(err)
			return m
		}, decide: func(_ *world, m memory.Memory) review.DecideRequest {
			return review.DecideRequest{Action: review.Restore, Memories: []string{m.Handle}}
		}},
		{name: "restore what was superseded", begin: func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the gateway strips headers", Elements: []string{"shop.api"}})
			next := w.remember(memory.RememberRequest{Content: "the proxy strips headers", Supersedes: m.Handle})
			_, err := w.memories.Forget(context.Background(), w.c, memory.ForgetRequest{Memory: next.Handle})
			w.must(err)
			return m
		}, decide: func(_ *world, m memory.Memory) review.DecideRequest {
			return review.DecideRequest{Action: review.Restore, Memories: []string{m.Handle}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := test.begin(w)
			r := test.decide(w, m)
			ids := []uuid.UUID{m.ID}
			for _, i := range w.queue(w.c).Items {
				if i.Other != nil {
					ids = append(ids, i.Other.ID)
				}
			}
			items, records, evidence := itemIDs(w), w.records(ids...), w.evidence(m)
			d := w.decide(r)
			if d.Count != 1 || len(d.Memories) != 1 || d.Memories[0] != m.Handle || d.Author != "kim" {
				t.Errorf("decision %+v", d)
			}
			got := w.reasons(m)
			if slices.Contains(got, test.settled) || test.still != nil && !slices.Equal(got, test.still) {
				t.Errorf("after the decision it is in the queue as %v", got)
			}
			if cmp.Equal(w.records(ids...), records) && r.Action != review.Keep && r.Action != review.Snooze {
				t.Error("the decision changed nothing")
			}
			w.undo(d)
			ignore := cmp.Options{cmpopts.EquateEmpty()}
			if test.edited {
				ignore = append(ignore, cmpopts.IgnoreFields(memory.Memory{}, "Revision"))
			}
			if diff := cmp.Diff(records, w.records(ids...), ignore); diff != "" {
				t.Errorf("undoing leaves\n%s", diff)
			}
			if again := itemIDs(w); !slices.Equal(again, items) {
				t.Errorf("the queue was %v and is %v", items, again)
			}
			if again := w.evidence(m); again != evidence {
				t.Errorf("evidence was %q and is %q", evidence, again)
			}
			_, err := w.UndoReview(context.Background(), w.c, d.ID)
			wants(t, err, problem.Conflict, "kim undid it")
			past := w.past(ids[0])
			if present := w.records(ids[0])[0]; past == nil && present.Status == memory.Live ||
				past != nil && (present.Status != memory.Live || past.Confirmations != present.Confirmations && test.name != "promote" || !past.ConfirmedAt.Equal(present.ConfirmedAt)) {
				t.Errorf("the logs say %+v, and it is %+v", past, present)
			}
		})
	}
}

// itemIDs are the ids of the whole queue, in order.
func itemIDs(w *world) []string {
	w.t.Helper()
	var out []string
	for _, i := range w.queue(w.c).Items {
		out = append(out, i.ID)
	}
	slices.Sort(out)
	return out
}

// evidence is what is known of the claims of a memory.
func (w *world) evidence(m memory.Memory) string {
	w.t.Helper()
	var out string
	conn := w.database.ConnectAdmin(w.t)
	w.must(conn.QueryRow(context.Background(), `SELECT coalesce(string_agg(revision || '.' || ordinal || ' ' || state, ', ' ORDER BY revision, ordinal), '')
		FROM evidence WHERE memory_id = $1`, m.ID).Scan(&out))
	w.must(conn.Close(context.Background()))
	return out
}

// past is a memory as the logs have it now; nil when it is not live.
func (w *world) past(id uuid.UUID) *memory.Record {
	w.t.Helper()
	var out *memory.Record
	w.must(w.store.View(context.Background(), w.c.Org, func(v memory.View) error {
		out = nil
		spaces, err := v.Spaces(context.Background(), w.c.SpaceKeys())
		if err != nil {
			return err
		}
		var ids []int32
		for _, sp := range spaces {
			ids = append(ids, sp.ID)
		}
		recs, err := v.Past(context.Background(), ids, w.now)
		for i := range recs {
			if recs[i].ID == id && recs[i].Status == memory.Live {
				out = &recs[i]
			}
		}
		return err
	}))
	return out
}

// What was decided does not come back on the same evidence, and does on new.
func TestNewEvidenceReopens(t *testing.T) {
	t.Parallel()
	never := func(*world, memory.Memory) {}
	for _, test := range []struct {
		reason review.Reason
		begin  func(*world) memory.Memory
		same   func(*world, memory.Memory) // the same evidence, once more
		fresh  func(*world, memory.Memory) // new evidence
	}{
		{review.Drifted, func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the gateway strips headers", Elements: []string{"shop.api"}})
			w.push(1, nil)
			w.drifted(2, gone(w, "shop.api", 2))
			return m
		}, func(w *world, _ memory.Memory) { w.drifted(3, gone(w, "shop.api", 2)) }, func(w *world, _ memory.Memory) {
			w.push(4, nil)
			w.drifted(5, gone(w, "shop.api", 5))
		}},
		{review.Disputed, func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a"})
			_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle})
			w.must(err)
			return m
		}, never, func(w *world, m memory.Memory) {
			_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle})
			w.must(err)
		}},
		{review.Ignored, func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a"})
			w.sql(`UPDATE memories SET ignored_by = 5 WHERE memory_id = $1`, m.ID)
			return m
		}, func(w *world, m memory.Memory) {
			w.sql(`UPDATE memories SET ignored_by = 9 WHERE memory_id = $1`, m.ID)
		},
			func(w *world, m memory.Memory) {
				w.sql(`UPDATE memories SET ignored_by = 10 WHERE memory_id = $1`, m.ID)
			}},
		{review.Stale, func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a"})
			w.later(150 * day)
			w.served("s1", memory.DoorRecall, m)
			return m
		}, func(w *world, m memory.Memory) {
			w.later(day)
			w.served("s2", memory.DoorRecall, m)
		}, func(w *world, m memory.Memory) {
			_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
			w.must(err)
			w.later(150 * day)
			w.served("s3", memory.DoorRecall, m)
		}},
		{review.Orphaned, func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a", Elements: []string{"shop.web"}})
			w.model(w.c, "shop.api", "shop.api.auth")
			return m
		}, func(w *world, _ memory.Memory) { w.model(w.c, "shop.api") }, func(w *world, _ memory.Memory) {
			w.later(day)
			w.model(w.c, "shop.api", "shop.web")
			w.later(day)
			w.model(w.c, "shop.api")
		}},
		{review.Expired, func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a", Expires: "3d"})
			w.later(4 * day)
			return m
		}, never, func(w *world, m memory.Memory) {
			soon := "1d"
			_, err := w.memories.Edit(context.Background(), w.c, memory.EditRequest{Memory: m.Handle, Expires: &soon})
			w.must(err)
			w.later(2 * day)
		}},
		{review.Conflict, func(w *world) memory.Memory {
			w.remember(memory.RememberRequest{Content: "the payment client retries three times and then gives up for good"})
			return w.remember(memory.RememberRequest{Content: "the payment client retries four times and then gives up for good"})
		}, never, func(w *world, _ memory.Memory) {
			w.remember(memory.RememberRequest{Content: "the payment client retries five times and then gives up for good"})
		}},
	} {
		for _, action := range []review.Action{review.Keep, review.Snooze} {
			t.Run(fmt.Sprint(test.reason, " ", action), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				m := test.begin(w)
				until := w.now.Add(300 * day)
				w.decide(review.DecideRequest{Action: action, Items: []string{w.item(m, test.reason).ID}, Until: &until})
				test.same(w, m)
				if got := w.reasons(m); len(got) != 0 {
					t.Fatalf("the same evidence brought it back as %v", got)
				}
				test.fresh(w, m)
				if got := w.reasons(m); !slices.Equal(got, []review.Reason{test.reason}) {
					t.Errorf("after new evidence it is in the queue as %v", got)
				}
			})
		}
	}
}

func TestSnoozeEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(memory.RememberRequest{Content: "a", Expires: "3d"})
	w.later(4 * day)
	until := w.now.Add(10 * day)
	w.decide(review.DecideRequest{Action: review.Snooze, Items: []string{w.item(m, review.Expired).ID}, Until: &until})
	w.later(9 * day)
	if got := w.reasons(m); len(got) != 0 {
		t.Errorf("while it is snoozed it is in the queue as %v", got)
	}
	w.later(day)
	if got := w.reasons(m); len(got) != 1 {
		t.Errorf("after the snooze it is in the queue as %v", got)
	}
}

// Of two people who decide about one group at once, one does and the other is told.
func TestTwoDecideAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		w.remember(memory.RememberRequest{Content: fmt.Sprintf("fact %c", 'a'+i), Elements: []string{"shop.api"}})
	}
	w.push(1, nil)
	w.drifted(2, gone(w, "shop.api", 2))
	group := w.queue(w.c).Groups[0].ID
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wait.Go(func() {
			c := w.c
			c.User = fmt.Sprintf("reviewer%d", i)
			_, errs[i] = w.DecideReview(context.Background(), c, review.DecideRequest{Action: review.Retire, Group: group})
		})
	}
	wait.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
			continue
		}
		wants(t, err, problem.Conflict, "reviewer", "decided this")
	}
	if done != 1 {
		t.Errorf("%d of them decided", done)
	}
	h, err := w.ReviewHistory(context.Background(), w.c, review.HistoryRequest{})
	w.must(err)
	if len(h.Decisions) != 1 || h.Decisions[0].Count != 5 || h.Decisions[0].Items != 5 {
		t.Errorf("history %+v", h.Decisions)
	}
}

// What was decided since is not taken back with what was decided before.
func TestUndoIsRefusedAfterOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(memory.RememberRequest{Content: "a"})
	_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle})
	w.must(err)
	d := w.decide(review.DecideRequest{Action: review.Confirm, Items: []string{w.item(m, review.Disputed).ID}})
	w.later(time.Hour)
	_, err = w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
	w.must(err)
	_, err = w.UndoReview(context.Background(), w.c, d.ID)
	wants(t, err, problem.Conflict, m.Handle+" was confirmed since")

	e := w.decide(review.DecideRequest{Action: review.Edit, Memories: []string{m.Handle}, Content: "b"})
	next := w.remember(memory.RememberRequest{Content: "c", Supersedes: e.Into})
	_, err = w.UndoReview(context.Background(), w.c, e.ID)
	wants(t, err, problem.Conflict, e.Into+" became superseded since")
	if got := w.records(m.ID, next.ID); got[0].Status != memory.Superseded || got[1].Status != memory.Live {
		t.Error("a refused undo changed something")
	}
}

// The bounds and rights of deciding.
func TestDecideRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.c
	other.User = "ana"
	for i := range 11 {
		w.rememberAs(other, memory.RememberRequest{Content: fmt.Sprintf("fact %c", 'a'+i), Elements: []string{"shop.api"}})
	}
	w.push(1, nil)
	w.drifted(2, gone(w, "shop.api", 2))
	group := w.queue(w.c).Groups[0]
	item := w.queue(w.c).Items[0]
	agent := w.c
	agent.Role = memory.RoleAgent
	ci := w.c
	ci.Role = memory.RoleCI
	past := w.now.Add(-time.Hour)
	one := []string{item.ID}
	for _, test := range []struct {
		name string
		c    memory.Caller
		r    review.DecideRequest
		code problem.Code
		word string
	}{
		{"no reason in bulk", w.c, review.DecideRequest{Action: review.Retire, Group: group.ID}, problem.Invalid, "11 memories needs a reason"},
		{"more than was shown", w.c, review.DecideRequest{Action: review.Retire, Group: group.ID, Expected: 10, Reason: "gone"}, problem.Stale, "11 items by now"},
		{"no action", w.c, review.DecideRequest{Items: one}, problem.Invalid, "is no action"},
		{"nothing", w.c, review.DecideRequest{Action: review.Keep}, problem.Invalid, "one of the three"},
		{"unknown group", w.c, review.DecideRequest{Action: review.Keep, Group: "g-0"}, problem.NotFound, "nothing is open"},
		{"unknown item", w.c, review.DecideRequest{Action: review.Keep, Items: []string{"drifted:m-aaaaaaa:00000000"}}, problem.NotFound, "not open"},
		{"no item at all", w.c, review.DecideRequest{Action: review.Keep, Items: []string{"x"}}, problem.Invalid, "no id"},
		{"snooze into the past", w.c, review.DecideRequest{Action: review.Snooze, Items: one, Until: &past}, problem.Invalid, "366 days"},
		{"reattach to nothing", w.c, review.DecideRequest{Action: review.Reattach, Items: one}, problem.Invalid, "no element"},
		{"edit to nothing", w.c, review.DecideRequest{Action: review.Edit, Items: one}, problem.Invalid, "empty"},
		{"merge of one", w.c, review.DecideRequest{Action: review.Merge, Items: one, Content: "x"}, problem.Invalid, "takes 2"},
		{"no moved files", w.c, review.DecideRequest{Action: review.AcceptBinding, Items: one}, problem.Invalid, "where the files went"},
		{"restore an item", w.c, review.DecideRequest{Action: review.Restore, Items: one}, problem.Invalid, "left recall"},
		{"an agent retires another's", agent, review.DecideRequest{Action: review.Retire, Items: one}, problem.Forbidden, "reviewer"},
		{"an agent keeps another's", agent, review.DecideRequest{Action: review.Keep, Items: one}, problem.Forbidden, "reviewer"},
		{"an agent promotes", agent, review.DecideRequest{Action: review.Promote, Items: one}, problem.Forbidden, "reviewer"},
		{"ci", ci, review.DecideRequest{Action: review.Confirm, Items: one}, problem.Forbidden, "ci"},
		{"no project", memory.Caller{Org: w.c.Org, User: "kim", Role: memory.RoleReviewer}, review.DecideRequest{Action: review.Keep, Items: one}, problem.Invalid, "project"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := w.DecideReview(context.Background(), test.c, test.r)
			wants(t, err, test.code, test.word)
		})
	}
	_, err := w.ReviewQueue(context.Background(), ci, review.QueueRequest{})
	wants(t, err, problem.Forbidden, "ci")
	t.Cleanup(func() {
		if got := w.queue(w.c); got.Groups[0].Count != 11 {
			t.Errorf("refused decisions left %+v", got.Groups)
		}
	})
}

// Agents say whether something holds, and decide about what is theirs.
func TestAgentsDecide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.remember(memory.RememberRequest{Content: "a", Expires: "1d"})
	other := w.c
	other.User = "ana"
	theirs := w.rememberAs(other, memory.RememberRequest{Content: "b"})
	_, err := w.memories.Confirm(context.Background(), other, memory.ConfirmRequest{Memory: theirs.Handle})
	w.must(err)
	w.later(2 * day)
	agent := w.c
	agent.Role = memory.RoleAgent
	d, err := w.DecideReview(context.Background(), agent, review.DecideRequest{Action: review.Confirm, Items: []string{w.item(theirs, review.Disputed).ID}})
	w.must(err)
	w.later(time.Minute)
	_, err = w.UndoReview(context.Background(), agent, d.ID)
	w.must(err)
	_, err = w.DecideReview(context.Background(), agent, review.DecideRequest{Action: review.Keep, Items: []string{w.item(mine, review.Expired).ID}})
	w.must(err)
	stranger := agent
	stranger.User = "bob"
	_, err = w.UndoReview(context.Background(), stranger, d.ID)
	wants(t, err, problem.Conflict, "undid")
	if got := w.reasons(mine); len(got) != 0 {
		t.Errorf("it is still in the queue as %v", got)
	}
}

// A retry under the same key decides nothing anew.
func TestDecideOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(memory.RememberRequest{Content: "a", Expires: "1d"})
	w.later(2 * day)
	c := w.c
	c.Retry = "key"
	r := review.DecideRequest{Action: review.Keep, Items: []string{w.item(m, review.Expired).ID}}
	first, err := w.DecideReview(context.Background(), c, r)
	w.must(err)
	second, err := w.DecideReview(context.Background(), c, r)
	w.must(err)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the retry differs\n%s", diff)
	}
	c.Retry = "undo"
	a, err := w.UndoReview(context.Background(), c, first.ID)
	w.must(err)
	b, err := w.UndoReview(context.Background(), c, first.ID)
	w.must(err)
	if !cmp.Equal(a, b) {
		t.Error("undoing again under the same key differs")
	}
}

// A decision that is cut off between its transactions has decided about some, and deciding again completes it.
func TestCutOffDecisionIsCompleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 503 // more than one transaction takes
	c := w.c
	c.Door = memory.FromImport
	batch := uuid.New()
	for i := range n {
		w.rememberAs(c, memory.RememberRequest{Kind: memory.Note, Content: fmt.Sprintf("note number %d", i), Separate: true,
			Imported: &memory.Imported{Key: fmt.Sprint(i), CreatedAt: w.now, User: "kim", Batch: batch}})
	}
	group := w.queue(w.c).Groups[0]
	if group.Count != n {
		t.Fatalf("the group has %d", group.Count)
	}
	cut := review.New(w.memories, &cutStore{Store: w.store, after: 1})
	r := review.DecideRequest{Action: review.Keep, Group: group.ID, Reason: "known"}
	if _, err := cut.DecideReview(context.Background(), w.c, r); !errors.Is(err, errCut) {
		t.Fatalf("the cut decision gives %v", err)
	}
	left := w.queue(w.c).Groups[0].Count
	if left != n-500 {
		t.Fatalf("%d are left", left)
	}
	d := w.decide(r)
	if d.Count != left || len(w.queue(w.c).Groups) != 0 {
		t.Errorf("the second decision settled %d, and %v are left", d.Count, w.queue(w.c).Groups)
	}
	whole, err := w.ReviewHistory(context.Background(), w.c, review.HistoryRequest{})
	w.must(err)
	for _, d := range whole.Decisions {
		w.undo(d)
	}
	if got := w.queue(w.c).Groups[0].Count; got != n {
		t.Errorf("after both were undone %d are open", got)
	}
	if d := w.decide(r); d.Count != n || d.Items != n || len(d.Memories) != 100 {
		t.Errorf("in one go it settles %d memories, %d items, and names %d", d.Count, d.Items, len(d.Memories))
	}
}

var errCut = errors.New("the connection is gone")

// cutStore fails after some transactions.
type cutStore struct {
	review.Store
	after int
}

func (s *cutStore) WriteReviews(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, fn func(review.Tx) error) error {
	if s.after == 0 {
		return errCut
	}
	s.after--
	return s.Store.WriteReviews(ctx, org, spaces, fn)
}

// Who decided what, when and why is told, newest first, to those it concerns.
func TestHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shared := w.remember(memory.RememberRequest{Content: "a", Expires: "1d"})
	own := w.remember(memory.RememberRequest{Content: "b", Expires: "1d", Scope: memory.Personal})
	w.later(2 * day)
	w.decide(review.DecideRequest{Action: review.Keep, Items: []string{w.item(own, review.Expired).ID}, Reason: "mine to know"})
	w.decide(review.DecideRequest{Action: review.Retire, Items: []string{w.item(shared, review.Expired).ID}, Reason: "it is over"})
	h, err := w.ReviewHistory(context.Background(), w.c, review.HistoryRequest{Limit: 1})
	w.must(err)
	if len(h.Decisions) != 1 || h.Decisions[0].Reason != "it is over" || h.Decisions[0].Action != review.Retire || h.NextCursor == "" {
		t.Fatalf("the first page: %+v", h)
	}
	h, err = w.ReviewHistory(context.Background(), w.c, review.HistoryRequest{Limit: 1, Cursor: h.NextCursor})
	w.must(err)
	if len(h.Decisions) != 1 || h.Decisions[0].Reason != "mine to know" || !slices.Equal(h.Decisions[0].Memories, []string{own.Handle}) {
		t.Fatalf("the second page: %+v", h)
	}
	other := w.c
	other.User = "ana"
	for _, r := range []review.HistoryRequest{{}, {Author: "kim"}, {Memory: shared.Handle}} {
		h, err = w.ReviewHistory(context.Background(), other, r)
		w.must(err)
		if len(h.Decisions) != 1 || h.Decisions[0].Reason != "it is over" {
			t.Errorf("%+v shows another user %+v", r, h.Decisions)
		}
	}
	h, err = w.ReviewHistory(context.Background(), other, review.HistoryRequest{Author: "ana"})
	w.must(err)
	if len(h.Decisions) != 0 {
		t.Errorf("ana decided %+v", h.Decisions)
	}
	admin := w.c
	admin.Role = memory.RoleAdmin
	log, err := w.memories.AuditLog(context.Background(), admin, memory.AuditRequest{})
	w.must(err)
	var verbs []string
	for _, l := range log.Lines {
		if l.Verb == review.VerbDecide {
			verbs = append(verbs, l.Detail["action"])
		}
		if strings.Contains(fmt.Sprint(l), "over") {
			t.Errorf("the trail has a word of the reason: %+v", l)
		}
	}
	if !slices.Equal(verbs, []string{"retire", "keep"}) {
		t.Errorf("the trail has %v", verbs)
	}
	_, err = w.memories.Forget(context.Background(), w.c, memory.ForgetRequest{Memory: shared.Handle, Erase: true})
	w.must(err)
	h, err = w.ReviewHistory(context.Background(), other, review.HistoryRequest{})
	w.must(err)
	if h.Decisions[0].Reason != "" {
		t.Error("the reason outlives the memory that was erased")
	}
}

// The id that is none is no decision, and not the newest one.
func TestUndoOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.UndoReview(context.Background(), w.c, uuid.Nil.String()); !problem.Is(err, problem.Invalid) {
		t.Errorf("undone: %v", err)
	}
}
