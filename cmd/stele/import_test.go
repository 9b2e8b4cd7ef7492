package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// claudeMem writes a database as claude-mem has it, with a number of observations and a tenth as many summaries, and leaves it in use: what
// was written is in its log only. No two records say the same.
func claudeMem(t *testing.T, observations int) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "claude-mem.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the folder goes with the test
	db.SetMaxOpenConns(1)
	do := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	do(`CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT, user_prompt TEXT)`)
	do(`CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
		concepts TEXT, files_read TEXT, files_modified TEXT, created_at TEXT, created_at_epoch INTEGER)`)
	do(`CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
		notes TEXT, created_at TEXT, created_at_epoch INTEGER)`)
	do(`BEGIN`)
	for n := range observations {
		at := time.Date(2025, 1, 1, 8, n, 0, 0, time.UTC)
		session := fmt.Sprintf("memory-%d", n/10)
		if n%10 == 0 {
			do(`INSERT INTO sdk_sessions VALUES (?, ?, ?, 'shop', ?)`, n+1, fmt.Sprintf("conversation-%d", n/10), session, fmt.Sprintf("Sort shelf %d", n/10))
			do(`INSERT INTO session_summaries VALUES (?, ?, 'shop', 'Sort', '', ?, 'Sorted it', '', NULL, ?, ?)`, n+1, session, fmt.Sprintf("Shelf %d was full.", n/10),
				at.Format(time.RFC3339), at.UnixMilli())
		}
		do(`INSERT INTO observations VALUES (?, ?, 'shop', NULL, 'discovery', ?, NULL, ?, ?, '["gotcha"]', '[]', '[]', ?, ?)`, n+1, session, fmt.Sprintf("Tin %d", n),
			fmt.Sprintf(`["lid %d is loose"]`, n), fmt.Sprintf("Tin %d holds %d grams of tea and leaks at the lid.", n, n%97), at.Format(time.RFC3339), at.UnixMilli())
	}
	do(`COMMIT`)
	return file
}

// bytesOf are the bytes of the files beside one.
func bytesOf(t *testing.T, file string) map[string][32]byte {
	t.Helper()
	out := map[string][32]byte{}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = sha256.Sum256(text)
	}
	if len(out) < 2 {
		t.Fatalf("the database has no log, so it is not in use: %v", slices.Collect(maps.Keys(out)))
	}
	return out
}

func reportOf(t *testing.T, out []byte) (r importer.Report) {
	t.Helper()
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// An import that is killed in the middle goes on when it is run again: what it stored is known, the rest is taken, the two are what a dry
// run said, and the source is as it was.
func TestImportIsKilled(t *testing.T) {
	t.Parallel()
	path, at := program(t), pgtest.NewDatabase(t)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	key, err := master.Encode()
	if err != nil {
		t.Fatal(err)
	}
	const observations = 1600 // four calls
	file := claudeMem(t, observations)
	before := bytesOf(t, file)
	home := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir, cmd.Stderr = home, os.Stderr
		cmd.Env = append(os.Environ(), "STELE_DATABASE_URL="+at.App, "STELE_DATABASE_OWNER_URL=", "STELE_MASTER_KEY="+key, "STELE_SERVER=", "STELE_PROJECT=shop", "STELE_USER=kim",
			"STELE_EMBEDDING_PROVIDER=none", "STELE_CONFIG=", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home, "STELE_DATA_DIR="+home)
		return cmd
	}
	run := func(args ...string) []byte {
		t.Helper()
		out, err := command(args...).Output()
		if err != nil {
			t.Fatalf("stele %v: %v", args, err)
		}
		return out
	}
	run("project", "create", "shop")
	planned := reportOf(t, run("import", "claude-mem", file, "--dry-run", "--json"))
	if planned.Taken != observations+observations/10 || planned.All() != planned.Taken {
		t.Fatalf("planned %+v", planned.Counts)
	}

	conn, err := pgx.Connect(t.Context(), at.Admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	stored := func() (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM memories").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	killed := command("import", "claude-mem", file, "--json")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- killed.Wait() }()
	for stored() == 0 {
		select {
		case err := <-ended:
			t.Fatalf("the import ended before it stored anything: %v", err)
		default:
		}
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("the import ended before it could be killed")
	}
	// The server takes back the transaction of a client that is gone; it may take a moment to see that.
	for {
		var busy int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'").Scan(&busy); err != nil {
			t.Fatal(err)
		}
		if busy == 0 {
			break
		}
	}
	part := stored()
	if part == 0 || part >= planned.Taken {
		t.Fatalf("the killed import stored %d of %d", part, planned.Taken)
	}

	rest := reportOf(t, run("import", "claude-mem", file, "--json"))
	if rest.Known != part || rest.Known+rest.Taken != planned.Taken || rest.All() != planned.All() || stored() != planned.Taken {
		t.Errorf("planned %+v, killed after %d, then %+v; %d are stored", planned.Counts, part, rest.Counts, stored())
	}
	again := reportOf(t, run("import", "claude-mem", file, "--json"))
	if again.Known != planned.Taken || again.All() != again.Known || stored() != planned.Taken {
		t.Errorf("again: %+v, %d are stored", again.Counts, stored())
	}
	if after := bytesOf(t, file); !maps.Equal(before, after) {
		t.Error("the source changed")
	}
}

// What is imported on a server is what a dry run said, by whom the token speaks for; a second run finds all known, another tenant's
// token none of it.
func TestImportOnServer(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	const observations = 700 // two calls
	file := claudeMem(t, observations)
	before := bytesOf(t, file)
	if _, err := s.local.CreateProject(t.Context(), s.admin, "shop", nil); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"STELE_DATABASE_URL": nowhere, "STELE_TOKEN": s.token(t, memory.TokenRequest{Name: "lea"})}
	do := func(args ...string) importer.Report {
		t.Helper()
		out, code := remotely(t, variables, append([]string{"--server", s.url, "--json", "import", "claude-mem", file}, args...)...)
		if code != exitDone {
			t.Fatalf("exit code %d: %s", code, out)
		}
		return reportOf(t, []byte(out))
	}
	planned, done, again := do("--dry-run"), do(), do()
	if want := (importer.Counts{Taken: observations + observations/10}); planned.Counts != want || done.Counts != want || again.Counts != (importer.Counts{Known: want.Taken}) {
		t.Errorf("planned %+v, done %+v, again %+v", planned.Counts, done.Counts, again.Counts)
	}
	if !maps.Equal(planned.Projects[0].Kinds, done.Projects[0].Kinds) || done.Projects[0].Kinds[memory.Pitfall] != observations || done.Projects[0].Kinds[memory.SessionOutcome] != observations/10 {
		t.Errorf("planned %+v, done %+v", planned.Projects, done.Projects)
	}
	if after := bytesOf(t, file); !maps.Equal(before, after) {
		t.Error("the source changed")
	}
	out, code := remotely(t, variables, "--server", s.url, "--project", "shop", "--json", "get", "Tin 5")
	var got struct {
		Memories []memory.Memory `json:"memories"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitDone || len(got.Memories) != 1 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if m := got.Memories[0]; m.Kind != memory.Pitfall || !m.Unreviewed || m.Author != "claude-code/lea" || !m.CreatedAt.Equal(time.Date(2025, 1, 1, 8, 5, 0, 0, time.UTC)) {
		t.Errorf("%+v", m)
	}
	other, err := s.local.EnsureOrganization(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	stranger := s
	stranger.admin.Org = other
	project, err := s.local.FindProject(t.Context(), s.admin, "shop")
	if err != nil {
		t.Fatal(err)
	}
	variables["STELE_TOKEN"] = stranger.token(t, memory.TokenRequest{Name: "lea", Role: memory.RoleAdmin})
	if out, code := remotely(t, variables, "--server", s.url, "--json", "import", "claude-mem", file, "--map", "*="+project.ID.String()); code == exitDone {
		t.Errorf("another tenant imported into the project: %s", out)
	}
}
