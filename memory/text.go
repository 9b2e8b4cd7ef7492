package memory

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/redact"
	"github.com/stele-dev/stele/memory/terms"
)

// cleaner takes private parts and secrets out of free text and counts them.
type cleaner struct {
	private int
	found   map[string]int
}

func (c *cleaner) text(t string) string {
	if t == "" {
		return ""
	}
	t = strings.ReplaceAll(t, "\x00", "") // no database keeps it, and no text needs it
	t, n := redact.StripPrivate(t)
	c.private += n
	t, found := redact.Redact(t)
	for _, f := range found {
		if c.found == nil {
			c.found = map[string]int{}
		}
		c.found[f.Kind] += f.Count
	}
	return strings.TrimSpace(t)
}

func (c *cleaner) redactions() []Redaction {
	out := make([]Redaction, 0, len(c.found))
	for kind, n := range c.found {
		out = append(out, Redaction{Kind: kind, Count: n})
	}
	slices.SortFunc(out, func(a, b Redaction) int { return strings.Compare(a.Kind, b.Kind) })
	return out
}

// IndexOf is what a memory is found by: the terms of title, content, why, tags and the names of its elements, and the files
// it names, as wholes.
func IndexOf(m *Memory) Index {
	var b strings.Builder
	for _, t := range []string{m.Title, m.Content, m.Why} {
		b.WriteString(t)
		b.WriteByte('\n')
	}
	for _, t := range m.Tags {
		b.WriteString(t)
		b.WriteByte('\n')
	}
	ix := Index{Terms: terms.Of(b.String()), Title: terms.Fold(m.Title), Normal: terms.Normalise(m.Content), Links: linkTargets(m.Content)}
	for _, t := range m.Tags {
		ix.Tags = append(ix.Tags, terms.Fold(t))
	}
	return ix.attached(m.Elements, m.Paths)
}

// attached adds the names of elements, and files, to what a memory is found by.
func (ix Index) attached(elements []ElementRef, paths []string) Index {
	var b strings.Builder
	for _, e := range elements {
		b.WriteString(e.Name)
		b.WriteByte('\n')
	}
	ix.Terms = union(slices.Clone(ix.Terms), terms.Of(b.String()))
	for _, p := range paths {
		if !isGlob(p) {
			ix.Terms = union(ix.Terms, terms.OfPath(p))
		}
	}
	return ix
}

// union adds terms that are not there yet.
func union(all, more []string) []string {
	for _, t := range more {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// newID makes a UUIDv7: ids sort by time of writing.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

var handleEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// handleLength is the base32 characters of a handle after "m-": 32⁷ = 3.4·10¹⁰, so that a million memories of an
// organization collide on a new one with probability 3·10⁻⁵; the Store refuses a taken one and the write runs again.
const handleLength = 7

func newHandle() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return "m-" + handleEncoding.EncodeToString(b[:])[:handleLength]
}

// isHandle tells whether a reference has the form of a handle.
func isHandle(s string) bool {
	if len(s) != 2+handleLength || (s[0] != 'm' && s[0] != 'M') || s[1] != '-' {
		return false
	}
	_, err := handleEncoding.DecodeString(strings.ToLower(s[2:]) + "a")
	return err == nil
}

// maxAgentBytes bounds the name of a client program in an author.
const maxAgentBytes = 64

// AgentName is the name of a client program as it stands in an author, agent/user: "claude-code". It consists of visible
// ASCII characters without a slash, may come out empty, and AgentName of it is itself.
func AgentName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '/', r == ' ':
			return '-'
		case r < ' ' || r > '~':
			return -1
		}
		return r
	}, Line(name))
	return name[:min(len(name), maxAgentBytes)]
}

// AuthorName is how a writer is shown: "agent/user", or the user alone for a person.
func AuthorName(agent, user string) string {
	if agent == "" {
		return user
	}
	return agent + "/" + user
}

// clip cuts a text for an error or a list on a rune boundary; n is in bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return cutBytes(s, n) + "…"
}

// firstLine is the excerpt lists show: the first line with text, at most 160 bytes.
func firstLine(content string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(content), "\n")
	return clip(strings.TrimSpace(line), 160)
}

// parseExpiry reads "3d", "12h", "2w", a date (until the end of that day, UTC) or an RFC 3339 time.
func parseExpiry(s string, now time.Time) (*time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	bad := func(what string) error {
		return problem.Invalidf("expires", "%q %s", clip(s, 40), what).Fix("use a span such as 12h, 3d or 2w, a date such as 2030-01-31, or an RFC 3339 time")
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		if day, derr := time.Parse(time.DateOnly, s); derr == nil {
			t = day.Add(24*time.Hour - time.Microsecond)
		} else {
			unit, ok := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[s[len(s)-1]]
			n, nerr := strconv.Atoi(s[:len(s)-1])
			if !ok || nerr != nil || n <= 0 || n > 100_000 {
				return nil, bad("is not a time")
			}
			t = now.Add(time.Duration(n) * unit)
		}
	}
	t = t.UTC().Truncate(time.Microsecond)
	if !t.After(now) {
		return nil, bad("is not in the future")
	}
	return &t, nil
}

// cleanPaths checks repository-relative paths and globs and drops repeats.
func cleanPaths(paths []string) ([]string, error) {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		p, err := CleanPath("paths", p)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	if len(out) > MaxPaths {
		return nil, problem.Invalidf("paths", "%d paths are more than the %d allowed", len(out), MaxPaths).Fix("name their common folder as a glob, such as auth/**")
	}
	return out, nil
}

// CleanPath gives the canonical form of a path or glob inside the repository: slashes, no "./", never outside.
func CleanPath(field, p string) (string, error) {
	given := p
	p = slashes(strings.TrimSpace(p))
	bad := func(what, fix string) error {
		return problem.Invalidf(field, "%q %s", clip(given, 80), what).Fix("%s", fix)
	}
	switch {
	case p == "":
		return "", bad("is an empty path", "name a file, a folder or a glob of the repository")
	case len(p) > MaxPathBytes:
		return "", bad(fmt.Sprintf("is longer than %d bytes", MaxPathBytes), "name its folder as a glob")
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return "", bad("has characters a path cannot have", "send it as UTF-8 without control characters")
	case path.IsAbs(p) || drive.MatchString(p):
		return "", bad("is an absolute path", "give it relative to the root of the repository")
	}
	dir := strings.HasSuffix(p, "/")
	p = path.Clean(p)
	if p == ".." || strings.HasPrefix(p, "../") {
		return "", bad("leaves the repository", "give it relative to the root of the repository")
	}
	if dir && p != "." {
		p += "/**"
	}
	if p == "." {
		p = "**"
	}
	if !c4model.ValidPattern(p) {
		return "", bad("is not a valid glob, or one of too many alternatives", `escape a literal [ or { with \, and write long lists as several paths`)
	}
	return p, nil
}

// drive is the beginning of an absolute path on Windows.
var drive = regexp.MustCompile(`^[A-Za-z]:/`)

// slashes turns the separators of Windows into ours; a backslash before a character of globs is its escape.
func slashes(p string) string {
	var b strings.Builder
	for i := range len(p) {
		if p[i] == '\\' && (i+1 == len(p) || !strings.ContainsRune(`*?[]{}`, rune(p[i+1]))) {
			b.WriteByte('/')
			continue
		}
		b.WriteByte(p[i])
	}
	return b.String()
}
