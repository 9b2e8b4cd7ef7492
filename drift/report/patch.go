package report

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/config"
)

// Patch writes the fixes that need no decision as one unified diff of the evaluated commit, which `git apply` takes: changed
// and removed paths and new bindings in stele.yaml, paths in the properties of a model and relationships on a line of their
// own. The others are told in comments before it. read gives a file of that commit by its path from the top of the
// repository, and fs.ErrNotExist where there is none; its other errors are passed on.
func Patch(r *drift.Report, read func(name string) ([]byte, error)) ([]byte, error) {
	p := &patch{report: r, read: read, before: map[string][]byte{}, settings: map[string][]byte{}, models: map[string]*modelText{}}
	var byHand bytes.Buffer
	for _, f := range r.Findings {
		err := p.apply(f)
		var reason undecided
		switch {
		case errors.As(err, &reason):
			fmt.Fprintf(&byHand, "#   %s %s\n#     %s (%s)\n", short(f.Fingerprint), visible(f.Message), visible(f.Fix.String()), visible(string(reason)))
		case err != nil:
			return nil, err
		}
	}
	var out bytes.Buffer
	if byHand.Len() > 0 {
		out.WriteString("# Not in this patch:\n")
		out.Write(byHand.Bytes())
	}
	after := p.settings
	for name, m := range p.models {
		after[name] = m.bytes()
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		out.Write(Unified(name, p.before[name], after[name]))
	}
	return out.Bytes(), nil
}

// undecided says why a fix is left to a person.
type undecided string

func (u undecided) Error() string { return string(u) }

// patch is what has been changed so far.
type patch struct {
	report   *drift.Report
	read     func(string) ([]byte, error)
	before   map[string][]byte // texts as the commit has them; nil for a new file
	settings map[string][]byte // changed texts of stele.yaml
	models   map[string]*modelText
}

func (p *patch) apply(f drift.Finding) error {
	switch {
	case f.Fix.Action == "":
		return nil // another fix settles it
	case f.Fix.File == "":
		return undecided("the model is not in the commit")
	case f.Fix.Section != "":
		return p.settle(f.Fix)
	}
	switch f.Check {
	case drift.Existence:
		if f.Fix.Action == "change" && f.Fix.New == "" {
			return undecided("only a person knows where the code is")
		}
		m, err := p.model(f.Fix.File)
		if err != nil {
			return err
		}
		return m.changePath(f.Fix.Line, f.Fix.Old, f.Fix.New)
	case drift.AbsentDependency:
		m, err := p.model(f.Fix.File)
		if err != nil {
			return err
		}
		return m.removeRelationship(f.Fix.Line)
	case drift.UndocumentedDependency:
		m, err := p.model(f.Fix.File)
		if err != nil {
			return err
		}
		return m.addRelationship(f.Element, f.Subject, f.Fix.New)
	case drift.LanguageMismatch, drift.UndocumentedCode, drift.AmbiguousBinding, drift.DanglingReference:
	}
	return undecided("it needs a decision")
}

// original reads a file once; nil is one that is not there.
func (p *patch) original(name string) ([]byte, error) {
	if text, ok := p.before[name]; ok {
		return text, nil
	}
	text, err := p.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	p.before[name] = text
	return text, nil
}

func (p *patch) model(name string) (*modelText, error) {
	if m, ok := p.models[name]; ok {
		return m, nil
	}
	text, err := p.original(name)
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, undecided("the commit has no such file")
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".dsl", ".c4", ".likec4", ".puml", ".plantuml", ".iuml", ".mmd", ".mermaid":
	default:
		return nil, undecided("a model in this format is not changed by a program")
	}
	m := newModelText(name, text)
	p.models[name] = m
	return m, nil
}

// settle changes stele.yaml.
func (p *patch) settle(fix drift.Fix) error {
	text, ok := p.settings[fix.File]
	if !ok {
		var err error
		if text, err = p.original(fix.File); err != nil {
			return err
		}
	}
	changed, err := settled(text, fix)
	if err != nil {
		return undecided(err.Error())
	}
	p.settings[fix.File] = changed
	return nil
}

// settled applies a fix to the text of a stele.yaml.
func settled(text []byte, fix drift.Fix) ([]byte, error) {
	switch {
	case fix.Section == "ignore" && fix.Action == "add":
		return config.AddIgnore(text, fix.New)
	case fix.Section == "bindings" && fix.Action == "add":
		return config.AddBinding(text, fix.Element, fix.New)
	case fix.Section == "bindings" && fix.Old == "" && fix.Action == "remove":
		return config.SetBinding(text, fix.Element)
	case fix.Section != "bindings" || fix.Action == "change" && fix.New == "":
		return nil, undecided("it needs a decision")
	}
	settings, err := config.ParseRepository(config.RepositoryFile, text)
	if err != nil {
		return nil, err
	}
	var globs []string
	found := false
	for key, written := range settings.Bindings {
		if c4model.FoldKey(key) != c4model.FoldKey(fix.Element) {
			continue
		}
		for _, glob := range written {
			switch pattern, err := c4model.NormalizePattern(glob); {
			case err != nil || strings.TrimPrefix(pattern, "/") != strings.TrimPrefix(fix.Old, "/"):
				globs = append(globs, glob)
			default:
				found = true
				if fix.Action == "change" {
					globs = append(globs, fix.New)
				}
			}
		}
	}
	if !found {
		return nil, undecided("it is not written there as it is read")
	}
	return config.SetBinding(text, fix.Element, globs...)
}

// Unified is the diff of one file as git writes it; before is nil for a new file, and nothing when both are equal.
func Unified(name string, before, after []byte) []byte {
	lines := diff.Diff("a", before, "b", after)
	if lines == nil {
		return nil
	}
	_, hunks, _ := bytes.Cut(lines, []byte("\n+++ b\n"))
	var out bytes.Buffer
	from := quoted("a/" + name)
	to := quoted("b/" + name)
	fmt.Fprintf(&out, "diff --git %s %s\n", from, to)
	if before == nil {
		out.WriteString("new file mode 100644\n")
		from = "/dev/null"
	}
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", ended(from), ended(to))
	out.Write(hunks)
	return out.Bytes()
}

// quoted writes a name as git does where a line would not show where it ends.
func quoted(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f || r == '\uFFFD' }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// ended marks where a name with blanks ends.
func ended(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}
