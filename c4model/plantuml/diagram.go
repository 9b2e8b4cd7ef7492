package plantuml

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// declaration is one call that names an element, a boundary or a node of a deployment.
type declaration struct {
	alias, label, description, technology, url string

	tags       []string
	properties map[string]string
	level      c4model.Level // "" for a boundary that is only a group, and for a node
	boundary   bool
	external   bool
	within     *declaration // boundary around it in this diagram
	instance   bool         // a node, or an element inside one
	at         c4model.Position
}

// relation is one call that relates two aliases.
type relation struct {
	from, to                string
	description, technology string
	tags                    []string
	at                      c4model.Position
	native                  bool // an arrow of PlantUML itself, which counts only between declared aliases
}

// block is what a { opened.
type block struct {
	declaration *declaration // nil for a block of PlantUML's own
	node        bool
	what        string
	at          c4model.Position
}

// diagram is one diagram while it is read, and then what it says.
type diagram struct {
	preprocessor

	model        *reader
	title        string
	declarations []*declaration
	relations    []*relation
	byAlias      map[string]*declaration // the first of each
	blocks       []block
	pending      *declaration      // a boundary whose { may stand on the next line
	properties   map[string]string // those that the next element has
	open         string            // a call that is not closed yet
	openAt       c4model.Position
	openLines    int
	skipTo       *regexp.Regexp // inside a text of PlantUML: what ends it
	skipped      line           // what started it
	including    int
	dynamic      bool // its relationships are steps
	sequence     bool
	header       bool // it says of itself that it is a C4 diagram
	unknown      []call
	broken       error // found in a line that no C4 diagram has; counts only when this is one
}

func newDiagram(r *reader) *diagram {
	return &diagram{preprocessor: newPreprocessor(), model: r, byAlias: make(map[string]*declaration)}
}

// isC4 tells whether anything in the diagram is about a C4 model.
func (d *diagram) isC4() bool { return len(d.declarations) > 0 || len(d.relations) > 0 || d.header }

// texts are the statements of PlantUML that hold free text on several lines, with what ends them.
var texts = []struct{ start, end *regexp.Regexp }{
	{regexp.MustCompile(`(?i)^[hr]?note\b`), regexp.MustCompile(`(?i)^end\s*[hr]?note\b`)},
	{regexp.MustCompile(`(?i)^legend\b`), regexp.MustCompile(`(?i)^end\s*legend\b`)},
	{regexp.MustCompile(`(?i)^(?:(?:left|right|center)\s+)?header$`), regexp.MustCompile(`(?i)^end\s*header\b`)},
	{regexp.MustCompile(`(?i)^(?:(?:left|right|center)\s+)?footer$`), regexp.MustCompile(`(?i)^end\s*footer\b`)},
	{regexp.MustCompile(`(?i)^title$`), regexp.MustCompile(`(?i)^end\s*title\b`)},
	{regexp.MustCompile(`(?i)^ref\s+over\b[^:]*$`), regexp.MustCompile(`(?i)^end\s*ref\b`)},
	{regexp.MustCompile(`(?i)^<style>`), regexp.MustCompile(`(?i)</style>`)},
}

// singleNote is a note that has its text on its own line.
var singleNote = regexp.MustCompile(`(?i)^[hr]?note\b(?:\s+"[^"]*"\s+as\b.*|.*:.*)$`)

var nativeArrow = regexp.MustCompile(`^(\w+)\s+(<{0,2})[-.~=]+(\[[^\]]*\])?(?:left|right|up|down|l|r|u|d)?[-.~=]*(>{0,2})\s+(\w+)\s*(?::\s*(.*))?$`)

// line handles one line of the diagram.
func (d *diagram) line(l line) error {
	if d.open != "" {
		if d.openLines++; d.openLines > MaxCallLines {
			return problem.Invalidf("", "%sfound more than %d lines in the call %s; expected )", d.openAt, MaxCallLines, c4model.Quote(d.open)).Fix("close the call that starts here")
		}
		l = line{text: d.open + "\n" + l.text, at: d.openAt}
		d.open = ""
		return d.statement(l)
	}
	d.openLines = 0
	if done, err := d.preprocess(l); done || err != nil {
		return err
	}
	if d.skipTo != nil {
		if d.skipTo.MatchString(l.text) {
			d.skipTo = nil
		}
		return nil
	}
	if d.macro(l.text) {
		return d.statement(l)
	}
	for _, t := range texts {
		if t.start.MatchString(l.text) && !singleNote.MatchString(l.text) {
			if !t.end.MatchString(l.text) {
				d.skipTo, d.skipped = t.end, l
			}
			return nil
		}
	}
	return d.statement(l)
}

// macro tells whether a line starts with a call that says something about the model.
func (d *diagram) macro(text string) bool {
	m := callStart.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	_, ok := macros[m[1]]
	return ok
}

// statement handles a line that is no text and not for the preprocessor.
func (d *diagram) statement(l line) error {
	if d.pending != nil {
		boundary := d.pending
		d.pending = nil
		if strings.HasPrefix(l.text, "{") {
			if err := d.push(block{declaration: boundary, node: boundary.instance, what: boundary.label, at: boundary.at}); err != nil {
				return err
			}
			return d.rest(l, l.text[1:])
		}
	}
	if strings.HasPrefix(l.text, "}") {
		if len(d.blocks) == 0 {
			d.breaks(problem.Invalidf("", "%sfound } without a block that it could close; expected a call of C4-PlantUML", l.at).
				Fix("remove this line, or the } that is one too many before it"))
			return nil
		}
		d.blocks = d.blocks[:len(d.blocks)-1]
		return d.rest(l, l.text[1:])
	}
	if m := callStart.FindStringSubmatch(l.text); m != nil {
		return d.call(l, m[1])
	}
	if title, ok := strings.CutPrefix(l.text, "title "); ok && d.title == "" {
		d.title = plain(title)
	}
	if m := nativeArrow.FindStringSubmatch(l.text); m != nil && !strings.Contains(m[3], "hidden") {
		return d.arrow(l, m)
	}
	if strings.HasSuffix(l.text, "{") {
		return d.push(block{what: l.text, at: l.at})
	}
	return nil
}

// rest handles what stands behind a { or } on the same line.
func (d *diagram) rest(l line, text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return d.statement(line{text: text, at: l.at})
}

// breaks keeps the first fault of a line that may belong to a diagram of another kind.
func (d *diagram) breaks(err error) {
	if d.broken == nil {
		d.broken = err
	}
}

func (d *diagram) push(b block) error {
	if len(d.blocks) >= MaxNesting {
		return problem.Invalidf("", "%sfound more than %d nested blocks; expected at most that many", b.at, MaxNesting).Fix("flatten the diagram")
	}
	d.blocks = append(d.blocks, b)
	return nil
}

// call handles a line that starts with a call.
func (d *diagram) call(l line, name string) error {
	macro, known := macros[name]
	if !known {
		if strings.HasPrefix(l.text, name+"(") {
			d.otherCall(l, name)
		}
		if strings.HasSuffix(l.text, "{") {
			return d.push(block{what: l.text, at: l.at})
		}
		return nil
	}
	if len(l.text) > MaxCallBytes {
		return problem.Invalidf("", "%sfound a call of more than %d bytes; expected at most that", l.at, MaxCallBytes).Fix("close the call %s with a )", name)
	}
	end, unclosed := scan(l.text)
	switch {
	case unclosed:
		return problem.Invalidf("", "%sfound a text without its closing quote in %s; expected \" before the end of the line", l.at, c4model.Quote(l.text)).
			Fix("close the text; a quote inside it is written <U+0022>")
	case end < 0:
		d.open, d.openAt = l.text, l.at
		return nil
	}
	after := strings.TrimSpace(l.text[end:])
	c, err := d.parse(l, name, l.text[strings.IndexByte(l.text, '(')+1:end-1])
	if err != nil {
		return err
	}
	if i := strings.IndexAny(after, "{}"); i >= 0 {
		if after[i] == '{' {
			c.opens = true
			i++
		}
		after = after[i:]
	} else {
		after = ""
	}
	switch macro.kind {
	case aProperty:
		d.property(c)
	case anElement:
		err = d.element(c, macro)
	case aBoundary, aNode:
		err = d.boundary(c, macro)
	case aRelation:
		err = d.relation(c, macro)
	}
	if err != nil {
		return err
	}
	return d.rest(l, after)
}

// parse gives a call with its arguments, definitions replaced.
func (d *diagram) parse(l line, name, inner string) (call, error) {
	c := call{name: name, at: l.at}
	var ok bool
	if c.args, c.named, ok = arguments(inner); !ok {
		return call{}, problem.Invalidf("", "%sfound more than %d arguments; expected at most that many", l.at, MaxArguments).Fix("correct the call %s", name)
	}
	var err error
	for i := range c.args {
		if c.args[i], err = d.expand(l.at, c.args[i]); err != nil {
			return call{}, err
		}
	}
	for parameter, value := range c.named {
		if c.named[parameter], err = d.expand(l.at, value); err != nil {
			return call{}, err
		}
	}
	return c, nil
}

// otherCall handles a call that is no macro of the model.
func (d *diagram) otherCall(l line, name string) {
	switch {
	case name == "Boundary_End":
		if len(d.blocks) > 0 {
			d.blocks = d.blocks[:len(d.blocks)-1]
		}
	case drawing.MatchString(name):
	case len(d.blocks) > 0 && d.blocks[len(d.blocks)-1].declaration == nil: // a method of a class and the like
	default:
		if holds, mine := d.procedures[name]; mine && !holds {
			return
		}
		d.unknown = append(d.unknown, call{name: name, at: l.at})
	}
}

// property keeps AddProperty(name, value) for the next element.
func (d *diagram) property(c call) {
	parameters := macros["AddProperty"].parameters
	name, value := plain(c.get(parameters, "col1")), plain(c.get(parameters, "col2"))
	if name == "" || value == "" {
		return
	}
	if d.properties == nil {
		d.properties = make(map[string]string)
	}
	d.properties[name] = value
}

func (d *diagram) takeProperties() map[string]string {
	p := d.properties
	d.properties = nil
	return p
}

// declare checks and keeps a declaration, in the boundaries that are open.
func (d *diagram) declare(c call, x *declaration) error {
	if x.alias == "" {
		return problem.Invalidf("", "%sfound %s without an alias; expected %s(alias, label, …)", x.at, c.name, c.name).Fix("give the element an alias")
	}
	if len(x.alias) > MaxIdentifierBytes {
		return problem.Invalidf("", "%sfound the alias %s; expected at most %d bytes", x.at, c4model.Quote(x.alias), MaxIdentifierBytes).Fix("give it a shorter alias")
	}
	if x.label == "" {
		x.label = x.alias
	}
	if len(x.tags) > MaxTags {
		return problem.Invalidf("", "%sfound more than %d tags on one element; expected at most that many", x.at, MaxTags).Fix("keep the tags that mean something")
	}
	for _, b := range slices.Backward(d.blocks) {
		if b.node {
			x.instance = true
		} else if b.declaration != nil && x.within == nil {
			x.within = b.declaration
		}
	}
	d.declarations = append(d.declarations, x)
	if d.model.declarations++; d.model.declarations > MaxElements {
		return problem.Invalidf("", "%sfound more than %d elements; expected at most that many", x.at, MaxElements).Fix("split the model")
	}
	if d.byAlias[x.alias] == nil {
		d.byAlias[x.alias] = x
	}
	return nil
}

func (d *diagram) element(c call, m macro) error {
	parameters := m.parameters
	x := &declaration{
		alias: c.get(parameters, "alias"), label: plain(c.get(parameters, "label")), description: plain(c.get(parameters, "descr")),
		technology: plain(c.get(parameters, "techn")), url: c.get(parameters, "link"), tags: tags(c.get(parameters, "tags")),
		properties: d.takeProperties(), level: m.level, external: m.external, at: c.at,
	}
	if err := d.declare(c, x); err != nil || !c.opens {
		return err
	}
	return d.push(block{declaration: x, what: c.name + "(" + x.alias + ")", at: x.at})
}

// boundary handles boundaries and nodes, which open a block.
func (d *diagram) boundary(c call, m macro) error {
	parameters, node := m.parameters, m.kind == aNode
	x := &declaration{
		alias: c.get(parameters, "alias"), label: plain(c.get(parameters, "label")), description: plain(c.get(parameters, "descr")),
		url: c.get(parameters, "link"), tags: tags(c.get(parameters, "tags")), properties: d.takeProperties(), boundary: true, instance: node,
		level: m.level, at: c.at,
	}
	if err := d.declare(c, x); err != nil {
		return err
	}
	if !c.opens && !d.sequence {
		d.pending = x
		return nil
	}
	return d.push(block{declaration: x, node: node, what: c.name + "(" + x.alias + ")", at: x.at})
}

func tags(list string) []string {
	var out []string
	for tag := range strings.SplitSeq(list, "+") {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(out, tag) && len(out) <= MaxTags {
			out = append(out, tag)
		}
	}
	return out
}

func (d *diagram) relation(c call, m macro) error {
	d.takeProperties()
	parameters, back, both := m.parameters, m.back, m.both
	if parameters == nil {
		parameters = arrowParameters
		if len(c.args) > len(arrowParameters) {
			parameters = techArrowParameters
		}
		direction := c.get(parameters, "direction")
		left, right := strings.Contains(direction, "<"), strings.Contains(direction, ">")
		both, back = left && right, left && !right
	}
	r := &relation{
		from: c.get(parameters, "from"), to: c.get(parameters, "to"), description: plain(c.get(parameters, "label")),
		technology: plain(c.get(parameters, "techn")), tags: tags(c.get(parameters, "tags")), at: c.at,
	}
	if r.from == "" || r.to == "" {
		return problem.Invalidf("", "%sfound %s without two aliases; expected %s(from, to, label, …)", c.at, c.name, c.name).Fix("name both ends of the relationship")
	}
	if r.description == "" {
		r.description = plain(c.get(parameters, "descr"))
	}
	if len(r.tags) > MaxTags {
		return problem.Invalidf("", "%sfound more than %d tags on one relationship; expected at most that many", c.at, MaxTags).Fix("keep the tags that mean something")
	}
	if back {
		r.from, r.to = r.to, r.from
	}
	return d.relate(r, both)
}

// relate keeps a relationship, and with both the one in the other direction.
func (d *diagram) relate(r *relation, both bool) error {
	all := []*relation{r}
	if both {
		other := *r
		other.from, other.to = r.to, r.from
		all = append(all, &other)
	}
	d.relations = append(d.relations, all...)
	if d.model.relations += len(all); d.model.relations > MaxRelationships {
		return problem.Invalidf("", "%sfound more than %d relationships; expected at most that many", r.at, MaxRelationships).Fix("split the model")
	}
	return nil
}

// arrow handles "a --> b : label".
func (d *diagram) arrow(l line, m []string) error {
	r := &relation{from: m[1], to: m[5], description: plain(m[6]), at: l.at, native: true}
	if d.byAlias[r.from] == nil || d.byAlias[r.to] == nil {
		return nil // of another kind of diagram, or between things that are no elements
	}
	if m[2] != "" && m[4] == "" {
		r.from, r.to = r.to, r.from
	}
	return d.relate(r, m[2] != "" && m[4] != "")
}

// finish checks that everything is closed at the end of the diagram.
func (d *diagram) finish() error {
	if d.open != "" {
		return problem.Invalidf("", "%sfound the end of the diagram inside the call %s; expected )", d.openAt, c4model.Quote(d.open)).Fix("close the call that starts here")
	}
	if !d.isC4() {
		return nil
	}
	switch {
	case d.broken != nil:
		return d.broken
	case d.until != nil:
		return problem.Invalidf("", "%sfound the end of the diagram inside a procedure or loop of the preprocessor; expected its end", d.opened).Fix("close what starts here")
	case len(d.conditions) > 0:
		return problem.Invalidf("", "%sfound the end of the diagram inside this condition; expected !endif", d.conditions[len(d.conditions)-1].at).
			Fix("close the condition that starts here")
	case d.skipTo != nil:
		return problem.Invalidf("", "%sfound the end of the diagram inside the text after %s; expected its end", d.skipped.at, c4model.Quote(d.skipped.text)).
			Fix("close the text that starts here")
	case len(d.blocks) > 0 && !d.sequence:
		b := d.blocks[len(d.blocks)-1]
		return problem.Invalidf("", "%sfound the end of the diagram inside %s; expected }", b.at, c4model.Quote(b.what)).Fix("close the block that opens here")
	}
	return d.checkUnknown()
}

// checkUnknown refuses calls that are misspelt macros, and warns about those that could have been part of the model.
func (d *diagram) checkUnknown() error {
	warned := make(map[string]bool)
	for _, c := range d.unknown {
		_, mine := d.procedures[c.name]
		if meant := misspelt(c.name); meant != "" && !mine && len(d.remote) == 0 {
			return problem.Invalidf("", "%sfound the unknown call %s; expected a macro of C4-PlantUML", c.at, c4model.Quote(c.name)).Fix("did you mean %s?", meant)
		}
		if !warned[c.name] {
			warned[c.name] = true
			d.leftOut(c.at, "the call %s is none of C4-PlantUML, so what it would add to the model is missing", c4model.Quote(c.name))
		}
	}
	return nil
}
