package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// runner runs the program as a runner of GitHub Actions does: in a checkout, with an environment, an event and files to write to.
type runner struct {
	t    *testing.T
	repo *gittest.Repo // the checkout
	env  map[string]string
	hub  *hub
}

// newRunner makes one for a checkout of acme/shop.
func newRunner(t *testing.T, checkout *gittest.Repo) *runner {
	t.Helper()
	r := &runner{t: t, repo: checkout, hub: newHub(t)}
	temp := t.TempDir()
	r.env = map[string]string{
		"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/shop", "GITHUB_WORKSPACE": checkout.Dir, "GITHUB_SERVER_URL": "https://github.com",
		"GITHUB_API_URL": r.hub.url, "GITHUB_SHA": checkout.Head(), "RUNNER_TEMP": temp, "GITHUB_STEP_SUMMARY": filepath.Join(temp, "summary"),
		"GITHUB_OUTPUT": filepath.Join(temp, "output"), "INPUT_GITHUB_TOKEN": hubToken, "STELE_DATABASE_URL": nowhere,
	}
	return r
}

// event sets the event and its description.
func (r *runner) event(name string, payload map[string]any) *runner {
	r.t.Helper()
	payload["repository"] = map[string]any{"full_name": "acme/shop", "default_branch": "main"}
	text, err := json.Marshal(payload)
	if err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.env["RUNNER_TEMP"], "event.json")
	writeFile(r.t, file, string(text))
	r.env["GITHUB_EVENT_NAME"], r.env["GITHUB_EVENT_PATH"] = name, file
	return r
}

const zeros = "0000000000000000000000000000000000000000"

// push is a push of a branch or tag.
func (r *runner) push(ref, before string) *runner {
	r.t.Helper()
	r.env["GITHUB_REF"], r.env["GITHUB_REF_TYPE"] = ref, "branch"
	if strings.HasPrefix(ref, "refs/tags/") {
		r.env["GITHUB_REF_TYPE"] = "tag"
	}
	return r.event("push", map[string]any{"ref": ref, "before": before, "after": r.env["GITHUB_SHA"], "deleted": false})
}

// pull is a pull request from a repository, number 7.
func (r *runner) pull(from, base, head string) *runner {
	r.t.Helper()
	r.env["GITHUB_REF"], r.env["GITHUB_REF_TYPE"] = "refs/pull/7/merge", "branch"
	return r.event("pull_request", map[string]any{"action": "synchronize", "number": 7, "pull_request": map[string]any{
		"number": 7, "head": map[string]any{"sha": head, "ref": "topic", "repo": map[string]any{"full_name": from}},
		"base": map[string]any{"sha": base, "ref": "main", "repo": map[string]any{"full_name": "acme/shop"}},
	}})
}

func (r *runner) with(name, value string) *runner {
	r.env["INPUT_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	return r
}

// job is what a run left behind.
type job struct {
	code    int
	log     string
	summary string
	outputs map[string]string
}

func (r *runner) run() job {
	r.t.Helper()
	for _, name := range []string{"GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"} {
		writeFile(r.t, r.env[name], "")
	}
	var log bytes.Buffer
	a := &app{in: strings.NewReader(""), out: bufio.NewWriter(&log), err: &log, width: defaultWidth, environment: config.Environment{Variables: r.env}}
	j := job{code: a.run(r.t.Context(), []string{"action"})}
	a.close()
	j.log = log.String()
	j.summary = readFile(r.t, r.env["GITHUB_STEP_SUMMARY"])
	j.outputs = readOutputs(r.t, readFile(r.t, r.env["GITHUB_OUTPUT"]))
	for name, secret := range map[string]string{"the token of the server": r.env["INPUT_TOKEN"], "the token of GitHub": r.env["INPUT_GITHUB_TOKEN"]} {
		if secret == "" {
			continue
		}
		if !strings.Contains(j.log, "::add-mask::"+secret+"\n") {
			r.t.Errorf("%s is not masked", name)
		}
		if strings.Contains(strings.ReplaceAll(j.log, "::add-mask::"+secret+"\n", "")+j.summary+fmt.Sprint(j.outputs), secret) {
			r.t.Errorf("%s is told", name)
		}
	}
	return j
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readOutputs reads what a step wrote as a runner does.
func readOutputs(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines) && lines[i] != ""; i++ {
		name, end, ok := strings.Cut(lines[i], "<<")
		if !ok {
			t.Fatalf("line %d of the outputs: %q", i+1, lines[i])
		}
		var value []string
		for i++; lines[i] != end; i++ {
			value = append(value, lines[i])
		}
		out[name] = strings.Join(value, "\n")
	}
	return out
}

// want complains about what a job did not do.
func (j job) want(t *testing.T, code int, outputs map[string]string, summary ...string) {
	t.Helper()
	if j.code != code {
		t.Errorf("exit code %d, want %d\n%s", j.code, code, j.log)
	}
	for name, value := range outputs {
		if j.outputs[name] != value {
			t.Errorf("output %s is %q, want %q", name, j.outputs[name], value)
		}
	}
	for _, text := range summary {
		if !strings.Contains(j.summary, text) {
			t.Errorf("the summary lacks %q:\n%s", text, j.summary)
		}
	}
}

const shopModel = `workspace {
  !identifiers hierarchical
  model {
    shop = softwareSystem "Shop" {
      api = container "API" "" "Go" {
        properties {
          path "services/api"
        }
      }
      stock = container "Stock" "" "Go" {
        properties {
          path "services/stock"
        }
      }
      api -> stock "Reads"
    }
  }
}
`

// shop is a repository whose model fits its code. The system's own binding keeps it whole.
func shop(t *testing.T) *gittest.Repo {
	t.Helper()
	return gittest.New(t).WriteAll(map[string]string{
		"go.mod":                  "module example.com/shop\n\ngo 1.26\n",
		"docs/workspace.dsl":      shopModel,
		"services/api/api.go":     "package api\n\nimport _ \"example.com/shop/services/stock\"\n",
		"services/stock/stock.go": "package stock\n",
		"stele.yaml":              "none:\n  shop: its containers have the code\n",
	}).Commit("Open the shop")
}

// tea adds code that the model does not know.
func tea(r *gittest.Repo) *gittest.Repo {
	return r.Write("services/tea/tea.go", "package tea\n").Write("services/tea/pot.go", "package tea\n").Commit("Sell tea")
}

func TestActionOnPush(t *testing.T) {
	t.Parallel()
	repo := shop(t)
	before := repo.Head()
	tea(repo)
	j := newRunner(t, repo).push("refs/heads/main", before).run()
	j.want(t, exitDone, map[string]string{
		"status": "checked", "coverage": "100", "total-elements": "3", "matched-count": "2", "missing-in-code": "0", "new-in-code": "1",
		"drifted-count": "0", "new-findings": "1", "doubted-memories": "0", "run-id": "",
	}, "1 new finding since", "no element of the model owns services/tea")
	if !regexp.MustCompile(`(?m)^::warning file=services/tea[^:]*::.*services/tea`).MatchString(j.log) {
		t.Errorf("no annotation:\n%s", j.log)
	}
	var kept struct {
		Score    int `json:"score"`
		Findings []struct {
			New bool `json:"new"`
		} `json:"findings"`
	}
	if err := json.Unmarshal([]byte(readFile(t, j.outputs["report"])), &kept); err != nil || fmt.Sprint(kept.Score) != j.outputs["score"] || len(kept.Findings) != 1 {
		t.Errorf("the report: %+v, %v", kept, err)
	}
}

// What may fail a job are gates, and only those.
func TestActionGates(t *testing.T) {
	t.Parallel()
	repo := shop(t)
	before := repo.Head()
	tea(repo)
	for _, tc := range []struct {
		input, value string
		code         int
		log          string
	}{
		{"min-score", "100", exitNo, "::error title=Stele%3A min-score::the score is"},
		{"min-score", "10", exitDone, ""},
		{"max-drop", "0", exitNo, "::error title=Stele%3A max-drop::the score was 100"},
		{"max-drop", "90", exitDone, ""},
		{"fail-on-new", "true", exitNo, "::error title=Stele%3A fail-on-new::1 new finding"},
		{"fail-on-new", "False", exitDone, ""},
		{"min-coverage", "100", exitDone, ""},
		{"require-model", "true", exitDone, ""},
		{"min-score", "101", exitFailed, "::error::stele: min-score: 101 is out of range"},
		{"min-score", "half", exitFailed, "::error::stele: min-score: \"half\" is no whole number"},
		{"comment", "yes", exitFailed, "::error::stele: comment: \"yes\" is neither true nor false"},
	} {
		j := newRunner(t, repo).push("refs/heads/main", before).with(tc.input, tc.value).run()
		if j.code != tc.code || !strings.Contains(j.log, tc.log) {
			t.Errorf("%s=%s: exit code %d, want %d\n%s", tc.input, tc.value, j.code, tc.code, j.log)
		}
	}
}

// What a job compares with depends on its event.
func TestActionFindsTheBase(t *testing.T) {
	t.Parallel()
	repo := shop(t)
	first := repo.Head()
	tea(repo.Branch("topic"))
	topic := repo.Head()
	repo.Checkout("main").Write("README.md", "Shop.\n").Commit("Describe the shop")
	main := repo.Head()
	merged := repo.Checkout("main").Branch("merge").Merge("topic").Head()
	tag := func(r *runner) *runner { return r.push("refs/tags/v1", zeros) }
	for _, tc := range []struct {
		name, at string
		event    func(r *runner) *runner
		base     string // that new findings are counted from
		fresh    string
	}{
		{"a new branch", topic, func(r *runner) *runner { return r.push("refs/heads/topic", zeros) }, first, "1"},
		{"a branch, later", topic, func(r *runner) *runner { return r.push("refs/heads/topic", first) }, first, "1"},
		{"the default branch", merged, func(r *runner) *runner { return r.push("refs/heads/main", first) }, first, "1"},
		{"the default branch, of which nothing earlier is told", main, func(r *runner) *runner { return r.push("refs/heads/main", zeros) }, first, "0"},
		{"the default branch, rewritten", topic, func(r *runner) *runner { return r.push("refs/heads/main", main) }, first, "1"},
		{"the default branch, set back", first, func(r *runner) *runner { return r.push("refs/heads/main", main) }, "", "0"},
		{"the first push of all", first, func(r *runner) *runner { return r.push("refs/heads/main", zeros) }, "", "0"},
		{"a tag", topic, tag, first, "1"},
		{"GitHub's merge", merged, func(r *runner) *runner { return r.pull("acme/shop", first, topic) }, main, "1"},
		{"the head of a pull request", topic, func(r *runner) *runner { return r.pull("acme/shop", main, topic) }, first, "1"},
		{"started by hand", main, func(r *runner) *runner {
			r.env["GITHUB_REF"], r.env["GITHUB_REF_TYPE"] = "refs/heads/main", "branch"
			return r.event("workflow_dispatch", map[string]any{})
		}, first, "0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			j := tc.event(newRunner(t, repo.Clone().Checkout(tc.at))).with("fail-on-new", "true").run()
			code := exitDone
			if tc.fresh != "0" {
				code = exitNo
			}
			j.want(t, code, map[string]string{"new-findings": tc.fresh, "status": "checked"})
			var kept struct {
				Base string `json:"base"`
			}
			if err := json.Unmarshal([]byte(readFile(t, j.outputs["report"])), &kept); err != nil || kept.Base != tc.base {
				t.Errorf("compared with %q, want %q (%v)", kept.Base, tc.base, err)
			}
		})
	}
}

func TestActionOnADeletedBranch(t *testing.T) {
	t.Parallel()
	r := newRunner(t, shop(t))
	r.env["GITHUB_REF"] = "refs/heads/topic"
	j := r.event("push", map[string]any{"before": r.env["GITHUB_SHA"], "after": zeros, "deleted": true}).with("min-score", "100").run()
	j.want(t, exitDone, map[string]string{"status": "not_checked", "score": ""}, "the branch was deleted")
}

// A clone of one commit gets the history that a comparison needs, and the job says so.
func TestActionDeepensShallowClones(t *testing.T) {
	t.Parallel()
	repo := shop(t)
	first := repo.Head()
	tea(repo.Branch("topic"))
	topic := repo.Head()
	repo.Checkout("main").Write("README.md", "Shop.\n").Commit("Describe the shop")
	main := repo.Head()
	repo.Branch("merge").Merge("topic")
	for name, event := range map[string]func(r *runner) *runner{
		"merge": func(r *runner) *runner { return r.pull("acme/shop", main, topic) },
		"topic": func(r *runner) *runner { return r.push("refs/heads/topic", zeros) },
		"main":  func(r *runner) *runner { return r.push("refs/heads/main", first) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone := repo.Clone()
			clone.Git("-C", filepath.Dir(clone.Dir), "clone", "--quiet", "--depth=1", "--branch="+name, "file://"+repo.Dir, filepath.Join(clone.Dir, "in"))
			shallow := *clone
			shallow.Dir = filepath.Join(clone.Dir, "in")
			j := event(newRunner(t, &shallow)).with("fail-on-new", "true").run()
			want, code := map[string]string{"new-findings": "1"}, exitNo
			if name == "main" {
				want, code = map[string]string{"new-findings": "0"}, exitDone
			}
			j.want(t, code, want, "The clone was shallow; the rest of the history was fetched")
		})
	}
	// Where nothing more can be fetched, a gate that needs it says what to do, and the others still count.
	shallow := repo.Shallow(1)
	shallow.Git("remote", "set-url", "origin", "file:///nowhere")
	j := newRunner(t, shallow).push("refs/heads/main", first).with("fail-on-new", "true").run()
	j.want(t, exitNo, nil, "could not be deepened", "set fetch-depth: 0")
	newRunner(t, shallow).push("refs/heads/main", first).with("min-score", "10").run().want(t, exitDone, nil)
}

// No model is neither good nor bad, unless one is required; one that cannot be read fails the gates there are.
func TestActionWithoutModel(t *testing.T) {
	t.Parallel()
	bare := gittest.New(t).Write("main.go", "package main\n").Commit("Begin")
	broken := gittest.New(t).Write("main.go", "package main\n").Write("docs/workspace.dsl", "workspace {\n  model {\n    shop = softwareSystem\n").Commit("Begin")
	for _, tc := range []struct {
		name    string
		repo    *gittest.Repo
		input   string
		value   string
		code    int
		summary string
	}{
		{"no model", bare, "min-score", "80", exitDone, "stele model draft"},
		{"no model, new findings", bare, "fail-on-new", "true", exitDone, "stele model draft"},
		{"no model where one is wanted", bare, "require-model", "true", exitNo, "stele model draft"},
		{"no model by that name", bare, "model", "docs/missing.dsl", exitDone, "stele model draft"},
		{"a broken model", broken, "min-score", "80", exitNo, "the model cannot be read"},
		{"a broken model without gates", broken, "comment", "false", exitDone, "the model cannot be read"},
	} {
		j := newRunner(t, tc.repo).push("refs/heads/main", zeros).with(tc.input, tc.value).run()
		if j.code != tc.code || !strings.Contains(j.summary, tc.summary) || j.outputs["status"] != "not_checked" || j.outputs["score"] != "" {
			t.Errorf("%s: exit code %d, want %d, outputs %v\n%s\n%s", tc.name, j.code, tc.code, j.outputs, j.summary, j.log)
		}
		if tc.repo == broken && !strings.Contains(j.log, "::error file=docs/workspace.dsl,line=") {
			t.Errorf("%s: the place is not told:\n%s", tc.name, j.log)
		}
	}
	// The change that brings the model has nothing to be compared with.
	first := bare.Head()
	bare.WriteAll(map[string]string{"docs/workspace.dsl": shopModel, "services/api/api.go": "package api\n"}).Commit("Document")
	j := newRunner(t, bare).push("refs/heads/main", first).with("fail-on-new", "true").with("max-drop", "0").run()
	j.want(t, exitDone, map[string]string{"status": "checked", "new-findings": "0"}, "there was no model before")
}

func TestActionRefusesWhatItCannotTrust(t *testing.T) {
	t.Parallel()
	repo := shop(t)
	r := newRunner(t, repo).pull("mallory/shop", repo.Head(), repo.Head())
	r.env["GITHUB_EVENT_NAME"] = "pull_request_target"
	if j := r.run(); j.code != exitFailed || !strings.Contains(j.log, "::error::stele: on: the event pull_request_target") {
		t.Errorf("exit code %d\n%s", j.code, j.log)
	}
	r = newRunner(t, repo).push("refs/heads/main", zeros)
	delete(r.env, "GITHUB_REPOSITORY")
	if j := r.run(); j.code != exitFailed || !strings.Contains(j.log, "stele drift run") {
		t.Errorf("outside a job: exit code %d\n%s", j.code, j.log)
	}
}

func TestActionWritesSARIF(t *testing.T) {
	t.Parallel()
	repo := tea(shop(t))
	newRunner(t, repo).push("refs/heads/main", zeros).with("sarif-file", "out/stele.sarif").run().want(t, exitDone, nil)
	if text := readFile(t, filepath.Join(repo.Dir, "out/stele.sarif")); !strings.Contains(text, `"version": "2.1.0"`) || !strings.Contains(text, "services/tea") {
		t.Errorf("SARIF: %s", text)
	}
}
