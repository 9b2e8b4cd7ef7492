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
