package structurizr

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// workspace handles "workspace [name] [description] {" and "workspace extends <file> {".
func (p *parser) workspace(s statement) error {
	if !s.opens {
		return p.refuse(s, "workspace without a block", "workspace [name] [description] {")
	}
	if strings.EqualFold(s.arg(1), "extends") && !s.tokens[1].quoted {
		if len(s.tokens) != 3 {
			return p.refuse(s, c4model.Quote(s.text()), "workspace extends <file> {")
		}
		if err := p.extends(s, s.arg(2)); err != nil {
			return err
		}
	} else {
		if len(s.tokens) > 3 {
			return p.refuse(s, c4model.Quote(s.text()), "workspace [name] [description] {")
		}
		p.name, p.description = s.arg(1), s.arg(2)
	}
	return p.push(s, &block{kind: inWorkspace, word: "workspace", seen: make(map[string]bool)})
}

// extends reads the workspace that this one adds to.
func (p *parser) extends(s statement, reference string) error {
	name, err := p.root.Resolve(s.at.File, reference)
	if err == nil {
		_, err = p.root.Stat(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return p.refuse(s, "no file "+c4model.Quote(reference), "the workspace that this one extends, inside the root folder").
			Fix("check the path; it is relative to this file").Because(err)
	}
	if errors.Is(err, c4model.ErrURL) || errors.Is(err, c4model.ErrOutside) {
		p.leftOut(s.at, "the workspace %s was not read: %v", c4model.Quote(reference), err)
		return nil
	}
	if err := p.enter(s.at, name); err != nil {
		return err
	}
	defer p.leave()
	if strings.HasSuffix(strings.ToLower(name), ".json") {
		if p.files++; p.files > MaxIncludedFiles {
			return p.refuse(s, "too many included files", "fewer")
		}
		return readJSON(p.ctx, p.root, name, p.builder)
	}
	return p.workspaceFile(name, s.at)
}

// enter guards against files that include themselves.
func (p *parser) enter(at c4model.Position, name string) error {
	if len(p.reading) == 0 {
		p.reading = append(p.reading, at.File)
	}
	if slices.Contains(p.reading, name) {
		return problem.Invalidf("", "%sfound a circle of files, %s; expected files that do not include themselves", at, strings.Join(append(slices.Clone(p.reading), name), " → "))
	}
	if len(p.reading) > MaxIncludeDepth {
		return problem.Invalidf("", "%sfound files included more than %d deep; expected at most that", at, MaxIncludeDepth)
	}
	p.reading = append(p.reading, name)
	return nil
}

func (p *parser) leave() { p.reading = p.reading[:len(p.reading)-1] }

// include reads a file, or every file of a folder, as if its lines stood here. Lines of a file may open blocks that the
// including file closes.
func (p *parser) include(s statement) error {
	if len(s.tokens) != 2 || s.opens {
		return p.refuse(s, c4model.Quote(s.text()), "!include <file or folder>")
	}
	reference := s.arg(1)
	name, err := p.root.Resolve(s.at.File, reference)
	folder := false
	if err == nil {
		info, statErr := p.root.Stat(name)
		folder = statErr == nil && info.IsDir()
		if errors.Is(statErr, c4model.ErrOutside) {
			err = statErr
		}
	}
	if err != nil {
		p.leftOut(s.at, "%s was not included: %v", c4model.Quote(reference), err)
		return nil
	}
	files := []string{name}
	if folder {
		var skipped []string
		files, skipped, err = p.root.List(p.ctx, name, MaxIncludedFiles)
		if err != nil {
			return problem.Invalidf("", "%sthe folder %s cannot be included (%v); expected a folder of DSL files", s.at, c4model.Quote(reference), err).Because(err)
		}
		for _, link := range skipped {
			p.leftOut(s.at, "%s was not included: %v", c4model.Quote(link), c4model.ErrOutside)
		}
	}
	for _, file := range files {
		if err := p.includeFile(s, file); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) includeFile(s statement, file string) error {
	if err := p.enter(s.at, file); err != nil {
		return err
	}
	defer p.leave()
	text, err := p.open(file, s.at)
	if err != nil {
		return err
	}
	return p.lines(file, text, p.line)
}

// decisionSource is an "!adrs" statement.
type decisionSource struct {
	at      c4model.Position
	folder  string
	element string
	exclude []*regexp.Regexp
}

// adrs handles "!adrs <folder> [importer] [{ exclude … }]".
func (p *parser) adrs(s statement) error {
	if len(s.tokens) < 2 || len(s.tokens) > 3 {
		return p.refuse(s, c4model.Quote(s.text()), s.tokens[0].text+" <folder> [type]")
	}
	source := &decisionSource{at: s.at, folder: s.arg(1)}
	if len(p.blocks) > 0 && p.top().kind == inElement {
		source.element = p.top().nodes[0].Key
	}
	if s.opens {
		return p.push(s, &block{kind: inDecisions, decisions: source})
	}
	return p.readDecisions(source)
}

func (p *parser) inDecisions(b *block, s statement) error {
	if s.word() != "exclude" || len(s.tokens) < 2 {
		return p.unexpected(s, "exclude <pattern>")
	}
	for _, t := range s.tokens[1:] {
		pattern, err := regexp.Compile(`^(?:` + t.text + `)$`)
		if err != nil {
			return p.refuse(s, "the pattern "+c4model.Quote(t.text), "a regular expression").Because(err)
		}
		b.decisions.exclude = append(b.decisions.exclude, pattern)
	}
	return nil
}

// readDecisions reads the folder. A folder that cannot be read is a warning: the model is whole without it.
func (p *parser) readDecisions(source *decisionSource) error {
	name, err := p.root.Resolve(source.at.File, source.folder)
	var decisions []c4model.Decision
	var warnings []c4model.Warning
	if err == nil {
		decisions, warnings, err = c4model.ReadDecisions(p.ctx, p.root, name, source.exclude...)
	}
	if p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	if err != nil {
		reason := err.Error()
		if e, ok := problem.As(err); ok {
			reason = e.Detail
		}
		p.leftOut(source.at, "the decisions in %s were not read: %s", c4model.Quote(source.folder), reason)
		return nil
	}
	for _, w := range warnings {
		p.addWarning(w.Position, w.NotIncluded, "%s", w.Message)
	}
	for _, d := range decisions {
		d.Element = source.element
		if i := slices.IndexFunc(p.decisions, func(o c4model.Decision) bool { return o.File == d.File }); i >= 0 {
			if d.Element != "" { // the same folder on the workspace and on an element: it belongs to the element
				p.decisions[i].Element = d.Element
			}
			continue
		}
		p.decisions = append(p.decisions, d)
	}
	return nil
}
