package postgres_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// What an import filled is analyzed once, and again when most of it is new; a few rows are not worth it.
func TestStatisticsAfterAnImport(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	admin := d.ConnectAdmin(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"memory_changes", "posting_blocks"} { // nobody else is to do it
		exec(`ALTER TABLE ` + table + ` SET (autovacuum_enabled = off)`)
	}
	org := uuid.New()
	fill := func(from, to int) {
		t.Helper()
		exec(`INSERT INTO memory_changes (org_id, space_id, seq, xid) SELECT $1, 1, n, 1 FROM generate_series($2::int, $3::int) n`, org, from, to)
		exec(`SELECT pg_stat_force_next_flush()`) // counts are told with a delay
	}
	stale := func() []string {
		t.Helper()
		tables, err := d.StaleStatistics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if got := stale(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	exec(`INSERT INTO posting_blocks (org_id, space_id, term, upto, seqs) SELECT $1, 1, n, 1, '{}' FROM generate_series(1, 100) n`, org)
	fill(1, 1999)
	expect("a few rows")
	fill(2000, 3000)
	expect("after an import", "memory_changes")
	if err := postgres.Analyze(t.Context(), d.Owner, stale()); err != nil {
		t.Fatal(err)
	}
	var known float64
	if err := admin.QueryRow(t.Context(), `SELECT n_distinct FROM pg_stats WHERE tablename = 'memory_changes' AND attname = 'seq'`).Scan(&known); err != nil || known != -1 {
		t.Errorf("what is known of them: %v, %v; want that all differ", known, err)
	}
	expect("when it was analyzed")
	fill(3001, 5100) // 2,100 of 5,100
	expect("when a part is new")
	fill(5101, 7000)
	expect("when most is new", "memory_changes")
	if err := postgres.Analyze(t.Context(), d.App, []string{"memory_changes"}); err == nil {
		t.Error("the role that serves may analyze")
	}
}
