package imports

import (
	"path"
	"slices"
	"strings"
)

// rustResolver knows the crates of the repository, and the file of each of their modules, by following mod from the files
// that crates begin in. Paths lead to the file of the longest module they name; what a module re-exports is not followed.
type rustResolver struct {
	repo     *repository
	packages map[string]*rustPackage
	// libraries are the crates that others use, by folder of their package.
	libraries map[string]*rustCrate
	// places are where a file is a module; one file may belong to several crates, and the library's is first.
	places   map[string][]rustPlace
	declared []ManifestDependency
}

// rustCrate is one crate: the files of its modules by path, "" being the root. Several files share a path where the platform
// chooses.
type rustCrate struct {
	pkg     *rustPackage
	root    string
	modules map[string][]string
	renamed map[string]string // crates that the root calls otherwise, for all modules: extern crate a as b
}

// rustPlace is a file as a module of a crate.
type rustPlace struct {
	crate *rustCrate
	path  []string
	owns  bool // whether its modules stand beside it: roots, mod.rs, and what #[path] names
}

func newRustResolver(repo *repository) resolver {
	r := &rustResolver{repo: repo, libraries: map[string]*rustCrate{}, places: map[string][]rustPlace{}}
	r.packages, r.declared = cargoPackages(repo)
	folders := make([]string, 0, len(r.packages))
	for folder := range r.packages {
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	for _, folder := range folders {
		p := r.packages[folder]
		for n, root := range p.roots {
			crate := &rustCrate{pkg: p, root: root, modules: map[string][]string{}, renamed: map[string]string{}}
			if n == 0 && p.hasLibrary {
				r.libraries[folder] = crate
			}
			r.follow(crate)
			for _, i := range repo.facts[root].Imports {
				if i.Kind == "" && i.Name != "" && !strings.Contains(i.Spec, "::") {
					crate.renamed[i.Name] = i.Spec
				}
			}
		}
	}
	return r
}

func (r *rustResolver) dependencies() []ManifestDependency { return r.declared }

// follow finds the modules of a crate.
func (r *rustResolver) follow(crate *rustCrate) {
	type found struct {
		file string
		rustPlace
	}
	queue := []found{{crate.root, rustPlace{crate: crate, owns: true}}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		key := strings.Join(at.path, "::")
		if slices.Contains(crate.modules[key], at.file) || len(at.path) > maxModuleDepth {
			continue
		}
		crate.modules[key] = append(crate.modules[key], at.file)
		r.places[at.file] = append(r.places[at.file], at.rustPlace)
		for _, i := range r.repo.facts[at.file].Imports {
			if i.Kind != Module {
				continue
			}
			if file := r.child(at.file, at.owns, i); file != "" {
				child := rustPlace{crate, slices.Concat(at.path, strings.Split(i.Spec, "::")), i.Name != "" || path.Base(file) == "mod.rs"}
				queue = append(queue, found{file, child})
			}
		}
	}
}

// maxModuleDepth bounds modules within each other, and ends a mod that leads back to itself.
const maxModuleDepth = 64

// child gives the file of mod a; "" where there is none.
func (r *rustResolver) child(file string, owns bool, i Import) string {
	folder := path.Dir(file)
	if !owns {
		folder = path.Join(folder, strings.TrimSuffix(path.Base(file), ".rs"))
	}
	segments := strings.Split(i.Spec, "::")
	inline, name := segments[:len(segments)-1], segments[len(segments)-1]
	if i.Name != "" {
		from := path.Dir(file)
		if len(inline) > 0 {
			from = path.Join(folder, path.Join(inline...))
		}
		if named, ok := joinInside(from, i.Name); ok && r.repo.isFile(named) {
			return named
		}
		return ""
	}
	base := path.Join(folder, path.Join(inline...), name)
	for _, candidate := range []string{base + ".rs", path.Join(base, "mod.rs")} {
		if r.repo.isFile(candidate) {
			return candidate
		}
	}
	return ""
}

func (r *rustResolver) resolve(file string, i Import) Resolution {
	places := r.places[file]
	if len(places) == 0 {
		place, ok := r.stray(file)
		if !ok {
			return unresolved("no crate of a Cargo.toml reaches %s by mod", file)
		}
		places = []rustPlace{place}
	}
	var first Resolution
	for n, place := range places {
		var resolution Resolution
		if i.Kind == Module {
			resolution = r.module(file, place, i)
		} else {
			resolution = r.path(file, place, i, 0)
		}
		if resolution.Verdict == Internal {
			return resolution
		}
		if n == 0 {
			first = resolution
		}
	}
	return first
}

// stray gives a place to a file that no mod reaches, such as one that a macro includes: by where it stands below a root.
func (r *rustResolver) stray(file string) (rustPlace, bool) {
	for _, folder := range ancestors(path.Dir(file)) {
		p, ok := r.packages[folder]
		if !ok {
			continue
		}
		for _, root := range p.roots {
			if rest, below := strings.CutPrefix(file, path.Dir(root)+"/"); below {
				segments := strings.Split(strings.TrimSuffix(strings.TrimSuffix(rest, ".rs"), "/mod"), "/")
				return rustPlace{r.places[root][0].crate, segments, path.Base(file) == "mod.rs"}, true
			}
		}
		return rustPlace{crate: &rustCrate{pkg: p, root: file, modules: map[string][]string{"": {file}}}, owns: true}, true
	}
	return rustPlace{}, false
}

func (r *rustResolver) module(file string, place rustPlace, i Import) Resolution {
	if child := r.child(file, place.owns, i); child != "" {
		return internal(child)
	}
	return unresolved("there is no file for mod %s (generated, or gone)", i.Spec)
}

// path resolves a path as seen from a place. hops counts the imports that were followed to learn what its first name is.
func (r *rustResolver) path(file string, place rustPlace, i Import, hops int) Resolution {
	segments := strings.Split(strings.TrimSuffix(i.Spec, "::*"), "::")
	first, rest := segments[0], segments[1:]
	switch first {
	case "crate":
		return place.crate.at(rest)
	case "self":
		return place.crate.at(slices.Concat(place.path, rest))
	case "super":
		base := place.path
		for len(segments) > 0 && segments[0] == "super" {
			if len(base) == 0 {
				return unresolved("%s leads out of the crate", i.Spec)
			}
			base, segments = base[:len(base)-1], segments[1:]
		}
		return place.crate.at(slices.Concat(base, segments))
	case "*":
		return internal(file)
	case "":
		if len(rest) == 0 {
			return unresolved("%s is no path", i.Spec)
		}
		first, rest = rest[0], rest[1:]
	default:
		if base, ok := r.local(place, first, i.Kind); ok {
			return place.crate.at(slices.Concat(base, segments))
		}
	}
	if resolution, ok := r.crate(place, first, rest); ok {
		return resolution
	}
	return r.inScope(file, place, i, first, hops)
}

// local looks for a module in the file's own module, or where the edition 2015 begins: at the root of the crate.
func (r *rustResolver) local(place rustPlace, first string, kind Kind) (base []string, ok bool) {
	if place.crate.pkg.edition == "2015" && kind != Path {
		return nil, len(place.crate.modules[first]) > 0
	}
	return place.path, len(place.crate.modules[strings.Join(slices.Concat(place.path, []string{first}), "::")]) > 0
}

// crate looks for a crate by its name in code.
func (r *rustResolver) crate(place rustPlace, first string, rest []string) (Resolution, bool) {
	pkg := place.crate.pkg
	if original, ok := place.crate.renamed[first]; ok {
		first = original
	}
	folder, local := pkg.crates[first]
	if !local && first == pkg.library && pkg.hasLibrary {
		folder, local = pkg.folder, true
	}
	switch {
	case local && r.libraries[folder] != nil:
		return r.libraries[folder].at(rest), true
	case local:
		return unresolved("%s is the package in %s, which has no library", first, folder), true
	case rustSystemCrates[first] || pkg.foreign[first]:
		return external(), true
	}
	return Resolution{}, false
}

// rustSystemCrates come with the compiler.
var rustSystemCrates = map[string]bool{"std": true, "core": true, "alloc": true, "proc_macro": true, "test": true}

// inScope follows a name that is neither module nor crate to the use that brings it. A type that no use brings is the file's.
func (r *rustResolver) inScope(file string, place rustPlace, i Import, first string, hops int) Resolution {
	const most = 4
	imports := r.repo.facts[file].Imports
	if hops >= most {
		imports = nil
	}
	for _, other := range imports {
		if other.Kind == Path || other.Kind == Module || other.Spec == i.Spec {
			continue
		}
		if base, glob := strings.CutSuffix(other.Spec, "::*"); glob {
			if r.inGlob(place, base, first) {
				other.Spec = base + "::" + first
				return r.path(file, place, other, hops+1)
			}
		} else if other.Name == first || other.Name == "" && strings.HasSuffix(other.Spec, "::"+first) {
			_, rest, _ := strings.Cut(i.Spec, "::")
			other.Spec = strings.TrimSuffix(other.Spec+"::"+rest, "::")
			return r.path(file, place, other, hops+1)
		}
	}
	if first != "" && first[0] >= 'A' && first[0] <= 'Z' {
		return internal(file)
	}
	return unresolved("%s is neither a crate of %s nor a module that can be seen from %s", first, place.crate.pkg.manifest, file)
}

// inGlob tells whether use base::* brings a module of that name.
func (r *rustResolver) inGlob(place rustPlace, base, name string) bool {
	segments := strings.Split(base, "::")
	at := place.path
	switch segments[0] {
	case "crate":
		at = nil
	case "self":
	case "super":
		for len(segments) > 1 && segments[1] == "super" && len(at) > 0 {
			at, segments = at[:len(at)-1], segments[1:]
		}
		if len(at) == 0 {
			return false
		}
		at = at[:len(at)-1]
	default: // a module beside it
		segments = slices.Concat([]string{"self"}, segments)
	}
	return len(place.crate.modules[strings.Join(slices.Concat(at, segments[1:], []string{name}), "::")]) > 0
}

// at gives the files of the longest module that a path names.
func (c *rustCrate) at(segments []string) Resolution {
	for n := len(segments); n >= 0; n-- {
		if files := c.modules[strings.Join(segments[:n], "::")]; len(files) > 0 {
			files = slices.Clone(files)
			slices.Sort(files)
			return internal(files...)
		}
	}
	return unresolved("the crate of %s has no root", c.root)
}
