package likec4

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// Extensions are those of the files of a model.
var Extensions = []string{".c4", ".likec4"}

// Is tells by its name whether a file belongs to a model of LikeC4.
func Is(name string) bool { return slices.Contains(Extensions, strings.ToLower(path.Ext(name))) }

// Folder gives the folder of the model that a file belongs to: the nearest one around it that is a project, else the
// highest that the file reaches through folders which all hold files of LikeC4 themselves.
func Folder(ctx context.Context, root *c4model.Root, file string) (string, error) {
	highest, contiguous := path.Dir(file), true
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if IsProject(root, dir) {
			return dir, nil
		}
		if contiguous && dir != highest {
			names, err := root.Search(ctx, dir, 1, MaxEntries, nil)
			if err != nil {
				return "", err
			}
			if contiguous = slices.ContainsFunc(names, Is); contiguous {
				highest = dir
			}
		}
		if dir == "." {
			return highest, nil
		}
	}
}

// Read reads the model of a folder inside root: its files, those of the folders below, and those of the folders that its
// configuration includes. Folders of the names in without, hidden ones, and those that are projects of their own are left
// out. Every error about the content is a *problem.Error with code invalid.
func Read(ctx context.Context, root *c4model.Root, dir string, without []string) (*c4model.Model, error) {
	dir = path.Clean(dir)
	settings, err := readSettings(ctx, root, dir)
	if err != nil {
		return nil, err
	}
	names, err := files(ctx, root, dir, without)
	if err != nil {
		return nil, err
	}
	for _, shared := range settings.include {
		more, err := files(ctx, root, shared, without)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return nil, problem.Invalidf("", "%s: found no file of LikeC4; expected at least one with the extension %s", dir, strings.Join(Extensions, " or ")).
			Fix("name the folder of the model")
	case len(names) > MaxFiles:
		return nil, problem.Invalidf("", "%s: found %d files of LikeC4; expected at most %d in one model", dir, len(names), MaxFiles).
			Fix("name the folder of one model")
	}
	s, left := newSource(), MaxBytes
	for _, name := range names {
		data, err := root.Read(ctx, name, int64(left))
		var size *c4model.SizeError
		switch {
		case errors.As(err, &size):
			return nil, problem.Invalidf("", "%s: found more than %d bytes in the files of %s; expected at most that many in one model", name, MaxBytes, dir).
				Fix("name the folder of one model").Because(err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, problem.Invalidf("", "%s: cannot be read (%v); expected a readable file", name, err).Because(err)
		}
		left -= len(data)
		content, err := c4model.Text(name, data)
		if err != nil {
			return nil, err
		}
		if err := s.parse(name, content); err != nil {
			return nil, err
		}
	}
	t, err := s.place()
	if err != nil {
		return nil, err
	}
	m, err := t.build()
	if err != nil {
		return nil, err
	}
	m.Name = settings.name
	m.Warnings = append(m.Warnings, settings.warnings...)
	return m, nil
}

// files gives the files of the model in order of their names.
func files(ctx context.Context, root *c4model.Root, dir string, without []string) ([]string, error) {
	names, err := root.Search(ctx, dir, MaxDepth, MaxEntries, without)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{dir: true}
	var belongs func(folder string) bool
	belongs = func(folder string) bool {
		known, ok := own[folder]
		if !ok {
			known = !IsProject(root, folder) && belongs(path.Dir(folder))
			own[folder] = known
		}
		return known
	}
	return slices.DeleteFunc(names, func(name string) bool { return !Is(name) || !belongs(path.Dir(name)) }), nil
}
