package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// EditRepository changes the stele.yaml of a folder, which it makes when there is none: the text that edit gives takes the
// place of the old one at once. changed is false when edit gives what was there. A link is not followed: it may lead to a file
// of somebody else's.
func EditRepository(folder string, edit func(text []byte) ([]byte, error)) (changed bool, err error) {
	path := filepath.Join(folder, RepositoryFile)
	mode := fs.FileMode(0o644) // a file of the repository, as readable as the others
	var text []byte
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, problem.New(problem.Unavailable, path, "the file cannot be read", "make the folder readable").Because(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return false, problem.Invalidf(path, "it is a symbolic link, which is not written through").Fix("put the file itself there")
	default:
		if text, err = readInside(folder, RepositoryFile, maxRepositoryFile); err != nil {
			if p, ok := problem.As(err); ok {
				p.Field = path
			}
			return false, err
		}
		mode = info.Mode().Perm()
	}
	out, err := edit(text)
	if err != nil || bytes.Equal(out, text) {
		return false, atFile(path, err)
	}
	if len(out) > maxRepositoryFile {
		return false, problem.Invalidf(path, "it would have %d bytes, at most %d are read", len(out), maxRepositoryFile).Fix("bind folders instead of files")
	}
	if err := replaceFile(folder, path, out, mode); err != nil {
		return false, problem.New(problem.Unavailable, path, "the file cannot be written", "make its folder writable").Because(err)
	}
	return true, nil
}

// NearestRepository gives the folder of the nearest stele.yaml at or above dir, a folder inside top, relative to top and with
// slashes. "" is top itself, also where there is no such file. The files of a folder belong to the project that its nearest
// stele.yaml describes, so one repository may hold several.
func NearestRepository(top, dir string) string {
	inside, err := filepath.Rel(top, dir)
	if err != nil || !filepath.IsLocal(inside) {
		return ""
	}
	for ; inside != "."; inside = filepath.Dir(inside) {
		if info, err := os.Stat(filepath.Join(top, inside, RepositoryFile)); err == nil && info.Mode().IsRegular() {
			return filepath.ToSlash(inside)
		}
	}
	return ""
}

// atFile names the file in errors about its text.
func atFile(path string, err error) error {
	if p, ok := problem.As(err); ok && strings.HasPrefix(p.Field, RepositoryFile) {
		p.Field = path + strings.TrimPrefix(p.Field, RepositoryFile) // with the line
	}
	return err
}

// replaceFile writes a file beside the old one and puts it in its place, so that no reader meets half of it.
func replaceFile(folder, path string, text []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(folder, "."+RepositoryFile+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", f.Name(), err)
	}
	return os.Rename(f.Name(), path)
}
