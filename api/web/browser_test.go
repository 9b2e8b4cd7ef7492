package web_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// browserTime bounds a test in a browser, on a machine that does much else.
const browserTime = 3 * time.Minute

// browser starts Chromium, signed in; false where there is none.
func (w *world) browser(n tenant, role memory.Role) (context.Context, bool) {
	w.t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		w.t.Log("there is no Chromium here, so that nothing was tried in a browser")
		return nil, false
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(browserTime), chromedp.WindowSize(1280, 900))
	ctx, cancel := context.WithTimeout(w.t.Context(), browserTime)
	w.t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	w.t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	w.t.Cleanup(cancel)
	w.does(ctx, "sign in", chromedp.Navigate(w.http.URL+"/sign-in"), chromedp.SendKeys(`input[name=token]`, n.tokens[role]+kb.Enter), chromedp.WaitVisible(`//h1[contains(., "documented")]`))
	return ctx, true
}

func (w *world) does(ctx context.Context, what string, actions ...chromedp.Action) {
	w.t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

// reads waits for words in a paragraph of a page that takes keys.
func reads(words string) chromedp.Action {
	return chromedp.WaitVisible(fmt.Sprintf(`//html[@data-keys]//p[contains(normalize-space(.), %q)]`, words), chromedp.BySearch)
}

// A reviewer clears doubts without a pointer, and takes every decision back.
func TestKeysClearDoubts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, ok := w.browser(w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	var all []memory.Memory
	for i := range 6 {
		all = append(all, w.disputed(w.acme, fmt.Sprintf("Gate number %d counts the wrong tokens of shelf %d.", i, i*7)))
	}
	w.does(ctx, "open the queue", chromedp.Navigate(w.http.URL+"/p/shop/review?all=1&reason=disputed"), reads("6 open items"))
	w.does(ctx, "ask for help", chromedp.KeyEvent("?"), chromedp.WaitVisible(`//details[@open]//li[contains(., "snooze")]`, chromedp.BySearch))
	keys := []struct {
		key    string
		action review.Action
	}{{"c", review.Confirm}, {"r", review.Retire}, {"s", review.Snooze}, {"x", review.Keep}, {"jc", review.Confirm}}
	for i, k := range keys {
		for key := range strings.SplitSeq(k.key, "") {
			w.does(ctx, "press "+key, chromedp.KeyEvent(key))
		}
		w.does(ctx, "after "+k.key, reads(fmt.Sprintf("%d of 6 decided", i+1)))
	}
	w.does(ctx, "edit", chromedp.KeyEvent("e"), chromedp.WaitVisible(`details.edit[open] textarea:focus`), chromedp.KeyEvent(" It was looked at."),
		chromedp.KeyEvent(kb.Tab+kb.Tab+kb.Enter), reads("6 of 6 decided"), reads("Nothing is open"))

	past, err := w.service.ReviewHistory(ctx, w.acme.Caller, review.HistoryRequest{})
	w.must(err)
	if len(past.Decisions) != len(keys)+1 || past.Decisions[0].Action != review.Edit {
		t.Fatalf("%+v", past.Decisions)
	}
	for i, k := range keys {
		if got := past.Decisions[len(past.Decisions)-1-i].Action; got != k.action {
			t.Errorf("%s did %s, want %s", k.key, got, k.action)
		}
	}
	for i := range all {
		w.does(ctx, "undo", chromedp.KeyEvent("u"), reads(fmt.Sprintf("%d open item", i+1)))
	}
	for _, m := range all {
		if now := w.memory(w.acme, m.Handle); now.Status != memory.Live || now.Confirmations != 0 || len(now.Flags) != 1 {
			t.Errorf("%+v", now)
		}
	}
}
