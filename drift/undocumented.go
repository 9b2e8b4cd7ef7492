package drift

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
)

// supporting languages are written beside a program: a folder of them alone is not code that a model leaves out, and they do
// not contradict what a technology says.
var supporting = map[imports.Language]bool{imports.Shell: true, imports.PowerShell: true}

// rootNames are folders that hold source code by convention; manifests make any other folder one.
var rootNames = map[string]bool{
	"src": true, "lib": true, "app": true, "apps": true, "cmd": true, "internal": true, "pkg": true, "packages": true, "services": true,
	"service": true, "modules": true, "libs": true, "crates": true, "source": true, "server": true, "client": true, "backend": true, "frontend": true,
}

// manifestNames make the folder they lie in a source root.
var manifestNames = map[string]bool{
	"go.mod": true, "go.work": true, "package.json": true, "pyproject.toml": true, "setup.py": true, "setup.cfg": true, "requirements.txt": true,
	"Cargo.toml": true, "pom.xml": true, "build.gradle": true, "build.gradle.kts": true, "settings.gradle": true, "settings.gradle.kts": true,
	"build.sbt": true, "composer.json": true, "Gemfile": true, "mix.exs": true, "CMakeLists.txt": true, "Package.swift": true,
}

func makesRoot(name string) bool {
	base := path.Base(name)
	return manifestNames[base] || strings.HasSuffix(base, ".csproj") || strings.HasSuffix(base, ".sln")
}

// folder counts the source files of a folder and of those in it.
type folder struct {
	name     string
	source   int // that an element may own
	owned    int
	children []string
}

// undocumented finds the highest folders of source code that no element owns.
func (ev *evaluation) undocumented() {
	roots := map[string]bool{}
	folders := map[string]*folder{}
	for _, f := range ev.fs.all {
		dir := parent(f.Path)
		if makesRoot(f.Path) && !f.foreign {
			roots[dir] = true
		}
		if !f.source() || supporting[f.language] {
			continue
		}
		if len(f.owners) == 0 && (!ev.expected(f) || ev.buildDefinition(f)) {
			continue
		}
		for at, child := dir, ""; ; at, child = parent(at), at {
			d := folders[at]
			if d == nil {
				d = &folder{name: at}
				folders[at] = d
			}
			d.source++
			if len(f.owners) > 0 {
				d.owned++
			}
			if child != "" && !slices.Contains(d.children, child) {
				d.children = append(d.children, child)
			}
			if at == ev.in.Root {
				break
			}
		}
	}
	if top := folders[ev.in.Root]; top != nil {
		ev.undocumentedIn(folders, roots, top, roots[ev.in.Root])
	}
}

// undocumentedIn walks down from a folder that has an owner somewhere, or is the project's root.
func (ev *evaluation) undocumentedIn(folders map[string]*folder, roots map[string]bool, d *folder, rooted bool) {
	slices.Sort(d.children)
	for _, name := range d.children {
		child := folders[name]
		inside := rooted || roots[name] || rootNames[strings.ToLower(path.Base(name))]
		if child.owned > 0 || !inside {
			ev.undocumentedIn(folders, roots, child, inside)
			continue
		}
		first := ev.firstSource(name)
		ev.checks = append(ev.checks, check{element: -1, weight: directoryWeight, vanishes: true, finding: &Finding{
			Check: UndocumentedCode, Subject: name, File: first,
			Message: fmt.Sprintf("no element of the model owns %s (%s)", name, times(child.source, "source file")),
		}})
	}
}

// firstSource gives the first source file of a folder, as a place to look at.
func (ev *evaluation) firstSource(name string) string {
	for _, f := range ev.fs.all {
		if f.source() && !f.test && !supporting[f.language] && ev.expected(f) && below(f.Path, name) {
			return f.Path
		}
	}
	return name
}

// expected tells whether a model should own a file: one that it leaves out is an omission.
func (ev *evaluation) expected(f *file) bool {
	return !f.test && !declaration(f.Path) && !side(f.Path, ev.in.Root) && !ev.ignored(f.Path)
}

// buildDefinition tells whether a file is of the project folder of sbt, which is written in Scala and builds the rest.
func (ev *evaluation) buildDefinition(f *file) bool {
	at := strings.LastIndex("/"+f.Path, "/project/")
	if at < 0 {
		return false
	}
	_, ok := ev.fs.byPath[path.Join(f.Path[:at], "build.sbt")]
	return ok
}

// declaration tells whether a file only declares types of code that is elsewhere.
func declaration(name string) bool {
	return strings.HasSuffix(name, ".pyi") || strings.HasSuffix(name, ".d.ts")
}

func (ev *evaluation) ignored(name string) bool {
	return slices.ContainsFunc(ev.in.Ignore, func(glob string) bool { return c4model.Matches(glob, name) })
}

// side tells whether a file lies in a folder for tests, examples, documents or scripts. Below src/main, folders say nothing,
// since there they are names of packages.
func side(name, root string) bool {
	inside := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
	if main := strings.Index("/"+inside, "/src/main/"); main >= 0 {
		inside = inside[:main] + "src"
	}
	for at := path.Dir(inside); at != "."; at = path.Dir(at) {
		base := strings.ToLower(path.Base(at))
		if sideFolders[base] || strings.HasSuffix(base, "-tests") || strings.HasSuffix(base, "_tests") {
			return true
		}
	}
	return false
}

// parent is the folder of a path, "" at the top.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return ""
}
