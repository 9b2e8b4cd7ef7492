package imports

import (
	"path"
	"slices"
	"strings"
)

// jvmResolver says what the imports of Java, Kotlin and Scala mean: they name packages and what is declared in them, whatever
// file that is in. What a file uses of its own package without an import is not seen.
type jvmResolver struct {
	facts    map[string]Facts
	packages map[string][]string // package to the files whose declarations are in it
	types    map[string][]string // package.Name to the files that declare it
	places   map[string]jvmPlace // of the files that are in either
	modules  *jvmModules
}

// jvmPlace is where a file stands among those that declare the same: what tells which of them another file means.
type jvmPlace struct {
	test         bool
	root, module string // see sourceRoot and jvmModules.of
}

func newJVMResolver(repo *repository) resolver {
	r := &jvmResolver{
		facts: repo.facts, packages: map[string][]string{}, types: map[string][]string{}, places: map[string]jvmPlace{}, modules: readJVMModules(repo),
	}
	for _, file := range repo.tree.Files() {
		facts, ok := repo.facts[file]
		if !ok || !isJVM(file) {
			continue
		}
		r.places[file] = jvmPlace{IsTest(file), sourceRoot(file), r.modules.of(file)}
		for _, name := range packagesOf(facts) {
			if !slices.ContainsFunc(facts.Packages, func(inner string) bool { return strings.HasPrefix(inner, name+".") }) {
				r.packages[name] = append(r.packages[name], file)
			}
			for _, declared := range declaredIn(file, facts) {
				key := qualified(name, declared)
				if known := r.types[key]; len(known) == 0 || known[len(known)-1] != file {
					r.types[key] = append(known, file)
				}
			}
		}
	}
	return r
}

func isJVM(file string) bool {
	language := LanguageOf(file)
	return language == Java || language == Kotlin || language == Scala
}

// packagesOf gives the packages of a file: the one without a name if it declares none.
func packagesOf(facts Facts) []string {
	if len(facts.Packages) == 0 {
		return []string{""}
	}
	return facts.Packages
}

// declaredIn gives the names that a file declares. The functions of x.kt are members of a class XKt for Java.
func declaredIn(file string, facts Facts) []string {
	name, ok := strings.CutSuffix(path.Base(file), ".kt")
	if !ok || name == "" {
		return facts.Types
	}
	return append(slices.Clone(facts.Types), strings.ToUpper(name[:1])+name[1:]+"Kt")
}

func qualified(pkg, name string) string {
	if pkg == "" {
		return name
	}
	return pkg + "." + name
}

func (r *jvmResolver) dependencies() []ManifestDependency { return r.modules.declared }

func (r *jvmResolver) resolve(file string, i Import) Resolution {
	spec, absolute := strings.CutPrefix(i.Spec, "_root_.")
	if LanguageOf(file) == Scala && !absolute {
		for _, candidate := range r.relative(file, i) {
			if files := r.find(file, candidate); len(files) > 0 {
				return internal(files...)
			}
		}
	}
	if files := r.find(file, spec); len(files) > 0 {
		return internal(files...)
	}
	return r.missing(spec)
}

// relative gives what an import of Scala may mean within its file, the innermost first: a name of the packages around it, or
// of an import above it.
func (r *jvmResolver) relative(file string, i Import) []string {
	facts := r.facts[file]
	var out []string
	for _, pkg := range slices.Backward(facts.Packages) {
		out = append(out, pkg+"."+i.Spec)
	}
	first, rest, dotted := strings.Cut(i.Spec, ".")
	if !dotted {
		return out
	}
	for _, above := range facts.Imports {
		if above.Line >= i.Line {
			break
		}
		if strings.HasSuffix(above.Spec, "."+first) {
			out = append(out, above.Spec+"."+rest)
			for _, pkg := range slices.Backward(facts.Packages) {
				out = append(out, pkg+"."+above.Spec+"."+rest)
			}
		}
	}
	return out
}

// find gives the files that a whole name means: all of a package for a.b.*, or that of the longest part of the name that
// is declared, since what follows are nested types and members.
func (r *jvmResolver) find(file, name string) []string {
	pkg, last := splitLast(name)
	if isWildcard(last) {
		if files := r.packages[pkg]; len(files) > 0 {
			return r.choose(file, prefer(files, func(f string) bool { return !r.places[f].test }))
		}
		name = pkg
	}
	for prefix := name; prefix != ""; prefix, _ = splitLast(prefix) {
		if files := r.types[prefix]; len(files) > 0 {
			return r.choose(file, files)
		}
	}
	// What a package object inherits is not seen; it is in the package object's file as far as one can tell.
	pkg, _ = splitLast(name)
	objects := slices.DeleteFunc(slices.Clone(r.packages[pkg]), func(f string) bool { return path.Base(f) != "package.scala" })
	if len(objects) == 0 {
		return nil
	}
	return r.choose(file, objects)
}

func isWildcard(name string) bool { return name == "*" || name == "_" || name == "given" }

// splitLast splits a.b.C into a.b and C.
func splitLast(name string) (before, last string) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return "", name
	}
	return name[:dot], name[dot+1:]
}

// missing says what a name means that no file declares. A package that is not of this repository is a library's; what lies in
// or below one that is may be generated, or a library's too.
func (r *jvmResolver) missing(name string) Resolution {
	for pkg, _ := splitLast(name); pkg != ""; pkg, _ = splitLast(pkg) {
		if len(r.packages[pkg]) > 0 && strings.Contains(pkg, ".") {
			return unresolved("package %s is in this repository, but no file declares %s", pkg, strings.TrimPrefix(name, pkg+"."))
		}
	}
	return external()
}

// choose gives, of files that declare the same, those that a file means: those of its own source folder or module before
// those of modules that it depends on, before all; and no tests unless there is nothing else.
func (r *jvmResolver) choose(file string, files []string) []string {
	if slices.Contains(files, file) {
		files = slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f == file })
	}
	if len(files) == 0 {
		return []string{file}
	}
	at := r.places[file]
	files = prefer(files, func(f string) bool { return at.test || !r.places[f].test })
	if len(files) == 1 {
		return files
	}
	for _, near := range []func(string) bool{
		func(f string) bool { return r.places[f].root == at.root },
		func(f string) bool { return r.places[f].module == at.module },
		func(f string) bool { return r.modules.direct[at.module][r.places[f].module] },
		func(f string) bool { return r.modules.reaches(at.module, r.places[f].module) },
	} {
		if chosen := prefer(files, near); len(chosen) < len(files) {
			return chosen
		}
	}
	return files
}

// prefer gives the files that have a quality, or all if none has.
func prefer(files []string, has func(string) bool) []string {
	var out []string
	for _, f := range files {
		if has(f) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return files
	}
	return out
}

// sourceRoot is the folder of a set of sources: src/main/java of src/main/java/com/acme/X.java, or the folder src/x.
func sourceRoot(file string) string {
	segments := strings.Split(file, "/")
	i := slices.Index(segments, "src")
	if i < 0 {
		return ""
	}
	return strings.Join(segments[:min(i+2, len(segments)-1)], "/")
}
