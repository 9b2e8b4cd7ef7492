package drift

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/git"
)

// treeFS is a commit as a file system, for the readers of models. Symbolic links and submodules are not in it. It belongs to
// one goroutine, as its Blobs do.
type treeFS struct {
	blobs   *git.Blobs
	files   map[string]git.Entry
	folders map[string][]fs.DirEntry // by path, "." at the top; sorted by name
	when    time.Time
}

func newTreeFS(blobs *git.Blobs, commit git.Commit, entries []git.Entry) *treeFS {
	t := &treeFS{blobs: blobs, files: make(map[string]git.Entry, len(entries)), folders: map[string][]fs.DirEntry{".": nil}, when: commit.Time}
	for _, e := range entries {
		if e.Mode != git.Regular && e.Mode != git.Executable || !fs.ValidPath(e.Path) {
			continue
		}
		t.files[e.Path] = e
		child := fs.DirEntry(treeInfo{path.Base(e.Path), e.Size, 0o644, t.when})
		for folder := path.Dir(e.Path); ; folder = path.Dir(folder) {
			known, seen := t.folders[folder]
			t.folders[folder] = append(known, child)
			if seen || folder == "." {
				break
			}
			child = treeInfo{path.Base(folder), 0, fs.ModeDir | 0o755, t.when}
		}
	}
	for _, list := range t.folders {
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return t
}

// Open opens a file or folder.
func (t *treeFS) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &treeFolder{treeInfo: info.(treeInfo), list: t.folders[name]}, nil //nolint:forcetypeassert // Stat gives no other
	}
	e := t.files[name]
	text, err := t.blobs.Read(e.Blob, e.Size)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &treeFile{info.(treeInfo), bytes.NewReader(text)}, nil //nolint:forcetypeassert // Stat gives no other
}

// Stat describes a file or folder.
func (t *treeFS) Stat(name string) (fs.FileInfo, error) {
	if e, ok := t.files[name]; ok {
		return treeInfo{path.Base(name), e.Size, 0o644, t.when}, nil
	}
	if _, ok := t.folders[name]; ok {
		return treeInfo{path.Base(name), 0, fs.ModeDir | 0o755, t.when}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists a folder.
func (t *treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, ok := t.folders[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(list), nil
}

// exists tells whether a path is a tracked file or folder.
func (t *treeFS) exists(name string) bool {
	_, err := t.Stat(name)
	return err == nil
}

// treeInfo describes an entry of a commit.
type treeInfo struct {
	name string
	size int64
	mode fs.FileMode
	when time.Time
}

func (i treeInfo) Name() string               { return i.name }
func (i treeInfo) Size() int64                { return i.size }
func (i treeInfo) Mode() fs.FileMode          { return i.mode }
func (i treeInfo) ModTime() time.Time         { return i.when }
func (i treeInfo) IsDir() bool                { return i.mode.IsDir() }
func (i treeInfo) Sys() any                   { return nil }
func (i treeInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i treeInfo) Info() (fs.FileInfo, error) { return i, nil }

type treeFile struct {
	treeInfo
	*bytes.Reader
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f.treeInfo, nil }
func (f *treeFile) Size() int64                { return f.size }
func (f *treeFile) Close() error               { return nil }

type treeFolder struct {
	treeInfo
	list []fs.DirEntry
}

func (f *treeFolder) Stat() (fs.FileInfo, error) { return f.treeInfo, nil }
func (f *treeFolder) Close() error               { return nil }

func (f *treeFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrInvalid}
}

// ReadDir gives the next n entries, all that are left when n is not positive.
func (f *treeFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.list)
	} else if len(f.list) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.list))
	list := f.list[:n]
	f.list = f.list[n:]
	return list, nil
}
