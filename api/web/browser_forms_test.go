package web_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// A link from the command line lets somebody in once, to where they wanted to go.
func TestSignInByLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.tab(t)
	if !ok {
		return
	}
	c, err := client.New(client.Options{URL: w.http.URL, Token: w.acme.tokens[memory.RoleReviewer]})
	w.must(err)
	defer c.Close()
	made, err := c.SignInLink(t.Context())
	w.must(err)
	link := "/sign-in?to=" + url.QueryEscape("/p/shop/sessions") + "&link=" + url.QueryEscape(made.Text)
	b.opens(link) // looking does not use it up
	b.opens(link)
	b.sees("good for one sign-in")
	b.clicks("Sign in")
	b.sees("Nobody is at work")
	if at := b.at(); at != "/p/shop/sessions" {
		t.Errorf("it leads to %s", at)
	}
	b.clicks("Sign out")
	b.sees("Token")
	b.clean("a link")
	b.opens(link)
	b.clicks("Sign in")
	b.does("see that it is used up", chromedp.WaitVisible(`main [role=alert]`), chromedp.WaitVisible(`input[type=password]`))
}

// A reviewer tells the server where the repository is, has it compared, and makes and ends the address of badges.
func TestDriftFormsInABrowser(t *testing.T) {
	t.Parallel()
	asked := make(chan uuid.UUID, 10)
	w := newWorld(t, func(o *api.Options) {
		o.RunDrift = func(_ context.Context, _, project uuid.UUID) error {
			asked <- project
			return nil
		}
	})
	b, ok := w.browser(t, w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	b.opens("/p/shop/drift")
	b.sees("cannot be run from here")
	b.does("fill the form", chromedp.SendKeys(`[name=clone_url]`, "https://example.org/acme/shop.git"), chromedp.SendKeys(`[name=schedule]`, "sometimes"))
	b.clicks("Save")
	b.does("see what is wrong", chromedp.WaitVisible(`[name=schedule][aria-invalid=true][aria-describedby=wrong]`), chromedp.WaitVisible(`#wrong`))
	b.forgives()
	b.does("mend it", chromedp.SetValue(`[name=schedule]`, "0 4 * * *"))
	b.clicks("Save")
	b.sees("They are saved")
	if got := eval[string](b, `["clone_url", "schedule"].map((n) => document.querySelector("[name=" + n + "]").value).join(" ")`); got != "https://example.org/acme/shop.git 0 4 * * *" {
		t.Errorf("it shows %s", got)
	}
	b.clicks("Make an address")
	b.sees("score.svg")
	b.clicks("End it")
	b.sees("There are none")
	if len(asked) != 0 {
		t.Error("a run began without being asked for")
	}
	b.clicks("Run now")
	b.sees("waits for its turn")
	if len(asked) != 1 || <-asked != w.acme.Project {
		t.Error("no run of this project was asked for")
	}
	b.clean("drift")
}

// Somebody looks for a session and ends it, and looks for a decision that is not there.
func TestFiltersInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	w.start(w.acme, "ana", session.StartRequest{Task: "Mend the gate.", Elements: []string{"shop.api"}})
	w.start(w.acme, "bob", session.StartRequest{Task: "Paint the page.", Elements: []string{"shop.web"}})
	b.opens("/p/shop/sessions")
	b.sees("Paint the page.")
	b.does("ask for one user", chromedp.SendKeys(`[name=user]`, "ana"+kb.Enter), chromedp.WaitNotPresent(`//main//a[contains(., "Paint")]`, chromedp.BySearch))
	b.does("open it", chromedp.Click(`//main//a[contains(., "Mend the gate.")]`, chromedp.BySearch))
	b.sees("It was shown nothing")
	b.does("look for how to end it", chromedp.Click(`//summary[.="Cancel"]`, chromedp.BySearch))
	b.clicks("Cancel the session")
	b.does("see it ended", chromedp.WaitVisible(`h1 .flag.cancelled`), chromedp.WaitNotPresent(button("Cancel the session"), chromedp.BySearch))
	b.opens("/p/shop/sessions")
	b.does("ask for what was cancelled", chromedp.SetValue(`[name=state]`, "cancelled"))
	b.clicks("Show")
	b.does("see it alone", chromedp.WaitVisible(`td .flag.cancelled`), chromedp.WaitNotPresent(`.at-work`))
	b.does("ask for an element that is not there", chromedp.SendKeys(`[name=element]`, "shop.none"+kb.Enter), chromedp.WaitVisible(`#wrong`))
	b.forgives()

	m := w.disputed(w.acme, "The gate counts wrong tokens.")
	b.opens("/p/shop/review?all=1")
	b.clicks("Keep")
	b.sees("1 of 1 decided")
	b.opens("/p/shop/review/history")
	b.sees(m.Handle)
	b.does("ask for another's", chromedp.SendKeys(`[name=author]`, "nobody"+kb.Enter))
	b.sees("Nothing has been decided yet")
	b.does("ask for mine", chromedp.SetValue(`[name=author]`, "the reviewer"), chromedp.SendKeys(`[name=memory]`, m.Handle+kb.Enter))
	b.sees(m.Handle)
	b.clicks("Undo")
	b.sees("taken back")
	b.clean("filters")
}

// An admin binds an element on the settings page, and has the server examined.
func TestSettingsFormsInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleAdmin)
	if !ok {
		return
	}
	b.opens("/p/shop/settings")
	b.clicks("Leave them out")
	b.sees("They are left out")
	b.tabsTo(`details > summary`)
	b.does("open the form by keyboard", chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`[name=element]`))
	b.tabsTo(`[name=element]`)
	b.presses("shop.none")
	b.tabsTo(`[name=patterns]`)
	b.presses("fresh/**")
	b.clicks("Bind it")
	b.does("see what is wrong, and what was typed", chromedp.WaitVisible(`[name=element][aria-invalid=true][value="shop.none"]`), chromedp.WaitVisible(`#wrong`))
	b.forgives()
	b.does("mend it", chromedp.SetValue(`[name=element]`, "shop.api"))
	b.clicks("Bind it")
	b.sees("Set here, and not in the repository yet")
	b.sees("fresh/**")
	b.does("go to the doctor", chromedp.Click(`//a[.="examine the server"]`, chromedp.BySearch))
	b.clicks("Examine the server")
	b.sees("Nothing failed")
	b.does("stay in the settings", chromedp.WaitVisible(`nav [aria-current=page][href$="/settings"]`), chromedp.WaitVisible(button("Examine it again"), chromedp.BySearch))
	b.clean("settings")
}
