package diagram

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// advance is about how wide a rune is in the sans-serif fonts of browsers, in parts of the size, on the wide side: which font a
// reader has is not known, and text should fit in each.
func advance(r rune) float64 {
	switch {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		return 0
	case strings.ContainsRune("iljtfrI.,:;'|!()[] ·", r):
		return 0.4
	case strings.ContainsRune("mwMW@%—…", r):
		return 1
	case r < unicode.MaxASCII && (unicode.IsUpper(r)):
		return 0.74
	case r < unicode.MaxASCII:
		return 0.63
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 1.05
	case width.Neutral, width.EastAsianAmbiguous, width.EastAsianNarrow, width.EastAsianHalfwidth:
	}
	if r >= 0x1F000 { // pictures
		return 1.4
	}
	return 0.78
}

// textWidth is about how wide a text is at a size.
func textWidth(text string, size float64) float64 {
	w := 0.0
	for _, r := range text {
		w += advance(r)
	}
	return w * size
}

// head is the longest beginning of a text that fits a width, at least one rune.
func head(text string, size, most float64) string {
	for at, r := range text {
		if most -= advance(r) * size; most < 0 && at > 0 {
			return text[:at]
		}
	}
	return text
}

// cut shortens a text to a width, with an ellipsis where something is missing.
func cut(text string, size, most float64) string {
	if textWidth(text, size) <= most {
		return text
	}
	const ellipsis = "…"
	return strings.TrimRight(head(text, size, most-textWidth(ellipsis, size)), " ") + ellipsis
}

// wrap breaks a text into lines of a width, at blanks where there are any; what does not fit into the lines is cut.
func wrap(text string, size, most float64, lines int) []string {
	var out []string
	rest := strings.Join(strings.Fields(text), " ")
	for rest != "" {
		if len(out) == lines-1 || textWidth(rest, size) <= most {
			return append(out, cut(rest, size, most))
		}
		line := head(rest, size, most)
		if blank := strings.LastIndexByte(line, ' '); blank > 0 && !strings.HasPrefix(rest[len(line):], " ") {
			line = line[:blank]
		}
		out, rest = append(out, strings.TrimSpace(line)), strings.TrimSpace(rest[len(line):])
	}
	return out
}
