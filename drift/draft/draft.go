// Package draft proposes a C4 model for a repository that has none, from its modules, packages and imports.
package draft
