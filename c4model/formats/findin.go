package formats

import (
	"context"
	"fmt"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// FindIn finds the model file at a name inside a root, as Find does on this machine: a file is what it is, in a folder the one
// model is found. Root of the answer is empty.
func FindIn(ctx context.Context, root *c4model.Root, name string) (Source, error) {
	info, err := root.Stat(name)
	if err != nil {
		return Source{}, problem.New(problem.NotFound, "path", fmt.Sprintf("there is no file or folder %s", name), namingFixes...).Because(err)
	}
	file := name
	if info.IsDir() {
		if file, err = search(ctx, root, name, name); err != nil {
			return Source{}, err
		}
	}
	f, err := recognise(ctx, root, file)
	if err != nil {
		return Source{}, err
	}
	if f.read == nil {
		return Source{}, unreadable(f.name, file)
	}
	return Source{File: file, Format: f.name}, nil
}
