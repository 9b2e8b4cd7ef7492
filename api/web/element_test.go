package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/memory"
)

// hostile is what a memory must not be able to do to a page.
const hostile = "Look: <script>alert(1)</script> <img src=x onerror=alert(2)> [go](javascript:alert(3)) [see](data:text/html,x) \u202egnp.exe\u202c <style>*{display:none}</style>"

func TestElementPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember(w.acme, memory.RememberRequest{Kind: memory.Note, Title: "A note", Content: "The cache is **warm** in the morning.", Why: "the night job fills it", Elements: []string{"shop.api"}, Tags: []string{"cache"}})
	w.remember(w.acme, memory.RememberRequest{Kind: memory.Pitfall, Title: "A pitfall", Content: hostile, Elements: []string{"shop.api"}})
	v := w.visit(w.acme, memory.RoleAgent)
	p := v.get("/p/shop/elements/shop.api")
	p.shows(t, "The api", "<strong>warm</strong>", "the night job fills it", "<code>api/**</code>", "It is used by", "The web", "asks for prices", "No run of the tracked branch", "No session has worked here",
		"&lt;script&gt;alert(1)", "!<script>alert", "!<img", "!href=\"javascript:", "!href=\"data:", "!\u202e", "!<style")
	if strings.Index(p.body, "A pitfall") > strings.Index(p.body, "A note") {
		t.Error("the note comes before the pitfall")
	}
	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	w.run(w.acme, first, nil)
	w.run(w.acme, second, []string{first}, drift.Finding{Fingerprint: "f", Check: drift.Existence, Outcome: drift.Missing, Element: "shop.api", Subject: "api/**", Message: "no file matches api/**",
		Fix: drift.Fix{File: "stele.yaml", Action: "change", Old: "api/**", New: "server/**"}, Since: &drift.Since{Commit: second, Author: "Ana", Subject: "Move it", Cause: drift.CodeChanged}})
	v.get("/p/shop/elements/shop.api").shows(t, "2 in doubt", "no file matches api/**", "Move it", "+ server/**", "22222222")
	v.get("/p/shop/elements/shop.web").shows(t, "The latest run found nothing wrong here", "It uses")
	if p := v.get("/p/shop/elements/shop.none"); p.status != http.StatusNotFound {
		t.Errorf("an element that is none: %d", p.status)
	}
}

func TestRememberAtAnElement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.visit(w.acme, memory.RoleAgent)
	form := url.Values{"kind": {"convention"}, "title": {"Retries"}, "content": {"The payment client retries three times and then gives up."}, "tags": {"payment, retry"},
		"paths": {"api/pay.go"}, "expires": {"tomorrow-ish"}}
	wrong := v.post("/p/shop/elements/shop.api", form)
	if wrong.status != http.StatusBadRequest {
		t.Errorf("a wrong date: %d", wrong.status)
	}
	wrong.says(t, `role="alert"`, "retries three times", `value="payment, retry"`, `value="tomorrow-ish" aria-invalid="true"`)

	form.Set("expires", "3d")
	form.Set("why", "the key is password=hunter2secretvalue9")
	v.post("/p/shop/elements/shop.api", form).shows(t, "Written", "Taken out of the text", "!hunter2secretvalue9")

	again := url.Values{"kind": {"convention"}, "content": form["content"]}
	v.post("/p/shop/elements/shop.api", again).shows(t, "It was known already", `name="separate"`, "retries three times")
	again.Set("separate", "1")
	v.post("/p/shop/elements/shop.api", again).shows(t, "Written")

	other := url.Values{"kind": {"convention"}, "content": {"The payment client retries four times and then gives up."}}
	v.post("/p/shop/elements/shop.api", other).shows(t, "Similar ones", "The new one replaces it")

	found, err := w.service.List(t.Context(), w.acme.Caller, memory.ListRequest{Element: "shop.api"})
	w.must(err)
	if len(found.Memories) != 3 {
		t.Fatalf("%d memories are stored", len(found.Memories))
	}
	for _, m := range found.Memories {
		if m.Origin != memory.FromWeb || m.Author != "the agent" {
			t.Errorf("%s by %s, %s", m.Handle, m.Author, m.Origin)
		}
	}
}

// A form that another site sends is not taken, however signed in the browser is.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.visit(w.acme, memory.RoleAdmin)
	m := w.disputed(w.acme, "The gate counts by address.")
	for path, form := range map[string]url.Values{
		"/p/shop/elements/shop.api":                 {"kind": {"note"}, "content": {"planted by another site"}},
		"/p/shop/review/decide":                     {"action": {"retire"}, "memory": {m.Handle}},
		"/p/shop/memories/" + m.Handle + "/confirm": {"holds": {"true"}},
	} {
		got := v.post(path, form, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
		if got.status != http.StatusForbidden {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	if now := w.memory(w.acme, m.Handle); now.Status != memory.Live || now.Confirmations != 0 {
		t.Errorf("%+v", now)
	}
}
