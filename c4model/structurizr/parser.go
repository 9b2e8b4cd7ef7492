package structurizr

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// ReadDSL reads a Structurizr DSL file inside root, with everything it includes or extends. The name is slash-separated
// and relative to the root. Every error about the content is a *problem.Error with code invalid.
func ReadDSL(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error) {
	p := &parser{builder: newBuilder(), ctx: ctx, root: root, constants: make(map[string]string), archetypes: make(map[string]*archetype), undefined: make(map[string]bool)}
	if err := p.workspaceFile(name, c4model.Position{}); err != nil {
		return nil, err
	}
	return p.model()
}

// parser reads DSL files into its builder.
type parser struct {
	*builder
	ctx  context.Context //nolint:containedctx // a parser lives as long as the call that made it
	root *c4model.Root

	blocks       []*block
	constants    map[string]string
	undefined    map[string]bool // names of "${name}" already warned about
	archetypes   map[string]*archetype
	hierarchical bool
	found        bool // the file being read has its workspace

	reading  []string // files being read, outermost first
	files    int
	bytes    int64
	expanded int
	steps    int // work of bulk operations

	canonical   map[string]*node // by canonical name, lower case
	canonicalOf int              // how many nodes it was made of
}

// blockKind says which words a block understands.
type blockKind string

const (
	inWorkspace    blockKind = "workspace"
	inModel        blockKind = "model"
	inElement      blockKind = "element"
	inElements     blockKind = "!elements"
	inRelationship blockKind = "relationship"
	inProperties   blockKind = "properties"
	inDeployment   blockKind = "deployment"
	inArchetypes   blockKind = "archetypes"
	inArchetype    blockKind = "archetype"
	inDecisions    blockKind = "!adrs"
	inSkipped      blockKind = "skipped"
)

// block is an open "{". Groups are blocks of the kind they stand in, with one more group name.
type block struct {
	kind   blockKind
	opened c4model.Position
	word   string // what opened it, for messages

	nodes     []*node  // inElement: one; inElements: those that matched
	standsIn  *node    // inElements: the element around the block
	links     []*link  // inRelationship
	groups    []string // names of open groups inside the element or model
	group     bool     // this block is a group: it takes members but describes nothing
	within    bool     // inside an enterprise block
	archetype *archetype
	path      string            // inDeployment: what hierarchical identifiers start with
	set       func(k, v string) // inProperties
	decisions *decisionSource   // inDecisions
	open      int               // inSkipped: inner blocks still open
	script    bool              // inSkipped: any line that starts with "}" closes
	seen      map[string]bool   // inWorkspace: blocks that may stand once
}

// workspaceFile reads a file that holds a whole workspace, and what it extends. It is named at from, the zero position for
// the file that was asked for.
func (p *parser) workspaceFile(name string, from c4model.Position) error {
	text, err := p.open(name, from)
	if err != nil {
		return err
	}
	outer := p.found
	p.found = false
	defer func() { p.found = outer }()
	if err := p.lines(name, text, p.line); err != nil {
		return err
	}
	if len(p.blocks) > 0 {
		b := p.blocks[len(p.blocks)-1]
		return problem.Invalidf("", "%sfound the end of the file inside %s; expected } to close the block that opens here", b.opened, b.word).
			Fix("close every block with a } at the start of a line")
	}
	if !p.found {
		return problem.Invalidf("", "%s:1: found no workspace; expected a file that starts with workspace { … }", name).
			Fix("name the file that holds the workspace; fragments are read through it by !include")
	}
	return nil
}

// topLevel handles a line outside every block.
func (p *parser) topLevel(l logicalLine) error {
	s, err := p.statement(l)
	if err != nil {
		return err
	}
	if done, err := p.anywhere(s); done || err != nil {
		return err
	}
	if s.word() != "workspace" {
		return p.unexpected(s, "workspace, !const, !var or !include").Fix("if this is a fragment, name the workspace file that includes it")
	}
	if p.found {
		return p.refuse(s, "a second workspace", "one workspace in a file").Fix("keep the second one in a file of its own")
	}
	p.found = true
	return p.workspace(s)
}

// lines hands every logical line of a file to do.
func (p *parser) lines(file, text string, do func(logicalLine) error) error {
	l := newLexer(file, text)
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := p.ctx.Err(); err != nil {
				return err
			}
		}
		line, ok, err := l.next()
		if err != nil || !ok {
			return err
		}
		if err := do(line); err != nil {
			return err
		}
	}
}

// open reads a file and counts it against the limits.
func (p *parser) open(name string, from c4model.Position) (string, error) {
	if p.files++; p.files > MaxIncludedFiles {
		return "", problem.Invalidf("", "%sfound more than %d included files; expected at most that many", from, MaxIncludedFiles)
	}
	if from.File == "" {
		from = c4model.Position{File: name, Line: 1}
	}
	data, err := p.root.Read(p.ctx, name, MaxDSLBytes-p.bytes)
	var size *c4model.SizeError
	switch {
	case errors.As(err, &size):
		return "", problem.Invalidf("", "%sfound more than %d bytes of DSL with %s; expected at most that many in one model", from, MaxDSLBytes, name).
			Fix("name the model file itself, or split the model").Because(err)
	case errors.Is(err, fs.ErrNotExist):
		return "", problem.Invalidf("", "%sfound no file %s; expected it inside the root folder", from, name).
			Fix("check the path; it is relative to the file that names it").Because(err)
	case p.ctx.Err() != nil:
		return "", p.ctx.Err()
	case err != nil:
		return "", problem.Invalidf("", "%sthe file %s cannot be read (%v); expected a readable text file", from, name, err).Because(err)
	}
	p.bytes += int64(len(data))
	return c4model.Text(name, data)
}

// statement is a line ready to be understood: constants replaced, identifier and brace taken off.
type statement struct {
	at         c4model.Position
	identifier string // before "=", as written
	tokens     []token
	opens      bool // the line ends in "{"
}

// word gives the first token as a keyword, "" when only a brace is left.
func (s statement) word() string {
	if len(s.tokens) == 0 {
		return ""
	}
	return s.tokens[0].keyword()
}

// arg gives token i, "" when there is none.
func (s statement) arg(i int) string {
	if i >= len(s.tokens) {
		return ""
	}
	return s.tokens[i].text
}

func (s statement) text() string {
	words := make([]string, len(s.tokens))
	for i, t := range s.tokens {
		words[i] = t.text
	}
	return strings.Join(words, " ")
}

var identifierPattern = regexp.MustCompile(`^[\p{L}\p{N}_][a-zA-Z0-9_-]*$`)

func (p *parser) statement(l logicalLine) (statement, error) {
	s := statement{at: l.at, tokens: l.tokens}
	if last := s.tokens[len(s.tokens)-1]; last.is("{") {
		s.opens = true
		s.tokens = s.tokens[:len(s.tokens)-1]
	} else if l.unclosed {
		if strings.HasSuffix(last.text, "{") {
			return s, problem.Invalidf("", "%sfound %s without its closing quote; expected \" before the {", l.at, c4model.Quote(last.text)).Fix("close the quote")
		}
		p.warn(l.at, "the quote before %s is not closed; the text ends with the line", c4model.Quote(last.text))
	}
	for i := range s.tokens {
		text, err := p.substitute(s.tokens[i].text, l.at)
		if err != nil {
			return s, err
		}
		s.tokens[i].text = text
	}
	if len(s.tokens) >= 2 && s.tokens[1].is("=") {
		s.identifier = s.tokens[0].text
		if len(s.identifier) > MaxIdentifierBytes || !identifierPattern.MatchString(s.identifier) {
			return s, problem.Invalidf("", "%sfound the identifier %s; expected at most %d letters, digits, _ and -, not starting with -",
				l.at, c4model.Quote(s.identifier), MaxIdentifierBytes).
				Fix("rename the identifier")
		}
		s.tokens = s.tokens[2:]
		if len(s.tokens) == 0 {
			return s, problem.Invalidf("", "%sfound nothing after %s =; expected an element, a relationship or a group", l.at, s.identifier)
		}
	}
	return s, nil
}

var constantPattern = regexp.MustCompile(`\$\{[a-zA-Z0-9_.-]+\}`)

// substitute replaces "${name}". The reference implementation falls back to environment variables; a model must not be
// able to read those of whoever imports it, so an unknown name stays as written.
func (p *parser) substitute(text string, at c4model.Position) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	budget := MaxExpandedBytes - p.expanded
	replaced := constantPattern.ReplaceAllStringFunc(text, func(match string) string {
		name := match[2 : len(match)-1]
		value, ok := p.constants[name]
		if !ok {
			if !p.undefined[name] {
				p.undefined[name] = true
				p.warn(at, "${%s} is no constant of this model and stays as written; environment variables are never read", name)
			}
			return match
		}
		if budget -= len(value); budget < 0 {
			return ""
		}
		return value
	})
	if budget < 0 {
		return "", problem.Invalidf("", "%sfound constants that expand to more than %d bytes; expected at most that in one model", at, MaxExpandedBytes)
	}
	p.expanded = MaxExpandedBytes - budget
	return replaced, nil
}

func (p *parser) top() *block { return p.blocks[len(p.blocks)-1] }

// push opens a block.
func (p *parser) push(s statement, b *block) error {
	if len(p.blocks) >= MaxNesting {
		return problem.Invalidf("", "%sfound more than %d nested blocks; expected at most that many", s.at, MaxNesting)
	}
	b.opened = s.at
	if b.word == "" {
		b.word = c4model.Quote(s.text())
	}
	p.blocks = append(p.blocks, b)
	return nil
}

// line handles a line where it stands.
func (p *parser) line(l logicalLine) error {
	if len(p.blocks) == 0 {
		return p.topLevel(l)
	}
	b := p.top()
	if b.kind == inSkipped {
		return p.skipped(b, l)
	}
	if l.tokens[0].is("}") {
		if len(l.tokens) > 1 && l.tokens[len(l.tokens)-1].is("{") {
			return problem.Invalidf("", "%sfound } and { on one line; expected } at the start of its own line", l.at)
		}
		p.blocks = p.blocks[:len(p.blocks)-1]
		if b.kind == inDecisions {
			return p.readDecisions(b.decisions)
		}
		return nil
	}
	s, err := p.statement(l)
	if err != nil {
		return err
	}
	if done, err := p.anywhere(s); done || err != nil {
		return err
	}
	switch b.kind {
	case inWorkspace:
		return p.inWorkspace(b, s)
	case inModel:
		return p.inModel(b, s)
	case inElement, inElements:
		return p.inElement(b, s)
	case inRelationship:
		return p.inRelationship(b, s)
	case inProperties:
		return p.property(b, s)
	case inDeployment:
		return p.inDeployment(b, s)
	case inArchetypes:
		return p.inArchetypes(s)
	case inArchetype:
		return p.inArchetype(b, s)
	case inDecisions:
		return p.inDecisions(b, s)
	case inSkipped: // handled above
	}
	return p.unexpected(s, "nothing here")
}

// skip opens a block whose content is passed over, when the statement opens one.
func (p *parser) skip(s statement) error {
	if !s.opens {
		return nil
	}
	return p.push(s, &block{kind: inSkipped})
}

// skipped counts braces. Constants are still taken from views, because a workspace that extends this one may use them.
func (p *parser) skipped(b *block, l logicalLine) error {
	first, last := l.tokens[0], l.tokens[len(l.tokens)-1]
	closes := first.is("}") || b.script && !first.quoted && strings.HasPrefix(first.text, "}")
	opens := last.is("{")
	switch {
	case closes && !opens:
		if b.open == 0 {
			p.blocks = p.blocks[:len(p.blocks)-1]
		} else {
			b.open--
		}
	case opens && !closes:
		if b.open++; b.open+len(p.blocks) > MaxNesting {
			return problem.Invalidf("", "%sfound more than %d nested blocks; expected at most that many", l.at, MaxNesting)
		}
	case !b.script && isConstant(first.keyword()):
		s, err := p.statement(l)
		if err != nil {
			return err
		}
		return p.constant(s)
	}
	return nil
}

func isConstant(word string) bool {
	return word == "!const" || word == "!constant" || word == "!var"
}

// anywhere handles what is legal in every block.
func (p *parser) anywhere(s statement) (done bool, err error) {
	word := s.word()
	switch {
	case isConstant(word):
		return true, p.constant(s)
	case word == "!include":
		return true, p.include(s)
	case word == "!identifiers":
		return true, p.identifierScope(s)
	case word == "!script" || word == "!plugin" || word == "!components":
		p.leftOut(s.at, "%s was not run, so what it would add to the model is missing", c4model.Quote(s.text()))
		if !s.opens {
			return true, nil
		}
		return true, p.push(s, &block{kind: inSkipped, script: word == "!script"})
	case word == "!impliedrelationships" || word == "!docs":
		return true, p.skip(s)
	case word == "!adrs" || word == "!decisions":
		return true, p.adrs(s)
	}
	return false, nil
}

func (p *parser) constant(s statement) error {
	if len(s.tokens) != 3 || s.opens {
		return p.refuse(s, c4model.Quote(s.text()), s.tokens[0].text+" <name> <value>")
	}
	name := s.arg(1)
	if !constantPattern.MatchString("${" + name + "}") {
		return p.refuse(s, "the name "+c4model.Quote(name), "letters, digits, _, . and -")
	}
	p.constants[name] = s.arg(2)
	return nil
}

func (p *parser) identifierScope(s statement) error {
	switch strings.ToLower(s.arg(1)) {
	case "flat":
		p.hierarchical = false
	case "hierarchical":
		p.hierarchical = true
	default:
		return p.refuse(s, c4model.Quote(s.text()), "!identifiers flat or !identifiers hierarchical")
	}
	return nil
}

// refuse makes the error of this reader.
func (p *parser) refuse(s statement, found, expected string) *problem.Error {
	return problem.Invalidf("", "%sfound %s; expected %s", s.at, found, expected)
}

// unexpected refuses a statement that does not belong into the open block.
func (p *parser) unexpected(s statement, expected string) *problem.Error {
	found := c4model.Quote(s.text())
	if len(s.tokens) == 0 {
		found = "a { alone on its line"
	}
	where := ""
	if len(p.blocks) > 0 {
		where = " inside " + p.top().word
	}
	e := problem.Invalidf("", "%sfound %s%s; expected %s", s.at, found, where, expected)
	switch {
	case len(s.tokens) == 0:
		return e.Fix("put the { at the end of the line before")
	case strings.ContainsAny(found, "“”„"):
		return e.Fix("use straight quotes")
	}
	return e.Fix("move or correct this line")
}
