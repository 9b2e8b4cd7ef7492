package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/memory"
)

// One tenant with 20,000 memories of 20 words and one with a single memory: with such statistics a planner likes to read
// whole tables.
//
//nolint:dupword // columns
const planFixture = `
	INSERT INTO organizations (org_id, name, created_at, master_key_id, data_keyset, index_keyset)
		SELECT o, o::text, '2030-01-01', '', '', '' FROM unnest($1::uuid[]) AS o;
	INSERT INTO projects (org_id, project_id, space_id, name, created_at) SELECT o, o AS project, 1, 'p', '2030-01-01' FROM unnest($1::uuid[]) AS o;
	INSERT INTO spaces (org_id, space_id, scope, owner, live) SELECT o, 1, 'project', o::text, 20000 FROM unnest($1::uuid[]) AS o;
	INSERT INTO elements (org_id, project_id, element_id, key, folded_key, name, folded_name, level, in_scope, ordinal, created_at)
		SELECT ($1::uuid[])[1], ($1::uuid[])[1], gen_random_uuid(), n.key, n.folded, n.name, n.folded_name, 'component', true, 0, '2030-01-01'
		FROM (SELECT i::text, i::text, i::text, i::text FROM generate_series(1, 50) AS i) AS n (key, folded, name, folded_name);
	INSERT INTO memories (org_id, memory_id, space_id, seq, handle, kind, status, user_name, origin, created_at, confirmed_at, text_hash, term_count, expires_at)
		SELECT ($1::uuid[])[1], gen_random_uuid(), 1, i, 'm-' || i, 'note', 'live', 'u', 'cli', '2030-01-01', '2030-01-01', decode(md5(i::text), 'hex'), 20,
			CASE WHEN i % 100 = 0 THEN '2030-02-01'::timestamptz END FROM generate_series(1, 20000) AS i;
	INSERT INTO memory_terms (org_id, space_id, seq, terms, tags)
		SELECT ($1::uuid[])[1], 1, i, array_agg(DISTINCT (i * t) % (1 + t * t * 50)), '{}' FROM generate_series(1, 20000) AS i, generate_series(1, 20) AS t GROUP BY i;
	INSERT INTO attachments (org_id, memory_id, element_id, attached_at, reason)
		SELECT m.org_id, m.memory_id, e.element_id, '2030-01-01', 'writer'
		FROM memories m JOIN elements e ON e.key = (m.seq % 150)::text;
	INSERT INTO links (org_id, memory_id, ordinal, target_hash, target) SELECT org_id, memory_id, 0, decode(md5(seq::text), 'hex'), '' FROM memories;`

// Recall must not get slow because the planner changes its mind: each statement goes through its index, as the role that
// serves and under row-level security.
func TestRecallPlans(t *testing.T) {
	t.Parallel()
	for _, analyzed := range []bool{true, false} {
		t.Run(fmt.Sprintf("analyzed=%v", analyzed), func(t *testing.T) {
			t.Parallel()
			recallPlans(t, analyzed)
		})
	}
}

// recallPlans looks at the plans with statistics, and as they are right after an import: whatever way into a table seems to cost nothing.
func recallPlans(t *testing.T, analyzed bool) {
	t.Helper()
	ctx := context.Background()
	d := pgtest.NewDatabase(t)
	org := uuid.New()
	orgs := []uuid.UUID{org, uuid.New()}
	admin := d.ConnectAdmin(t)
	for _, table := range []string{"memories", "posting_blocks", "memory_terms", "attachments", "links", "vectors", "memory_changes", "spaces", "elements"} {
		if _, err := admin.Exec(ctx, `ALTER TABLE `+table+` SET (autovacuum_enabled = off)`); err != nil {
			t.Fatal(err)
		}
	}
	for stmt := range strings.SplitSeq(planFixture+"\n"+buildBlocks, ";\n") {
		args := []any{orgs}
		switch {
		case stmt == buildBlocks:
			args = []any{org}
		case !strings.Contains(stmt, "$1"):
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

	rank := func(change func(*rankQuery)) string {
		q := rankQuery{org: org, among: []candidate{{place{1, 1}, 1}}, Search: memory.Search{Ranking: memory.DefaultRanking(), Limit: 8, Spaces: []int32{1}}}
		change(&q)
		sql, _ := q.build()
		return sql
	}
	for _, c := range []struct {
		name, sql string
		indexes   []string
		settings  []string
	}{
		{"expired", expiredDigests, []string{"memories_expires"}, nil},
		{"frequencies", termFrequencies, []string{"posting_blocks_pkey", "(upto = 2147483647)"}, nil},
		{"terms of what expired", expiredTerms, []string{"memories_expires", "memory_terms_pkey"}, nil},
		{"posting lists", postingLists, []string{"Index Scan using posting_blocks_pkey", "(term = w.term)"}, nil},
		{"postings among some", postingsAmong, []string{"Index Scan using posting_blocks_pkey", "(upto >= c.seq)"}, nil},
		{"attached", attachedTo, []string{"attachments_element", "memories_pkey"}, nil},
		{"linking", linking, []string{"links_target", "memories_pkey"}, nil},
		{"places", placesOf, []string{"memories_pkey"}, nil},
		{"rank", rank(func(*rankQuery) {}), []string{"memories_seq"}, nil},
		{"near by text", nearText, []string{"memories_text"}, []string{writePlans}},
		{"near by words", nearTerms, []string{"posting_blocks_pkey", "(term = r_1.term)", "memories_seq", "memory_terms_pkey", "vectors_pkey"}, []string{writePlans}},
		{"near by vectors", nearVectors, []string{"memories_seq", "vectors_pkey"}, []string{writePlans}},
		{"split blocks", splitBlocks, []string{"posting_blocks_pkey", "(upto >= $4)"}, []string{writePlans}},
		{"shrink blocks", shrinkBlocks, []string{"Index Scan using posting_blocks_pkey on posting_blocks b", "(upto >= $4)", "(upto < f.upto)"}, []string{writePlans}},
		{"enter blocks", enterBlocks, []string{"Index Scan using posting_blocks_pkey on posting_blocks b", "(upto >= $4)"}, []string{writePlans}},
		{"leave blocks", leaveBlocks, []string{"Index Scan using posting_blocks_pkey on posting_blocks b", "(upto >= $4)"}, []string{writePlans}},
		{"count out", discountPostings, []string{"posting_blocks_pkey"}, []string{writePlans}},
		{"drop blocks", dropBlocks, []string{"Index Scan using posting_blocks_pkey on posting_blocks b", "(upto >= $4)"}, []string{writePlans}},
		{"drop lists", dropLists, []string{"posting_blocks_pkey"}, []string{writePlans}},
		{"keys imported before", importedAs, []string{"memories_source", "import_keys_pkey", "memories_pkey"}, []string{writePlans}},
		{"texts there before", sameTexts, []string{"memories_text"}, []string{writePlans}},
		{"titles there before", titlesTaken, []string{"memories_title"}, []string{writePlans}},
		{"rank with kinds", rank(func(q *rankQuery) { q.Narrow.Kinds = memory.Kinds }), []string{"memories_seq"}, nil},
		{"records", recordRows, []string{"Index Scan using memories_pkey", "memory_versions_pkey"}, []string{lookUps}},
		{"paths of records", recordPaths, []string{"memory_paths_pkey", "AND (memory_id = i.memory_id)"}, []string{lookUps}},
		{"doubts of records", recordDoubts, []string{"doubts_memory", "AND (memory_id = i.memory_id)"}, []string{lookUps}},
		{"links of records", recordLinks, []string{"links_pkey", "AND (memory_id = i.memory_id)"}, []string{lookUps}},
		{"open doubts", openDoubts, []string{"doubts_memory", "AND (memory_id = i.memory_id)"}, []string{writePlans}},
		{"attached to elements", attachedToElements, []string{"attachments_element", "memories_pkey"}, []string{writePlans}},
		{"elements of records", recordElements, []string{"attachments_pkey", "elements_pkey"}, []string{lookUps}},
		{"changes", changesSince, []string{"memory_changes_xid", "AND (xid < "}, nil},
		{"attached, without their numbers", attachedMemories, []string{"Index Only Scan using attachments_element"}, nil},
		{"memories of an index", residentMemories, []string{"memories_seq", "memory_terms_pkey", "vectors_pkey"}, []string{lookUps}}, // there are no vectors yet
		{"some vectors", cosinesAmong, []string{"vectors_pkey"}, []string{lookUps}},
		{"traits", traitsByID, []string{"memories_pkey", "memory_terms_pkey", "vectors_pkey"}, []string{lookUps}},
		{"traits of numbers", traitsAmong, []string{"memory_terms_pkey", "vectors_pkey"}, []string{lookUps}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan := genericPlan(t, d.DB, org, c.sql, c.settings...)
			if m := regexp.MustCompile(`Seq Scan on \w+`).FindString(plan); m != "" {
				t.Errorf("%s:\n%s", m, plan)
			}
			for _, index := range c.indexes {
				if !strings.Contains(plan, index) {
					t.Errorf("no %s:\n%s", index, plan)
				}
			}
		})
	}
}

// genericPlan explains a statement as recall runs it: prepared, planned once for all parameters, under further settings.
func genericPlan(t *testing.T, db *postgres.DB, org uuid.UUID, sql string, settings ...string) string {
	t.Helper()
	last := 0
	for _, m := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(sql, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		last = max(last, n)
	}
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", last), ", ")
	var lines []string
	err := db.InOrg(context.Background(), org, postgres.TxOptions{ReadOnly: true, StatementTimeout: time.Minute}, func(tx pgx.Tx) error {
		for _, s := range append(append([]string{planner}, settings...), "PREPARE explained AS "+sql) {
			if _, err := tx.Exec(context.Background(), s, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		rows, err := tx.Query(context.Background(), "EXPLAIN EXECUTE explained ("+nulls+")", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		if lines, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return err
		}
		_, err = tx.Exec(context.Background(), "DEALLOCATE explained", pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if err != nil {
		t.Fatalf("%v in\n%s", err, sql)
	}
	return strings.Join(lines, "\n")
}
