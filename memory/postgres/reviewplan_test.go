package postgres

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/review"
)

// Of the 20,000 memories of planFixture 600 are in doubt, 100 ignored, 100 unreviewed, 200 expired and 100 in a similar pair; all
// were served lately by a few sessions.
//
//nolint:dupword // columns
const reviewFixture = `
	UPDATE memories SET project_id = ($1::uuid[])[1];
	UPDATE memories SET verify = true WHERE seq <= 600;
	UPDATE memories SET ignored_by = 7 WHERE seq BETWEEN 601 AND 700;
	UPDATE memories SET unreviewed = true WHERE seq BETWEEN 701 AND 800;
	INSERT INTO doubts (org_id, doubt_id, memory_id, cause, since, reason, origin)
		SELECT org_id, gen_random_uuid(), memory_id, 'drifted', '2030-01-01', '', 'c ' || seq % 20 FROM memories WHERE seq <= 600;
	INSERT INTO conflicts (org_id, memory_id, other_id, since, source, similarity)
		SELECT a.org_id, a.memory_id, b.memory_id, '2030-01-01', 'remember', 0.9 FROM memories a JOIN memories b ON b.seq = a.seq + 100 WHERE a.seq BETWEEN 901 AND 1000;
	INSERT INTO impressions (org_id, memory_id, session_id, door, first_at, last_at, revision)
		SELECT m.org_id, m.memory_id, 's' || i, 'recall', '2030-01-20', '2030-02-01', 1 FROM memories m, generate_series(1, 3) AS i;
	INSERT INTO review_decisions (org_id, decision_id, project_id, action, decided_at, user_name)
		SELECT o, o, o, 'keep', '2030-01-01', 'u' FROM unnest($1::uuid[]) AS o;
	INSERT INTO review_items (org_id, decision_id, memory_id, reason, evidence)
		SELECT m.org_id, m.org_id, m.memory_id, 'stale', '1' FROM memories m WHERE m.seq > 10000;`

// The queue is derived by indexes, whatever the planner thinks of the tables: none of memories, doubts, impressions and decisions
// is read as a whole.
func TestReviewPlan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := pgtest.NewDatabase(t)
	org := uuid.New()
	orgs := []uuid.UUID{org, uuid.New()}
	admin := d.ConnectAdmin(t)
	for stmt := range strings.SplitSeq(strings.TrimSuffix(planFixture+reviewFixture, ";"), ";\n") {
		args := []any{orgs}
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
	plan := genericPlan(t, d.DB, org, openItems)
	for _, table := range []string{"memories", "doubts", "impressions", "review_items", "attachments", "links"} {
		if regexp.MustCompile(`Seq Scan on ` + table + `\b`).MatchString(plan) {
			t.Errorf("%s is read as a whole:\n%s", table, plan)
		}
	}
	for _, index := range []string{"memories_doubted", "doubts_open", "memories_ignored", "memories_unreviewed", "memories_expires", "memories_confirmed",
		"review_items_settled", "links_target"} {
		if !strings.Contains(plan, index) {
			t.Errorf("no %s:\n%s", index, plan)
		}
	}
	now := time.Date(2030, 2, 2, 0, 0, 0, 0, time.UTC)
	q := review.OpenQuery{Project: org, Spaces: []int32{1}, Now: now, IgnoredFrom: 5, ConfirmedBefore: now.Add(-150 * 24 * time.Hour), ServedSince: now.Add(-review.StaleServed),
		LinkedBefore: now, CountSince: now.Add(-review.ServedWindow), BriefedSince: now, Dangling: [][]byte{}}
	err := d.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true, Isolation: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		v := &view{tx: tx, org: org}
		for range 3 {
			began := time.Now()
			items, err := v.OpenItems(ctx, q)
			if err != nil {
				return err
			}
			t.Logf("%d items in %s", len(items), time.Since(began).Round(time.Millisecond))
			if len(items) != 600+100+100+200+100 {
				t.Errorf("%d items are open", len(items))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
