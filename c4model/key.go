package c4model

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxSlugRunes keeps a key citable by hand; names beyond it are descriptions.
const maxSlugRunes = 48

// FoldKey gives the form under which two spellings of an element key are the same key. Structurizr looks identifiers up
// without case, and its JSON export lowers them, so a key must be compared by this form and shown as written.
func FoldKey(key string) string { return strings.ToLower(key) }

// FoldName gives the form under which two names are the same name: compatibility normalisation, case folding, and runs
// of blanks as one. Lower case comes after folding, which sends Cherokee small letters to capitals and those back;
// normalisation comes again because folding takes some letters apart.
func FoldName(name string) string {
	folded := norm.NFKC.String(strings.ToLower(cases.Fold().String(norm.NFKC.String(name))))
	return strings.Join(strings.Fields(folded), " ")
}

// Slug turns a name into the last part of a key for an element that has no identifier: its letters and digits folded,
// anything else one hyphen, at most 48 runes, never empty. It is not unique; the reader adds "-2", "-3" to siblings.
func Slug(name string) string {
	var b strings.Builder
	runes, gap := 0, false
	for _, r := range FoldName(name) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap = runes > 0
			continue
		}
		if runes >= maxSlugRunes {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
		runes++
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()
}

// ParentKey gives the key of the parent, "" at the top.
func ParentKey(key string) string {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i]
	}
	return ""
}

// lastSegment is what an element calls itself inside its parent.
func lastSegment(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
