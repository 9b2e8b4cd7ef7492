package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/stele-dev/stele/memory"
)

// Somebody signs in by keyboard, makes the pages dark, and leaves again.
func TestSignInAndTheme(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.tab(t)
	if !ok {
		return
	}
	b.opens("/p/shop/sessions")
	b.sees("Token")
	b.does("sign in", chromedp.WaitReady(`input[name=token]:focus`), chromedp.KeyEvent(w.acme.tokens[memory.RoleReviewer]+kb.Enter))
	b.sees("Nobody is at work")
	paper := func() string { return eval[string](b, `getComputedStyle(document.body).backgroundColor`) }
	bright := paper()
	b.does("choose the dark theme", chromedp.Evaluate(`(() => { const s = document.querySelector("[name=theme]"); s.value = "dark"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil),
		chromedp.WaitReady(`html[data-theme=dark]`))
	b.sees("Nobody is at work")
	if dark := paper(); dark == bright {
		t.Errorf("dark pages are as bright as others: %s", dark)
	}
	b.clicks("Sign out")
	b.sees("Token")
	b.opens("/p/shop/sessions")
	b.sees("Token")
	b.clean("signing in and out")
}

// The map is narrowed while somebody types, without another page, and the address can be kept.
func TestMapFilterWithoutReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleAgent)
	if !ok {
		return
	}
	b.opens("/p/shop/")
	b.sees("3 of 3 elements")
	eval[any](b, `document.body.dataset.same = "yes", null`)
	b.does("type", chromedp.SendKeys(`#q`, "web"))
	b.sees("1 of 3 elements")
	b.does("stay on the page, in the field", chromedp.WaitReady(`body[data-same] #q:focus`))
	if at := b.at(); !strings.Contains(at, "q=web") {
		t.Errorf("the address is %s", at)
	}
	b.does("come back by the address", chromedp.Reload(), chromedp.WaitNotPresent(`body[data-same]`))
	b.sees("1 of 3 elements")
	b.clean("the map")
}

// Without scripts everything works by buttons, and nothing speaks of keys.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	m := w.disputed(w.acme, "The gate counts wrong tokens.")
	b.scripts(false)
	b.opens("/p/shop/")
	b.does("filter by the button", chromedp.SendKeys(`#q`, "web"+kb.Enter))
	b.sees("1 of 3 elements")
	b.does("set the theme by its button", chromedp.Focus(`[name=theme]`), chromedp.KeyEvent("d"), chromedp.KeyEvent(kb.Tab+kb.Enter), chromedp.WaitReady(`html[data-theme=dark]`))
	b.opens("/p/shop/review?all=1")
	b.does("see no keys", chromedp.WaitNotVisible(`#keys`))
	b.clicks("Confirm")
	b.sees("1 of 1 decided")
	b.clicks("Undo")
	b.sees("1 open item")
	b.opens("/p/shop/elements/shop.web")
	b.does("write", chromedp.SendKeys(`#write textarea[name=content]`, "The page holds prices for a minute."))
	b.clicks("Remember")
	b.sees("Written")
	b.opens("/p/shop/recall?q=gate+tokens")
	b.sees(m.Handle)
	b.clean("no scripts")
}

// A form that was not taken keeps what was typed and leads to what was wrong.
func TestFormsInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleAdmin)
	if !ok {
		return
	}
	b.opens("/p/shop/elements/shop.api")
	b.clicks("Remember")
	if eval[bool](b, `document.querySelector("#write textarea[name=content]").matches(":invalid:focus")`) == false {
		t.Error("an empty memory is sent")
	}
	b.does("write", chromedp.SendKeys(`#write textarea[name=content]`, "Retries stop after three."), chromedp.SendKeys(`#write input[name=expires]`, "someday"))
	b.clicks("Remember")
	b.does("see what is wrong", chromedp.WaitVisible(`#write [role=alert]`), chromedp.WaitVisible(`[name=expires][aria-invalid=true][aria-describedby=wrong]`))
	b.forgives()
	b.does("mend it", chromedp.SetValue(`#write input[name=expires]`, "3d"))
	b.clicks("Remember")
	b.sees("Written")

	b.opens("/p/shop/settings")
	b.does("make a token", chromedp.SendKeys(`[name=name]`, "robot"))
	b.clicks("Make it")
	b.does("see it", chromedp.WaitVisible(`#secret`))
	b.does("revoke it", chromedp.Click(`[aria-label="Revoke the token of robot"]`))
	b.sees("revoked")
	b.clean("forms")
}
