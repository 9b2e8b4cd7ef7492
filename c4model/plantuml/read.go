package plantuml

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// Extensions and MermaidExtensions are those of files with diagrams.
var (
	Extensions        = []string{".puml", ".plantuml", ".pu", ".iuml", ".wsd"}
	MermaidExtensions = []string{".mmd", ".mermaid"}
)

// reader reads the diagrams of one model.
type reader struct {
	ctx          context.Context //nolint:containedctx // lives as long as one Read
	root         *c4model.Root
	left         int64 // bytes that may still be read
	files        int
	expanded     int
	declarations int
	relations    int
	diagrams     []*diagram
	warnings     []c4model.Warning
	unheard      int
}

// Read reads C4-PlantUML: a file, or all diagrams of a folder and those below as one model, except folders of the names
// in without. Every error about the content is a *problem.Error with code invalid.
func Read(ctx context.Context, root *c4model.Root, name string, without []string) (*c4model.Model, error) {
	return read(ctx, root, name, without, Extensions, (*reader).plantUML)
}

// ReadMermaid does the same for the C4 diagrams of Mermaid.
func ReadMermaid(ctx context.Context, root *c4model.Root, name string, without []string) (*c4model.Model, error) {
	return read(ctx, root, name, without, MermaidExtensions, (*reader).mermaid)
}

func read(ctx context.Context, root *c4model.Root, name string, without, extensions []string, one func(r *reader, file string, alone bool) error) (*c4model.Model, error) {
	r := &reader{ctx: ctx, root: root, left: MaxBytes}
	name = path.Clean(name)
	names := []string{name}
	info, err := root.Stat(name)
	if err != nil {
		return nil, problem.Invalidf("", "%s: found no such file or folder; expected diagrams inside the root folder", name).Because(err)
	}
	if info.IsDir() {
		if names, err = root.Search(ctx, name, MaxDepth, MaxEntries, without); err != nil {
			return nil, err
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(extensions, strings.ToLower(path.Ext(n))) })
		slices.Sort(names)
	}
	for _, n := range names {
		if err := one(r, n, !info.IsDir()); err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(r.diagrams, func(d *diagram) bool { return d.isC4() }) {
		return nil, problem.Invalidf("", "%s: found no C4 diagram; expected calls such as Container(alias, \"label\")", name).
			Fix("name a file or folder with diagrams that include C4-PlantUML, or that are C4 diagrams of Mermaid")
	}
	return r.merge()
}

// content reads a file within the limits of the model.
func (r *reader) content(file string) (string, error) {
	if r.files++; r.files > MaxFiles {
		return "", problem.Invalidf("", "%s: found more than %d files; expected at most that many in one model", file, MaxFiles).Fix("name the folder of one model")
	}
	data, err := r.root.Read(r.ctx, file, r.left)
	var size *c4model.SizeError
	switch {
	case errors.As(err, &size):
		return "", problem.Invalidf("", "%s: found more than %d bytes in the files of one model; expected at most that many", file, MaxBytes).
			Fix("name the folder of one model").Because(err)
	case r.ctx.Err() != nil:
		return "", r.ctx.Err()
	case err != nil:
		return "", problem.Invalidf("", "%s: cannot be read (%v); expected a readable file", file, err).Because(err)
	}
	r.left -= int64(len(data))
	return c4model.Text(file, data)
}

func (r *reader) load(file string) ([]line, error) {
	content, err := r.content(file)
	if err != nil {
		return nil, err
	}
	return lines(file, content)
}

var startOf = regexp.MustCompile(`^@start(\w*)`)

// plantUML reads the diagrams of a file: each from @startuml to @enduml, or the whole file where there is none.
func (r *reader) plantUML(file string, _ bool) error {
	all, err := r.load(file)
	if err != nil {
		return err
	}
	marked := slices.ContainsFunc(all, func(l line) bool { return strings.HasPrefix(l.text, "@start") })
	var d *diagram
	other := false // inside a diagram of another language
	if !marked {
		d = newDiagram(r)
	}
	for _, l := range all {
		if m := startOf.FindStringSubmatch(l.text); m != nil {
			if d != nil && d.isC4() {
				return problem.Invalidf("", "%sfound %s inside another diagram; expected @enduml", l.at, c4model.Quote(l.text)).Fix("end the diagram before this line")
			}
			if other = m[1] != "uml"; !other {
				d = newDiagram(r)
			}
			continue
		}
		if strings.HasPrefix(l.text, "@end") {
			if d != nil {
				if err := r.add(d); err != nil {
					return err
				}
			}
			d, other = nil, false
			continue
		}
		if d == nil || other {
			continue
		}
		if err := d.line(l); err != nil {
			return err
		}
	}
	if d == nil {
		return nil
	}
	if marked && d.isC4() {
		return problem.Invalidf("", "%sfound the end of the file inside a diagram; expected @enduml", all[len(all)-1].at).Fix("end the diagram with @enduml")
	}
	return r.add(d)
}

func (r *reader) add(d *diagram) error {
	if err := d.finish(); err != nil {
		return err
	}
	r.diagrams = append(r.diagrams, d)
	return nil
}

var mermaidHeader = regexp.MustCompile(`^C4(Context|Container|Component|Dynamic|Deployment)\b`)

// mermaid reads a file of Mermaid, which is one diagram. In a folder, diagrams of other kinds are passed over.
func (r *reader) mermaid(file string, alone bool) error {
	content, err := r.content(file)
	if err != nil {
		return err
	}
	all := mermaidLines(file, content)
	var header []string
	if len(all) > 0 {
		header = mermaidHeader.FindStringSubmatch(all[0].text)
	}
	if header == nil {
		if !alone {
			return nil
		}
		at, found, fix := c4model.Position{File: file, Line: 1}, "the end of the file", "name a C4 diagram"
		if len(all) > 0 {
			at, found = all[0].at, c4model.Quote(all[0].text)
		}
		if strings.HasPrefix(found, `"@startuml`) {
			fix = "this is PlantUML; give the file the extension .puml"
		}
		return problem.Invalidf("", "%sfound %s; expected C4Context, C4Container, C4Component, C4Dynamic or C4Deployment", at, found).Fix("%s", fix)
	}
	d := newDiagram(r)
	d.header, d.dynamic = true, header[1] == "Dynamic"
	for _, l := range all[1:] {
		if strings.HasPrefix(l.text, "!") { // the preprocessor is PlantUML's
			continue
		}
		if err := d.line(l); err != nil {
			return err
		}
	}
	return r.add(d)
}

func (r *reader) warn(w c4model.Warning) {
	if len(r.warnings) >= MaxWarnings {
		r.unheard++
		return
	}
	r.warnings = append(r.warnings, w)
}

func (r *reader) warnf(at c4model.Position, format string, args ...any) {
	r.warn(c4model.Warning{Position: at, Message: fmt.Sprintf(format, args...)})
}
