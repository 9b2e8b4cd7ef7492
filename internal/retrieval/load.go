package retrieval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/stele-dev/stele/internal/problem"
)

// maxLine bounds a line: a memory of the longest content (16 kB), escaped in the worst way, with room for the rest.
const maxLine = 256 << 10

// record is a line: exactly one of its fields is set.
type record struct {
	Project *Project `json:"project"`
	Element *Element `json:"element"`
	Memory  *Memory  `json:"memory"`
	Query   *Query   `json:"query"`
}

// Load reads a set from a file, or from all *.jsonl files of a folder in the order of their names, and checks it.
func Load(tree fs.FS, name string) (*Set, error) {
	files := []string{name}
	info, err := fs.Stat(tree, name)
	if err != nil {
		return nil, problem.Invalidf("data", "%s cannot be read: %v", name, err).Fix("name a .jsonl file or a folder of them")
	}
	if info.IsDir() {
		if files, err = fs.Glob(tree, path.Join(name, "*.jsonl")); err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, problem.Invalidf("data", "%s has no .jsonl file", name).Fix("name a .jsonl file or a folder of them")
		}
	}
	set := &Set{}
	for _, file := range files {
		if err := set.readFile(tree, file); err != nil {
			return nil, err
		}
	}
	if faults := set.Check(); len(faults) > 0 {
		first := problem.Invalidf("data", "%s: %s", name, faults[0]).Fix("correct the set")
		if len(faults) > 1 {
			first.Detail += fmt.Sprintf(" (and %d more)", len(faults)-1)
		}
		return nil, first.Because(errors.Join(faults...))
	}
	return set, nil
}

func (s *Set) readFile(tree fs.FS, name string) error {
	f, err := tree.Open(name)
	if err != nil {
		return problem.Invalidf("data", "%s cannot be read: %v", name, err).Because(err)
	}
	defer f.Close()
	return s.Read(f, name)
}

// Read appends the records of r, which is called name in errors. Blank lines are skipped. It looks at lines alone; what
// they say of each other is for Check.
func (s *Set) Read(r io.Reader, name string) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := s.add(line); err != nil {
			return problem.Invalidf("data", "%s:%d: %v", name, number, err).
				Fix(`a line is {"project":{…}}, {"element":{…}}, {"memory":{…}} or {"query":{…}}`).Because(err)
		}
	}
	if err := lines.Err(); err != nil {
		return problem.Invalidf("data", "%s:%d: %v", name, number+1, err).Because(err)
	}
	return nil
}

// add takes one line in. A field it does not know is refused: it is a misspelt one, whose value would silently not count.
func (s *Set) add(line []byte) error {
	var r record
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("more than one record on a line")
	}
	records := 0
	if r.Project != nil {
		s.Projects = append(s.Projects, *r.Project)
		records++
	}
	if r.Element != nil {
		s.Elements = append(s.Elements, *r.Element)
		records++
	}
	if r.Memory != nil {
		s.Memories = append(s.Memories, *r.Memory)
		records++
	}
	if r.Query != nil {
		s.Queries = append(s.Queries, *r.Query)
		records++
	}
	if records != 1 {
		return fmt.Errorf("%d records on a line", records)
	}
	return nil
}
