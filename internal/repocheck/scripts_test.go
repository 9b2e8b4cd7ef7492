package repocheck

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// scriptFaults complains about shell scripts that cannot be run, or that go on after a failure.
func scriptFaults(tree fs.FS, files []string) (complaints []string, err error) {
	for _, name := range files {
		if !strings.HasSuffix(name, ".sh") && name != ".ci/run" {
			continue
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		info, err := fs.Stat(tree, name)
		if err != nil {
			return nil, err
		}
		if info.Mode()&0o111 == 0 {
			complaints = append(complaints, name+": is not executable")
		}
		if !strings.HasPrefix(string(text), "#!/usr/bin/env bash\n") {
			complaints = append(complaints, name+": does not say that bash runs it")
		}
		if !strings.Contains(string(text), "\nset -euo pipefail\n") {
			complaints = append(complaints, name+": goes on after a failure; set -euo pipefail")
		}
	}
	return complaints, nil
}

func TestScriptsStopAtFailure(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	complaints, err := scriptFaults(tree, files)
	report(t, complaints, err)
}

func TestScriptChecksFindFaults(t *testing.T) {
	t.Parallel()
	good := []byte("#!/usr/bin/env bash\n# Why.\nset -euo pipefail\n")
	tree := fstest.MapFS{
		".ci/run": {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"a.sh":    {Data: good, Mode: 0o755},
		"b.sh":    {Data: good, Mode: 0o644},
		"c.txt":   {Data: []byte("x")},
	}
	got, err := scriptFaults(tree, []string{".ci/run", "a.sh", "b.sh", "c.txt"})
	expect(t, got, err, ".ci/run: does not say", ".ci/run: goes on", "b.sh: is not executable")
}

// bash runs a script of docker/ in a copy of that folder and gives what it printed.
func bash(t *testing.T, folder, script string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(folder, "docker", script))
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func copyDocker(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, script := range []string{"make-secrets.sh", "bootstrap.sh", "bootstrap.sql"} {
		text, err := os.ReadFile(filepath.Join(top, "docker", script))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(folder, "docker"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "docker", script), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// What make-secrets.sh makes is private, has the form its readers expect, and survives a second run.
func TestMakeSecrets(t *testing.T) {
	t.Parallel()
	folder := copyDocker(t)
	if out, err := bash(t, folder, "make-secrets.sh"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	forms := map[string]string{
		"docker/secrets/postgres_password": `^[0-9a-f]{48}$`,
		"docker/secrets/pgpass":            `^\*:\*:stele:stele_owner:[0-9a-f]{48}\n\*:\*:stele:stele_app:[0-9a-f]{48}\n$`,
		"docker/secrets/pgpass_app":        `^\*:\*:stele:stele_app:[0-9a-f]{48}\n$`,
		".env":                             fmt.Sprintf(`^STELE_UID=%d\nSTELE_GID=%d\n$`, os.Getuid(), os.Getgid()),
	}
	before := map[string]string{}
	for name, form := range forms {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o, others may read it", name, info.Mode().Perm())
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		before[name] = string(text)
		if !regexp.MustCompile(form).Match(text) {
			t.Errorf("%s does not have the form %s", name, form)
		}
	}
	if out, err := bash(t, folder, "make-secrets.sh"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range before {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != want {
			t.Errorf("a second run changed %s (%v)", name, err)
		}
	}
}

// bootstrap.sh hands psql both passwords by environment and none by argument, and names the fix when there are none.
func TestBootstrapPassesPasswords(t *testing.T) {
	t.Parallel()
	folder := copyDocker(t)
	if out, err := bash(t, folder, "make-secrets.sh"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A psql that tells what it was given.
	programs := t.TempDir()
	stub := "#!/bin/sh\necho \"args: $*\"\necho \"$PGPASSWORD $STELE_OWNER_PASSWORD $STELE_APP_PASSWORD\"\n"
	if err := os.WriteFile(filepath.Join(programs, "psql"), []byte(stub), 0o700); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH")
	super := "POSTGRES_PASSWORD_FILE=" + filepath.Join(folder, "docker/secrets/postgres_password")
	out, err := bash(t, folder, "bootstrap.sh", path, super, "PGPASSWORD=", "STELE_PGPASS="+filepath.Join(folder, "docker/secrets/pgpass"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args, passwords, _ := strings.Cut(out, "\n")
	if regexp.MustCompile(`[0-9a-f]{48}`).MatchString(args) {
		t.Errorf("a password is among the arguments: %s", args)
	}
	given := regexp.MustCompile(`(?m)^([0-9a-f]{48}) ([0-9a-f]{48}) ([0-9a-f]{48})$`).FindStringSubmatch(passwords)
	if given == nil || given[1] == given[2] || given[2] == given[3] {
		t.Errorf("psql was not given three passwords, each its own: %q", passwords)
	}

	empty := filepath.Join(folder, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = bash(t, folder, "bootstrap.sh", path, super, "STELE_PGPASS="+empty)
	if err == nil || !strings.Contains(out, "docker/make-secrets.sh") {
		t.Errorf("without passwords: %v, %q", err, out)
	}
}
