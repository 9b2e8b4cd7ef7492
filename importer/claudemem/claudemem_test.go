package claudemem_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/importer/claudemem"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

const exported = `{"query":"mill","observations":[
	{"id":3,"memory_session_id":"m1","project":"work/mill","type":"decision","title":"Oak","narrative":"Cogs are of oak.","facts":"[\"Oak lasts\"]","concepts":"[\"wood\"]",
	 "files_read":"[\"/home/kim/mill/wheel/a.go\",\"/etc/passwd\",\"../up.go\"]","files_modified":"[\"stone/b.go\"]","created_at":"2025-03-01T10:00:00Z","created_at_epoch":1740823200000},
	{"id":4,"memory_session_id":"m1","project":"mill","type":"bugfix","text":"An old row.","concepts":"gotcha, 'how-it-works'","facts":"1. first\n2) second","created_at_epoch":1740823200},
	{"id":5,"memory_session_id":"m9","project":"mill","type":"feature","title":null,"narrative":"","facts":"null"}],
 "sessions":[{"memory_session_id":"m1","content_session_id":"c1","platform_source":"codex","user_prompt":"Mend the wheel"}],
 "summaries":[{"id":1,"memory_session_id":"m1","project":"mill","request":"Mend it","learned":"It was dry.","completed":"Oiled.\nTurned.","created_at":"2025-03-01 11:00:00"}],
 "prompts":[]}`

func check(t *testing.T, src importer.Source, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[string]importer.Record{}
	for _, r := range src.Records {
		byKey[r.Key] = r
	}
	oak, old, sum := byKey["claude-mem:observation:m1:3"], byKey["claude-mem:observation:m1:4"], byKey["claude-mem:summary:m1:1"]
	if len(byKey) != 3 {
		t.Fatalf("%v", byKey)
	}
	if oak.Kind != memory.Note || oak.Title != "Oak" || oak.Content != "Cogs are of oak.\n\n- Oak lasts" || !slices.Equal(oak.Tags, []string{"decision", "wood"}) ||
		!slices.Equal(oak.Paths, []string{"stone/b.go", "wheel/a.go"}) || oak.Project != "work/mill" || oak.Agent != "codex" || oak.Anchor.Session != "c1" ||
		!oak.CreatedAt.Equal(time.Date(2025, 3, 1, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", oak)
	}
	if old.Kind != memory.Pitfall || old.Content != "An old row.\n\n- first\n- second" || !slices.Equal(old.Tags, []string{"gotcha", "how-it-works"}) || !old.CreatedAt.Equal(oak.CreatedAt) {
		t.Errorf("%+v", old)
	}
	if sum.Kind != memory.SessionOutcome || sum.Content != "Task: Mend the wheel\n\nRequest: Mend it\n\nLearned: It was dry.\n\nCompleted:\nOiled.\nTurned." ||
		!sum.CreatedAt.Equal(time.Date(2025, 3, 1, 11, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", sum)
	}
	left := ""
	for _, l := range src.Left {
		left += l.What + ": " + l.Why + "\n"
	}
	if strings.Count(left, "outside the project") != 2 || !strings.Contains(left, "observation 5: it is empty") {
		t.Errorf("left out:\n%s", left)
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	src, err := claudemem.Export(strings.NewReader(exported), "export.json")
	check(t, src, err)
}

// TestOldColumns: a database of the first versions, with other names of columns and without the tables that came later, makes the records
// of the same keys.
func TestOldColumns(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", "file:"+name)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`CREATE TABLE sdk_sessions (id INTEGER, claude_session_id TEXT, sdk_session_id TEXT, project TEXT, user_prompt TEXT, platform_source TEXT)`,
		`INSERT INTO sdk_sessions VALUES (1, 'c1', 'm1', 'mill', 'Mend the wheel', 'codex')`,
		`CREATE TABLE observations (id INTEGER, sdk_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT, narrative TEXT, facts TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, created_at TEXT, created_at_epoch INTEGER)`,
		`INSERT INTO observations VALUES (3, 'm1', 'work/mill', NULL, 'decision', 'Oak', 'Cogs are of oak.', '["Oak lasts"]', '["wood"]', '["/home/kim/mill/wheel/a.go","/etc/passwd","../up.go"]', '["stone/b.go"]', '2025-03-01T10:00:00Z', 1740823200000)`,
		`INSERT INTO observations VALUES (4, 'm1', 'mill', 'An old row.', 'bugfix', NULL, NULL, '1. first' || char(10) || '2) second', 'gotcha, ''how-it-works''', NULL, NULL, NULL, 1740823200)`, //nolint:dupword // columns without a value
		`INSERT INTO observations VALUES (5, 'm9', 'mill', '', 'feature', NULL, '', 'null', NULL, NULL, NULL, NULL, NULL)`,                                                                        //nolint:dupword // columns without a value
		`CREATE TABLE session_summaries (id INTEGER, sdk_session_id TEXT, project TEXT, request TEXT, learned TEXT, completed TEXT, created_at TEXT)`,
		`INSERT INTO session_summaries VALUES (1, 'm1', 'mill', 'Mend it', 'It was dry.', 'Oiled.' || char(10) || 'Turned.', '2025-03-01 11:00:00')`,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := claudemem.Read(t.Context(), name)
	check(t, src, err)
}

func TestNotClaudeMem(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x")
	for _, text := range []string{"", "{}", "hello", "SQLite format 3\x00 and no more"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := claudemem.Read(t.Context(), name); !problem.Is(err, problem.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := claudemem.Read(t.Context(), name+"y"); !problem.Is(err, problem.NotFound) {
		t.Errorf("%v", err)
	}
}

// FuzzExport: whatever a file holds, what comes of it can be imported: each record has a key, a kind and a text, within the bounds.
func FuzzExport(f *testing.F) {
	f.Add(exported)
	f.Add(`{"observations":[{"id":"a","concepts":["x"],"facts":[1,null,{"text":"y"}],"text":{},"files_read":[{"path":"/a/b"}],"created_at_epoch":-1}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		src, err := claudemem.Export(strings.NewReader(text), "x.json")
		if err != nil {
			return
		}
		for _, r := range src.Records {
			if r.Key == "" || len(r.Key) > memory.MaxImportKeyBytes || r.Content == "" || len(r.Content) > memory.MaxContentBytes || len(r.Title) > memory.MaxTitleBytes ||
				!slices.Contains(memory.Kinds, r.Kind) || len(r.Tags) > memory.MaxTags || len(r.Paths) > memory.MaxPaths {
				t.Errorf("%+v", r)
			}
		}
	})
}
