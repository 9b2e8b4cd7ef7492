package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// The upkeep analyzes what was just filled where it has the owner's address, and says nothing where it has not.
func TestUpkeepOfStatistics(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	admin := d.ConnectAdmin(t)
	for _, sql := range []string{
		`ALTER TABLE memory_changes SET (autovacuum_enabled = off)`,
		`INSERT INTO memory_changes (org_id, space_id, seq, xid) SELECT '` + uuid.NewString() + `', 1, n, 1 FROM generate_series(1, 5000) n`,
		`SELECT pg_stat_force_next_flush()`,
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	known := func() (n int) {
		t.Helper()
		if err := admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stats WHERE tablename = 'memory_changes'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var log bytes.Buffer
	b := &backend{db: d.DB}
	u := &upkeep{backend: b, log: slog.New(slog.NewTextHandler(&log, nil))}
	u.analyze(t.Context())
	if n := known(); n != 0 || log.Len() != 0 {
		t.Errorf("without the owner's address %d columns are known, and the log says %q", n, &log)
	}
	b.owner = d.Owner
	u.analyze(t.Context())
	if n := known(); n != 4 || log.Len() != 0 {
		t.Errorf("%d columns are known, want 4; the log says %q", n, &log)
	}
	b.owner = "postgres://stele_owner@/nowhere?host=/nowhere"
	if _, err := admin.Exec(t.Context(), `INSERT INTO memory_changes (org_id, space_id, seq, xid) SELECT org_id, 2, seq, 1 FROM memory_changes; SELECT pg_stat_force_next_flush()`); err != nil {
		t.Fatal(err)
	}
	u.analyze(t.Context())
	if !strings.Contains(log.String(), "upkeep failed to analyze tables") {
		t.Errorf("the log does not say what failed: %q", &log)
	}
}
