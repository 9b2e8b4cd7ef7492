package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/memory"
)

// Where one project of a server is named and the client can send a token from its environment, the entry is the address of that
// project, and it is tried; else the program is started for that server. No token is in a file either way.
func TestInstallTowardsAServer(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	if _, err := s.local.CreateProject(t.Context(), s.admin, "depot", nil); err != nil {
		t.Fatal(err)
	}
	token := s.token(t, memory.TokenRequest{Name: "kim", Role: memory.RoleAdmin})
	for name, tc := range map[string]struct {
		args    []string
		project string
		file    string
		wants   []string
	}{
		"an address":             {[]string{"install", "cursor", "--yes"}, "depot", ".cursor/mcp.json", []string{`"url": "` + s.url + `/mcp/p/`, "Bearer ${env:STELE_TOKEN}"}},
		"no project is named":    {[]string{"install", "cursor", "--dry-run"}, "", "", []string{`"command": "`, `"STELE_SERVER": "` + s.url}},
		"no header with a token": {[]string{"install", "vscode", "--dry-run"}, "depot", "", []string{`"command": "`, `"STELE_SERVER": "` + s.url}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, out := t.TempDir(), &bytes.Buffer{}
			variables := map[string]string{"HOME": home, "USERPROFILE": home, "STELE_SERVER": s.url, "STELE_TOKEN": token, "STELE_PROJECT": tc.project, "STELE_DATABASE_URL": nowhere}
			a := &app{
				in: strings.NewReader(""), out: bufio.NewWriter(out), err: out, width: defaultWidth, environment: config.Environment{Variables: variables},
				dir: home, stateDir: filepath.Join(home, "state"),
			}
			defer a.close()
			if code := a.run(t.Context(), tc.args); code != exitDone {
				t.Fatalf("exit code %d: %s", code, out)
			}
			text := out.String()
			if tc.file != "" {
				if !strings.Contains(text, "ok   agent: ") {
					t.Errorf("not tried: %s", text)
				}
				written, err := os.ReadFile(filepath.Join(home, tc.file))
				if err != nil {
					t.Fatal(err)
				}
				text = string(written)
			}
			for _, want := range tc.wants {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in %s", want, text)
				}
			}
			if strings.Contains(text+out.String(), token) {
				t.Errorf("the token is told: %s", text)
			}
		})
	}
}
