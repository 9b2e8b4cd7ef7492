package likec4

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/stele-dev/stele/c4model"
)

// levelProperty is the metadata key by which an element says its C4 level itself.
const levelProperty = "c4"

// levelWords are the words that name a level. Others, such as service, database or queue, are found at every level, and
// then depth decides.
var levelWords = map[string]c4model.Level{
	"person": c4model.Person, "people": c4model.Person, "actor": c4model.Person, "user": c4model.Person, "persona": c4model.Person,
	"system": c4model.System, "softwaresystem": c4model.System,
	"container": c4model.Container, "app": c4model.Container, "application": c4model.Container, "webapp": c4model.Container,
	"component": c4model.Component,
	"code":      c4model.Code, "class": c4model.Code,
}

// qualifiers may stand before the level in a notation without changing it.
var qualifiers = map[string]bool{
	"c4": true, "software": true, "external": true, "internal": true, "existing": true, "new": true, "web": true, "mobile": true, "desktop": true,
	"single": true, "page": true, "backend": true, "frontend": true,
}

// statedLevel gives the level that a kind names, "" when it names none: its notation when that is a level and nothing
// else ("Software System"), else the last word of its name ("mobileApp"), else the first of a name in several parts
// ("System_External").
func statedLevel(name string, k kindOf) c4model.Level {
	notation := slices.DeleteFunc(words(k.notation), func(w string) bool { return qualifiers[w] })
	if len(notation) == 1 && levelWords[notation[0]] != "" {
		return levelWords[notation[0]]
	}
	parts := words(name)
	if len(parts) == 0 {
		return ""
	}
	if level := levelWords[parts[len(parts)-1]]; level != "" {
		return level
	}
	if strings.ContainsAny(name, "_-") {
		switch first := parts[0]; first {
		case "person", "actor", "system", "container", "component":
			return levelWords[first]
		}
	}
	return ""
}

// external tells whether a kind is called external in its name or notation.
func (k kindOf) external(name string) bool {
	return slices.Contains(words(name), "external") || slices.Contains(words(k.notation), "external")
}

// words splits "softwareSystem", "software-system" and "Software System" alike.
func words(name string) []string {
	var b strings.Builder
	var previous rune
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsUpper(r) && unicode.IsLower(previous) {
			b.WriteByte(' ')
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
		previous = r
	}
	return strings.Fields(b.String())
}

// depth gives the levels their order.
var depth = map[c4model.Level]int{c4model.Person: 1, c4model.System: 1, c4model.Container: 2, c4model.Component: 3, c4model.Code: 4}

var byDepth = []c4model.Level{1: c4model.System, 2: c4model.Container, 3: c4model.Component, 4: c4model.Code}

// setLevel gives an element its level: what its metadata or its kind says, else one below its parent. A level that is
// not below that of the parent becomes the next one that is, so that a system inside a system is a container; people stay
// people, wherever they are declared.
func (b *builder) setLevel(e *element) {
	level := statedLevel(e.kind, b.kinds[e.kind])
	for _, m := range e.metadata {
		if m.key != levelProperty {
			continue
		}
		if stated := levelWords[strings.ToLower(m.value)]; stated != "" {
			level = stated
		} else {
			b.warn(e.at, "the metadata %s of %s is %s, which is no level; it is one of person, system, container, component and code", levelProperty, e.key, c4model.Quote(m.value))
		}
	}
	least := 1
	if e.parent != nil {
		least = min(depth[e.parent.level]+1, depth[c4model.Code])
	}
	if level == "" || level != c4model.Person && depth[level] < least {
		level = byDepth[least]
	}
	e.level = level
}

// standing finds the nearest ancestor that a C4 model allows as the parent of e, and the names of those passed on the
// way: a person stands inside nothing, and what is nested deeper than C4 has levels stands beside its parent.
func standing(e *element) (parent *element, group string) {
	var passed []string
	for parent = e.parent; parent != nil && depth[parent.level] >= depth[e.level]; parent = parent.parent {
		passed = append(passed, parent.title)
	}
	slices.Reverse(passed)
	return parent, strings.Join(passed, "/")
}

func (b *builder) warn(at c4model.Position, format string, args ...any) {
	b.addWarning(c4model.Warning{Position: at, Message: fmt.Sprintf(format, args...)})
}
