// Package likec4 reads architecture models written in the language of LikeC4: all .c4 and .likec4 files of a folder
// together are one model, in whatever order they come.
//
// Of a file, the blocks specification and model are read. Views, deployments and global styles are passed over by
// counting braces, so that new words there never break a model; dynamic views among them describe single runs, no
// dependencies. LikeC4 lets an author invent the kinds of elements, a C4 model has fixed levels: levels.go says which
// kind is which level.
//
// A model is read whole or refused: every refusal is a problem.Error that names file, line, what was found and what was
// expected. What the reader leaves out on purpose (elements of other projects) is a warning.
package likec4
