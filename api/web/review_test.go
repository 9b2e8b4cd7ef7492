package web_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

// groupLink leads from the queue to a group.
var groupLink = regexp.MustCompile(`/p/shop/review/groups/g-[0-9a-f]+\?all=1`)

// forms of a page, in its order: what each would send, by the names of its fields.
func (p page) forms() []url.Values {
	var out []url.Values
	for _, form := range regexp.MustCompile(`(?s)<form[^>]*action="[^"]*/review/(?:decide|undo)".*?</form>`).FindAllString(p.body, -1) {
		values := url.Values{}
		for _, field := range regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
			values.Add(field[1], strings.ReplaceAll(field[2], "&amp;", "&"))
		}
		out = append(out, values)
	}
	return out
}

// formOf is the first form that has a field and leaves the action to its buttons, with one pressed.
func (p page) formOf(t *testing.T, field string, action review.Action) url.Values {
	t.Helper()
	for _, f := range p.forms() {
		if f.Has(field) && !f.Has("action") {
			f.Set("action", string(action))
			return f
		}
	}
	t.Fatalf("no form of a %s in\n%s", field, p.body)
	return nil
}

func (v *visitor) undo(t *testing.T, p page) page {
	t.Helper()
	form := p.formOf(t, "decision", "")
	return v.post("/p/shop/review/undo", form)
}

func TestReviewQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.disputed(w.acme, "The gate counts wrong tokens. "+hostile)
	second := w.disputed(w.acme, "Orders are idempotent by their number.")
	w.disputed(w.globex, "Only globex doubts this.")
	v := w.visit(w.acme, memory.RoleReviewer)
	v.get("/p/shop/review").shows(t, "Nothing is open that is yours", "2 items are not yours", "!Orders")
	all := v.get("/p/shop/review?all=1")
	all.shows(t, "2 open items of 2 causes", "Can wait", "not since the rewrite of "+first.Handle, "Retire", "Snooze", "Keys", "!Only globex", "!<script>alert", `href="/p/shop/review/groups/g-`)
	v.get("/p/shop/review?all=1&reason=stale").shows(t, "0 open items")
	if got := v.get("/p/shop/review?reason=nonsense"); got.status != http.StatusBadRequest {
		t.Errorf("a reason that is none: %d", got.status)
	}
	form := all.formOf(t, "group", review.Confirm)
	after := v.post("/p/shop/review/decide", form)
	after.shows(t, "1 of 2 decided", "1 open item of 1 cause", "confirmed", "Undo")
	if !strings.HasPrefix(after.path, "/p/shop/review?all=1&at=0&done=") {
		t.Errorf("it goes on at %s", after.path)
	}
	twice := v.post("/p/shop/review/decide", form)
	if twice.status != http.StatusConflict {
		t.Errorf("the same again: %d", twice.status)
	}
	twice.says(t, `role="alert"`, "decided this on", "1 open item")
	v.undo(t, after).shows(t, "2 open items of 2 causes", "!decided in the last day")
	v.get("/p/shop/review/history").shows(t, "confirmed", "the reviewer", `class="undone"`, "taken back")
	v.get("/p/shop/review/history?author=nobody").shows(t, "Nothing has been decided yet")
	for _, m := range []memory.Memory{first, second} {
		if now := w.memory(w.acme, m.Handle); now.Confirmations != 0 || len(now.Flags) != 1 {
			t.Errorf("%+v", now)
		}
	}
}

// An agent may say whether a memory holds, and is offered nothing else about what others wrote.
func TestAgentsReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.disputed(w.acme, "The gate counts wrong tokens.")
	v := w.visit(w.acme, memory.RoleAgent)
	p := v.get("/p/shop/review?all=1")
	p.shows(t, `value="confirm"`, `!value="retire"`, `!value="snooze"`, "!<summary data-key")
	for _, action := range []review.Action{review.Retire, review.Keep, review.Snooze, review.AcceptBinding, review.Promote} {
		got := v.post("/p/shop/review/decide", p.formOf(t, "group", action))
		if got.status != http.StatusForbidden {
			t.Errorf("%s: %d", action, got.status)
		}
		got.says(t, `role="alert"`, "1 open item")
	}
	v.post("/p/shop/review/decide", p.formOf(t, "group", review.Confirm)).shows(t, "0 open items")
}

// Every action that one memory can be settled by, from its group's page, and the way back from each.
func TestEachActionCanBeUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.disputed(w.acme, "The gate counts wrong tokens.")
	v := w.visit(w.acme, memory.RoleReviewer)
	group := groupLink.FindString(v.get("/p/shop/review?all=1").body)
	for _, test := range []struct {
		action review.Action
		more   url.Values
		says   string
	}{
		{review.Confirm, nil, "confirmed"},
		{review.Retire, url.Values{"reason": {"it is gone"}}, "it is gone"},
		{review.Keep, nil, "kept as it is"},
		{review.Snooze, url.Values{"days": {"7"}}, "put off"},
		{review.Edit, url.Values{"content": {"The gate counts wrong tokens by address."}}, "rewritten"},
		{review.Reattach, url.Values{"elements": {"shop.web"}}, "reattached"},
	} {
		p := v.get(group)
		p.shows(t, "The gate counts wrong tokens", "not since the rewrite", "disputed")
		form := p.formOf(t, "item", test.action)
		maps.Copy(form, test.more)
		done := v.post("/p/shop/review/decide", form)
		done.shows(t, test.says, "Undo")
		v.undo(t, done)
		if now := w.memory(w.acme, m.Handle); now.Status != memory.Live || now.Confirmations != 0 || len(now.Flags) != 1 || now.Elements[0].Key != "shop.api" {
			t.Errorf("after %s was taken back: %+v", test.action, now)
		}
	}
	wrong := v.get(group).formOf(t, "item", review.Edit)
	wrong.Set("content", strings.Repeat("too long ", 3000))
	got := v.post("/p/shop/review/decide", wrong)
	if got.status != http.StatusBadRequest {
		t.Errorf("a text that is too long: %d", got.status)
	}
	got.says(t, `role="alert"`, "too long too long")
}

// Many of one cause are one decision, with their first lines before and a reason in words; or only those that are ticked.
func TestReviewInBulk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := uuid.New()
	for i := range 24 {
		w.remember(w.acme, memory.RememberRequest{Content: fmt.Sprintf("Imported rule %d says that port %d is taken.", i, 7000+i), Imported: &memory.Imported{Key: fmt.Sprint("notes/", i), Batch: batch, User: "root"}})
	}
	v := w.visit(w.acme, memory.RoleReviewer)
	queue := v.get("/p/shop/review?all=1")
	queue.shows(t, "24 memories imported together", "look at the first lines", "24 open items of 1 cause")
	group := groupLink.FindString(queue.body)
	p := v.get(group)
	p.shows(t, "All 24 together", "A decision about so many needs a reason", "Imported rule 23", "&amp;from=20")
	v.get(group+"&from=20").shows(t, "Those before")
	form := p.formOf(t, "group", review.Retire)
	without := v.post("/p/shop/review/decide", form)
	if without.status != http.StatusBadRequest {
		t.Errorf("without a reason: %d", without.status)
	}
	without.says(t, `role="alert"`, "needs a reason")

	ticked := v.get(group).formOf(t, "group", review.Retire)
	for _, id := range regexp.MustCompile(`name="item" value="([^"]+)" form="together"`).FindAllStringSubmatch(p.body, 2) {
		ticked.Add("item", id[1])
	}
	v.post("/p/shop/review/decide", ticked).shows(t, "All 22 together", "2 of 24 decided")

	form = v.get(group).formOf(t, "group", review.Retire)
	form.Set("reason", "the ports are free since the move")
	all := v.post("/p/shop/review/decide", form)
	all.shows(t, "22 in all", "24 of 24 decided", "the ports are free", "Nothing is open")
	v.undo(t, all).shows(t, "22 memories")
}

func TestReviewOfTwoThatSayTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember(w.acme, memory.RememberRequest{Content: "the payment client retries three times and then gives up for good"})
	two := w.remember(w.acme, memory.RememberRequest{Content: "the payment client retries four times and then gives up for good"})
	v := w.visit(w.acme, memory.RoleReviewer)
	p := v.get("/p/shop/review?all=1")
	p.shows(t, "retries three times", "retries four times", "Merge into "+two.Handle, "Merge into a new text")
	form := p.formOf(t, "group", review.Merge)
	form.Set("into", two.Handle)
	done := v.post("/p/shop/review/decide", form)
	done.shows(t, "merged", "0 open items")
	v.undo(t, done).shows(t, "1 open item")
}

// Where files went is accepted with one press, and memories of what left the model find another element.
func TestReviewOfWhatMovedAndWhatLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(w.acme, memory.RememberRequest{Content: "The gateway strips headers.", Elements: []string{"shop.api"}})
	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	w.run(w.acme, first, nil)
	w.run(w.acme, second, []string{first}, drift.Finding{Fingerprint: "f", Check: drift.Existence, Outcome: drift.Moved, MovedTo: "server", Element: "shop.api", Subject: "api/**", Message: "no file matches api/**",
		Fix: drift.Fix{File: "workspace.dsl", Action: "change", Old: "api/**", New: "server/**"}, Since: &drift.Since{Commit: second, Author: "Ana", Subject: "Move it", Cause: drift.CodeChanged}})
	v := w.visit(w.acme, memory.RoleReviewer)
	group := groupLink.FindString(v.get("/p/shop/review?all=1").body)
	p := v.get(group)
	p.shows(t, "What the run found", "- api/**", "+ server/**", "Move it", "Ana", second)
	queue := v.get("/p/shop/review?all=1")
	queue.shows(t, "Accept binding")
	done := v.post("/p/shop/review/decide", queue.formOf(t, "group", review.AcceptBinding))
	done.shows(t, "bound to where the files went", "0 open items")
	v.get("/p/shop/elements/shop.api").shows(t, "server/**")
	v.undo(t, done).shows(t, "1 open item")

	w.model(w.acme, "shop.web")
	queue = v.get("/p/shop/review?all=1&reason=orphaned")
	group = groupLink.FindString(queue.body)
	p = v.get(group)
	p.shows(t, "left the model", `<option value="shop.web">`)
	form := p.formOf(t, "item", review.Reattach)
	form.Set("elements", "shop.web, ")
	v.post("/p/shop/review/decide", form).shows(t, "reattached")
	if now := w.memory(w.acme, m.Handle); len(now.Elements) != 1 || now.Elements[0].Key != "shop.web" {
		t.Errorf("%+v", now.Elements)
	}
}

// A form may only lead back to the project's pages.
func TestDecisionsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(w.acme, memory.RememberRequest{Content: "Prices are in cents."})
	v := w.visit(w.acme, memory.RoleReviewer)
	for _, back := range []string{"https://evil.example/", "//evil.example", "/p/depot/review", "/sign-in", `\\evil.example`} {
		got := v.post("/p/shop/review/decide", url.Values{"action": {"confirm"}, "memory": {m.Handle}, "back": {back}})
		if got.status != http.StatusOK || !strings.HasPrefix(got.path, "/p/shop/review?done=") {
			t.Errorf("%s leads to %d %s", back, got.status, got.path)
		}
	}
}
