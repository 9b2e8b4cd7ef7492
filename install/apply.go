package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stele-dev/stele/internal/problem"
)

// Apply carries a plan out, all of it or nothing. A file that is not what the plan was made from is a problem of code Stale. What
// undoes it is kept before anything is written.
func Apply(env Environment, p Plan, now time.Time) error {
	for _, e := range p.Edits {
		if err := e.ready(); err != nil {
			return err
		}
	}
	r := record{
		Format: recordFormat, Client: p.Client.ID, Scope: p.Scope, Version: p.program, Binary: p.binary, At: now.UTC(), Files: slices.Clone(p.kept),
	}
	if p.Scope == Project {
		r.Folder = env.Project
	}
	before, err := readRecord(env.State, r.Client, r.Scope, r.Folder)
	if err != nil {
		return err
	}
	if !p.removal {
		for n := range p.Edits {
			e := &p.Edits[n]
			e.record.Folders = append(e.record.Folders, missingFolders(filepath.Dir(e.Target))...)
			r.Files = append(r.Files, e.record)
		}
		if err := writeRecord(env.State, r); err != nil {
			return err
		}
	}
	for n, e := range p.Edits {
		err := e.write(p.Scope)
		if err == nil {
			continue
		}
		for _, done := range slices.Backward(p.Edits[:n]) {
			err = errors.Join(err, done.back())
		}
		before.Client, before.Scope, before.Folder = r.Client, r.Scope, r.Folder
		if werr := writeRecord(env.State, before); werr != nil {
			err = errors.Join(err, werr)
		}
		return err
	}
	if p.removal {
		return writeRecord(env.State, r)
	}
	return nil
}

// ready tells whether a file is still what the plan was made from, and may be written.
func (e Edit) ready() error {
	now, err := open(e.Path)
	if err != nil {
		return err
	}
	if now.exists != e.Exists || now.target != e.Target || !bytes.Equal(now.text, e.Before) {
		return problem.New(problem.Stale, e.Path, "the file changed since the changes to it were planned; nothing was written", "look at them again: run the command once more")
	}
	if info, err := os.Stat(e.Target); err == nil && info.Mode().Perm()&0o200 == 0 {
		return problem.New(problem.Forbidden, e.Path, "the file is read-only; nothing was written", "make it writable: chmod u+w "+e.Target)
	}
	return nil
}

func (e Edit) write(scope Scope) error {
	failed := func(err error) error {
		return problem.New(problem.Unavailable, e.Path, "the file cannot be written: "+reason(err)+"; nothing was changed", "make its folder writable for you").Because(err)
	}
	if e.Remove {
		if err := os.Remove(e.Target); err != nil {
			return failed(err)
		}
		for _, folder := range slices.Backward(e.record.Folders) {
			if os.Remove(folder) != nil {
				break // somebody put something else there
			}
		}
		return nil
	}
	file, folder := fs.FileMode(0o600), fs.FileMode(0o700)
	if scope == Project {
		file, folder = 0o644, 0o755
	}
	if info, err := os.Stat(e.Target); err == nil {
		file = info.Mode().Perm()
	} else if err := os.MkdirAll(filepath.Dir(e.Target), folder); err != nil {
		return failed(err)
	}
	if err := writeFile(e.Target, e.After, file); err != nil {
		return failed(err)
	}
	return nil
}

// back takes one file to what it was, when another of the same plan could not be written.
func (e Edit) back() error {
	if !e.Exists {
		return os.Remove(e.Target)
	}
	file := fs.FileMode(0o600)
	if info, err := os.Stat(e.Target); err == nil {
		file = info.Mode().Perm()
	}
	return writeFile(e.Target, e.Before, file)
}

// missingFolders are those that have to be made for a folder to be there, the outermost first.
func missingFolders(folder string) []string {
	var out []string
	for {
		if _, err := os.Stat(folder); err == nil || folder == filepath.Dir(folder) {
			slices.Reverse(out)
			return out
		}
		out = append(out, folder)
		folder = filepath.Dir(folder)
	}
}

// PrepareRemoval plans to take out what was installed. Without a record it goes by what is recognized as Stele's.
func PrepareRemoval(c Client, env Environment, scope Scope) (Plan, error) {
	plan := Plan{Client: c, Scope: scope, removal: true}
	if scope == Project && env.Project == "" {
		return plan, problem.Invalidf("project-level", "this folder belongs to no repository").Fix("run it in the repository it was installed in")
	}
	if scope == User && env.Home == "" {
		return plan, problem.New(problem.Unavailable, "HOME", "there is no home folder, so it is not known where "+c.Name+" keeps its settings", "set HOME")
	}
	folder := ""
	if scope == Project {
		folder = env.Project
	}
	prior, err := readRecord(env.State, c.ID, scope, folder)
	if err != nil {
		return plan, err
	}
	var paths []string
	for _, f := range prior.Files {
		paths = append(paths, f.Path)
	}
	for _, path := range c.files(env, scope) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		s, err := open(path)
		if err != nil {
			return plan, err
		}
		if !s.exists {
			continue
		}
		r, _ := prior.file(s.target)
		after, remove, err := undo(c, s, r)
		if err != nil {
			return plan, err
		}
		if !remove && bytes.Equal(after, s.text) {
			continue
		}
		if remove {
			after = nil
		}
		plan.Edits = append(plan.Edits, Edit{Path: path, Target: s.target, Before: s.text, After: after, Exists: true, Remove: remove, record: r,
			What: []string{"take out what stele install wrote"}})
	}
	return plan, nil
}

// undo gives a file without what is Stele's, or tells that it goes away.
func undo(c Client, s source, r fileRecord) (after []byte, remove bool, err error) {
	if r.After != "" && r.After == digest(s.text) {
		if before, ok := revert(s.text, r.Splices); ok {
			return before, r.Created, nil
		}
	}
	left, err := c.strip(s, r)
	if err != nil {
		return nil, false, err
	}
	return left.text, r.Created && left.bare, nil
}
