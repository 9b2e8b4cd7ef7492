package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/session"
)

// The jobs remove what is past the time that the operator sets, and log how much and nothing else of it.
func TestUpkeepOfWhatIsPastItsTime(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := pgtest.NewDatabase(t)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s := store.New(d.DB, master)
	local := memory.New(s, memory.Options{Now: func() time.Time { return now }})
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
	admin.Project, admin.Session = p.ID, "client"
	if _, err := b.domain.StartSession(ctx, admin, session.StartRequest{Task: "warm the tea"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.domain.CancelSession(ctx, admin, ""); err != nil {
		t.Fatal(err)
	}
	conn := d.ConnectAdmin(t)
	if _, err := conn.Exec(ctx, `INSERT INTO drift_runs (org_id, project_id, run_id, repository, branch, commit, ancestors, committed_at, arrived_at, actor, tracked,
			status, engine_version, input_hash, report, answer)
		SELECT $1, $2, gen_random_uuid(), 'example.org/shop', 'b' || n, n::text, '{}', $3::timestamptz, $3::timestamptz + n * interval '1 second', 'ci', false, 'checked', 1, '', '{}', '{}'
		FROM generate_series(1, 3) AS n`, org, p.ID, now); err != nil {
		t.Fatal(err)
	}
	left := func(table string) (n int) {
		t.Helper()
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	now = now.Add(40 * 24 * time.Hour)
	for _, c := range []struct {
		keep           config.Config
		sessions, runs int
	}{
		{config.Config{}, 1, 3},
		{config.Config{KeepSessions: config.Period(41 * 24 * time.Hour), KeepRuns: config.Period(41 * 24 * time.Hour)}, 1, 3},
		{config.Config{KeepSessions: config.Period(39 * 24 * time.Hour)}, 0, 3},
		{config.Config{KeepRuns: config.Period(39 * 24 * time.Hour)}, 0, 1},
	} {
		b.config = c.keep
		var log bytes.Buffer
		u := &upkeep{backend: b, log: slog.New(slog.NewJSONHandler(&log, nil))}
		sessions, runs := left("work_sessions"), left("drift_runs")
		for _, job := range u.jobs(nil) {
			u.each(ctx, job.run)
		}
		if left("work_sessions") != c.sessions || left("drift_runs") != c.runs {
			t.Errorf("%+v leaves %d sessions and %d runs, want %d and %d", c.keep, left("work_sessions"), left("drift_runs"), c.sessions, c.runs)
		}
		told := map[string]float64{}
		for line := range strings.Lines(log.String()) {
			var entry map[string]any
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			for key, value := range entry {
				switch v := value.(type) {
				case float64:
					told[key] += v
				case string:
					if _, err := uuid.Parse(v); err != nil && key != "time" && key != "msg" && key != "level" {
						t.Errorf("the log tells %s: %q", key, v)
					}
				}
			}
		}
		if told["sessions"] != float64(sessions-c.sessions) || told["runs"] != float64(runs-c.runs) {
			t.Errorf("the log tells of %v", told)
		}
	}
}
