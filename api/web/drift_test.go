package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/api"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/memory"
)

func TestDriftPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := w.visit(w.acme, memory.RoleAgent)
	v.get("/p/shop/drift").shows(t, "have not been compared", "No run has arrived", "!<svg viewBox=\"0 0 1000", "!Run now")

	first, second := strings.Repeat("1", 40), strings.Repeat("2", 40)
	cheap := drift.Finding{Fingerprint: "a", Check: drift.Existence, Outcome: drift.Missing, Element: "shop.web", Subject: "web/**", Message: "no file matches web/**", Gain: 1.5}
	dear := drift.Finding{Fingerprint: "b", Check: drift.Existence, Outcome: drift.Missing, Element: "shop.api", Subject: "api/**", Message: "no file matches " + hostile, Gain: 12.5,
		Fix: drift.Fix{File: "stele.yaml", Action: "change", Old: "api/**", New: "server/**"}, Since: &drift.Since{Commit: second, Author: "Ana", Subject: "Move it", Cause: drift.CodeChanged}}
	w.run(w.acme, first, nil)
	w.run(w.acme, second, []string{first}, cheap, dear)
	w.run(w.globex, strings.Repeat("3", 40), nil, drift.Finding{Fingerprint: "c", Check: drift.Existence, Element: "shop.api", Subject: "x", Message: "only globex sees this"})
	p := v.get("/p/shop/drift")
	p.shows(t, "<strong>98 of 100</strong>", "2 findings", "worth 12.5 points", "since <code>22222222</code> Move it, Ana", "+ server/**", `<polyline class="line"`, "<title>100 at 11111111", "The numbers",
		`href="/p/shop/elements/shop.api"`, "example.org/shop", "!only globex", "!<script>alert", "!style=", "!33333333")
	if strings.Index(p.body, "worth 12.5") > strings.Index(p.body, "worth 1.5") {
		t.Error("what gains least comes first")
	}
	if p := v.get("/p/shop/drift?before=yesterday"); p.status != http.StatusBadRequest {
		t.Errorf("before a moment that is none: %d", p.status)
	}
	v.get("/p/shop/drift?before=2000-01-01T00:00:00Z").shows(t, "No run has arrived")
}

func TestWaivedFindingsAreFolded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	score, commit := 100, strings.Repeat("4", 40)
	_, err := w.service.PushRun(t.Context(), w.acme.Caller, memory.RunPush{Repository: "example.org/shop", Branch: "main", DefaultBranch: "main", Tracked: true, Ancestors: []string{commit},
		Report: drift.Report{Status: drift.Checked, Score: &score, Commit: commit, InputHash: commit, EngineVersion: 1, History: "full", Waived: []drift.WaivedFinding{{
			Finding:      drift.Finding{Fingerprint: "w", Check: drift.Existence, Element: "shop.api", Subject: "old/**", Message: "no file matches old/**"},
			WaiverReason: "it moves next quarter", Expires: "2999-01-31"}}}})
	w.must(err)
	w.visit(w.acme, memory.RoleAgent).get("/p/shop/drift").shows(t, "<summary>1 waived</summary>", "no file matches old/**", "Accepted until 2999-01-31: it moves next quarter", "Nothing disagrees")
}

func TestRunDriftNow(t *testing.T) {
	t.Parallel()
	asked := make(chan uuid.UUID, 10)
	w := newWorld(t, func(o *api.Options) {
		o.RunDrift = func(_ context.Context, _, project uuid.UUID) error {
			asked <- project
			return nil
		}
	})
	agent, reviewer := w.visit(w.acme, memory.RoleAgent), w.visit(w.acme, memory.RoleReviewer)
	agent.get("/p/shop/drift").shows(t, "!Run now", "!cannot be run from here")
	if p := agent.post("/p/shop/drift/run", url.Values{}); p.status != http.StatusForbidden {
		t.Errorf("an agent has the server run: %d", p.status)
	}
	reviewer.get("/p/shop/drift").shows(t, "!Run now", "does not know where the repository is", "--clone-url")
	if p := reviewer.post("/p/shop/drift/run", url.Values{}); p.status != http.StatusConflict {
		t.Errorf("a run without an address: %d", p.status)
	}
	address := "https://example.org/acme/shop.git"
	_, err := w.service.ChangeDriftSettings(t.Context(), w.acme.Caller, memory.DriftSettingsChange{CloneURL: &address})
	w.must(err)
	reviewer.get("/p/shop/drift").shows(t, "Run now")
	if len(asked) != 0 {
		t.Fatal("a run began without being allowed")
	}
	reviewer.post("/p/shop/drift/run", url.Values{}).shows(t, "waits for its turn")
	if len(asked) != 1 || <-asked != w.acme.Project {
		t.Error("no run of this project was asked for")
	}
}

func TestServerThatReadsNoRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address := "https://example.org/acme/shop.git"
	_, err := w.service.ChangeDriftSettings(t.Context(), w.acme.Caller, memory.DriftSettingsChange{CloneURL: &address})
	w.must(err)
	v := w.visit(w.acme, memory.RoleReviewer)
	v.get("/p/shop/drift").shows(t, "!Run now")
	p := v.post("/p/shop/drift/run", url.Values{})
	if p.status != http.StatusServiceUnavailable {
		t.Errorf("status %d", p.status)
	}
	p.says(t, "reads no repositories")
}
