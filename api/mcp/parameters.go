package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// Arguments of a tool are one struct: its fields give the schema, the spellings, the coercion and the binding. A field is
//
//	Name type `arg:"name[,required|,hidden]" doc:"…" enum:"a,b" also:"other,names"`
//
// of type string, *int, bool, *bool or []string; embedded structs contribute theirs. Models slip in small ways (a string
// where a list belongs, a number in quotes, a plural), and a refusal costs them a turn: what can only mean one thing is
// taken; what cannot be understood is refused with what would be.

// parameter is one argument of a tool.
type parameter struct {
	name     string
	field    []int
	kind     reflect.Type
	doc      string
	enum     []string
	also     []string
	required bool
	hidden   bool // taken, but not worth the tokens of every conversation
}

func parametersOf(t reflect.Type) []parameter {
	var out []parameter
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("arg")
		if tag == "" {
			continue
		}
		name, flag, _ := strings.Cut(tag, ",")
		out = append(out, parameter{
			name: name, field: f.Index, kind: f.Type, doc: f.Tag.Get("doc"), required: flag == "required", hidden: flag == "hidden",
			enum: split(f.Tag.Get("enum")), also: split(f.Tag.Get("also")),
		})
	}
	return out
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func names(ps []parameter) []string {
	out := make([]string, len(ps))
	for n, p := range ps {
		out[n] = p.name
	}
	return out
}

// inputSchema is the JSON Schema of the arguments, in the order of the fields: the important ones first, as a reader wants.
func inputSchema(ps []parameter) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for _, p := range ps {
		if p.hidden {
			continue
		}
		if b.Bytes()[b.Len()-1] != '{' {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", quoted(p.name), p.schema())
		if p.required {
			required = append(required, p.name)
		}
	}
	b.WriteString(`}`)
	if required != nil {
		fmt.Fprintf(&b, `,"required":%s`, encoded(required))
	}
	b.WriteByte('}')
	return b.Bytes()
}

func (p parameter) schema() string {
	typ, isList := p.typeName()
	one := `"type":"` + typ + `"`
	if p.enum != nil {
		one += `,"enum":` + encoded(p.enum)
	}
	if isList {
		one = `"type":"array","items":{` + one + `}`
	}
	if p.doc != "" {
		one += `,"description":` + quoted(p.doc)
	}
	return "{" + one + "}"
}

func (p parameter) typeName() (name string, isList bool) {
	switch p.kind {
	case reflect.TypeFor[[]string]():
		return "string", true
	case reflect.TypeFor[string]():
		return "string", false
	case reflect.TypeFor[*int]():
		return "integer", false
	case reflect.TypeFor[bool](), reflect.TypeFor[*bool]():
		return "boolean", false
	}
	panic("mcp: argument " + p.name + " has type " + p.kind.String())
}

func quoted(s string) string { return encoded(s) }

// encoded is JSON of a value that cannot fail to encode.
func encoded(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("mcp: " + err.Error())
	}
	return strings.TrimSpace(b.String())
}

// spelling is what all spellings of one name have in common: no case, no separators, singular.
func spelling(name string) string {
	s := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	switch {
	case strings.HasSuffix(s, "ies") && len(s) > 4:
		return strings.TrimSuffix(s, "ies") + "y"
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && len(s) > 2:
		return strings.TrimSuffix(s, "s")
	}
	return s
}

// lookup finds the parameter that a name means: the name itself and its other names first, then whatever spells one of
// them in another way; a parameter's own name goes before another's second one ("project" is not "projects").
func lookup(ps []parameter) func(name string) (int, bool) {
	exact, similar := map[string]int{}, map[string]int{}
	learn := func(name string, n int) {
		if _, taken := exact[name]; !taken {
			exact[name] = n
		}
		if _, taken := similar[spelling(name)]; !taken {
			similar[spelling(name)] = n
		}
	}
	for n, p := range ps {
		learn(p.name, n)
	}
	for n, p := range ps {
		for _, name := range p.also {
			learn(name, n)
		}
	}
	return func(name string) (int, bool) {
		if n, ok := exact[name]; ok {
			return n, true
		}
		n, ok := similar[spelling(name)]
		return n, ok
	}
}

// bind fills the struct that target points to from the arguments of a call. Errors are problems that a model can act on.
func bind(ps []parameter, raw any, target any) error {
	args, err := object(raw)
	if err != nil {
		return err
	}
	find := lookup(ps)
	into := reflect.ValueOf(target).Elem()
	from := make([]string, len(ps)) // the spelling that gave each parameter
	for _, name := range sortedKeys(args) {
		n, known := find(name)
		if !known {
			return problem.Invalidf(name, "there is no such argument").Fix("the arguments are %s", strings.Join(names(ps), ", "))
		}
		if args[name] == nil {
			continue
		}
		if from[n] != "" && ps[n].kind != reflect.TypeFor[[]string]() && !reflect.DeepEqual(args[name], args[from[n]]) {
			return problem.Invalidf(ps[n].name, "given twice, as %s and as %s, with different values", from[n], name).
				Fix("give %s once", ps[n].name)
		}
		from[n] = name
		if err := ps[n].set(into.FieldByIndex(ps[n].field), args[name]); err != nil {
			return err
		}
	}
	for n, p := range ps {
		if p.required && (from[n] == "" || into.FieldByIndex(p.field).IsZero()) {
			return problem.Invalidf(p.name, "it is required").Fix("give %s: %s", p.name, p.expects())
		}
	}
	return nil
}

// object accepts an object, JSON text of one, or nothing.
func object(raw any) (map[string]any, error) {
	switch v := raw.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	case string:
		if strings.TrimSpace(v) == "" {
			return map[string]any{}, nil
		}
		var m map[string]any
		if json.Unmarshal([]byte(v), &m) == nil {
			return m, nil
		}
	}
	return nil, problem.Invalidf("arguments", "they are not an object").Fix(`give an object such as {"query": "…"}`)
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (p parameter) expects() string {
	typ, isList := p.typeName()
	switch {
	case p.enum != nil:
		return "one of " + strings.Join(p.enum, ", ")
	case p.doc != "":
		return p.doc
	case isList:
		return "a list of strings"
	}
	if typ == "integer" {
		return "a whole number"
	}
	return "a " + typ
}

func (p parameter) refused(value any) error {
	shown := encoded(value)
	if r := []rune(shown); len(r) > 60 {
		shown = string(r[:60]) + "…"
	}
	return problem.Invalidf(p.name, "%s is not accepted", shown).Fix("give %s", p.expects())
}

func (p parameter) set(field reflect.Value, value any) error {
	switch p.kind {
	case reflect.TypeFor[[]string]():
		if s, ok := value.(string); ok && strings.TrimSpace(s) == "" {
			return nil // models fill in what they have nothing to say to
		}
		list, ok := stringList(value)
		if !ok {
			return p.refused(value)
		}
		for n, s := range list {
			if list[n], ok = p.oneOf(s); !ok {
				return p.refused(s)
			}
		}
		// A call may give several spellings of one list; together they are the list.
		before, ok := reflect.TypeAssert[[]string](field)
		if before == nil {
			before = []string{} // an empty list was given, which is not the same as none
		}
		for _, s := range list {
			if ok && !slices.Contains(before, s) {
				before = append(before, s)
			}
		}
		field.Set(reflect.ValueOf(before))
	case reflect.TypeFor[string]():
		s, ok := text(value)
		if ok && s != "" {
			s, ok = p.oneOf(s)
		}
		if !ok {
			return p.refused(value)
		}
		field.SetString(s)
	case reflect.TypeFor[*int]():
		n, ok := integer(value)
		if !ok {
			return p.refused(value)
		}
		field.Set(reflect.ValueOf(&n))
	default:
		b, ok := boolean(value)
		if !ok {
			return p.refused(value)
		}
		if field.Kind() == reflect.Bool {
			field.SetBool(b)
		} else {
			field.Set(reflect.ValueOf(&b))
		}
	}
	return nil
}

// oneOf gives the value of the enumeration that s spells, in any case and number ("Pitfalls").
func (p parameter) oneOf(s string) (string, bool) {
	if p.enum == nil {
		return s, true
	}
	for _, e := range p.enum {
		if spelling(e) == spelling(strings.TrimSpace(s)) {
			return e, true
		}
	}
	return s, false
}

// text accepts a string, a number or truth value as its text, and a list of one.
func text(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	case []any:
		if len(v) == 1 {
			return text(v[0])
		}
	}
	return "", false
}

// stringList accepts a list, one string, and JSON text of a list.
func stringList(value any) ([]string, bool) {
	if s, ok := value.(string); ok {
		if trimmed := strings.TrimSpace(s); strings.HasPrefix(trimmed, "[") {
			var items []any
			if json.Unmarshal([]byte(trimmed), &items) == nil {
				value = items
			}
		}
	}
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := text(item)
		if !ok {
			return nil, false
		}
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out, true
}

// integer accepts a whole number and its text.
func integer(value any) (int, bool) {
	s, ok := text(value)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// boolean accepts a truth value, its text, and the words people use for it.
func boolean(value any) (bool, bool) {
	s, ok := text(value)
	if !ok {
		return false, false
	}
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1", "yes":
		return true, true
	case "false", "0", "no":
		return false, true
	}
	return false, false
}
