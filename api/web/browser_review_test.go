package web_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// currentItem is what a key decides about, as the page has it.
const currentItem = `(document.activeElement.closest("[data-item]") || document.querySelector("[data-current]") || document.querySelector("[data-item]"))`

// doubtful fills a queue with 20 items of seven reasons, some of them with a cause in common. The clock of the world begins half a year ago and
// ends now.
func doubtful(w *world, c *clock) []memory.Memory {
	w.t.Helper()
	ctx := context.Background()
	var all []memory.Memory
	say := func(r memory.RememberRequest) {
		w.t.Helper()
		if len(r.Elements) == 0 {
			r.Elements = []string{"shop.api"}
		}
		r.Kind, r.Separate = memory.Pitfall, true
		all = append(all, w.remember(w.acme, r))
	}
	now := time.Now()
	c.set(now.Add(-160 * day))
	for _, text := range []string{"Gates open at noon.", "Tokens are counted by address.", "Two vans share a key.", "Labels are printed twice.", "The till rounds down."} {
		say(memory.RememberRequest{Content: text}) // stale, once they are served
	}
	c.set(now.Add(-10 * day))
	shown := w.acme.Caller
	shown.Session = "s1"
	for _, m := range all {
		w.must(w.service.Impress(ctx, shown, []memory.Impression{{Memory: m.ID, Revision: m.Revision, Door: memory.DoorRecall}}))
	}
	say(memory.RememberRequest{Content: "The freeze holds until the fair.", Expires: "3d"})
	say(memory.RememberRequest{Content: "The old door is open to partners.", Expires: "4d"})
	say(memory.RememberRequest{Content: "Shelves are numbered, see [[Shelf rules]]."})
	say(memory.RememberRequest{Content: "Crates are blue, see [[Crate rules]]."})
	say(memory.RememberRequest{Content: "The page holds prices for a minute.", Elements: []string{"shop.web"}})
	say(memory.RememberRequest{Content: "The page asks twice on a slow line.", Elements: []string{"shop.web"}})
	c.set(now.Add(-day))
	for i, text := range []string{"Mail goes out at six.", "A basket ends after an hour.", "Names are sorted by the till.", "The index is cut at night.", "Refunds wait for a person.", "Stamps are in local time.", "Lists are kept for a year."} {
		say(memory.RememberRequest{Content: text})
		_, err := w.service.Confirm(ctx, w.acme.Caller, memory.ConfirmRequest{Memory: all[len(all)-1].Handle, Note: fmt.Sprintf("not since change %d", i)})
		w.must(err)
	}
	for _, n := range []string{"three", "four"} {
		all = append(all, w.remember(w.acme, memory.RememberRequest{Kind: memory.Note, Content: "the payment client retries " + n + " times and then gives up for good"}))
	}
	hook := w.acme
	hook.Door = memory.FromHook
	all = append(all, w.remember(hook, memory.RememberRequest{Kind: memory.Note, Content: "The build needs a second core."}))
	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	w.run(w.acme, first, nil)
	w.run(w.acme, second, []string{first}, drift.Finding{Fingerprint: "f", Check: drift.Existence, Outcome: drift.Missing, Element: "shop.web", Subject: "web/**", Message: "no file matches web/**",
		Since: &drift.Since{Commit: second, Author: "Ana", Subject: "Move it", Cause: drift.CodeChanged}})
	c.set(now)
	return all
}

// A reviewer clears twenty doubts without a pointer, each for its reason, and takes every decision back.
func TestKeysClearDoubts(t *testing.T) {
	t.Parallel()
	c := &clock{}
	c.set(time.Now().Add(-170 * day))
	w := newWorldAt(t, memory.Options{Now: c.now})
	all := doubtful(w, c)
	b, ok := w.browser(t, w.acme, memory.RoleReviewer) // now: a sign-in lasts a working day
	if !ok {
		return
	}
	w.disputed(w.globex, "Only globex doubts this.")
	before := w.still(all)
	b.opens("/p/shop/review?all=1")
	b.does("see all", reads("20 open items"))
	b.presses("?")
	b.does("see the keys", chromedp.WaitVisible(`//details[@open]//li[contains(., "snooze")]`, chromedp.BySearch))

	// What a person would press, in turn, for each reason. An edit goes on in the field that it opens; T decides about a whole cause with a reason, m merges
	// a pair, both by buttons that Tab comes to.
	plan := map[string]string{"stale": "crxds", "expired": "rx", "dangling_link": "xe", "drifted": "T", "disputed": "crsxec", "conflict": "m", "unreviewed": "c"}
	did := map[string]int{}
	var settled []int // items, by decision
	open, decided := 20, 0
	for open > 0 && len(settled) < 30 {
		reason := eval[string](b, currentItem+`.querySelector(".flag").classList[1]`)
		if len(plan[reason]) == 0 {
			t.Fatalf("nothing is planned for %q", reason)
		}
		if inGroup := eval[bool](b, `/[0-9] memories/.test(`+currentItem+`.textContent)`); inGroup {
			b.presses("o")
			b.does("open the cause", chromedp.WaitVisible(`.crumbs a`))
			b.does("be ready for keys", chromedp.WaitReady(`html[data-keys]`))
		}
		key := plan[reason][:1]
		if plan[reason] = plan[reason][1:]; plan[reason] == "" && reason == "disputed" {
			plan[reason] = "c" // what was disputed on the way comes back as that
		}
		did[key]++
		settled = append(settled, 1)
		switch key {
		case "T":
			b.tabsTo(`#together [name=reason]`)
			b.presses("looked at both")
			b.tabsTo(`#together [value=confirm]`)
			b.does("decide about all", chromedp.KeyEvent(kb.Enter))
			settled[len(settled)-1] = 2
		case "m":
			b.tabsTo(`.merge [name=into]`)
			b.does("merge", chromedp.KeyEvent(kb.Enter))
		default:
			b.presses(key)
		}
		decided += settled[len(settled)-1]
		switch key {
		case "e":
			b.does("write", chromedp.WaitVisible(`details.edit[open] textarea:focus`), chromedp.KeyEvent(" It was looked at."), chromedp.KeyEvent(kb.Tab+kb.Tab+kb.Enter))
			open--
		case "d": // one doubt less, and a dispute more
		default:
			open -= settled[len(settled)-1]
		}
		b.does(fmt.Sprintf("after %s on %s", key, reason), reads(fmt.Sprintf("%d of ", decided)))
		if eval[bool](b, `!!document.querySelector(".crumbs")`) {
			b.does("go back to the queue", chromedp.Focus(`.crumbs a`), chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(`.crumbs`))
			b.does("see the rest", reads(" of "))
		}
	}
	b.does("see nothing", reads("Nothing is open"))
	for _, key := range "cdrexsTm" {
		if did[string(key)] == 0 {
			t.Errorf("%c was never pressed", key)
		}
	}
	past, err := w.service.ReviewHistory(b.ctx, w.acme.Caller, review.HistoryRequest{Limit: review.MaxLimit})
	w.must(err)
	if len(past.Decisions) != len(settled) || decided <= 20 {
		t.Fatalf("%d decisions about %d items, by %d presses", len(past.Decisions), decided, len(settled))
	}
	for _, n := range slices.Backward(settled) {
		b.presses("u")
		if decided -= n; decided > 0 {
			b.does("undo", reads(fmt.Sprintf("%d of ", decided)))
		}
	}
	b.does("see all again", reads("20 open items"))
	if diff := cmp.Diff(before, w.still(all), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what is taken back leaves\n%s", diff)
	}
	b.clean("review by keys")
}

// still is what decisions change of memories.
func (w *world) still(all []memory.Memory) []string {
	w.t.Helper()
	var out []string
	for _, m := range all {
		now := w.memory(w.acme, m.Handle)
		text := fmt.Sprintf("%s %s %d confirmations, expires %v: %s", now.Handle, now.Status, now.Confirmations, now.ExpiresAt, now.Content)
		for _, f := range now.Flags {
			text += fmt.Sprintf("; %s %s", f.Flag, f.Reason)
		}
		for _, e := range now.Elements {
			text += " " + e.Key
		}
		out = append(out, text)
	}
	return out
}

// 400 doubts of one renamed folder are one cause on the page, one decision with a reason in words, and one way back.
func TestRenameIsOneDecisionOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	const n = 400
	for i := range n {
		w.remember(w.acme, memory.RememberRequest{Kind: memory.Note, Content: fmt.Sprintf("fact number %d", i), Elements: []string{"shop.api"}, Separate: true})
	}
	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	w.run(w.acme, first, nil)
	w.run(w.acme, second, []string{first}, drift.Finding{Fingerprint: "f", Check: drift.Existence, Outcome: drift.Moved, MovedTo: "gateway", Element: "shop.api", Subject: "api/**", Message: "no file matches api/**",
		Fix: drift.Fix{File: "workspace.dsl", Action: "change", Old: "api/**", New: "gateway/**"}, Since: &drift.Since{Commit: second, Author: "Ana", Subject: "Rename it", Cause: drift.CodeChanged}})
	b.opens("/p/shop/review?all=1")
	b.does("see one cause", reads("400 open items of 1 cause"))
	b.presses("o")
	b.sees("All 400 together")
	b.fits("the cause")
	b.wide(360, "light")
	b.fits("the cause on a phone")
	b.does("press Enter in the field of the reason", chromedp.SendKeys(`#together input[name=reason]`, "only the name changed"+kb.Enter))
	if at := b.at(); strings.Contains(at, "done=") {
		t.Errorf("Enter decided: %s", at)
	}
	b.does("confirm", chromedp.Click(`#together [value=confirm]`))
	b.does("see it done", reads("Nothing is open"), reads("400 in all"), reads("only the name changed"))
	b.presses("u")
	b.does("see all back", reads("400 open items of 1 cause"))
	b.clean("a rename")
}

// What agents are offered in a browser is what they may do, by keys as well.
func TestKeysOfAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleAgent)
	if !ok {
		return
	}
	m := w.disputed(w.acme, "The gate counts wrong tokens.")
	own := w.acme
	own.User, own.Role = "the agent", memory.RoleAgent
	mine := w.disputed(own, "Slots are counted in crates.")
	b.opens("/p/shop/review?all=1")
	b.does("see both", reads("2 open items"))
	for b.presses("j"); !strings.Contains(eval[string](b, currentItem+`.textContent`), "wrong tokens"); {
		b.presses("j")
	}
	offered := eval[[]string](b, `[...document.querySelectorAll("[data-item]")].find((e) => e.textContent.includes("wrong tokens")).querySelectorAll("[data-key]").values().map((e) => e.dataset.key).toArray()`)
	if strings.Join(offered, "") != "c" {
		t.Errorf("of another's memory it is offered %v", offered)
	}
	b.presses("rsxed")
	if at := b.at(); at != "/p/shop/review?all=1" {
		t.Errorf("a key led to %s", at)
	}
	b.presses("c")
	b.does("see one left", reads("1 of 2 decided"))
	b.presses("r")
	b.does("see none left", reads("2 of 2 decided"))
	if now := w.memory(w.acme, m.Handle); now.Status != memory.Live || now.Confirmations != 1 {
		t.Errorf("%+v", now)
	}
	if now := w.memory(w.acme, mine.Handle); now.Status != memory.Retired {
		t.Errorf("its own is %s", now.Status)
	}
	b.opens("/p/shop/memories/" + m.Handle)
	b.sees("It does not hold")
	if eval[int](b, `document.querySelectorAll("button[value=retire], button[value=promote]").length`) != 0 {
		t.Error("an agent is offered to retire or promote what another wrote")
	}
	b.opens("/p/shop/memories/" + mine.Handle)
	b.clicks("Restore into recall")
	b.does("see it back", chromedp.WaitVisible(button("Retire: take it out of recall"), chromedp.BySearch))
	b.clean("review as an agent")
}

// A key that is held down, or pressed while a decision is on its way, decides once; one that is typed into a field decides nothing.
func TestKeysDecideOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	for i := range 3 {
		w.disputed(w.acme, fmt.Sprintf("Gate number %d counts the wrong tokens of shelf %d.", i, i*7))
	}
	b.opens("/p/shop/review?all=1&reason=disputed")
	b.does("see all", reads("3 open items"))
	b.does("type into the reason", chromedp.SendKeys(`[data-item] input[name=reason]`, "crsxeu"))
	if at := b.at(); at != "/p/shop/review?all=1&reason=disputed" {
		t.Errorf("a letter in a field led to %s", at)
	}
	b.does("leave the field", chromedp.KeyEvent(kb.Escape), chromedp.WaitReady(`[data-item]:focus`))
	eval[any](b, `["c", "c", "r"].forEach((key, i) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, repeat: i == 1}))), null`)
	b.does("see one decided", reads("1 of 3 decided"), reads("crsxeu"))
	past, err := w.service.ReviewHistory(b.ctx, w.acme.Caller, review.HistoryRequest{})
	w.must(err)
	if len(past.Decisions) != 1 || past.Decisions[0].Action != review.Confirm || past.Decisions[0].Reason != "crsxeu" {
		t.Errorf("%+v", past.Decisions)
	}
	b.clean("keys")
}

// Each action that has no key is pressed on its page, and taken back there.
func TestActionsByPointer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	one := w.remember(w.acme, memory.RememberRequest{Kind: memory.Note, Content: "the payment client retries three times and then gives up for good"})
	two := w.remember(w.acme, memory.RememberRequest{Kind: memory.Note, Content: "the payment client retries four times and then gives up for good"})
	undo := func(open string) {
		t.Helper()
		b.clicks("Undo")
		b.does("see it open again", reads(open))
	}
	b.opens("/p/shop/review?all=1&reason=conflict")
	b.clicks("Merge into " + two.Handle)
	b.does("see it merged", reads("merged"), reads("0 open items"))
	undo("1 open item")
	b.does("merge into a new text", chromedp.Click(`.merge summary`), chromedp.SetValue(`.merge textarea`, "The payment client retries three times, the refund client four."))
	b.clicks("Merge")
	b.does("see it merged", reads("merged"), reads("0 open items"))
	undo("1 open item")
	for _, m := range []memory.Memory{one, two} {
		if now := w.memory(w.acme, m.Handle); now.Status != memory.Live {
			t.Errorf("%s is %s after all was taken back", m.Handle, now.Status)
		}
	}

	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	for _, text := range []string{"The gateway strips headers.", "The gateway counts in bytes.", "Nobody restarts the gateway at noon."} {
		w.remember(w.acme, memory.RememberRequest{Kind: memory.Pitfall, Content: text, Elements: []string{"shop.api"}})
	}
	w.run(w.acme, first, nil)
	w.run(w.acme, second, []string{first}, drift.Finding{Fingerprint: "f", Check: drift.Existence, Outcome: drift.Moved, MovedTo: "server", Element: "shop.api", Subject: "api/**", Message: "no file matches api/**",
		Fix: drift.Fix{File: "workspace.dsl", Action: "change", Old: "api/**", New: "server/**"}, Since: &drift.Since{Commit: second, Author: "Ana", Subject: "Move it", Cause: drift.CodeChanged}})
	b.opens("/p/shop/review?all=1&reason=drifted")
	b.does("accept the binding", chromedp.Click(`[value=accept_binding]`))
	b.does("see it bound", reads("bound to where the files went"), reads("0 open items"))
	undo("3 open items")
	b.does("open the cause", chromedp.Click(`[data-open]`))
	b.sees("All 3 together")
	b.does("tick two", chromedp.Evaluate(`[...document.querySelectorAll("[form=together][type=checkbox]")].slice(0, 2).forEach((e) => e.click())`, nil), chromedp.Click(`#together [value=keep]`))
	b.does("see two decided", reads("2 of 3 decided"), reads("kept as it is"))
	b.does("reattach the third", chromedp.Click(`//summary[.="Reattach"]`, chromedp.BySearch), chromedp.SetValue(`input[name=elements]`, "shop.web"))
	b.clicks("Reattach")
	b.does("see it reattached", reads("reattached"))
	undo("2 open items")

	b.opens("/p/shop/memories/" + one.Handle)
	for _, press := range []string{"Promote: every project of the organization recalls it", "Retire: take it out of recall"} {
		b.clicks(press)
		b.does("see it done", chromedp.WaitVisible(`.done [data-key=u]`))
		b.clicks("Undo")
		b.does("see it taken back", chromedp.WaitNotPresent(`.done [data-key=u]`), chromedp.WaitVisible(button(press), chromedp.BySearch))
	}
	b.clean("actions")
}

// A decision about very many is held back until it has a reason; all of it goes by keyboard, and so does the way back.
func TestBulkAsksForAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, ok := w.browser(t, w.acme, memory.RoleReviewer)
	if !ok {
		return
	}
	batch := uuid.New()
	for i := range review.BulkReason {
		w.remember(w.acme, memory.RememberRequest{Content: fmt.Sprintf("Imported rule %d says that port %d is taken.", i, 7000+i), Imported: &memory.Imported{Key: fmt.Sprint("notes/", i), Batch: batch, User: "root"}})
	}
	b.opens("/p/shop/review?all=1")
	b.does("see that the queue offers no decision", reads("look at the first lines"), chromedp.WaitNotPresent(`[data-item] [name=action]`))
	b.presses("c")
	b.presses("o")
	b.sees("All 11 together")
	b.tabsTo(`#together [value=retire]`)
	b.does("retire without a reason", chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`[role=alert]`))
	b.forgives()
	b.tabsTo(`#together [name=reason]`)
	b.presses("the ports are free")
	b.tabsTo(`#together [value=retire]`)
	b.does("retire with one", chromedp.KeyEvent(kb.Enter), reads("11 of 11 decided"), reads("Nothing is open"))
	b.presses("u")
	b.does("take all back", reads("11 open items of 1 cause"))
	b.clean("a bulk decision")
}
