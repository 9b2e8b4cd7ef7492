package action

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// top is the top of the repository, from this package.
const top = ".."

// metadata is an action.yml.
type metadata struct {
	Inputs map[string]struct {
		Description string `yaml:"description"`
		Default     string `yaml:"default"`
		Required    bool   `yaml:"required"`
	} `yaml:"inputs"`
	Outputs map[string]struct {
		Description string `yaml:"description"`
		Value       string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Using string           `yaml:"using"`
		Steps []map[string]any `yaml:"steps"`
	} `yaml:"runs"`
}

func readMetadata(t *testing.T) metadata {
	t.Helper()
	text, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var m metadata
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Workflows rely on these names.
var (
	inputNames = []string{
		"comment", "comment-titles", "fail-on-new", "github-token", "max-drop", "min-coverage", "min-score", "model", "project", "require-model", "sarif-file", "server-url", "token",
	}
	outputNames = []string{
		"coverage", "doubted-memories", "drifted-count", "matched-count", "missing-in-code", "new-findings", "new-in-code", "report", "run-id", "score", "status", "total-elements",
	}
)

func TestActionFile(t *testing.T) {
	t.Parallel()
	m := readMetadata(t)
	if diff := cmp.Diff(inputNames, slices.Sorted(maps.Keys(m.Inputs))); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(outputNames, slices.Sorted(maps.Keys(m.Outputs))); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	var written []string
	for _, o := range (&Result{Report: emptyReport()}).outputs("report.json") {
		written = append(written, o.Name)
	}
	if slices.Sort(written); !slices.Equal(written, outputNames) {
		t.Errorf("the program writes %v", written)
	}
	if m.Runs.Using != "composite" {
		t.Errorf("it uses %q", m.Runs.Using)
	}
	last := m.Runs.Steps[len(m.Runs.Steps)-1]
	environment, _ := last["env"].(map[string]any)
	for name, in := range m.Inputs {
		if in.Description == "" || in.Required {
			t.Errorf("input %s: %+v", name, in)
		}
		variable := "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if environment[variable] != "${{ inputs."+name+" }}" {
			t.Errorf("input %s does not reach the program: %v", name, environment[variable])
		}
	}
	for name, out := range m.Outputs {
		if out.Description == "" || out.Value != "${{ steps.drift.outputs."+name+" }}" {
			t.Errorf("output %s: %+v", name, out)
		}
	}
	// What an expression puts into a script is code; by the environment it stays text.
	for _, step := range m.Runs.Steps {
		if script, _ := step["run"].(string); strings.Contains(script, "${{") || step["shell"] != "bash" {
			t.Errorf("step %v", step)
		}
	}
	// Defaults are what the program takes an input that is not given for.
	given := map[string]string{}
	for name, in := range m.Inputs {
		if name != "github-token" {
			given["INPUT_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = in.Default
		}
	}
	with, err := readInputs(given)
	if err != nil {
		t.Fatal(err)
	}
	if without, err := readInputs(nil); err != nil || !cmp.Equal(with, without) {
		t.Errorf("defaults differ: %s (%v)", cmp.Diff(without, with), err)
	}
}

// workflows are those that people copy, and this repository's own.
func workflows(t *testing.T) []string {
	t.Helper()
	own, err := filepath.Glob(filepath.Join(top, ".github", "workflows", "*.yml"))
	if err != nil || len(own) == 0 {
		t.Fatalf("no workflow of this repository: %v", err)
	}
	return append(own, filepath.Join(top, "examples", "stele.yml"), filepath.Join(top, "examples", "org-workflow.yml"))
}

// What a workflow may do is little, and no stranger's code meets a secret.
func TestWorkflowsMayDoLittle(t *testing.T) {
	t.Parallel()
	for _, name := range workflows(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var workflow struct {
			Permissions map[string]string `yaml:"permissions"`
			Jobs        map[string]struct {
				Permissions map[string]string `yaml:"permissions"`
				Steps       []struct {
					Run string `yaml:"run"`
				} `yaml:"steps"`
			} `yaml:"jobs"`
		}
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"contents": "read", "pull-requests": "write"}; !maps.Equal(workflow.Permissions, want) {
			t.Errorf("%s: permissions %v, want %v", name, workflow.Permissions, want)
		}
		for id, job := range workflow.Jobs {
			if len(job.Permissions) > 0 {
				t.Errorf("%s: job %s has permissions of its own: %v", name, id, job.Permissions)
			}
			for _, step := range job.Steps {
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s: job %s puts an expression into a script: %s", name, id, step.Run)
				}
			}
		}
		for _, bad := range []string{"pull_request_target", "write-all", "continue-on-error"} {
			if bytes.Contains(text, []byte(bad)) {
				t.Errorf("%s: holds %s", name, bad)
			}
		}
	}
}
