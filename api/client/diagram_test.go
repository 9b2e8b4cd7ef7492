package client_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// What the client answers is what the domain says.
func TestDiagramOverTheWire(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	ctx := t.Context()
	model := &c4model.Model{Elements: []c4model.Element{
		{Key: "shop", Name: "Shop", Level: c4model.System}, {Key: "shop.api", Name: "Orders", Level: c4model.Container, Parent: "shop"},
		{Key: "shop.web", Name: "Web", Level: c4model.Container, Parent: "shop"},
	}, Relationships: []c4model.Relationship{{Source: "shop.web", Destination: "shop.api", Description: "places orders"}}}
	_, err := s.ImportModel(ctx, s.by, memory.ModelImport{Model: model, Source: "a.dsl"})
	check(t, err)
	for _, r := range []memory.DiagramRequest{{}, {Element: "shop"}, {Element: "Orders", View: "context"}} {
		want, err := s.local.Diagram(ctx, s.admin, r)
		check(t, err)
		got, err := s.Diagram(ctx, s.by, r)
		check(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-domain +client): %s", r, diff)
		}
	}
	_, err = s.Diagram(ctx, s.by, memory.DiagramRequest{Element: "shop", View: "odd"})
	if pr, ok := problem.As(err); !ok || pr.Field != "view" {
		t.Errorf("an odd view: %v", err)
	}
}
