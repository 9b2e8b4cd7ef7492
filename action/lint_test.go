package action

import (
	"io"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rhysd/actionlint"
)

// lint gives what actionlint says about a workflow.
func lint(t *testing.T, name string, text []byte) []string {
	t.Helper()
	project, err := actionlint.NewProject(top)
	if err != nil {
		t.Fatal(err)
	}
	l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Lint(name, text, project)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range found {
		out = append(out, e.Error())
	}
	return out
}

func TestWorkflowsAreClean(t *testing.T) {
	t.Parallel()
	for _, name := range workflows(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, complaint := range lint(t, name, text) {
			t.Errorf("%s", complaint)
		}
	}
	const faulty = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.event.head_commit.message }}\n" +
		"      - uses: ./action\n        with:\n          min-scare: 3\n"
	if got := lint(t, "faulty.yml", []byte(faulty)); len(got) != 2 {
		t.Errorf("a workflow with two faults: %q", got)
	}
}

// The steps of the action pass for the steps of a workflow with the same inputs.
func TestStepsAreClean(t *testing.T) {
	t.Parallel()
	m := readMetadata(t)
	in := map[string]any{}
	for name := range m.Inputs {
		in[name] = map[string]any{"type": "string"}
	}
	text, err := yaml.Marshal(map[string]any{
		"on":   map[string]any{"workflow_call": map[string]any{"inputs": in}},
		"jobs": map[string]any{"drift": map[string]any{"runs-on": "ubuntu-latest", "steps": m.Runs.Steps}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range lint(t, "action.yml", text) {
		t.Errorf("%s", complaint)
	}
}
