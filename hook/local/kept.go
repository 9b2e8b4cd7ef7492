package local

import (
	"errors"
	"io/fs"
	"os"
)

// Kept is a folder of Markdown that hooks keep equal with the memories of a project on this machine.
type Kept struct {
	Dir     string `json:"dir"`     // absolute
	Place   string `json:"place"`   // folder that the commands run in
	Layout  string `json:"layout"`  // as of package importer/folder
	Deleted string `json:"deleted"` // as of package importer/folder
}

// Kept gives the folder of a project, by its id; false when there is none.
func (f Folder) Kept(project string) (k Kept, ok bool) {
	return k, f != "" && f.load(f.path("folders", project), &k) == nil && k.Dir != ""
}

// KeepFolder sets the folder of a project, in place of another one.
func (f Folder) KeepFolder(project string, k Kept) error {
	return f.store(f.path("folders", project), k)
}

// ForgetFolder lets go of the folder of a project. What is in it stays.
func (f Folder) ForgetFolder(project string) error {
	if err := os.Remove(f.path("folders", project)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
