//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where there is no program, a person is told once a day; where there is one, it gets the event.
func TestPluginWithoutProgram(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs(filepath.Join("..", "..", "plugin", "hooks", "stele"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(path string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), script, "claude-code", "SessionStart")
		cmd.Env = []string{"PATH=" + path, "HOME=" + dir}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v, %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	const system = "/usr/bin:/bin"
	var told struct {
		Notice string `json:"systemMessage"`
	}
	if err := json.Unmarshal([]byte(run(system)), &told); err != nil || !strings.Contains(told.Notice, "go install ") {
		t.Errorf("%+v, %v", told, err)
	}
	if again := run(system); again != "{}" {
		t.Errorf("told again: %s", again)
	}
	if err := os.WriteFile(filepath.Join(dir, "stele"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := run(dir + ":" + system); got != "hook claude-code SessionStart" {
		t.Errorf("got %q", got)
	}
}
