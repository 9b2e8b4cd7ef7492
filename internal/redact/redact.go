// Package redact takes secrets out of free text before it is stored or leaves the process.
//
// It looks for what is certainly or very likely a secret: tokens by the prefixes their issuers give them, private key blocks,
// passwords in connection strings, Authorization headers, and values assigned to names such as api_key or PASSWORD. A random
// looking string alone is no secret: commit and integrity hashes, UUIDs and ids are what notes about software are full of.
// Each secret becomes [redacted]; what stands around it stays, so that the note still says what it was about.
package redact

import (
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// Kinds of findings. They are shown to people and scripts.
const (
	PrivateKey       = "private_key"       // PEM, OpenPGP and age private keys
	ConnectionString = "connection_string" // the password of a URL or DSN
	Authorization    = "authorization"     // the credentials of an Authorization header
	Assignment       = "assignment"        // a value given to a name that says it is secret
)

// Finding is how many secrets of one kind were taken out. Kind is one of the constants above, or the issuer of a token:
// aws, github, gitlab, slack, jwt and so on.
type Finding struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Redact gives the text with each secret replaced by [redacted], and what was found, by kind in alphabetic order. The result
// is valid UTF-8, and redacting it again finds nothing. Time grows linearly with the text.
func Redact(text string) (clean string, found []Finding) {
	r := redactor{text: strings.ToValidUTF8(text, "\uFFFD"), counts: map[string]int{}}
	for range maxRounds {
		before := r.found
		for _, find := range []finder{privateKeys, tokens, connectionStrings, authorizations, assignments} {
			r.pass(find)
		}
		if r.found == before {
			break
		}
	}
	for kind, count := range r.counts {
		found = append(found, Finding{kind, count})
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.Kind, b.Kind) })
	return r.text, found
}

// maxRounds bounds how often the text is gone through: a mark can end a longer value and so uncover what stands behind it.
const maxRounds = 5

// finder gives pieces to replace, in order and not overlapping.
type finder func(text string, yield func(secret))

// secret is a piece of text to replace.
type secret struct {
	start, end int
	kind       string
}

type redactor struct {
	text   string
	counts map[string]int
	found  int
}

// pass replaces what one finder finds.
func (r *redactor) pass(find finder) {
	var b strings.Builder
	kept := 0
	find(r.text, func(s secret) {
		b.WriteString(r.text[kept:s.start])
		b.WriteString(Mark)
		kept = s.end
		r.counts[s.kind]++
		r.found++
	})
	if kept > 0 {
		b.WriteString(r.text[kept:])
		r.text = b.String()
	}
}

// occurrences walks through the places of a piece of text. It remembers the next one, so that looking for several pieces at
// once takes time in proportion to the text.
type occurrences struct {
	text, piece string
	next        int // -1 when there are no more
}

func occurrencesOf(text, piece string) *occurrences {
	return &occurrences{text: text, piece: piece, next: strings.Index(text, piece)}
}

// from gives the first place at or after a position, or the length of the text.
func (o *occurrences) from(at int) int {
	if o.next >= 0 && o.next < at {
		if o.next = strings.Index(o.text[at:], o.piece); o.next >= 0 {
			o.next += at
		}
	}
	if o.next < 0 {
		return len(o.text)
	}
	return o.next
}

// privateKeys finds blocks between BEGIN and END lines of private keys. A block that is cut off ends where its base64 does.
func privateKeys(text string, yield func(secret)) {
	const dashes = "-----"
	begins, ends := occurrencesOf(text, dashes+"BEGIN "), occurrencesOf(text, dashes+"END ")
	for start := begins.from(0); start < len(text); {
		at := start + len(begins.piece)
		label, _, ok := strings.Cut(text[at:min(len(text), at+maxName)], dashes)
		if ok && strings.Contains(label, "PRIVATE KEY") {
			body := at + len(label) + len(dashes)
			at = body
			for at < len(text) && isKeyBody(text[at]) {
				at++
			}
			// Headers of old PEM files have colons and dashes, so the END line decides when there is one.
			if end := ends.from(body); end < len(text) && end < begins.from(body) {
				at = end + len(ends.piece)
				if closing := strings.Index(text[at:min(len(text), at+maxName)], dashes); closing >= 0 {
					at += closing + len(dashes)
				}
			}
			yield(secret{start, at, PrivateKey})
		}
		start = begins.from(at)
	}
}

// isKeyBody tells what may stand in a block: base64, white space, and the backslash of an escaped line end.
func isKeyBody(c byte) bool {
	return isAlnum(c) || c == '+' || c == '/' || c == '=' || c == '\n' || c == '\r' || c == ' ' || c == '\t' || c == '\\'
}

// connectionStrings finds passwords in scheme://user:password@host, and in user:password@tcp(host) as Go's MySQL driver wants it.
func connectionStrings(text string, yield func(secret)) {
	const longest = 512 // bytes of user and password: longer ones do not occur, and each start costs at most this
	schemes, dsns := occurrencesOf(text, "://"), occurrencesOf(text, "@tcp(")
	for at := 0; ; {
		scheme, dsn := schemes.from(at), dsns.from(at)
		if min(scheme, dsn) == len(text) {
			return
		}
		if dsn < scheme {
			start := dsn
			for start > at && dsn-start < longest && !isSpaceOrQuote(text[start-1]) {
				start--
			}
			if colon := strings.IndexByte(text[start:dsn], ':'); colon > 0 && !isPlaceholder(text[start+colon+1:dsn]) {
				yield(secret{start + colon + 1, dsn, ConnectionString})
			}
			at = dsn + len(dsns.piece)
			continue
		}
		start := scheme + len(schemes.piece)
		at = start
		window := text[start:min(len(text), start+longest)]
		if stop := strings.IndexFunc(window, func(r rune) bool { return r <= ' ' || strings.ContainsRune("/\"'`<>", r) }); stop >= 0 {
			window = window[:stop]
		}
		host := strings.LastIndexByte(window, '@')
		if host < 0 {
			continue
		}
		if colon := strings.IndexByte(window[:host], ':'); colon >= 0 && !isPlaceholder(window[colon+1:host]) {
			yield(secret{start + colon + 1, start + host, ConnectionString})
		}
		at = start + host
	}
}

func isSpaceOrQuote(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`<>", c) >= 0 }

// authorizations finds credentials after "Authorization:", whatever the scheme, and after "Bearer" anywhere.
func authorizations(text string, yield func(secret)) {
	lower := asciiLower(text)
	headers, bearers := occurrencesOf(lower, "authorization"), occurrencesOf(lower, "bearer ")
	for at := 0; ; {
		header, bearer := headers.from(at), bearers.from(at)
		if min(header, bearer) == len(text) {
			return
		}
		var start, shortest int
		if bearer < header {
			at = bearer + len(bearers.piece)
			start, shortest = at, 16
		} else {
			at = header + len(headers.piece)
			start = skip(lower, skipOne(lower, at, "\"'"), " \t")
			if start >= len(lower) || lower[start] != ':' && lower[start] != '=' {
				continue
			}
			start = skipOne(lower, skip(lower, start+1, " \t"), "\"'")
			shortest = 6
			if scheme := skip(lower, start, "abcdefghijklmnopqrstuvwxyz"); scheme > start && scheme < len(lower) && lower[scheme] == ' ' {
				start = scheme + 1
			}
		}
		end := start
		for end < len(text) && (isAlnum(text[end]) || strings.IndexByte("-._~+/=", text[end]) >= 0) {
			end++
		}
		value := strings.TrimRight(text[start:end], ".")
		if len(value) < shortest || !hasDigit(value) && shannon(value) < entropyOfLetters || isPlaceholder(value) {
			continue
		}
		at = start + len(value)
		yield(secret{start, at, Authorization})
	}
}

// asciiLower folds ASCII only, so that positions stay those of the text.
func asciiLower(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, text)
}

func skip(text string, at int, chars string) int {
	for at < len(text) && strings.IndexByte(chars, text[at]) >= 0 {
		at++
	}
	return at
}

func skipOne(text string, at int, chars string) int {
	if at < len(text) && strings.IndexByte(chars, text[at]) >= 0 {
		at++
	}
	return at
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
