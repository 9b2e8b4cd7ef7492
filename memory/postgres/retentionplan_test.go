package postgres

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// retentionFixture is some time of an organization in sizes as they are in life: 8,000 sessions, half of them with an outcome, and
// 2,000 runs, half of them of the tracked branch.
//
//nolint:dupword // columns
const retentionFixture = `
	INSERT INTO organizations (org_id, name, created_at, master_key_id, data_keyset, index_keyset) VALUES ($1, 'o', '2029-01-01', '', '', '');
	INSERT INTO projects (org_id, project_id, space_id, name, created_at) VALUES ($1, $1, 1, 'p', '2029-01-01');
	INSERT INTO spaces (org_id, space_id, scope, owner) VALUES ($1, 1, 'project', 'p');
	INSERT INTO elements (org_id, project_id, element_id, key, folded_key, name, folded_name, level, in_scope, ordinal, created_at)
		SELECT p.org_id, p.project_id, gen_random_uuid(), k, k, k, k, 'component', true, 0, p.created_at FROM projects p, (VALUES ('1'), ('2')) AS e (k);
	INSERT INTO memories (org_id, memory_id, space_id, seq, handle, kind, status, user_name, origin, created_at, confirmed_at, text_hash, term_count)
		SELECT org_id, gen_random_uuid(), 1, i, 'm-' || i, 'note', 'live', 'u', 'cli', created_at, created_at, '', 20 FROM projects, generate_series(1, 5) AS i;
	INSERT INTO work_sessions (org_id, session_id, project_id, name, state, agent, user_name, door, worktree, started_at, beat_at, ended_at, outcome_id, body)
		SELECT p.org_id, gen_random_uuid(), p.project_id, 'ws-' || i, CASE WHEN i % 1000 = 0 THEN 'active' ELSE 'finished' END, 'codex', 'u' || i % 40, 'mcp',
			md5(i::text), t.at, t.at, CASE WHEN i % 1000 > 0 THEN t.at END, CASE WHEN i % 2 = 0 THEN m.memory_id END, convert_to(repeat(md5(i::text), 12), 'UTF8')
		FROM projects p JOIN memories m ON m.org_id = p.org_id AND m.seq = 1 CROSS JOIN generate_series(1, 8000) AS i
		CROSS JOIN LATERAL (SELECT '2030-01-01'::timestamptz - i * interval '26 minutes' AS at) t;
	INSERT INTO session_aliases (org_id, user_name, alias, session_id)
		SELECT org_id, user_name, 'c-' || left(md5(name), 26), session_id FROM work_sessions;
	INSERT INTO leases (org_id, project_id, element_id, session_id, taken_at, released_at, soft, exclusive)
		SELECT s.org_id, s.project_id, e.element_id, s.session_id, s.started_at, s.ended_at, true, false FROM work_sessions s JOIN elements e ON e.key IN ('1', '2');
	INSERT INTO session_edits (org_id, session_id, path, edited_at)
		SELECT s.org_id, s.session_id, 'services/orders/internal/handler_' || i || '.go', s.started_at FROM work_sessions s, generate_series(1, 5) AS i;
	INSERT INTO follow_ups (org_id, follow_up_id, project_id, session_id, body, opened_at, closed_at)
		SELECT org_id, gen_random_uuid(), project_id, session_id, body, started_at, CASE WHEN right(name, 1) <> '1' THEN ended_at END
		FROM work_sessions WHERE right(name, 1) IN ('1', '2', '3');
	INSERT INTO audit (org_id, audit_id, at, verb, subject_id, project_id, agent, user_name, door, session_id, space_id, event)
		SELECT org_id, gen_random_uuid(), started_at, 'start_session', session_id, project_id, agent, user_name, door, name, 1, row_number() OVER ()
		FROM work_sessions, generate_series(1, 4);
	INSERT INTO drift_runs (org_id, project_id, run_id, repository, branch, commit, ancestors, committed_at, arrived_at, actor, tracked, status, engine_version,
			input_hash, report, answer)
		SELECT p.org_id, p.project_id, gen_random_uuid(), 'example.org/r' || i % 8, CASE WHEN i % 2 = 0 THEN 'main' ELSE 'b' || i END, md5(i::text) || 'abcdef01',
			ARRAY(SELECT md5((i + n)::text) || 'abcdef01' FROM generate_series(0, 200) AS n), t.at, t.at, 'ci', i % 2 = 0, 'checked', 1, md5(i::text),
			jsonb_build_object('findings', ARRAY(SELECT jsonb_build_object('fingerprint', md5(n::text), 'message', repeat('no file matches services/' || n || ' ', 6))
				FROM generate_series(1, 20) AS n)), '{}'
		FROM projects p CROSS JOIN generate_series(1, 2000) AS i CROSS JOIN LATERAL (SELECT '2030-01-01'::timestamptz - i * interval '130 minutes' AS at) t;
	INSERT INTO stamps (org_id, project_id, stamp_id, element_id, stamped_at, fingerprint, run_id)
		SELECT r.org_id, r.project_id, gen_random_uuid(), e.element_id, r.arrived_at, 'f', r.run_id FROM drift_runs r JOIN elements e ON e.key = '1' WHERE tracked LIMIT 300;
	INSERT INTO doubts (org_id, doubt_id, memory_id, cause, since, reason, stamp_id)
		SELECT s.org_id, gen_random_uuid(), m.memory_id, 'drifted', s.stamped_at, '', s.stamp_id FROM stamps s JOIN memories m ON m.org_id = s.org_id AND m.seq <= 5;
	INSERT INTO held_models (org_id, project_id, held_id, run_id, held_at, actor, model, removed, elements, decided_at)
		SELECT org_id, project_id, gen_random_uuid(), run_id, arrived_at, 'ci', '{}', '{}', 1, arrived_at FROM drift_runs LIMIT 2000;
	INSERT INTO model_imports (org_id, project_id, import_id, imported_at, actor, source, digest, counts)
		SELECT org_id, project_id, gen_random_uuid(), arrived_at, 'ci', 'w.dsl', '', '{}' FROM drift_runs;`

// What is past its time is found by its age. Only where a kept place is counted are all runs of tracked branches looked through, in an
// index of their own.
func TestRetentionPlans(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := pgtest.NewDatabase(t)
	org := uuid.New()
	admin := d.ConnectAdmin(t)
	for stmt := range strings.SplitSeq(strings.TrimSuffix(retentionFixture, ";"), ";\n") {
		args := []any{org}
		if !strings.Contains(stmt, "$1") {
			args = nil
		}
		if _, err := admin.Exec(ctx, strings.TrimSuffix(stmt, ";"), args...); err != nil {
			t.Fatalf("%v in %s", err, stmt)
		}
	}
	if _, err := admin.Exec(ctx, `VACUUM ANALYZE`); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"work_sessions", "session_aliases", "leases", "session_edits", "follow_ups", "audit", "drift_runs", "model_imports"} {
		var rows, bytes int64
		if err := admin.QueryRow(ctx, `SELECT count(*), pg_total_relation_size('`+table+`') FROM `+table).Scan(&rows, &bytes); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes a row with its indexes", table, bytes/rows)
	}
	for _, c := range []struct {
		name, sql string
		indexes   []string
		settings  []string
	}{
		{"sessions", endedSessions, []string{"work_sessions_age", "work_sessions_outcomes", "follow_ups_"}, nil},
		{"follow-ups", closedFollowUps, []string{"follow_ups_age", "follow_ups_pkey"}, nil},
		// Two indexes have the open doubts alone. Here all are open: reading them as a whole is right as soon as others keep the vacuum from
		// marking pages.
		{"runs with effects", staleRuns, []string{"drift_runs_effective", "drift_runs_pkey", "using doubts_"}, []string{"SET LOCAL enable_seqscan = off"}},
		{"other runs", idleRuns, []string{"drift_runs_age", "drift_runs_newest", "drift_runs_pkey"}, nil},
		{"models", decidedModels, []string{"held_models_age", "held_models_pkey"}, nil},
		// So small a table is read as a whole for good reason.
		{"imports", pastImports, []string{"model_imports_age", "model_imports_pkey"}, []string{"SET LOCAL enable_seqscan = off"}},
	} {
		plan := genericPlan(t, d.DB, org, c.sql, c.settings...)
		for _, table := range []string{"work_sessions", "follow_ups", "drift_runs", "held_models", "model_imports", "doubts"} {
			if regexp.MustCompile(`Seq Scan on ` + table + `\b`).MatchString(plan) {
				t.Errorf("%s reads %s as a whole:\n%s", c.name, table, plan)
			}
		}
		for _, index := range c.indexes {
			if !strings.Contains(plan, index) {
				t.Errorf("%s takes no %s:\n%s", c.name, index, plan)
			}
		}
	}
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	own, before := New(d.DB, master), time.Date(2029, 10, 1, 0, 0, 0, 0, time.UTC)
	sessions, err := own.DropSessions(ctx, org, before, session.KeptOutcomes)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := own.DropRuns(ctx, org, before, memory.KeptRuns)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("removed %d sessions and %d runs in %s", sessions.Sessions, runs.Runs, time.Since(began).Round(time.Millisecond))
	var old, stale int
	if err := admin.QueryRow(ctx, `SELECT (SELECT count(*) FROM work_sessions WHERE ended_at < $1), (SELECT count(*) FROM drift_runs WHERE arrived_at < $1 AND NOT tracked)`, before).
		Scan(&old, &stale); err != nil {
		t.Fatal(err)
	}
	if sessions.Sessions == 0 || runs.Runs == 0 || stale != 0 {
		t.Errorf("removed %d sessions, of which %d are left, and %d runs, of which %d of other branches are left", sessions.Sessions, old, runs.Runs, stale)
	}
}
