package repocheck

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/goccy/go-yaml"
)

var (
	linkPattern    = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)`)
	headingPattern = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	codeSpan       = regexp.MustCompile("`[^`]*`")
)

// prose gives the lines of a Markdown text by number, without fenced blocks, where brackets mean nothing.
func prose(text string) map[int]string {
	lines, number, fence := map[int]string{}, 0, ""
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		default:
			lines[number] = strings.TrimRight(line, "\r\n")
		}
	}
	return lines
}

// anchors gives the fragment of every heading, as repository hosts make them: lower case, blanks to hyphens, other
// punctuation dropped.
func anchors(text string) []string {
	var out []string
	for _, line := range prose(text) {
		m := headingPattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return r
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.ToLower(m[1])))
	}
	return out
}

// brokenLinks complains about every relative link in Markdown that leads to no file, or to no heading of it.
func brokenLinks(tree fs.FS, files []string) (complaints []string, err error) {
	for _, name := range under(files, ".", "*.md") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		lines := prose(string(text))
		for number := 1; number <= strings.Count(string(text), "\n")+1; number++ {
			for _, m := range linkPattern.FindAllStringSubmatch(codeSpan.ReplaceAllString(lines[number], ""), -1) {
				if why := broken(tree, files, name, m[1]); why != "" {
					complaints = append(complaints, fmt.Sprintf("%s:%d: %s: %s", name, number, m[1], why))
				}
			}
		}
	}
	return complaints, nil
}

// broken says why a link in file leads nowhere; "" when it leads somewhere, or out of the repository.
func broken(tree fs.FS, files []string, file, link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return "not a link"
	}
	if u.Scheme != "" || u.Host != "" {
		return ""
	}
	target := file
	if u.Path != "" {
		target = path.Join(path.Dir(file), u.Path)
	}
	if !slices.Contains(files, target) {
		if slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, target+"/") }) && u.Fragment == "" {
			return ""
		}
		return "no such file or folder in the repository"
	}
	if u.Fragment == "" || path.Ext(target) != ".md" {
		return ""
	}
	text, err := fs.ReadFile(tree, target)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchors(string(text)), u.Fragment) {
		return "no such heading"
	}
	return ""
}

var decisionName = regexp.MustCompile(`^(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.md$`)

// decisionFaults complains about decision records without a number of their own, a status, a date, a title or the parts
// that MADR asks for.
func decisionFaults(tree fs.FS, files []string) (complaints []string, err error) {
	const folder = "docs/adr"
	taken := map[string]string{}
	for _, name := range under(files, folder, "*.md") {
		m := decisionName.FindStringSubmatch(path.Base(name))
		if m == nil {
			complaints = append(complaints, name+": the name is not NNNN-words-in-lower-case.md")
			continue
		}
		if other := taken[m[1]]; other != "" {
			complaints = append(complaints, fmt.Sprintf("%s: the number is taken by %s", name, other))
		}
		taken[m[1]] = name
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		complaints = append(complaints, recordFaults(name, string(text))...)
	}
	return complaints, nil
}

func recordFaults(name, text string) (complaints []string) {
	rest, ok := strings.CutPrefix(text, "---\n")
	front, body, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		return []string{name + ": there is no front matter between two lines ---"}
	}
	var meta struct {
		Status string `yaml:"status"`
		Date   string `yaml:"date"`
	}
	if err := yaml.Unmarshal([]byte(front), &meta); err != nil {
		return []string{fmt.Sprintf("%s: the front matter is not YAML: %v", name, err)}
	}
	status, _, _ := strings.Cut(meta.Status, " ") // "superseded by ADR-12"
	if !slices.Contains([]string{"proposed", "accepted", "rejected", "deprecated", "superseded"}, status) {
		complaints = append(complaints, fmt.Sprintf("%s: the status %q is none of MADR's", name, meta.Status))
	}
	if !regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`).MatchString(meta.Date) {
		complaints = append(complaints, fmt.Sprintf("%s: the date %q is not YYYY-MM-DD", name, meta.Date))
	}
	if !strings.HasPrefix(body, "# ") {
		complaints = append(complaints, name+": the record does not begin with its title")
	}
	for _, part := range []string{"## Context and Problem Statement", "## Considered Options", "## Decision Outcome", "### Consequences"} {
		if !strings.Contains(body, "\n"+part+"\n") {
			complaints = append(complaints, fmt.Sprintf("%s: the part %q is missing", name, part))
		}
	}
	return complaints
}

var moduleRow = regexp.MustCompile("(?m)^\\| `([a-z0-9.-]+\\.[a-z]+/[^`]+)` \\|")

// dependencyFaults compares the direct dependencies with the rows of the table that explains them.
func dependencyFaults(direct []string, architecture string) (complaints []string) {
	var rows []string
	for _, m := range moduleRow.FindAllStringSubmatch(architecture, -1) {
		rows = append(rows, m[1])
	}
	for _, module := range direct {
		if !slices.Contains(rows, module) {
			complaints = append(complaints, module+" is required by go.mod and has no row in the table of dependencies")
		}
	}
	for _, row := range rows {
		if !slices.Contains(direct, row) {
			complaints = append(complaints, row+" has a row in the table of dependencies and is not required by go.mod")
		}
	}
	return complaints
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	complaints, err := brokenLinks(tree, files)
	report(t, complaints, err)
}

func TestDecisionsAreWhole(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	complaints, err := decisionFaults(tree, files)
	report(t, complaints, err)
	if n := len(under(files, "docs/adr", "*.md")); n < 8 {
		t.Errorf("docs/adr holds %d records; were they moved?", n)
	}
}

func TestEveryDependencyEarnsItsPlace(t *testing.T) {
	t.Parallel()
	tree, _ := repository(t)
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = top
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var mod struct {
		Require []struct {
			Path     string `json:"Path"`
			Indirect bool   `json:"Indirect"`
		} `json:"Require"`
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	architecture, err := fs.ReadFile(tree, "docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	report(t, dependencyFaults(direct, string(architecture)), nil)
}

func TestDocsChecksFindFaults(t *testing.T) {
	t.Parallel()
	const record = "---\nstatus: accepted\ndate: 2026-01-31\n---\n# Title\n\n## Context and Problem Statement\n\n## Considered Options\n\n## Decision Outcome\n\n### Consequences\n"
	tree := fstest.MapFS{
		"README.md": {Data: []byte("# Read me, first!\n[ok](docs/a.md) [folder](docs) [out](https://example.org/x) [self](#read-me-first)\n" +
			"`[no](link)`\n```\n[no](link)\n# no heading\n```\n[gone](docs/b.md) [head](docs/a.md#part-two)\n[head](docs/a.md#part-three) [fence](#no-heading)\n")},
		"docs/a.md":          {Data: []byte("# A\n\n## Part (two)\n")},
		"docs/adr/0001-a.md": {Data: []byte(record)},
		"docs/adr/0001-b.md": {Data: []byte(strings.Replace(record, "accepted", "superseded by ADR-7", 1))},
		"docs/adr/0002-c.md": {Data: []byte(strings.NewReplacer("accepted", "liked", "2026-01-31", "today", "# Title", "Title", "### Consequences", "").Replace(record))},
		"docs/adr/0003-d.md": {Data: []byte("# D\n")},
		"docs/adr/Four.md":   {Data: []byte(record)},
	}
	files := []string{"README.md", "docs/a.md", "docs/adr/0001-a.md", "docs/adr/0001-b.md", "docs/adr/0002-c.md", "docs/adr/0003-d.md", "docs/adr/Four.md"}
	got, err := brokenLinks(tree, files)
	expect(t, got, err, "README.md:8: docs/b.md: no such file", "README.md:9: docs/a.md#part-three: no such heading", "README.md:9: #no-heading: no such heading")
	got, err = decisionFaults(tree, files)
	expect(t, got, err, "0001-b.md: the number is taken by docs/adr/0001-a.md", `0002-c.md: the status "liked"`, `0002-c.md: the date "today"`,
		"0002-c.md: the record does not begin with its title", `0002-c.md: the part "### Consequences"`, "0003-d.md: there is no front matter", "Four.md: the name is not")
	got = dependencyFaults([]string{"example.org/used", "example.org/new"}, "| `example.org/used` | why |\n| `example.org/old` | why |\n")
	expect(t, got, nil, "example.org/new is required", "example.org/old has a row")
}
