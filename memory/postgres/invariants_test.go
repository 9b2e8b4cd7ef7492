package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/migrations"
	"github.com/stele-dev/stele/session"
)

// plants are contradictions of each invariant, put into an organization ($1) by whoever row-level security and foreign keys
// do not bind. names is what the report has to name, as a query of one text.
var plants = []struct {
	invariant string
	sql       string
	names     string
}{
	{"ends", `DELETE FROM elements WHERE org_id = $1 AND element_id = (SELECT element_id FROM attachments WHERE org_id = $1 AND detached_at IS NULL ORDER BY memory_id LIMIT 1)`,
		`SELECT 'attachments ' || memory_id || ' on ' || element_id || ' without its element_id' FROM attachments WHERE org_id = $1 AND detached_at IS NULL ORDER BY memory_id`},
	{"ends", `UPDATE memories SET superseded_by = '018f0000-0000-7000-8000-000000000001' WHERE org_id = $1 AND superseded_by IS NOT NULL`,
		`SELECT 'memories ' || handle || ' without its superseded_by' FROM memories WHERE org_id = $1 AND superseded_by IS NOT NULL`},
	{"versions", `DELETE FROM memory_versions WHERE org_id = $1 AND memory_id = ` + someLive,
		`SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"titles", `UPDATE memories SET title_hash = '\x01' WHERE org_id = $1 AND status = 'live'`,
		`SELECT string_agg(handle, ', ' ORDER BY handle) FROM memories WHERE org_id = $1 AND status = 'live' GROUP BY space_id ORDER BY count(*) DESC`},
	{"spaces", `UPDATE spaces SET live = live + 1 WHERE org_id = $1 AND scope = 'project'`, `SELECT 'space ' || space_id FROM spaces WHERE org_id = $1 AND scope = 'project'`},
	{"sequence", `UPDATE memories SET seq = 1000000 WHERE org_id = $1 AND seq = 1`, `SELECT 'space ' || space_id FROM memories WHERE org_id = $1 AND seq = 1000000`},
	{"sequence", `UPDATE memories SET seq = 1 WHERE org_id = $1 AND seq = 2`, `SELECT 'space ' || space_id FROM memories WHERE org_id = $1 AND seq = 1 GROUP BY space_id HAVING count(*) > 1`},
	{"events", `DELETE FROM audit WHERE org_id = $1 AND event = 2`, `SELECT 'space ' || space_id FROM audit WHERE org_id = $1 AND event = 3`},
	{"events", `UPDATE audit SET event = 1 WHERE org_id = $1 AND event = 2`, `SELECT 'space ' || space_id FROM audit WHERE org_id = $1 AND event = 3`},
	{"index", `DELETE FROM memory_terms WHERE org_id = $1 AND (space_id, seq) = (SELECT space_id, seq FROM memories WHERE org_id = $1 AND memory_id = ` + someLive + `)`,
		`SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"index", `UPDATE memories SET term_count = term_count + 1 WHERE org_id = $1 AND memory_id = ` + someLive, `SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"postings", `UPDATE posting_blocks SET seqs = seqs[2:] WHERE org_id = $1 AND (space_id, term) = ` + someTerm, `SELECT 'entry '`},
	{"postings", `UPDATE posting_blocks SET seqs = seqs || 999 WHERE org_id = $1 AND space_id = 1`, `SELECT 'entry 999 of space 1'`},
	{"postings", `UPDATE posting_blocks SET seqs = seqs || seqs[1] WHERE org_id = $1 AND (space_id, term) = ` + someTerm,
		`SELECT 'entry ' || seqs[1] || ' of space ' || space_id FROM posting_blocks WHERE org_id = $1 AND (space_id, term) = ` + someTerm},
	{"postings", `INSERT INTO posting_blocks (org_id, space_id, term, upto, seqs) SELECT org_id, space_id, term, 1000000, '{}' FROM posting_blocks WHERE org_id = $1 AND (space_id, term) = ` + someTerm,
		`SELECT 'space ' || space_id || ': 1 blocks are empty' FROM ` + someTerm + ` t`},
	{"postings", `INSERT INTO posting_blocks (org_id, space_id, term, upto, seqs) SELECT org_id, space_id, term, 1000000, '{}' FROM posting_blocks WHERE org_id = $1 AND (space_id, term) = ` + someTerm,
		`SELECT 'entry ' || seqs[1] || ' of space ' || space_id FROM posting_blocks WHERE org_id = $1 AND upto = 2147483647 AND (space_id, term) = ` + someTerm},
	{"frequencies", `UPDATE posting_blocks SET df = df + 1 WHERE org_id = $1 AND (space_id, term) = ` + someTerm, `SELECT 'space ' || space_id || ': 1 of its words' FROM ` + someTerm + ` t`},
	{"frequencies", `INSERT INTO posting_blocks (org_id, space_id, term, upto, df, seqs) VALUES ($1, 1, 77, 2147483647, 1, '{}')`, `SELECT 'space 1: 1 of its words'`},
	{"frequencies", `UPDATE posting_blocks SET upto = 2147483646 WHERE org_id = $1 AND (space_id, term) = ` + someTerm, `SELECT 'space ' || space_id || ': 1 of its words' FROM ` + someTerm + ` t`},
	{"vectors", `INSERT INTO vectors (org_id, model, space_id, seq, embedding) VALUES ($1, 'm', 1, 999, '[1,0]')`, `SELECT 'entry 999 of space 1 by m'`},
	{"vectors", `INSERT INTO vectors (org_id, model, space_id, seq, embedding) SELECT $1, 'm', space_id, seq, CASE WHEN memory_id = ` + someLive + ` THEN '[1,0,0]'::halfvec ELSE '[1,0]' END
		FROM memories WHERE org_id = $1 AND status = 'live'`, `SELECT handle || ' by m' FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"vectors", `INSERT INTO vectors (org_id, model, space_id, seq, embedding) SELECT $1, '', space_id, seq, '[1,0]' FROM memories WHERE org_id = $1 AND memory_id = ` + someLive,
		`SELECT handle || ' by ' FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"citations", `UPDATE memories SET citations = citations + 1 WHERE org_id = $1 AND memory_id = ` + someLive, `SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"impressions", `INSERT INTO impressions (org_id, memory_id, session_id, door, first_at, last_at, revision, ignored) VALUES ($1, ` + someLive + `, 'planted', 'recall', '2030-01-01', '2030-01-01', 1, true)`,
		`SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"confirmations", `UPDATE memories SET confirmations = confirmations + 1 WHERE org_id = $1 AND memory_id = ` + someLive, `SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"doubts", `UPDATE memories SET disputed = NOT disputed WHERE org_id = $1 AND memory_id = ` + someLive, `SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"doubts", `UPDATE memories SET verify = NOT verify WHERE org_id = $1 AND memory_id = ` + someLive, `SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"erased", `UPDATE memories SET title_hash = '\x02' WHERE org_id = $1 AND status = 'erased'`, `SELECT handle FROM memories WHERE org_id = $1 AND status = 'erased'`},
	{"erased", `INSERT INTO evidence (org_id, memory_id, revision, version, ordinal, state, found_in) SELECT org_id, memory_id, 1, 1, 0, 'gone', '{door/lamp.go}' FROM memories WHERE org_id = $1 AND status = 'erased'`,
		`SELECT handle FROM memories WHERE org_id = $1 AND status = 'erased'`},
	{"erased", `INSERT INTO conflicts (org_id, memory_id, other_id, since, source, similarity) SELECT org_id, ` + someLive + `, memory_id, now(), 'vector', 1 FROM memories WHERE org_id = $1 AND status = 'erased'`,
		`SELECT handle FROM memories WHERE org_id = $1 AND status = 'erased'`},
	{"sessions", `UPDATE leases SET released_at = NULL WHERE org_id = $1 AND session_id IN (SELECT session_id FROM work_sessions WHERE org_id = $1 AND state = 'finished')`,
		`SELECT name FROM work_sessions WHERE org_id = $1 AND state = 'finished'`},
	{"sessions", `UPDATE work_sessions SET ended_at = NULL WHERE org_id = $1 AND state = 'finished'`, `SELECT name FROM work_sessions WHERE org_id = $1 AND state = 'finished'`},
	{"texts", `UPDATE memory_versions SET body = set_byte(body, 20, get_byte(body, 20) # 64) WHERE org_id = $1 AND memory_id = ` + someLive,
		`SELECT handle || ' (memory_versions 1)' FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"texts", `UPDATE doubts SET reason = set_byte(reason, 20, get_byte(reason, 20) # 64) WHERE org_id = $1`, `SELECT 'doubts ' || min(doubt_id::text) FROM doubts WHERE org_id = $1`},
	{"words", `UPDATE memories SET text_hash = '\x03' WHERE org_id = $1 AND memory_id = ` + someLive, `SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
	{"words", `UPDATE memory_terms SET terms = array_append(terms[2:], 9223372036854775807) WHERE org_id = $1 AND (space_id, seq) = (SELECT space_id, seq FROM memories WHERE org_id = $1 AND memory_id = ` + someLive + `)`,
		`SELECT handle FROM memories WHERE org_id = $1 AND memory_id = ` + someLive},
}

// someLive is one live memory of the organization, of one revision.
const someLive = `(SELECT memory_id FROM memories WHERE org_id = $1 AND status = 'live' AND kind = 'note' AND revision = 1 ORDER BY memory_id LIMIT 1)`

// someTerm is a space of the organization and a term of one of its memories.
const someTerm = `(SELECT space_id, term FROM posting_blocks WHERE org_id = $1 AND upto = 2147483647 AND cardinality(seqs) > 0 ORDER BY 1, 2 LIMIT 1)`

// Each kind of damage is found, named, and found as nothing worse than it is.
func TestPlantedDamageIsFound(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	s := serviceOn(t, d)
	admin := d.ConnectAdmin(t)
	// What keeps such damage away in life is taken away first.
	for _, sql := range []string{"SET session_replication_role = replica", "DROP INDEX memories_title", "DROP INDEX memories_seq", "DROP INDEX audit_event"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	planted := map[string]bool{}
	for n, p := range plants {
		c := filled(t, s, fmt.Sprintf("org-%d", n))
		if broken := brokenOf(t, s, c.Org); len(broken) > 0 {
			t.Fatalf("before anything is planted: %v", broken)
		}
		tag, err := admin.Exec(t.Context(), p.sql, c.Org)
		if err != nil || tag.RowsAffected() == 0 {
			t.Fatalf("%s, %s: planted %d rows, %v", p.invariant, p.sql, tag.RowsAffected(), err)
		}
		var name string
		if err := admin.QueryRow(t.Context(), p.names+" LIMIT CASE WHEN $1::uuid IS NULL THEN 0 ELSE 1 END", c.Org).Scan(&name); err != nil {
			t.Fatalf("%s: %s: %v", p.invariant, p.names, err)
		}
		planted[p.invariant] = true
		found := brokenOf(t, s, c.Org)
		if !slices.ContainsFunc(found[p.invariant], func(subject string) bool { return strings.HasPrefix(subject, name) }) {
			t.Errorf("%s\n%s\nwants %q named, all that is found: %v", p.invariant, p.sql, name, found)
		}
	}
	for _, i := range look(t, s, filled(t, s, "whole").Org, 0) {
		if !planted[i.ID] {
			t.Errorf("nothing contradicts %s in this test, so nobody knows whether it would be found", i.ID)
		}
		if i.Claim == "" || i.Checked == 0 {
			t.Errorf("%s looked at nothing: %+v", i.ID, i)
		}
	}
}

// The largest world of these tests is whole.
func TestAWholeOrganization(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	s := serviceOn(t, d)
	if broken := brokenOf(t, s, fill(t, s, "acme").Org); len(broken) > 0 {
		t.Errorf("%v", broken)
	}
}

// What one organization lacks is no matter of another.
func TestInvariantsAreOfOneOrganization(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	s := serviceOn(t, d)
	a, b := filled(t, s, "a"), filled(t, s, "b")
	admin := d.ConnectAdmin(t)
	if _, err := admin.Exec(t.Context(), `UPDATE spaces SET live = live + 1 WHERE org_id = $1`, a.Org); err != nil {
		t.Fatal(err)
	}
	if broken := brokenOf(t, s, b.Org); len(broken) > 0 {
		t.Errorf("b is told of a: %v", broken)
	}
	if broken := brokenOf(t, s, a.Org); len(broken["spaces"]) == 0 {
		t.Errorf("a is told: %v", broken)
	}
	if got := look(t, s, b.Org, 1); len(got) == 0 {
		t.Error("a sample looks at nothing")
	}
}

// Not everything is named, and everything is counted.
func TestManyContradictionsAreCounted(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	s := serviceOn(t, d)
	c := filled(t, s, "many")
	for n := range memory.MaxSubjects + 3 {
		if _, err := s.Remember(t.Context(), c, memory.RememberRequest{Content: fmt.Sprintf("Shelf %d holds part number %d.", n, n*n), Separate: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.ConnectAdmin(t).Exec(t.Context(), `UPDATE memories SET citations = citations + 1 WHERE org_id = $1 AND status = 'live'`, c.Org); err != nil {
		t.Fatal(err)
	}
	for _, i := range look(t, s, c.Org, 0) {
		if i.ID == "citations" && (i.Broken < memory.MaxSubjects+3 || len(i.Subjects) != memory.MaxSubjects) {
			t.Errorf("%+v", i)
		}
	}
}

// filled is a small organization in which each invariant has something to hold of.
func filled(t *testing.T, s domain, name string) memory.Caller {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	org, err := s.EnsureOrganization(ctx, name)
	must(err)
	p, err := s.CreateProject(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin}, "shop", nil)
	must(err)
	c := memory.Caller{Org: org, Project: p.ID, User: "u1", Role: memory.RoleAdmin, Door: memory.FromCLI}
	_, err = s.ImportModel(ctx, c, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System}}}, Source: "w.dsl"})
	must(err)
	remember := func(r memory.RememberRequest) memory.Memory {
		t.Helper()
		r.Elements = []string{"shop"}
		m, err := s.Remember(ctx, c, r)
		must(err)
		return m.Memory
	}
	kept := remember(memory.RememberRequest{Content: "The scales are checked on Mondays.", Title: "Scales", Tags: []string{"shift"}})
	remember(memory.RememberRequest{Content: "The till opens at nine.", Title: "Till"})
	remember(memory.RememberRequest{Content: "The till opens at ten.", Supersedes: "Till"})
	_, err = s.Confirm(ctx, c, memory.ConfirmRequest{Memory: kept.Handle, Holds: true})
	must(err)
	_, err = s.Confirm(ctx, c, memory.ConfirmRequest{Memory: kept.Handle, Holds: false, Note: "on Tuesdays"})
	must(err)
	lamp := remember(memory.RememberRequest{Content: "The lamp over the door is broken."})
	must(s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error { // what drift and rivals left at it
		_, err := t.Exec(ctx, `INSERT INTO evidence (org_id, memory_id, revision, version, ordinal, state, found_in) VALUES ($1, $2, 1, 1, 0, 'held', '{door/lamp.go}')`, org, lamp.ID)
		if err == nil {
			_, err = t.Exec(ctx, `INSERT INTO conflicts (org_id, memory_id, other_id, since, source, similarity) VALUES ($1, $2, $3, now(), 'vector', 0.9), ($1, $3, $2, now(), 'vector', 0.9)`, org, lamp.ID, kept.ID)
		}
		return err
	}))
	_, err = s.Forget(ctx, c, memory.ForgetRequest{Memory: lamp.Handle, Erase: true})
	must(err)
	sessions := session.New(s.Service, s.store)
	working := c
	working.Session = "client-1"
	_, err = sessions.StartSession(ctx, working, session.StartRequest{Task: "clean the scales", Elements: []string{"shop"}})
	must(err)
	_, err = sessions.FinishSession(ctx, working, session.FinishRequest{Summary: "cleaned", UsedMemories: []string{kept.Handle}})
	must(err)
	space := memory.SpaceKey{Scope: memory.Project, Owner: p.ID.String()}
	must(s.store.Write(ctx, org, []memory.SpaceKey{space}, func(tx memory.Tx) error {
		records, err := tx.Records(ctx, []uuid.UUID{kept.ID})
		if err != nil {
			return err
		}
		return tx.SetVector(ctx, records[0].Space, records[0].Seq, "test", []float32{1, 0})
	}))
	return c
}

func look(t *testing.T, s domain, org uuid.UUID, sample int) []memory.Invariant {
	t.Helper()
	found, err := s.store.Invariants(context.Background(), org, sample)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// brokenOf gives the subjects of what is broken.
func brokenOf(t *testing.T, s domain, org uuid.UUID) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, i := range look(t, s, org, 0) {
		if i.Broken > 0 || len(i.Subjects) > 0 {
			out[i.ID] = i.Subjects
		}
	}
	return out
}

// What erasures left at memories before they took all of it goes with the upgrade, for every tenant, and nothing else does.
func TestLeftoversOfErasuresGo(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	s := serviceOn(t, d)
	admin := d.ConnectAdmin(t)
	one, two := filled(t, s, "one"), filled(t, s, "two")
	left := func() (n int) {
		t.Helper()
		if err := admin.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM evidence) + (SELECT count(*) FROM conflicts)`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := left()
	if _, err := admin.Exec(t.Context(), `
		INSERT INTO evidence (org_id, memory_id, revision, version, ordinal, state) SELECT org_id, memory_id, 1, 1, 0, 'gone' FROM memories;
		INSERT INTO conflicts (org_id, memory_id, other_id, since, source, similarity)
			SELECT a.org_id, a.memory_id, b.memory_id, now(), 'vector', 1 FROM memories a JOIN memories b ON b.org_id = a.org_id AND b.memory_id <> a.memory_id`); err != nil {
		t.Fatal(err)
	}
	var keep int
	up, err := migrations.FS.ReadFile("00021_erased_leftovers.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.ConnectOwner(t).Exec(t.Context(), strings.SplitN(string(up), "-- +goose Down", 2)[0]); err != nil {
		t.Fatal(err)
	}
	if err := admin.QueryRow(t.Context(), `SELECT sum(n + n * (n - 1))::int FROM (SELECT count(*) AS n FROM memories WHERE status <> 'erased' GROUP BY org_id) k`).Scan(&keep); err != nil {
		t.Fatal(err)
	}
	if n := left(); n != before+keep {
		t.Errorf("%d rows are left, want the %d of what is not erased", n, before+keep)
	}
	for _, c := range []memory.Caller{one, two} {
		if broken := brokenOf(t, s, c.Org)["erased"]; len(broken) > 0 {
			t.Error(broken)
		}
	}
}
