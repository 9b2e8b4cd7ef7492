// Package evidence finds what a text claims about code (the paths, symbols and literals that it quotes), and follows those
// claims through the history of a repository: whether they hold, since when they do not, and where they went.
package evidence
