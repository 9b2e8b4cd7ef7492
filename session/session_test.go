package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

func TestGate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		theirs, mine session.StartRequest
		verdict      session.Verdict
		says         string
	}{
		"elsewhere":            {session.StartRequest{Elements: []string{"shop.web"}}, session.StartRequest{Elements: []string{"shop.api"}}, session.Allow, ""},
		"nowhere":              {session.StartRequest{Elements: []string{"shop.web"}}, session.StartRequest{}, session.Allow, ""},
		"the same":             {session.StartRequest{Elements: []string{"Storefront"}}, session.StartRequest{Elements: []string{"shop.web"}}, session.Warn, "shop.web"},
		"a part of it":         {session.StartRequest{Elements: []string{"shop.api"}}, session.StartRequest{Elements: []string{"shop.api.auth"}}, session.Warn, "shop.api"},
		"the whole of it":      {session.StartRequest{Elements: []string{"shop.api.auth"}}, session.StartRequest{Elements: []string{"shop"}}, session.Warn, "shop.api.auth"},
		"by its files":         {session.StartRequest{Paths: []string{"web/a.go"}}, session.StartRequest{Paths: []string{"web/b.go"}}, session.Warn, "shop.web"},
		"alone, beside":        {session.StartRequest{Elements: []string{"shop.web"}}, session.StartRequest{Elements: []string{"shop.api"}, Exclusive: true}, session.Allow, ""},
		"alone, taken":         {session.StartRequest{Elements: []string{"shop.web"}}, session.StartRequest{Elements: []string{"shop.web"}, Exclusive: true}, session.Deny, "cannot be had alone"},
		"taken alone":          {session.StartRequest{Elements: []string{"shop.web"}, Exclusive: true}, session.StartRequest{Elements: []string{"shop.web"}}, session.Deny, "alone since"},
		"taken alone, by part": {session.StartRequest{Elements: []string{"shop.api.auth"}, Exclusive: true}, session.StartRequest{Elements: []string{"shop.api"}}, session.Deny, "alone since"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			test.theirs.Task = "rotate keys"
			theirs := w.start(w.as("ben", ""), test.theirs)
			w.pass(time.Minute)
			mine := w.start(w.as("ana", ""), test.mine)
			if mine.Gate.Verdict != test.verdict || !strings.Contains(strings.Join(mine.Gate.Reasons, "\n"), test.says) {
				t.Errorf("the gate says %+v", mine.Gate)
			}
			if (mine.SessionID == "") != (test.verdict == session.Deny) {
				t.Errorf("denied and begun do not agree: %+v", mine)
			}
			if test.verdict != session.Allow && (len(mine.Conflicts) != 1 || mine.Conflicts[0].SessionID != theirs.SessionID || mine.Conflicts[0].Author != "codex/ben" ||
				mine.Conflicts[0].Task != "rotate keys") {
				t.Errorf("conflicts %+v", mine.Conflicts)
			}
			list, err := w.Sessions(context.Background(), w.c, session.ListRequest{})
			w.must(err)
			want := 2
			if test.verdict == session.Deny {
				want = 1 // what was denied left nothing
			}
			if len(list.Sessions) != want {
				t.Errorf("%d sessions are at work, want %d", len(list.Sessions), want)
			}
		})
	}
}

// A session never meets itself, whatever ids it is known by.
func TestOneAgentIsOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	hook := w.as("ana", "client-1")
	hook.Agent, hook.Door = "claude-code", memory.FromHook
	opened := w.start(hook, session.StartRequest{Worktree: "w1", Source: session.SourceStartup})
	mcp := w.as("ana", "mcp-77")
	mcp.Agent = "claude-code"
	started := w.start(mcp, session.StartRequest{Worktree: "w1", Task: "split the cart", Elements: []string{"shop.web"}, Exclusive: true})
	if !started.Adopted || started.SessionID != opened.SessionID || started.Gate.Verdict != session.Allow || len(started.Conflicts) != 0 {
		t.Fatalf("the hook's session is not adopted: %+v", started)
	}
	beat, err := w.HeartbeatSession(ctx, hook, session.HeartbeatRequest{Edited: []string{"web/cart.go"}})
	w.must(err)
	if beat.SessionID != opened.SessionID || len(beat.Conflicts) != 0 || len(beat.Leases) != 1 || !beat.Leases[0].Exclusive || beat.Leases[0].Soft {
		t.Errorf("the hook's heartbeat: %+v", beat)
	}
	again := w.start(mcp, session.StartRequest{Task: "split the cart and the page", Elements: []string{"shop.mail"}})
	if again.SessionID != opened.SessionID || len(again.Leases) != 2 {
		t.Errorf("a second start of the same client: %+v", again)
	}
	w.remember("the cart forgets coupons", "shop.web")
	w.recall(hook, "coupons")
	w.recall(mcp, "coupons")
	ended := w.finish(mcp, session.FinishRequest{Summary: "split it"})
	w.finish(hook, session.FinishRequest{Session: opened.SessionID, Summary: "split it"})
	if n := len(w.outcomes()); n != 1 || ended.Memory == nil || len(ended.Memory.Elements) != 2 {
		t.Errorf("%d outcomes, on %+v", n, ended.Memory)
	}
	receipt, err := w.SessionReceipt(ctx, w.c, opened.SessionID)
	w.must(err)
	if len(receipt.Served) != 1 || receipt.Served[0].Times != 2 {
		t.Errorf("served %+v", receipt.Served)
	}
	next := w.start(mcp, session.StartRequest{Task: "another thing"})
	if next.SessionID == opened.SessionID || next.Adopted {
		t.Errorf("what was finished goes on: %+v", next)
	}
	other := w.as("ben", "client-1")
	other.Agent = "claude-code"
	if theirs := w.start(other, session.StartRequest{Worktree: "w1"}); theirs.Adopted {
		t.Error("somebody else's session is adopted")
	}
}

// What a client was shown before it started a session belongs to that session.
func TestShownBeforeTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember("the gateway strips headers", "shop.api")
	c := w.as("ana", "conn-1")
	w.recall(c, "headers")
	started := w.start(c, session.StartRequest{Task: "look at headers"})
	w.recall(c, "headers")
	ended := w.finish(c, session.FinishRequest{Summary: "looked", UsedMemories: []string{}})
	receipt, err := w.SessionReceipt(context.Background(), w.c, started.SessionID)
	w.must(err)
	i := slices.IndexFunc(receipt.Served, func(s session.Served) bool { return s.Door == memory.DoorRecall })
	if i < 0 || receipt.Served[i].Times != 2 {
		t.Errorf("served %+v", receipt.Served)
	}
	if got := w.record(m.Handle); got.IgnoredBy != 1 || len(ended.Cited) != 0 {
		t.Errorf("ignored by %d", got.IgnoredBy)
	}
}

func TestSessionsExpireAndGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	c := w.as("ana", "conn-1")
	started := w.start(c, session.StartRequest{Task: "rotate the keys", Elements: []string{"shop.api"}, Exclusive: true})
	_, err := w.HeartbeatSession(ctx, c, session.HeartbeatRequest{Summary: "found where they are kept", FollowUps: []string{"rotate signing keys"}})
	w.must(err)
	w.pass(29 * time.Minute)
	w.must(w.Sweep(ctx, w.c.Org))
	w.recall(c, "keys") // shows life
	w.pass(29 * time.Minute)
	w.must(w.Sweep(ctx, w.c.Org))
	if len(w.outcomes()) != 0 {
		t.Fatal("a session that shows life has expired")
	}
	w.pass(time.Minute)
	free := w.start(w.as("ben", ""), session.StartRequest{Elements: []string{"shop.api"}})
	if free.Gate.Verdict != session.Allow {
		t.Errorf("an expired lease is in the way: %+v", free.Gate)
	}
	out := w.outcomes()
	if len(out) != 1 || !strings.Contains(out[0].Content, "found where they are kept") || !strings.Contains(out[0].Content, "not finished") || len(out[0].Elements) != 1 {
		t.Fatalf("outcomes %+v", out)
	}
	if !strings.Contains(free.Briefing, "rotate the keys") || !strings.Contains(free.Briefing, "not finished") || !strings.Contains(free.Briefing, "open: rotate signing keys ("+out[0].Handle) {
		t.Errorf("briefing:\n%s", free.Briefing)
	}

	t.Log("it goes on with its next sign of life, not alone any more")
	w.recall(c, "keys")
	receipt, err := w.SessionReceipt(ctx, w.c, started.SessionID)
	w.must(err)
	if receipt.State != session.Active || len(receipt.Leases) != 1 || receipt.Leases[0].Exclusive {
		t.Errorf("after its next call: %+v", receipt.Summary)
	}
	ended := w.finish(c, session.FinishRequest{Summary: "rotated them", Closes: []string{"Rotate signing keys"}})
	if len(ended.Closed) != 1 {
		t.Errorf("closed %+v", ended)
	}
	out = w.outcomes()
	if len(out) != 1 || !strings.Contains(out[0].Content, "rotated them") || strings.Contains(out[0].Content, "not finished") {
		t.Errorf("outcomes after finishing %+v", out)
	}
	if old := w.record(out[0].Handle); old.Status != memory.Live {
		t.Errorf("the outcome is %s", old.Status)
	}

	t.Log("one that comes back and says nothing new keeps its outcome")
	w.start(c, session.StartRequest{Task: "tidy"})
	_, err = w.HeartbeatSession(ctx, c, session.HeartbeatRequest{Summary: "tidied a bit"})
	w.must(err)
	w.pass(31 * time.Minute)
	w.must(w.Sweep(ctx, w.c.Org))
	w.recall(c, "keys")
	w.pass(31 * time.Minute)
	w.must(w.Sweep(ctx, w.c.Org))
	out = w.outcomes()
	if len(out) != 2 || !strings.Contains(out[0].Content+out[1].Content, "tidied a bit") {
		t.Errorf("outcomes %+v", out)
	}
	w.recall(c, "keys")
	_, err = w.CancelSession(ctx, c, "")
	w.must(err)
	if out := w.outcomes(); len(out) != 1 {
		t.Errorf("a cancelled session leaves %d outcomes", len(out))
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	headers := w.remember("the gateway strips headers over 8 kB", "shop.api")
	titled, err := w.memory.Remember(ctx, w.c, memory.RememberRequest{Title: "Keys rotate every night", Content: "the job runs at 3", Elements: []string{"shop.api"}})
	w.must(err)
	unshown := w.remember("coupons are checked twice", "shop.mail")
	c := w.as("ana", "conn-1")
	w.start(c, session.StartRequest{Task: "read headers", Elements: []string{"shop.api", "shop.web"}})
	w.recall(c, "gateway headers")
	w.recall(c, "keys rotate night job")
	r := session.FinishRequest{
		Summary: "read them; see “keys rotate every NIGHT”", Decisions: []string{"limit to 4 kB"}, FollowUps: []string{"tell the mail team", "tell the mail team"},
		UsedMemories: []string{headers.Handle, unshown.Handle, "m-aaaaaaa", "no such title"},
	}
	ended := w.finish(c, r)
	if !slices.Equal(ended.Cited, []string{headers.Handle, unshown.Handle, titled.Memory.Handle}) || !slices.Equal(ended.Unmatched, []string{"m-aaaaaaa", "no such title"}) {
		t.Errorf("cited %v, unmatched %v", ended.Cited, ended.Unmatched)
	}
	receipt, err := w.SessionReceipt(ctx, c, ended.SessionID)
	w.must(err)
	if !slices.Contains(receipt.Cited, unshown.Handle) || len(receipt.Cited) != 3 {
		t.Errorf("the receipt says it cited %v", receipt.Cited)
	}
	if len(ended.FollowUps) != 1 || ended.Memory == nil {
		t.Fatalf("ended %+v", ended)
	}
	for _, words := range []string{"read them", "Task: read headers", "Decisions:\n- limit to 4 kB", "Follow-ups:\n- tell the mail team"} {
		if !strings.Contains(ended.Memory.Content, words) {
			t.Errorf("the outcome lacks %q:\n%s", words, ended.Memory.Content)
		}
	}
	if len(ended.Memory.Elements) != 2 || ended.Memory.Kind != memory.SessionOutcome || ended.Memory.Author != "codex/ana" || ended.Memory.Origin != memory.FromSession {
		t.Errorf("the outcome is %+v", ended.Memory)
	}
	if a, b := w.record(headers.Handle), w.record(titled.Memory.Handle); a.Citations != 1 || b.Citations != 1 || a.IgnoredBy+b.IgnoredBy != 0 {
		t.Errorf("counted %d and %d, ignored %d and %d", a.Citations, b.Citations, a.IgnoredBy, b.IgnoredBy)
	}

	r.Session, r.Summary = ended.SessionID, "something else"
	again := w.finish(c, r)
	if !again.Repeated || again.Memory == nil || again.Memory.Handle != ended.Memory.Handle || again.Memory.Content != ended.Memory.Content ||
		!slices.Equal(again.Unmatched, ended.Unmatched) || len(again.FollowUps) != 1 || len(w.outcomes()) != 1 {
		t.Errorf("finished twice: %+v", again)
	}
	slices.Sort(again.Cited)
	slices.Sort(ended.Cited)
	if !slices.Equal(again.Cited, ended.Cited) {
		t.Errorf("cited %v, then %v", ended.Cited, again.Cited)
	}
	_, err = w.CancelSession(ctx, c, ended.SessionID)
	wants(t, err, problem.Conflict, "finished")
	_, err = w.HeartbeatSession(ctx, c, session.HeartbeatRequest{Session: ended.SessionID})
	wants(t, err, problem.Conflict, "over")

	t.Log("nothing said, nothing kept")
	w.start(c, session.StartRequest{Task: "look around", Elements: []string{"shop.mail"}})
	if quiet := w.finish(c, session.FinishRequest{}); quiet.Memory != nil || len(w.outcomes()) != 1 {
		t.Errorf("a session that said nothing leaves %+v", quiet.Memory)
	}
	w.start(c, session.StartRequest{Task: "change a file", Elements: []string{"shop.mail"}})
	_, err = w.HeartbeatSession(ctx, c, session.HeartbeatRequest{Edited: []string{"web/a.go"}})
	w.must(err)
	if edited := w.finish(c, session.FinishRequest{}); edited.Memory == nil || !strings.Contains(edited.Memory.Content, "web/a.go") || len(edited.Memory.Elements) != 2 {
		t.Errorf("a session that edited leaves %+v", edited.Memory)
	}
}

// Being ignored is told by sessions that report, and by whole results only.
func TestSilentSessionsAreNoVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember("the gateway strips headers over 8 kB", "shop.api")
	session1 := func(user string, report, briefed bool) {
		c := w.as(user, "conn-"+user)
		r := session.StartRequest{Task: "something else"}
		if briefed {
			r.Elements = []string{"shop.api"}
		}
		started := w.start(c, r)
		if briefed != strings.Contains(started.Briefing, m.Handle) {
			t.Fatalf("briefing:\n%s", started.Briefing)
		}
		if !briefed {
			w.recall(c, "headers")
		}
		f := session.FinishRequest{Summary: "done with it"}
		if report {
			f.UsedMemories = []string{}
		}
		w.finish(c, f)
	}
	for i := range 20 {
		session1("silent"+string(rune('a'+i)), false, false)
	}
	for i := range 10 {
		session1("briefed"+string(rune('a'+i)), true, true)
	}
	if got := w.record(m.Handle); got.IgnoredBy != 0 {
		t.Fatalf("ignored by %d sessions that never said so", got.IgnoredBy)
	}
	score := func() memory.Factors {
		out, err := w.memory.Recall(context.Background(), w.as("zoe", ""), memory.RecallRequest{Query: "headers", Kinds: []memory.Kind{memory.Pitfall}, Explain: true})
		w.must(err)
		if len(out.Results) != 1 {
			t.Fatalf("%d results", len(out.Results))
		}
		return *out.Results[0].Factors
	}
	for i := range 4 {
		session1("honest"+string(rune('a'+i)), true, false)
	}
	if f := score(); f.Ignored != 1 {
		t.Errorf("after four: %v", f.Ignored)
	}
	session1("honest5", true, false)
	if f := score(); f.Ignored != 0.75 {
		t.Errorf("after five: %v", f.Ignored)
	}
	c := w.as("late", "conn-late")
	w.start(c, session.StartRequest{})
	w.finish(c, session.FinishRequest{UsedMemories: []string{m.Handle}})
	if f := score(); f.Ignored != 1 {
		t.Errorf("one that used it: %v", f.Ignored)
	}
}

// What an assistant wrote names memories; a session that reported has its verdict mended.
func TestObserve(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	m := w.remember("the gateway strips headers over 8 kB", "shop.api")
	c := w.as("ana", "conn-1")
	started := w.start(c, session.StartRequest{})
	unseen := w.remember("coupons expire", "shop.web") // not in the briefing either
	w.recall(c, "gateway headers")
	w.finish(c, session.FinishRequest{UsedMemories: []string{}})
	if got := w.record(m.Handle); got.IgnoredBy != 1 || got.Citations != 0 {
		t.Fatalf("before: %d, %d", got.IgnoredBy, got.Citations)
	}
	cited, err := w.ObserveSession(ctx, c, started.SessionID, "as "+strings.ToUpper(m.Handle)+" and "+unseen.Handle+" say")
	w.must(err)
	if !slices.Equal(cited, []string{m.Handle}) {
		t.Errorf("observed %v", cited)
	}
	if got := w.record(m.Handle); got.IgnoredBy != 0 || got.Citations != 1 {
		t.Errorf("after: ignored by %d, cited %d", got.IgnoredBy, got.Citations)
	}
	receipt, err := w.SessionReceipt(ctx, c, started.SessionID)
	w.must(err)
	i := slices.IndexFunc(receipt.Served, func(s session.Served) bool { return s.Handle == m.Handle && s.Door == memory.DoorRecall })
	if i < 0 || !receipt.Served[i].Cited || !receipt.Served[i].Observed || receipt.Tokens == 0 {
		t.Errorf("receipt %+v", receipt.Served)
	}
}

// Hooks only observe: their leases stop nobody, unless both edit one file at the same time.
func TestSoftLeases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	hook := w.as("ben", "client-2")
	hook.Door = memory.FromHook
	w.start(hook, session.StartRequest{})
	_, err := w.HeartbeatSession(ctx, hook, session.HeartbeatRequest{Edited: []string{"web/cart.go"}})
	w.must(err)
	c := w.as("ana", "conn-1")
	mine := w.start(c, session.StartRequest{Elements: []string{"shop.web"}, Exclusive: true})
	if mine.Gate.Verdict != session.Allow || len(mine.Conflicts) != 1 || !mine.Conflicts[0].Soft {
		t.Errorf("a soft lease: %+v, %+v", mine.Gate, mine.Conflicts)
	}
	beat, err := w.HeartbeatSession(ctx, c, session.HeartbeatRequest{Edited: []string{"web/other.go"}})
	w.must(err)
	if len(beat.Warnings) != 0 {
		t.Errorf("another file: %v", beat.Warnings)
	}
	w.pass(29 * time.Minute)
	_, err = w.HeartbeatSession(ctx, hook, session.HeartbeatRequest{})
	w.must(err)
	beat, err = w.HeartbeatSession(ctx, c, session.HeartbeatRequest{Edited: []string{"web/cart.go"}})
	w.must(err)
	if len(beat.Warnings) != 1 || !strings.Contains(beat.Warnings[0], "web/cart.go") {
		t.Errorf("the same file: %v", beat.Warnings)
	}
}

func TestSessionsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	c := w.as("ana", "conn-1")
	started := w.start(c, session.StartRequest{Task: "mine"})
	many := make([]string, 5000)
	for i := range many {
		many[i] = "shop"
	}
	_, err := w.StartSession(ctx, c, session.StartRequest{Elements: many})
	wants(t, err, problem.Invalid, "5000")
	_, err = w.StartSession(ctx, c, session.StartRequest{Elements: []string{"shop.nowhere"}})
	wants(t, err, problem.NotFound, "shop.nowhere")
	_, err = w.FinishSession(ctx, c, session.FinishRequest{Summary: strings.Repeat("long ", 200_000)})
	wants(t, err, problem.Invalid, "summary")
	_, err = w.FinishSession(ctx, c, session.FinishRequest{Session: "ws-aaaaaaa", Summary: "x"})
	wants(t, err, problem.NotFound, "ws-aaaaaaa")
	_, err = w.FinishSession(ctx, w.as("ben", ""), session.FinishRequest{Session: started.SessionID, Summary: "x"})
	wants(t, err, problem.NotFound)
	_, err = w.CancelSession(ctx, w.as("ben", ""), started.SessionID)
	wants(t, err, problem.NotFound)
	depot, err := w.memory.CreateProject(ctx, memory.Caller{Org: c.Org, User: "operator", Role: memory.RoleAdmin}, "depot", nil)
	w.must(err)
	elsewhere := c
	elsewhere.Project = depot.ID
	_, err = w.FinishSession(ctx, elsewhere, session.FinishRequest{Session: started.SessionID, Summary: "x"})
	wants(t, err, problem.NotFound, "another project")
	ci := c
	ci.Role = memory.RoleCI
	_, err = w.StartSession(ctx, ci, session.StartRequest{})
	wants(t, err, problem.Forbidden)
	_, err = w.Arrive(ctx, w.as("ben", started.SessionID))
	wants(t, err, problem.NotFound)
	reviewer := w.as("rea", "")
	reviewer.Role = memory.RoleReviewer
	out, err := w.CancelSession(ctx, reviewer, started.SessionID)
	w.must(err)
	if out.State != session.Cancelled {
		t.Errorf("%+v", out)
	}
	if _, err := w.StartSession(ctx, w.as("ana", ""), session.StartRequest{Task: "password=hunter2hunter2hunter2 rotates"}); err != nil {
		t.Error(err)
	}
}

func TestAsksToContinue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"continue": true, "Let's continue with the cart": true, "where were we?": true, "what did we do yesterday": true, "continua da ieri": true, "继续昨天的工作": true,
		"昨日の続きをやろう": true, "어제 하던 거 계속": true, "dove eravamo rimasti": true,
		"add a discontinued flag": false, "fix the header limit": false, "continuous integration is red": false, "": false,
	} {
		if got := session.AsksToContinue(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// What was served long ago is counted, and no longer told one by one.
func TestRetain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	m := w.remember("the gateway strips headers over 8 kB", "shop.api")
	c := w.as("ana", "conn-1")
	zero := 0
	started := w.start(c, session.StartRequest{MaxTokens: &zero})
	w.recall(c, "headers")
	w.recall(c, "headers")
	w.finish(c, session.FinishRequest{UsedMemories: []string{}})
	w.pass(session.Retention)
	w.must(w.Retain(ctx, w.c.Org))
	receipt, err := w.SessionReceipt(ctx, c, started.SessionID)
	w.must(err)
	if len(receipt.Served) != 1 {
		t.Fatalf("folded too early: %+v", receipt.Served)
	}
	w.pass(time.Second)
	w.must(w.Retain(ctx, w.c.Org))
	w.must(w.Retain(ctx, w.c.Org))
	if receipt, err = w.SessionReceipt(ctx, c, started.SessionID); err != nil || len(receipt.Served) != 0 {
		t.Errorf("after the retention: %+v, %v", receipt.Served, err)
	}
	var served, ignored int
	w.must(w.d.ConnectAdmin(t).QueryRow(ctx, `SELECT served, ignored_by FROM memories WHERE handle = $1`, m.Handle).Scan(&served, &ignored))
	if served != 2 || ignored != 1 {
		t.Errorf("counted %d showings, %d ignoring sessions", served, ignored)
	}
}

// An outcome that is erased takes the words of its session along.
func TestErasedOutcomeLeavesNoWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	c := w.as("ana", "conn-1")
	started := w.start(c, session.StartRequest{Task: "something private"})
	ended := w.finish(c, session.FinishRequest{Summary: "did it", FollowUps: []string{"do more of it"}})
	admin := w.as("operator", "")
	admin.Role = memory.RoleAdmin
	_, err := w.memory.Forget(ctx, admin, memory.ForgetRequest{Memory: ended.Memory.Handle, Erase: true})
	w.must(err)
	receipt, err := w.SessionReceipt(ctx, c, started.SessionID)
	w.must(err)
	if receipt.Task != "" || len(receipt.FollowUps) != 0 {
		t.Errorf("it still says %+v", receipt)
	}
	var kept int
	w.must(w.d.ConnectAdmin(t).QueryRow(ctx, `SELECT (SELECT count(*) FROM work_sessions WHERE body IS NOT NULL) + (SELECT count(*) FROM follow_ups WHERE body IS NOT NULL)`).Scan(&kept))
	if kept != 0 {
		t.Errorf("%d texts are kept", kept)
	}
	if next := w.start(w.as("ben", ""), session.StartRequest{}); strings.Contains(next.Briefing, "private") || strings.Contains(next.Briefing, "do more") {
		t.Errorf("briefing:\n%s", next.Briefing)
	}
}

// Who asks what an element affects, or how to go about a task, learns who works there, and is not told of themselves.
func TestWorkOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	knowing := w.memory.WithWorkers(w.Service)
	ben := w.start(w.as("ben", "conn-2"), session.StartRequest{Task: "rotate keys", Elements: []string{"shop.api", "shop.web"}})
	w.pass(time.Minute)
	own := w.as("ana", "conn-1")
	mine := w.start(own, session.StartRequest{Task: "mine", Elements: []string{"shop.api"}})
	own.Session = mine.SessionID
	out, err := knowing.Impact(ctx, own, memory.ImpactRequest{Element: "shop.api"})
	w.must(err)
	if len(out.Work) != 1 || out.Work[0].Session != ben.SessionID || out.Work[0].Task != "rotate keys" || !slices.Contains(out.Work[0].Elements, "shop.api") {
		t.Errorf("at work: %+v", out.Work)
	}
	w.pass(session.Lifetime)
	if out, err = knowing.Impact(ctx, own, memory.ImpactRequest{Element: "shop.api"}); err != nil || len(out.Work) != 0 {
		t.Errorf("after they fell silent: %+v, %v", out.Work, err)
	}
}
