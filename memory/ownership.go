package memory

import (
	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
)

// owners gives the elements whose bindings own a path or glob: those of the most specific pattern.
func owners(bindings []ElementBinding, path string) []uuid.UUID {
	var ids []uuid.UUID
	for _, i := range c4model.Owners(globs(bindings), path) {
		ids = append(ids, bindings[i].ElementID)
	}
	return ids
}

func globs(bindings []ElementBinding) []string {
	patterns := make([]string, len(bindings))
	for i, b := range bindings {
		patterns[i] = b.Pattern
	}
	return patterns
}
