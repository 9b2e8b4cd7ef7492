package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/memory"
)

func TestDiagramPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember(w.acme, memory.RememberRequest{Kind: memory.Pitfall, Content: "The till counts twice.", Elements: []string{"shop.api"}})
	v := w.visit(w.acme, memory.RoleAgent)
	// The only system is shown first, and leads to what is in it.
	v.get("/p/shop/diagrams").says(t, "<h1>Shop and its surroundings</h1>", `href="/p/shop/diagrams/shop" aria-label="Shop [system] Sells things. nothing known"`, `aria-current="page">Diagrams`,
		`href="/p/shop/diagrams?view=landscape"`, "/static/diagram.css?")
	v.get("/p/shop/diagrams?view=landscape").says(t, "<h1>People and systems</h1>")
	inside := v.get("/p/shop/diagrams/shop")
	inside.says(t, "<h1>Containers of Shop</h1>", `href="/p/shop/elements/shop.api" aria-label="The api [container: Go] fresh · 1 pitfall"`, "asks for prices", `<th scope="row"><a href="/p/shop/elements/shop.web">The web</a></th>`,
		`href="/p/shop/diagrams/shop?view=containers&amp;as=svg" download`)
	if strings.Contains(inside.body, "style=") || strings.Contains(inside.body, "<style") {
		t.Error("the page has a style inline, which its own policy forbids")
	}
	w.run(w.acme, strings.Repeat("1", 40), nil,
		drift.Finding{Fingerprint: "a", Check: drift.AbsentDependency, Element: "shop.web", Subject: "shop.api", Message: "no import"},
		drift.Finding{Fingerprint: "b", Check: drift.UndocumentedDependency, Element: "shop.api", Subject: "shop.web", Message: "an import"})
	v.get("/p/shop/diagrams/shop").says(t, `class="edge not_in_code"`, `class="edge not_in_model"`, "<strong>not in the code</strong>", "<strong>not in the model</strong>", "code drifted")
	v.get("/p/shop/elements/shop.api").says(t, `href="/p/shop/diagrams/shop.api">Diagram</a>`)

	file := v.get("/p/shop/diagrams/shop?view=containers&as=svg")
	file.says(t, "<svg ", "<style>", "not in the model")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, w.http.URL+file.path, nil)
	w.must(err)
	sent, err := v.client.Do(r)
	w.must(err)
	w.must(sent.Body.Close())
	if sent.Header.Get("Content-Type") != "image/svg+xml" || sent.Header.Get("Content-Disposition") != `attachment; filename="shop-containers.svg"` {
		t.Errorf("the file is sent as %v", sent.Header)
	}
	for path, want := range map[string]int{
		"/p/shop/diagrams/shop.none": http.StatusNotFound, "/p/shop/diagrams/shop.api?view=components": http.StatusBadRequest, "/p/shop/diagrams?view=odd": http.StatusBadRequest, "/p/none/diagrams": http.StatusNotFound,
	} {
		if p := v.get(path); p.status != want {
			t.Errorf("%s: %d, want %d", path, p.status, want)
		}
	}
	w.model(w.globex, "shop.secret")
	if p := v.get("/p/shop/diagrams/shop.secret"); p.status != http.StatusNotFound || strings.Contains(p.body, "The secret") {
		t.Errorf("the element of another organization: %d", p.status)
	}
}

func TestDiagramOfHostileNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const name = `"</svg><script>alert(1)</script>{a|b}` + "\u202egnp"
	m := &c4model.Model{Elements: []c4model.Element{{Key: "s", Name: "S" + name, Level: c4model.System}, {Key: "s.a", Name: name, Level: c4model.Container, Parent: "s", Technology: name},
		{Key: "s.~b/c?d", Name: "B", Level: c4model.Container, Parent: "s"}},
		Relationships: []c4model.Relationship{{Source: "s.a", Destination: "s.~b/c?d", Description: name}}}
	_, err := w.service.ImportModel(context.Background(), w.acme.Caller, memory.ModelImport{Model: m, Source: "workspace.dsl"})
	w.must(err)
	v := w.visit(w.acme, memory.RoleAgent)
	for _, path := range []string{"/p/shop/diagrams/s", "/p/shop/diagrams/s?as=svg", "/p/shop/diagrams/s.~b%2Fc%3Fd"} {
		p := v.get(path)
		if p.status != http.StatusOK {
			t.Fatalf("%s: %d", path, p.status)
		}
		if strings.Contains(p.body, "<script>alert") || strings.Contains(p.body, "\u202e") || strings.Count(p.body, "</svg>") != 1 {
			t.Errorf("%s lets a name out of its place", path)
		}
	}
}

// A view that is too large to be drawn is still a table.
func TestDiagramTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var keys []string
	for i := range 301 {
		keys = append(keys, "shop.part"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26))
	}
	w.model(w.acme, keys...)
	v := w.visit(w.acme, memory.RoleAgent)
	p := v.get("/p/shop/diagrams/shop")
	p.says(t, "a diagram takes 300 and 900", `role="alert"`, "<h2>Relations</h2>", "asks for prices")
	if p.status != http.StatusOK || strings.Contains(p.body, "<svg") {
		t.Errorf("status %d", p.status)
	}
	if p := v.get("/p/shop/diagrams/shop?as=svg"); p.status != http.StatusBadRequest {
		t.Errorf("the file: %d", p.status)
	}
}
