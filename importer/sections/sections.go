// Package sections reads files of instructions and notes that people keep for agents, such as CLAUDE.md, AGENTS.md and MEMORY.md, as one
// note for each section.
package sections

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// maxFileBytes bounds a file.
const maxFileBytes = 4 << 20

var heading = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*\s*$`)

// Names are the files that are read when a folder is named.
var Names = []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "MEMORY.md", "GEMINI.md"}

// Read reads the sections of the named files below root.
func Read(root fs.FS, names ...string) (importer.Source, error) {
	out := importer.Source{Name: "sections"}
	for _, name := range names {
		info, err := fs.Stat(root, name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if info.Size() > maxFileBytes {
			out.Leave(name, "", "it is larger than %d MB", maxFileBytes>>20)
			continue
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return out, fmt.Errorf("reading %s: %w", name, err)
		}
		out.Files = append(out.Files, name)
		read(&out, name, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	if len(out.Files) == 0 {
		return out, problem.New(problem.NotFound, "path", "there is none of "+strings.Join(names, ", "), "name a Markdown file, or a folder that has one of these")
	}
	return out, nil
}

func read(out *importer.Source, name, text string) {
	var titles [6]string
	var body strings.Builder
	seen := map[string]int{}
	line, start, fenced := 0, 1, ""
	finish := func() {
		content := strings.TrimSpace(body.String())
		body.Reset()
		if content == "" {
			return // a heading above others
		}
		var trail []string
		for _, t := range titles {
			if t != "" {
				trail = append(trail, t)
			}
		}
		title := strings.Join(trail, " / ")
		key := "sections:" + path.Base(name) + ":" + title + ":" + importer.Digest(content)
		if seen[key]++; seen[key] > 1 {
			out.Leave(name, fmt.Sprintf("line %d", start), "the section is there twice")
			return
		}
		out.Add(importer.Record{File: name, ImportRecord: memory.ImportRecord{Key: key, Kind: memory.Note, Title: title, Content: content}})
	}
	for l := range strings.Lines(text) {
		line++
		trimmed := strings.TrimSpace(l)
		if fence := fenceOf(trimmed); fence != "" {
			switch {
			case fenced == "":
				fenced = fence
			case strings.HasPrefix(trimmed, fenced):
				fenced = ""
			}
		}
		m := heading.FindStringSubmatch(strings.TrimRight(l, "\n"))
		if m == nil || fenced != "" {
			body.WriteString(l)
			continue
		}
		finish()
		level := len(m[1])
		start = line
		titles[level-1] = m[2]
		for i := level; i < len(titles); i++ {
			titles[i] = ""
		}
	}
	finish()
}

func fenceOf(line string) string {
	for _, f := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, f) {
			return f
		}
	}
	return ""
}
