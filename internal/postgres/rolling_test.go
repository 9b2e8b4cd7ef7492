package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/migrations"
)

// expand is a release from now: it does to every table of a tenant all that a migration may do without raising the floor.
// A statement of this program that counts on the columns there are today fails on it.
const expand = `-- Why: the next release adds something everywhere.
-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE t text;
BEGIN
    FOR t IN SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relrowsecurity LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN later_note text', t);
        EXECUTE format('ALTER TABLE %I ADD COLUMN later_flag boolean NOT NULL DEFAULT false', t);
        EXECUTE format('ALTER TABLE %I ADD COLUMN later_count bigint NOT NULL DEFAULT 7', t);
    END LOOP;
END $$;
-- +goose StatementEnd
CREATE TABLE later_things (
    org_id   uuid NOT NULL REFERENCES organizations (org_id),
    thing_id uuid NOT NULL,
    PRIMARY KEY (org_id, thing_id)
);
ALTER TABLE later_things ENABLE ROW LEVEL SECURITY;
ALTER TABLE later_things FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON later_things USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON later_things TO stele_app;
`

const concurrent = `-- Why: an index on a table that is in use.
-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS memories_later;
CREATE INDEX CONCURRENTLY memories_later ON memories (org_id, later_flag) WHERE later_flag;
`

// contract takes away what this program reads, and says so.
const contract = `-- Why: the release after it takes something away.
-- +goose Up
ALTER TABLE memories DROP COLUMN term_count;
CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT %d::bigint';
`

// release is the migrations of this program and some of a later one.
func release(t *testing.T, later ...string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	names, err := migrations.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := migrations.FS.ReadFile(name.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[name.Name()] = &fstest.MapFile{Data: content}
	}
	for n, text := range later {
		files[fmt.Sprintf("%05d_later.sql", postgres.WantedVersion()+1+int64(n))] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// TestOldBinaryServesNewerSchema: while a server of this release works, a later one migrates the database under it, as far
// as it only adds; the server goes on, with the connections and prepared statements it has, and another of this release
// can be started. When the floor rises, none is started any more.
func TestOldBinaryServesNewerSchema(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	running := &rolling{t: t, s: memory.New(store.New(d.DB, master), memory.Options{})}
	running.begin()
	running.everything("barn") // connections have their statements prepared

	// Somebody writes and reads all the time meanwhile.
	ctx, stop := context.WithCancel(t.Context())
	traffic := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			if err := running.writeAndRead(ctx, n); err != nil {
				if ctx.Err() != nil {
					err = nil
				}
				traffic <- err
				return
			}
			if n == 0 {
				close(begun)
			}
		}
	}()
	select {
	case <-begun:
	case err := <-traffic:
		t.Fatal(err)
	}
	own, err := d.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	later := release(t, expand, concurrent)
	if _, err := postgres.MigrateFS(t.Context(), d.Owner, later); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-traffic; err != nil {
		t.Errorf("traffic during the migration: %v", err)
	}
	running.everything("mill")

	ahead := postgres.WantedVersion() + 2
	v, err := d.Version(t.Context())
	if want := (postgres.Version{Current: ahead, Wanted: ahead - 2, Floor: own.Floor}); err != nil || v != want {
		t.Errorf("version %+v, %v; want %+v", v, err, want)
	}
	// Another replica of this release, and the migration step that runs before it.
	if before, err := postgres.Migrate(t.Context(), d.Owner); err != nil || before.Current != ahead {
		t.Errorf("migrating with the older release: %+v, %v; want it to leave the schema at %d", before, err, ahead)
	}
	db, err := postgres.Open(t.Context(), postgres.Config{URL: d.App, OwnerURL: d.Owner})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	second := &rolling{t: t, s: memory.New(store.New(db, master), memory.Options{}), c: running.c}
	second.everything("dock")
	if err := postgres.VerifyIsolation(t.Context(), d.ConnectOwner(t)); err != nil {
		t.Error(err)
	}

	if _, err := postgres.MigrateFS(t.Context(), d.Owner, release(t, expand, concurrent, fmt.Sprintf(contract, ahead+1))); err != nil {
		t.Fatal(err)
	}
	_, err = postgres.Open(t.Context(), postgres.Config{URL: d.App, OwnerURL: d.Owner})
	if p, ok := problem.As(err); !ok || !strings.Contains(p.Detail, "newer than this stele") {
		t.Errorf("below the floor: %v, want a refusal", err)
	}
	// The one that runs can be told to stop sending it work.
	if v, err := d.Version(t.Context()); err != nil || v.Serves() == nil {
		t.Errorf("the running server sees %+v, %v; want a schema it does not serve", v, err)
	}
}

// rolling is a server of this release that goes on while the schema changes.
type rolling struct {
	t *testing.T
	s *memory.Service
	c memory.Caller
}

func (r *rolling) begin() {
	r.t.Helper()
	org, err := r.s.EnsureOrganization(r.t.Context(), "rolling")
	r.must("organization", err)
	r.c = memory.Caller{Org: org, User: "ana", Role: memory.RoleAdmin, Door: memory.FromCLI, Session: "s-1"}
	p, err := r.s.CreateProject(r.t.Context(), r.c, "shop", nil)
	r.must("project", err)
	r.c.Project = p.ID
}

func (r *rolling) must(what string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

func (r *rolling) writeAndRead(ctx context.Context, n int) error {
	text := fmt.Sprintf("Counter number%d stands in aisle%d of hall%d.", n, n*7, n*13)
	m, err := r.s.Remember(ctx, r.c, memory.RememberRequest{Content: text, Paths: []string{"hall/plan.txt"}})
	if err != nil {
		return fmt.Errorf("remember %d: %w", n, err)
	}
	found, err := r.s.Recall(ctx, r.c, memory.RecallRequest{Query: fmt.Sprintf("number%d", n)})
	if err != nil {
		return fmt.Errorf("recall %d: %w", n, err)
	}
	if !slices.ContainsFunc(found.Results, func(x memory.Result) bool { return x.Handle == m.Memory.Handle }) {
		return errors.New("what was just written is not found: " + text)
	}
	return nil
}

// everything does what doors can ask for, once; word makes its texts differ from those of another round.
func (r *rolling) everything(word string) {
	r.t.Helper()
	ctx, s, c := r.t.Context(), r.s, r.c
	model := &c4model.Model{Elements: []c4model.Element{
		{Key: "shop", Name: "Shop", Level: c4model.System},
		{Key: "shop." + word, Name: word, Level: c4model.Container, Parent: "shop", Properties: map[string]string{"path": "/" + word}},
	}}
	_, err := s.ImportModel(ctx, c, memory.ModelImport{Model: model, Source: "model.dsl"})
	r.must("import a model", err)
	_, err = s.ImportDecisions(ctx, c, []c4model.Decision{{ID: "1", Title: "Keep " + word, Status: "accepted", Summary: "Because."}}, "adr")
	r.must("import decisions", err)

	remember := func(q memory.RememberRequest) string {
		m, err := s.Remember(ctx, c, q)
		r.must("remember", err)
		return m.Memory.Handle
	}
	trap := remember(memory.RememberRequest{Kind: memory.Pitfall, Title: "Trap " + word, Content: "The " + word + " gate closes after 30 seconds. See [[ADR-1]].",
		Why: "springs", Elements: []string{"shop." + word}, Paths: []string{word + "/gate.go"}, Tags: []string{word}, Expires: "30d"})
	again, err := s.Remember(ctx, c, memory.RememberRequest{Kind: memory.Pitfall, Content: "The " + word + " gate closes after 30 seconds. See [[ADR-1]]."})
	r.must("restate", err)
	if again.Memory.Handle != trap {
		r.t.Errorf("%s: a restatement was stored as %s beside %s", word, again.Memory.Handle, trap)
	}
	rule := remember(memory.RememberRequest{Kind: memory.Convention, Content: "Every " + word + " shelf is labelled, see [[Trap " + word + "]].", Scope: memory.Organization})
	remember(memory.RememberRequest{Content: "My " + word + " bench is the left one.", Scope: memory.Personal})
	newer := remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "The " + word + " gate closes after 40 seconds now.", Supersedes: trap})

	found, err := s.Recall(ctx, c, memory.RecallRequest{Query: "when does the " + word + " gate close", Explain: true})
	r.must("recall", err)
	if len(found.Results) == 0 || found.Results[0].Handle != newer {
		r.t.Errorf("%s: recall gave %d results, want %s first", word, len(found.Results), newer)
	}
	_, err = s.Recall(ctx, c, memory.RecallRequest{Element: "shop." + word})
	r.must("recall by element", err)
	_, err = s.Confirm(ctx, c, memory.ConfirmRequest{Memory: newer, Holds: true, Note: "seen"})
	r.must("confirm", err)
	_, err = s.Confirm(ctx, c, memory.ConfirmRequest{Memory: rule, Holds: false, Note: "not any more"})
	r.must("dispute", err)
	tags := []string{"gate"}
	_, err = s.Edit(ctx, c, memory.EditRequest{Memory: newer, Tags: &tags})
	r.must("edit", err)
	_, err = s.Forget(ctx, c, memory.ForgetRequest{Memory: newer, Reason: "gone"})
	r.must("forget", err)
	_, err = s.Restore(ctx, c, newer)
	r.must("restore", err)
	gone := remember(memory.RememberRequest{Content: "The " + word + " safe code hangs on the wall."})
	_, err = s.Forget(ctx, c, memory.ForgetRequest{Memory: gone, Erase: true, Reason: "secret"})
	r.must("erase", err)

	list, err := s.List(ctx, c, memory.ListRequest{Status: "all"})
	r.must("list", err)
	if len(list.Memories) < 5 {
		r.t.Errorf("%s: %d memories are listed, want at least 5", word, len(list.Memories))
	}
	_, err = s.Get(ctx, c, []string{trap, newer})
	r.must("get", err)
	_, err = s.History(ctx, c, newer)
	r.must("history", err)
	_, err = s.Timeline(ctx, c, newer, 5)
	r.must("timeline", err)
	_, err = s.Why(ctx, c, word+"/gate.go", 0)
	r.must("why", err)
	_, err = s.Context(ctx, c, memory.ContextRequest{Task: "the gate of " + word})
	r.must("context", err)
	_, err = s.Map(ctx, c)
	r.must("map", err)
	_, err = s.CreateProject(ctx, c, "annex "+word, nil)
	r.must("create a project", err)

	retried := c
	retried.Retry = "key-" + word
	request := memory.RememberRequest{Content: "The " + word + " clock is five minutes fast."}
	first, err := s.Remember(ctx, retried, request)
	r.must("remember under a key", err)
	second, err := s.Remember(ctx, retried, request)
	r.must("retry", err)
	if first.Memory.Handle != second.Memory.Handle || second.Deduplicated {
		r.t.Errorf("%s: a retry was answered with %+v", word, second)
	}
	token, err := s.CreateToken(ctx, c, memory.TokenRequest{Name: word, Role: memory.RoleAgent})
	r.must("create a token", err)
	_, err = s.RevokeToken(ctx, c, token.ID.String())
	r.must("revoke a token", err)
	_, err = s.AuditLog(ctx, c, memory.AuditRequest{})
	r.must("audit log", err)
}
