package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (w *world) bring(r memory.ImportRequest) memory.ImportResponse {
	w.t.Helper()
	out, err := w.ImportMemories(context.Background(), w.c, r)
	w.must(err)
	return out
}

func results(r memory.ImportResponse) []memory.ImportResult {
	out := make([]memory.ImportResult, len(r.Records))
	for i, o := range r.Records {
		out[i] = o.Result
	}
	return out
}

// TestImportOutcomes: each record becomes what it is, by itself; the dry run says the same; again, all are known.
func TestImportOutcomes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	there := w.remember(memory.RememberRequest{Content: "Parcels are weighed twice.", Kind: memory.Note}).Memory
	w.remember(memory.RememberRequest{Content: "Scales drift in the cold.", Title: "Scales", Kind: memory.Note, Paths: []string{"web/a.ts"}})
	written := w.now.Add(-100 * day)
	records := []memory.ImportRecord{
		{Key: "x:1", Kind: memory.Pitfall, Title: "Late orders", Content: "Orders arrive late when token = sk_live_4eC39HqLyjWDarjtT1zdp7dc", Paths: []string{"api/orders.go"},
			CreatedAt: written, User: "kim", Agent: "claude-code", Tags: []string{"queue"}, Anchor: &memory.Anchor{Session: "s1", Turn: "t1"}},
		{Key: "x:2", Content: "Parcels are weighed twice.", Title: "Weighing", Elements: []string{"shop.api"}},
		{Key: "x:3", Content: "  "},
		{Key: "x:4", Content: "Another text about scales.", Title: "scales"},
		{Key: "x:5", Content: "Belts stop at noon.", Elements: []string{"nothing.like.it"}},
		{Key: "x:6", Content: "belts stop at noon", Why: "The cook rings."},
		{Key: "x:7", Kind: memory.SessionOutcome, Content: "Belts stop at noon."},
		{Key: "x:1", Content: "A key that is there twice."},
		{Key: "x:8", Content: strings.Repeat("long ", 5000)},
		{Key: "x:9", Content: "For all.", Scope: "everybody"},
	}
	want := []memory.ImportResult{memory.ImportTaken, memory.ImportMerged, memory.ImportRefused, memory.ImportTaken, memory.ImportTaken, memory.ImportMerged,
		memory.ImportTaken, memory.ImportRefused, memory.ImportRefused, memory.ImportRefused}
	if got := results(w.bring(memory.ImportRequest{DryRun: true, Records: records})); !slices.Equal(got, want) {
		t.Fatalf("the dry run says %v, want %v", got, want)
	}
	if list, err := w.List(context.Background(), w.c, memory.ListRequest{}); err != nil || len(list.Memories) != 2 {
		t.Fatalf("the dry run left %d memories, %v", len(list.Memories), err)
	}
	out := w.bring(memory.ImportRequest{Records: records})
	if got := results(out); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if len(out.Redacted) != 1 || out.Redacted[0].Count != 1 {
		t.Errorf("redacted: %v", out.Redacted)
	}
	for i, o := range out.Records {
		if o.Result == memory.ImportRefused && len(o.Notes) == 0 {
			t.Errorf("record %d is refused without a reason", i)
		}
	}
	m := w.get(out.Records[0].Handle)
	if m.Author != "claude-code/kim" || !m.CreatedAt.Equal(written) || !m.ConfirmedAt.Equal(written) || m.Origin != memory.FromImport || !m.Unreviewed ||
		m.Anchor == nil || m.Anchor.Turn != "t1" || strings.Contains(m.Content, "sk_live") || m.Confirmations != 0 {
		t.Errorf("taken as %+v", m)
	}
	if len(m.Elements) != 1 || m.Elements[0].Key != "shop.api" || m.Elements[0].Reason != "by api/orders.go" {
		t.Errorf("attached to %v", m.Elements)
	}
	filled := w.get(there.Handle)
	if filled.Title != "Weighing" || len(filled.Elements) != 1 || filled.Confirmations != 0 || filled.Unreviewed || filled.Revision != 2 || !filled.ConfirmedAt.Equal(there.ConfirmedAt) {
		t.Errorf("merged into %+v", filled)
	}
	if m := w.get(out.Records[3].Handle); m.Title != "" || !strings.HasPrefix(m.Content, "scales\n\nAnother text") {
		t.Errorf("a title that is taken: %+v", m)
	}
	if m := w.get(out.Records[4].Handle); m.Why != "The cook rings." || out.Records[5].Handle != m.Handle {
		t.Errorf("two of one import: %+v, %+v", m, out.Records[5])
	}
	again := results(w.bring(memory.ImportRequest{Records: records}))
	for i, r := range again {
		if want[i] != memory.ImportRefused && r != memory.ImportKnown {
			t.Errorf("record %d is %s again", i, r)
		}
	}
	w.sound()
}

// sound checks what the tables say of each other.
func (w *world) sound() {
	w.t.Helper()
	found, err := w.h.store.Invariants(context.Background(), w.c.Org, 0)
	w.must(err)
	for _, i := range found {
		if i.Broken > 0 {
			w.t.Errorf("%s: %d broken: %v", i.Claim, i.Broken, i.Subjects)
		}
	}
}

// TestImportIsBounded: what is wrong with the request as a whole, and who may not.
func TestImportIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	_, err := w.ImportMemories(ctx, w.c, memory.ImportRequest{})
	wants(t, err, problem.Invalid, "records")
	_, err = w.ImportMemories(ctx, w.c, memory.ImportRequest{Records: make([]memory.ImportRecord, memory.MaxImportRecords+1)})
	wants(t, err, problem.Invalid, "501")
	ci := w.c
	ci.Role = memory.RoleCI
	_, err = w.ImportMemories(ctx, ci, memory.ImportRequest{Records: []memory.ImportRecord{{Key: "a", Content: "b"}}})
	wants(t, err, problem.Forbidden)
	agent := w.c
	agent.Role = memory.RoleAgent
	out, err := w.ImportMemories(ctx, agent, memory.ImportRequest{Records: []memory.ImportRecord{{Key: "a", Content: "b", Scope: memory.Organization}, {Key: "c", Content: "d"}}})
	w.must(err)
	if got := results(out); !slices.Equal(got, []memory.ImportResult{memory.ImportRefused, memory.ImportTaken}) {
		t.Errorf("an agent imports: %v", out.Records)
	}
}

// TestErasedIsNotImportedAgain: the record of an erased memory stays known.
func TestErasedIsNotImportedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	r := memory.ImportRequest{Records: []memory.ImportRecord{{Key: "x:1", Content: "The vault has two doors."}}}
	h := w.bring(r).Records[0].Handle
	_, err := w.Forget(context.Background(), w.c, memory.ForgetRequest{Memory: h, Erase: true})
	w.must(err)
	if got := w.bring(r).Records[0]; got.Result != memory.ImportKnown || got.Handle != h {
		t.Errorf("after it was erased: %+v", got)
	}
	w.sound()
}

// TestImportLeavesMapAndQueue: what was imported fills no hole and pairs with nothing until somebody confirms it.
func TestImportLeavesMapAndQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	before, err := w.Map(context.Background(), w.c)
	w.must(err)
	var records []memory.ImportRecord
	for i := range 40 {
		records = append(records, memory.ImportRecord{Key: fmt.Sprint(i), Content: fmt.Sprintf("The conveyor belt of hall %d stops when the lamp is red", i), Paths: []string{"api/belt.go"}})
	}
	out := w.bring(memory.ImportRequest{Records: records, Batch: uuid.New()})
	after, err := w.Map(context.Background(), w.c)
	w.must(err)
	if after.Headline != before.Headline || len(after.Holes) != len(before.Holes) {
		t.Errorf("the map said %q and says %q", before.Headline, after.Headline)
	}
	_, err = w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: out.Records[0].Handle, Holds: true})
	w.must(err)
	if after, err = w.Map(context.Background(), w.c); err != nil || after.Documented != before.Documented+1 {
		t.Errorf("confirmed, it counts: %q, %v", after.Headline, err)
	}
	w.now = w.now.Add(time.Hour)
	w.sound()
}
