package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// markerFile says that a folder holds an export, of which project, and which files of it are ours.
const markerFile = ".stele-export.json"

// marker is the content of markerFile. It holds no time, so that an export of the same memories is the same to the byte.
type marker struct {
	Format  int               `json:"format"`
	Project uuid.UUID         `json:"project"`
	Files   map[string]string `json:"files"` // path, with slashes, → SHA-256 of what was written there
}

// folder is where Markdown goes. Everything is done through an os.Root, which no name and no symbolic link leads out of.
type folder struct {
	root   *os.Root
	dir    string
	before map[string]string // the files of the export that is there
	marker marker            // of the one being written
	report Report
}

// open makes the folder, or takes one that is empty or holds an earlier export of the same project.
func openFolder(dir string, project uuid.UUID) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, problem.New(problem.Invalid, "dir", fmt.Sprintf("the folder %s cannot be made: %v", dir, err), "name a folder you may write to").Because(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, problem.New(problem.Invalid, "dir", fmt.Sprintf("%s cannot be opened: %v", dir, err), "name a folder you may write to").Because(err)
	}
	f := &folder{root: root, dir: dir, marker: marker{Format: format, Project: project, Files: map[string]string{}}, report: Report{Dir: dir, Kept: []string{}}}
	if err := f.takeOver(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// takeOver reads the marker of an earlier export, or makes sure that there is nothing to lose.
func (f *folder) takeOver() error {
	text, err := f.root.ReadFile(markerFile)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := fs.ReadDir(f.root.FS(), ".")
		if err != nil {
			return fmt.Errorf("looking into %s: %w", f.dir, err)
		}
		// A repository that was just made for the export is empty all the same.
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != ".git" }) {
			return problem.New(problem.Conflict, "dir", f.dir+" is not empty and holds no export of Stele", "name an empty or new folder")
		}
		// From here on the folder is ours, whatever happens.
		return f.writeMarker(f.marker)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", markerFile, err)
	}
	var m marker
	if err := json.Unmarshal(text, &m); err != nil || m.Format != format {
		return problem.New(problem.Conflict, "dir", path.Join(f.dir, markerFile)+" is not one that this stele wrote", "name an empty or new folder").Because(err)
	}
	if m.Project != f.marker.Project {
		return problem.New(problem.Conflict, "dir", f.dir+" holds the export of another project ("+m.Project.String()+")", "name a folder of this project's own")
	}
	f.before = m.Files
	return nil
}

func (f *folder) writeMarker(m marker) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", markerFile, err)
	}
	return f.write(markerFile, append(text, '\n'))
}

// write puts a file into place whole.
func (f *folder) write(name string, content []byte) error {
	if dir := path.Dir(name); dir != "." {
		if err := f.root.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
	}
	unfinished := path.Join(path.Dir(name), ".stele-export.new")
	if err := f.root.WriteFile(unfinished, content, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if err := f.root.Rename(unfinished, name); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", name, err), f.root.Remove(unfinished))
	}
	return nil
}

// put brings one file to its content. A file that somebody else wrote or changed is left as it is and reported.
func (f *folder) put(name string, content []byte) error {
	sum := sumOf(content)
	there, err := f.sum(name)
	if err != nil {
		return err
	}
	switch there {
	case sum:
		f.report.Unchanged++
	case "", f.before[name]:
		if err := f.write(name, content); err != nil {
			return err
		}
		f.report.Written++
	default:
		f.keep(name)
		return nil
	}
	f.marker.Files[name] = sum
	return nil
}

// keep leaves a file that is not as it was written.
func (f *folder) keep(name string) {
	f.report.Kept = append(f.report.Kept, name)
	if sum, ours := f.before[name]; ours {
		f.marker.Files[name] = sum // it becomes ours again when the change is taken back
	}
}

// sum gives the hash of a file, "" when there is none, and "other" for what is no plain file.
func (f *folder) sum(name string) (string, error) {
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking at %s: %w", name, err)
	case !info.Mode().IsRegular():
		return "other", nil
	}
	content, err := f.root.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return sumOf(content), nil
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// finish removes the files of an earlier export that are no part of this one, unless they were changed, and writes the
// marker.
func (f *folder) finish(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(f.before)) {
		if _, current := f.marker.Files[name]; current || slices.Contains(f.report.Kept, name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		there, err := f.sum(name)
		switch {
		case err != nil:
			return err
		case there == "":
		case there != f.before[name]:
			f.keep(name)
		default:
			if err := f.root.Remove(name); err != nil {
				return fmt.Errorf("removing %s: %w", name, err)
			}
			f.report.Removed++
			// Folders that it was alone in go with it; one that holds anything stays.
			for dir := path.Dir(name); dir != "." && f.root.Remove(dir) == nil; dir = path.Dir(dir) {
				continue
			}
		}
	}
	return nil
}

// close writes the marker: after a failure one that also knows the files of before, so that nothing is taken for foreign.
func (f *folder) close(failed bool) error {
	if failed {
		for name, sum := range f.before {
			if _, ok := f.marker.Files[name]; !ok {
				f.marker.Files[name] = sum
			}
		}
	}
	var err error
	if failed || !maps.Equal(f.before, f.marker.Files) {
		err = f.writeMarker(f.marker)
	}
	return errors.Join(err, f.root.Close())
}
