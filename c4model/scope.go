package c4model

import (
	"slices"
	"strings"
	"unicode"
)

// outOfScope are the words that, as a tag, say that an element is not code of this project today.
var outOfScope = map[string]bool{"external": true, "future": true, "planned": true, "legacy": true}

// neutralTagWords may stand beside such a word without changing its meaning ("External Software System", "Future
// State"). Any other word does: "External API" says who may call it, not that it is somebody else's.
var neutralTagWords = map[string]bool{
	"system": true, "systems": true, "software": true, "service": true, "person": true, "user": true, "actor": true,
	"state": true, "element": true, "container": true, "component": true, "application": true, "app": true,
	"dependency": true, "party": true,
}

// InScope tells whether the element counts for bindings, coverage and drift: people, external systems, what lies inside
// them, and elements tagged external, future, planned or legacy do not. Deployment nodes are never elements.
func (e Element) InScope() bool {
	if e.Level == Person || e.External {
		return false
	}
	return !slices.ContainsFunc(e.Tags, tagOutOfScope)
}

func tagOutOfScope(tag string) bool {
	found := false
	for _, word := range tagWords(tag) {
		switch {
		case outOfScope[word]:
			found = true
		case !neutralTagWords[word]:
			return false
		}
	}
	return found
}

// tagWords splits "External System", "external-system" and "ExternalSystem" alike.
func tagWords(tag string) []string {
	var b strings.Builder
	var previous rune
	for _, r := range tag {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(previous):
			b.WriteByte(' ')
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		previous = r
	}
	return strings.Fields(b.String())
}

// MarkScope sets External on every element that is tagged external and on everything inside an element that is out of
// scope, so that an element read back alone still knows it. Elements must come parents first, as in a Model.
func MarkScope(elements []Element) {
	out := make(map[string]bool)
	for i := range elements {
		e := &elements[i]
		for _, tag := range e.Tags {
			for _, word := range tagWords(tag) {
				if word == "external" && tagOutOfScope(tag) {
					e.External = true
				}
			}
		}
		if e.Parent != "" && out[e.Parent] {
			e.External = true
		}
		if !e.InScope() {
			out[e.Key] = true
		}
	}
}
