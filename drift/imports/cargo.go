package imports

import (
	"path"
	"slices"
	"strings"
)

// rustPackage is one Cargo.toml with a package.
type rustPackage struct {
	folder, manifest string
	name             string // of the package, as other manifests write it
	library          string // the name of its library in code
	edition          string
	roots            []string          // the files that crates begin in; the library's is first, if there is one
	hasLibrary       bool              // whether the first root is the library's
	crates           map[string]string // folders of the repository's packages that it depends on, by their names in its code
	foreign          map[string]bool   // names in its code of the crates that come from elsewhere
}

// cargoPackages reads every Cargo.toml of the repository, and gives the packages by folder with the dependencies among them.
func cargoPackages(repo *repository) (map[string]*rustPackage, []ManifestDependency) {
	documents := map[string]tomlTable{}
	texts := map[string]string{}
	packages := map[string]*rustPackage{}
	for _, manifest := range repo.named(func(base string) bool { return base == "Cargo.toml" }) {
		text, ok := repo.manifest(manifest)
		if !ok {
			continue
		}
		document, err := parseTOML(string(text))
		if err != nil {
			repo.skip(manifest, err.Error())
		}
		folder := path.Dir(manifest)
		documents[folder], texts[folder] = document, string(text)
		if name := document.table("package").string("name"); name != "" {
			packages[folder] = newRustPackage(repo, folder, name, document)
		}
	}
	c := cargo{documents: documents, packages: packages}
	var declared []ManifestDependency
	for folder, p := range packages {
		p.edition = c.edition(folder)
		for _, d := range c.dependencies(folder) {
			name := nameInCode(d.key)
			target, local := packages[d.folder]
			if !local {
				p.foreign[name] = true
				continue
			}
			if !d.renamed {
				name = target.library
			}
			p.crates[name] = d.folder
			declared = append(declared, ManifestDependency{
				Manifest: p.manifest, Line: cargoLine(texts[folder], d.key), From: folder, To: d.folder,
			})
		}
	}
	return packages, declared
}

// nameInCode gives the name that code writes for a package.
func nameInCode(key string) string { return strings.ReplaceAll(key, "-", "_") }

// newRustPackage finds the crates of a package: those of the standard layout, and those that the manifest names.
func newRustPackage(repo *repository, folder, name string, document tomlTable) *rustPackage {
	p := &rustPackage{
		folder: folder, manifest: path.Join(folder, "Cargo.toml"), name: name, library: nameInCode(name),
		crates: map[string]string{}, foreign: map[string]bool{},
	}
	root := func(relative string) bool {
		file := path.Join(folder, relative)
		if relative == "" || !repo.isFile(file) || slices.Contains(p.roots, file) {
			return false
		}
		p.roots = append(p.roots, file)
		return true
	}
	lib := document.table("lib")
	if lib.string("name") != "" {
		p.library = nameInCode(lib.string("name"))
	}
	p.hasLibrary = root(lib.string("path")) || root("src/lib.rs")
	root("src/main.rs")
	for _, kind := range []string{"bin", "example", "test", "bench"} {
		for _, target := range document.list(kind) {
			if t, ok := target.(tomlTable); ok {
				root(t.string("path"))
			}
		}
	}
	for _, place := range []string{"src/bin", "examples", "tests", "benches"} {
		for _, file := range repo.content[path.Join(folder, place)] {
			if path.Ext(file) == ".rs" {
				root(path.Join(place, path.Base(file)))
			}
		}
		for _, sub := range repo.folders[path.Join(folder, place)] {
			root(path.Join(place, path.Base(sub), "main.rs"))
		}
	}
	build := document.table("package").string("build")
	if build == "" {
		build = "build.rs"
	}
	root(build)
	return p
}

// cargo looks things up across the manifests of a repository.
type cargo struct {
	documents map[string]tomlTable // by folder
	packages  map[string]*rustPackage
}

// workspace gives the folder of the workspace that a package belongs to; its own where it belongs to none.
func (c cargo) workspace(folder string) string {
	if named := c.documents[folder].table("package").string("workspace"); named != "" {
		return path.Join(folder, named)
	}
	for _, above := range ancestors(folder) {
		if _, ok := c.documents[above]["workspace"]; ok {
			return above
		}
	}
	return folder
}

// edition gives the edition of a package; 2015 where it names none, as Cargo does.
func (c cargo) edition(folder string) string {
	pkg := c.documents[folder].table("package")
	if edition := pkg.string("edition"); edition != "" {
		return edition
	}
	if pkg.table("edition").isTrue("workspace") {
		return c.documents[c.workspace(folder)].table("workspace", "package").string("edition")
	}
	return "2015"
}

// cargoDependency is one line of a table of dependencies.
type cargoDependency struct {
	key     string
	folder  string // where the package is, if it is in the repository
	renamed bool   // whether the key is another name than the package's
}

// dependencies gives all dependencies of a package: ordinary, for tests, for building, and for single platforms.
func (c cargo) dependencies(folder string) []cargoDependency {
	document := c.documents[folder]
	scopes := []tomlTable{document}
	for _, target := range document.table("target") {
		if t, ok := target.(tomlTable); ok {
			scopes = append(scopes, t)
		}
	}
	var out []cargoDependency
	for _, scope := range scopes {
		for _, kind := range []string{"dependencies", "dev-dependencies", "build-dependencies", "dev_dependencies", "build_dependencies"} {
			for key, value := range scope.table(kind) {
				out = append(out, c.dependency(folder, key, value))
			}
		}
	}
	slices.SortFunc(out, func(a, b cargoDependency) int { return strings.Compare(a.key+"\x00"+a.folder, b.key+"\x00"+b.folder) })
	return out
}

func (c cargo) dependency(folder, key string, value any) cargoDependency {
	at := folder
	spec, _ := value.(tomlTable)
	if spec.isTrue("workspace") {
		at = c.workspace(folder)
		spec = c.documents[at].table("workspace", "dependencies").table(key)
	}
	name := key
	d := cargoDependency{key: key}
	if renamed := spec.string("package"); renamed != "" && renamed != key {
		name, d.renamed = renamed, true
	}
	if p := spec.string("path"); p != "" {
		d.folder, _ = joinInside(at, p)
		return d
	}
	// A version of a package of the same workspace: published from here, and replaced by [patch] when built here.
	for other, p := range c.packages {
		if p.name == name && c.workspace(other) == c.workspace(folder) && (d.folder == "" || other < d.folder) {
			d.folder = other
		}
	}
	return d
}

// cargoLine gives the line that names a dependency; 0 if it is written in some other way.
func cargoLine(text, key string) int {
	number := 0
	for line := range strings.Lines(text) {
		number++
		rest, ok := strings.CutPrefix(strings.Trim(strings.TrimSpace(line), "[]"), key)
		if _, table, nested := strings.Cut(strings.TrimSpace(line), "dependencies."+key+"]"); nested && table == "" {
			return number
		}
		if rest = strings.TrimSpace(rest); ok && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ".")) {
			return number
		}
	}
	return 0
}
