package plantuml

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// condition is an open !if.
type condition struct {
	at      c4model.Position
	taken   bool // one of its branches was read
	active  bool // the current branch is read
	guessed bool // it could not be evaluated, so its first branch was taken
	warned  bool
}

// preprocessor is what a diagram has defined so far.
type preprocessor struct {
	defined    map[string]string
	procedures map[string]bool // the value says whether its body holds calls of the model
	conditions []condition
	until      *regexp.Regexp // inside a procedure or loop: what closes it
	inside     string         // name of the procedure, "" in a loop
	opened     c4model.Position
	drawn      bool               // the loop holds calls of the model
	remote     []c4model.Position // includes that were not followed
}

func newPreprocessor() preprocessor {
	return preprocessor{defined: make(map[string]string), procedures: make(map[string]bool)}
}

var (
	directive   = regexp.MustCompile(`^!\s*(\w+)\b\s*(.*)$`)
	assignment  = regexp.MustCompile(`^!\s*(?:global\s+|local\s+)?(\$\w+)\s*\??=\s*(.*)$`)
	procedure   = regexp.MustCompile(`^!\s*(?:unquoted\s+|final\s+)*(procedure|function|definelong)\s+(\$?\w+)`)
	definition  = regexp.MustCompile(`^(\$?\w+)(\([^)]*\))?\s*(.*)$`)
	modelCall   = regexp.MustCompile(`\b(\w+)\s*\(`)
	wordPattern = regexp.MustCompile(`\$?\w+`)
	existence   = regexp.MustCompile(`^\(?\s*(%not\(\s*|!\s*)?%variable_exists\(\s*"?(\$?\w+)"?\s*\)\s*\)?\s*\)?$`)
	comparison  = regexp.MustCompile(`^\(?\s*(\$\w+|"[^"]*"|\w+)\s*(==|!=)\s*(\$\w+|"[^"]*"|\w+)\s*\)?$`)
	library     = regexp.MustCompile(`(?i)(^|/)c4(_\w+)?(\.puml)?$`)
)

// mentionsModel tells whether a line holds a call that says something about the model.
func mentionsModel(text string) bool {
	for _, m := range modelCall.FindAllStringSubmatch(text, -1) {
		if _, ok := macros[m[1]]; ok {
			return true
		}
	}
	return false
}

// reading tells whether lines are read, not passed over by a condition.
func (p *preprocessor) reading() bool {
	for _, c := range p.conditions {
		if !c.active {
			return false
		}
	}
	return true
}

// preprocess handles a line of the preprocessor, and any line inside a procedure, a loop or a branch that is not read.
func (d *diagram) preprocess(l line) (done bool, err error) {
	if d.until != nil {
		d.insideProcedure(l)
		return true, nil
	}
	if !strings.HasPrefix(l.text, "!") {
		if d.reading() {
			return false, nil
		}
		d.passedOver(l)
		return true, nil
	}
	word, rest := "", ""
	if m := directive.FindStringSubmatch(l.text); m != nil {
		word, rest = m[1], strings.TrimSpace(m[2])
	}
	switch word {
	case "if", "ifdef", "ifndef", "elseif", "else", "endif":
		return true, d.branch(l, word, rest)
	}
	if !d.reading() {
		return true, nil
	}
	if m := procedure.FindStringSubmatch(l.text); m != nil {
		d.procedures[m[2]] = false
		if m[1] == "function" && strings.Contains(l.text, "!return") || m[1] == "function" && strings.Contains(l.text, " return ") {
			return true, nil
		}
		d.inside, d.opened, d.until = m[2], l.at, regexp.MustCompile(`^!\s*end\s*`+m[1]+`\b`)
		return true, nil
	}
	switch word {
	case "while", "foreach", "startsub", "endsub":
		if strings.HasSuffix(word, "sub") {
			return true, nil
		}
		d.inside, d.opened, d.drawn = "", l.at, false
		d.until = regexp.MustCompile(`^!\s*end\s*(while|for|foreach)\b`)
		return true, nil
	case "include", "include_once", "include_many", "includesub", "includeurl", "import":
		return true, d.include(l, rest)
	case "define":
		m := definition.FindStringSubmatch(rest)
		switch {
		case m == nil:
		case m[2] != "":
			d.procedures[m[1]] = mentionsModel(m[3])
		default:
			return true, d.define(l, m[1], literal(m[3]))
		}
		return true, nil
	case "undef":
		delete(d.defined, rest)
		return true, nil
	}
	if m := assignment.FindStringSubmatch(l.text); m != nil {
		return true, d.define(l, m[1], literal(m[2]))
	}
	return true, nil
}

func (d *diagram) define(l line, name, value string) error {
	if len(d.defined) >= MaxDefinitions {
		return problem.Invalidf("", "%sfound more than %d definitions; expected at most that many", l.at, MaxDefinitions).Fix("split the diagram")
	}
	if len(value) > MaxCallBytes {
		return problem.Invalidf("", "%sfound a definition of more than %d bytes; expected at most that", l.at, MaxCallBytes).Fix("shorten it")
	}
	d.defined[name] = value
	return nil
}

// insideProcedure passes over the body of a procedure or loop.
func (d *diagram) insideProcedure(l line) {
	calls := mentionsModel(l.text)
	switch {
	case d.until.MatchString(l.text):
		d.until = nil
		if d.inside == "" && d.drawn {
			d.leftOut(d.opened, "this loop was not run, so what it would add to the model is missing")
		}
	case calls && d.inside != "":
		d.procedures[d.inside] = true
	case calls:
		d.drawn = true
	}
}

// passedOver warns about a branch that was skipped only because its condition could not be evaluated.
func (d *diagram) passedOver(l line) {
	for i := range d.conditions {
		c := &d.conditions[i]
		if !c.active && c.guessed && !c.warned && mentionsModel(l.text) {
			c.warned = true
			d.leftOut(c.at, "this condition cannot be evaluated here; its first branch was read, and what the others would add is missing")
		}
	}
}

// branch handles !if and its relatives.
func (d *diagram) branch(l line, word, expression string) error {
	if word == "if" || word == "ifdef" || word == "ifndef" {
		if len(d.conditions) >= MaxNesting {
			return problem.Invalidf("", "%sfound more than %d nested conditions; expected at most that many", l.at, MaxNesting).Fix("flatten them")
		}
		value, known := d.evaluate(word, expression)
		d.conditions = append(d.conditions, condition{at: l.at, taken: value || !known, active: value || !known, guessed: !known})
		return nil
	}
	if len(d.conditions) == 0 {
		return problem.Invalidf("", "%sfound !%s without a condition; expected !if before it", l.at, word).Fix("remove this line, or add the !if")
	}
	c := &d.conditions[len(d.conditions)-1]
	switch word {
	case "endif":
		d.conditions = d.conditions[:len(d.conditions)-1]
	case "else":
		c.active = !c.taken
		c.taken = true
	case "elseif":
		value, known := d.evaluate("if", expression)
		c.active = !c.taken && (value || !known)
		c.guessed = c.guessed || !c.taken && !known
		c.taken = c.taken || c.active
	}
	return nil
}

// evaluate gives the value of a condition; known is false when it asks for more than definitions.
func (d *diagram) evaluate(word, expression string) (value, known bool) {
	if word != "if" {
		_, ok := d.defined[expression]
		return ok == (word == "ifdef"), true
	}
	if m := existence.FindStringSubmatch(expression); m != nil {
		_, ok := d.defined[m[2]]
		if !ok {
			_, ok = d.defined["$"+m[2]]
		}
		return ok == (m[1] == ""), true
	}
	if m := comparison.FindStringSubmatch(expression); m != nil {
		left, leftKnown := d.operand(m[1])
		right, rightKnown := d.operand(m[3])
		return (left == right) == (m[2] == "=="), leftKnown && rightKnown
	}
	switch strings.Trim(expression, "() ") {
	case "1", "true", "%true":
		return true, true
	case "0", "false", "%false":
		return false, true
	}
	return false, false
}

func (d *diagram) operand(text string) (value string, known bool) {
	if !strings.HasPrefix(text, "$") {
		return strings.Trim(text, `"`), true
	}
	value, known = d.defined[text]
	return value, known
}

// expand replaces defined names in a text.
func (d *diagram) expand(at c4model.Position, text string) (string, error) {
	if len(d.defined) == 0 {
		return text, nil
	}
	grown := 0
	out := wordPattern.ReplaceAllStringFunc(text, func(word string) string {
		value, ok := d.defined[word]
		if !ok || grown > MaxCallBytes {
			return word
		}
		grown += len(value)
		return value
	})
	d.model.expanded += grown
	if grown > MaxCallBytes || d.model.expanded > MaxExpandedBytes {
		return "", problem.Invalidf("", "%sfound definitions that make more than %d bytes of this call or %d of the model; expected at most that", at, MaxCallBytes, MaxExpandedBytes).
			Fix("shorten the definitions")
	}
	return out, nil
}

// include reads a file of the root folder. Addresses are never fetched; the library of the macros itself needs no
// reading.
func (d *diagram) include(l line, reference string) error {
	reference, err := d.expand(l.at, strings.Trim(reference, `"`))
	if err != nil {
		return err
	}
	reference = strings.TrimSpace(reference)
	name, _, _ := strings.Cut(reference, "!") // a part of a file
	name = strings.TrimSpace(name)
	bare := strings.Trim(name, "<>")
	if library.MatchString(bare) {
		base := strings.ToLower(path.Base(bare))
		d.dynamic = d.dynamic || strings.Contains(base, "c4_dynamic") || strings.Contains(base, "c4_sequence")
		d.sequence = d.sequence || strings.Contains(base, "c4_sequence")
		return nil
	}
	if strings.HasPrefix(name, "<") {
		d.remote = append(d.remote, l.at)
		return nil
	}
	file, err := d.model.root.Resolve(l.at.File, name)
	if errors.Is(err, c4model.ErrURL) || strings.Contains(name, "%") {
		d.remote = append(d.remote, l.at)
		return nil
	}
	if err == nil {
		_, err = d.model.root.Stat(file)
	}
	if err != nil {
		reason := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			reason = "there is no such file"
		}
		d.leftOut(l.at, "%s was not included: %s", c4model.Quote(name), reason)
		d.remote = append(d.remote, l.at)
		return nil
	}
	if d.including >= MaxIncludeDepth {
		return problem.Invalidf("", "%sfound more than %d files including each other; expected at most that many", l.at, MaxIncludeDepth).
			Fix("remove the include that makes the circle")
	}
	included, err := d.model.load(file)
	if err != nil {
		return err
	}
	d.including++
	defer func() { d.including-- }()
	for _, i := range included {
		if strings.HasPrefix(i.text, "@start") || strings.HasPrefix(i.text, "@end") {
			continue
		}
		if err := d.line(i); err != nil {
			return err
		}
	}
	return nil
}

func (d *diagram) leftOut(at c4model.Position, format string, args ...any) {
	d.model.warn(c4model.Warning{Position: at, Message: fmt.Sprintf(format, args...), NotIncluded: true})
}
