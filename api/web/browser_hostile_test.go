package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// attacks are texts that want to be more than text. Any that runs calls alert.
const attacks = `<script>alert(1)</script> <img src=x onerror=alert(2)> <svg onload=alert(3)><script>alert(4)</script></svg> <math><mtext><style><img src=x onerror=alert(5)></style></mtext></math>
[a](javascript:alert(6)) [b](data:text/html,<script>alert(7)</script>) [c](vbscript:alert(8)) ![d](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoOSk+) <javascript:alert(10)>
<iframe srcdoc="<script>alert(11)</script>"></iframe> <form action=https://evil.example><button>Sign out</button></form> <a href=https://evil.example onclick=alert(12)>x</a>
<style>*{display:none}</style> <base href=https://evil.example> <meta http-equiv=refresh content=0;url=https://evil.example> "><script>alert(13)</script> '-alert(14)-' {{alert(15)}} ${alert(16)}`

// bidi turns what follows around; isolates and marks do so less visibly.
const bidi = "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u061c"

// A memory, an element, a task, a name may say what they like: no script runs, no dialog opens, nothing is asked of another host, no text is
// turned around, and the page keeps its width.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	ctx := context.Background()
	word := strings.Repeat("W", 100_000)
	_, err := w.service.ImportModel(ctx, w.acme.Caller, memory.ModelImport{Source: "workspace.dsl", Model: &c4model.Model{
		Elements: []c4model.Element{{Key: "shop", Name: "Shop " + bidi + "<b onmouseover=alert(20)>" + strings.Repeat("N", 150), Level: c4model.System, Description: word, Technology: attacks, URL: "javascript:alert(21)", Tags: []string{bidi, attacks}},
			{Key: "shop.api", Name: `"><img src=x onerror=alert(22)>`, Level: c4model.Container, Parent: "shop", Description: attacks}},
		Relationships: []c4model.Relationship{{Source: "shop", Destination: "shop.api", Description: attacks + bidi}}}})
	w.must(err)
	hostileUser := w.acme
	hostileUser.User = `<img src=x onerror=alert(23)>`
	table := "|" + strings.Repeat(" column |", 100) + "\n|" + strings.Repeat("-|", 100) + strings.Repeat("\n| cell |", 200)
	var handles []string
	for i, content := range []string{attacks, table, strings.Repeat("W", 16_000), "safe " + bidi + " text", "```\n" + strings.Repeat("long line ", 400) + "\n```", strings.Repeat("> ", 200) + "deep", strings.Repeat("- x\n  ", 60)} {
		m := w.remember(hostileUser, memory.RememberRequest{Kind: memory.Pitfall, Title: fmt.Sprint(i, " ", bidi, "<img src=x onerror=alert(24)>", strings.Repeat("T", 90)), Content: content, Why: attacks, Tags: []string{"<b>" + strings.Repeat("t", 50)}, Paths: []string{"api/<script>alert(25)</script>.go"}, Elements: []string{"shop.api"}, Separate: true})
		_, err := w.service.Confirm(ctx, hostileUser.Caller, memory.ConfirmRequest{Memory: m.Handle, Note: attacks + bidi})
		w.must(err)
		handles = append(handles, m.Handle)
	}
	s := w.start(w.acme, "ana", session.StartRequest{Task: bidi + strings.Repeat("K", 1500), Elements: []string{"shop.api"}})
	w.must(err)
	paths := []string{"/p/shop/", "/p/shop/elements/shop", "/p/shop/elements/shop.api", "/p/shop/review?all=1", "/p/shop/review/history?author=" + strings.Repeat("q", 2000), "/p/shop/sessions", "/p/shop/sessions/" + s.SessionID,
		"/p/shop/recall?q=safe+text+" + strings.Repeat("q", 2000), "/p/shop/live", "/p/shop/diagrams"}
	for _, h := range handles {
		paths = append(paths, "/p/shop/memories/"+h)
	}
	for _, path := range paths {
		b.opens(path)
		for _, width := range []int64{1280, 360} {
			b.wide(width, "light")
			b.fits(fmt.Sprintf("%.60s at %d px", path, width))
		}
		if bad := eval[[]string](b, `[...document.querySelectorAll("main script:not([src^='/static/']), main img, main iframe, main style, main base, main meta, main svg script, [onclick], [onerror], [onload], [onmouseover], a[href^='javascript' i], a[href^='data' i], a[href^='vbscript' i], form[action^='http']")].map((e) => e.outerHTML.slice(0, 100))`); len(bad) > 0 {
			t.Errorf("%.60s: %q", path, bad)
		}
		// A field holds the text as it was written, so that it can be mended.
		if turned := eval[string](b, `([document.title, document.body.innerText, ...[...document.querySelectorAll("[title], [aria-label]")].map((e) => e.title + " " + e.ariaLabel)].join(" ").match(/.{0,40}[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c].{0,40}/) || [""])[0]`); turned != "" {
			t.Errorf("%.60s: text is turned around: %q", path, turned)
		}
		if high := eval[float64](b, `Math.max(0, ...[...document.querySelectorAll(".text table, .text pre")].map((e) => e.getBoundingClientRect().height))`); high > 400 {
			t.Errorf("%.60s: something in a memory is %.0f px high", path, high)
		}
		b.clean(path)
	}
}
