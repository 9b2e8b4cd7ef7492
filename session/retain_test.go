package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// kept is how long the tests keep sessions.
const kept = 180 * 24 * time.Hour

// drop removes what is past its time, and wants so many sessions to be among it.
func (w *world) drop(keep time.Duration, want int64) {
	w.t.Helper()
	got, err := w.DropSessions(context.Background(), w.c.Org, keep)
	w.must(err)
	if got.Sessions != want {
		w.t.Errorf("%d sessions were removed, want %d", got.Sessions, want)
	}
}

// rows counts rows of a table.
func (w *world) rows(table string) (n int) {
	w.t.Helper()
	w.must(w.d.ConnectAdmin(w.t).QueryRow(context.Background(), `SELECT count(*) FROM `+table+` WHERE org_id = $1`, w.c.Org).Scan(&n))
	return n
}

// brief gives the briefing of a session that begins, and leaves nothing of it.
func (w *world) brief(c memory.Caller, r session.StartRequest) string {
	w.t.Helper()
	r.Unseen = true
	started := w.start(c, r)
	c.Session = started.SessionID
	_, err := w.CancelSession(context.Background(), c, "")
	w.must(err)
	return strings.ReplaceAll(started.Briefing, started.SessionID, "ws-…")
}

// A session goes when it is over for longer than it is kept, with all that hangs on it; not a moment before.
func TestDropSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	c := w.as("ana", "conn-1")
	started := w.start(c, session.StartRequest{Task: "look around", Elements: []string{"shop.api"}})
	_, err := w.HeartbeatSession(ctx, c, session.HeartbeatRequest{Edited: []string{"api/pay.go"}})
	w.must(err)
	_, err = w.CancelSession(ctx, c, "")
	w.must(err)
	if n := w.rows("work_sessions"); n != 1 || w.rows("leases") == 0 || w.rows("session_edits") != 1 || w.rows("session_aliases") != 1 || len(w.outcomes()) != 0 {
		t.Fatalf("%d sessions, %d outcomes", n, len(w.outcomes()))
	}
	w.pass(kept)
	w.drop(kept, 0)
	w.pass(time.Second)
	w.drop(0, 0) // for good
	if _, err := w.SessionReceipt(ctx, c, started.SessionID); err != nil {
		t.Fatal(err)
	}
	w.drop(kept, 1)
	w.drop(kept, 0)
	for _, table := range []string{"work_sessions", "leases", "session_edits", "session_aliases"} {
		if n := w.rows(table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
	_, err = w.SessionReceipt(ctx, c, started.SessionID)
	wants(t, err, problem.NotFound, started.SessionID)
	again := w.start(c, session.StartRequest{Task: "look again"})
	if again.Adopted || again.SessionID == started.SessionID {
		t.Errorf("the client's id finds %s", again.SessionID)
	}
}

// What is still worked with stays: a session at work, one that left something open, and what it left.
func TestDropSessionsLeavesWhatIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	open := w.as("ana", "conn-1")
	left := w.start(open, session.StartRequest{Task: "charge cards"})
	w.finish(open, session.FinishRequest{Summary: "charged", FollowUps: []string{"alert when retries fail"}, UsedMemories: []string{}})
	closing := w.as("ana", "conn-2")
	w.start(closing, session.StartRequest{Task: "refunds"})
	w.finish(closing, session.FinishRequest{Summary: "refunded", FollowUps: []string{"tell the customer"}, UsedMemories: []string{}})
	closer := w.as("ana", "conn-3")
	w.start(closer, session.StartRequest{Task: "tell customers"})
	var told []uuid.UUID
	w.must(w.store.ViewSessions(ctx, w.c.Org, func(v session.View) error {
		all, err := v.FollowUps(ctx, w.c.Project, 10)
		for _, f := range all {
			if f.Text == "tell the customer" {
				told = append(told, f.ID)
			}
		}
		return err
	}))
	w.must(w.store.WriteSessions(ctx, w.c.Org, []memory.SpaceKey{{Scope: memory.Project, Owner: w.c.Project.String()}}, func(tx session.Tx) error {
		return tx.CloseFollowUps(ctx, told, uuid.Nil, w.clock())
	}))
	w.pass(2 * kept)
	if _, err := w.Arrive(ctx, closer); err != nil { // a sign of life: it expired meanwhile and goes on
		t.Fatal(err)
	}
	got, err := w.store.DropSessions(ctx, w.c.Org, w.clock().Add(-kept), 0)
	w.must(err)
	if got != (session.Dropped{Sessions: 1, FollowUps: 1}) {
		t.Errorf("removed %+v", got)
	}
	receipt, err := w.SessionReceipt(ctx, open, left.SessionID)
	w.must(err)
	if len(receipt.FollowUps) != 1 || receipt.Task != "charge cards" {
		t.Errorf("what was left open: %+v", receipt)
	}
	if n := w.rows("work_sessions"); n != 2 {
		t.Errorf("%d sessions are left", n)
	}
	if len(w.outcomes()) != 2 {
		t.Errorf("outcomes are memories, there are %d", len(w.outcomes()))
	}
}

// A briefing tells the same of where the work stood, however old that is: of its user, and of the project.
func TestDropSessionsLeavesBriefings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range session.KeptOutcomes + 5 {
		for _, user := range []string{"ana", "ben"} {
			c := w.as(user, fmt.Sprint("conn-", n))
			w.start(c, session.StartRequest{Task: fmt.Sprintf("step %d of %s", n, user), Elements: []string{"shop.api"}, Worktree: fmt.Sprint("w", n)})
			w.finish(c, session.FinishRequest{Summary: fmt.Sprintf("%s did step %d", user, n), UsedMemories: []string{}})
			w.pass(time.Minute)
		}
	}
	w.pass(2 * kept)
	requests := map[string]session.StartRequest{
		"anew": {}, "where it was": {Worktree: fmt.Sprint("w", session.KeptOutcomes+4)}, "after much was forgotten": {Source: session.SourceCompact},
		"at an element": {Elements: []string{"shop.api"}, Task: "step"},
	}
	ask := func() map[string]string {
		out := map[string]string{}
		for name, r := range requests {
			for _, user := range []string{"ana", "ben", "cleo"} {
				out[name+" by "+user] = w.brief(w.as(user, "asks"), r)
			}
		}
		return out
	}
	before := ask()
	if !strings.Contains(before["anew by ana"], fmt.Sprintf("step %d of ana", session.KeptOutcomes+4)) {
		t.Fatalf("the briefing tells nothing of the work before:\n%s", before["anew by ana"])
	}
	w.drop(kept, 2*5)
	for name, is := range ask() {
		if is != before[name] {
			t.Errorf("%s is told\n%s\nand was told before\n%s", name, is, before[name])
		}
	}
}

// Others' sessions are none of an organization's, and a removal that was interrupted goes on with the next.
func TestDropSessionsInPages(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), context.Background()
	admin := w.d.ConnectAdmin(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := admin.Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	other, err := w.memory.EnsureOrganization(ctx, "other")
	w.must(err)
	project, err := w.memory.CreateProject(ctx, memory.Caller{Org: other, User: "operator", Role: memory.RoleAdmin}, "yard", nil)
	w.must(err)
	for org, p := range map[uuid.UUID]uuid.UUID{w.c.Org: w.c.Project, other: project.ID} {
		exec(`INSERT INTO work_sessions (org_id, session_id, project_id, name, state, user_name, door, started_at, beat_at, ended_at)
			SELECT $1, gen_random_uuid(), $2, 'ws-' || n, 'finished', 'u', 'mcp', t.at, t.at + interval '1 second', t.at + interval '2 seconds'
			FROM generate_series(1, 1000) AS n CROSS JOIN LATERAL (SELECT '2029-01-01'::timestamptz + n * interval '1 minute' AS at) t`, org, p)
		exec(`INSERT INTO session_edits (org_id, session_id, path, edited_at) SELECT org_id, session_id, 'a.go', ended_at FROM work_sessions WHERE org_id = $1`, org)
		exec(`INSERT INTO follow_ups (org_id, follow_up_id, project_id, session_id, opened_at) SELECT org_id, session_id, project_id, session_id, ended_at
			FROM work_sessions WHERE org_id = $1 AND right(name, 2) = '00'`, org)
	}
	exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.name = 'ws-501' THEN RAISE 'no'; END IF; RETURN OLD; END $$`)
	exec(`CREATE TRIGGER refuse BEFORE DELETE ON work_sessions FOR EACH ROW EXECUTE FUNCTION refuse()`)
	got, err := w.DropSessions(ctx, w.c.Org, kept)
	if err == nil || got.Sessions != 400-4 { // two pages of 200, each with two that left something open
		t.Fatalf("interrupted after %d sessions: %v", got.Sessions, err)
	}
	exec(`DROP TRIGGER refuse ON work_sessions`)
	w.drop(kept, 1000-10-396)
	if n := w.rows("work_sessions"); n != 10 || w.rows("follow_ups") != 10 || w.rows("session_edits") != 0 {
		t.Errorf("%d sessions are left, %d things to do, %d edits", n, w.rows("follow_ups"), w.rows("session_edits"))
	}
	var theirs int
	w.must(admin.QueryRow(ctx, `SELECT count(*) FROM work_sessions WHERE org_id = $1`, other).Scan(&theirs))
	if theirs != 1000 {
		t.Errorf("another organization has %d sessions left", theirs)
	}
}
