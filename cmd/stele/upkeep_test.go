package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/session"
)

// What cannot be done for one organization is told, and done for the others.
func TestUpkeepGoesOn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := pgtest.NewDatabase(t)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{store: store.New(d.DB, master)}
	admin := d.ConnectAdmin(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := admin.Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	var orgs []uuid.UUID
	for _, name := range []string{"broken", "sound"} {
		org, err := b.store.CreateOrganization(ctx, name, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		orgs = append(orgs, org)
		exec(`INSERT INTO answers (org_id, key_hash, answered_at, erasures) VALUES ($1, 'old', '2020-01-01', 0)`, org)
	}
	exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF OLD.org_id = '` + orgs[0].String() + `' THEN RAISE 'no'; END IF; RETURN OLD; END $$`)
	exec(`CREATE TRIGGER refuse BEFORE DELETE ON answers FOR EACH ROW EXECUTE FUNCTION refuse()`)

	var log bytes.Buffer
	u := &upkeep{backend: b, log: slog.New(slog.NewTextHandler(&log, nil))}
	u.each(ctx, u.dropAnswers)
	var left []uuid.UUID
	if err := admin.QueryRow(ctx, `SELECT array_agg(org_id) FROM answers`).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0] != orgs[0] {
		t.Errorf("answers are left of %v, want those of %s alone", left, orgs[0])
	}
	if !strings.Contains(log.String(), "upkeep failed") || !strings.Contains(log.String(), orgs[0].String()) {
		t.Errorf("the log does not say what failed: %s", &log)
	}
}

// Old impressions are folded and silent sessions end although nobody asks.
func TestUpkeepOfSessions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := pgtest.NewDatabase(t)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(d.DB, master)
	local := memory.New(s, memory.Options{})
	b := &backend{store: s, local: local, domain: api.NewDomain(local, s), embedder: embedding.None{}}
	org, err := local.EnsureOrganization(ctx, "acme")
	if err != nil {
		t.Fatal(err)
	}
	admin := memory.Caller{Org: org, User: "kim", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := local.CreateProject(ctx, admin, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	admin.Project = p.ID
	if _, err := local.Remember(ctx, admin, memory.RememberRequest{Content: "tea is cold"}); err != nil {
		t.Fatal(err)
	}
	admin.Session = "client"
	if _, err := b.domain.StartSession(ctx, admin, session.StartRequest{Task: "warm the tea"}); err != nil {
		t.Fatal(err)
	}
	conn := d.ConnectAdmin(t)
	for _, sql := range []string{`UPDATE impressions SET last_at = '2020-01-01'`, `UPDATE work_sessions SET beat_at = '2020-01-01'`} {
		if tag, err := conn.Exec(ctx, sql); err != nil || tag.RowsAffected() != 1 {
			t.Fatalf("%s: %v, %v", sql, tag, err)
		}
	}
	u := &upkeep{backend: b, log: slog.New(slog.DiscardHandler)}
	for _, job := range u.jobs(nil) {
		u.each(ctx, job.run)
	}
	var impressions, active, served int
	if err := conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM impressions), (SELECT count(*) FROM work_sessions WHERE state = 'active'), (SELECT sum(served) FROM memories)`).
		Scan(&impressions, &active, &served); err != nil {
		t.Fatal(err)
	}
	if impressions != 0 || served != 1 || active != 0 {
		t.Errorf("%d impressions are left, %d showings counted, %d sessions active", impressions, served, active)
	}
}

// A job that panics over one organization is told of without what it panicked with, and the others have their turn.
func TestUpkeepSurvivesAPanic(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	u := &upkeep{backend: &backend{store: store.New(d.DB, master)}, log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, name := range []string{"one", "two"} {
		if _, err := u.store.CreateOrganization(t.Context(), name, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	turns := 0
	u.each(t.Context(), func(context.Context, uuid.UUID) error {
		turns++
		panic("a text of a memory")
	})
	if turns != 2 || !strings.Contains(log.String(), "panicked with a string") || strings.Contains(log.String(), "a text of") {
		t.Errorf("%d turns, told: %s", turns, &log)
	}
}
