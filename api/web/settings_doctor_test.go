package web_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stele-dev/stele/memory"
)

func TestBindingsOnTheSettingsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reviewer, agent := w.visit(w.acme, memory.RoleReviewer), w.visit(w.acme, memory.RoleAgent)
	reviewer.get("/p/shop/settings").shows(t, "None is set here alone", "Bind an element to files", "stele bind suggest")
	agent.get("/p/shop/settings").shows(t, "None is set here alone", "!Bind an element to files", "Binding needs the reviewer role")

	wrong := reviewer.post("/p/shop/settings/bindings", url.Values{"element": {"shop.nothing"}, "patterns": {"api/**"}})
	if wrong.status != http.StatusNotFound {
		t.Errorf("an unknown element: %d", wrong.status)
	}
	wrong.says(t, `value="shop.nothing" aria-invalid="true"`, `role="alert"`, "api/**")
	if p := agent.post("/p/shop/settings/bindings", url.Values{"element": {"shop.api"}, "patterns": {"api/**"}}); p.status != http.StatusForbidden {
		t.Errorf("an agent binds: %d", p.status)
	}
	reviewer.post("/p/shop/settings/bindings", url.Values{"element": {"shop.api"}, "patterns": {" fresh/** \r\n\r\nmore/*.go\r\n"}}).
		shows(t, "Set here, and not in the repository yet", "shop.api", "fresh/**", "more/*.go")
	w.visit(w.globex, memory.RoleAdmin).get("/p/shop/settings").shows(t, "!fresh/**", "None is set here alone")
	reviewer.post("/p/shop/settings/bindings", url.Values{"element": {"shop.api"}, "patterns": {""}}).shows(t, "None is set here alone", "!fresh/**")
}

func TestKeysOnTheSettingsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h, err := w.service.KeyHealth(context.Background(), w.acme.Caller)
	w.must(err)
	w.visit(w.acme, memory.RoleAdmin).get("/p/shop/settings").shows(t, h.MasterKey, h.IndexKey, "one, which locks every text", "never changed since", "examine the server")
	for _, role := range []memory.Role{memory.RoleAgent, memory.RoleReviewer} {
		w.visit(w.acme, role).get("/p/shop/settings").shows(t, "!"+h.MasterKey, "!"+h.IndexKey, "!examine the server")
	}
}

func TestDoctorPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember(w.acme, memory.RememberRequest{Kind: memory.Note, Content: "Prices are whole cents.", Elements: []string{"shop.api"}})
	admin := w.visit(w.acme, memory.RoleAdmin)
	admin.get("/p/shop/settings/doctor").shows(t, "Examine the server", "!does not work", "!not judged")
	admin.post("/p/shop/settings/doctor", url.Values{}).shows(t, "Examine it again", "Nothing failed", "master key", "not judged", "1 live memories of", "!whole cents")
	for _, role := range []memory.Role{memory.RoleAgent, memory.RoleReviewer} {
		v := w.visit(w.acme, role)
		for _, p := range []page{v.get("/p/shop/settings/doctor"), v.post("/p/shop/settings/doctor", url.Values{})} {
			if p.status != http.StatusForbidden {
				t.Errorf("%s: %d", role, p.status)
			}
			p.says(t, "!master key", "needs the admin role")
		}
	}
}
