package redact

import (
	"regexp"
	"strings"
)

// privateTag is <private> or </private>. Attributes are allowed, so that a slip of the pen does not publish what is private.
var privateTag = regexp.MustCompile(`(?i)<(/?)private(?:\s[^<>]*)?>`)

// privateStart is <private>.
var privateStart = regexp.MustCompile(`(?i)<private(?:\s[^<>]*)?>`)

// StripPrivate takes out what stands between <private> and </private>, in any case and nested; without an end it reaches
// to the end of the text. Removed counts the outermost pieces. When nothing but white space is left, clean is empty.
func StripPrivate(text string) (clean string, removed int) {
	clean = text
	for range maxRounds { // taking out a piece may join the halves of another tag
		next, n := stripOnce(clean)
		if n == 0 {
			break
		}
		clean, removed = next, removed+n
	}
	if at := privateStart.FindStringIndex(clean); at != nil {
		clean, removed = clean[:at[0]], removed+1 // whoever nests deeper loses the rest of the text, not the privacy
	}
	if removed > 0 && strings.TrimSpace(clean) == "" {
		clean = ""
	}
	return clean, removed
}

func stripOnce(text string) (clean string, removed int) {
	var b strings.Builder
	kept, depth := 0, 0
	for _, m := range privateTag.FindAllStringSubmatchIndex(text, -1) {
		closing := m[3] > m[2]
		switch {
		case !closing:
			if depth == 0 {
				b.WriteString(text[kept:m[0]])
				removed++
			}
			depth++
		case depth > 0:
			depth--
			if depth == 0 {
				kept = m[1]
			}
		}
	}
	if depth == 0 {
		b.WriteString(text[kept:])
	}
	return b.String(), removed
}
