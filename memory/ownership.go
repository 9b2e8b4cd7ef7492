package memory

import (
	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
)

// owners gives the elements whose bindings own a path or glob: those of the most specific pattern.
func owners(bindings []ElementBinding, path string) []uuid.UUID {
	patterns := make([]string, len(bindings))
	for i, b := range bindings {
		patterns[i] = b.Pattern
	}
	var ids []uuid.UUID
	for _, i := range c4model.Owners(patterns, path) {
		ids = append(ids, bindings[i].ElementID)
	}
	return ids
}
