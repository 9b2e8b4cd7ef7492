package faults_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestMain removes the program that the tests built.
func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // a folder for temporary files
	}
	os.Exit(code)
}

// built is the program under test, made once for all tests of the binary.
var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// program gives the path of the built program. Everyone may run it: the supervisor of the embedded database is one.
func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "stele-faults"); built.err != nil { //nolint:usetesting // it outlives the test
			return
		}
		built.path = filepath.Join(built.dir, "stele")
		build := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-buildvcs=false", "-o", built.path, "../../cmd/stele")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("building stele: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// command prepares a run of the program with settings of its own and none of whoever runs the tests.
func command(ctx context.Context, t *testing.T, settings []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, program(t), args...) //nolint:contextcheck // what is built once is for all tests
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "STELE_SERVER=", "STELE_CONFIG=", "STELE_DATABASE_URL=", "STELE_DATABASE_OWNER_URL=", "STELE_DATABASE_ADMIN_URL=", "STELE_RATE=100000")
	cmd.Env = append(cmd.Env, settings...)
	return cmd
}
