package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stele-dev/stele/memory"
)

func TestSettingsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember(w.acme, memory.RememberRequest{Kind: memory.Note, Content: "Prices are whole cents.", Elements: []string{"shop.api"}})
	on := true
	_, err := w.service.ChangeDriftSettings(t.Context(), w.acme.Caller, memory.DriftSettingsChange{Badge: &on})
	w.must(err)
	agent, reviewer := w.visit(w.acme, memory.RoleAgent), w.visit(w.acme, memory.RoleReviewer)
	agent.get("/p/shop/settings").shows(t, w.acme.Project.String(), "1 live", "1&nbsp;×&nbsp;note", "words alone", "This project is told of them", "are shown to reviewers", "!/v1/badges/", "!Leave them out", "!id=\"tokens\"", "!the admin")
	reviewer.get("/p/shop/settings").shows(t, "/v1/badges/"+w.acme.Org.String(), "Leave them out", "the default branch of the repository", "!id=\"tokens\"")

	if p := agent.post("/p/shop/settings/organization", url.Values{"organization": {"out"}}); p.status != http.StatusForbidden {
		t.Errorf("an agent changes the settings: %d", p.status)
	}
	reviewer.post("/p/shop/settings/organization", url.Values{"organization": {"out"}}).shows(t, "left out of what this project is told", "Tell the project of them")
	reviewer.post("/p/shop/settings/organization", url.Values{"organization": {"in"}}).shows(t, "This project is told of them", "Leave them out")
	w.visit(w.globex, memory.RoleAdmin).get("/p/shop/settings").shows(t, w.globex.Project.String(), "!"+w.acme.Project.String(), "0 live")
}

func TestTokensOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.visit(w.acme, memory.RoleAdmin)
	admin.get("/p/shop/settings").shows(t, "the admin", "yours now", "the reviewer", "!Revoked")

	wrong := admin.post("/p/shop/settings/tokens", url.Values{"name": {"a/b"}, "role": {"ci"}, "expires": {"30d"}})
	if wrong.status != http.StatusBadRequest {
		t.Errorf("a wrong name: %d", wrong.status)
	}
	wrong.says(t, `value="a/b" aria-invalid="true"`, `role="alert"`, "<option selected>ci", `value="30d"`, "!shown this once")

	made := admin.post("/p/shop/settings/tokens", url.Values{"name": {"robot"}, "role": {"agent"}, "scope": {"this"}, "expires": {"30d"}})
	made.shows(t, "shown this once", "The token of robot")
	text := regexp.MustCompile(memory.TokenPrefix + "[a-z2-7]+").FindString(made.body)
	c, token, err := w.service.Authenticate(t.Context(), text)
	w.must(err)
	if c.Bound != w.acme.Project || c.Role != memory.RoleAgent || token.ExpiresAt == nil {
		t.Errorf("%+v %+v", c, token)
	}
	list := admin.get("/p/shop/settings")
	list.shows(t, "robot", "!"+text, "!shown this once")

	all := admin.post("/p/shop/settings/tokens", url.Values{"name": {"roamer"}, "role": {"reviewer"}, "scope": {"all"}})
	c, _, err = w.service.Authenticate(t.Context(), regexp.MustCompile(memory.TokenPrefix+"[a-z2-7]+").FindString(all.body))
	w.must(err)
	if c.Bound != [16]byte{} || c.Role != memory.RoleReviewer {
		t.Errorf("%+v", c)
	}

	for _, role := range []memory.Role{memory.RoleAgent, memory.RoleReviewer} {
		v := w.visit(w.acme, role)
		for path, form := range map[string]url.Values{"tokens": {"name": {"mine"}, "role": {"admin"}}, "tokens/revoke": {"token": {token.ID.String()}}} {
			if p := v.post("/p/shop/settings/"+path, form); p.status != http.StatusForbidden || strings.Contains(p.body, memory.TokenPrefix) {
				t.Errorf("%s, %s: %d", role, path, p.status)
			} else {
				p.says(t, `role="alert"`, "needs the admin role")
			}
		}
	}
	if p := w.visit(w.globex, memory.RoleAdmin).post("/p/shop/settings/tokens/revoke", url.Values{"token": {token.ID.String()}}); p.status != http.StatusNotFound {
		t.Errorf("another organization revokes it: %d", p.status)
	}
	if _, _, err := w.service.Authenticate(t.Context(), text); err != nil {
		t.Fatalf("it was revoked by whoever may not: %v", err)
	}
	admin.post("/p/shop/settings/tokens/revoke", url.Values{"token": {token.ID.String()}}).shows(t, "revoked")
	if _, _, err := w.service.Authenticate(t.Context(), text); err == nil {
		t.Error("a revoked token is accepted")
	}
}

// A token for one project sees no tokens, whatever its role.
func TestSettingsOfABoundAdmin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, err := w.service.CreateToken(t.Context(), w.acme.Caller, memory.TokenRequest{Name: "bound", Role: memory.RoleAdmin, Project: "shop"})
	w.must(err)
	w.acme.tokens[memory.RoleAdmin] = made.Text
	v := w.visit(w.acme, memory.RoleAdmin)
	v.get("/p/shop/settings").shows(t, "Leave them out", "!id=\"tokens\"", "!the reviewer<")
	if p := v.post("/p/shop/settings/tokens", url.Values{"name": {"more"}, "role": {"admin"}}); p.status != http.StatusForbidden {
		t.Errorf("it makes a token: %d", p.status)
	}
}
