package client_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

func TestProjectSettingsOverTheWire(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	ctx := t.Context()
	for _, without := range []bool{true, false} {
		set, err := s.ChangeProjectSettings(ctx, s.by, memory.ProjectSettingsChange{WithoutOrganization: &without})
		check(t, err)
		if again, err := s.FindProject(ctx, s.by, s.by.Project.String()); err != nil || set.WithoutOrganization != without || again.WithoutOrganization != without {
			t.Errorf("set %v: %+v, then %+v, %v", without, set, again, err)
		}
	}
}

// What the client answers is what the domain says.
func TestImpactAndPlanOverTheWire(t *testing.T) {
	t.Parallel()
	s := newSite(t, memory.Options{})
	ctx := t.Context()
	model := &c4model.Model{Elements: []c4model.Element{
		{Key: "shop", Name: "Shop", Level: c4model.System}, {Key: "shop.api", Name: "Orders", Level: c4model.Container, Parent: "shop"},
		{Key: "shop.web", Name: "Web", Level: c4model.Container, Parent: "shop"},
	}, Relationships: []c4model.Relationship{{Source: "shop.web", Destination: "shop.api", Description: "places orders"}}}
	_, err := s.ImportModel(ctx, s.by, memory.ModelImport{Model: model, Source: "a.dsl"})
	check(t, err)
	want, err := s.local.Impact(ctx, s.admin, memory.ImpactRequest{Element: "shop.api", Depth: 3, Limit: 7})
	check(t, err)
	got, err := s.Impact(ctx, s.by, memory.ImpactRequest{Element: "shop.api", Depth: 3, Limit: 7})
	check(t, err)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(memory.ElementRef{}, "ID", "Of")); diff != "" {
		t.Errorf("impact (-domain +client): %s", diff)
	}
	plan, err := s.local.Plan(ctx, s.admin, memory.PlanRequest{Task: "make the orders faster"})
	check(t, err)
	sent, err := s.Plan(ctx, s.by, memory.PlanRequest{Task: "make the orders faster"})
	check(t, err)
	if diff := cmp.Diff(plan, sent, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(memory.ElementRef{}, "ID", "Of")); diff != "" {
		t.Errorf("plan (-domain +client): %s", diff)
	}
}
