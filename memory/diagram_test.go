package memory_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// What a diagram tells of an element is what the map tells, and what the latest run says of dependencies is in it.
func TestDiagram(t *testing.T) {
	t.Parallel()
	w, _ := newMill(t)
	ctx := context.Background()
	_, err := w.Remember(ctx, w.c, memory.RememberRequest{Kind: memory.Pitfall, Content: "The gate sticks when it freezes.", Elements: []string{"mill.gate"}})
	w.must(err)
	w.pushed(1,
		drift.Finding{Fingerprint: "a", Check: drift.UndocumentedDependency, Element: "mill.gate", Subject: "mill.stone", Message: "the gate turns the stone", Weight: 1},
		drift.Finding{Fingerprint: "b", Check: drift.AbsentDependency, Element: "mill.gate", Subject: "mill.wheel", Message: "nothing shows it", Weight: 1})
	v, err := w.Diagram(ctx, w.c, memory.DiagramRequest{Element: "Mill", View: diagram.Containers})
	w.must(err)
	known, err := w.Map(ctx, w.c)
	w.must(err)
	cells := map[string]memory.MapElement{}
	for _, e := range known.Elements {
		cells[e.Key] = e
	}
	for _, n := range v.Nodes {
		cell, ok := cells[n.Key]
		if ok != (n.Known != nil) {
			t.Errorf("%s is on the map: %v; known: %+v", n.Key, ok, n.Known)
		}
		if ok && (n.Known.Pitfalls != cell.Memories[memory.Pitfall] || n.Known.Freshness != cell.Age() || n.Known.Drift != cell.Drift.State || n.Known.Doubts != cell.Verify) {
			t.Errorf("%s: %+v, on the map %+v", n.Key, n.Known, cell)
		}
	}
	states := map[string]diagram.State{}
	for _, e := range v.Edges {
		states[e.Source+" > "+e.Destination] = e.State
	}
	want := map[string]diagram.State{"miller > mill.gate": diagram.InModel, "mill.gate > mill.wheel": diagram.NotInCode, "mill.gate > mill.stone": diagram.NotInModel, "mill.stone > mill.wheel": diagram.InModel,
		"mill.store > mill.stone": diagram.InModel, "mill.ledger > mill.store": diagram.InModel, "mill.store > mill.ledger": diagram.InModel}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("edges (-want +got): %s", diff)
	}
}

func TestDiagramCleansNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	const name = "A\u202eb\nc"
	_, err := w.ImportModel(ctx, w.c, memory.ModelImport{Source: "a.dsl", Model: &c4model.Model{Elements: []c4model.Element{
		{Key: "a", Name: name, Level: c4model.System, Description: name, Technology: name}, {Key: "b", Name: "B", Level: c4model.Person}},
		Relationships: []c4model.Relationship{{Source: "b", Destination: "a", Description: name, Technology: name}}}})
	w.must(err)
	v, err := w.Diagram(ctx, w.c, memory.DiagramRequest{View: diagram.Landscape})
	w.must(err)
	clean := memory.Line(name)
	if n := v.Nodes[0]; n.Name != clean || n.Description != clean || n.Technology != clean || v.Edges[0].Descriptions[0] != clean+" ["+clean+"]" {
		t.Errorf("%+v, %+v", v.Nodes[0], v.Edges)
	}
	_, err = w.Diagram(ctx, w.c, memory.DiagramRequest{Element: "nothing"})
	if pr, ok := problem.As(err); !ok || pr.Code != problem.NotFound || pr.Field != "element" {
		t.Errorf("an element that is none: %v", err)
	}
	nowhere := w.c
	nowhere.Project = [16]byte{}
	if _, err = w.Diagram(ctx, nowhere, memory.DiagramRequest{}); err == nil {
		t.Error("a diagram of no project")
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		documented bool
		freshness  float64
		want       string
	}{{false, 1, memory.Bare}, {true, 1, memory.Fresh}, {true, 0.6, memory.Fresh}, {true, 0.59, memory.Ageing}, {true, 0.25, memory.Ageing}, {true, 0.24, memory.Old}} {
		if got := (memory.MapElement{Documented: c.documented, Freshness: c.freshness}).Age(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
