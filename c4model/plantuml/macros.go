package plantuml

import (
	"regexp"
	"strings"

	"github.com/stele-dev/stele/c4model"
)

// macro is what a call of C4-PlantUML means. Those of Mermaid are a subset.
type macro struct {
	kind       macroKind
	parameters []string
	level      c4model.Level // of an element, and of a boundary that stands for one
	external   bool
	back, both bool // of a relationship: from its second alias to the first, or in both directions
}

type macroKind int

const (
	anElement macroKind = iota
	aBoundary
	aNode
	aRelation
	aProperty
)

// The orders of parameters. Those after the last one here are about drawing.
var (
	personParameters    = []string{"alias", "label", "descr", "sprite", "tags", "link", "type"}
	containerParameters = []string{"alias", "label", "techn", "descr", "sprite", "tags", "link"}
	boundaryParameters  = []string{"alias", "label", "tags", "link", "descr"}
	groupParameters     = []string{"alias", "label", "type", "tags", "link", "descr"}
	relationParameters  = []string{"from", "to", "label", "techn", "descr", "sprite", "tags", "link"}
	indexParameters     = append([]string{"e_index"}, relationParameters...)
	arrowParameters     = []string{"from", "to", "label", "direction"} // of Rel_, whose last argument is an arrow
	techArrowParameters = []string{"from", "to", "label", "techn", "direction"}
)

// macros are all calls that say something about the model.
var macros = allMacros()

func allMacros() map[string]macro {
	all := map[string]macro{
		"Boundary":            {kind: aBoundary, parameters: groupParameters},
		"Enterprise_Boundary": {kind: aBoundary, parameters: boundaryParameters},
		"Rel_":                {kind: aRelation},
		"AddProperty":         {kind: aProperty, parameters: []string{"col1", "col2"}},
	}
	for name, level := range map[string]c4model.Level{
		"Person": c4model.Person, "System": c4model.System, "Container": c4model.Container, "Component": c4model.Component,
	} {
		parameters := containerParameters
		if level == c4model.Person || level == c4model.System {
			parameters = personParameters
		}
		for _, shape := range []string{"", "Db", "Queue"} {
			all[name+shape] = macro{kind: anElement, parameters: parameters, level: level}
			all[name+shape+"_Ext"] = macro{kind: anElement, parameters: parameters, level: level, external: true}
		}
		if level != c4model.Person {
			all[name+"_Boundary"] = macro{kind: aBoundary, parameters: boundaryParameters, level: level}
		}
	}
	for _, side := range []string{"", "_L", "_R"} {
		all["Node"+side] = macro{kind: aNode, parameters: containerParameters}
		all["Deployment_Node"+side] = macro{kind: aNode, parameters: containerParameters}
	}
	for _, where := range []string{"", "_Neighbor", "_U", "_Up", "_D", "_Down", "_L", "_Left", "_R", "_Right"} {
		for _, back := range []string{"", "_Back"} {
			all["Rel"+back+where] = macro{kind: aRelation, parameters: relationParameters, back: back != ""}
			all["RelIndex"+back+where] = macro{kind: aRelation, parameters: indexParameters, back: back != ""}
			all["BiRel"+back+where] = macro{kind: aRelation, parameters: relationParameters, both: true}
		}
	}
	return all
}

// drawing are the macros that only say how something looks.
var drawing = regexp.MustCompile(`^(?:Lay_\w+|LAYOUT_\w+|SHOW_\w+|HIDE_\w+|SET_SKETCH_STYLE|Add\w*Tag|Update\w+|SetDefaultLegendEntries|` +
	`SetPropertyHeader|WithoutPropertyHeader|increment|setIndex|SetIndex|LEGEND|C4Version\w*)$`)

// similar are the names that a misspelt one is compared with.
var similar = []string{
	"Person", "Person_Ext", "System", "SystemDb", "SystemQueue", "System_Ext", "Container", "ContainerDb", "ContainerQueue", "Container_Ext",
	"Component", "ComponentDb", "ComponentQueue", "Component_Ext", "System_Boundary", "Container_Boundary", "Enterprise_Boundary", "Boundary",
	"Deployment_Node", "Rel", "BiRel", "Rel_Back", "Rel_Neighbor",
}

// misspelt gives the macro that a name was probably meant to be, "" when it resembles none.
func misspelt(name string) string {
	for _, known := range similar {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	const shortest = 5 // shorter words resemble each other by chance
	for _, known := range similar {
		if min(len(name), len(known)) >= shortest && distance(strings.ToLower(name), strings.ToLower(known)) == 1 {
			return known
		}
	}
	return ""
}

// distance is 1 when one letter more, less, other, or two swapped make one word of the other, 0 when they are equal and 2
// otherwise.
func distance(a, b string) int {
	if a == b {
		return 0
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	if len(a) <= 1 && len(b) <= 1 || swapped {
		return 1
	}
	return 2
}

// depth gives the levels their order.
var depth = map[c4model.Level]int{c4model.Person: 1, c4model.System: 1, c4model.Container: 2, c4model.Component: 3, c4model.Code: 4}

var byDepth = []c4model.Level{1: c4model.System, 2: c4model.Container, 3: c4model.Component}
