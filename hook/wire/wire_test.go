package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/hook/wire"
)

// What clients send at each event is read.
func TestRecorded(t *testing.T) {
	t.Parallel()
	const conversation = "/home/ana/.claude/projects/shop/7c1d.jsonl"
	claude := func(change func(*wire.Payload)) wire.Payload {
		p := wire.Payload{Session: "7c1d", Folder: "/srv/shop", Transcript: conversation}
		change(&p)
		return p
	}
	codex := func(change func(*wire.Payload)) wire.Payload {
		p := wire.Payload{Session: "0199", Folder: "/srv/shop"}
		change(&p)
		return p
	}
	want := map[string]wire.Payload{
		"claude-code/SessionStart":     claude(func(p *wire.Payload) { p.Source = "startup" }),
		"claude-code/UserPromptSubmit": claude(func(p *wire.Payload) { p.Prompt = "Refunds arrive twice, find out why" }),
		"claude-code/PreToolUse":       claude(func(p *wire.Payload) { p.Files = []string{"/srv/shop/api/refund.go"} }),
		"claude-code/PostToolUse":      claude(func(p *wire.Payload) { p.Files = []string{"/srv/shop/stock.ipynb"} }),
		"claude-code/Stop":             claude(func(*wire.Payload) {}),
		"claude-code/SubagentStop": claude(func(p *wire.Payload) {
			p.Agent, p.Transcript = "a1b2", "/home/ana/.claude/projects/shop/7c1d/subagents/agent-a1b2.jsonl"
		}),
		"claude-code/SessionEnd": claude(func(*wire.Payload) {}),
		"codex/SessionStart":     codex(func(p *wire.Payload) { p.Source = "startup" }),
		"codex/UserPromptSubmit": codex(func(p *wire.Payload) {
			p.Transcript, p.Prompt = "/home/ana/.codex/sessions/2030/01/01/rollout-0199.jsonl", "Refunds arrive twice, find out why"
		}),
		"codex/PreToolUse":  codex(func(p *wire.Payload) { p.Files = []string{"api/refund.go"} }),
		"codex/PostToolUse": codex(func(p *wire.Payload) { p.Files = []string{"api/key.go"} }),
		"codex/Stop":        codex(func(*wire.Payload) {}),
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.json"))
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(file, "testdata"+string(filepath.Separator))), ".json")
		client, event, _ := strings.Cut(name, "/")
		if _, ok := wire.EventOf(wire.Client(client), event); !ok {
			t.Errorf("%s is no event", name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// The pipe stays open, as that of a client does.
		in, out := io.Pipe()
		go func() { _, _ = out.Write(text) }()
		got, err := wire.Read(in)
		if diff := cmp.Diff(want[name], got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// Whatever comes is read as far as it can be.
func TestTolerant(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("€", 2<<20)
	for name, tc := range map[string]struct {
		text string
		want wire.Payload
		err  error
	}{
		"nothing":      {"", wire.Payload{}, wire.ErrBroken},
		"broken":       {`{"session_id":"a"`, wire.Payload{}, wire.ErrBroken},
		"no document":  {"hello", wire.Payload{}, wire.ErrBroken},
		"null":         {"null", wire.Payload{}, nil},
		"empty":        {"{}", wire.Payload{}, nil},
		"list":         {"[1]", wire.Payload{}, nil},
		"nulls":        {`{"session_id":"a","prompt":null,"cwd":null,"transcript_path":null,"tool_input":null}`, wire.Payload{Session: "a"}, nil},
		"other forms":  {`{"session_id":7,"prompt":{"a":1},"cwd":[],"tool_name":"Edit","tool_input":"x"}`, wire.Payload{}, nil},
		"other input":  {`{"session_id":"a","tool_name":"Edit","tool_input":{"file_path":7,"command":{}}}`, wire.Payload{Session: "a"}, nil},
		"another tool": {`{"session_id":"a","tool_name":"Read","tool_input":{"file_path":"/x"}}`, wire.Payload{Session: "a"}, nil},
		"no name":      {`{"session_id":"a\nb","cwd":"/x\u0000"}`, wire.Payload{}, nil},
		"long prompt":  {`{"session_id":"a","prompt":"` + long + `"}`, wire.Payload{Session: "a", Prompt: strings.Repeat("€", hook.MaxPromptBytes/3)}, nil},
		"too long":     {`{"session_id":"a","prompt":"` + long + long + `"}`, wire.Payload{}, wire.ErrBroken},
		"bad letters":  {"{\"session_id\":\"a\",\"prompt\":\"\xff\"}", wire.Payload{Session: "a", Prompt: "\ufffd"}, nil},
	} {
		got, err := wire.Read(strings.NewReader(tc.text))
		if diff := cmp.Diff(tc.want, got); !errors.Is(err, tc.err) || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	said := hook.Response{Context: "a <b>\n", Notice: "n", Ask: "why"}
	for _, tc := range []struct {
		client wire.Client
		name   string
		r      hook.Response
		want   string
	}{
		{wire.ClaudeCode, wire.SessionStart, hook.Response{}, `{}`},
		{wire.Codex, wire.SessionStart, hook.Response{}, `{"hookSpecificOutput":{"hookEventName":"SessionStart"}}`},
		{wire.ClaudeCode, wire.SessionStart, hook.Response{Context: "a <b>\n"}, `{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"a <b>\n"}}`},
		{wire.ClaudeCode, wire.UserPromptSubmit, hook.Response{Context: "a"}, `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"a"}}`},
		{wire.ClaudeCode, wire.PreToolUse, said, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"a <b>\n","permissionDecision":"ask","permissionDecisionReason":"why"},"systemMessage":"n"}`},
		{wire.ClaudeCode, wire.PreToolUse, hook.Response{}, `{}`},
		{wire.ClaudeCode, wire.Stop, said, `{"systemMessage":"n"}`},
		{wire.ClaudeCode, wire.SessionEnd, hook.Response{}, `{}`},
	} {
		if got := string(wire.Answer(tc.client, tc.name, tc.r)); got != tc.want {
			t.Errorf("%s %s: got %s, want %s", tc.client, tc.name, got, tc.want)
		}
	}
}

// What is too long ends with a whole line and a closed fence.
func TestCut(t *testing.T) {
	t.Parallel()
	text := "Work session ws-2222222\n<stele-memory note=\"x\">\n" + strings.Repeat("- a line with an é · m-2222222\n", 400) + "</stele-memory>\n"
	got := wire.Cut(text)
	if len(got) > wire.MaxContext || len(got) < wire.MaxContext-200 || !strings.HasSuffix(got, "m-2222222\n(the rest did not fit)\n</stele-memory>\n") {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-120:])
	}
	if short := "a\nb"; wire.Cut(short) != short {
		t.Error("a short text is cut")
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := wire.Read(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		if len(p.Prompt) > hook.MaxPromptBytes || len(p.Files) > hook.MaxPaths || strings.Contains(p.Session, "\n") {
			t.Errorf("%+v", p)
		}
		if !json.Valid(wire.Answer(wire.ClaudeCode, wire.PreToolUse, hook.Response{Context: p.Prompt, Ask: p.Folder})) {
			t.Error("no document")
		}
	})
}
