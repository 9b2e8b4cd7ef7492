package plantuml

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
)

// call is one macro with its arguments.
type call struct {
	name  string
	args  []string          // by position
	named map[string]string // by name, without the $
	opens bool              // a { follows
	at    c4model.Position
}

// get gives the argument of a parameter by its name or its position; "" when it is not stated.
func (c call) get(parameters []string, name string) string {
	if value, ok := c.named[name]; ok {
		return value
	}
	if i := slices.Index(parameters, name); i >= 0 && i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// callStart is how a line with a call begins.
var callStart = regexp.MustCompile(`^(\$?[A-Za-z_]\w*)\s*\(`)

// scan tells where a call ends: the offset behind its closing parenthesis, -1 when that is not in the text. open says
// that a text in double quotes is not closed before the end of its line.
func scan(s string) (end int, open bool) {
	depth := 0
	for i := strings.IndexByte(s, '('); i >= 0 && i < len(s); i++ {
		switch s[i] {
		case '"':
			n := strings.IndexAny(s[i+1:], "\"\n")
			if n < 0 || s[i+1+n] == '\n' {
				return -1, true
			}
			i += n + 1
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1, false
			}
		}
	}
	return -1, false
}

// arguments splits what stands between the parentheses of a call at its commas.
func arguments(s string) (args []string, named map[string]string, ok bool) {
	named = make(map[string]string)
	for len(s) > 0 {
		depth, quote, end := 0, byte(0), len(s)
		for i := range len(s) {
			c := s[i]
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"', c == '\'' && startsValue(s[:i]) && strings.Contains(s[i+1:], "'"):
				quote = c
			case c == '(':
				depth++
			case c == ')':
				depth--
			case c == ',' && depth == 0:
				end = i
			}
			if end == i {
				break
			}
		}
		arg := s[:end]
		s = s[min(end+1, len(s)):]
		if len(args)+len(named) >= MaxArguments {
			return nil, nil, false
		}
		if name, value, ok := namedArgument(arg); ok {
			named[name] = literal(value)
		} else {
			args = append(args, literal(arg))
		}
	}
	return args, named, true
}

// startsValue tells whether a value begins behind that part of an argument.
func startsValue(before string) bool {
	before = strings.TrimSpace(before)
	return before == "" || before[0] == '$' && strings.HasSuffix(before, "=")
}

var parameterName = regexp.MustCompile(`^\s*\$(\w+)\s*=([^=].*)?$`)

// namedArgument recognises `$techn="Go"`; a text that holds such a thing is none.
func namedArgument(arg string) (name, value string, ok bool) {
	m := parameterName.FindStringSubmatch(strings.ReplaceAll(arg, "\n", " "))
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// literal gives the text that an argument stands for: without its quotes, texts joined by + as one.
func literal(arg string) string {
	arg = strings.TrimSpace(arg)
	if len(arg) >= 2 && arg[0] == '\'' && arg[len(arg)-1] == '\'' {
		return arg[1 : len(arg)-1]
	}
	if !strings.HasPrefix(arg, `"`) {
		return strings.Join(strings.Fields(strings.Trim(arg, `"`)), " ")
	}
	var b strings.Builder
	for arg != "" {
		value, rest, closed := strings.Cut(arg[1:], `"`)
		b.WriteString(value)
		rest = strings.TrimLeft(rest, " \t\n+")
		if !closed || !strings.HasPrefix(rest, `"`) {
			break
		}
		arg = rest
	}
	return b.String()
}

var (
	lineBreak = regexp.MustCompile(`(?i)\\[nlr]|<br\s*/?>`)
	markup    = regexp.MustCompile(`(?i)<\$\w+[^<>]*>|</?(?:b|i|u|s|size|color|font|back)(?::[^<>]*)?>`)
)

// plain gives a label as one line without the marks that format it.
func plain(label string) string {
	if strings.ContainsAny(label, `<\`) {
		label = lineBreak.ReplaceAllString(label, " ")
		label = markup.ReplaceAllString(label, "")
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(label, "**", "")), " ")
}
