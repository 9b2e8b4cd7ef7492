package uselite

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxText is how many bytes of a text are looked at. The model sees 128 tokens, some 700 bytes of prose; the rest is for
// texts that begin with much that is no word.
const maxText = 16 << 10

// clip cuts a text at maxText, between two characters.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// normalize gives the words of a text, lower case, one blank between them: letters and digits are kept, all else parts
// words. Compatibility forms are resolved first, and accents composed with their letters.
//
// Punctuation and capitals are noise to this model: restatements that differ in them alone come closer, and retrieval
// gets better (see docs/adr/0017).
func normalize(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	parted := false
	for _, r := range norm.NFKC.String(strings.ToValidUTF8(text, " ")) {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r):
			if parted && b.Len() > 0 {
				b.WriteByte(' ')
			}
			parted = false
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsMark(r): // what did not compose belongs to its letter
		default:
			parted = true
		}
	}
	return b.String()
}
