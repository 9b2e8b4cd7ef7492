package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// maxPageBytes bounds one file of an export: a text of the largest size with everything around it is far smaller.
const maxPageBytes = 1 << 20

// ReadJSON gives the memories of a JSON export to fn, in their order, and the project they are of.
func ReadJSON(r io.Reader, fn func(Record) error) (memory.ProjectInfo, error) {
	var p memory.ProjectInfo
	bad := func(err error) (memory.ProjectInfo, error) {
		return p, problem.Invalidf("file", "it is no JSON export of Stele: %v", err).Fix("name a file that `stele export json` wrote")
	}
	d := json.NewDecoder(r)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return bad(cmp.Or(err, fmt.Errorf("it begins with no object")))
	}
	found := 0
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return bad(err)
		}
		switch name {
		case "format":
			var f int
			if err := d.Decode(&f); err != nil {
				return bad(err)
			}
			if f != format {
				return p, problem.Invalidf("file", "its format is %d, and this program reads %d", f, format).Fix("import it with a newer stele")
			}
			found++
		case "project":
			if err := d.Decode(&p); err != nil {
				return bad(err)
			}
		case "memories":
			if found++; found < 2 {
				return bad(fmt.Errorf("it does not say its format"))
			}
			if own, err := readList(d, fn); own != nil || err != nil {
				if own != nil {
					return p, own
				}
				return bad(err)
			}
		default: // of a later export that added something
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return bad(err)
			}
		}
	}
	if _, err := d.Token(); err != nil || found < 2 {
		return bad(cmp.Or(err, fmt.Errorf("it holds no memories")))
	}
	return p, nil
}

// readList gives the memories of a list to fn. refused is what fn gave.
func readList(d *json.Decoder, fn func(Record) error) (refused, err error) {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, cmp.Or(err, errors.New("its memories are no list"))
	}
	for d.More() {
		var rec Record
		if err := d.Decode(&rec); err != nil {
			return nil, err
		}
		if err := fn(rec); err != nil {
			return err, nil
		}
	}
	_, err = d.Token()
	return nil, err
}

// Page is a Markdown file with front matter, taken apart.
type Page struct {
	Fields map[string]json.RawMessage
	Text   string // as stored
}

// ParsePage reads front matter and text. Front matter that somebody wrote by hand may be any YAML. ok is false for a file without one.
func ParsePage(text []byte) (p Page, ok bool, err error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	rest, ok := cutLine(text, "---")
	if !ok {
		return p, false, nil
	}
	var front []byte
	for body := rest; ; {
		end := bytes.IndexByte(body, '\n')
		l := body
		if end >= 0 {
			l = body[:end]
		}
		if strings.TrimRight(string(l), " \t\r") == "---" {
			front = rest[:len(rest)-len(body)]
			p.Text = ""
			if end >= 0 {
				p.Text = string(body[end+1:])
			}
			break
		}
		if end < 0 {
			return p, false, nil
		}
		body = body[end+1:]
	}
	if p.Text, ok = strings.CutSuffix(p.Text, "\n"); ok {
		p.Text = strings.TrimSuffix(p.Text, "\r")
	}
	p.Fields, err = fields(front)
	return p, true, err
}

func cutLine(text []byte, want string) ([]byte, bool) {
	l, rest, ok := bytes.Cut(text, []byte("\n"))
	return rest, ok && strings.TrimRight(string(l), " \t\r") == want
}

// fields reads front matter: first as it is written here, a field a line with a JSON value, which YAML may read a shade otherwise.
func fields(front []byte) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	exact := true
	for l := range bytes.Lines(front) {
		name, value, ok := strings.Cut(strings.TrimRight(string(l), "\r\n"), ": ")
		if !ok || !json.Valid([]byte(value)) || strings.ContainsAny(name, " \"'#-") {
			exact = false
			break
		}
		out[name] = json.RawMessage(value)
	}
	if exact {
		return out, nil
	}
	encoded, err := yaml.YAMLToJSON(front)
	if err != nil {
		return nil, fmt.Errorf("its front matter is no YAML: %s", memory.Line(err.Error()))
	}
	out = map[string]json.RawMessage{}
	if err := json.Unmarshal(encoded, &out); err != nil {
		return nil, fmt.Errorf("its front matter is no list of fields")
	}
	return out, nil
}

// Into decodes the fields into a shape of this package or memory; the text is its content.
func (p Page) Into(to any) error {
	fields := make(map[string]any, len(p.Fields)+1)
	for name, value := range p.Fields {
		fields[name] = value
	}
	fields["content"] = p.Text
	encoded, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(encoded, to); err != nil {
		return fmt.Errorf("its front matter: %s", memory.Line(err.Error()))
	}
	return nil
}

// Unread is a file of a folder that holds no memory, and why.
type Unread struct{ File, Why string }

// IsFolder tells whether a folder holds a Markdown export.
func IsFolder(root fs.FS) bool {
	info, err := fs.Stat(root, markerFile)
	return err == nil && info.Mode().IsRegular()
}

// ReadMarkdown reads the memories of a Markdown export with their versions, newest first, and tells the files each came from. What
// cannot be read is told, and the rest goes on.
func ReadMarkdown(root fs.FS) (records []Record, files map[string]string, unread []Unread, err error) {
	files = map[string]string{}
	versions := map[string][]memory.Version{}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if d.IsDir() {
			if name != "." && strings.HasPrefix(path.Base(name), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".md" || name == "README.md" || strings.HasPrefix(path.Base(name), ".") {
			return nil
		}
		why := func(format string, args ...any) error {
			unread = append(unread, Unread{name, fmt.Sprintf(format, args...)})
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxPageBytes {
			return why("it is no file of an export")
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return why("it cannot be read: %v", err)
		}
		p, ok, err := ParsePage(text)
		switch {
		case err != nil:
			return why("%v", err)
		case !ok:
			return why("it has no front matter")
		case strings.HasPrefix(name, "history/"):
			var v version
			if err := p.Into(&v); err != nil {
				return why("%v", err)
			}
			versions[v.Handle] = append(versions[v.Handle], v.Version)
			return nil
		}
		var m newest
		if err := p.Into(&m); err != nil {
			return why("%v", err)
		}
		if m.Handle == "" {
			return why("its front matter names no handle")
		}
		if other, twice := files[m.Handle]; twice {
			return why("%s has the handle %s as well", other, m.Handle)
		}
		r := Record{Memory: m.Memory}
		if m.RevisedAt != nil {
			r.Versions = []memory.Version{{Revision: m.Revision, RecordedAt: *m.RevisedAt, Author: m.RevisedBy, Title: m.Title, Content: m.Content, Why: m.Why, Tags: m.Tags}}
		}
		files[m.Handle] = name
		records = append(records, r)
		return nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	for i := range records {
		r := &records[i]
		r.Versions = append(versions[r.Handle], r.Versions...)
		slices.SortFunc(r.Versions, func(a, b memory.Version) int { return cmp.Compare(a.Revision, b.Revision) })
	}
	slices.SortFunc(records, func(a, b Record) int { return -bytes.Compare(a.ID[:], b.ID[:]) })
	return records, files, unread, nil
}
