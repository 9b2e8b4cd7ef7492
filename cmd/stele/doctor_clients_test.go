package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/hook/local"
	"github.com/stele-dev/stele/install"
	"github.com/stele-dev/stele/internal/config"
)

// What is said of a client's hooks by their log.
func TestHooksArrive(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 3, 8, 12, 0, 0, 0, time.UTC)
	codex, err := install.Find("codex")
	if err != nil {
		t.Fatal(err)
	}
	entry := func(client, outcome string, days float64) local.Entry {
		return local.Entry{Client: client, Outcome: outcome, Reason: "unavailable", At: now.Add(-time.Duration(days * 24 * float64(time.Hour)))}
	}
	for name, tc := range map[string]struct {
		installed float64 // days ago; 0: not known
		entries   []local.Entry
		state     doctor.State
		says      string
	}{
		"called":                    {9, []local.Entry{entry("codex", local.Told, 3)}, doctor.OK, "3 days ago"},
		"outside counts as called":  {9, []local.Entry{entry("codex", local.Outside, 0.25)}, doctor.OK, "6 hours ago"},
		"called by another client":  {9, []local.Entry{entry("claude-code", local.Told, 1)}, doctor.Warn, "none was ever called"},
		"silent for a week":         {30, []local.Entry{entry("codex", local.Told, 8)}, doctor.Warn, "8 days ago"},
		"new":                       {0.5, nil, doctor.OK, "not called yet"},
		"never":                     {2, nil, doctor.Warn, "none was ever called"},
		"without a record":          {0, nil, doctor.Warn, "none was ever called"},
		"reaching nobody":           {9, []local.Entry{entry("codex", local.Told, 3), entry("codex", local.Untold, 2), entry("codex", local.Untold, 1), entry("codex", local.Untold, 0.5)}, doctor.Warn, "came to nothing: unavailable"},
		"reaching somebody at last": {9, []local.Entry{entry("codex", local.Untold, 2), entry("codex", local.Untold, 1), entry("codex", local.Untold, 1), entry("codex", local.Told, 0.5)}, doctor.OK, "12 hours ago"},
		"a clock that was set back": {9, []local.Entry{entry("codex", local.Told, -2)}, doctor.Warn, "none was ever called"},
	} {
		x := &examination{app: &app{}, now: func() time.Time { return now }}
		at := install.Installed{Hooks: []string{"SessionStart"}}
		if tc.installed > 0 {
			at.At = now.Add(-time.Duration(tc.installed * 24 * float64(time.Hour)))
		}
		f, good := x.hooksOf(codex, at, tc.entries)
		if f.State != tc.state || !strings.Contains(f.Detail, tc.says) || good != (tc.state == doctor.OK) {
			t.Errorf("%s: %+v, good %v", name, f, good)
		}
		if f.State == doctor.Warn && f.Fix == "" {
			t.Errorf("%s: nothing is said to do", name)
		}
	}
}

// What is said of the clients by their files.
func TestClientsStart(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	x := &examination{app: &app{environment: config.Environment{Variables: map[string]string{"HOME": home, "USERPROFILE": home}}, dir: home, stateDir: filepath.Join(home, "state")}, now: time.Now}
	write := func(text string) {
		t.Helper()
		path := filepath.Join(home, ".codeium", "windsurf", "mcp_config.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := ownPath()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text  string
		state doctor.State
		says  string
	}{
		{`{}`, doctor.Warn, "windsurf"},
		{`{"mcpServers": {"stele": {"command": "/nowhere/stele", "args": ["mcp"]}}}`, doctor.Fail, "/nowhere/stele, which is not there"},
		{`{"mcpServers": {"stele": {"url": "https://stele.example.org/mcp/p/x"}}}`, doctor.OK, "windsurf"},
		{`{"mcpServers": {"stele": {"command": "` + self + `", "args": ["mcp"]}}}`, doctor.OK, "windsurf"},
	} {
		if strings.Contains(tc.text, self) && !strings.HasPrefix(filepath.Base(self), "stele") {
			continue // under another name this program is not recognized, nor should it be
		}
		write(tc.text)
		if f := x.clients(t.Context()); f.State != tc.state || !strings.Contains(f.Detail, tc.says) {
			t.Errorf("%s: %+v", tc.text, f)
		}
	}
}
