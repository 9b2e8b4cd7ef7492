package action

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// install runs install.sh as if the action had been downloaded, with programs that tell what they were asked for.
func install(t *testing.T, release string, env ...string) (out, bin string, err error) {
	t.Helper()
	root, programs := t.TempDir(), t.TempDir()
	script, err := os.ReadFile("install.sh")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "action", "install.sh"), string(script))
	if release != "" {
		write(filepath.Join(root, "action", "release"), release)
	}
	write(filepath.Join(programs, "curl"), "#!/bin/sh\necho \"curl $*\"\nwhile [ \"$1\" != --output ]; do shift; done\nprintf program > \"$2\"\n")
	write(filepath.Join(programs, "go"), "#!/bin/sh\necho \"go $* in $(pwd)\"\n")
	bin = filepath.Join(t.TempDir(), "bin")
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(root, "action", "install.sh"), bin)
	cmd.Env = append(append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "RUNNER_OS=Linux", "RUNNER_ARCH=X64",
		"GITHUB_WORKSPACE="+t.TempDir()), env...)
	for i, v := range cmd.Env {
		cmd.Env[i] = strings.ReplaceAll(v, "ROOT", root)
	}
	text, err := cmd.CombinedOutput()
	return string(text), bin, err
}

func TestInstall(t *testing.T) {
	t.Parallel()
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("program")))
	release := "version 1.2.3\n" + sum + "  stele_linux_amd64\n"
	out, bin, err := install(t, release)
	if err != nil || !strings.Contains(out, "/releases/download/v1.2.3/stele_linux_amd64") || !strings.Contains(out, "--proto =https") || strings.Contains(out, "go build") {
		t.Fatalf("a release: %v\n%s", err, out)
	}
	if info, err := os.Stat(filepath.Join(bin, "stele")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the program: %v, %v", info, err)
	}
	// Another program than the one that was pinned is not kept.
	out, bin, err = install(t, strings.ReplaceAll(release, sum, strings.Repeat("0", 64)))
	if files, _ := os.ReadDir(bin); err == nil || !strings.Contains(out, "::error title=Stele::the downloaded program is not stele 1.2.3") || len(files) != 0 {
		t.Errorf("a wrong checksum: %v, %v\n%s", err, files, out)
	}
	for name, tc := range map[string]struct {
		release string
		env     []string
		want    string
		fails   bool
	}{
		"no release":         {"", nil, "go build", false},
		"no program for it":  {release, []string{"RUNNER_ARCH=ARM64"}, "go build", false},
		"in the checkout":    {release, []string{"GITHUB_WORKSPACE=ROOT"}, "go build", false},
		"another system":     {release, []string{"RUNNER_OS=Windows"}, "runs on Linux and macOS", true},
		"a damaged pin file": {"version 1.2.3/../x\n" + sum + "  stele_linux_amd64\n", nil, "names no version", true},
	} {
		if out, _, err := install(t, tc.release, tc.env...); (err != nil) != tc.fails || !strings.Contains(out, tc.want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
