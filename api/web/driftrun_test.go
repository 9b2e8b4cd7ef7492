package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/memory"
)

func TestDriftRunPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, third := strings.Repeat("1", 40), strings.Repeat("2", 40), strings.Repeat("3", 40)
	kept := drift.Finding{Fingerprint: "a", Check: drift.Existence, Outcome: drift.Missing, Element: "shop.web", Subject: "web/**", Message: "no file matches web/**", Gain: 1.5}
	mended := drift.Finding{Fingerprint: "b", Check: drift.Existence, Outcome: drift.Missing, Element: "shop.api", Subject: "api/**", Message: "no file matches api/**"}
	fresh := drift.Finding{Fingerprint: "c", Check: drift.Existence, Outcome: drift.Missing, Element: "shop.api", Subject: "server/**", Message: "no file matches " + hostile,
		Fix: drift.Fix{File: "stele.yaml", Action: "change", Old: "server/**", New: "srv/**"}}
	other := drift.Finding{Fingerprint: "d", Check: drift.Existence, Element: "shop.api", Subject: "x", Message: "only globex sees this"}
	w.run(w.acme, first, nil, kept, mended)
	w.run(w.acme, second, []string{first}, kept, fresh)
	w.run(w.acme, third, []string{second, first}, kept)
	w.run(w.globex, strings.Repeat("4", 40), nil, other)
	runs, err := w.service.DriftHistory(t.Context(), w.acme.Caller, memory.RunQuery{})
	w.must(err)
	theirs, err := w.service.DriftHistory(t.Context(), w.globex.Caller, memory.RunQuery{})
	w.must(err)
	v := w.visit(w.acme, memory.RoleAgent)
	at := func(id string) string { return "/p/shop/drift/runs/" + id }

	p := v.get("/p/shop/drift")
	for _, r := range runs { // in the chart, in its numbers, among the runs
		if n := strings.Count(p.body, `href="`+at(r.ID)+`"`); n < 3 {
			t.Errorf("the page of drift leads %d times to the run of %.1s", n, r.Commit)
		}
	}
	p = v.get(at(runs[1].ID))
	p.shows(t, "98 of 100", "the same score, 1 new finding, 1 mended", `href="`+at(runs[2].ID)+`"`, "+ srv/**", second, "example.org/shop", "tracked", "!<script>alert", "!globex", "!Accept a finding")
	anew, asBefore, gone := strings.Index(p.body, "New since the run before"), strings.Index(p.body, "As before"), strings.Index(p.body, "Mended")
	if web, api := strings.Index(p.body, "no file matches web/**"), strings.Index(p.body, "no file matches api/**"); anew < 0 || anew > asBefore || asBefore > web || web > gone || gone > api {
		t.Errorf("what is new at %d, what was so at %d (%d), what is mended at %d (%d)", anew, asBefore, web, gone, api)
	}
	v.get(at(runs[0].ID)).shows(t, "99 of 100", "1 point more, 0 new findings, 1 mended")
	v.get(at(runs[2].ID)).shows(t, "No run of this branch was stored before it", "2 findings", "!Mended", "!New since")
	for _, id := range []string{uuid.NewString(), theirs[0].ID, "latest", "..%2F" + runs[0].ID} {
		if p := v.get(at(id)); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", id, p.status)
		}
	}
}

func TestRunThatComparedNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	commit := strings.Repeat("5", 40)
	_, err := w.service.PushRun(t.Context(), w.acme.Caller, memory.RunPush{Repository: "example.org/shop", Branch: "spike", DefaultBranch: "main", Ancestors: []string{commit},
		Report: drift.Report{Status: drift.NotChecked, Reason: "the model has no element with code", Fixes: []string{"bind one"}, Commit: commit, InputHash: commit, EngineVersion: 1, History: "shallow"}})
	w.must(err)
	runs, err := w.service.DriftHistory(t.Context(), w.acme.Caller, memory.RunQuery{})
	w.must(err)
	w.visit(w.acme, memory.RoleAgent).get("/p/shop/drift/runs/"+runs[0].ID).shows(t, "were not compared: the model has no element with code", "bind one", "not of the tracked branch", "shallow", "!of 100", "!stored before it")
}

// The lines that the page offers are ones that stele.yaml takes.
func TestLinesOfAWaiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.acme, strings.Repeat("1", 40), nil, drift.Finding{Fingerprint: "3fefa42e0d02dbc7", Check: drift.Existence, Element: "shop.web", Subject: "web/**", Message: "no file matches web/**"})
	p := w.visit(w.acme, memory.RoleAgent).get("/p/shop/drift")
	_, lines, found := strings.Cut(p.body, `<pre><code class="copy">  - `)
	lines, _, _ = strings.Cut(lines, "</code>")
	if !found {
		t.Fatal("there are none")
	}
	text := "waivers:\n  - " + strings.ReplaceAll(lines, "&#34;", `"`) + "\n"
	file, err := config.ParseRepository("stele.yaml", []byte(text))
	w.must(err)
	if got := file.Waivers; len(got) != 1 || got[0].Fingerprint != "3fefa42e0d02dbc7" || got[0].Reason == "" || got[0].Expires.Before(time.Now().AddDate(0, 2, 0)) {
		t.Errorf("%s\nis %+v", text, got)
	}
}

func TestDriftSettingsForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	agent, reviewer := w.visit(w.acme, memory.RoleAgent), w.visit(w.acme, memory.RoleReviewer)
	at := "/p/shop/drift/settings"
	good := url.Values{"tracked_branch": {"develop"}, "clone_url": {"https://example.org/acme/shop.git"}, "schedule": {"0 4 * * *"}}
	agent.get("/p/shop/drift").shows(t, "!Tracked branch", "!Badges")
	for _, form := range []string{at, "/p/shop/drift/badge"} {
		if p := agent.post(form, good); p.status != http.StatusForbidden || !strings.Contains(p.body, "reviewer role") {
			t.Errorf("an agent changes %s: %d", form, p.status)
		}
	}
	reviewer.get("/p/shop/drift").shows(t, "Tracked branch", "There are none")
	reviewer.post(at, good).shows(t, "They are saved", `value="develop"`, `value="https://example.org/acme/shop.git"`, `value="0 4 * * *"`)
	for field, wrong := range map[string]string{"tracked_branch": "no such~branch", "clone_url": "file:///etc/passwd", "schedule": "at tea time \""} {
		typed := url.Values{"tracked_branch": {"main"}, "clone_url": {"https://example.org/other.git"}, "schedule": {"1 1 * * *"}}
		typed.Set(field, wrong)
		p := reviewer.post(at, typed)
		if p.status != http.StatusBadRequest {
			t.Errorf("%s: %d", field, p.status)
		}
		p.says(t, `role="alert"`, `aria-invalid="true"`, "("+field+")", "!They are saved")
		for name := range typed {
			if name != field && !strings.Contains(p.body, `value="`+typed.Get(name)+`"`) {
				t.Errorf("a wrong %s lost what was typed as %s", field, name)
			}
		}
	}
	settings, err := w.service.DriftSettings(t.Context(), w.acme.Caller)
	w.must(err)
	if settings.TrackedBranch != "develop" || settings.Schedule != "0 4 * * *" {
		t.Errorf("what was wrong was kept: %+v", settings)
	}
	reviewer.post("/p/shop/drift/badge", url.Values{"badge": {"on"}}).shows(t, "score.svg", "the old one ends", `value="develop"`)
	reviewer.post("/p/shop/drift/badge", url.Values{"badge": {"off"}}).shows(t, "!score.svg", "There are none")
	if theirs, err := w.service.DriftSettings(t.Context(), w.globex.Caller); err != nil || theirs != (memory.DriftSettings{}) {
		t.Errorf("of another organization: %+v, %v", theirs, err)
	}
}
