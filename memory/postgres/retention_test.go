package postgres_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
	"github.com/stele-dev/stele/session"
)

// keptRow is a row of the table in docs/operations.md that says how long what is kept.
var keptRow = regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\| [^|]* \\| ([^|]*) \\|$")

// keptFor gives how long each table is kept, as docs/operations.md says it.
func keptFor(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## What is kept, and how long\n")
	section, _, _ = strings.Cut(section, "\n## ")
	out := map[string]string{}
	for _, m := range keptRow.FindAllStringSubmatch(section, -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			out[strings.Trim(name, "`")] = m[2]
		}
	}
	return out
}

// contents gives a digest of every row that an organization has, by table.
func contents(t *testing.T, admin *pgx.Conn, tables []string, org uuid.UUID) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range tables {
		var digest string
		if err := admin.QueryRow(t.Context(), `SELECT count(*) || ' rows ' || coalesce(md5(string_agg(r::text, '|' ORDER BY r::text)), '') FROM `+
			pgx.Identifier{table}.Sanitize()+` r WHERE org_id = $1`, org).Scan(&digest); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		out[table] = digest
	}
	return out
}

// asked is what people are told of what they know, and of how it was, as JSON.
func asked(t *testing.T, s domain, c memory.Caller, at time.Time) map[string]string {
	t.Helper()
	ctx := context.Background()
	c.Session = ""
	out := map[string]string{}
	keep := func(name string, answer any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.Marshal(answer)
		if err != nil || len(text) < 20 {
			t.Fatalf("%s: %s, %v", name, text, err)
		}
		out[name] = string(text)
	}
	query := "till clerk waits bell evening " + secretWords[6]
	now, err := s.Recall(ctx, c, memory.RecallRequest{Query: query, Limit: 10})
	var found []string // the score falls with the hours
	for _, r := range now.Results {
		found = append(found, r.Handle+" "+r.Content)
	}
	keep("recall", found, err)
	past, err := s.Recall(ctx, c, memory.RecallRequest{Query: query, Limit: 10, AsOf: &at})
	keep("recall as of a moment", past.Results, err)
	list, err := s.List(ctx, c, memory.ListRequest{Status: "all", Limit: 100})
	keep("list", list, err)
	events, err := s.Events(ctx, c, "", 200)
	keep("events", events, err)
	log, err := s.AuditLog(ctx, c, memory.AuditRequest{})
	keep("trail", log, err)
	why, err := s.Why(ctx, c, "shop/a.go", 0)
	keep("why", why, err)
	score, err := s.DriftScore(ctx, c)
	keep("score", score, err)
	for _, m := range list.Memories {
		history, err := s.History(ctx, c, m.Handle)
		keep("history of "+m.Handle, history, err)
		timeline, err := s.Timeline(ctx, c, m.Handle, 20)
		keep("timeline of "+m.Handle, timeline, err)
	}
	return out
}

// What is past its time goes, and nothing else of anybody changes by a byte: not what is known, nor how it stood at any moment, nor
// what a decision is undone by.
func TestRetentionLeavesAllElse(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := pgtest.NewDatabase(t)
	s := serviceOn(t, d)
	admin := d.ConnectAdmin(t)
	a, b := fill(t, s, "a"), fill(t, s, "b")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sessions, reviews := session.New(s.Service, s.store), review.New(s.Service, s.store)
	for _, c := range []memory.Caller{a, b} {
		_, err := s.DecideModel(ctx, c, false)
		must(err)
		c.Session = "client-2"
		_, err = sessions.StartSession(ctx, c, session.StartRequest{Task: "count the till", Elements: []string{"shop"}})
		must(err)
		_, err = sessions.HeartbeatSession(ctx, c, session.HeartbeatRequest{Edited: []string{"shop/a.go"}})
		must(err)
		_, err = sessions.FinishSession(ctx, c, session.FinishRequest{Summary: "counted the till", UsedMemories: []string{}, FollowUps: []string{"count the coins"}})
		must(err)
	}
	tag, err := admin.Exec(ctx, `UPDATE follow_ups SET closed_at = opened_at WHERE session_id IN (
		SELECT DISTINCT ON (org_id) session_id FROM work_sessions WHERE state = 'finished' ORDER BY org_id, session_id DESC)`)
	if err != nil || tag.RowsAffected() != 2 {
		t.Fatalf("closed %d things to do: %v", tag.RowsAffected(), err)
	}

	tables := tenantTables(t, d.ConnectApp(t))
	before := map[uuid.UUID]map[string]string{a.Org: contents(t, admin, tables, a.Org), b.Org: contents(t, admin, tables, b.Org)}
	at := time.Now().Add(-time.Millisecond)
	told := asked(t, s, a, at)

	later := time.Now().Add(365 * 24 * time.Hour)
	gone, err := s.store.DropSessions(ctx, a.Org, later, 0)
	must(err)
	runs, err := s.store.DropRuns(ctx, a.Org, later, 1)
	must(err)
	if gone.Sessions != 1 || gone.FollowUps != 1 || runs.Runs != 1 || runs.Models != 1 || runs.Imports != 1 {
		t.Errorf("removed %+v, %+v", gone, runs)
	}

	kept := keptFor(t)
	for _, table := range tables {
		was, is := before[a.Org][table], contents(t, admin, []string{table}, a.Org)[table]
		removed := strings.Contains(kept[table], "STELE_KEEP_")
		if removed == (was == is) {
			t.Errorf("docs/operations.md says that %s is kept for %q; there were %s, there are %s", table, kept[table], was, is)
		}
	}
	if diff := cmp.Diff(before[b.Org], contents(t, admin, tables, b.Org)); diff != "" {
		t.Errorf("another organization lost something:\n%s", diff)
	}
	if diff := cmp.Diff(told, asked(t, s, a, at)); diff != "" {
		t.Errorf("the answers differ:\n%s", diff)
	}
	if broken := brokenOf(t, s, a.Org); len(broken) > 0 {
		t.Errorf("not whole any more: %v", broken)
	}
	health, err := s.Health(ctx, a)
	must(err)
	if health.Sessions != 2 || health.Runs != 2 || health.Trail < 20 {
		t.Errorf("health counts %d sessions, %d runs, %d lines of the trail", health.Sessions, health.Runs, health.Trail)
	}
	history, err := reviews.ReviewHistory(ctx, a, review.HistoryRequest{})
	must(err)
	if len(history.Decisions) == 0 {
		t.Fatal("no decision is left")
	}
	_, err = reviews.UndoReview(ctx, a, history.Decisions[0].ID)
	must(err)
}
