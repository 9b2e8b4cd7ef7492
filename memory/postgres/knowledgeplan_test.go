package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// The map of a project that was just imported must not take minutes because nothing is known about the tables yet: what
// belongs to the project is read once, by index, and joined by hashing, with statistics and without.
func TestCoveragePlan(t *testing.T) {
	t.Parallel()
	for _, analyzed := range []bool{true, false} {
		t.Run(fmt.Sprintf("analyzed=%v", analyzed), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			d := pgtest.NewDatabase(t)
			org := uuid.New()
			orgs := []uuid.UUID{org, uuid.New()}
			admin := d.ConnectAdmin(t)
			for _, table := range []string{"memories", "attachments", "elements", "impressions", "audit", "spaces"} {
				if _, err := admin.Exec(ctx, `ALTER TABLE `+table+` SET (autovacuum_enabled = off)`); err != nil {
					t.Fatal(err)
				}
			}
			for stmt := range strings.SplitSeq(strings.TrimSuffix(planFixture, ";"), ";\n") {
				args := []any{orgs}
				if !strings.Contains(stmt, "$1") {
					args = nil
				}
				if _, err := admin.Exec(ctx, stmt, args...); err != nil {
					t.Fatalf("%v in %s", err, stmt)
				}
			}
			if analyzed {
				if _, err := admin.Exec(ctx, `VACUUM ANALYZE`); err != nil {
					t.Fatal(err)
				}
			}
			plan := genericPlan(t, d.DB, org, coverage, coveragePlans)
			for _, part := range []struct {
				text  string
				times int
			}{
				{"Seq Scan", 0}, {"Merge Join", 0}, {"Hash Join", 2},
				{"Nested Loop", 1}, {"Index Only Scan using attachments_element", 1}, {"AND (element_id = e.element_id)", 1},
				{" on memories m", 1}, {"AND (space_id = ANY ($3))", 1},
			} {
				if n := strings.Count(plan, part.text); n != part.times {
					t.Errorf("%q is there %d times, want %d:\n%s", part.text, n, part.times, plan)
				}
			}
			if plan := genericPlan(t, d.DB, org, lastMemoryAt); !strings.Contains(plan, "Index Only Scan Backward using memories_created") || !strings.Contains(plan, "Limit") {
				t.Errorf("the last memory of each space is not one look into an index:\n%s", plan)
			}
		})
	}
}
