package exported_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/importer/exported"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/export"
	"github.com/stele-dev/stele/memory/postgres"
)

// mill is a service on a database of its own, with a clock.
type mill struct {
	*memory.Service
	store *postgres.Store
	now   time.Time
}

func newMill(t *testing.T) *mill {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	m := &mill{store: postgres.New(pgtest.NewDatabase(t).DB, master), now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	m.Service = memory.New(m.store, memory.Options{Now: func() time.Time { return m.now }})
	return m
}

type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

func must(t failing, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// project makes an organization with one project; with a model unless it comes later.
func (m *mill) project(t failing, model bool) (memory.Caller, memory.ProjectInfo) {
	t.Helper()
	ctx := context.Background()
	org, err := m.EnsureOrganization(ctx, "org-"+uuid.NewString())
	must(t, err)
	c := memory.Caller{Org: org, User: "kim", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := m.CreateProject(ctx, c, "mill", nil)
	must(t, err)
	c.Project = p.ID
	if model {
		m.model(t, c)
	}
	return c, p
}

func (m *mill) model(t failing, c memory.Caller) {
	t.Helper()
	_, err := m.ImportModel(context.Background(), c, memory.ModelImport{Model: &c4model.Model{Elements: []c4model.Element{
		{Key: "mill", Name: "Mill", Level: c4model.System},
		{Key: "mill.wheel", Name: "Wheel", Level: c4model.Container, Parent: "mill"},
		{Key: "mill.stone", Name: "Stone", Level: c4model.Container, Parent: "mill"},
	}}, Bindings: []c4model.Binding{{Element: "mill.wheel", Pattern: "wheel/**", Source: "model"}}, Source: "w.dsl"})
	must(t, err)
}

// memories is everything that an export says of the memories, comparable: elements in one order.
func memories(t failing, document []byte) []map[string]any {
	t.Helper()
	var d struct {
		Memories []map[string]any `json:"memories"`
	}
	must(t, json.Unmarshal(document, &d))
	for _, m := range d.Memories {
		if elements, ok := m["elements"].([]any); ok {
			slices.SortFunc(elements, func(a, b any) int {
				return cmp.Compare(a.(map[string]any)["key"].(string), b.(map[string]any)["key"].(string))
			})
		}
	}
	return d.Memories
}

func (m *mill) json(t failing, c memory.Caller, p memory.ProjectInfo) []byte {
	t.Helper()
	var out bytes.Buffer
	_, err := export.JSON(context.Background(), &out, m, c, p, export.Options{All: true, History: true})
	must(t, err)
	return out.Bytes()
}

func (m *mill) restore(t failing, c memory.Caller, src importer.Source) importer.Report {
	t.Helper()
	targets := []importer.Target{{Caller: c, Name: "mill", Records: src.Records}}
	planned, err := importer.Run(context.Background(), m, src, targets, true, nil)
	must(t, err)
	done, err := importer.Run(context.Background(), m, src, targets, false, nil)
	must(t, err)
	if planned.Counts != done.Counts {
		t.Fatalf("the dry run says %+v, the import did %+v", planned.Counts, done.Counts)
	}
	again, err := importer.Run(context.Background(), m, src, targets, false, nil)
	must(t, err)
	if again.Known != again.All() {
		t.Fatalf("again: %+v, %+v", again.Counts, again.Files)
	}
	return done
}

// live draws one handle of the caller's memories; "" where there is none.
func (m *mill) draw(t *rapid.T, c memory.Caller, status memory.Status) string {
	list, err := m.List(context.Background(), c, memory.ListRequest{Status: status})
	must(t, err)
	if len(list.Memories) == 0 {
		return ""
	}
	return rapid.SampledFrom(list.Memories).Draw(t, "memory").Handle
}

var words = rapid.SampledFrom([]string{"the wheel turns", "Wasser läuft", "水車は回る", "\"quoted\": yes", "- a list", "---", "a #tag", "مطحنة", "x\u2028y", "tab\there", "[[Weir]]",
	"[[mill.stone]]", "`code`", "e\u0301", "\u00a0", "*", "<b>", "🌾", "{a: 1}", "\\", "'", "trailing \r\nline", "null", "2030-01-01", "m-aaaaaaa"})

// act does one thing that people and agents do.
func (m *mill) act(t *rapid.T, c memory.Caller, n int) {
	ctx := context.Background()
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 100_000).Draw(t, "seconds")) * time.Second).Add(time.Duration(n) * time.Microsecond)
	if rapid.Bool().Draw(t, "agent") {
		c.Agent, c.Door = "claude-code", memory.FromMCP
	}
	text := func(label string, most int) string {
		return strings.Join(rapid.SliceOfN(words, 1, most).Draw(t, label), "\n")
	}
	var err error
	switch rapid.SampledFrom([]string{"remember", "remember", "remember", "supersede", "confirm", "dispute", "retire", "restore", "edit", "erase", "promote", "import"}).Draw(t, "act") {
	case "remember", "supersede":
		r := memory.RememberRequest{Kind: rapid.SampledFrom(memory.Kinds[:3]).Draw(t, "kind"), Content: fmt.Sprintf("%s %d", text("content", 4), n), Separate: true,
			Scope:    rapid.SampledFrom([]memory.Scope{memory.Project, memory.Project, memory.Personal, memory.Organization}).Draw(t, "scope"),
			Elements: rapid.SampledFrom([][]string{nil, {"mill.wheel"}, {"mill.stone", "mill"}}).Draw(t, "elements"),
			Paths:    rapid.SampledFrom([][]string{nil, {"wheel/a.go"}, {"weir/**", "wheel/**"}}).Draw(t, "paths"),
			Tags:     rapid.SampledFrom([][]string{nil, {"water"}, {"no", "水"}}).Draw(t, "tags")}
		if rapid.Bool().Draw(t, "titled") {
			r.Title = fmt.Sprintf("%s %d", rapid.SampledFrom([]string{"Weir", "Rad \"links\"", "水"}).Draw(t, "title"), rapid.IntRange(0, 5).Draw(t, "number"))
		}
		if rapid.Bool().Draw(t, "reasoned") {
			r.Why = text("why", 2)
		}
		if rapid.IntRange(0, 3).Draw(t, "expires") == 0 {
			r.Expires = "1d"
		}
		if rapid.IntRange(0, 3).Draw(t, "anchored") == 0 {
			r.Anchor = &memory.Anchor{Client: "codex", Session: "s", Turn: "t", Transcript: "/tmp/a b.jsonl"}
		}
		if rapid.Bool().Draw(t, "seen") {
			r.Seen = &memory.Seen{Commit: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", Branch: "main"}
		}
		if ref := m.draw(t, c, memory.Live); ref != "" && rapid.Bool().Draw(t, "supersedes") {
			r.Supersedes = ref
		}
		_, err = m.Remember(ctx, c, r)
	case "import":
		_, err = m.ImportMemories(ctx, c, memory.ImportRequest{Records: []memory.ImportRecord{{Key: fmt.Sprint("n:", n), Kind: memory.SessionOutcome,
			Content: text("outcome", 2), CreatedAt: m.now.Add(-time.Hour), User: "sam", Paths: []string{"wheel/b.go"}}}})
	case "promote":
		if ref := m.draw(t, c, memory.Live); ref != "" {
			_, err = m.Promote(ctx, c, ref)
		}
	case "restore":
		if ref := m.draw(t, c, memory.Retired); ref != "" {
			_, err = m.Restore(ctx, c, ref)
		}
	default:
		ref := m.draw(t, c, memory.Live)
		if ref == "" {
			return
		}
		switch rapid.SampledFrom([]string{"confirm", "dispute", "retire", "edit", "erase"}).Draw(t, "what") {
		case "confirm":
			_, err = m.Confirm(ctx, c, memory.ConfirmRequest{Memory: ref, Holds: true})
		case "dispute":
			_, err = m.Confirm(ctx, c, memory.ConfirmRequest{Memory: ref, Note: text("note", 2)})
		case "retire":
			_, err = m.Forget(ctx, c, memory.ForgetRequest{Memory: ref})
		case "erase":
			_, err = m.Forget(ctx, c, memory.ForgetRequest{Memory: ref, Erase: true})
		case "edit":
			tags := []string{"edited", fmt.Sprint(n)}
			_, err = m.Edit(ctx, c, memory.EditRequest{Memory: ref, Tags: &tags})
		}
	}
	if _, ours := problem.As(err); err != nil && !ours { // what was drawn may be refused
		t.Fatalf("%v", err)
	}
}

// TestExportImportsBackEqual: whatever an organization remembers, its export in either form, imported into an empty one and exported
// again, is equal; what the tables say of each other holds there.
func TestExportImportsBackEqual(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		c, p := m.project(t, true)
		for n := range rapid.IntRange(1, 12).Draw(t, "acts") {
			m.act(t, c, n)
		}
		m.now = m.now.Add(time.Hour)
		document := m.json(t, c, p)
		want := memories(t, document)

		asJSON, err := exported.JSON(bytes.NewReader(document), "export.json")
		must(t, err)
		folder := filepath.Join(dir, uuid.NewString())
		_, err = export.Markdown(context.Background(), folder, m, c, p, export.Options{All: true, History: true})
		must(t, err)
		asMarkdown, err := exported.Markdown(os.DirFS(folder))
		must(t, err)
		if len(asMarkdown.Left) > 0 {
			t.Fatalf("left out: %v", asMarkdown.Left)
		}
		for form, src := range map[string]importer.Source{"JSON": asJSON, "Markdown": asMarkdown} {
			there, there2 := m.project(t, true)
			report := m.restore(t, there, src)
			if report.Taken != len(want) {
				t.Fatalf("%s: %+v, want %d taken: %+v", form, report.Counts, len(want), report.Files)
			}
			if diff := gocmp.Diff(want, memories(t, m.json(t, there, there2))); diff != "" {
				t.Fatalf("%s (-exported +exported again):\n%s", form, diff)
			}
			found, err := m.store.Invariants(context.Background(), there.Org, 0)
			must(t, err)
			for _, i := range found {
				if i.Broken > 0 {
					t.Fatalf("%s: %s: %v", form, i.Claim, i.Subjects)
				}
			}
		}
	})
}

// TestModelMayComeLater: memories that are restored before the model find their elements when it comes.
func TestModelMayComeLater(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	c, p := m.project(t, true)
	_, err := m.Remember(t.Context(), c, memory.RememberRequest{Content: "It squeaks.", Elements: []string{"mill.stone"}, Paths: []string{"wheel/a.go"}})
	must(t, err)
	document := m.json(t, c, p)
	src, err := exported.JSON(bytes.NewReader(document), "export.json")
	must(t, err)
	there, p2 := m.project(t, false)
	m.restore(t, there, src)
	if view, err := m.Model(t.Context(), there); err != nil || len(view.Elements) != 0 {
		t.Fatalf("the model has %v, %v", view.Elements, err)
	}
	m.model(t, there)
	if diff := gocmp.Diff(memories(t, document), memories(t, m.json(t, there, p2))); diff != "" {
		t.Fatal(diff)
	}
}

// TestAgentsRestoreNothing: without the reviewer role an export is an import like any other.
func TestAgentsRestoreNothing(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	c, p := m.project(t, true)
	for _, text := range []string{"It squeaks.", "It stopped."} {
		out, err := m.Remember(t.Context(), c, memory.RememberRequest{Content: text, Elements: []string{"mill.stone"}})
		must(t, err)
		if text == "It stopped." {
			_, err = m.Forget(t.Context(), c, memory.ForgetRequest{Memory: out.Memory.Handle})
			must(t, err)
		}
	}
	src, err := exported.JSON(bytes.NewReader(m.json(t, c, p)), "export.json")
	must(t, err)
	there, _ := m.project(t, true)
	there.Role = memory.RoleAgent
	report, err := importer.Run(t.Context(), m, src, []importer.Target{{Caller: there, Name: "mill", Records: src.Records}}, false, nil)
	must(t, err)
	if report.Taken != 1 || report.Refused != 1 {
		t.Fatalf("%+v", report)
	}
	list, err := m.List(t.Context(), there, memory.ListRequest{Status: "all"})
	must(t, err)
	if len(list.Memories) != 1 || !list.Memories[0].Unreviewed || list.Memories[0].Origin != memory.FromImport || len(list.Memories[0].Elements) != 1 {
		t.Errorf("%+v", list.Memories)
	}
}

// TestTakenHandles: a handle that another memory has is given anew, which is said; a title that is taken refuses the record alone.
func TestTakenHandles(t *testing.T) {
	t.Parallel()
	m := newMill(t)
	c, p := m.project(t, true)
	first, err := m.Remember(t.Context(), c, memory.RememberRequest{Content: "It squeaks.", Title: "Squeak"})
	must(t, err)
	_, err = m.Remember(t.Context(), c, memory.RememberRequest{Content: "It stopped."})
	must(t, err)
	src, err := exported.JSON(bytes.NewReader(m.json(t, c, p)), "export.json")
	must(t, err)
	other, err := m.CreateProject(t.Context(), c, "second", nil) // of the same organization
	must(t, err)
	c.Project = other.ID
	_, err = m.Remember(t.Context(), c, memory.RememberRequest{Content: "Another squeak.", Title: "squeak"})
	must(t, err)
	report, err := importer.Run(t.Context(), m, src, []importer.Target{{Caller: c, Name: "second", Records: src.Records}}, false, nil)
	must(t, err)
	if report.Taken != 1 || report.Refused != 1 || len(report.Files[0].Notes) != 2 {
		t.Fatalf("%+v", report)
	}
	if got, err := m.Get(t.Context(), c, []string{first.Memory.Handle}); err != nil || got[0].Content != "It squeaks." {
		t.Errorf("the first of the handle: %+v, %v", got, err)
	}
}
