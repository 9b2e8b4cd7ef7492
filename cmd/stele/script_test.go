package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// TestMain lets this binary stand in for the program in scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stele": func() { os.Exit(start()) }})
}

// TestScripts runs the command line as people and scripts do, each script on a database of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	p := scripts(func(tb testing.TB) map[string]string {
		tb.Helper()
		d := pgtest.NewDatabase(tb)
		return map[string]string{"STELE_DATABASE_URL": d.App, "OWNER_URL": d.Owner, "ADMIN_URL": d.Admin, "STELE_USER": "kim"}
	})
	p.Dir = filepath.Join("testdata", "script")
	testscript.Run(t, p)
}

// scripts is how scripts are run; variables gives those that say where the memories are. The condition [server] holds
// where that is a server.
func scripts(variables func(tb testing.TB) map[string]string) testscript.Params {
	return testscript.Params{
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name != "server" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return false, nil
		},
		Setup: func(e *testscript.Env) error {
			tb, ok := e.T().(testing.TB)
			if !ok {
				return errors.New("the runner is no testing.TB")
			}
			for name, value := range variables(tb) {
				e.Setenv(name, value)
			}
			for name, value := range map[string]string{
				"HOME": e.WorkDir, "XDG_CONFIG_HOME": filepath.Join(e.WorkDir, ".config"),
				"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Kim", "GIT_AUTHOR_EMAIL": "kim@example.org",
				"GIT_COMMITTER_NAME": "Kim", "GIT_COMMITTER_EMAIL": "kim@example.org", "GIT_CEILING_DIRECTORIES": filepath.Dir(e.WorkDir),
			} {
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"code": exitCode, "keep": keep, "sql": runSQL},
	}
}

// keep is `keep NAME EXPRESSION`: the variable becomes what the first group of the expression finds in the last output.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep NAME EXPRESSION")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("%s is not in the output", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// runSQL is `sql ADDRESS STATEMENT`.
func runSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql ADDRESS STATEMENT")
	}
	ctx := context.Background() // a script has none
	conn, err := pgx.Connect(ctx, args[0])
	ts.Check(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, args[1])
	ts.Check(err)
}

// exitCode is `code N program args…`: it runs the program and wants that exit code.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
