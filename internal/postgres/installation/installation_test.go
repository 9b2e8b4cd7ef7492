//go:build unix

package installation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/problem"
)

func TestVersionAtLeast(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		have, want string
		ok         bool
	}{
		{"0.8.0", "0.8", true}, {"0.8", "0.8.0", true}, {"0.10.1", "0.8", true}, {"1.0", "0.8", true}, {"0.8.0-1.pgdg12+1", "0.8", true},
		{"0.7.4", "0.8", false}, {"0.6.0-1", "0.8", false}, {"0", "0.8", false}, {"", "0.8", false}, {"garbage", "0.8", false}, {"17beta1", "15", true},
	} {
		if got := VersionAtLeast(test.have, test.want); got != test.ok {
			t.Errorf("%q at least %q: %v", test.have, test.want, got)
		}
	}
}

// fake makes a folder of programs that say they are a release.
func fake(t *testing.T, version, vector string) string {
	t.Helper()
	root := t.TempDir()
	bin, share := filepath.Join(root, "bin"), filepath.Join(root, "share")
	for _, dir := range []string{bin, filepath.Join(share, "extension")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	scripts := map[string]string{"pg_config": "echo " + share, "postgres": fmt.Sprintf("echo 'postgres (PostgreSQL) %s'", version)}
	for _, name := range []string{"initdb", "pg_dump", "pg_restore"} {
		scripts[name] = "exit 1"
	}
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if vector != "" {
		control := "# vector\ncomment = 'vector'\ndefault_version = '" + vector + "'\n"
		if err := os.WriteFile(filepath.Join(share, "extension", "vector.control"), []byte(control), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func TestFindInNamedFolder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ version, vector, want string }{
		"usable":           {"17.6 (Debian 17.6-1)", "0.8.1", ""},
		"beta":             {"19beta1", "0.9.0", ""},
		"too old":          {"14.19", "0.8.1", "PostgreSQL 14.19"},
		"without pgvector": {"16.10", "", "has no pgvector"},
		"old pgvector":     {"16.10", "0.6.0", "pgvector 0.6.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fake(t, test.version, test.vector)
			i, err := Find(t.Context(), dir)
			if test.want == "" {
				if err != nil || i.BinDir != dir || i.Vector != test.vector {
					t.Errorf("found %+v, %v", i, err)
				}
				return
			}
			p, ok := problem.As(err)
			if !ok || !strings.Contains(p.Detail, test.want) || !strings.Contains(p.Error(), "stele setup") {
				t.Errorf("got %v, want a problem that says %q and names stele setup", err, test.want)
			}
		})
	}
	t.Run("not a server", func(t *testing.T) {
		t.Parallel()
		dir := fake(t, "17.6", "0.8.1")
		if err := os.Remove(filepath.Join(dir, "initdb")); err != nil {
			t.Fatal(err)
		}
		p, ok := problem.As(func() error { _, err := Find(t.Context(), dir); return err }())
		if !ok || p.Field != "STELE_POSTGRES_BIN" || !strings.Contains(p.Detail, "initdb is not there") {
			t.Errorf("got %v", p)
		}
	})
}
