package c4model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stele-dev/stele/internal/problem"
)

// Reasons why a Root does not follow a reference. Readers turn them into a Warning that names the reference.
var (
	ErrOutside = errors.New("it is outside the root folder")
	ErrURL     = errors.New("it is a URL, and URLs are never fetched")
)

// Root is the one folder that a reader may read from, and the only way it reads: no reference in a model leaves the
// folder, not by "..", not by an absolute path, not by a symbolic link, and nothing is fetched. Names are slash-separated
// and relative to the folder. A Root has no state and serves many readers at once.
type Root struct {
	fsys  fs.FS
	close func() error
}

// OpenRoot opens a folder of this machine. The caller closes it.
func OpenRoot(dir string) (*Root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, problem.New(problem.NotFound, "path", fmt.Sprintf("the folder %s cannot be opened", dir), "check that it exists and can be read").Because(err)
	}
	return &Root{fsys: r.FS(), close: r.Close}, nil
}

// NewRoot uses a file system that cannot be left, such as an unpacked upload held in memory.
func NewRoot(fsys fs.FS) *Root {
	return &Root{fsys: fsys, close: func() error { return nil }}
}

// Close gives the folder back.
func (r *Root) Close() error { return r.close() }

// Resolve gives the name inside the root of a reference written in the file from, or ErrURL or ErrOutside. Back slashes
// count as slashes, since models are written on Windows too.
func (r *Root) Resolve(from, reference string) (string, error) {
	if strings.Contains(reference, "://") {
		return "", ErrURL
	}
	reference = strings.ReplaceAll(reference, `\`, "/")
	if path.IsAbs(reference) || (len(reference) > 1 && reference[1] == ':') || strings.HasPrefix(reference, "~") {
		return "", ErrOutside
	}
	name := path.Join(path.Dir(from), reference)
	if !fs.ValidPath(name) {
		return "", ErrOutside
	}
	return name, nil
}

// Stat describes a file or folder, following links that stay inside.
func (r *Root) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(r.fsys, name)
	return info, outside(err)
}

// Read gives the content of a regular file of at most limit bytes; a larger one is a *SizeError, read no further than
// the limit.
func (r *Root) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	f, err := r.regular(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		return nil, &SizeError{Name: name, Limit: limit}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &SizeError{Name: name, Limit: limit}
	}
	return data, nil
}

// regular opens a file. Devices and pipes are refused before they are opened, because opening one may block for ever.
func (r *Root) regular(ctx context.Context, name string) (fs.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	info, err := r.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	f, err := r.fsys.Open(name)
	return f, outside(err)
}

// List gives the regular files under a folder, recursively, each folder in order of names, without hidden ones; skipped
// holds links that lead outside. More than limit entries are an error, so that a list is never silently short.
func (r *Root) List(ctx context.Context, dir string, limit int) (files, skipped []string, err error) {
	entries := 0
	err = fs.WalkDir(r.fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if entries++; entries > limit {
			return problem.Invalidf("path", "the folder %s holds more than %d files", dir, limit).Fix("name a smaller folder")
		}
		hidden := name != dir && strings.HasPrefix(d.Name(), ".")
		switch {
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			info, err := r.Stat(name)
			if err != nil {
				skipped = append(skipped, name)
			} else if info.Mode().IsRegular() {
				files = append(files, name)
			}
		case d.Type().IsRegular():
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, nil, outside(err)
	}
	return files, skipped, nil
}

// Beginning gives at most the first limit bytes of a regular file.
func (r *Root) Beginning(ctx context.Context, name string, limit int64) ([]byte, error) {
	f, err := r.regular(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
}

// Search gives the regular files under a folder to a depth (1 is the folder itself), without hidden ones, links and
// folders of the given names. It stops with a problem at more than limit entries.
func (r *Root) Search(ctx context.Context, dir string, depth, limit int, without []string) ([]string, error) {
	var files []string
	entries := 0
	err := fs.WalkDir(r.fsys, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == dir:
			return err
		case err != nil: // a folder that this user may not read holds no model for this user
			return nil //nolint:nilerr // see above
		case name == dir:
			return nil
		}
		if entries++; entries > limit {
			return problem.Invalidf("path", "the folder %s holds more than %d files", dir, limit).Fix("name the model file itself")
		}
		below := strings.Count(strings.TrimPrefix(name, dir+"/"), "/")
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || slices.Contains(without, d.Name()) || below+1 >= depth):
			return fs.SkipDir
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), "."):
			files = append(files, name)
		}
		return nil
	})
	return files, outside(err)
}

// outside recognises the refusal of os.Root, which has no exported error value.
func outside(err error) error {
	if err != nil && strings.Contains(err.Error(), "path escapes from parent") {
		return ErrOutside
	}
	return err
}

// SizeError says that a file is larger than a reader accepts.
type SizeError struct {
	Name  string
	Limit int64 // bytes
}

// Error names the file and the limit.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is larger than the %d bytes that a reader accepts", e.Name, e.Limit)
}

// Text checks that data is text and gives it without a byte-order mark; otherwise a problem names the line.
func Text(name string, data []byte) (string, error) {
	if len(data) >= 2 && (data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe && data[1] == 0xff) {
		return "", problem.Invalidf("", "%s:1: found UTF-16 text; expected UTF-8", name).Fix("save the file as UTF-8")
	}
	text := string(data)
	for i, r := range text {
		if r == 0 {
			return "", problem.Invalidf("", "%s:%d: found a zero byte; expected text", name, lineAt(text, i)).
				Fix("name the model file itself; this one is binary")
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size <= 1 {
				return "", problem.Invalidf("", "%s:%d: found the byte 0x%02X, which is not UTF-8; expected UTF-8 text", name, lineAt(text, i), text[i]).
					Fix("save the file as UTF-8")
			}
		}
	}
	return strings.TrimPrefix(text, "\uFEFF"), nil
}

func lineAt(text string, offset int) int { return 1 + strings.Count(text[:offset], "\n") }
