package repocheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// top is the folder of the repository, seen from this package.
const top = "../.."

// repository gives the tree and its files: those git tracks and those it would, not what it ignores.
func repository(t *testing.T) (tree fs.FS, files []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", top, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	tree = os.DirFS(top)
	folders := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		// A file that was removed and not yet committed is still listed.
		if _, err := fs.Stat(tree, name); name == "" || err != nil {
			continue
		}
		files = append(files, name)
		// The go command keeps the result of a test until a file or folder that the test opened changes. What git read
		// it does not see, so the folders are opened here: a new file must not pass unread.
		if folder := path.Dir(name); !folders[folder] {
			folders[folder] = true
			if _, err := fs.ReadDir(tree, folder); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Contains(files, "go.mod") {
		t.Fatalf("%s is not the top of the repository: no go.mod among %d files", top, len(files))
	}
	return tree, files
}

// under gives the files whose name matches a pattern of path.Match, in their folder or below it when folder is ".".
func under(files []string, folder, pattern string) []string {
	var out []string
	for _, name := range files {
		if folder != "." && path.Dir(name) != folder {
			continue
		}
		if ok, err := path.Match(pattern, path.Base(name)); err == nil && ok {
			out = append(out, name)
		}
	}
	return out
}

// report fails the test once for each complaint.
func report(t *testing.T, complaints []string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range complaints {
		t.Error(c)
	}
}

// expect compares the complaints of a check about a bad tree with the beginnings they should have.
func expect(t *testing.T, got []string, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("got %d complaints, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("complaint %d is %q, want it to contain %q", i, got[i], want[i])
		}
	}
}

// packageComments complains about every folder of Go files whose package has no comment, or several. Where it stands is
// the first thing a reader asks, and `go doc` has nothing else to answer with.
func packageComments(tree fs.FS, files []string) (complaints []string, err error) {
	comments := map[string][]string{}
	var folders []string
	for _, name := range under(files, ".", "*.go") {
		if strings.Contains(name, "testdata/") {
			continue
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		folder := path.Dir(name)
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		if strings.HasSuffix(file.Name.Name, "_test") {
			continue
		}
		if hasText(file.Doc) {
			comments[folder] = append(comments[folder], path.Base(name))
		}
	}
	for _, folder := range folders {
		switch in := comments[folder]; len(in) {
		case 1:
		case 0:
			complaints = append(complaints, folder+": the package has no comment; say in one file what it is for")
		default:
			complaints = append(complaints, fmt.Sprintf("%s: the package has comments in %s; keep one", folder, strings.Join(in, ", ")))
		}
	}
	return complaints, nil
}

func hasText(doc *ast.CommentGroup) bool { return doc != nil && strings.TrimSpace(doc.Text()) != "" }

// maxFileBytes is what a file in the repository may have; a larger one is a build product or data that belongs elsewhere.
const maxFileBytes = 1 << 20

// largerFiles may have more, each for its reason.
var largerFiles = map[string]int64{
	"embedding/uselite/weights.bin": 8 << 20, // the built-in encoder, which is part of the program
}

func largeFiles(tree fs.FS, files []string) (complaints []string, err error) {
	for _, name := range files {
		info, err := fs.Stat(tree, name)
		if err != nil {
			return nil, err
		}
		if allowed := max(maxFileBytes, largerFiles[name]); info.Size() > allowed {
			complaints = append(complaints, fmt.Sprintf("%s: %d bytes are more than the %d allowed", name, info.Size(), allowed))
		}
	}
	return complaints, nil
}

// unfinished are marks of work that was put off. They are spelled apart here, so that this file is not among the finds.
var unfinished = []string{"TO" + "DO", "FIX" + "ME", "t.Sk" + "ip("}

// putOff complains about Go files with such a mark.
func putOff(tree fs.FS, files []string) (complaints []string, err error) {
	for _, name := range under(files, ".", "*.go") {
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		number := 0
		for line := range strings.Lines(string(src)) {
			number++
			for _, mark := range unfinished {
				if strings.Contains(line, mark) {
					complaints = append(complaints, fmt.Sprintf("%s:%d: %s; do it or write it down where work is planned", name, number, mark))
				}
			}
		}
	}
	return complaints, nil
}

func TestEveryPackageHasOneComment(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	complaints, err := packageComments(tree, files)
	report(t, complaints, err)
}

func TestNoLargeFile(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	complaints, err := largeFiles(tree, files)
	report(t, complaints, err)
}

func TestNothingIsPutOff(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	complaints, err := putOff(tree, files)
	report(t, complaints, err)
}

func TestTreeChecksFindFaults(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"good/a.go":          {Data: []byte("// Package good is good.\npackage good\n")},
		"good/b.go":          {Data: []byte("// A licence, not a package comment.\n\npackage good\n")},
		"good/testdata/x.go": {Data: []byte("package x\n")},
		"none/a.go":          {Data: []byte("package none\n\n// " + unfinished[0] + ": later\n")},
		"none/a_test.go":     {Data: []byte("// Package none_test is not it.\npackage none_test\n")},
		"two/a.go":           {Data: []byte("// Package two is one.\npackage two\n")},
		"two/b.go":           {Data: []byte("// Package two is two.\npackage two\n")},
		"big.bin":            {Data: make([]byte, maxFileBytes+1)},
		"limit.bin":          {Data: make([]byte, maxFileBytes)},
	}
	files := []string{"big.bin", "good/a.go", "good/b.go", "good/testdata/x.go", "limit.bin", "none/a.go", "none/a_test.go", "two/a.go", "two/b.go"}
	got, err := packageComments(tree, files)
	expect(t, got, err, "none: the package has no comment", "two: the package has comments in a.go, b.go")
	got, err = largeFiles(tree, files)
	expect(t, got, err, "big.bin: 1048577 bytes")
	got, err = putOff(tree, files)
	expect(t, got, err, "none/a.go:3")
}
