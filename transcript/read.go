package transcript

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// line is a line of either client. Members that have another form than expected stay empty.
type line struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	Session   string `json:"sessionId"`
	Meta      bool   `json:"isMeta"`
	Aside     bool   `json:"isSidechain"`
	Summary   bool   `json:"isCompactSummary"`
	Timestamp string `json:"timestamp"`
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Payload json.RawMessage `json:"payload"`
}

// decode reads JSON as far as its members have the expected form.
func decode(text []byte, into any) bool {
	err := json.Unmarshal(text, into)
	var form *json.UnmarshalTypeError
	return err == nil || errors.As(err, &form)
}

// read gives what a line says.
func read(text []byte, codex *codexState) []entry {
	var l line
	if !decode(text, &l) {
		return nil
	}
	if len(l.Payload) > 0 {
		return codex.read(l)
	}
	out := []entry{{session: name(l.Session)}}
	if l.Type != "user" && l.Type != "assistant" || l.Meta || l.Summary {
		return out
	}
	out[0].turn = name(l.UUID)
	var blocks []block
	var plain string
	switch content := l.Message.Content; {
	case len(content) > 0 && content[0] == '"' && json.Unmarshal(content, &plain) == nil:
		blocks = []block{{Type: "text", Text: plain}}
	case !decode(content, &blocks):
		return out
	}
	for _, b := range blocks {
		e := entry{turn: name(l.UUID), aside: l.Aside, id: b.ID}
		switch b.Type {
		case "text":
			if e.text = said(b.Text); e.text == "" {
				continue
			}
			e.kind = answered
			if l.Type == "user" {
				e.kind = asked
			}
		case "tool_use":
			e.kind = used
			b.Input.into(&e, b.Name)
		case "tool_result":
			e.kind, e.id, e.failed = result, b.Of, b.Failed
		default:
			continue
		}
		out = append(out, e)
	}
	return out
}

// block is a part of a message of Claude Code.
type block struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	ID     string `json:"id"`
	Name   string `json:"name"`
	Input  input  `json:"input"`
	Of     string `json:"tool_use_id"`
	Failed bool   `json:"is_error"`
}

// input is what a tool was given, of those whose input says something.
type input struct {
	Command  command `json:"command"`
	File     string  `json:"file_path"`
	Notebook string  `json:"notebook_path"`
	New      string  `json:"new_string"`
	Content  string  `json:"content"`
	Source   string  `json:"new_source"`
	Edits    []struct {
		New string `json:"new_string"`
	} `json:"edits"`
}

// command is a line for a shell, written as a text or as its words.
type command string

// UnmarshalJSON reads either form.
func (c *command) UnmarshalJSON(text []byte) error {
	var plain string
	if json.Unmarshal(text, &plain) == nil {
		*c = command(plain)
		return nil
	}
	var words []string
	if json.Unmarshal(text, &words) == nil && len(words) > 0 {
		*c = command(words[len(words)-1]) // of `bash -lc TEXT`, what it is about
		if len(words) != 3 || !strings.HasPrefix(words[1], "-") {
			*c = command(strings.Join(words, " "))
		}
	}
	return nil
}

// editTools are the tools of Claude Code that write files.
var editTools = map[string]bool{"Edit": true, "Write": true, "MultiEdit": true, "NotebookEdit": true}

func (i input) into(e *entry, tool string) {
	if e.command = clip(string(i.Command), maxText); e.command != "" {
		if files, wrote := Patch(e.command); len(files) > 0 {
			e.command, e.files, e.text = "", files, clip(wrote, maxText)
		}
	}
	if !editTools[tool] {
		return
	}
	for _, f := range []string{i.File, i.Notebook} {
		if f = name(f); f != "" {
			e.files = append(e.files, f)
		}
	}
	wrote := []string{i.New, i.Content, i.Source}
	for _, edit := range i.Edits {
		wrote = append(wrote, edit.New)
	}
	e.text = clip(strings.Trim(strings.Join(wrote, "\n"), "\n"), maxText)
}

// codexState is what lines of Codex say of those after them.
type codexState struct{ turn string }

// payload is what a line of Codex holds.
type payload struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Forked    string          `json:"forked_from_id"`
	Turn      string          `json:"turn_id"`
	Message   string          `json:"message"`
	Name      string          `json:"name"`
	Call      string          `json:"call_id"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
}

func (s *codexState) read(l line) []entry {
	var p payload
	if !decode(l.Payload, &p) {
		return nil
	}
	if turn := name(p.Turn); turn != "" {
		s.turn = turn
	}
	e := entry{turn: s.turn, id: p.Call}
	if e.turn == "" {
		e.turn = name(l.Timestamp) // older files name no turns
	}
	switch l.Type + "/" + p.Type {
	case "event_msg/user_message":
		e.kind, e.text = asked, said(p.Message)
	case "event_msg/agent_message":
		e.kind, e.text = answered, said(p.Message)
	case "response_item/function_call", "response_item/custom_tool_call":
		e.kind = used
		var i input
		if p.Arguments != "" {
			var also struct {
				Cmd   command `json:"cmd"`
				Input string  `json:"input"`
			}
			_ = decode([]byte(p.Arguments), &i)
			_ = decode([]byte(p.Arguments), &also)
			if i.Command == "" {
				i.Command = also.Cmd
			}
			if p.Input == "" {
				p.Input = also.Input
			}
		}
		i.into(&e, p.Name)
		if files, wrote := Patch(p.Input); len(files) > 0 {
			e.files, e.text = files, clip(wrote, maxText)
		}
	case "response_item/function_call_output", "response_item/custom_tool_call_output":
		e.kind, e.failed = result, failed(p.Output)
	default:
		if l.Type != "session_meta" {
			return nil
		}
		e.turn = ""
		if e.session = name(p.Forked); e.session == "" {
			e.session = name(p.ID)
		}
	}
	if (e.kind == asked || e.kind == answered) && e.text == "" {
		return nil
	}
	return []entry{e}
}

// exitCode finds how a command ended in the first lines of what a shell tool wrote.
var exitCode = regexp.MustCompile(`(?i)(?:exit code|exited with code|"exit_code"):?\s*(-?\d+)`)

// failed tells whether the output of a tool of Codex says that it failed.
func failed(output json.RawMessage) bool {
	var shape struct {
		Success *bool `json:"success"`
	}
	if json.Unmarshal(output, &shape) == nil && shape.Success != nil {
		return !*shape.Success
	}
	var text string
	if json.Unmarshal(output, &text) != nil {
		text = string(output)
	}
	// The end is searched too: one form is a document with the code behind the text.
	const part = 300
	begin, end := clip(text, part), text[max(0, len(text)-part):]
	for _, at := range []string{begin, end} {
		if found := exitCode.FindStringSubmatch(at); found != nil {
			code, err := strconv.Atoi(found[1])
			return err == nil && code != 0
		}
	}
	return false
}

// patched finds the files of a patch as agents write them.
var patched = regexp.MustCompile(`(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$`)

// Patch gives the files that a patch in the form of apply_patch touches, and the lines it adds; nothing for another text.
func Patch(text string) (files []string, added string) {
	if !strings.Contains(text, "*** Begin Patch") {
		return nil, ""
	}
	for _, m := range patched.FindAllStringSubmatch(text, maxList) {
		if f := name(m[1]); f != "" {
			files = append(files, f)
		}
	}
	var wrote strings.Builder
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "+") {
			wrote.WriteString(l[1:])
		}
	}
	return files, strings.TrimRight(wrote.String(), "\n")
}

// injected are the tags around what the writer of a text did not write: what hooks and clients put in. The fence of memory is first, since
// it may hold any other.
var injected = []string{"stele-memory", "system-reminder", "user-prompt-submit-hook", "session-start-hook", "local-command-stdout", "local-command-stderr",
	"command-name", "command-message", "command-args", "command-contents", "bash-stdout", "bash-stderr", "environment_context", "user_instructions",
	"ide_opened_file", "ide_selection", "task-notification"}

// strip takes the parts inside of a tag out of a text; one without an end goes to the end of the text.
func strip(text, tag string) string {
	var out strings.Builder
	low := lower(text)
	for {
		from := strings.Index(low, "<"+tag)
		if from < 0 {
			break
		}
		out.WriteString(text[:from])
		out.WriteByte(' ') // what was apart must not become a tag
		to := strings.Index(low[from:], "</"+tag)
		if to < 0 {
			return out.String()
		}
		to += from + len(tag) + len("</")
		if end := strings.IndexByte(low[to:], '>'); end >= 0 {
			to += end + 1
		}
		text, low = text[to:], low[to:]
	}
	out.WriteString(text)
	return out.String()
}

// lower is a text in small letters, byte by byte: the places of both are the same.
func lower(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}

// notSaid are whole texts that clients put in the place of a person's.
var notSaid = []string{"[Request interrupted by user", "Caveat: The messages below were generated", "# AGENTS.md instructions"}

// said is what the writer of a text wrote of it.
func said(text string) string {
	text = clip(text, maxText)
	for _, tag := range injected {
		if strings.Contains(text, "<") {
			text = strip(text, tag)
		}
	}
	text = strings.TrimSpace(text)
	for _, begin := range notSaid {
		if strings.HasPrefix(text, begin) {
			return ""
		}
	}
	return text
}

// name is an id or a path that can be one.
func name(text string) string {
	const most = 1024
	if len(text) > most || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return ""
	}
	return text
}

// clip is the beginning of a text, cut between two characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
