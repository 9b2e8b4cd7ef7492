package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"github.com/stele-dev/stele/install"
	"github.com/stele-dev/stele/memory"
)

// proved is one thing that was tried as the client will do it.
type proved struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Saw  string `json:"saw"`
}

// Bounds of what is tried: a database may have to be made first, and a hook has the client's own limit.
const (
	proveMCP  = time.Minute
	proveHook = 20 * time.Second
)

// prove reads what the files of a client say now, and does it.
func (a *app) prove(ctx context.Context, c install.Client, env install.Environment, scope install.Scope) []proved {
	out := []proved{}
	at, ok := install.Look(c, env, scope)
	if !ok {
		return out
	}
	if at.Launch != nil {
		p := proved{What: "agent", OK: true}
		var err error
		if p.Saw, err = a.proveServer(ctx, *at.Launch); err != nil {
			p.OK, p.Saw = false, memory.Line(err.Error())
		}
		out = append(out, p)
	}
	if at.Command != "" {
		p := proved{What: "hook", OK: true}
		var err error
		if p.Saw, err = a.proveHooks(ctx, at.Command); err != nil {
			p.OK, p.Saw = false, memory.Line(err.Error())
		}
		out = append(out, p)
	}
	return out
}

// proveServer starts or calls the MCP server of an entry, and recalls something.
func (a *app) proveServer(ctx context.Context, l install.Launch) (saw string, err error) {
	ctx, cancel := context.WithTimeout(ctx, proveMCP)
	defer cancel()
	var c *client.Client
	stderr := &tail{}
	if l.URL != "" {
		c, err = client.NewStreamableHttpClient(l.URL, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + a.environment.Variables[install.TokenVariable]}))
		if err == nil {
			err = c.Start(ctx)
		}
	} else {
		var variables []string
		for name, value := range l.Env {
			variables = append(variables, name+"="+value)
		}
		dir, ferr := a.folder()
		if ferr != nil {
			return "", ferr
		}
		start := func(_ context.Context, command string, env, args []string) (*exec.Cmd, error) {
			// It ends with its input, when the client is closed.
			cmd := exec.CommandContext(ctx, command, args...)
			cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), stderr
			return cmd, nil
		}
		c, err = client.NewStdioMCPClientWithOptions(l.Command, variables, l.Args, transport.WithCommandFunc(start))
	}
	if err != nil {
		return "", fmt.Errorf("it does not start: %w", err)
	}
	defer func() {
		if cerr := c.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("it did not end well: %w", cerr)
		}
	}()
	failed := func(what string, err error) (string, error) {
		return "", fmt.Errorf("%s: %w%s", what, err, stderr.said())
	}
	hello := protocol.InitializeRequest{}
	hello.Params.ProtocolVersion = protocol.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = protocol.Implementation{Name: "stele install", Version: thisBuild().Version}
	who, err := c.Initialize(ctx, hello)
	if err != nil {
		return failed("no greeting", err)
	}
	tools, err := c.ListTools(ctx, protocol.ListToolsRequest{})
	if err != nil {
		return failed("no tools", err)
	}
	if !slices.ContainsFunc(tools.Tools, func(t protocol.Tool) bool { return t.Name == "recall" }) {
		return "", fmt.Errorf("%d tools, and no recall among them", len(tools.Tools))
	}
	call := protocol.CallToolRequest{}
	call.Params.Name, call.Params.Arguments = "recall", map[string]any{"query": "what should be known before the first change"}
	answer, err := c.CallTool(ctx, call)
	if err != nil {
		return failed("no recall", err)
	}
	var text strings.Builder
	for _, part := range answer.Content {
		if t, ok := part.(protocol.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	first := firstSaid(text.String())
	if answer.IsError {
		return "", fmt.Errorf("recall: %s", first)
	}
	return fmt.Sprintf("%s %s, %s, recall answered: %s", who.ServerInfo.Name, who.ServerInfo.Version, count(len(tools.Tools), "tool"), memory.Line(first)), nil
}

// firstSaid is the first line of an answer that is not its frame.
func firstSaid(text string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "<") {
			return l
		}
	}
	return ""
}

// proveHooks runs the command of the first hook with what the client would send, and that of the last, so that no session is left open.
func (a *app) proveHooks(ctx context.Context, command string) (string, error) {
	dir, err := a.folder()
	if err != nil {
		return "", err
	}
	id := fmt.Sprintf("stele-install-%d", time.Now().UnixNano())
	out, err := runHook(ctx, command, map[string]any{"session_id": id, "cwd": dir, "hook_event_name": "SessionStart", "source": "startup"})
	if err != nil {
		return "", err
	}
	var shape struct {
		HookSpecificOutput struct {
			AdditionalContext string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(out, &shape); err != nil {
		return "", fmt.Errorf("its answer is no JSON: %.200s", memory.Line(string(out)))
	}
	last := strings.Replace(command, "SessionStart", "SessionEnd", 1)
	if _, err := runHook(ctx, last, map[string]any{"session_id": id, "cwd": dir, "hook_event_name": "SessionEnd", "reason": "other"}); err != nil {
		return "", err
	}
	if n := len(shape.HookSpecificOutput.AdditionalContext); n > 0 {
		return fmt.Sprintf("SessionStart answered with %s of context", count(n, "byte")), nil
	}
	return "SessionStart answered, with nothing to tell yet", nil
}

// runHook runs a command as clients do: by a shell, with one JSON object as its input.
func runHook(ctx context.Context, command string, payload map[string]any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, proveHook)
	defer cancel()
	in, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("writing the payload: %w", err)
	}
	shell := []string{"sh", "-c", command}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C", command}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1:]...)
	stderr := &tail{}
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), stderr
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil, fmt.Errorf("it ended with code %d%s", exit.ExitCode(), stderr.said())
	}
	if err != nil {
		return nil, fmt.Errorf("it does not run: %w", err)
	}
	return out, nil
}

// tail keeps the beginning of what a program says on standard error: there it names what was wrong.
type tail struct {
	mu  sync.Mutex // the program may go on writing while it is read
	buf bytes.Buffer
}

func (t *tail) Write(b []byte) (int, error) {
	const kept = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b[:min(len(b), max(0, kept-t.buf.Len()))])
	return len(b), nil
}

// said is what was kept, behind a colon; "" for nothing.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(t.buf.String()); text != "" {
		return ": " + memory.Line(text)
	}
	return ""
}
