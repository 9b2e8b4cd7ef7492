// Package git reads repositories by the git program: commits, trees, texts and history. It never writes to a working tree.
package git
