package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is what identifiers are split by.
type class int

const (
	separator class = iota
	lower           // also letters of scripts without case
	upper
	digit
)

func classOf(r rune, before class) class {
	switch {
	case unicode.IsMark(r):
		return before
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.IsNumber(r):
		return digit
	}
	return separator
}

func isSeparator(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// splitIdentifier calls part for each part of a name. A name that is one word gives itself.
func splitIdentifier(name string, part func(string)) {
	for name != "" {
		name = strings.TrimLeftFunc(name, isSeparator)
		end := strings.IndexFunc(name, isSeparator)
		if end < 0 {
			end = len(name)
		}
		splitCase(name[:end], part)
		name = name[end:]
	}
}

// splitCase splits where lower case turns to upper, before the last capital of an acronym (HTTP|Server), and between letters
// and digits unless the name changes between them too often to mean anything. An acronym keeps its plural s (URLs).
func splitCase(name string, part func(string)) {
	if name == "" {
		return
	}
	splitDigits := digitBorders(name) <= maxDigitBorders
	start, lastAt := 0, 0 // lastAt is where the previous rune began
	before, last := separator, separator
	for at, r := range name {
		now := classOf(r, last)
		border := 0
		switch {
		case at == 0 || unicode.IsMark(r):
		case (now == digit) != (last == digit):
			if splitDigits {
				border = at
			}
		case now == upper && last == lower:
			border = at
		case now == lower && last == upper && before == upper && !pluralOfAcronym(name[at:]):
			border = lastAt
		}
		if border > start {
			part(name[start:border])
			start = border
		}
		if !unicode.IsMark(r) {
			before, last, lastAt = last, now, at
		}
	}
	part(name[start:])
}

func digitBorders(name string) int {
	borders, last := 0, separator
	for _, r := range name {
		now := classOf(r, last)
		if last != separator && (now == digit) != (last == digit) {
			borders++
		}
		last = now
	}
	return borders
}

// pluralOfAcronym tells whether what follows the capitals is a single s.
func pluralOfAcronym(rest string) bool {
	if rest[0] != 's' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[1:])
	return rest == "s" || !unicode.IsLower(next)
}

// version recognises 1.2.3 and v1.2.3, and gives it without the v.
func version(w string) (bare string, ok bool) {
	bare = w
	if w != "" && (w[0] == 'v' || w[0] == 'V') {
		bare = w[1:]
	}
	dots, digits := 0, 0
	for i := range len(bare) {
		switch {
		case bare[i] >= '0' && bare[i] <= '9':
			digits++
		case bare[i] == '.' && digits > 0:
			dots, digits = dots+1, 0
		default:
			return "", false
		}
	}
	return bare, dots > 0 && digits > 0
}

// versioned recognises a name with a version, such as Go1.26, and gives its parts.
func versioned(w string) (name, number string, ok bool) {
	end := 0
	for end < len(w) && (w[end]|0x20 >= 'a' && w[end]|0x20 <= 'z') {
		end++
	}
	if end == 0 {
		return "", "", false
	}
	number, ok = version(w[end:])
	return w[:end], number, ok
}

// isGrouped recognises a number with its thousands set off by commas, 1,234,567.
func isGrouped(w string) bool {
	first, rest, ok := strings.Cut(w, ",")
	if !ok || !isDigits(first) || len(first) > 3 {
		return false
	}
	for group := range strings.SplitSeq(rest, ",") {
		if len(group) != 3 || !isDigits(group) {
			return false
		}
	}
	return true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func isLowerASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return s != ""
}

// Parts gives the words that a name is made of, as written: OrderProcessor is Order, Processor. A name that is one word gives
// itself, one without a letter or digit nothing.
func Parts(name string) []string {
	var parts []string
	for word := range strings.FieldsSeq(name) {
		splitIdentifier(word, func(part string) { parts = append(parts, part) })
	}
	return parts
}
