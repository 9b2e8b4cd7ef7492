package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// start begins a session of a user.
func (w *world) start(n tenant, user string, r session.StartRequest) session.Started {
	w.t.Helper()
	c := n.Caller
	c.User, c.Agent, c.Role, c.Door = user, "coder", memory.RoleAgent, memory.FromMCP
	out, err := w.service.StartSession(w.t.Context(), c, r)
	w.must(err)
	return out
}

func TestSessionsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent := w.visit(w.acme, memory.RoleAgent)
	agent.get("/p/shop/sessions").shows(t, "Nobody is at work")

	w.start(w.globex, "spy", session.StartRequest{Task: "Only globex sees this.", Elements: []string{"shop.api"}})
	ana := w.start(w.acme, "ana", session.StartRequest{Task: "Mend the api. " + hostile, Elements: []string{"shop.api"}})
	alone := agent.get("/p/shop/sessions")
	alone.shows(t, "Mend the api", "coder/ana", `href="/p/shop/elements/shop.api"`, "!conflict", "!globex", "!<script>alert")
	bob := w.start(w.acme, "bob", session.StartRequest{Task: "Rebuild the shop.", Elements: []string{"shop"}})
	w.start(w.acme, "cleo", session.StartRequest{Task: "Paint the web.", Elements: []string{"shop.web"}})
	both := agent.get("/p/shop/sessions")
	both.shows(t, "At work now", "3 meet another", "/p/shop/sessions/"+bob.SessionID)
	if n := strings.Count(both.body, "flag meets"); n != 4 { // ana with bob, bob with both, cleo with bob
		t.Errorf("%d conflicts are marked", n)
	}
	for user, id := range map[string]string{"bob": bob.SessionID, "ana": ana.SessionID} { // a file that no element owns
		c := w.acme.Caller
		c.User, c.Agent, c.Role = user, "coder", memory.RoleAgent
		_, err := w.service.HeartbeatSession(t.Context(), c, session.HeartbeatRequest{Session: id, Edited: []string{"README.md"}})
		w.must(err)
	}
	agent.get("/p/shop/sessions").shows(t, "in <code>README.md</code> with coder/bob")
	if strings.Index(both.body, "Mend the api") > strings.Index(both.body, "Rebuild the shop") {
		t.Error("who is longest at work comes later")
	}

	c := w.acme.Caller
	c.User, c.Agent = "ana", "coder"
	_, err := w.service.FinishSession(t.Context(), c, session.FinishRequest{Session: ana.SessionID, Summary: "The api holds again."})
	w.must(err)
	agent.get("/p/shop/sessions").shows(t, "2 meet another", "Before", "finished")
	agent.get("/p/shop/sessions?state=finished").shows(t, "Mend the api", "!Rebuild", "!At work now")
	agent.get("/p/shop/sessions?state=active").shows(t, "Rebuild", "!Mend the api. Look")
	agent.get("/p/shop/sessions?state=cancelled").shows(t, "There is no such session")
	agent.get("/p/shop/sessions?element=shop.web").shows(t, "Paint", "Rebuild", "!Mend the api. Look")
	for _, wrong := range []string{"state=dead", "element=shop.none"} {
		if p := agent.get("/p/shop/sessions?" + wrong); p.status < 400 || p.status > 499 || !strings.Contains(p.body, `role="alert"`) {
			t.Errorf("%s: %d", wrong, p.status)
		}
	}
}

func TestSessionPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := w.remember(w.acme, memory.RememberRequest{Kind: memory.Pitfall, Title: "Slow gate", Content: "The gate is slow at noon.", Elements: []string{"shop.api"}})
	other := w.remember(w.acme, memory.RememberRequest{Kind: memory.Note, Title: "Unserved note", Content: "Prices are whole cents.", Elements: []string{"shop.web"}})
	one := w.start(w.acme, "ana", session.StartRequest{Task: "Speed the gate up.", Elements: []string{"shop.api"}})
	c := w.acme.Caller
	c.User, c.Agent, c.Role, c.Session = "ana", "coder", memory.RoleAgent, one.SessionID
	_, err := w.service.HeartbeatSession(t.Context(), c, session.HeartbeatRequest{Session: one.SessionID, Edited: []string{"api/gate.go"}})
	w.must(err)
	agent, reviewer := w.visit(w.acme, memory.RoleAgent), w.visit(w.acme, memory.RoleReviewer)
	at := "/p/shop/sessions/" + one.SessionID
	agent.get(at).shows(t, "Speed the gate up.", "Slow gate", "/p/shop/memories/"+known.Handle, "1 memory served, 0 of them cited", "<code>api/gate.go</code>", "!Cancel the session")
	if p := agent.post(at+"/cancel", url.Values{}); p.status != http.StatusNotFound {
		t.Errorf("an agent cancels another's session: %d", p.status)
	}
	if p := w.visit(w.globex, memory.RoleAdmin).get(at); p.status != http.StatusNotFound {
		t.Errorf("another organization opens it: %d", p.status)
	}
	_, err = w.service.FinishSession(t.Context(), c, session.FinishRequest{Session: one.SessionID, Summary: "It is fast.", UsedMemories: []string{known.Handle, other.Handle}, FollowUps: []string{"Measure it at noon."}})
	w.must(err)
	reviewer.get(at).shows(t, "1 of them cited", "Measure it at noon.", "without having been served", other.Handle, "finished", "!Cancel the session")
	if p := reviewer.post(at+"/cancel", url.Values{}); p.status != http.StatusConflict {
		t.Errorf("a finished session is cancelled: %d", p.status)
	}

	two := w.start(w.acme, "ana", session.StartRequest{Task: "Try something.", Elements: []string{"shop.web"}})
	at = "/p/shop/sessions/" + two.SessionID
	reviewer.get(at).shows(t, "Cancel the session")
	reviewer.post(at+"/cancel", url.Values{}).shows(t, `<span class="flag cancelled">cancelled`, "!Cancel the session")
	own := w.start(w.acme, "the agent", session.StartRequest{Task: "My own."})
	agent.post("/p/shop/sessions/"+own.SessionID+"/cancel", url.Values{}).shows(t, "cancelled")
}
