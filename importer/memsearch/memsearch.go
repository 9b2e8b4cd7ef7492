// Package memsearch reads the day files of memsearch: one Markdown file a day, a heading for each session and turn, a comment that
// leads to the turn of the conversation, and what happened as bullets. Each turn becomes the outcome of a session.
package memsearch

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// maxFileBytes bounds a day: what is larger was written by something else.
const maxFileBytes = 32 << 20

var (
	dayFile  = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})\.md$`)
	heading  = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*$`)
	clock    = regexp.MustCompile(`^(?:Session\s+)?(\d{1,2}):(\d{2})(?::\d{2})?$`)
	comment  = regexp.MustCompile(`(?s)<!--(.*?)-->`)
	anchored = regexp.MustCompile(`(?:^|\s)(session|turn|transcript|rollout|db):`)
)

// Read reads the days below root: the folder of a project, its .memsearch folder, or the folder of the days. Times in the files are
// those of a clock on a wall; location says which. What is no day is left alone.
func Read(root fs.FS, location *time.Location) (importer.Source, error) {
	out := importer.Source{Name: "memsearch"}
	dir := "."
	for _, name := range []string{".memsearch/memory", "memory"} {
		if info, err := fs.Stat(root, name); err == nil && info.IsDir() {
			dir = name
			break
		}
	}
	err := fs.WalkDir(root, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			out.Leave(name, "", "it cannot be read: %v", err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		m := dayFile.FindStringSubmatch(path.Base(name))
		if d.IsDir() || m == nil || !d.Type().IsRegular() {
			return nil
		}
		day, err := time.ParseInLocation(time.DateOnly, m[1], location)
		if err != nil {
			out.Leave(name, "", "its name is no day")
			return nil //nolint:nilerr // the report says so
		}
		if info, err := d.Info(); err == nil && info.Size() > maxFileBytes {
			out.Leave(name, "", "it is larger than %d MB", maxFileBytes>>20)
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			out.Leave(name, "", "it cannot be read: %v", err)
			return nil
		}
		out.Files = append(out.Files, name)
		readDay(&out, name, day, string(text))
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("reading memsearch: %w", err)
	}
	if len(out.Files) == 0 {
		return out, problem.New(problem.NotFound, "path", "there is no day of memsearch, such as 2030-01-31.md", "name the project's folder, or its .memsearch/memory")
	}
	number(out.Records)
	return out, nil
}

// number tells records of one key apart: a session without turns has several in a minute.
func number(records []importer.Record) {
	seen := map[string]int{}
	for i := range records {
		key := records[i].Key
		if seen[key]++; seen[key] > 1 {
			records[i].Key = fmt.Sprintf("%s:%d", key, seen[key])
		}
	}
}

// turn is what stands under one heading.
type turn struct {
	line   int
	at     time.Time
	title  string // of a heading that is no time
	anchor memory.Anchor
	text   strings.Builder
}

func readDay(out *importer.Source, name string, day time.Time, text string) {
	text = strings.ToValidUTF8(strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff"), "\uFFFD")
	cur := &turn{line: 1, at: day}
	n, fenced := 0, false
	for l := range strings.Lines(text) {
		n++
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
		}
		m := heading.FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil || fenced {
			cur.text.WriteString(l)
			continue
		}
		if len(m[1]) > 3 {
			cur.text.WriteString(l)
			continue
		}
		cur.finish(out, name)
		next := &turn{line: n, at: cur.at}
		switch c := clock.FindStringSubmatch(m[2]); {
		case c != nil:
			if at, err := time.Parse("15:4", c[1]+":"+c[2]); err == nil {
				next.at = time.Date(day.Year(), day.Month(), day.Day(), at.Hour(), at.Minute(), 0, 0, day.Location())
			}
			if len(m[1]) == 3 { // a turn of the session that is under way
				next.anchor.Client, next.anchor.Session, next.anchor.Transcript = cur.anchor.Client, cur.anchor.Session, cur.anchor.Transcript
			}
		case m[2] == day.Format(time.DateOnly):
		default:
			next.title = m[2]
		}
		cur = next
	}
	cur.finish(out, name)
}

// clients are whose conversation an anchor leads to, by the word for its file.
var clients = map[string]string{"transcript": "claude-code", "rollout": "codex", "db": "opencode"}

// finish makes a record of a turn that says something.
func (t *turn) finish(out *importer.Source, name string) {
	text := comment.ReplaceAllStringFunc(t.text.String(), func(c string) string {
		t.readAnchor(comment.FindStringSubmatch(c)[1])
		return ""
	})
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, " \t\n"); strings.HasPrefix(strings.TrimSpace(l), "- Memory summary unavailable") {
			out.Leave(name, fmt.Sprintf("line %d", t.line), "it has no summary")
			continue
		}
		lines = append(lines, l)
	}
	content := strings.TrimSpace(strings.Join(lines, "\n"))
	if content == "" {
		return
	}
	if t.title != "" {
		content = t.title + "\n\n" + content
	}
	key := "memsearch:" + t.anchor.Session + ":" + t.anchor.Turn
	switch {
	case t.anchor.Session == "":
		key = "memsearch:" + t.at.Format("2006-01-02T15:04") + ":" + importer.Digest(content)
	case t.anchor.Turn == "":
		key = "memsearch:" + t.anchor.Session + ":" + t.at.Format("2006-01-02T15:04")
	}
	r := importer.Record{File: name, ImportRecord: memory.ImportRecord{Key: key, Kind: memory.SessionOutcome, Content: content, CreatedAt: t.at, Agent: t.anchor.Client}}
	if t.anchor != (memory.Anchor{}) {
		anchor := t.anchor
		r.Anchor = &anchor
	}
	out.Add(r)
}

// readAnchor reads "session:ID turn:ID transcript:PATH"; a path may have spaces.
func (t *turn) readAnchor(text string) {
	at := anchored.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 || !slices.ContainsFunc(at, func(m []int) bool { return text[m[2]:m[3]] == "session" }) {
		return
	}
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		word, value := text[m[2]:m[3]], strings.TrimSpace(text[m[1]:end])
		switch word {
		case "session":
			t.anchor.Session, t.anchor.Turn = value, ""
		case "turn":
			t.anchor.Turn = value
		default:
			t.anchor.Transcript, t.anchor.Client = value, clients[word]
		}
	}
}
