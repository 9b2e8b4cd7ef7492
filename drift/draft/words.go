package draft

import (
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stele-dev/stele/drift/imports"
)

// maxAbout bounds a description, in characters: one sentence.
const maxAbout = 160

// leastWords is what a paragraph of a readme has to have to say anything.
const leastWords = 4

var (
	pyDocstring = regexp.MustCompile(`(?s)^(?:\s*#[^\n]*\n|\s*\n)*\s*[rRuU]?(?:"""|''')\s*(.+?)(?:"""|''')`)
	rustDoc     = regexp.MustCompile(`(?m)^//! ?(.*)$`)
	goPackage   = regexp.MustCompile(`(?m)^package\s`)
	markup      = regexp.MustCompile("!\\[[^\\]]*\\](?:\\([^)]*\\)|\\[[^\\]]*\\])|<[^>]*>|[*_`]{1,3}\\B|\\B[*_`]{1,3}|`|:[a-z_]+:")
	linkMarkup  = regexp.MustCompile(`\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])`)
	heading     = regexp.MustCompile(`^#\s+(.+?)\s*#*$`)
	underline   = regexp.MustCompile(`^(?:={3,}|-{3,})\s*$`)
)

// about says what a package is for, by its own documentation; "" when it says nothing.
func (p *project) about(n *node) string {
	if n.file {
		return p.fileDoc(n.path)
	}
	var language imports.Language
	if sizes := byWeight(n.sizes); len(sizes) > 0 {
		language = sizes[0]
	}
	return p.folderDoc(n.path, language)
}

// folderDoc reads the documentation of the package in a folder.
func (p *project) folderDoc(folder string, language imports.Language) string {
	if language == imports.Python {
		return p.fileDoc(p.first(folder, "__init__.py"))
	}
	if language == imports.Rust {
		return p.fileDoc(p.first(folder, "src/lib.rs", "lib.rs", "mod.rs", "src/main.rs", "main.rs"))
	}
	if language != imports.Go {
		return ""
	}
	files := []string{path.Join(folder, "doc.go"), path.Join(folder, path.Base(folder)+".go"), path.Join(folder, "main.go")}
	const looked = 12
	for _, f := range p.inside[folder][:min(looked, len(p.inside[folder]))] {
		files = append(files, f.Path)
	}
	for _, name := range files {
		if text := p.fileDoc(name); text != "" {
			return text
		}
	}
	return ""
}

// fileDoc reads the documentation that a file of Go, Python or Rust begins with, as one sentence.
func (p *project) fileDoc(name string) string {
	if name == "" {
		return ""
	}
	text := p.read(name)
	language := imports.LanguageOf(name)
	if language == imports.Go {
		return goDoc(text)
	}
	if language == imports.Python {
		return sentence(submatch(pyDocstring, text))
	}
	if language != imports.Rust {
		return ""
	}
	var lines []string
	for _, m := range rustDoc.FindAllStringSubmatch(text, -1) {
		if m[1] == "" && len(lines) > 0 {
			break
		}
		if !strings.HasPrefix(m[1], "#") {
			lines = append(lines, m[1])
		}
	}
	return sentence(strings.Join(lines, " "))
}

var goSubject = regexp.MustCompile(`^(?:Package|Command|Program)\s+\S+\s+(?:(?:is|are)\s+)?`)

// goDoc is the first sentence of a package comment, without "Package x".
func goDoc(text string) string {
	at := goPackage.FindStringIndex(text)
	if at == nil {
		return ""
	}
	head := strings.TrimRight(text[:at[0]], " \t\r")
	if block, ok := strings.CutSuffix(head, "*/\n"); ok {
		if at := strings.LastIndex(block, "/*"); at >= 0 {
			return subjectless(block[at+len("/*"):])
		}
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	begin := len(lines)
	for begin > 0 && strings.HasPrefix(lines[begin-1], "//") {
		begin--
	}
	var comment []string
	for _, l := range lines[begin:] {
		if !strings.HasPrefix(l, "//go:") && !strings.HasPrefix(l, "// +build") {
			comment = append(comment, strings.TrimPrefix(strings.TrimPrefix(l, "//"), " "))
		}
	}
	return subjectless(strings.Join(comment, "\n"))
}

func subjectless(comment string) string {
	if strings.Contains(comment, "Copyright") || strings.HasPrefix(strings.TrimSpace(comment), "Code generated") {
		return ""
	}
	paragraph, _, _ := strings.Cut(strings.TrimSpace(comment), "\n\n")
	return sentence(goSubject.ReplaceAllString(paragraph, ""))
}

// readme gives the title of a folder's readme and the first sentence below it.
func (p *project) readme(folder string) (title, text string) {
	name := p.first(folder, "README.md", "README.rst", "README", "readme.md", "Readme.md", "README.markdown", "README.txt")
	if name == "" {
		return "", ""
	}
	var paragraph []string
	var previous string
	for line := range strings.Lines(p.read(name)) {
		line = strings.TrimRight(line, " \t\r\n")
		if m := heading.FindStringSubmatch(line); m != nil && title == "" {
			title = unmarked(m[1])
			continue
		}
		if underline.MatchString(line) && title == "" && previous != "" {
			title, paragraph = unmarked(previous), nil
			continue
		}
		previous = line
		text := unmarked(line)
		switch {
		case len(paragraph) > 0 && text == "":
			if said := sentence(strings.Join(paragraph, " ")); len(strings.Fields(said)) >= leastWords {
				return title, said
			}
			paragraph = nil
		case strings.HasPrefix(line, "#"):
			if title != "" && len(paragraph) == 0 {
				return title, ""
			}
		case text != "" && (unicode.IsLetter(firstRune(text)) || len(paragraph) > 0) && !strings.Contains(line, "<img") && !isBadge(line):
			paragraph = append(paragraph, text)
		}
	}
	if len(strings.Fields(strings.Join(paragraph, " "))) < leastWords {
		return title, ""
	}
	return title, sentence(strings.Join(paragraph, " "))
}

func isBadge(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "[![") || strings.HasPrefix(line, "[!") || strings.HasPrefix(line, ".. ") || strings.HasPrefix(line, ":")
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// unmarked takes the markup off a line of a readme.
func unmarked(line string) string {
	line = markup.ReplaceAllString(line, "")
	line = linkMarkup.ReplaceAllString(line, "$1")
	return strings.Trim(strings.TrimSpace(markup.ReplaceAllString(line, "")), "-–—|> ")
}

// sentence is the first sentence of a text, as a description: in one line, short, beginning with a capital.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for i, r := range text {
		if r != '.' && r != '!' && r != '?' {
			continue
		}
		rest := text[i+1:]
		if rest == "" || rest[0] == ' ' && !abbreviates(text[:i]) {
			text = text[:i+1]
			break
		}
	}
	if utf8.RuneCountInString(text) > maxAbout {
		cut := string([]rune(text)[:maxAbout])
		if i := strings.LastIndexByte(cut, ' '); i > 0 {
			cut = cut[:i]
		}
		text = strings.TrimRight(cut, ",;:- ") + "…"
	}
	if r := firstRune(text); unicode.IsLower(r) {
		first, _, _ := strings.Cut(text, " ")
		first = strings.TrimRight(first, ".,:;!?")
		if strings.ToLower(first) == first && !strings.ContainsAny(first, "_./0123456789") {
			text = string(unicode.ToUpper(r)) + text[utf8.RuneLen(r):]
		}
	}
	return text
}

// abbreviates tells whether the full stop after a text ends no sentence: e.g., i.e., vs., etc.
func abbreviates(text string) bool {
	word := strings.ToLower(text[strings.LastIndexAny(text, " (")+1:])
	switch word {
	case "e.g", "i.e", "eg", "ie", "vs", "cf", "etc", "resp":
		return true
	}
	return false
}
