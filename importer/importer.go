// Package importer brings what other tools keep into a project: readers, each in a package of its own, make records of their files,
// and Run hands them to the domain, batch by batch. Nothing is ever written to a source.
package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stele-dev/stele/memory"
)

// Record is one memory of a source.
type Record struct {
	memory.ImportRecord
	Project string // as the source calls it; "" where it tells of none
	File    string // where it was read: relative, with slashes
}

// Left is something that is no memory, and why.
type Left struct {
	File string `json:"file"`
	What string `json:"what"` // where in the file: a line, a row
	Why  string `json:"why"`
}

// Source is what a reader found.
type Source struct {
	Name    string   // memsearch, claude-mem, stele, sections
	Records []Record // oldest first where the source tells times
	Files   []string // that were read
	Left    []Left
}

// Leave notes something that is no memory.
func (s *Source) Leave(file, what, format string, args ...any) {
	s.Left = append(s.Left, Left{File: file, What: what, Why: fmt.Sprintf(format, args...)})
}

// Add takes a record, cut to what a memory may be: a text that is too long becomes several, whatever else is too much is left out.
func (s *Source) Add(r Record) {
	r.Title = line(r.Title)
	if len(r.Title) > memory.MaxTitleBytes {
		r.Content = r.Title + "\n\n" + r.Content
		r.Title = clip(r.Title, memory.MaxTitleBytes)
	}
	r.Tags = bounded(r.Tags, memory.MaxTags, memory.MaxTagBytes)
	var paths []string
	for _, p := range r.Paths {
		clean, err := memory.CleanPath("paths", p)
		if err != nil {
			s.Leave(r.File, r.Key, "the path %q is none of a repository", clip(line(p), 80))
			continue
		}
		if slices.Contains(paths, clean) {
			continue
		}
		if len(paths) == memory.MaxPaths {
			s.Leave(r.File, r.Key, "it names more than %d paths; the others are left out", memory.MaxPaths)
			break
		}
		paths = append(paths, clean)
	}
	r.Paths = paths
	if len(r.Key) > memory.MaxImportKeyBytes {
		r.Key = clip(r.Key, 200) + ":" + Digest(r.Key)
	}
	if r.Anchor != nil && r.Anchor.Check() != nil {
		r.Anchor = nil
	}
	parts := cut(strings.ToValidUTF8(r.Content, "\uFFFD"), memory.MaxContentBytes)
	for i, part := range parts {
		one := r
		one.Content = part
		if i > 0 {
			one.Key, one.Title = fmt.Sprintf("%s:%d", r.Key, i+1), ""
			if r.Title != "" {
				one.Title = fmt.Sprintf("%s (%d)", clip(r.Title, memory.MaxTitleBytes-10), i+1)
			}
		}
		s.Records = append(s.Records, one)
	}
}

// Digest is a short name of a text, for keys of what has no id.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Relative gives the path of a file inside the folder of a project that source names by its last part, as tools name projects;
// a path that is relative already stays. ok is false for one outside.
func Relative(name, project string) (inside string, ok bool) {
	name = strings.ReplaceAll(strings.TrimSpace(name), `\`, "/")
	if name == "" || strings.HasPrefix(name, "~") {
		return "", false
	}
	if !path.IsAbs(name) && (len(name) <= 2 || name[1] != ':' || name[2] != '/') {
		clean := path.Clean(name)
		return clean, clean != "." && clean != ".." && !strings.HasPrefix(clean, "../")
	}
	if project == "" {
		return "", false
	}
	_, inside, ok = strings.Cut(name, "/"+path.Base(project)+"/")
	return inside, ok && inside != ""
}

// Since leaves out what is older than a moment; what has no time stays.
func (s *Source) Since(at time.Time) {
	s.keep(func(r Record) (string, bool) {
		return "it is older than " + at.Format(time.DateOnly), r.CreatedAt.IsZero() || !r.CreatedAt.Before(at)
	})
}

// Only leaves out all but some kinds.
func (s *Source) Only(kinds []memory.Kind) {
	s.keep(func(r Record) (string, bool) { return "its kind, " + string(r.Kind), slices.Contains(kinds, r.Kind) })
}

// keep leaves records out that were not asked for, told once for a file and reason.
func (s *Source) keep(wanted func(Record) (why string, ok bool)) {
	type reason struct{ file, why string }
	left := map[reason]int{}
	var order []reason
	s.Records = slices.DeleteFunc(s.Records, func(r Record) bool {
		why, ok := wanted(r)
		if !ok {
			k := reason{r.File, why}
			if left[k]++; left[k] == 1 {
				order = append(order, k)
			}
		}
		return !ok
	})
	for _, k := range order {
		s.Leave(k.file, fmt.Sprintf("%d records", left[k]), "%s", k.why)
	}
}

// cut splits a text into parts of at most limit bytes, at line ends where there are some.
func cut(text string, limit int) []string {
	text = strings.TrimSpace(text)
	var parts []string
	for len(text) > limit {
		n := strings.LastIndexByte(text[:limit], '\n')
		if n < limit/2 {
			n = limit
			for n > 0 && !utf8.RuneStart(text[n]) {
				n--
			}
		}
		parts = append(parts, strings.TrimSpace(text[:n]))
		text = strings.TrimSpace(text[n:])
	}
	if text != "" || len(parts) == 0 {
		parts = append(parts, text)
	}
	return parts
}

func bounded(texts []string, most, size int) []string {
	var out []string
	for _, t := range texts {
		if t = clip(line(t), size); t != "" && len(out) < most && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// line makes one line of printable characters of a text.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(text), " ")
}

func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.TrimSpace(text[:n])
}
