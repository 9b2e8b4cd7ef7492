package importer_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/importer/claudemem"
	"github.com/stele-dev/stele/importer/memsearch"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/review"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type mill struct {
	*memory.Service
	store *postgres.Store
	c     memory.Caller
}

func newMill(t *testing.T) *mill {
	t.Helper()
	master, err := secret.GenerateMaster()
	must(t, err)
	m := &mill{store: postgres.New(pgtest.NewDatabase(t).DB, master)}
	m.Service = memory.New(m.store, memory.Options{})
	org, err := m.EnsureOrganization(t.Context(), "org-"+uuid.NewString())
	must(t, err)
	m.c = memory.Caller{Org: org, User: "kim", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := m.CreateProject(t.Context(), m.c, "mill", nil)
	must(t, err)
	m.c.Project = p.ID
	_, err = m.ImportModel(t.Context(), m.c, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{
		{Key: "mill", Name: "Mill", Level: c4model.System},
		{Key: "mill.wheel", Name: "Wheel", Level: c4model.Container, Parent: "mill"},
		{Key: "mill.stone", Name: "Stone", Level: c4model.Container, Parent: "mill"},
	}}, Bindings: []c4model.Binding{{Element: "mill.wheel", Pattern: "wheel/**", Source: "model"}}, Source: "w.dsl"})
	must(t, err)
	return m
}

// rows is how many observations the database has; a tenth as many summaries.
const rows = 10_000

// database writes a database as claude-mem has it, in use: what was written last is in its log only.
func database(t *testing.T, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+name+"?_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	do := func(query string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), query, args...)
		must(t, err)
	}
	do(`CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT, platform_source TEXT, user_prompt TEXT, started_at_epoch INTEGER)`)
	do(`CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER, prompt_text TEXT, created_at_epoch INTEGER)`)
	do(`CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
		concepts TEXT, files_read TEXT, files_modified TEXT, created_at TEXT, created_at_epoch INTEGER)`)
	do(`CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT,
		notes TEXT, files_read TEXT, files_edited TEXT, created_at TEXT, created_at_epoch INTEGER)`)
	do(`BEGIN`)
	start := time.Date(2025, 1, 1, 8, 0, 0, 0, time.UTC)
	for n := range rows {
		s := n / 10
		session, at := fmt.Sprintf("memory-%d", s), start.Add(time.Duration(n)*time.Minute)
		if n%10 == 0 {
			do(`INSERT INTO sdk_sessions VALUES (?, ?, ?, 'mill', 'claude', NULL, ?)`, s+1, fmt.Sprintf("conversation-%d", s), session, at.UnixMilli())
			do(`INSERT INTO user_prompts VALUES (?, ?, 1, ?, ?)`, s+1, fmt.Sprintf("conversation-%d", s), fmt.Sprintf("Look after wheel number %d", s), at.UnixMilli())
			do(`INSERT INTO session_summaries VALUES (?, ?, 'mill', 'Look', '', ?, 'Oiled it', '', NULL, '[]', '["wheel/a.go"]', ?, ?)`, s+1, session,
				fmt.Sprintf("Bearing %d was dry.", s), at.Format(time.RFC3339), at.UnixMilli())
		}
		narrative := fmt.Sprintf("Cog %d of the wheel was worn to %d millimetres and had to be turned.", n, n%97)
		switch n % 500 {
		case 7: // says what the one before says
			narrative = fmt.Sprintf("Cog %d of the wheel was worn to %d millimetres and had to be turned.", n-1, (n-1)%97)
		case 8:
			narrative = ""
		}
		facts, concepts := fmt.Sprintf(`["tooth %d is new"]`, n), `["gotcha","wood"]`
		switch {
		case n%500 == 6:
		case n%500 == 7:
			facts = fmt.Sprintf(`["tooth %d is new"]`, n-1)
		case n%500 == 8:
			facts = ""
		case n%3 == 1: // an old row
			facts, concepts = fmt.Sprintf("- tooth %d is new\n- oil it", n), "pattern, wood"
		}
		title := fmt.Sprintf("Cog %d", n)
		switch n % 500 {
		case 7:
			title = fmt.Sprintf("Cog %d", n-1)
		case 8:
			title = ""
		}
		do(`INSERT INTO observations VALUES (?, ?, 'mill', NULL, 'discovery', ?, NULL, ?, ?, ?, '[]', ?, ?, ?)`, n+1, session, title, facts, narrative, concepts,
			fmt.Sprintf(`["/home/kim/mill/%s/%d.go"]`, []string{"wheel", "stone"}[n%2], n%50), at.Format(time.RFC3339), at.UnixMilli())
	}
	do(`COMMIT`)
	return db
}

// sums are the bytes of a source.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	out := map[string][32]byte{}
	must(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		out[name] = sha256.Sum256(text)
		return err
	}))
	return out
}

// interrupted is a door that closes after some calls, as a kill does between two batches; what it answered is stored.
type interrupted struct {
	importer.Door
	left   int
	cancel context.CancelFunc
}

func (i *interrupted) ImportMemories(ctx context.Context, c memory.Caller, r memory.ImportRequest) (memory.ImportResponse, error) {
	if i.left--; i.left < 0 {
		i.cancel()
	}
	return i.Door.ImportMemories(ctx, c, r)
}

// whole imports a source: dry, broken off, and to its end; it checks that all agree, and gives what the dry run said.
func (m *mill) whole(t *testing.T, read func() importer.Source) importer.Report {
	t.Helper()
	src := read()
	targets := []importer.Target{{Caller: m.c, Name: "mill", Records: src.Records}}
	planned, err := importer.Run(t.Context(), m, src, targets, true, nil)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	part, err := importer.Run(ctx, &interrupted{m, 1, cancel}, src, targets, false, nil)
	if !errors.Is(err, context.Canceled) || part.All() == 0 || part.All() >= planned.All() {
		t.Fatalf("broken off: %v, %+v", err, part.Counts)
	}
	src = read() // as the next run of the program does
	targets[0].Records = src.Records
	rest, err := importer.Run(t.Context(), m, src, targets, false, nil)
	must(t, err)
	if rest.Known != part.Taken+part.Merged || part.Taken+rest.Taken != planned.Taken || part.Merged+rest.Merged != planned.Merged || planned.Refused != rest.Refused {
		t.Fatalf("planned %+v, done %+v and then %+v", planned.Counts, part.Counts, rest.Counts)
	}
	for what, maps := range map[string][3]map[string]int{
		"kinds":    {counts(planned.Projects[0].Kinds), counts(part.Projects[0].Kinds), counts(rest.Projects[0].Kinds)},
		"elements": {planned.Projects[0].Elements, part.Projects[0].Elements, rest.Projects[0].Elements},
	} {
		sum := map[string]int{}
		for _, part := range maps[1:] {
			for k, n := range part {
				sum[k] += n
			}
		}
		if diff := cmp.Diff(maps[0], sum); diff != "" {
			t.Errorf("%s (-planned +done):\n%s", what, diff)
		}
	}
	again, err := importer.Run(t.Context(), m, src, targets, false, nil)
	must(t, err)
	if again.Known != again.All()-again.Refused {
		t.Errorf("again: %+v", again.Counts)
	}
	return planned
}

func counts(of map[memory.Kind]int) map[string]int {
	out := map[string]int{}
	for k, n := range of {
		out[string(k)] = n
	}
	return out
}

// TestLargeClaudeMem: a database of ten thousand observations, in use: the dry run is the result, a run that was broken off goes on, times
// and elements are kept, nothing of the source changes, and neither the map nor the queue is flooded.
func TestLargeClaudeMem(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "claude-mem.db")
	database(t, name)
	before := sums(t, dir)
	if len(before) < 2 {
		t.Fatal("the database has no log: it is not in use")
	}
	documented, err := m.Map(t.Context(), m.c)
	must(t, err)
	report := m.whole(t, func() importer.Source {
		src, err := claudemem.Read(t.Context(), name)
		must(t, err)
		return src
	})
	if report.Taken != rows+rows/10-2*rows/500 || report.Merged != rows/500 || len(report.Left) != rows/500 || report.Refused != 0 {
		t.Errorf("%+v, %d left out", report.Counts, len(report.Left))
	}
	p := report.Projects[0]
	if p.Kinds[memory.SessionOutcome] != rows/10 || p.Kinds[memory.Convention] < rows/4 || p.Elements["mill.wheel"] < rows/2 || p.Elements[""] == 0 {
		t.Errorf("%+v", p)
	}
	if diff := cmp.Diff(before, sums(t, dir)); diff != "" {
		t.Errorf("the source changed:\n%s", diff)
	}
	got, err := m.Get(t.Context(), m.c, []string{"Cog 2"})
	must(t, err)
	if c := got[0]; c.Kind != memory.Pitfall || !c.CreatedAt.Equal(time.Date(2025, 1, 1, 8, 2, 0, 0, time.UTC)) ||
		!strings.Contains(c.Content, "- tooth 2 is new") || c.Anchor.Session != "conversation-0" || c.Author != "claude-code/kim" {
		t.Errorf("%+v", c)
	}
	after, err := m.Map(t.Context(), m.c)
	must(t, err)
	if after.Headline != documented.Headline || len(after.Holes) != len(documented.Holes) {
		t.Errorf("the map said %q and says %q", documented.Headline, after.Headline)
	}
	queue, err := review.New(m.Service, m.store).ReviewQueue(t.Context(), m.c, review.QueueRequest{All: true})
	must(t, err)
	if len(queue.Groups) != 2 { // the run that was broken off, and the one that went on
		t.Errorf("the queue has %d groups", len(queue.Groups))
	}
	found, err := m.store.Invariants(t.Context(), m.c.Org, 100)
	must(t, err)
	for _, i := range found {
		if i.Broken > 0 {
			t.Errorf("%s: %v", i.Claim, i.Subjects)
		}
	}
}

// TestManyDays: two hundred days of memsearch.
func TestManyDays(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	dir := t.TempDir()
	days := filepath.Join(dir, ".memsearch", "memory")
	must(t, os.MkdirAll(days, 0o700))
	for d := range 200 {
		day := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, d)
		var b strings.Builder
		fmt.Fprintf(&b, "# %s\n\n## Session 09:00\n\n", day.Format(time.DateOnly))
		for n := range 8 {
			fmt.Fprintf(&b, "### %02d:30\n<!-- session:s-%d turn:t-%d transcript:/home/kim/my mill/%d.jsonl -->\n", 9+n, d, n, d)
			if n == 7 {
				b.WriteString("- Memory summary unavailable: it took too long\n")
				continue
			}
			fmt.Fprintf(&b, "- Oiled bearing %d of day %d.\n- It squeaks less.\n\n", n, d)
		}
		b.WriteString("\n## Session 18:00\n\n")
		must(t, os.WriteFile(filepath.Join(days, day.Format(time.DateOnly)+".md"), []byte(b.String()), 0o600))
	}
	before := sums(t, dir)
	report := m.whole(t, func() importer.Source {
		src, err := memsearch.Read(os.DirFS(dir), time.UTC)
		must(t, err)
		return src
	})
	if report.Taken != 200*7 || len(report.Left) != 200 || len(report.Files) != 200 || report.Projects[0].Kinds[memory.SessionOutcome] != 200*7 {
		t.Errorf("%+v, %d left out of %d files", report.Counts, len(report.Left), len(report.Files))
	}
	if diff := cmp.Diff(before, sums(t, dir)); diff != "" {
		t.Errorf("the source changed:\n%s", diff)
	}
	list, err := m.List(t.Context(), m.c, memory.ListRequest{Limit: 1})
	must(t, err)
	last := list.Memories[0]
	if last.Anchor == nil || last.Anchor.Session != "s-199" || last.Anchor.Turn != "t-6" || last.Anchor.Transcript != "/home/kim/my mill/199.jsonl" ||
		last.Content != "- Oiled bearing 6 of day 199.\n- It squeaks less." || !last.CreatedAt.Equal(time.Date(2025, 7, 19, 15, 30, 0, 0, time.UTC)) {
		t.Errorf("%+v %+v", last, last.Anchor)
	}
}
