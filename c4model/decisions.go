package c4model

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stele-dev/stele/internal/problem"
)

// Limits of a folder of decisions. Records are texts of a few kB; the largest public collections hold some hundreds.
const (
	maxDecisionFiles = 5_000
	maxDecisionBytes = 512 << 10
	maxSummaryRunes  = 2_000
	maxStatusRunes   = 120
)

// ReadDecisions reads the decision records of a folder inside root, as adr-tools, MADR and log4brains write them: every
// Markdown file, recursively, except read-me, index and template files and those whose base name an exclude pattern
// matches. Files that are no decision are warnings. Decisions come by number, those without one after them by file name;
// their ids are unique in the result.
func ReadDecisions(ctx context.Context, root *Root, dir string, exclude ...*regexp.Regexp) ([]Decision, []Warning, error) {
	info, err := root.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, problem.New(problem.NotFound, "path", fmt.Sprintf("there is no folder %s", dir), "name the folder that holds the decision records")
	case err != nil:
		return nil, nil, err
	case !info.IsDir():
		return nil, nil, problem.Invalidf("path", "%s is not a folder", dir).Fix("name the folder that holds the decision records")
	}
	files, skipped, err := root.List(ctx, dir, maxDecisionFiles)
	if err != nil {
		return nil, nil, err
	}
	var decisions []Decision
	var warnings []Warning
	leftOut := func(file, format string, args ...any) {
		warnings = append(warnings, Warning{Position: Position{File: file}, Message: fmt.Sprintf(format, args...), NotIncluded: true})
	}
	for _, link := range skipped {
		leftOut(link, "not read: %v", ErrOutside)
	}
	for _, file := range files {
		base := path.Base(file)
		if !isRecord(base) || slices.ContainsFunc(exclude, func(e *regexp.Regexp) bool { return e.MatchString(base) }) {
			continue
		}
		data, err := root.Read(ctx, file, maxDecisionBytes)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var text string
		if err == nil {
			text, err = Text(file, data)
		}
		if err != nil {
			leftOut(file, "not read: %v", err)
			continue
		}
		d := ParseDecision(file, text)
		if d.Title == "" {
			leftOut(file, "this file has no heading, so it is no decision record")
			continue
		}
		decisions = append(decisions, d)
	}
	slices.SortStableFunc(decisions, compareDecisions)
	taken := make(map[string]string)
	for i := range decisions {
		d := &decisions[i]
		if first, ok := taken[d.ID]; ok {
			warnings = append(warnings, Warning{Position: Position{File: d.File}, Message: fmt.Sprintf("the number %s is taken by %s; this record is known by its file name", d.ID, first)})
			d.ID = stem(d.File)
			for n := 2; taken[d.ID] != ""; n++ { // the same name in two folders
				d.ID = stem(d.File) + "-" + strconv.Itoa(n)
			}
		}
		taken[d.ID] = d.File
	}
	return decisions, warnings, nil
}

var (
	templateName  = regexp.MustCompile(`^(readme|index|changelog|contributing|[\d_-]*((adr|madr|short|long|minimal|bare)-)*template(-.*)?)$`)
	numberedName  = regexp.MustCompile(`(?i)^(?:adr[-_ ]?)?(\d{1,6})(?:[-_. ]|$)`)
	datedName     = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})[-_]`)
	numberedTitle = regexp.MustCompile(`(?i)^(?:adr[-_ #]*)?(\d{1,6})\s*[.:)–—-]\s+`)
	isoDate       = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)
	labelled      = regexp.MustCompile(`(?i)^[-*+]?\s*\**(status|date|deciders|decision-makers|tags|technical story|consulted|informed|supersedes|superseded by)\**\s*:\**\s*(.*)$`)
	markdownLink  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

func stem(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }

func isRecord(base string) bool {
	ext := strings.ToLower(path.Ext(base))
	return (ext == ".md" || ext == ".markdown") && !templateName.MatchString(strings.ToLower(stem(base)))
}

func compareDecisions(a, b Decision) int {
	x, errX := strconv.Atoi(a.ID)
	y, errY := strconv.Atoi(b.ID)
	switch {
	case errX == nil && errY == nil && x != y:
		return x - y
	case (errX == nil) != (errY == nil):
		if errX == nil {
			return -1
		}
		return 1
	}
	return strings.Compare(a.File, b.File)
}

// ParseDecision reads one record. Its number comes from the file name, else from the heading; a record of log4brains,
// whose file starts with a date, is known by its file name. The title is empty when the text has no heading.
func ParseDecision(file, text string) Decision {
	r := record{Decision: Decision{File: file}}
	if m := numberedName.FindStringSubmatch(stem(file)); m != nil {
		r.number = m[1]
	}
	r.body(frontMatter(&r.Decision, strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")))
	paragraph := r.context
	if len(paragraph) == 0 {
		paragraph = r.first
	}
	r.Summary = cut(strings.Join(paragraph, " "), maxSummaryRunes)
	switch m := datedName.FindStringSubmatch(stem(file)); {
	case m != nil:
		r.ID = stem(file)
		if r.Date == "" {
			r.Date = m[1] + "-" + m[2] + "-" + m[3]
		}
	case r.number != "":
		r.ID = strings.TrimLeft(r.number, "0")
		if r.ID == "" {
			r.ID = "0"
		}
	default:
		r.ID = stem(file)
	}
	return r.Decision
}

// record is a decision while its text is read.
type record struct {
	Decision
	number    string
	section   string   // heading of the open section, lower case; "" above the first
	context   []string // lines of the first paragraph of the context section
	inContext bool     // that paragraph may still begin or go on
	first     []string // lines of the first paragraph of all
	firstDone bool
}

// body reads the text below the front matter, without code blocks and comments.
func (r *record) body(lines []string) {
	fence := false
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			fence = !fence
		case fence:
		case strings.HasPrefix(line, "<!--"):
			for i < len(lines) && !strings.Contains(lines[i], "-->") {
				i++
			}
		case line != "" && r.Title == "" && i+1 < len(lines) && isUnderline(lines[i+1]):
			r.heading(line)
			i++
		default:
			if heading, ok := atxHeading(line); ok {
				r.heading(heading)
			} else {
				r.line(line)
			}
		}
	}
}

// heading takes the first heading as the title and every other as the start of a section.
func (r *record) heading(text string) {
	r.firstDone = r.firstDone || len(r.first) > 0
	if r.Title != "" {
		r.section = strings.ToLower(text)
		r.inContext = len(r.context) == 0 && (strings.HasPrefix(r.section, "context") || strings.HasPrefix(r.section, "problem"))
		return
	}
	if m := numberedTitle.FindStringSubmatch(text); m != nil {
		if r.number == "" {
			r.number = m[1]
		}
		text = text[len(m[0]):]
	}
	r.Title = plain(text)
}

func (r *record) line(text string) {
	m := labelled.FindStringSubmatch(text)
	if m != nil && (r.section == "" || r.section == "status" || strings.EqualFold(m[1], "technical story")) {
		switch strings.ToLower(m[1]) {
		case "status":
			r.setStatus(m[2])
		case "date":
			r.setDate(m[2])
		}
		return
	}
	switch {
	case r.section == "status":
		r.setStatus(text)
	case text == "":
		r.firstDone = r.firstDone || len(r.first) > 0
		r.inContext = r.inContext && len(r.context) == 0
	case r.inContext:
		r.context = append(r.context, text)
	case !r.firstDone:
		r.first = append(r.first, text)
	}
}

// frontMatter takes status and date from a YAML head, line by line: a head that is not quite YAML is common and must not
// cost the record.
func frontMatter(d *Decision, lines []string) []string {
	if len(lines) == 0 || strings.TrimSpace(lines[0]) != "---" {
		return lines
	}
	end := slices.IndexFunc(lines[1:], func(l string) bool { return strings.TrimSpace(l) == "---" })
	if end < 0 {
		return lines
	}
	for _, line := range lines[1 : end+1] {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch strings.ToLower(name) {
		case "status":
			d.setStatus(value)
		case "date":
			d.setDate(value)
		case "title":
			d.Title = plain(value)
		}
	}
	return lines[end+2:]
}

// setStatus keeps the first status of a record. Placeholders of an unfilled template are none.
func (d *Decision) setStatus(text string) {
	text = plain(text)
	if d.Status == "" && !strings.HasPrefix(text, "{") && !strings.Contains(text, " | ") {
		d.Status = cut(strings.TrimRight(text, "."), maxStatusRunes)
	}
}

func (d *Decision) setDate(text string) {
	if d.Date == "" {
		d.Date = isoDate.FindString(text)
	}
}

// atxHeading gives the text of a line such as "## Status".
func atxHeading(line string) (text string, ok bool) {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || level == len(line) || line[level] != ' ' {
		return "", false
	}
	return strings.TrimSpace(strings.TrimRight(line[level:], "# ")), true
}

func isUnderline(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 2 && strings.Trim(line, "=") == ""
}

// plain removes the marks of links and emphasis from a short text.
func plain(text string) string {
	text = markdownLink.ReplaceAllString(text, "$1")
	return strings.TrimSpace(strings.NewReplacer("**", "", "`", "").Replace(text))
}

func cut(text string, runes int) string {
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	return string([]rune(text)[:runes-1]) + "…"
}
