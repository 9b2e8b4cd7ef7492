package drift

import (
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git"
)

// maxSource bounds the files whose imports are read, in bytes. Longer ones are generated or data.
const maxSource = 2 << 20

// sideFolders hold code that is no part of the running system. It may be bound; unbound, it is nobody's omission.
var sideFolders = map[string]bool{
	"test": true, "tests": true, "__tests__": true, "spec": true, "specs": true, "e2e": true, "integration-tests": true, "testing": true,
	"example": true, "examples": true, "sample": true, "samples": true, "demo": true, "demos": true, "playground": true, "playgrounds": true,
	"doc": true, "docs": true, "website": true, "benchmark": true, "benchmarks": true, "bench": true,
	"k6": true, "loadtest": true, "loadtests": true, "load-test": true, "load-tests": true, "build-aux": true,
	"script": true, "scripts": true, "hack": true, "ci": true, "contrib": true, "tools": true, "tooling": true,
}

// generatedNames end the names of files that programs write.
var generatedNames = []string{
	".pb.go", "_pb2.py", "_pb2_grpc.py", ".pb.gw.go", "_generated.go", ".gen.go", ".g.cs", ".designer.cs", ".min.js", ".generated.ts", "_string.go",
}

// file is one tracked regular file below the root of the project.
type file struct {
	git.Entry
	language imports.Language // "" for what is of no known language
	test     bool
	foreign  bool // generated, vendored or test data
	covering []int
	owners   []int // elements, by index; several are a tie
}

// files are those of a project at one commit, with who owns them.
type files struct {
	all     []*file
	byPath  map[string]*file
	skipped []Skip
}

// project keeps the entries that belong to the project: below its root, and below no other stele.yaml.
func project(in *Input) []git.Entry {
	var nested []string
	for _, e := range in.Tree {
		if folder := path.Dir(e.Path); path.Base(e.Path) == config.RepositoryFile && folder != "." && folder != in.Root && below(folder, in.Root) {
			nested = append(nested, folder)
		}
	}
	var out []git.Entry
	for _, e := range in.Tree {
		if below(e.Path, in.Root) && !slices.ContainsFunc(nested, func(n string) bool { return below(e.Path, n) }) {
			out = append(out, e)
		}
	}
	return out
}

// below tells whether a path is inside a folder, "" being the top.
func below(p, folder string) bool {
	return folder == "" || p == folder || strings.HasPrefix(p, folder+"/")
}

// assign finds the owners of every file.
func assign(in *Input, el *elements, attributes *attributes) *files {
	patterns := make([]string, len(in.Bindings))
	for i, b := range in.Bindings {
		patterns[i] = b.Pattern
	}
	ownership := c4model.NewOwnership(patterns)
	out := &files{byPath: map[string]*file{}}
	submodules, links := 0, 0
	for _, e := range project(in) {
		switch e.Mode {
		case git.Submodule:
			submodules++
			continue
		case git.Symlink:
			links++
			continue
		case git.Regular, git.Executable, git.Folder: // folders are in no tree
		}
		f := &file{Entry: e, language: imports.LanguageOf(e.Path), test: imports.IsTest(e.Path), covering: ownership.Covering(e.Path)}
		named := in.Root // what a binding names itself is not foreign, whatever it is called
		for _, i := range ownership.Owners(e.Path) {
			if prefix := c4model.StaticPrefix(strings.TrimPrefix(in.Bindings[i].Pattern, "/")); below(e.Path, prefix) && len(prefix) > len(named) {
				named = prefix
			}
			if at, ok := el.byKey[c4model.FoldKey(in.Bindings[i].Element)]; ok && !slices.Contains(f.owners, at) {
				f.owners = append(f.owners, at)
			}
		}
		f.owners = el.deepest(f.owners)
		f.foreign = foreign(e.Path, named) || attributes.foreign(e.Path)
		out.all = append(out.all, f)
		out.byPath[e.Path] = f
	}
	if submodules > 0 {
		out.skipped = append(out.skipped, Skip{Count: submodules, Reason: "submodules, which are other repositories"})
	}
	if links > 0 {
		out.skipped = append(out.skipped, Skip{Count: links, Reason: "symbolic links"})
	}
	return out
}

// foreign tells by name that a file is not the project's own writing. Folders above the project's root say nothing.
func foreign(name, root string) bool {
	inside := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
	base := strings.ToLower(path.Base(name))
	return imports.IsForeign(inside) || slices.ContainsFunc(generatedNames, func(end string) bool { return strings.HasSuffix(base, end) })
}

// owner is the one element that owns a file, -1 when none or several do.
func (f *file) owner() int {
	if len(f.owners) == 1 {
		return f.owners[0]
	}
	return -1
}

// source tells whether the file is code that the project wrote.
func (f *file) source() bool { return imports.IsCode(f.language) && !f.foreign }

// attributes are what .gitattributes files say of generated and vendored files, as linguist reads them.
type attributes struct {
	rules []attributeRule
}

type attributeRule struct {
	folder, pattern string
	set             bool
}

// parseAttributes adds the rules of one .gitattributes file. Later rules win, and so do those of deeper folders; files must
// come parents first.
func (a *attributes) parse(name string, text []byte) {
	folder := path.Dir(name)
	if folder == "." {
		folder = ""
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		for _, attribute := range fields[1:] {
			name, value, valued := strings.Cut(strings.TrimPrefix(attribute, "-"), "=")
			if name != "linguist-generated" && name != "linguist-vendored" {
				continue
			}
			set := !strings.HasPrefix(attribute, "-") && (!valued || value == "true")
			if c4model.ValidPattern(fields[0]) {
				a.rules = append(a.rules, attributeRule{folder, fields[0], set})
			}
		}
	}
}

func (a *attributes) foreign(name string) bool {
	for _, r := range slices.Backward(a.rules) {
		if inside, ok := strings.CutPrefix(name, r.folder); ok && (r.folder == "" || strings.HasPrefix(inside, "/")) &&
			c4model.Matches(r.pattern, strings.TrimPrefix(inside, "/")) {
			return r.set
		}
	}
	return false
}
