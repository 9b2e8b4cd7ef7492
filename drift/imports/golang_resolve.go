package imports

import (
	"path"
	"slices"
	"strings"
)

// goResolver knows the modules of the repository by their go.mod, and finds packages by arithmetic on paths, as Go does.
type goResolver struct {
	repo    *repository
	modules []goModule      // longest folder first, so that the first that holds a file is its module
	known   []goReplacement // modules as every file sees them: without those of test data, where paths are invented
	uses    []ManifestDependency
}

// goModule is one go.mod.
type goModule struct {
	folder, path string
	replaced     []goReplacement // by folders of the repository
}

// goReplacement is replace path => folder.
type goReplacement struct {
	path, folder string
}

func newGoResolver(repo *repository) resolver {
	r := &goResolver{repo: repo}
	for _, manifest := range repo.named(func(base string) bool { return base == "go.mod" }) {
		text, ok := repo.manifest(manifest)
		if !ok {
			continue
		}
		module := goModule{folder: path.Dir(manifest)}
		for _, d := range goDirectives(string(text)) {
			switch {
			case d.verb == "module" && len(d.words) == 1:
				module.path = d.words[0]
			case d.verb == "replace":
				r.replace(manifest, d, &module)
			}
		}
		if module.path == "" {
			repo.skip(manifest, "it has no module line")
			continue
		}
		r.modules = append(r.modules, module)
	}
	for _, manifest := range repo.named(func(base string) bool { return base == "go.work" }) {
		r.workspace(manifest)
	}
	slices.SortStableFunc(r.modules, func(a, b goModule) int { return len(b.folder) - len(a.folder) })
	for _, m := range slices.Backward(r.modules) {
		if !slices.ContainsFunc(strings.Split(m.folder, "/"), func(f string) bool { return f == "testdata" || f == "vendor" }) {
			r.known = append(r.known, goReplacement{m.path, m.folder})
		}
	}
	return r
}

// replace notes replace path [version] => ./folder.
func (r *goResolver) replace(manifest string, d goDirective, module *goModule) {
	arrow := slices.Index(d.words, "=>")
	if arrow < 1 || arrow+1 >= len(d.words) || !isLocalPath(d.words[arrow+1]) {
		return
	}
	folder, inside := joinInside(path.Dir(manifest), d.words[arrow+1])
	if !inside || !r.repo.isFolder(folder) {
		return
	}
	module.replaced = append(module.replaced, goReplacement{d.words[0], folder})
	r.uses = append(r.uses, ManifestDependency{Manifest: manifest, Line: d.line, From: path.Dir(manifest), To: folder})
}

// workspace notes the use lines of a go.work. Its replacements count for each module that it uses.
func (r *goResolver) workspace(manifest string) {
	text, ok := r.repo.manifest(manifest)
	if !ok {
		return
	}
	var used []string
	var shared goModule
	for _, d := range goDirectives(string(text)) {
		switch {
		case d.verb == "use" && len(d.words) == 1:
			if folder, inside := joinInside(path.Dir(manifest), d.words[0]); inside {
				used = append(used, folder)
				if folder != path.Dir(manifest) {
					r.uses = append(r.uses, ManifestDependency{Manifest: manifest, Line: d.line, From: path.Dir(manifest), To: folder})
				}
			}
		case d.verb == "replace":
			r.replace(manifest, d, &shared)
		}
	}
	for i := range r.modules {
		if slices.Contains(used, r.modules[i].folder) {
			r.modules[i].replaced = append(r.modules[i].replaced, shared.replaced...)
		}
	}
}

func (r *goResolver) dependencies() []ManifestDependency { return r.uses }

func (r *goResolver) resolve(file string, i Import) Resolution {
	if strings.HasPrefix(i.Spec, "./") || strings.HasPrefix(i.Spec, "../") {
		folder, inside := joinInside(path.Dir(file), i.Spec)
		if !inside {
			return unresolved("%s leads out of the repository", i.Spec)
		}
		return r.pkg(folder, i.Spec)
	}
	own := r.moduleOf(file)
	if own != nil {
		if folder, ok := longestGoPrefix(own.replaced, i.Spec); ok {
			return r.pkg(folder, i.Spec)
		}
		if isBelow(i.Spec, own.path) && !slices.Contains(r.known, goReplacement{own.path, own.folder}) {
			return r.pkg(path.Join(own.folder, i.Spec[len(own.path):]), i.Spec)
		}
	}
	if folder, ok := longestGoPrefix(r.known, i.Spec); ok {
		return r.pkg(folder, i.Spec)
	}
	first, _, _ := strings.Cut(i.Spec, "/")
	if own == nil && strings.Contains(first, ".") {
		return unresolved("no go.mod above %s says which import paths are of this repository", file)
	}
	return external()
}

// moduleOf gives the module that a file belongs to; nil for none.
func (r *goResolver) moduleOf(file string) *goModule {
	for i := range r.modules {
		if within(r.modules[i].folder, file) {
			return &r.modules[i]
		}
	}
	return nil
}

// longestGoPrefix gives the folder of an import path below the longest of the modules' paths.
func longestGoPrefix(modules []goReplacement, spec string) (folder string, ok bool) {
	longest := -1
	for _, m := range modules {
		if len(m.path) > longest && isBelow(spec, m.path) {
			longest, folder, ok = len(m.path), path.Join(m.folder, spec[len(m.path):]), true
		}
	}
	return folder, ok
}

// isBelow tells whether an import path is that of the module or of a package in it.
func isBelow(spec, module string) bool {
	rest, ok := strings.CutPrefix(spec, module)
	return ok && (rest == "" || rest[0] == '/')
}

// pkg gives the files of the package in folder, without tests.
func (r *goResolver) pkg(folder, spec string) Resolution {
	var files []string
	for _, file := range r.repo.content[folder] {
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return unresolved("%s is a package of this repository, but %s holds no Go files (generated, or gone)", spec, folder)
	}
	return internal(files...)
}

// isLocalPath tells a folder from a module path, as go.mod does.
func isLocalPath(p string) bool {
	return p == "." || p == ".." || strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../")
}

// joinInside joins a relative path to a folder; false when it leads out of the repository or is absolute.
func joinInside(folder, relative string) (string, bool) {
	if path.IsAbs(relative) {
		return "", false
	}
	joined := path.Join(folder, relative)
	return joined, joined != ".." && !strings.HasPrefix(joined, "../")
}

// goDirective is one line of go.mod or go.work: in a block, with the verb of the block.
type goDirective struct {
	verb  string
	words []string // without quotes
	line  int
}

// goDirectives reads what go.mod and go.work share: a verb and words to a line, or verb ( and words to a line until ).
func goDirectives(text string) []goDirective {
	var out []goDirective
	block, number := "", 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		for i := range words {
			words[i] = strings.Trim(words[i], "\"`")
		}
		switch {
		case len(words) == 0:
		case block != "" && words[0] == ")":
			block = ""
		case block != "":
			out = append(out, goDirective{block, words, number})
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		case len(words) > 1:
			out = append(out, goDirective{words[0], words[1:], number})
		}
	}
	return out
}
