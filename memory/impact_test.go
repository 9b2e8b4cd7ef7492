package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// millModel has a chain, a circle, a part of a part, and somebody outside.
func millModel() memory.ModelImport {
	model := &c4model.Model{Name: "Mill"}
	for _, key := range []string{"mill", "mill.gate", "mill.wheel", "mill.wheel.axle", "mill.stone", "mill.store", "mill.ledger", "market"} {
		e := c4model.Element{Key: key, Name: strings.ToUpper(key[strings.LastIndexByte(key, '.')+1:][:1]) + key[strings.LastIndexByte(key, '.')+2:], Level: c4model.Container}
		if at := strings.LastIndexByte(key, '.'); at > 0 {
			e.Parent = key[:at]
		} else {
			e.Level = c4model.System
		}
		if key == "mill.wheel.axle" {
			e.Level = c4model.Component
		}
		model.Elements = append(model.Elements, e)
	}
	model.Elements = append(model.Elements, c4model.Element{Key: "miller", Name: "Miller", Level: c4model.Person})
	for _, r := range [][3]string{
		{"miller", "mill.gate", "opens"},
		{"mill.gate", "mill.wheel", "lets water onto"}, {"mill.stone", "mill.wheel.axle", "turns with"}, {"mill.store", "mill.stone", "takes flour from"},
		{"mill.ledger", "mill.store", "counts sacks of"}, {"mill.store", "mill.ledger", "asks what is sold of"}, {"market", "mill", "buys from"},
	} {
		model.Relationships = append(model.Relationships, c4model.Relationship{Source: r[0], Destination: r[1], Description: r[2]})
	}
	return memory.ModelImport{Model: model, Source: "mill.dsl", Bindings: []c4model.Binding{{Element: "mill.wheel", Pattern: "wheel/**", Source: "model"}}}
}

// millers tells who works where.
type millers struct{ asked []uuid.UUID }

func (m *millers) WorkOn(_ context.Context, _ memory.Caller, elements []uuid.UUID) ([]memory.Work, error) {
	m.asked = elements
	return []memory.Work{{Session: "ws-aaaaaaa", Author: "codex/ana", Task: "grease", Elements: []string{"mill.wheel"}}}, nil
}

func newMill(t *testing.T) (*world, *millers) {
	t.Helper()
	w := newWorld(t, nil)
	_, err := w.ImportModel(context.Background(), w.c, millModel())
	w.must(err)
	m := &millers{}
	w.Service = memory.New(w.h.store, memory.Options{Now: w.Now}).WithWorkers(m)
	return w, m
}

func steps(list []memory.ImpactElement) []string {
	out := []string{}
	for _, e := range list {
		text := fmt.Sprintf("%d %s", e.Distance, e.Key)
		if e.Via != "" {
			text += " via " + e.Via
		}
		for _, m := range e.Model {
			text += ", " + m
		}
		for _, c := range e.Code {
			text += ", " + c.String()
		}
		if e.Unshown {
			text += ", unshown"
		}
		out = append(out, text)
	}
	return out
}

func TestImpact(t *testing.T) {
	t.Parallel()
	w, _ := newMill(t)
	ctx := context.Background()
	for _, tc := range []struct {
		request memory.ImpactRequest
		on, of  []string // who depends on it, what it depends on
	}{
		{memory.ImpactRequest{Element: "mill.wheel"},
			[]string{"1 mill.gate, lets water onto", "1 mill.stone via mill.wheel.axle, turns with", "1 market via mill, buys from", "2 mill.store via mill.stone, takes flour from"}, []string{}},
		{memory.ImpactRequest{Element: "mill.wheel", Depth: 1},
			[]string{"1 mill.gate, lets water onto", "1 mill.stone via mill.wheel.axle, turns with", "1 market via mill, buys from"}, []string{}},
		{memory.ImpactRequest{Element: "Axle", Depth: 1}, // what leads to the wheel may lead to its axle
			[]string{"1 mill.gate via mill.wheel, lets water onto", "1 mill.stone, turns with", "1 market via mill, buys from"}, []string{}},
		{memory.ImpactRequest{Element: "mill.ledger", Depth: memory.MaxImpactDepth},
			[]string{"1 mill.store, asks what is sold of", "1 market via mill, buys from"},
			[]string{"1 mill.store, counts sacks of", "2 mill.stone via mill.store, takes flour from", "3 mill.wheel.axle via mill.stone, turns with"}},
		{memory.ImpactRequest{Element: "mill"}, []string{"1 market, buys from"}, []string{}},
		{memory.ImpactRequest{Element: "market", Depth: 1}, []string{}, []string{"1 mill, buys from"}},
	} {
		got, err := w.Impact(ctx, w.c, tc.request)
		w.must(err)
		if diff := cmp.Diff([][]string{tc.on, tc.of}, [][]string{steps(got.Dependents), steps(got.Dependencies)}); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.request, diff)
		}
		if got.Code.Note == "" || len(got.Code.Runs) != 0 {
			t.Errorf("no run told anything, and it says %+v", got.Code)
		}
	}
	_, err := w.Impact(ctx, w.c, memory.ImpactRequest{Element: "mill.sail"})
	wants(t, err, problem.NotFound, "element")
	for field, r := range map[string]memory.ImpactRequest{
		"element": {Element: " "}, "depth": {Element: "mill", Depth: memory.MaxImpactDepth + 1}, "limit": {Element: "mill", Limit: -1},
	} {
		_, err := w.Impact(ctx, w.c, r)
		if p, ok := problem.As(err); !ok || p.Field != field {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// The code has its say by the latest tracked run: imports that the model does not know, and relationships that no import shows.
func TestImpactByCode(t *testing.T) {
	t.Parallel()
	w, _ := newMill(t)
	w.pushed(1,
		drift.Finding{Fingerprint: "a", Check: drift.UndocumentedDependency, Element: "mill.ledger", Subject: "mill.wheel", Message: "imports it", Weight: 1,
			File: "ledger/a.go", Line: 3, Evidence: []drift.Place{{File: "ledger/a.go", Line: 3, Text: "mill/wheel"}}},
		drift.Finding{Fingerprint: "b", Check: drift.AbsentDependency, Element: "mill.gate", Subject: "mill.wheel", Message: "nothing shows it", Weight: 1})
	got, err := w.Impact(context.Background(), w.c, memory.ImpactRequest{Element: "mill.wheel", Depth: 1})
	w.must(err)
	want := []string{"1 mill.gate, lets water onto, unshown", "1 mill.stone via mill.wheel.axle, turns with", "1 mill.ledger, ledger/a.go:3", "1 market via mill, buys from"}
	if diff := cmp.Diff(want, steps(got.Dependents)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Code.Runs) != 1 || got.Code.Runs[0].Commit != commit(1) || got.Code.Note != "" {
		t.Errorf("code by %+v", got.Code)
	}
}

// What is known comes with it, pitfalls first and doubts marked; what does not fit is counted; who works there is asked of whoever
// knows.
func TestImpactTellsWhatIsKnown(t *testing.T) {
	t.Parallel()
	w, m := newMill(t)
	ctx := context.Background()
	note := w.remember(memory.RememberRequest{Content: "the wheel is of oak", Elements: []string{"mill.wheel"}}).Memory.Handle
	sound := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "the axle runs hot without grease", Elements: []string{"mill.wheel.axle"}}).Memory.Handle
	doubted := w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "the wheel stops at high water", Elements: []string{"mill.wheel"}}).Memory.Handle
	_, err := w.Confirm(ctx, w.c, memory.ConfirmRequest{Memory: doubted, Note: "it did not"})
	w.must(err)
	w.remember(memory.RememberRequest{Kind: memory.Pitfall, Content: "the gate jams in frost", Elements: []string{"mill.gate"}})

	got, err := w.Impact(ctx, w.c, memory.ImpactRequest{Element: "mill.wheel", Limit: 1})
	w.must(err)
	var order []string
	for _, k := range got.Memories {
		order = append(order, k.Handle)
	}
	if !slices.Equal(order, []string{doubted, sound, note}) || got.Memories[0].Flags[0].Flag != "disputed" || got.Memories[1].Elements[0] != "mill.wheel.axle" {
		t.Errorf("known: %+v, want %s, %s, %s", got.Memories, doubted, sound, note)
	}
	if gate := got.Dependents[0]; gate.Key != "mill.gate" || gate.Pitfalls != 1 || gate.Doubts != 0 {
		t.Errorf("the gate: %+v", gate)
	}
	if len(got.Dependents) != 1 || got.LeftOut.Dependents != 3 || got.LeftOut.Dependencies != 0 {
		t.Errorf("%d dependents, left out %+v", len(got.Dependents), got.LeftOut)
	}
	if len(got.Work) != 1 || got.Work[0].Author != "codex/ana" || len(m.asked) != 3 {
		t.Errorf("work %+v, asked about %d elements, want the wheel, its axle and the gate", got.Work, len(m.asked))
	}
	if !slices.Equal(got.Paths, []string{"wheel/**"}) {
		t.Errorf("paths %v", got.Paths)
	}
}
