package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// record is what undoes an installation. It holds what was changed, not the files: those may hold other programs' tokens.
type record struct {
	Format  int          `json:"format"`
	Client  string       `json:"client"`
	Scope   Scope        `json:"scope"`
	Folder  string       `json:"folder,omitempty"` // of the repository
	Version string       `json:"version"`          // of the program that installed
	Binary  string       `json:"binary"`
	At      time.Time    `json:"at"`
	Files   []fileRecord `json:"files"`
}

// fileRecord is what was done to one file.
type fileRecord struct {
	Path    string     `json:"path"`
	Target  string     `json:"target"`
	Created bool       `json:"created"`         // the file was not there
	Folders []string   `json:"folders"`         // that were made for it, the outermost first
	After   string     `json:"after"`           // SHA-256 of what was written; "" where somebody edited it in between
	Splices []splice   `json:"splices"`         // undo it exactly, as long as the file is what After says
	Made    [][]string `json:"made"`            // containers that were not there, as paths of names
	Emptied []emptied  `json:"emptied"`         // containers that were there, with nothing in them
	Blank   *string    `json:"blank,omitempty"` // the whole text, where it was white space
}

// emptied is a container that held nothing, and the white space between its brackets.
type emptied struct {
	Path   []string `json:"path"`
	Inside string   `json:"inside"`
}

const recordFormat = 1

// behind joins what was done now to what was done before. exact: nobody edited the file in between.
func (r fileRecord) behind(prior fileRecord, exact bool) fileRecord {
	if exact {
		r.Splices = append(slices.Clone(prior.Splices), r.Splices...)
		r.Blank = prior.Blank
	} else {
		r.Splices, r.After, r.Blank = nil, "", nil
	}
	r.Created = prior.Created || r.Created
	r.Folders = prior.Folders
	for _, path := range prior.Made {
		if !slices.ContainsFunc(r.Made, func(p []string) bool { return slices.Equal(p, path) }) {
			r.Made = append(r.Made, path)
		}
	}
	for _, e := range prior.Emptied {
		r.Emptied = slices.DeleteFunc(r.Emptied, func(o emptied) bool { return slices.Equal(o.Path, e.Path) })
		r.Emptied = append(r.Emptied, e)
	}
	// What is empty now because of the installation before was not so at first.
	r.Emptied = slices.DeleteFunc(r.Emptied, func(o emptied) bool {
		return slices.ContainsFunc(r.Made, func(p []string) bool { return slices.Equal(p, o.Path) })
	})
	return r
}

func (r record) file(target string) (fileRecord, bool) {
	for _, f := range r.Files {
		if f.Target == target {
			return f, true
		}
	}
	return fileRecord{}, false
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// recordFile is where the record of an installation is kept; folder is that of the repository, for Project.
func recordFile(state, client string, scope Scope, folder string) string {
	name := client
	if scope == Project {
		name += "-" + digest([]byte(folder))[:16]
	}
	return filepath.Join(state, name+".json")
}

// readRecord gives the zero record where there is none.
func readRecord(state, client string, scope Scope, folder string) (record, error) {
	var r record
	path := recordFile(state, client, scope, folder)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && r.Format > recordFormat {
		err = fmt.Errorf("it was written by a newer version of the program")
	}
	if err != nil {
		return r, problem.New(problem.Unavailable, path, "what undoes the installation cannot be read: "+reason(err),
			"move the file away: removal then goes by what is recognized in the client's files").Because(err)
	}
	return r, nil
}

// writeRecord keeps a record, or removes it where nothing is left to undo.
func writeRecord(state string, r record) error {
	path := recordFile(state, r.Client, r.Scope, r.Folder)
	if len(r.Files) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return problem.New(problem.Unavailable, path, "the record cannot be removed: "+reason(err), "remove it by hand").Because(err)
		}
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(state, 0o700)
	}
	if err == nil {
		err = writeFile(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return problem.New(problem.Unavailable, path, "what undoes the installation cannot be kept: "+reason(err), "make the folder writable for you").Because(err)
	}
	return nil
}

// writeFile writes a file whole or not at all.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".stele-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already when all went well
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
