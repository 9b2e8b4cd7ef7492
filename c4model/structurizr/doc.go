// Package structurizr reads architecture models written for Structurizr: its DSL (ReadDSL) and its workspace JSON
// (ReadJSON). Both give the same c4model.Model for the same workspace.
//
// The DSL is line based: a line is split into tokens, its first tokens say what it is, a last token "{" opens a block and
// a first token "}" closes one. The parser therefore is a stack of open blocks and one function for each kind of block.
// What is no part of a model (views, styles, configuration, deployment, scripts) is passed over by counting braces, so
// that new words there never break a model.
//
// A file is read whole or refused: every refusal is a problem.Error that names file, line, what was found and what was
// expected. What the reader does not follow on purpose (URLs, files outside the root folder, scripts) is a warning.
package structurizr
