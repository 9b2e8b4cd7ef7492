//go:build unix

package setup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// TestBuildLeavesNothing runs the script that builds from source with stand-ins for apt-get and make. However it ends, the
// scratch folder with the source list is gone, and apt's own lists were never named.
func TestBuildLeavesNothing(t *testing.T) {
	const (
		makeWell = "echo \"$@\" >> \"$NOTES/made\"\n"
		makeFail = "exit 2\n"
		makeHang = "touch \"$NOTES/started\"\nexec sleep 600\n"
	)
	for name, test := range map[string]struct {
		make string
		want func(err error) bool
	}{
		"built":       {makeWell, func(err error) bool { return err == nil }},
		"failed":      {makeFail, func(err error) bool { return problem.Is(err, problem.Unavailable) }},
		"interrupted": {makeHang, func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(name, func(t *testing.T) {
			bin, tmp, notes := t.TempDir(), t.TempDir(), t.TempDir()
			stand := func(program, script string) {
				if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			stand("apt-get", `echo "$@" >> "$NOTES/fetched"
case "$*" in *source*) mkdir p; echo all: > p/Makefile; tar -czf pgvector_0.8.0.orig.tar.gz p;; esac
`)
			stand("make", test.make)
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			t.Setenv("TMPDIR", tmp)
			t.Setenv("NOTES", notes)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(filepath.Join(notes, "started")); err == nil {
						cancel()
					}
					<-time.After(5 * time.Millisecond)
				}
			}()
			step := Step{Why: "build pgvector", Script: build(sources["debian"], "http://mirror.example/debian/", 15), Root: true}
			var out bytes.Buffer
			// As root, whoever runs the test: nothing of the script needs it here.
			err := Execute(ctx, Facts{Root: true}, Plan{Steps: []Step{step}}, Options{Out: &out})
			if !test.want(err) {
				t.Errorf("got %v\n%s", err, out.String())
			}
			if !strings.Contains(out.String(), "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian/ trixie main") {
				t.Errorf("the script was not shown:\n%s", out.String())
			}
			left, err := os.ReadDir(tmp)
			if err != nil || len(left) != 0 {
				t.Errorf("%v is left in the temporary folder, %v", left, err)
			}
			fetched, err := os.ReadFile(filepath.Join(notes, "fetched"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(fetched)) {
				if !strings.Contains(line, "Dir::Etc::sourceparts=-") || !strings.Contains(line, "Dir::State::lists="+tmp) {
					t.Errorf("apt-get was called with its own lists: %s", line)
				}
			}
		})
	}
}

// TestNothingRunsUnasked: without the rights or without consent nothing runs, and the commands are shown all the same.
func TestNothingRunsUnasked(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "ran")
	plan := Plan{Steps: []Step{{Why: "leave a mark", Script: "touch " + marker + "\n", Root: true}}}
	no := func() (bool, error) { return false, nil }
	for name, test := range map[string]struct {
		facts   Facts
		confirm func() (bool, error)
		want    string
	}{
		"no rights":  {Facts{}, nil, "sudo is not installed"},
		"no consent": {Facts{Root: true}, no, "nothing was installed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := Execute(t.Context(), test.facts, plan, Options{Out: &out, Confirm: test.confirm})
			if p, ok := problem.As(err); !ok || !strings.Contains(p.Detail, test.want) || len(p.Fixes) == 0 {
				t.Errorf("got %v, want a problem that says %q", err, test.want)
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("it ran")
			}
			if !strings.Contains(out.String(), "touch "+marker) {
				t.Errorf("the command was not shown: %s", out.String())
			}
		})
	}
}

// TestReadyMachine: this machine can run the other tests, so there is nothing to install, and Run says so.
func TestReadyMachine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	asked := false
	i, err := Run(t.Context(), Options{BinDir: os.Getenv("STELE_POSTGRES_BIN"), Out: &out, Confirm: func() (bool, error) { asked = true; return false, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if asked || i.Check() != nil || !strings.Contains(out.String(), "is ready in "+i.BinDir) {
		t.Errorf("asked %v, found %+v, said %q", asked, i, out.String())
	}
}
