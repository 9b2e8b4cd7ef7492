package rest_test

import (
	"net/http"
	"testing"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func TestProjectSettings(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	change := func(body any) call { return call{method: http.MethodPatch, path: shop, body: body} }
	got := as[memory.ProjectInfo](s.do(change(fields{"without_organization": true}).by(memory.RoleReviewer)).wants(http.StatusOK))
	if !got.WithoutOrganization || got.Name != "shop" {
		t.Errorf("changed to %+v", got)
	}
	if again := as[memory.ProjectInfo](s.do(change(`{}`).by(memory.RoleReviewer)).wants(http.StatusOK)); !again.WithoutOrganization {
		t.Error("what was left out did not stay")
	}
	if again := as[memory.ProjectInfo](s.do(get(shop)).wants(http.StatusOK)); !again.WithoutOrganization {
		t.Error("the project does not say so")
	}
	s.do(change(`{"without_organization":"yes"}`).by(memory.RoleReviewer)).refused(http.StatusUnprocessableEntity, problem.Invalid, "without_organization")
	s.do(change(`{"name":"x"}`).by(memory.RoleReviewer)).refused(http.StatusUnprocessableEntity, problem.Invalid, "name")
	s.do(change(`{"without_organization":false}`).by(memory.RoleAgent)).refused(http.StatusForbidden, problem.Forbidden, "")
}

func TestImpactAndPlan(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.importShop()
	got := as[memory.ImpactResponse](s.do(get(shop + "/impact?element=shop.api&depth=1")).wants(http.StatusOK))
	if got.Element.Key != "shop.api" || got.Code.Note == "" {
		t.Errorf("impact: %+v", got)
	}
	s.do(get(shop+"/impact?element=shop.nothing")).refused(http.StatusNotFound, problem.NotFound, "element")
	s.do(get(shop+"/impact?element=shop.api&depth=99")).refused(http.StatusUnprocessableEntity, problem.Invalid, "depth")
	s.do(get(shop+"/impact")).refused(http.StatusUnprocessableEntity, problem.Invalid, "element")
	plan := as[memory.PlanResponse](s.do(post(shop+"/plan", fields{"task": "Make the Orders queue faster"})).wants(http.StatusOK))
	if len(plan.Steps) == 0 || plan.Steps[0].Element.Key != "shop.api" {
		t.Errorf("plan: %+v", plan)
	}
	s.do(post(shop+"/plan", fields{"limit": 3})).refused(http.StatusUnprocessableEntity, problem.Invalid, "task")
}
