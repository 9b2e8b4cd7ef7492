package rest

// diagramDescriptions says what each schema of a view of the model is, and each of its properties.
var diagramDescriptions = map[string]string{
	"View":  "A C4 view of the model.",
	"Node":  "An element of a view.",
	"Edge":  "Everything that relates one element of a view with another, what is in them counted for them.",
	"Known": "What is known at an element, as the knowledge map tells it.",

	"View.edges":   "The relations between its elements.",
	"View.element": "Key of the element it is of; empty for the landscape.",
	"View.level":   "Level of that element.",
	"View.name":    "Name of that element.",
	"View.nodes":   "Its elements, in the order of the model.",
	"View.view":    "landscape, context, containers, components or code.",
	"View.views":   "The views there are of the element.",
	"View.whole":   "Relations that name the element as a whole and nothing in it, where it is drawn as a boundary.",

	"Node.description": "What the model says of it.",
	"Node.external":    "Outside the project.",
	"Node.inside":      "Elements directly in it.",
	"Node.key":         "Its key.",
	"Node.known":       "What is known there; null for people and what is outside the project.",
	"Node.level":       "person, system, container, component or code.",
	"Node.name":        "Its name.",
	"Node.place":       "subject, inside or outside.",
	"Node.technology":  "Its technology.",

	"Edge.absent":       "Of the relations, how many no import shows.",
	"Edge.descriptions": "What the relations say, each once.",
	"Edge.destination":  "Key of the element it leads to.",
	"Edge.relations":    "Relations of the model.",
	"Edge.source":       "Key of the element it comes from.",
	"Edge.state":        "in_model, not_in_model (the code has it, the model has not) or not_in_code (the model has it, no import shows it).",
	"Edge.undocumented": "Dependencies of the code that the model does not have.",

	"Known.conventions": "Conventions.",
	"Known.doubts":      "Memories in doubt or disputed.",
	"Known.drift":       "unknown, unbound, matched, drifted or missing, by the latest tracked runs.",
	"Known.freshness":   "fresh, ageing, old, or none when nothing is known.",
	"Known.notes":       "Notes.",
	"Known.pitfalls":    "Pitfalls.",
}
