// Package plantuml reads architecture models drawn as C4 diagrams: those of C4-PlantUML and those of Mermaid, which uses
// the same calls. Several diagrams describe one model, merged by alias.
//
// A diagram is a list of calls such as Container(api, "API", "Go"); everything else in a file says how it is drawn and is
// passed over. The preprocessor of PlantUML is a language of its own of which only what models use is understood:
// definitions without arguments, conditions over them, and files of the same root folder that are included. What is not
// understood and could hold a part of the model is a warning.
//
// Elements inside deployment nodes are instances, and the relationships of dynamic and sequence diagrams are steps of one
// run; neither is part of a model.
//
// A model is read whole or refused: every refusal is a problem.Error that names file, line, what was found and what was
// expected.
package plantuml
