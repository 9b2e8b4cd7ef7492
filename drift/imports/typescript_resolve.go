package imports

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// typeScriptResolver says what the imports of TypeScript, JavaScript, Svelte and Vue mean: as the compiler and the bundlers
// do, but without installed packages and without anything that was built. Where they would find a built file of a package of
// the repository, it finds the source that the file is built of.
type typeScriptResolver struct {
	repo     *repository
	packages map[string]*npmPackage // by folder
	configs  map[string]*tsConfig   // by folder
	aliases  map[string][]alias     // of bundlers, by the folder of their configuration
}

func newTypeScriptResolver(repo *repository) resolver {
	r := &typeScriptResolver{repo: repo, packages: npmPackages(repo)}
	r.configs = readTSConfigs(repo, r.packages)
	r.aliases = bundlerAliases(repo)
	return r
}

func (r *typeScriptResolver) dependencies() []ManifestDependency {
	return append(manifestDependencies(r.packages), projectReferences(r.configs)...)
}

func (r *typeScriptResolver) resolve(file string, i Import) Resolution {
	found := r.meaning(file, i)
	if found.Verdict == Internal {
		found.Also = r.passedOn(found.Files)
	}
	return found
}

// maxBarrel bounds the files that one import is followed to over re-exports.
const maxBarrel = 64

// passedOn gives the files that barrel files re-export, over any number of them. Which of their names an import takes is not
// known, so they are what it may mean.
func (r *typeScriptResolver) passedOn(files []string) []string {
	var out []string
	for queue := slices.Clone(files); len(queue) > 0 && len(out) < maxBarrel; queue = queue[1:] {
		for _, i := range r.repo.facts[queue[0]].Imports {
			if i.Kind != Reexport {
				continue
			}
			for _, next := range r.meaning(queue[0], i).Files {
				if !slices.Contains(out, next) && !slices.Contains(files, next) {
					out, queue = append(out, next), append(queue, next)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// meaning finds the files that a specifier names, re-exports apart.
func (r *typeScriptResolver) meaning(file string, i Import) Resolution {
	spec := i.Spec
	if bang := strings.LastIndexByte(spec, '!'); bang >= 0 { // loaders of webpack: raw-loader!./x
		spec = spec[bang+1:]
	}
	if question := strings.IndexByte(spec, '?'); question > 0 { // of Vite: ./x.svg?url
		spec = spec[:question]
	}
	switch {
	case spec == "":
		return unresolved("the import names nothing")
	case spec == "." || spec == ".." || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../"):
		return r.relative(file, spec)
	case hasScheme(spec) || strings.HasPrefix(spec, "//"):
		return external()
	case strings.HasPrefix(spec, "/"):
		return r.rooted(file, spec)
	}
	if found := r.configured(file, spec); found != "" {
		return internal(found)
	}
	if strings.HasPrefix(spec, "#") {
		return r.subpathImport(file, spec)
	}
	return r.named(file, spec)
}

// relative resolves ./x and ../x.
func (r *typeScriptResolver) relative(file, spec string) Resolution {
	target := path.Join(path.Dir(file), spec)
	if target == ".." || strings.HasPrefix(target, "../") {
		return unresolved("%s leads out of the repository", spec)
	}
	if found := r.find(target); found != "" {
		return internal(found)
	}
	if config := r.config(file); config != nil {
		if found := r.virtual(config, target); found != "" {
			return internal(found)
		}
	}
	if p := r.packageOf(file); p != nil && within(p.folder, target) {
		if found := r.source(p, target); found != "" {
			return internal(found)
		}
	}
	switch {
	case isAsset(target), strings.HasPrefix(path.Base(target), "$types") && r.isSvelteKit(file): // written by SvelteKit
		return external()
	}
	return unresolved("no file is at %s", target)
}

// virtual looks a path up in the other folders that rootDirs lays over its own.
func (r *typeScriptResolver) virtual(config *tsConfig, target string) string {
	for _, dir := range config.rootDirs {
		if !within(dir, target) {
			continue
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(target, dir), "/")
		for _, other := range config.rootDirs {
			if found := r.find(path.Join(other, rest)); found != "" {
				return found
			}
		}
	}
	return ""
}

// rooted resolves /x, which bundlers look up below the package and in its folder of public files.
func (r *typeScriptResolver) rooted(file, spec string) Resolution {
	root := "."
	if p := r.packageOf(file); p != nil {
		root = p.folder
	}
	if found := r.configured(file, spec); found != "" {
		return internal(found)
	}
	for _, folder := range []string{root, path.Join(root, "public"), path.Join(root, "static")} {
		if found := r.find(path.Join(folder, spec)); found != "" {
			return internal(found)
		}
	}
	if isAsset(spec) {
		return external()
	}
	return unresolved("%s is neither below %s nor in a folder of public files", spec, root)
}

// config is the configuration of a file: that of the nearest folder above.
func (r *typeScriptResolver) config(file string) *tsConfig {
	for _, folder := range ancestors(path.Dir(file)) {
		if config := r.configs[folder]; config != nil {
			return config
		}
	}
	return nil
}

// configured resolves a specifier by paths and baseUrl of the nearest configuration, of the projects that it refers to and
// lie around the file, and then of the configurations further up; and by the aliases of bundlers.
func (r *typeScriptResolver) configured(file, spec string) string {
	for _, folder := range ancestors(path.Dir(file)) {
		config := r.configs[folder]
		if config != nil {
			for _, c := range append([]*tsConfig{config}, config.references...) {
				if !within(path.Dir(c.file), file) {
					continue
				}
				if found := r.mapped(c, spec); found != "" {
					return found
				}
			}
		}
		for _, a := range r.aliases[folder] {
			if target, ok := a.apply(spec); ok {
				if found := r.find(target); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

func (r *typeScriptResolver) mapped(c *tsConfig, spec string) string {
	for _, target := range c.candidates(spec) {
		if found := r.find(target); found != "" {
			return found
		}
		for _, folder := range ancestors(path.Dir(target)) { // paths that lead to what was built
			if p := r.packages[folder]; p != nil {
				if found := r.source(p, target); found != "" {
					return found
				}
				break
			}
		}
	}
	if c.baseURL == "" {
		return ""
	}
	return r.find(path.Join(c.baseURL, spec))
}

// packageOf is the package of a file: the nearest package.json above.
func (r *typeScriptResolver) packageOf(file string) *npmPackage {
	for _, folder := range ancestors(path.Dir(file)) {
		if p := r.packages[folder]; p != nil {
			return p
		}
	}
	return nil
}

// subpathImport resolves #x by the imports of the package.
func (r *typeScriptResolver) subpathImport(file, spec string) Resolution {
	p := r.packageOf(file)
	if p == nil || p.imports == nil {
		return unresolved("no package.json above %s has imports for %s", file, spec)
	}
	for _, target := range exported(p.imports, spec) {
		if !strings.HasPrefix(target, "./") {
			return r.named(file, target)
		}
		if found := r.entry(p, target); found != "" {
			return internal(found)
		}
	}
	return unresolved("the imports of %s name no tracked file for %s", p.manifest, spec)
}

// named resolves the name of a package, or of a file in one.
func (r *typeScriptResolver) named(file, spec string) Resolution {
	name, rest := splitPackage(spec)
	if nodeBuiltins[name] && r.declaring(file, name) == nil {
		return external()
	}
	importer := r.packageOf(file)
	if importer != nil && importer.name == name {
		return r.inPackage(importer, rest)
	}
	for _, folder := range ancestors(path.Dir(file)) {
		if p := r.packages[folder]; p != nil {
			if to := p.target(r.packages, name); to != nil {
				return r.inPackage(to, rest)
			}
			if _, declared := p.dependencies[name]; declared {
				return external()
			}
		}
	}
	if looksLikeAlias(spec) {
		return r.guess(file, spec)
	}
	if !isPackageName(name) {
		return unresolved("%s is no name of a package and no configuration names a file for it", spec)
	}
	if importer != nil && rest != "" {
		for _, folder := range []string{importer.folder, path.Join(importer.folder, "src")} {
			if found := r.find(path.Join(folder, spec)); found != "" {
				return unresolved("%s is in no package.json above; it may mean %s, but no configuration says so", name, found)
			}
		}
	}
	return external()
}

// declaring is the nearest package above a file that declares a dependency of that name.
func (r *typeScriptResolver) declaring(file, name string) *npmPackage {
	for _, folder := range ancestors(path.Dir(file)) {
		if p := r.packages[folder]; p != nil {
			if _, ok := p.dependencies[name]; ok {
				return p
			}
		}
	}
	return nil
}

// inPackage resolves import "name/rest" of a package of the repository, rest being "" or "x". A package is inside also if
// what is imported from it is not tracked: then it is the whole package that is meant.
func (r *typeScriptResolver) inPackage(p *npmPackage, rest string) Resolution {
	key := "."
	if rest != "" {
		key = "./" + rest
	}
	targets := exported(p.exports, key)
	if rest == "" {
		targets = append(targets, p.entries...)
	} else {
		targets = append(targets, rest, path.Join("src", rest))
	}
	for _, target := range targets {
		if found := r.entry(p, target); found != "" {
			return internal(found)
		}
	}
	for _, entry := range []string{"src/index", "index", "lib/index", "src/main", "src/lib/index", "src/" + path.Base(p.name)} {
		if found := r.findFile(path.Join(p.folder, entry)); found != "" {
			return internal(found)
		}
	}
	var files []string
	for _, folder := range []string{path.Join(p.folder, "src"), p.folder} {
		for _, file := range r.repo.content[folder] {
			if isScript(file) && !IsTest(file) {
				files = append(files, file)
			}
		}
		if len(files) > 0 {
			return internal(files...)
		}
	}
	return internal(p.manifest)
}

// entry finds the file that a package's manifest names, or the source it is built of.
func (r *typeScriptResolver) entry(p *npmPackage, target string) string {
	full := path.Join(p.folder, target)
	if found := r.find(full); found != "" {
		return found
	}
	return r.source(p, full)
}

// builtFolders are the names of folders whose content is built from sources, in one package of the npm registry or another.
var builtFolders = map[string]bool{
	"dist": true, "build": true, "out": true, "output": true, "lib": true, "es": true, "esm": true, "cjs": true, "umd": true,
	"types": true, "typings": true, "dts": true, "node": true, "browser": true, "modern": true, "legacy": true, "bundles": true,
	"commonjs": true, "module": true, "dev": true, "prod": true,
}

// source finds the source of a built file of a package that is not tracked: dist/esm/x.mjs is built of src/x.ts.
func (r *typeScriptResolver) source(p *npmPackage, built string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(built, p.folder), "/")
	if p.folder == "." {
		rest = built
	}
	segments := strings.Split(rest, "/")
	n := 0
	for n < len(segments)-1 && builtFolders[segments[n]] {
		n++
	}
	if n == 0 {
		return ""
	}
	rest = path.Join(segments[n:]...)
	for _, suffix := range []string{".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs", ".jsx"} {
		if stem, ok := strings.CutSuffix(rest, suffix); ok {
			rest = stem
			break
		}
	}
	stems := []string{rest}
	base, _, _ := strings.Cut(path.Base(rest), ".") // of x.esm, x.cjs.prod, x.min
	if plain := path.Join(path.Dir(rest), base); base != "" && plain != rest {
		stems = append(stems, plain)
	}
	if base != "" && (base == path.Base(p.folder) || base == path.Base(p.name)) { // the bundle of the package as a whole
		stems = append(stems, "index")
	}
	for _, stem := range stems {
		for _, folder := range []string{"src", ".", "lib", "source"} {
			full := path.Join(p.folder, folder, stem)
			for _, candidate := range []string{full, path.Join(full, "index")} {
				if found := r.findFile(candidate); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// scriptExtensions are tried in this order where an import names none.
var scriptExtensions = []string{
	".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte", ".d.mts", ".d.cts",
	".native.ts", ".native.tsx", ".web.ts", ".web.tsx", ".ios.tsx", ".ios.ts", ".android.tsx", ".native.js", ".web.js", ".ios.js",
}

// writtenFor has the sources that the extension of a built file may be written for.
var writtenFor = map[string][]string{
	".js":  {".ts", ".tsx", ".d.ts"},
	".jsx": {".tsx", ".ts", ".d.ts"},
	".mjs": {".mts", ".d.mts"},
	".cjs": {".cts", ".d.cts"},
}

// find gives the file at a path, with or without its extension, or the entry of the folder there; "" for none.
func (r *typeScriptResolver) find(target string) string {
	if found := r.findFile(target); found != "" {
		return found
	}
	if !r.repo.isFolder(target) {
		return ""
	}
	if p := r.packages[target]; p != nil {
		for _, entry := range append(exported(p.exports, "."), p.entries...) {
			full := path.Join(target, entry)
			if found := r.findFile(full); found != "" {
				return found
			}
			if found := r.findFile(path.Join(full, "index")); found != "" {
				return found
			}
			if found := r.source(p, full); found != "" {
				return found
			}
		}
	}
	return r.findFile(path.Join(target, "index"))
}

// findFile gives the file at a path, with or without its extension; "" for none.
func (r *typeScriptResolver) findFile(target string) string {
	extension := path.Ext(target)
	stem := strings.TrimSuffix(target, extension)
	for _, source := range writtenFor[extension] {
		if r.repo.isFile(stem + source) {
			return stem + source
		}
	}
	if r.repo.isFile(target) {
		return target
	}
	for _, extension := range scriptExtensions {
		if r.repo.isFile(target + extension) {
			return target + extension
		}
	}
	return ""
}

// projectReferences are the references between projects of TypeScript in different folders.
func projectReferences(configs map[string]*tsConfig) []ManifestDependency {
	var out []ManifestDependency
	for _, folder := range slices.Sorted(maps.Keys(configs)) {
		for _, to := range configs[folder].references {
			if target := path.Dir(to.file); target != folder && !within(folder, target) {
				out = append(out, ManifestDependency{Manifest: configs[folder].file, From: folder, To: target})
			}
		}
	}
	return out
}
