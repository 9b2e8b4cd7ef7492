package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/stele-dev/stele/memory"
)

// Report is what an export into a folder did.
type Report struct {
	Dir       string   `json:"dir"`
	Memories  int      `json:"memories"`
	Written   int      `json:"written"` // files, new and changed
	Unchanged int      `json:"unchanged"`
	Removed   int      `json:"removed"` // files of memories that are gone
	Kept      []string `json:"kept"`    // files that somebody changed, left as they are
}

// Markdown writes one file a memory into dir, in a folder for each kind, an index by element (README.md), and with
// Options.History the older versions below history. A memory has one kind and any number of elements, so the kind is its
// place and the index leads to it from each element.
//
// dir is new or empty, or holds an earlier export of the project, which is brought up to date: files of memories that are
// gone are removed, files that somebody changed are left alone and reported.
func Markdown(ctx context.Context, dir string, src Source, c memory.Caller, p memory.ProjectInfo, o Options) (r Report, err error) {
	f, err := openFolder(dir, p.ID)
	if err != nil {
		return Report{Dir: dir, Kept: []string{}}, err
	}
	defer func() {
		if cerr := f.close(err != nil); err == nil {
			err = cerr
		}
		r = f.report
	}()
	x := index{project: p.Name, byElement: map[string][]entry{}}
	err = each(ctx, src, c, o, func(r Record) error {
		f.report.Memories++
		name := path.Join(kindFolder(r.Kind), fileName(r.Memory))
		x.add(name, r.Memory)
		text, err := page(pageOf(r), r.Content)
		if err != nil {
			return fmt.Errorf("writing %s: %w", r.Handle, err)
		}
		if err := f.put(name, text); err != nil {
			return err
		}
		for _, v := range r.Versions {
			if v.Revision == r.Revision {
				continue
			}
			text, err := page(version{r.Handle, v}, v.Content)
			if err != nil {
				return fmt.Errorf("writing a version of %s: %w", r.Handle, err)
			}
			if err := f.put(path.Join("history", r.Handle, strconv.Itoa(v.Revision)+".md"), text); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return r, err
	}
	if err := f.put("README.md", x.markdown()); err != nil {
		return r, err
	}
	return r, f.finish(ctx)
}

// newest is a memory with who wrote its newest text, and when, where the history is exported.
type newest struct {
	memory.Memory
	RevisedAt *time.Time `json:"revised_at,omitempty"`
	RevisedBy string     `json:"revised_by,omitempty"`
}

func pageOf(r Record) newest {
	out := newest{Memory: r.Memory}
	for _, v := range r.Versions {
		if v.Revision == r.Revision {
			out.RevisedAt, out.RevisedBy = &v.RecordedAt, v.Author
		}
	}
	return out
}

// FileOf gives the path of a memory's file below the folder of an export, and what stands in it.
func FileOf(m memory.Memory) (name string, text []byte, err error) {
	m = cleaned(m)
	text, err = page(m, m.Content)
	return path.Join(kindFolder(m.Kind), fileName(m)), text, err
}

// version is an older text of a memory.
type version struct {
	Handle string `json:"handle"`
	memory.Version
}

// page is front matter and text. The front matter is what JSON says of the value, a field a line under the same names: of
// a memory all but its content. The text is the content to the byte, with a line end after it, so that a reader who takes
// off one line end has what was stored.
func page(about any, content string) ([]byte, error) {
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false)
	if err := e.Encode(about); err != nil {
		return nil, fmt.Errorf("front matter: %w", err)
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	fields := json.NewDecoder(&encoded)
	if _, err := fields.Token(); err != nil { // the opening brace
		return nil, fmt.Errorf("front matter: %w", err)
	}
	for fields.More() {
		name, err := fields.Token()
		if err != nil {
			return nil, fmt.Errorf("front matter: %w", err)
		}
		var value json.RawMessage
		if err := fields.Decode(&value); err != nil {
			return nil, fmt.Errorf("front matter: %w", err)
		}
		if name != "content" {
			fmt.Fprintf(&b, "%s: %s\n", name, printable(value))
		}
	}
	b.WriteString("---\n")
	b.WriteString(content)
	b.WriteString("\n")
	return b.Bytes(), nil
}

// printable escapes what JSON allows in a string and YAML does not. All else that JSON writes is YAML.
func printable(value []byte) string {
	var b strings.Builder
	for _, r := range string(value) {
		if r == 0x7f || r >= 0x80 && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// kindFolder is where memories of a kind go.
func kindFolder(k memory.Kind) string {
	return slug(strings.ReplaceAll(string(k), "_", "-"), 40) + "s"
}

// maxSlug keeps a file name readable and, in any script, below the 255 bytes that file systems take.
const maxSlug = 60

// fileName tells a person what is in the file and is no other memory's: words of its title or first line, then its handle.
// Letters and digits of any script stay; everything a file system or a shell may take for something else becomes a hyphen.
func fileName(m memory.Memory) string {
	words := slug(cmp.Or(m.Title, firstLine(m.Content)), maxSlug)
	if words == "" {
		return slug(m.Handle, maxSlug) + ".md"
	}
	return words + "-" + slug(m.Handle, maxSlug) + ".md"
}

func slug(text string, limit int) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKC.String(strings.ToLower(text)) {
		if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			break
		}
		b.WriteRune(r)
	}
	return strings.Trim(b.String(), "-")
}

func firstLine(text string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return ""
}

// index is README.md: what there is, by element.
type index struct {
	project   string
	byElement map[string][]entry
}

type entry struct {
	file  string
	title string
	marks []string // kind, and scope and status where they are not the usual ones
}

func (x *index) add(file string, m memory.Memory) {
	e := entry{file: file, title: cmp.Or(memory.Line(m.Title), memory.Line(firstLine(m.Content)), m.Handle), marks: []string{string(m.Kind)}}
	if m.Scope != memory.Project {
		e.marks = append(e.marks, string(m.Scope))
	}
	if m.Status != memory.Live {
		e.marks = append(e.marks, string(m.Status))
	}
	if len(m.Elements) == 0 {
		x.byElement[""] = append(x.byElement[""], e)
	}
	for _, ref := range m.Elements {
		x.byElement[ref.Key] = append(x.byElement[ref.Key], e)
	}
}

func (x *index) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What is known about %s\n\n", escaped(memory.Line(x.project)))
	b.WriteString("Written by `stele export markdown`, which writes it again. The folders hold one file a memory, by kind.\n")
	for _, key := range slices.Sorted(maps.Keys(x.byElement)) {
		heading := escaped(memory.Line(key))
		if key == "" {
			heading = "Without an element"
		}
		fmt.Fprintf(&b, "\n## %s\n\n", heading)
		entries := x.byElement[key]
		slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.file, b.file) })
		for _, e := range entries {
			fmt.Fprintf(&b, "- [%s](%s) (%s)\n", escaped(e.title), e.file, strings.Join(e.marks, ", "))
		}
	}
	return b.Bytes()
}

// escaped makes a line mean nothing but itself in Markdown.
func escaped(line string) string {
	var b strings.Builder
	for _, r := range line {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
