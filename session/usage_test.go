package session_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

func (w *world) usage(c memory.Caller, ref string) memory.Usage {
	w.t.Helper()
	out, err := w.memory.Usage(context.Background(), c, ref)
	w.must(err)
	return out
}

func TestUsageOfAMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember("The gateway strips custom headers.", "shop.api")
	if u := w.usage(w.c, m.Handle); u.Served != 0 || len(u.Doors)+len(u.Servings)+len(u.Citations) != 0 || u.Ignored.Reason != "" || u.Ignored.Factor != 1 || u.Handle != m.Handle {
		t.Fatalf("nobody was served it: %+v", u)
	}

	none := 0
	ana := w.as("ana", "")
	began := w.start(ana, session.StartRequest{Task: "Mend the headers.", Elements: []string{"shop.api"}})
	ana.Session = began.SessionID
	w.recall(ana, "gateway headers")
	w.pass(time.Minute)
	w.recall(ana, "custom headers")
	u := w.usage(w.c, m.Handle)
	if u.Served != 3 || u.Whole != 2 || u.Lines != 1 || u.Sessions != 1 || u.Recent != 3 || u.Cited != 0 {
		t.Fatalf("a briefing and two recalls: %+v", u)
	}
	if d := u.Doors[0]; d.Door != memory.DoorRecall || !d.Whole || d.Times != 2 || d.Sessions != 1 || !d.LastAt.Equal(w.clock()) {
		t.Errorf("the door that served most: %+v", d)
	}
	if s := u.Servings[0]; s.Door != memory.DoorRecall || s.Times != 2 || s.SessionID != began.SessionID || s.Author != "codex/ana" || s.Cited || s.Revision != 1 ||
		s.LastAt.Sub(s.FirstAt) != time.Minute {
		t.Errorf("the newest serving: %+v", s)
	}
	w.finish(ana, session.FinishRequest{Summary: "They pass now.", UsedMemories: []string{m.Handle}})
	u = w.usage(w.c, m.Handle)
	if u.Cited != 1 || len(u.Citations) != 1 || u.Citations[0].SessionID != began.SessionID || u.Citations[0].Author != "codex/ana" || u.Citations[0].Observed || !u.Servings[0].Cited {
		t.Errorf("cited: %+v", u)
	}

	// An id of a client that no session was started under is somebody, and has no name.
	w.recall(w.as("bob", "some client"), "gateway headers")
	u = w.usage(w.c, m.Handle)
	if u.Sessions != 2 || u.Served != 4 || u.Servings[0].Times != 1 && u.Servings[1].Times != 1 {
		t.Errorf("a client without a session: %+v", u)
	}
	for _, s := range u.Servings {
		if (s.SessionID == "") != (s.Author == "") || s.SessionID != "" && s.SessionID != began.SessionID {
			t.Errorf("a serving names %q of %q", s.SessionID, s.Author)
		}
	}

	// Sessions that say what they used, and it was not this.
	idle := w.remember("The stock cache is warm at noon.", "shop.mail")
	for range 5 {
		c := w.as("cleo", "")
		c.Session = w.start(c, session.StartRequest{Task: "Warm the cache.", MaxTokens: &none}).SessionID
		w.recall(c, "stock cache noon")
		w.finish(c, session.FinishRequest{Summary: "Warm.", UsedMemories: []string{}})
	}
	i := w.usage(w.c, idle.Handle).Ignored
	if i.Sessions != 5 || i.From != 5 || i.Factor != 0.75 || !strings.Contains(i.Reason, "5 sessions") || !strings.Contains(i.Reason, "0.75") {
		t.Errorf("ignored: %+v", i)
	}
	c := w.as("dan", "")
	c.Session = w.start(c, session.StartRequest{Task: "Cool the cache.", MaxTokens: &none}).SessionID
	w.finish(c, session.FinishRequest{Summary: "Cool.", UsedMemories: []string{idle.Handle}})
	if i := w.usage(w.c, idle.Handle).Ignored; i.Factor != 1 || !strings.Contains(i.Reason, "as ever") {
		t.Errorf("ignored by some, cited by one: %+v", i)
	}

	// After half a year only how often is known.
	w.pass(31 * 24 * time.Hour)
	if u := w.usage(w.c, m.Handle); u.Recent != 0 || u.Served != 4 {
		t.Errorf("a month later: %+v", u)
	}
	w.pass(session.Retention)
	w.must(w.Retain(context.Background(), w.c.Org))
	u = w.usage(w.c, m.Handle)
	if u.Served != 4 || u.Counted != 4 || u.Whole+u.Lines+u.Sessions+len(u.Servings) != 0 || u.Cited != 1 || len(u.Citations) != 1 {
		t.Errorf("folded: %+v", u)
	}
}

// What another may not see has no usage, and what another project's sessions did has no names.
func TestUsageStaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	out, err := w.memory.Remember(ctx, w.c, memory.RememberRequest{Content: "Ana alone knows this.", Scope: memory.Personal})
	w.must(err)
	reviewer := w.c
	reviewer.Role = memory.RoleReviewer
	shared, err := w.memory.Remember(ctx, reviewer, memory.RememberRequest{Content: "Everybody signs commits.", Scope: memory.Organization})
	w.must(err)
	if w.usage(w.c, out.Memory.Handle).Handle != out.Memory.Handle {
		t.Error("the owner cannot look")
	}
	_, err = w.memory.Usage(ctx, w.as("bob", ""), out.Memory.Handle)
	wants(t, err, problem.NotFound, out.Memory.Handle)
	admin := memory.Caller{Org: w.c.Org, User: "operator", Role: memory.RoleAdmin}
	p, err := w.memory.CreateProject(ctx, admin, "bank", nil)
	w.must(err)
	none := 0
	there := w.as("eve", "")
	there.Project = p.ID
	there.Session = w.start(there, session.StartRequest{Task: "Count money.", MaxTokens: &none}).SessionID
	w.recall(there, "signs commits")
	w.finish(there, session.FinishRequest{Summary: "Counted.", UsedMemories: []string{shared.Memory.Handle}})
	u := w.usage(w.c, shared.Memory.Handle)
	if u.Served != 1 || u.Cited != 1 || u.Servings[0].SessionID+u.Servings[0].Author+u.Citations[0].SessionID+u.Citations[0].Author != "" {
		t.Errorf("a session of another project is named: %+v", u)
	}
	there.Session = ""
	if u := w.usage(there, shared.Memory.Handle); u.Servings[0].Author != "codex/eve" || u.Citations[0].SessionID == "" {
		t.Errorf("the project of the session does not see it: %+v", u)
	}
	known := w.remember("The shop closes at noon.", "shop")
	_, err = w.memory.Usage(ctx, there, known.Handle)
	wants(t, err, problem.NotFound)
	other, err := w.memory.EnsureOrganization(ctx, "org-"+uuid.NewString())
	w.must(err)
	_, err = w.memory.Usage(ctx, memory.Caller{Org: other, User: "ana", Role: memory.RoleAdmin}, shared.Memory.Handle)
	wants(t, err, problem.NotFound)
}

// However it is served and folded, no serving is lost or counted twice.
func TestUsageCountsEveryServing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	doors := []memory.Door{memory.DoorRecall, memory.DoorPrompt, memory.DoorFile, memory.DoorBriefing, memory.DoorIndex, memory.DoorLink}
	rapid.Check(t, func(t *rapid.T) {
		m := w.remember("The gateway strips headers " + uuid.NewString() + ".") //nolint:contextcheck // it makes its own
		whole, lines, sessions := 0, 0, map[string]bool{}
		folded := false
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				w.pass(session.Retention + time.Hour)
				w.must(w.Retain(ctx, w.c.Org))
				folded = folded || whole+lines > 0
			default:
				c := w.as("ana", rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "session"))
				door := rapid.SampledFrom(doors).Draw(t, "door")
				w.must(w.memory.Impress(ctx, c, []memory.Impression{{Memory: m.ID, Revision: 1, Door: door}}))
				if sessions[c.Session] = true; door == memory.DoorIndex || door == memory.DoorBriefing {
					lines++
				} else {
					whole++
				}
			}
		}
		u := w.usage(w.c, m.Handle) //nolint:contextcheck // it makes its own
		if u.Served != whole+lines || u.Whole+u.Lines+u.Counted != u.Served || u.Whole > whole || u.Lines > lines || !folded && u.Counted > 0 {
			t.Fatalf("served %d whole and %d as a line; it says %+v", whole, lines, u)
		}
		if !folded && u.Sessions != len(sessions) {
			t.Fatalf("%d sessions, it says %d", len(sessions), u.Sessions)
		}
		sum := 0
		for _, s := range u.Servings {
			sum += s.Times
		}
		if sum != u.Whole+u.Lines {
			t.Fatalf("the servings add up to %d: %+v", sum, u)
		}
	})
}
