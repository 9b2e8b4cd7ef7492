// Package wire translates between the hooks of agents' clients and package hook: what a client writes to the program that it calls at an
// event, and what it reads from it. Clients of one family share a form; a payload may lack anything.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stele-dev/stele/hook"
	"github.com/stele-dev/stele/transcript"
)

// Client is a program that runs an agent and calls hooks.
type Client string

// The clients with hooks. Others reach Stele over MCP.
const (
	ClaudeCode Client = "claude-code"
	Codex      Client = "codex"
)

// Clients lists all.
var Clients = []Client{ClaudeCode, Codex}

// Names of the events, as the clients spell them.
const (
	SessionStart     = "SessionStart"
	UserPromptSubmit = "UserPromptSubmit"
	PreToolUse       = "PreToolUse"
	PostToolUse      = "PostToolUse"
	Stop             = "Stop"
	SubagentStop     = "SubagentStop"
	SessionEnd       = "SessionEnd"
)

// Names lists all, in the order of a conversation.
var Names = []string{SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop, SubagentStop, SessionEnd}

// EventOf is what an event of a client is to package hook; false for one that there is not.
func EventOf(c Client, name string) (hook.Event, bool) {
	if !slices.Contains(Clients, c) {
		return "", false
	}
	switch name {
	case SessionStart:
		return hook.Start, true
	case UserPromptSubmit:
		return hook.Prompt, true
	case PreToolUse:
		return hook.BeforeEdit, true
	case PostToolUse:
		return hook.AfterEdit, true
	case Stop, SubagentStop:
		return hook.Pause, true
	case SessionEnd:
		return hook.End, true
	}
	return "", false
}

// MaxPayload bounds what is read of a client, in bytes: more than the longest prompt that anybody pastes.
const MaxPayload = 8 << 20

// Payload is what a client told. Whatever was missing, null or of another form is empty.
type Payload struct {
	Session    string // the client's id of the conversation; an agent that the assistant called has that of its parent
	Agent      string // id of such an agent, "" for the assistant itself
	Folder     string
	Transcript string
	Source     string   // of a start
	Prompt     string   // at most hook.MaxPromptBytes
	Files      []string // that a tool edits or edited, as the client names them
}

// ErrBroken says that what came is no payload.
var ErrBroken = errors.New("what came is no payload of a hook")

// Read reads one document. It does not wait for the end of the input, which some clients leave open.
func Read(in io.Reader) (Payload, error) {
	var raw struct {
		Session         text            `json:"session_id"`
		Agent           text            `json:"agent_id"`
		Folder          text            `json:"cwd"`
		Transcript      text            `json:"transcript_path"`
		AgentTranscript text            `json:"agent_transcript_path"`
		Source          text            `json:"source"`
		Prompt          text            `json:"prompt"`
		Tool            text            `json:"tool_name"`
		Input           json.RawMessage `json:"tool_input"`
	}
	d := json.NewDecoder(io.LimitReader(in, MaxPayload))
	var form *json.UnmarshalTypeError
	if err := d.Decode(&raw); err != nil && !errors.As(err, &form) {
		return Payload{}, ErrBroken
	}
	p := Payload{
		Session: raw.Session.name(), Agent: raw.Agent.name(), Folder: raw.Folder.name(), Transcript: raw.Transcript.name(),
		Source: raw.Source.name(), Prompt: cut(string(raw.Prompt), hook.MaxPromptBytes), Files: files(string(raw.Tool), raw.Input),
	}
	if own := raw.AgentTranscript.name(); own != "" {
		p.Transcript = own
	}
	return p, nil
}

// text is a member that should be a text; another form is empty.
type text string

// UnmarshalJSON takes what there is.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
	}
	return nil
}

// name is a text that can be an id or a path of one line; "" for another.
func (t text) name() string {
	const most = 4096
	if len(t) > most || strings.ContainsFunc(string(t), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return string(t)
}

// edits are the tools that write files, of either client.
var edits = []string{"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "shell", "exec_command", "Bash"}

// files are those that a tool writes. A shell writes those of a patch that is in its command.
func files(tool string, input json.RawMessage) []string {
	if !slices.Contains(edits, tool) || len(input) == 0 {
		return nil
	}
	var in struct {
		File     text            `json:"file_path"`
		Notebook text            `json:"notebook_path"`
		Input    text            `json:"input"`
		Command  json.RawMessage `json:"command"`
	}
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	var out []string
	for _, f := range []string{in.File.name(), in.Notebook.name()} {
		if f != "" {
			out = append(out, f)
		}
	}
	commands := []string{string(in.Input)}
	var line string
	var words []string
	if json.Unmarshal(in.Command, &line) == nil {
		commands = append(commands, line)
	} else if json.Unmarshal(in.Command, &words) == nil {
		commands = append(commands, words...)
	}
	for _, c := range commands {
		touched, _ := transcript.Patch(c)
		out = append(out, touched...)
	}
	return out[:min(len(out), hook.MaxPaths)]
}

// MaxContext bounds what is put before the model, in bytes: clients cut more than about 10,000 to a preview.
const MaxContext = 8_900

// Answer is the document that a client reads. An event that says nothing is `{}`; what observing found is not said.
func Answer(c Client, name string, r hook.Response) []byte {
	type specific struct {
		Event    string `json:"hookEventName"`
		Context  string `json:"additionalContext,omitempty"`
		Decision string `json:"permissionDecision,omitempty"`
		Reason   string `json:"permissionDecisionReason,omitempty"`
	}
	var out struct {
		Specific *specific `json:"hookSpecificOutput,omitempty"`
		Notice   string    `json:"systemMessage,omitempty"`
	}
	s := specific{Event: name}
	switch name {
	case SessionStart, UserPromptSubmit, PreToolUse:
		s.Context = Cut(r.Context)
		if name == PreToolUse && r.Ask != "" && c == ClaudeCode {
			s.Decision, s.Reason = "ask", r.Ask
		}
		// Codex takes the answer to a start for plain text where this member is missing.
		if s.Context != "" || s.Decision != "" || c == Codex && name == SessionStart {
			out.Specific = &s
		}
	default:
	}
	out.Notice = r.Notice
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return []byte("{}")
	}
	return bytes.TrimSpace(b.Bytes())
}

const fenceEnd = "</stele-memory>"

// Cut shortens a text to MaxContext at the end of a line; a fence that is open then is closed.
func Cut(text string) string {
	if len(text) <= MaxContext {
		return text
	}
	const mark = "(the rest did not fit)\n"
	text = cut(text, MaxContext-len(mark)-len(fenceEnd)-1)
	if at := strings.LastIndexByte(text, '\n'); at >= 0 {
		text = text[:at+1]
	}
	text += mark
	if strings.Count(text, "<stele-memory") > strings.Count(text, fenceEnd) {
		text += fenceEnd + "\n"
	}
	return text
}

// cut is the beginning of a text, cut between two characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
