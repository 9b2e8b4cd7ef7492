package review_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

const day = 24 * time.Hour

// Each reason appears by what brings it about, says so in words, and vanishes by what ends it, without any decision.
func TestReasonsAppearAndVanish(t *testing.T) {
	t.Parallel()
	quoting := memory.RememberRequest{Content: "call `openTill()` before the drawer", Elements: []string{"shop.api"}}
	claims := func(m evidence.Watched, state evidence.State) (v evidence.Verdict) {
		for _, c := range m.Claims {
			v.Claims = append(v.Claims, evidence.ClaimVerdict{Claim: evidence.Claim{Text: c.Text, Kind: c.Kind}, State: state, Evidence: true,
				Before: []string{"api/till.go"}, Now: []string{"api/till.go"}, Commit: &evidence.Commit{ID: commit(2), Author: "Ana", Subject: "Tidy"}})
		}
		return v
	}
	for _, test := range []struct {
		reason review.Reason
		words  string
		begin  func(w *world) memory.Memory
		end    func(w *world, m memory.Memory)
	}{
		{review.Drifted, "no file matches api/**, since 0000000 (Ana", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the gateway strips headers", Elements: []string{"shop.api"}})
			w.push(1, nil)
			w.drifted(2, gone(w, "shop.api", 2))
			return m
		}, func(w *world, m memory.Memory) {
			_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
			w.must(err)
		}},
		{review.EvidenceGone, "`openTill` left api/till.go in 0000000", func(w *world) memory.Memory {
			m := w.remember(quoting)
			w.verdicts(1, func(m evidence.Watched) evidence.Verdict { return claims(m, evidence.Holds) })
			w.verdicts(2, func(m evidence.Watched) evidence.Verdict { return claims(m, evidence.Gone) })
			return m
		}, func(w *world, _ memory.Memory) {
			w.verdicts(3, func(m evidence.Watched) evidence.Verdict { return claims(m, evidence.Holds) })
		}},
		{review.Rewritten, "80 of the 100 lines", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "orders are idempotent", Elements: []string{"shop.api"}, Seen: &memory.Seen{Commit: commit(1)}})
			w.push(1, nil)
			w.verdicts(2, func(evidence.Watched) evidence.Verdict {
				return evidence.Verdict{Rewrite: &evidence.Rewrite{Lines: 100, Gone: 80}}
			})
			return m
		}, func(w *world, _ memory.Memory) {
			w.verdicts(3, func(evidence.Watched) evidence.Verdict {
				return evidence.Verdict{Rewrite: &evidence.Rewrite{Lines: 100, Gone: 10}}
			})
		}},
		{review.Disputed, "it was the proxy", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the gateway strips headers"})
			_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Note: "it was the proxy"})
			w.must(err)
			return m
		}, func(w *world, m memory.Memory) {
			_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
			w.must(err)
		}},
		{review.Conflict, "similar to m-", func(w *world) memory.Memory {
			w.remember(memory.RememberRequest{Content: "the payment client retries three times and then gives up for good"})
			return w.remember(memory.RememberRequest{Content: "the payment client retries four times and then gives up for good"})
		}, func(w *world, m memory.Memory) {
			_, err := w.memories.Forget(context.Background(), w.c, memory.ForgetRequest{Memory: m.Handle})
			w.must(err)
		}},
		{review.Ignored, "served 6 times; 5 sessions", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the gateway strips headers"})
			for _, s := range append(strings.Fields("s1 s2 s3 s4 s5"), "s5") {
				w.served(s, memory.DoorRecall, m)
			}
			w.sql(`UPDATE memories SET ignored_by = 5 WHERE memory_id = $1`, m.ID)
			return m
		}, func(w *world, m memory.Memory) {
			w.must(w.store.Write(context.Background(), w.c.Org, []memory.SpaceKey{{Scope: memory.Project, Owner: w.c.Project.String()}}, func(tx memory.Tx) error {
				return tx.Cite(context.Background(), m.ID, "s6", false, w.now)
			}))
		}},
		{review.Stale, "last confirmed on 2030-03-01, and still served", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the gateway strips headers"})
			w.later(150 * day) // 45 days × log₂ 10 = 149.5
			w.served("s1", memory.DoorRecall, m)
			return m
		}, func(w *world, _ memory.Memory) { w.later(91 * day) }},
		{review.Orphaned, "shop.web left the model", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the page caches prices", Elements: []string{"shop.web"}})
			w.model(w.c, "shop.api", "shop.api.auth")
			return m
		}, func(w *world, _ memory.Memory) { w.model(w.c, "shop.web", "shop.api") }},
		{review.Expired, "expired on 2030-03-04", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "the feature is frozen", Expires: "3d"})
			w.later(4 * day)
			return m
		}, func(w *world, m memory.Memory) {
			never := ""
			_, err := w.memories.Edit(context.Background(), w.c, memory.EditRequest{Memory: m.Handle, Expires: &never})
			w.must(err)
		}},
		{review.DanglingLink, "[[Till rules]] leads nowhere", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "see [[Till rules]] and [[shop.api]]"})
			w.later(8 * day)
			return m
		}, func(w *world, _ memory.Memory) {
			w.remember(memory.RememberRequest{Title: "Till rules", Content: "count the till twice"})
		}},
		{review.Unreviewed, "came by hook", func(w *world) memory.Memory {
			c := w.c
			c.Door = memory.FromHook
			return w.rememberAs(c, memory.RememberRequest{Content: "the gateway strips headers"})
		}, func(w *world, m memory.Memory) {
			_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
			w.must(err)
		}},
	} {
		t.Run(string(test.reason), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := test.begin(w)
			if got := w.reasons(m); !slices.Equal(got, []review.Reason{test.reason}) {
				t.Fatalf("the queue has it as %v, want %s alone", got, test.reason)
			}
			i := w.item(m, test.reason)
			if !strings.Contains(i.Evidence, test.words) || i.Since.IsZero() || i.Memory.Content != m.Content {
				t.Errorf("item %+v lacks %q, a time or its memory", i, test.words)
			}
			q := w.queue(w.c)
			if len(q.Groups) != 1 || q.Groups[0].Line == "" || q.Groups[0].Count != 1 || q.Counts[test.reason] != 1 || i.Group != q.Groups[0].ID {
				t.Errorf("groups %+v, counts %v", q.Groups, q.Counts)
			}
			test.end(w, m)
			if got := w.reasons(m); len(got) != 0 {
				t.Errorf("afterwards the queue still has it as %v", got)
			}
		})
	}
}

// The bounds of the reasons that time and counts bring.
func TestReasonsBegin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		begin func(w *world) memory.Memory
	}{
		{"not stale before freshness 0.1", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a"})
			w.later(149 * day)
			w.served("s1", memory.DoorRecall, m)
			return m
		}},
		{"not stale when nobody is served it", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a"})
			w.served("s1", memory.DoorRecall, m)
			w.later(200 * day)
			return m
		}},
		{"not ignored by four", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a"})
			w.sql(`UPDATE memories SET ignored_by = 4 WHERE memory_id = $1`, m.ID)
			return m
		}},
		{"no dangling link in the first week", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "see [[Nobody]]"})
			w.later(6 * day)
			return m
		}},
		{"not orphaned while one element is left", func(w *world) memory.Memory {
			m := w.remember(memory.RememberRequest{Content: "a", Elements: []string{"shop.web", "shop.api"}})
			w.model(w.c, "shop.api", "shop.api.auth")
			return m
		}},
		{"no conflict that the writer resolved", func(w *world) memory.Memory {
			w.remember(memory.RememberRequest{Content: "the payment client retries three times and then gives up for good"})
			return w.remember(memory.RememberRequest{Content: "the payment client retries four times and then gives up for good", Separate: true})
		}},
		{"no conflict with what is superseded by it", func(w *world) memory.Memory {
			old := w.remember(memory.RememberRequest{Content: "the payment client retries three times and then gives up for good"})
			return w.remember(memory.RememberRequest{Content: "the payment client retries four times and then gives up for good", Supersedes: old.Handle})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if got := w.reasons(test.begin(w)); len(got) != 0 {
				t.Errorf("the queue has it as %v", got)
			}
		})
	}
}

// What happened in a session does not become wrong: its outcome enters for nothing that says so.
func TestOutcomesStayOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.c
	c.Door = memory.FromSession
	m := w.rememberAs(c, memory.RememberRequest{Kind: memory.SessionOutcome, Content: "moved the till", Elements: []string{"shop.api"}})
	other := w.rememberAs(c, memory.RememberRequest{Kind: memory.SessionOutcome, Content: "moved the till again", Elements: []string{"shop.api"}})
	w.sql(`UPDATE memories SET ignored_by = 9, verify = true WHERE memory_id = $1`, m.ID)
	for _, cause := range []string{"drifted", "evidence_gone", "rewritten"} {
		w.sql(`INSERT INTO doubts (org_id, doubt_id, memory_id, cause, since, reason) VALUES ($1, $2, $3, $4, $5, '')`, w.c.Org, uuid.New(), m.ID, cause, w.now)
	}
	w.later(200 * day)
	w.served("s1", memory.DoorRecall, m, other)
	if got := append(w.reasons(m), w.reasons(other)...); len(got) != 0 {
		t.Errorf("an outcome is in the queue as %v", got)
	}
	_, err := w.memories.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: m.Handle, Note: "somebody else did"})
	w.must(err)
	if got := w.reasons(m); !slices.Equal(got, []review.Reason{review.Disputed}) {
		t.Errorf("a disputed outcome is in the queue as %v", got)
	}
}

// An import is one group, whatever else is the matter with what it brought; so is a day of a hook.
func TestUnreviewedIsOneGroupOfABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.c
	c.Door = memory.FromImport
	batch := uuid.New()
	for _, text := range []string{"the client retries three times and gives up for good", "the client retries four times and gives up for good", "see [[Nobody]]"} {
		w.rememberAs(c, memory.RememberRequest{Content: text, Imported: &memory.Imported{Key: text, CreatedAt: w.now.Add(-300 * day), User: "kim", Batch: batch}})
	}
	c.Door = memory.FromHook
	for _, text := range []string{"a hook said one", "a hook said two"} {
		w.rememberAs(c, memory.RememberRequest{Content: text})
	}
	q := w.queue(w.c)
	var lines []string
	for _, g := range q.Groups {
		lines = append(lines, g.Line)
	}
	slices.Sort(lines)
	want := []string{"2 memories written by hook on 2030-03-01, which nobody confirmed", "3 memories imported together, which nobody confirmed"}
	if !slices.Equal(lines, want) {
		t.Errorf("groups %q, want %q", lines, want)
	}
}
