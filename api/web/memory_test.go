package web_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

func TestMemoryPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.remember(w.acme, memory.RememberRequest{Kind: memory.Convention, Title: "Prices", Content: "Prices are in cents. " + hostile, Elements: []string{"shop.api"}})
	m := w.remember(w.acme, memory.RememberRequest{Kind: memory.Convention, Content: "Prices are in tenths of cents, see [[shop.web]] and [[Nobody]].", Supersedes: old.Handle})
	secret := w.remember(w.globex, memory.RememberRequest{Content: "Only globex knows."})
	mine := w.remember(w.acme, memory.RememberRequest{Content: "Root alone knows.", Scope: memory.Personal})
	v := w.visit(w.acme, memory.RoleAgent)
	v.get("/p/shop/memories/"+old.Handle).shows(t, "Prices", "superseded by", m.Handle, "!<script>alert", "!href=\"javascript:")
	v.get("/p/shop/memories/"+m.Handle).shows(t, "Prices are in tenths", "/elements/shop.web", "leads nowhere yet", "What happened", "Does it hold?", "!Retire")
	for _, handle := range []string{secret.Handle, mine.Handle, "m-0000000"} {
		if got := v.get("/p/shop/memories/" + handle); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", handle, got.status)
		}
	}
}

func TestWhereAMemoryWasServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(w.acme, memory.RememberRequest{Kind: memory.Pitfall, Title: "Slow gate", Content: "The gate is slow at noon.", Elements: []string{"shop.api"}})
	v := w.visit(w.acme, memory.RoleAgent)
	at := "/p/shop/memories/" + m.Handle
	v.get(at).shows(t, "Served and cited", "served to no session yet")
	c := w.acme.Caller
	c.User, c.Agent, c.Role = "ana", "coder", memory.RoleAgent
	c.Session = w.start(w.acme, "ana", session.StartRequest{Task: "Speed the gate up.", Elements: []string{"shop.api"}}).SessionID
	_, err := w.service.Recall(t.Context(), c, memory.RecallRequest{Query: "slow gate"})
	w.must(err)
	v.get(at).shows(t, "Served 2 times to 1 session: 1 with its text, 1 as a line", "Cited by nobody", "/p/shop/sessions/"+c.Session, "coder/ana", "!<summary>Cited by")
	_, err = w.service.FinishSession(t.Context(), c, session.FinishRequest{Session: c.Session, Summary: "It is fast.", UsedMemories: []string{}})
	w.must(err)
	v.get(at).shows(t, "flag ignored", "1 session that said what it used")
	c.Session = w.start(w.acme, "ana", session.StartRequest{Task: "Speed it up more."}).SessionID
	_, err = w.service.FinishSession(t.Context(), c, session.FinishRequest{Session: c.Session, Summary: "It is faster.", UsedMemories: []string{m.Handle}})
	w.must(err)
	v.get(at).shows(t, "Cited by 1 session.", "<summary>Cited by", "/p/shop/sessions/"+c.Session)
}

func TestConfirmAndDispute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(w.acme, memory.RememberRequest{Content: "Prices are in cents."})
	v := w.visit(w.acme, memory.RoleAgent)
	at := "/p/shop/memories/" + m.Handle
	v.post(at+"/confirm", url.Values{"holds": {"false"}, "note": {"tenths since spring"}, "revision": {strconv.Itoa(m.Revision)}}).shows(t, `class="flag disputed"`, "tenths since spring")
	v.post(at+"/confirm", url.Values{"holds": {"true"}, "revision": {strconv.Itoa(m.Revision)}}).shows(t, `!class="flag disputed"`)
	if now := w.memory(w.acme, m.Handle); now.Confirmations != 1 || len(now.Flags) != 0 {
		t.Errorf("%+v", now)
	}
	stale := v.post(at+"/confirm", url.Values{"holds": {"true"}, "note": {"I looked"}, "revision": {"7"}})
	if stale.status != http.StatusConflict {
		t.Errorf("a revision that was not shown: %d", stale.status)
	}
	stale.says(t, `role="alert"`, `value="I looked"`)
}

// Each role is offered what it may do, and refused the rest.
func TestRetireAndRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.remember(w.acme, memory.RememberRequest{Content: "Prices are in cents."})
	at := "/p/shop/memories/" + m.Handle
	retire := url.Values{"action": {"retire"}, "memory": {m.Handle}, "reason": {"gone"}, "back": {at}}
	if got := w.visit(w.acme, memory.RoleAgent).post("/p/shop/review/decide", retire); got.status != http.StatusForbidden {
		t.Errorf("an agent: %d", got.status)
	} else {
		got.says(t, `role="alert"`, "reviewer role")
	}
	v := w.visit(w.acme, memory.RoleReviewer)
	v.get(at).shows(t, "Retire", "Promote")
	v.post("/p/shop/review/decide", retire).shows(t, "retired", "Restore into recall", "Undo")
	v.post("/p/shop/review/decide", url.Values{"action": {"restore"}, "memory": {m.Handle}, "back": {at}}).shows(t, "Retire: take it out", "restored")
	v.post("/p/shop/review/decide", url.Values{"action": {"edit"}, "memory": {m.Handle}, "content": {"Prices are in tenths."}, "back": {at}}).shows(t, "superseded by", "rewritten")
	v.post("/p/shop/review/decide", url.Values{"action": {"edit"}, "memory": {m.Handle}, "content": {"Prices are in halves."}, "about": {m.Handle}, "back": {at}}).says(t, `role="alert"`)
}

func TestRecallPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember(w.acme, memory.RememberRequest{Kind: memory.Pitfall, Title: "Headers", Content: "The gateway strips custom headers. " + hostile, Elements: []string{"shop.api"}})
	v := w.visit(w.acme, memory.RoleAgent)
	v.get("/p/shop/recall").shows(t, "Ask as an agent does", "!results")
	v.get("/p/shop/recall?q=gateway+headers&kind=pitfall&limit=5").shows(t, "1 result", "Headers", "<meter", "freshness", "score = relevance", "!<script>alert", `value="pitfall" checked`)
	v.get("/p/shop/recall?q=gateway+headers&tokens=0").shows(t, "Did not fit the tokens", "0 results")
	v.get("/p/shop/recall?q=gateway&kind=note").shows(t, "0 results", `class="problem"`)
	for _, query := range []string{"q=x&limit=many", "q=x&limit=9999", "q=x&as_of=noon", "q=x&element=shop.none", "q=x&tokens=-3"} {
		if got := v.get("/p/shop/recall?" + query); got.status != http.StatusBadRequest && got.status != http.StatusNotFound {
			t.Errorf("%s: %d", query, got.status)
		} else {
			got.says(t, `role="alert"`, `name="q"`)
		}
	}
	v.get("/p/shop/recall?q=gateway+headers&as_of=2001-01-01T00:00").shows(t, "0 results")
}
