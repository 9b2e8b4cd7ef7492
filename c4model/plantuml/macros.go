package plantuml

import (
	"regexp"
	"strings"

	"github.com/stele-dev/stele/c4model"
)

// The macros of C4-PlantUML, which those of Mermaid are a subset of, with the order of their parameters.
var (
	elementMacro  = regexp.MustCompile(`^(Person|System|Container|Component)(Db|Queue)?(_Ext)?$`)
	boundaryMacro = regexp.MustCompile(`^(?:(System|Container|Component|Enterprise)_)?Boundary$`)
	nodeMacro     = regexp.MustCompile(`^(?:Deployment_)?Node(?:_L|_R)?$`)
	relationMacro = regexp.MustCompile(`^(Bi)?Rel(Index)?(_Back)?(?:_Neighbor)?(?:_(?:U|Up|D|Down|L|Left|R|Right))?$`)
	// drawing are the macros that only say how something looks.
	drawing = regexp.MustCompile(`^(?:Lay_\w+|LAYOUT_\w+|SHOW_\w+|HIDE_\w+|SET_SKETCH_STYLE|Add\w*Tag|Update\w+|SetDefaultLegendEntries|` +
		`increment|setIndex|SetIndex|LEGEND|C4Version\w*)$`)
)

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

// isModelMacro tells whether a call of that name says something about the model.
func isModelMacro(name string) bool {
	return elementMacro.MatchString(name) || boundaryMacro.MatchString(name) || nodeMacro.MatchString(name) ||
		relationMacro.MatchString(name) || name == "Rel_"
}

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
	if len(name) < 6 {
		return ""
	}
	for _, known := range similar {
		if distance(strings.ToLower(name), strings.ToLower(known)) == 1 {
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

var levelOf = map[string]c4model.Level{
	"Person": c4model.Person, "System": c4model.System, "Container": c4model.Container, "Component": c4model.Component,
}

// depth gives the levels their order.
var depth = map[c4model.Level]int{c4model.Person: 1, c4model.System: 1, c4model.Container: 2, c4model.Component: 3, c4model.Code: 4}

var byDepth = []c4model.Level{1: c4model.System, 2: c4model.Container, 3: c4model.Component}
