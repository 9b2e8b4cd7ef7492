package plantuml

import (
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// line is one line of a file without blanks around it and without comments.
type line struct {
	text string
	at   c4model.Position
}

// lines splits a file of PlantUML. A comment is a line that starts with ', or anything between /' and '/ outside a text.
func lines(file, content string) ([]line, error) {
	var out []line
	comment := 0 // line where the open comment started
	for number := 1; content != ""; number++ {
		text, rest, _ := strings.Cut(content, "\n")
		content = rest
		kept := ""
		if comment == 0 && strings.HasPrefix(strings.TrimSpace(text), "'") {
			continue
		}
		for text != "" {
			if comment > 0 {
				_, after, closed := strings.Cut(text, "'/")
				text = ""
				if closed {
					text, comment = after, 0
				}
				continue
			}
			at := commentStart(text)
			kept += text[:at]
			if text = text[at:]; text != "" {
				text, comment = text[len("/'"):], number
			}
		}
		if kept = strings.TrimSpace(kept); kept != "" {
			out = append(out, line{text: kept, at: c4model.Position{File: file, Line: number}})
		}
	}
	if comment > 0 {
		return nil, problem.Invalidf("", "%s:%d: found the end of the file inside a comment; expected '/", file, comment).
			Fix("close the comment that starts here")
	}
	return out, nil
}

// commentStart gives the offset of the first /' outside a text, the length of the line when there is none.
func commentStart(text string) int {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], "/'"):
			return i
		}
	}
	return len(text)
}

// mermaidLines splits a file of Mermaid, without its head between two lines of hyphens and its comments, which start with
// %%.
func mermaidLines(file, content string) []line {
	all := strings.Split(content, "\n")
	start := 0
	for start < len(all) && strings.TrimSpace(all[start]) == "" {
		start++
	}
	if start < len(all) && strings.TrimSpace(all[start]) == "---" {
		for end := start + 1; end < len(all); end++ {
			if strings.TrimSpace(all[end]) == "---" {
				start = end + 1
				break
			}
		}
	}
	var out []line
	for i, text := range all[start:] {
		if text = strings.TrimSpace(text); text != "" && !strings.HasPrefix(text, "%%") {
			out = append(out, line{text: text, at: c4model.Position{File: file, Line: start + i + 1}})
		}
	}
	return out
}
