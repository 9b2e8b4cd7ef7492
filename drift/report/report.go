// Package report writes the result of a drift run for its readers: Markdown for a pull request or a job summary, SARIF for
// code scanning, and a patch with the fixes. All are functions of the report (and, for a patch, of the files it changes);
// names in it come from a repository that anyone may have written.
package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stele-dev/stele/drift"
)

// rule is a check in words.
type rule struct {
	title   string // heading over its findings
	name    string // in PascalCase, as SARIF wants it
	meaning string // what a finding says, and how to settle it
}

var rules = map[drift.Check]rule{
	drift.Existence: {"Bindings that match no file", "MissingCode",
		"The model binds an element to files, and the commit has no such file. Bind the element to where its code is now, or remove it from the model."},
	drift.LanguageMismatch: {"Technologies that the files do not hold", "LanguageMismatch",
		"The technology of an element names a programming language, and none of its source files is written in it. Correct the technology, or bind the element to the right files."},
	drift.AbsentDependency: {"Documented dependencies that no import shows", "AbsentDependency",
		"The model says that one element depends on another, and no file of the first imports one of the second. " +
			"Remove the relationship, or say in its technology how the other is reached (HTTP, a queue) if no import can show it."},
	drift.UndocumentedDependency: {"Imports that the model does not know", "UndocumentedDependency",
		"Files of one element import files of another, and the model has no relationship between them. Add it, or remove the import."},
	drift.UndocumentedCode: {"Code that no element owns", "UndocumentedCode",
		"A folder of source files belongs to no element. Bind an element to it, make one for it, or list it under ignore in stele.yaml."},
	drift.AmbiguousBinding: {"Files that two elements claim", "AmbiguousBinding",
		"Two elements are bound to the same files by equally exact patterns. Bind one of them more exactly."},
	drift.DanglingReference: {"Entries of stele.yaml without element", "DanglingReference",
		"stele.yaml speaks of an element that the model does not have. Write the key that it has now, or remove the entry."},
}

// Title is the heading over the findings of a check.
func Title(c drift.Check) string { return rules[c].title }

// Meaning says in a few sentences what a finding of a check is and how to settle it.
func Meaning(c drift.Check) string { return rules[c].meaning }

// visible writes out what a reader would not see or what would change how the rest is read: control characters, marks of
// direction, and bytes that are no text.
func visible(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf && hidden(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || r >= 0xE0100 && r <= 0xE01EF
}

// position is a place as editors take it.
func position(file string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return file
}

// cut shortens a text to a number of characters.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	runes := []rune(s)
	return string(runes[:limit-1]) + "…"
}
