package evidence

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxWitnesses is how many files are read to tell what declares a name from what uses it.
const maxWitnesses = 30

// declared tells whether one of the files that hold a claim declares it, rather than using what comes from elsewhere or
// mentioning it in a comment: a function of a library is not gone because nobody calls it any more. Literals need to be
// outside comments. document is where the claim stands, "" when that is no file.
func (t *Snapshot) declared(ctx context.Context, c Claim, files []string, document string) (bool, error) {
	names := []string{c.Text}
	switch c.Kind {
	case Path:
		return meant(c.Text, files, document), nil
	case Symbol:
		names = c.words()
	case Literal:
	}
	for _, f := range files[:min(len(files), maxWitnesses)] {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		e, ok, err := t.file(f)
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		text, err := t.s.text(e.Blob)
		if err != nil {
			return false, err
		}
		for line := range strings.Lines(text) {
			if slices.ContainsFunc(names, func(name string) bool { return declaredIn(line, name, c.Kind) }) {
				return true, nil
			}
		}
	}
	return false, nil
}

// generic are names of files that most projects have: a document may mean its reader's.
var generic = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:setup|main|index|apps?|tests?|utils?|helpers?|conftest|package(?:-lock)?|requirements|docker-?compose|dockerfile|makefile|readme` +
		`|license|__init__|mod|lib|types?|settings|manage|build|src|docs?|server|client|config|pyproject|cargo|go|pom|tsconfig|example|env|vite-env|\w+[.-]config)(?:\.[\w.]+)?$`)
})

// meant tells whether a path that fits files is theirs, and not by chance: it begins at the top, or at a folder above the
// document; a bare name fits one file alone, and is none that every project has.
func meant(p string, files []string, document string) bool {
	p = strings.TrimSuffix(p, "/")
	if !strings.Contains(p, "/") {
		return len(files) == 1 && !strings.ContainsAny(p, wild) && !generic().MatchString(p)
	}
	if strings.ContainsAny(p, wild) || slices.Contains(files, p) {
		return true
	}
	if document == "" {
		return len(files) == 1
	}
	for d := path.Dir(document); d != "."; d = path.Dir(d) {
		if slices.Contains(files, path.Join(d, p)) {
			return true
		}
	}
	return false
}

// declaredIn looks at each place of a line that has a name.
func declaredIn(line, name string, kind Kind) bool {
	for from := 0; ; {
		at := strings.Index(line[from:], name)
		if at < 0 {
			return false
		}
		at += from
		from = at + 1
		before, after := line[:at], line[at+len(name):]
		whole := (before == "" || !identifier[before[len(before)-1]]) && (after == "" || !identifier[after[0]])
		if whole && !isComment(before) && (kind == Literal || declares(before, name, after)) {
			return true
		}
	}
}

var (
	keyword = regexp.MustCompile(`\b(?:func|function|fn|def|class|interface|struct|enum|trait|type|typedef|record|object|module|mod|macro|macro_rules!|const|let|var|val|` +
		`static|namespace|package|union|protocol|define|impl|component|resource|service|message|table|view|index|task|job)\s+` +
		`(?:\([^)]*\)\s*)?(?:[\w*&<>\[\]]+\s+){0,3}[*&]?$`)
	assigned  = regexp.MustCompile(`^\??\s*(?::=|=(?:[^=>]|$)|:(?:[^:]|$))`)
	opened    = regexp.MustCompile(`^\s*(?:<[^()]*>)?\(.*\{\s*$`)
	typed     = regexp.MustCompile(`^[\s@]*(?:[\w<>\[\],?&*~]+(?:::[\w<>]+)*\s+)+[*&]?$`)
	member    = regexp.MustCompile(`^\s*(?:[(<;{]|=>|$)`)
	goField   = regexp.MustCompile(`^\s+[*\[\]\w.]+(?:\s+.*)?$`)
	screaming = regexp.MustCompile(`^[A-Z0-9]+(?:_[A-Z0-9]+)+$`)
)

// imports and uses begin lines that name what comes from elsewhere, and that use what they name.
var (
	imports = strings.Fields("import from use using require include")
	uses    = strings.Fields("return await new throw raise yield else case in not and or go defer if while for assert del print echo run exec")
)

// declares tells whether what stands around a name declares it, in most languages: behind a keyword, before an
// assignment or a body, as a member, as a key, or in quotes, which is how names reach other programs. What only settings
// and environments have, in capitals, is declared by being read.
func declares(before, name, after string) bool {
	start := strings.TrimSpace(before)
	first, _, _ := strings.Cut(start, " ")
	switch {
	case slices.Contains(imports, first):
		return false
	case screaming.MatchString(name), keyword.MatchString(before) && !strings.HasPrefix(strings.TrimSpace(after), ","): // that is a list of imports
		return true
	case before != "" && after != "" && strings.IndexByte("\"'`", before[len(before)-1]) >= 0 && before[len(before)-1] == after[0]:
		return true
	case strings.HasSuffix(before, "."), slices.Contains(uses, first):
		return false
	case strings.IndexByte(start, '(') < 0 && assigned.MatchString(after):
		return true
	case start == "":
		return opened.MatchString(after) || goField.MatchString(after) || strings.Trim(strings.TrimSpace(after), ",") == ""
	}
	return typed.MatchString(before) && member.MatchString(after)
}

// isComment tells whether what follows the beginning of a line is in a comment, in most languages.
func isComment(before string) bool {
	start := strings.TrimSpace(before)
	for _, mark := range []string{"//", "/*", "*", "--", ";", "<!--", "%", "{/*", "{{/*"} {
		if strings.HasPrefix(start, mark) {
			return true
		}
	}
	if start == "#" || strings.HasPrefix(start, "# ") || strings.HasPrefix(start, "#!") || strings.HasPrefix(start, "##") {
		return true
	}
	return strings.Contains(before, " // ") || strings.Contains(before, " # ") || strings.Contains(before, " /* ")
}
