package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
)

// offline is a program without a terminal, a configuration or a database.
func offline(variables map[string]string) (*app, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &app{in: strings.NewReader(""), out: bufio.NewWriter(out), err: out, width: defaultWidth, environment: config.Environment{Variables: variables}}, out
}

// Every command says what it does, with an example, in 80 columns.
func TestHelp(t *testing.T) {
	t.Parallel()
	a, _ := offline(nil)
	root := a.root()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Hidden || !c.IsAvailableCommand() && c != root {
			return
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Example == "" {
			t.Errorf("%s: short help %q, example %q", c.CommandPath(), c.Short, c.Example)
		}
		for l := range strings.Lines(c.Example) {
			if !strings.HasPrefix(l, "  ") {
				t.Errorf("%s: example is not indented: %q", c.CommandPath(), l)
			}
		}
		for l := range strings.Lines(c.Long + "\n" + c.UsageString()) {
			if l = strings.TrimRight(l, "\n"); columns(l) > defaultWidth {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), columns(l), l)
			}
		}
		for _, flag := range []string{"json", "project"} {
			if c.InheritedFlags().Lookup(flag) == nil && c != root {
				t.Errorf("%s: no --%s", c.CommandPath(), flag)
			}
		}
	}
	visit(root)
}

func TestOpenEditor(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "my editor")
	text := "#!/bin/sh\nsed 's/cold/hot/' \"$2\" > \"$2.new\" && mv \"$2.new\" \"$2\"\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	a, _ := offline(map[string]string{"EDITOR": "'" + script + "' --wait", "VISUAL": ""})
	got, err := a.openEditor(t.Context(), editable{title: "Tea", content: "Tea is cold.\n\n# A heading stays"})
	if want := (editable{title: "Tea", content: "Tea is hot.\n\n# A heading stays"}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for variable, value := range map[string]string{"EDITOR": "", "VISUAL": "false"} {
		a, _ := offline(map[string]string{variable: value})
		if _, err := a.openEditor(t.Context(), editable{content: "x"}); !strings.Contains(err.Error(), "EDITOR") {
			t.Errorf("%s=%q: %v", variable, value, err)
		}
	}
}

// A person is asked, a pipe is not, and silence is a no.
func TestAsk(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false, "y": true, "sure\n": false} {
		a, _ := offline(nil)
		a.in, a.interactive = strings.NewReader(input), true
		if got, err := a.ask("Do it?"); err != nil || got != want {
			t.Errorf("%q: got %v, %v", input, got, err)
		}
	}
	a, out := offline(nil)
	if got, err := a.askUnlessPiped("Do it?"); err != nil || !got || out.Len() > 0 {
		t.Errorf("in a pipe: got %v, %v, printed %q", got, err, out)
	}
}

// Errors are one line for people and one document for scripts, whatever is in them.
func TestReport(t *testing.T) {
	t.Parallel()
	p := problem.New(problem.Conflict, "title", "\"a\x1b[2J\nb\" is taken", "say another", "or --supersedes m-7k3f9qa")
	a, out := offline(nil)
	a.report(p)
	if want := "stele: title: \"a b\" is taken; say another; or --supersedes m-7k3f9qa\n"; out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
	// A person's window does not cut a word.
	a, out = offline(nil)
	a.interactive = true
	a.report(problem.New(problem.Invalid, "", strings.Repeat("a word and another, ", 8), "see: stele --help"))
	for l := range strings.Lines(out.String()) {
		if columns(strings.TrimRight(l, "\n")) > defaultWidth {
			t.Errorf("more than %d columns: %q", defaultWidth, l)
		}
	}
	if strings.Count(out.String(), "\n  ") < 2 {
		t.Errorf("not wrapped: %q", out)
	}
	a, out = offline(nil)
	if code := a.run(t.Context(), []string{"recall", "--frob", "--json"}); code != exitFailed || !strings.Contains(out.String(), `"detail": "unknown flag: --frob"`) {
		t.Errorf("exit code %d, %s", code, out)
	}
}
