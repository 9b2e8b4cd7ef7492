package web_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/stele-dev/stele/memory"
)

// An open page shows what happens, also after the connection was cut, and says how it stands.
func TestLiveInBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleAgent)
	if !ok {
		return
	}
	listed := func(words string) chromedp.Action {
		return chromedp.WaitVisible(fmt.Sprintf(`//ol[@id="events"]/li[contains(normalize-space(.), %q)]`, words), chromedp.BySearch)
	}
	says := func(words string) chromedp.Action {
		return chromedp.WaitVisible(fmt.Sprintf(`//p[@id="stream"][contains(., %q)]`, words), chromedp.BySearch)
	}
	b.does("open", chromedp.Navigate(w.http.URL+"/p/shop/live"), listed("imported the model"), says("Connected"))
	w.remember(w.acme, memory.RememberRequest{Title: "The bell " + hostile, Content: "The bell rings at noon."})
	b.does("an event", listed("root wrote note The bell"))
	// While the connection is cut somebody writes; the page comes back for it.
	w.http.CloseClientConnections()
	w.remember(w.acme, memory.RememberRequest{Title: "The lift", Content: "The lift is out of order."})
	b.does("after a cut", listed("wrote note The lift"), says("Connected"))
	var all []string
	var alerts int
	b.does("read", chromedp.Evaluate(`[...document.querySelectorAll("#events > li")].map((e) => e.dataset.id)`, &all),
		chromedp.Evaluate(`document.querySelectorAll("#events script, #events img").length`, &alerts))
	for i := 1; i < len(all); i++ {
		if !follows(place(t, all[i]), place(t, all[i-1])) {
			t.Errorf("above %s stands %s", all[i], all[i-1])
		}
	}
	if alerts != 0 {
		t.Error("a title is taken for HTML")
	}
	// The sign-in ends: the page says so and asks no more.
	_, err := w.service.RevokeToken(t.Context(), w.acme.Caller, "the agent")
	w.must(err)
	w.http.CloseClientConnections()
	b.does("the end", says("signed out"))
}
