// Package claudemem reads what claude-mem keeps: its SQLite database, of any version, or the JSON that it exports. Observations become
// pitfalls, conventions and notes, summaries the outcomes of sessions.
package claudemem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/memory"
)

// row is a row of a table or an object of the export, by column. Values are strings, numbers, lists or nil, whatever the version wrote.
type row map[string]any

// text gives the first of the columns that has one.
func (r row) text(columns ...string) string {
	for _, c := range columns {
		switch v := r[c].(type) {
		case string:
			if v = strings.TrimSpace(v); v != "" {
				return v
			}
		case []byte:
			if s := strings.TrimSpace(string(v)); s != "" {
				return s
			}
		case json.Number:
			return v.String()
		case int64:
			return strconv.FormatInt(v, 10)
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return ""
}

// mark begins the item of a list that is no JSON.
var mark = regexp.MustCompile(`^\s*(?:[-*•]|\d+[.)])\s+`)

// list reads a column that is a JSON list; older versions wrote lines, or words with commas between them.
func (r row) list(comma bool, columns ...string) []string {
	for _, c := range columns {
		var out []string
		if items, ok := r[c].([]any); ok {
			out = flat(items)
		} else if text := r.text(c); text != "" {
			var items any
			if err := json.Unmarshal([]byte(text), &items); err == nil {
				if l, ok := items.([]any); ok {
					out = flat(l)
				} else if s, ok := items.(string); ok {
					out = []string{s}
				}
			} else {
				separator := "\n"
				if comma && !strings.Contains(text, "\n") {
					separator = ","
				}
				for item := range strings.SplitSeq(strings.Trim(text, "[]"), separator) {
					out = append(out, mark.ReplaceAllString(item, ""))
				}
			}
		}
		out = slices.DeleteFunc(out, func(s string) bool { return strings.Trim(s, " \t\r\n\"'") == "" })
		for i := range out {
			out[i] = strings.Trim(out[i], " \t\r\n")
			if comma {
				out[i] = strings.Trim(out[i], "\"'")
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

func flat(items []any) []string {
	var out []string
	for _, item := range items {
		switch v := item.(type) {
		case string:
			out = append(out, v)
		case map[string]any: // {"path": …}, {"text": …}
			for _, k := range []string{"path", "file", "text", "fact", "name"} {
				if s, ok := v[k].(string); ok {
					out = append(out, s)
					break
				}
			}
		case nil:
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	return out
}

// secondsBelow tells seconds from milliseconds: as milliseconds it is the year 1973, as seconds 5138.
const secondsBelow = 100_000_000_000

// time reads when a row was made.
func (r row) time() time.Time {
	if n, err := strconv.ParseFloat(r.text("created_at_epoch", "started_at_epoch"), 64); err == nil && n > 0 && n < 1e16 {
		if n < secondsBelow {
			n *= 1000
		}
		return time.UnixMilli(int64(n)).UTC()
	}
	text := r.text("created_at", "started_at")
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// session is what is known of a session beside its rows.
type session struct{ client, conversation, task, project string }

// reading collects what belongs together while a source is read.
type reading struct {
	out      importer.Source
	file     string
	sessions map[string]session // by memory session
	tasks    map[string]string  // first prompt, by conversation
}

// addSession reads a row of sdk_sessions.
func (r *reading) addSession(s row) {
	id := s.text("memory_session_id", "sdk_session_id")
	conversation := s.text("content_session_id", "claude_session_id", "session_id")
	if id == "" && conversation == "" {
		return
	}
	known := session{client: client(s.text("platform_source")), conversation: conversation, task: s.text("user_prompt"), project: s.text("project")}
	for _, key := range []string{id, conversation} {
		if key != "" {
			r.sessions[key] = known
		}
	}
}

// addPrompt reads a row of user_prompts; they come in order.
func (r *reading) addPrompt(p row) {
	conversation, text := p.text("content_session_id", "claude_session_id", "session_id"), p.text("prompt_text", "prompt", "text")
	if conversation != "" && text != "" && r.tasks[conversation] == "" {
		r.tasks[conversation] = text
	}
}

// client is a program by what claude-mem calls it.
func client(platform string) string {
	switch p := strings.ToLower(platform); p {
	case "", "claude", "claude-code":
		return "claude-code"
	default:
		return memory.AgentName(p)
	}
}

// of is the session that a row belongs to, with the task that it began with.
func (r *reading) of(s row) (id string, known session) {
	id = s.text("memory_session_id", "sdk_session_id", "session_id")
	known, ok := r.sessions[id]
	if !ok {
		known = session{client: "claude-code", conversation: id}
	}
	known.task = cmp.Or(r.tasks[known.conversation], known.task)
	return id, known
}

// record is what every row has.
func (r *reading) record(s row, what, id string, known session) importer.Record {
	project := cmp.Or(s.text("merged_into_project"), s.text("project"), known.project)
	rec := importer.Record{File: r.file, Project: project, ImportRecord: memory.ImportRecord{
		Key: "claude-mem:" + what + ":" + id + ":" + s.text("id"), CreatedAt: s.time(), Agent: known.client}}
	if known.conversation != "" {
		rec.Anchor = &memory.Anchor{Client: known.client, Session: known.conversation}
	}
	for _, p := range append(s.list(true, "files_modified", "files_edited"), s.list(true, "files_read")...) {
		inside, ok := importer.Relative(p, path.Base(project))
		if !ok {
			r.out.Leave(r.file, what+" "+s.text("id"), "a file outside the project: %s", memory.Line(p))
			continue
		}
		rec.Paths = append(rec.Paths, inside)
	}
	return rec
}

// addObservation reads a row of observations.
func (r *reading) addObservation(o row) {
	id, known := r.of(o)
	title, subtitle := o.text("title"), o.text("subtitle")
	var parts []string
	for _, p := range []string{subtitle, o.text("narrative")} {
		if p != "" && !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		if text := o.text("text"); text != "" {
			parts = append(parts, text)
		}
	}
	if facts := o.list(false, "facts"); len(facts) > 0 {
		parts = append(parts, "- "+strings.Join(facts, "\n- "))
	}
	content := strings.Join(parts, "\n\n")
	if content == "" {
		content, title = title, ""
	}
	if content == "" {
		r.out.Leave(r.file, "observation "+o.text("id"), "it is empty")
		return
	}
	rec := r.record(o, "observation", id, known)
	rec.Title, rec.Content, rec.Kind = title, content, memory.Note
	rec.Tags = o.list(true, "concepts")
	is := func(what string) bool {
		return strings.EqualFold(o.text("type"), what) || slices.ContainsFunc(rec.Tags, func(t string) bool { return strings.EqualFold(t, what) })
	}
	switch {
	case is("gotcha"):
		rec.Kind = memory.Pitfall
	case is("pattern"):
		rec.Kind = memory.Convention
	case is("decision"):
		if !slices.ContainsFunc(rec.Tags, func(t string) bool { return strings.EqualFold(t, "decision") }) {
			rec.Tags = append([]string{"decision"}, rec.Tags...)
		}
	}
	r.out.Add(rec)
}

// addSummary reads a row of session_summaries.
func (r *reading) addSummary(s row) {
	id, known := r.of(s)
	var parts []string
	said := false
	add := func(heading, text string) {
		if text == "" {
			return
		}
		said = said || heading != "Task"
		if strings.Contains(text, "\n") {
			parts = append(parts, heading+":\n"+text)
		} else {
			parts = append(parts, heading+": "+text)
		}
	}
	if task := known.task; task != s.text("request") {
		add("Task", task)
	}
	for _, part := range [][2]string{{"Request", "request"}, {"Investigated", "investigated"}, {"Learned", "learned"}, {"Completed", "completed"},
		{"Next steps", "next_steps"}, {"Notes", "notes"}} {
		add(part[0], s.text(part[1]))
	}
	if !said {
		r.out.Leave(r.file, "summary "+s.text("id"), "it is empty")
		return
	}
	rec := r.record(s, "summary", id, known)
	rec.Kind, rec.Content = memory.SessionOutcome, strings.Join(parts, "\n\n")
	r.out.Add(rec)
}
