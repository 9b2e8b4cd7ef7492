package faults_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

// poison is a value that no program of this project wrote. $1 is the organization, $2 the memory that gets it, and $3 another.
type poison struct {
	name string
	sql  string
	// unreadable: the text cannot be shown, and the memory says so.
	unreadable bool
	// unnamed: nothing of it contradicts anything, so doctor has nothing to say.
	unnamed bool
}

var poisons = []poison{
	{name: "a flipped bit in a ciphertext", unreadable: true,
		sql: `UPDATE memory_versions SET body = set_byte(body, 40, get_byte(body, 40) # 16) WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "a flipped bit in the head of a ciphertext", unreadable: true,
		sql: `UPDATE memory_versions SET body = set_byte(body, 1, get_byte(body, 1) # 1) WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "half a ciphertext", unreadable: true,
		sql: `UPDATE memory_versions SET body = substr(body, 1, length(body) / 2) WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "a ciphertext of no bytes", unreadable: true,
		sql: `UPDATE memory_versions SET body = '' WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "a ciphertext of zeros, as a disk gives that lost a page", unreadable: true,
		sql: `UPDATE memory_versions SET body = decode(repeat('00', 8192), 'hex') WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "a ciphertext of another memory", unreadable: true,
		sql: `UPDATE memory_versions SET body = (SELECT body FROM memory_versions WHERE org_id = $1 AND memory_id = $3) WHERE org_id = $1 AND memory_id = $2`},
	{name: "a megabyte of noise as ciphertext", unreadable: true,
		sql: `UPDATE memory_versions SET body = decode(repeat(md5(memory_id::text), 65536), 'hex') WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "no text at all", unreadable: true,
		sql: `DELETE FROM memory_versions WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "the largest revision", unreadable: true,
		sql: `UPDATE memories SET revision = 2147483647 WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "the largest counts",
		sql: `UPDATE memories SET confirmations = 2147483647, citations = 2147483647, ignored_by = 2147483647, served = 2147483647, term_count = 2147483647 WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "hashes of nothing",
		sql: `UPDATE memories SET title_hash = '', text_hash = '\x00' WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "an end that is missing",
		sql: `UPDATE memories SET superseded_by = '018f0000-0000-7000-8000-000000000001' WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "an attachment to nothing",
		sql: `UPDATE attachments SET element_id = '018f0000-0000-7000-8000-000000000002' WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "a hundred thousand words in the index",
		sql: `UPDATE memory_terms SET terms = (SELECT array_agg(n::bigint) FROM generate_series(1, 100000) n) WHERE org_id = $1
			AND (space_id, seq) = (SELECT space_id, seq FROM memories WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL)`},
	{name: "a trail that counts no numbers",
		sql: `INSERT INTO audit (org_id, audit_id, at, verb, subject_id, detail) SELECT $1, '018f0000-0000-7000-8000-000000000003', '2030-01-01', 'import', $2, '{"confirmations": "many"}' WHERE $3::uuid IS NOT NULL`},
	{name: "a trail that counts too far",
		sql: `INSERT INTO audit (org_id, audit_id, at, verb, subject_id, detail) SELECT $1, '018f0000-0000-7000-8000-000000000004', '2030-01-01', 'import', $2, '{"confirmations": 1e300}' WHERE $3::uuid IS NOT NULL`},
	{name: "a trail that is no object", unnamed: true,
		sql: `INSERT INTO audit (org_id, audit_id, at, verb, subject_id, detail) SELECT $1, '018f0000-0000-7000-8000-000000000005', '2030-01-01', 'edit', $2, '[[[1]]]' WHERE $3::uuid IS NOT NULL`},
	{name: "names of control characters", unnamed: true,
		sql: `UPDATE memories SET user_name = E'\x01\x1b[31m\u202e' || repeat('x', 100000), agent = E'\x7f', seen_branch = E'\u2066\n\t', seen_commit = repeat('f', 100000), seen_tree = E'\x02'
			WHERE org_id = $1 AND memory_id = $2 AND $3::uuid IS NOT NULL`},
	{name: "a trail that names no memory", unnamed: true,
		sql: `INSERT INTO audit (org_id, audit_id, at, verb, subject_id, detail) SELECT $1, '018f0000-0000-7000-8000-000000000006', '2030-01-01', 'edit', $2, '{"by": "nobody"}' WHERE $3::uuid IS NOT NULL`},
}

// Whatever stands in the database: a server goes on, shows everything else, says of what it cannot show which it is, and
// doctor names what contradicts the rest.
func TestPoison(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := pgtest.NewDatabase(t)
	dir := pgtest.Dir(t)
	key := filepath.Join(dir, "master.key")
	master, _, err := secret.LoadMaster("", key)
	if err != nil {
		t.Fatal(err)
	}
	kept := store.New(d.DB, master)
	s := memory.New(kept, memory.Options{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	org, err := s.EnsureOrganization(ctx, memory.DefaultOrganization)
	must(err)
	admin := memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	remember := func(text string) memory.Memory {
		t.Helper()
		m, err := s.Remember(ctx, admin, memory.RememberRequest{Content: text, Elements: []string{"shop"}, Separate: true})
		must(err)
		return m.Memory
	}
	token, err := s.CreateToken(ctx, admin, memory.TokenRequest{Name: "reader", Role: memory.RoleReviewer})
	must(err)

	settings := []string{"STELE_DATABASE_URL=" + d.App, "STELE_MASTER_KEY_FILE=" + key, "XDG_CONFIG_HOME=" + dir, "STELE_EMBEDDING_PROVIDER=none"}
	server := newServer(t, "the server", settings...)
	server.start()
	c, err := client.New(client.Options{URL: server.address().String(), Token: token.Text, Patience: time.Second})
	must(err)
	t.Cleanup(c.Close)
	owner := d.ConnectAdmin(t)
	_, err = owner.Exec(ctx, "SET session_replication_role = replica") // what keeps such values away in life
	must(err)

	for n, x := range poisons {
		p, err := s.CreateProject(ctx, admin, fmt.Sprintf("shop-%d", n), nil)
		must(err)
		admin.Project = p.ID
		_, err = s.ImportModel(ctx, admin, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System}}}, Source: "w.dsl"})
		must(err)
		healthy := remember("The healthy scales are checked on Mondays.")
		victim := remember(fmt.Sprintf("Shelf poison%d holds parcel %d.", n, n*n))
		tag, err := owner.Exec(ctx, x.sql, pgx.QueryExecModeExec, org, victim.ID, healthy.ID)
		if err != nil || tag.RowsAffected() != 1 {
			t.Fatalf("%s: planted %d rows, %v", x.name, tag.RowsAffected(), err)
		}
		by := memory.Caller{Project: p.ID, Session: "reader"}
		for what, err := range reads(ctx, c, by, healthy, victim) {
			if err != nil {
				t.Errorf("%s: %s: %v", x.name, what, err)
			}
		}
		shown, err := c.Get(ctx, by, []string{victim.Handle})
		if err != nil || len(shown) != 1 {
			t.Errorf("%s: the memory itself: %v", x.name, err)
			continue
		}
		says := slices.ContainsFunc(shown[0].Flags, func(f memory.Flag) bool { return f.Flag == "unreadable" })
		if says != x.unreadable || x.unreadable && shown[0].Content != "" {
			t.Errorf("%s: unreadable %t, text %q", x.name, says, shown[0].Content)
		}
		if err := named(ctx, kept, admin, victim); (err != nil) != x.unnamed {
			t.Errorf("%s: %v", x.name, err)
		}
		if _, err := c.Remember(ctx, by, memory.RememberRequest{Content: "The till opens at nine."}); err != nil {
			t.Errorf("%s: a write after that: %v", x.name, err)
		}
		if !server.ready(ctx) {
			t.Errorf("%s: the server is not ready any more", x.name)
		}
	}
	if broken, _ := examine(t, settings); len(broken["texts"]) == 0 {
		t.Errorf("stele doctor --deep names no text that does not open: %v", broken)
	}
	if !server.kill() {
		t.Error("the server ended by itself")
	}
}

// reads asks for everything there is, in the ways in which clients do. What is healthy is shown.
func reads(ctx context.Context, c *client.Client, by memory.Caller, healthy, victim memory.Memory) map[string]error {
	out := map[string]error{}
	list, err := c.List(ctx, by, memory.ListRequest{Status: "all", Limit: 100})
	if err == nil && !slices.ContainsFunc(list.Memories, func(m memory.Memory) bool { return m.Handle == healthy.Handle && m.Content == healthy.Content }) {
		err = fmt.Errorf("%s is not shown among %d", healthy.Handle, len(list.Memories))
	}
	out["list"] = err
	found, err := c.Recall(ctx, by, memory.RecallRequest{Query: "healthy scales checked"})
	if err == nil && !slices.ContainsFunc(found.Results, func(r memory.Result) bool { return r.Handle == healthy.Handle }) {
		err = fmt.Errorf("%s is not found among %d", healthy.Handle, len(found.Results))
	}
	out["recall"] = err
	_, out["recall of the poisoned"] = c.Recall(ctx, by, memory.RecallRequest{Query: victim.Content, Limit: 100})
	_, out["recall by element"] = c.Recall(ctx, by, memory.RecallRequest{Element: "shop", Limit: 100})
	_, out["history"] = c.History(ctx, by, victim.Handle)
	_, out["timeline"] = c.Timeline(ctx, by, victim.Handle, 5)
	_, out["map"] = c.Map(ctx, by)
	return out
}

// named tells whether what doctor finds names the memory, or its place in the index.
func named(ctx context.Context, s *store.Store, by memory.Caller, m memory.Memory) error {
	found, err := s.Invariants(ctx, by.Org, 0)
	if err != nil {
		return fmt.Errorf("doctor cannot look through the data: %w", err)
	}
	var all []string
	for _, i := range found {
		for _, subject := range i.Subjects {
			if strings.Contains(subject, m.Handle) || strings.Contains(subject, m.ID.String()) {
				return nil
			}
			all = append(all, subject)
		}
	}
	return fmt.Errorf("doctor does not name %s: %v", m.Handle, all)
}
