package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// program builds the program as people run it.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stele")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

// agent is an agent's side of a child that serves it.
type agent struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    *json.Encoder
	lines *bufio.Scanner
	stop  func() error
	next  int
}

func serve(t *testing.T, path string, env ...string) *agent {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, "mcp")
	cmd.Dir, cmd.Env, cmd.Stderr = t.TempDir(), append(os.Environ(), env...), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &agent{t: t, cmd: cmd, in: json.NewEncoder(in), lines: lines, stop: in.Close}
}

// ask sends a request and gives the text of the answer, which must be the next line.
func (a *agent) ask(method string, params map[string]any) string {
	a.t.Helper()
	a.next++
	if err := a.in.Encode(map[string]any{"jsonrpc": "2.0", "id": a.next, "method": method, "params": params}); err != nil {
		a.t.Fatal(err)
	}
	if !a.lines.Scan() {
		a.t.Fatalf("no answer to %s: %v", method, a.lines.Err())
	}
	var answer struct {
		ID    int             `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(a.lines.Bytes(), &answer); err != nil || answer.ID != a.next || answer.Error != nil {
		a.t.Fatalf("%s: %s", method, a.lines.Text())
	}
	return a.lines.Text()
}

func (a *agent) call(tool string, arguments map[string]any) string {
	a.t.Helper()
	return a.ask("tools/call", map[string]any{"name": tool, "arguments": arguments})
}

func (a *agent) hello() {
	a.t.Helper()
	a.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "tester", "version": "1"}})
}

// end closes the agent's side and waits for the child to end by itself.
func (a *agent) end() {
	a.t.Helper()
	if err := a.stop(); err != nil {
		a.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			a.t.Errorf("the child ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		a.t.Error("the child goes on after its input ended")
	}
}

// TestEmbedded runs the built program on an embedded database of its own: a first start, an agent over a pipe, a person
// at the same time, a kill in the middle, and nothing left behind.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	path := program(t)
	dir := pgtest.Dir(t)
	env := []string{
		"STELE_DATA_DIR=" + filepath.Join(dir, "data"), "STELE_MASTER_KEY_FILE=" + filepath.Join(dir, "master.key"), "STELE_PROJECT=shop", "STELE_USER=kim",
		"STELE_DATABASE_URL=", "STELE_DATABASE_OWNER_URL=", "STELE_CONFIG=", "XDG_CONFIG_HOME=" + dir,
	}
	// A clean-up runs when the test's own context has ended.
	ctx := context.WithoutCancel(t.Context())
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("stele %s: %v", strings.Join(args, " "), err)
		}
		return string(out)
	}
	t.Cleanup(func() { run("db", "stop") })

	first := serve(t, path, env...)
	first.hello()
	if got := first.ask("tools/list", map[string]any{}); !strings.Contains(got, "find_relevant_context") {
		t.Errorf("tools: %s", got)
	}
	if got := first.call("remember", map[string]any{"content": "Stock is cached for 60 seconds.", "kind": "pitfall"}); !strings.Contains(got, "Stored m-") {
		t.Errorf("remember: %s", got)
	}
	if got := run("recall", "how long is stock cached"); !strings.Contains(got, "cached for 60 seconds") || !strings.Contains(got, "by tester/kim") {
		t.Errorf("recall on the command line: %s", got)
	}
	// What this connection was served and says again is an echo.
	first.call("recall", map[string]any{"query": "stock"})
	if got := first.call("remember", map[string]any{"content": "Stock is cached for 60 seconds.", "kind": "pitfall"}); !strings.Contains(got, "Nothing changed") {
		t.Errorf("an echo: %s", got)
	}
	first.end()

	killed := serve(t, path, env...)
	killed.hello()
	if got := killed.call("remember", map[string]any{"content": "Prices are in cents."}); !strings.Contains(got, "Stored m-") {
		t.Errorf("remember: %s", got)
	}
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.cmd.Wait() // it was killed, and says so
	if got := run("recall", "prices"); !strings.Contains(got, "in cents") {
		t.Errorf("after a kill: %s", got)
	}

	backup := filepath.Join(dir, "stele.dump")
	run("db", "backup", backup)
	taken := exec.CommandContext(ctx, path, "db", "backup", backup)
	taken.Dir, taken.Env = t.TempDir(), append(os.Environ(), env...)
	if out, err := taken.CombinedOutput(); err == nil || !strings.Contains(string(out), "is there already") {
		t.Errorf("a second backup into the same file: %v, %s", err, out)
	}
	if got := run("db", "backup", "--verify", filepath.Join(dir, "proved.dump")); !strings.Contains(got, "as many as in the database") {
		t.Errorf("a verified backup: %s", got)
	}
	run("remember", "Mugs are stacked.")
	run("db", "restore", backup)
	if got := run("recall", "mugs prices"); strings.Contains(got, "stacked") || !strings.Contains(got, "in cents") {
		t.Errorf("after a restore: %s", got)
	}
	if got := run("db", "status", "--json"); !strings.Contains(got, `"running": true`) || !strings.Contains(got, `"backup_verified"`) {
		t.Errorf("status: %s", got)
	}
	run("db", "stop")
	if got := run("db", "status"); !strings.Contains(got, "stopped") {
		t.Errorf("status after a stop: %s", got)
	}
	left, err := exec.CommandContext(t.Context(), "ps", "-eo", "args").Output()
	if err == nil && strings.Contains(string(left), dir) {
		t.Errorf("processes are left: %s", left)
	}
}
