package redact

import (
	"math"
	"strings"
)

const (
	maxName  = 80   // bytes of a name that are read to the left of = or :
	maxValue = 4096 // bytes of a value in quotes

	// entropyOfLetters is the Shannon entropy, in bits a character, above which a string without digits is taken for random.
	// English words of 20 letters stay under 3.7.
	entropyOfLetters = 3.8
)

// passwordWords name what people choose, which may look like a word; secretWords name what machines generate.
var (
	passwordWords = set("password passwd pwd passphrase passcode pgpassword kennwort passwort")
	secretWords   = set("secret token apikey credential credentials authtoken accesstoken accesskey secretkey privatekey authkey clientsecret bearer")
	// keyWords make a secret of the word "key" after them.
	keyWords = set("api access secret private encryption signing master auth account shared ssh deploy service admin session subscription storage webhook hmac jwt")
	// describing words after those above name something about a secret, not the secret.
	describing = set("id ids name names file files path dir url uri endpoint env var variable type kind length len size count limit limits budget ttl expiry expires " +
		"expiration expired age policy field header prefix format version min max hint manager store provider ref reference arn rotation index label bucket " +
		"required enabled disabled valid used usage scheme method mode scope scopes audience issuer at time in rate window hash algorithm parser source")
	measuring = set("errcode err error max min num total count has is use uses enable disable require requires no show hide reset forgot change missing invalid wrong")
)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		all[w] = true
	}
	return all
}

type strength int

const (
	notSecret strength = iota
	weak               // a generated secret, so it must look generated
	strong             // a password, so it may look like anything
)

// assignments finds values given to names that say they are secret, in the ways of code, configuration, JSON, YAML, headers,
// command lines and XML.
func assignments(text string, yield func(secret)) {
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '=', ':', '>', ' ':
		default:
			continue
		}
		name, nameStart := nameBefore(text, at)
		if name == "" || text[at] == ' ' && !strings.HasPrefix(name, "--") {
			continue
		}
		s := strengthOf(name)
		if s == notSecret {
			continue
		}
		v := valueAfter(text, at, nameStart, nameStart+len(name))
		if v.end > v.start && v.isSecret(text, at, name, s) {
			for !v.quoted && v.end-v.start >= maxExamined && v.end < len(text) && isBare(text[v.end]) {
				v.end++ // what was not looked at belongs to it
			}
			yield(secret{v.start, v.end, Assignment})
			at = v.end - 1
		}
	}
}

// nameBefore reads the name that ends before at, over a closing quote and spaces, and tells where it starts.
func nameBefore(text string, at int) (name string, start int) {
	end := at
	if text[at] != ' ' {
		for end > 0 && at-end < 8 && (text[end-1] == ' ' || text[end-1] == '\t') {
			end--
		}
	}
	if end > 0 && strings.IndexByte("\"'`]", text[end-1]) >= 0 {
		end--
		if end > 0 && strings.IndexByte("\"'", text[end-1]) >= 0 { // ["name"]
			end--
		}
	}
	start = end
	for start > 0 && end-start < maxName && (isAlnum(text[start-1]) || text[start-1] == '_' || text[start-1] == '-' || text[start-1] == '.') {
		start--
	}
	if text[at] == '>' && (start == 0 || text[start-1] != '<') {
		return "", 0
	}
	return text[start:end], start
}

// strengthOf judges a name by its words.
func strengthOf(name string) strength {
	words := wordsOf(name)
	if len(words) == 0 || measuring[words[0]] {
		return notSecret
	}
	found, last := notSecret, 0
	for i, w := range words {
		switch {
		case passwordWords[w], w == "pass" && i > 0 && i == len(words)-1:
			found, last = strong, i
		case w == "auth" && i == len(words)-1: // _auth of npm; authMethod and the like are none
			found, last = max(found, weak), i
		case secretWords[w], w == "key" && i > 0 && keyWords[words[i-1]]:
			found, last = max(found, weak), i
		}
	}
	for _, w := range words[last:] {
		if found != notSecret && describing[w] {
			return notSecret
		}
	}
	return found
}

// wordsOf splits a name at punctuation and at capitals after small letters, in lower case.
func wordsOf(name string) []string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if i > 0 && classOf(c) == 2 && classOf(name[i-1]) == 1 {
			b.WriteByte(' ')
		}
		if !isAlnum(c) {
			c = ' '
		}
		b.WriteByte(c)
	}
	return strings.Fields(asciiLower(b.String()))
}

// value is a piece of text that something is assigned.
type value struct {
	start, end int
	quoted     bool
	spaced     bool // spaces before it
}

// valueAfter reads the value after the separator at, of the name that starts and ends where it says.
func valueAfter(text string, at, nameStart, nameEnd int) value {
	start := at + 1
	if text[at] != '>' && text[at] != ' ' {
		start = skipOne(text, start, "=>")
	}
	begin := skip(text, start, " \t")
	v := value{start: begin, end: begin, spaced: begin > start}
	if begin < len(text) && strings.IndexByte("\"'`", text[begin]) >= 0 {
		quote := text[begin]
		if nameStart > 0 && text[nameStart-1] == quote && text[nameEnd] != quote {
			return v // "NAME=" + value: the quote closes
		}
		for end := begin + 1; end < len(text) && end-begin < maxValue && text[end] != '\n'; end++ {
			if text[end] == '\\' {
				end++
				continue
			}
			if text[end] == quote {
				return value{begin + 1, end, true, v.spaced}
			}
		}
		v.start++ // a quote that is not closed
	}
	inQuery := nameStart > 0 && (text[nameStart-1] == '?' || text[nameStart-1] == '&')
	for v.end = v.start; v.end < len(text) && v.end-v.start < maxExamined && isBare(text[v.end]) && (!inQuery || text[v.end] != '&'); v.end++ {
		if text[v.end] == '[' && strings.HasPrefix(text[v.end:], Mark) { // a value that is redacted already, or in part
			v.end += len(Mark) - 1
		}
	}
	for v.end > v.start && strings.IndexByte(".:", text[v.end-1]) >= 0 {
		v.end--
	}
	return v
}

// isBare tells what a value without quotes may consist of.
func isBare(c byte) bool { return c > ' ' && strings.IndexByte("\"'`,;<>)}]", c) < 0 }

// isSecret judges a value given to a secret name.
func (v value) isSecret(text string, at int, name string, s strength) bool {
	val := text[v.start:v.end]
	if generated := s == weak || text[at] == ' '; generated && !looksGenerated(val, v.quoted) {
		return false
	}
	switch {
	case isPlaceholder(val), isPath(val), strings.Contains(val, "://"), !v.quoted && isExpression(text, v), len(val) < maxKeyword && keywords[asciiLower(val)]:
		return false
	case s == weak, text[at] == ' ':
		return true
	case strings.ContainsAny(val, " \t"):
		return v.quoted && text[at] == '=' // prose in quotes after a colon is prose
	case v.quoted || text[at] == '>' || text[at] == '=' && !v.spaced:
		return len(val) >= 3
	case hasDigit(val) || strings.ContainsAny(val, "!@#$%^&*+"):
		return len(val) >= 4
	}
	return text[at] == ':' && len(val) >= 4 && isLineOfItsOwn(text, at, name, v)
}

// isLineOfItsOwn tells whether name and value are all there is on a line, as in YAML.
func isLineOfItsOwn(text string, at int, name string, v value) bool {
	start := strings.LastIndexByte(text[max(0, at-2*maxName):at], '\n') + 1 + max(0, at-2*maxName)
	line := strings.TrimLeft(text[start:at], " \t-")
	end := v.end
	for end < len(text) && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r') {
		end++
	}
	return line == name && (end == len(text) || text[end] == '\n')
}

// looksGenerated tells what a machine made from a word, name or number.
func looksGenerated(val string, quoted bool) bool {
	const shortest, long = 8, 20
	letters, digits := 0, 0
	for i := range len(val) {
		switch classOf(val[i]) {
		case 0:
		case 3:
			digits++
		default:
			letters++
		}
	}
	switch {
	case len(val) < shortest || strings.ContainsAny(val, " \t"):
		return false
	case digits > 0 && letters > 0:
		return digits > 1 || quoted && len(val) >= 12 || len(val) >= long
	case digits == 0 && len(val) >= long:
		return asciiLower(val) != val && strings.ToUpper(val) != val && shannon(val) >= entropyOfLetters
	}
	return false
}

// keywords are values that say something about a secret in its place: types, requirements, absence.
var keywords = set("string str text bytes byte bool boolean int integer number object any true false null nil none undefined yes no on off required optional " +
	"missing empty unset hidden masked secret password token invalid expired default unknown default_password changeme1 char varchar binary")

const maxKeyword = 20

// isPlaceholder recognises what stands for a value: references to variables, templates, stars, an earlier redaction.
func isPlaceholder(val string) bool {
	lower := asciiLower(val[:min(len(val), maxExamined)])
	switch {
	case val == "", strings.Contains(lower, Mark), strings.HasPrefix(lower, "your"), strings.HasPrefix(lower, "example"):
		return true
	case strings.IndexByte("$<{%", val[0]) >= 0, strings.HasPrefix(lower, "[") && strings.HasSuffix(lower, "]"):
		return true
	}
	return strings.Trim(lower, "*") == "" || strings.Trim(lower, "x") == "" || strings.Trim(lower, ".") == "" || strings.Trim(lower, "…") == ""
}

// isPath recognises paths: segments of small letters from a root, home or current folder.
func isPath(val string) bool {
	if !strings.HasPrefix(val, "/") && !strings.HasPrefix(val, "./") && !strings.HasPrefix(val, "../") && !strings.HasPrefix(val, "~/") {
		return false
	}
	for i := range len(val) {
		if classOf(val[i]) == 2 || val[i] == '+' || val[i] == '=' {
			return false
		}
	}
	return true
}

// isExpression recognises code in place of a value: a call, an index, a member of something.
func isExpression(text string, v value) bool {
	val := text[v.start:v.end]
	name := skipName(val, 0)
	dots := 0
	for name > 0 && name < len(val) && val[name] == '.' && skipName(val, name+1) > name+1 && classOf(val[name+1]) != 3 {
		name = skipName(val, name+1)
		dots++
	}
	if name == 0 || classOf(val[0]) == 3 {
		return false
	}
	if name < len(val) {
		return val[name] == '(' || val[name] == '['
	}
	return dots > 0 || v.end < len(text) && (text[v.end] == '(' || text[v.end] == '[')
}

func skipName(s string, at int) int {
	for at < len(s) && (isAlnum(s[at]) || s[at] == '_') {
		at++
	}
	return at
}

// shannon is the entropy of the bytes of s, in bits a byte.
func shannon(s string) float64 {
	s = s[:min(len(s), maxExamined)]
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
