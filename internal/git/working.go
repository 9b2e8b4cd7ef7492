package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxWorking bounds the changed files that Working reads, in bytes of all of them together: nobody changes more of a source
// by hand, and whoever keeps data beside the code shall not wait for it.
const maxWorking = 256 << 20

// Working lists files as a commit of everything that is there would have them, sorted by path (bytewise): tracked ones with
// their changes, and new ones that no ignore rule names. want chooses by path, and only what it chooses is read. Sizes are not
// known. A repository without a working tree has none; what a commit would hold of a changed submodule, or of more than 256 MB
// of changes, is not told: that is an error.
func (r *Repository) Working(ctx context.Context, want func(path string) bool) ([]Entry, error) {
	if r.root == "" {
		return nil, nil
	}
	tracked, err := r.Tracked(ctx)
	if err != nil {
		return nil, err
	}
	files := make(map[string]Entry, len(tracked))
	for _, e := range tracked {
		if want(e.Path) {
			files[e.Path] = e
		}
	}
	changed, err := r.changed(ctx)
	if err != nil {
		return nil, err
	}
	var read []Entry // regular files whose hash git has to tell
	var size int64
	for _, path := range changed {
		if !want(strings.TrimSuffix(path, "/")) {
			continue
		}
		e := Entry{Path: path, Mode: Regular}
		info, err := os.Lstat(filepath.Join(r.root, filepath.FromSlash(path)))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // a folder on the way may be a file now
			delete(files, path)
			continue
		case err != nil:
			return nil, fmt.Errorf("looking at a changed file: %w", err)
		case info.Mode()&fs.ModeSymlink != 0:
			e.Mode = Symlink
			if e.Blob, err = r.hashLink(ctx, path); err != nil {
				return nil, err
			}
			files[path] = e
			continue
		case !info.Mode().IsRegular() || strings.Contains(path, "\n"):
			return nil, fmt.Errorf("%q is neither a file nor a link, or its name cannot be told to git", path)
		case info.Mode()&0o111 != 0:
			e.Mode = Executable
		}
		if size += info.Size(); size > maxWorking {
			return nil, fmt.Errorf("more than %d bytes of the working tree changed", maxWorking)
		}
		read = append(read, e)
	}
	if err := r.hash(ctx, read); err != nil {
		return nil, err
	}
	for _, e := range read {
		files[e.Path] = e
	}
	out := make([]Entry, 0, len(files))
	for _, e := range files {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// changed lists the paths at which the working tree and HEAD differ; a repository inside this one ends in a slash.
func (r *Repository) changed(ctx context.Context) ([]string, error) {
	var out []string
	err := r.stream(ctx, func(in *bufio.Reader) error {
		for {
			entry, err := field(in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			const state = 3 // two letters and a blank
			if err != nil || len(entry) <= state {
				return fmt.Errorf("git status: %q was not understood: %w", entry, err)
			}
			out = append(out, entry[state:])
		}
	}, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
	return out, err
}

// hash fills in the hashes that files would have in a commit, line endings and filters included.
func (r *Repository) hash(ctx context.Context, files []Entry) error {
	if len(files) == 0 {
		return nil
	}
	var names strings.Builder
	for _, e := range files {
		names.WriteString(e.Path + "\n")
	}
	out, err := r.feed(ctx, names.String(), "hash-object", "--stdin-paths")
	if err != nil {
		return err
	}
	hashes := strings.Fields(string(out))
	if len(hashes) != len(files) {
		return fmt.Errorf("git hash-object gave %d hashes of %d files", len(hashes), len(files))
	}
	for i := range files {
		files[i].Blob = hashes[i]
	}
	return nil
}

// hashLink is the hash of a symbolic link: of where it points to.
func (r *Repository) hashLink(ctx context.Context, path string) (string, error) {
	target, err := os.Readlink(filepath.Join(r.root, filepath.FromSlash(path)))
	if err != nil {
		return "", fmt.Errorf("reading a link: %w", err)
	}
	out, err := r.feed(ctx, filepath.ToSlash(target), "hash-object", "--stdin")
	return strings.TrimSpace(string(out)), err
}

// feed runs git with a text on its standard input and gives what it wrote.
func (r *Repository) feed(ctx context.Context, text string, args ...string) ([]byte, error) {
	cmd, stderr := r.command(ctx, args...)
	cmd.Stdin = strings.NewReader(text)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		return nil, failure(ctx, subcommand(args), err, stderr)
	}
	return stdout.Bytes(), nil
}
