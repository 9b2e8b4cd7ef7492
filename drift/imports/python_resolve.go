package imports

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// pythonResolver finds modules as Python's path does. What the path is, is not written down in a repository; it is taken
// from where the importing file stands, from the manifests, and from where packages begin.
type pythonResolver struct {
	repo *repository
	// declared are the folders of each folder with a manifest in which its packages stand: "src", or what the manifest names.
	declared map[string][]string
	// roots are the folders of which manifests say that packages stand in them, sorted.
	roots []string
	// tops are the folders that packages and modules of a name begin in, by that name: the highest folder with __init__.py
	// whose parent has none.
	tops map[string][]string
	// required are the distributions that some manifest requires, in the normal form of names.
	required map[string]bool
}

func newPythonResolver(repo *repository) resolver {
	r := &pythonResolver{repo: repo, declared: map[string][]string{}, tops: map[string][]string{}, required: map[string]bool{}}
	for _, file := range repo.tree.Files() {
		folder, base := path.Dir(file), path.Base(file)
		switch {
		case base == "pyproject.toml" || base == "setup.cfg" || base == "setup.py":
			r.manifest(file, folder)
		case strings.HasPrefix(base, "requirements") && (strings.HasSuffix(base, ".txt") || strings.HasSuffix(base, ".in")):
			if text, ok := repo.manifest(file); ok {
				for line := range strings.Lines(string(text)) {
					r.require(line)
				}
			}
		case base == "__init__.py":
			if parent := path.Dir(folder); folder != "." && !r.isPackage(parent) {
				name := path.Base(folder)
				r.tops[name] = append(r.tops[name], parent)
			}
		}
	}
	for folder, declared := range r.declared {
		r.roots = append(r.roots, folder)
		r.roots = append(r.roots, declared...)
	}
	slices.Sort(r.roots)
	r.roots = slices.Compact(r.roots)
	return r
}

// dependencies are none: what a project of Python requires is named by distribution, not by folder.
func (r *pythonResolver) dependencies() []ManifestDependency { return nil }

func (r *pythonResolver) isPackage(folder string) bool {
	return folder != "." && (r.repo.isFile(path.Join(folder, "__init__.py")) || r.repo.isFile(path.Join(folder, "__init__.pyi")))
}

func (r *pythonResolver) resolve(file string, i Import) Resolution {
	name := strings.TrimLeft(i.Spec, ".")
	segments := strings.Split(name, ".")
	if level := len(i.Spec) - len(name); level > 0 {
		return r.relative(file, i, level, segments)
	}
	if isPythonStandard(segments) {
		return external()
	}
	folder := path.Dir(file)
	var broken *Resolution
	// First the folders above, as for a script beside its modules and for a package within its project.
	for _, above := range ancestors(folder) {
		for _, root := range append([]string{above}, r.declared[above]...) {
			if r.isPackage(root) {
				continue
			}
			if found, ok := r.within(root, segments, i.Name); ok && found.Verdict == Internal {
				return found
			} else if ok && broken == nil {
				broken = &found
			}
		}
	}
	// Then the other projects of the repository, and last wherever a package of that name begins.
	if found, ok := r.nearest(folder, r.roots, segments, i.Name); ok {
		return found
	}
	if !r.required[normalName(segments[0])] {
		if found, ok := r.nearest(folder, r.tops[segments[0]], segments, i.Name); ok {
			return found
		}
	}
	if broken != nil {
		return *broken
	}
	return external()
}

// nearest looks in the roots that share the longest part of their path with folder, and answers only if one is nearest.
func (r *pythonResolver) nearest(folder string, roots []string, segments []string, name string) (Resolution, bool) {
	var best Resolution
	shared, found := -1, false
	for _, root := range roots {
		resolution, ok := r.within(root, segments, name)
		if !ok || resolution.Verdict != Internal {
			continue
		}
		switch common := sharedFolders(folder, root); {
		case common > shared:
			best, shared, found = resolution, common, true
		case common == shared && !slices.Equal(best.Files, resolution.Files):
			best = unresolved("%s is in %s and elsewhere, and nothing says which is meant", strings.Join(segments, "."), root)
		}
	}
	return best, found
}

// sharedFolders counts the leading folders that two paths have in common.
func sharedFolders(a, b string) int {
	if a == "." || b == "." {
		return 0
	}
	n := 0
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return n
}

// relative resolves from ..a import b: each dot after the first is one package further up.
func (r *pythonResolver) relative(file string, i Import, level int, segments []string) Resolution {
	folder := path.Dir(file)
	for range level - 1 {
		if folder == "." {
			return unresolved("%s leads out of the repository", i.Spec)
		}
		folder = path.Dir(folder)
	}
	if segments[0] == "" {
		return r.member(folder, i.Spec, i.Name)
	}
	if found, ok := r.within(folder, segments, i.Name); ok {
		return found
	}
	return unresolved("there is no module %s in %s", strings.Join(segments, "."), folder)
}

// within looks for a module in a root; false where the root has nothing of that name. The first package with an
// __init__.py is the one: what it lacks is not looked for elsewhere. A folder without one counts only for the modules in it,
// since any folder may be called like a library.
func (r *pythonResolver) within(root string, segments []string, name string) (Resolution, bool) {
	at := root
	regular := false
	for n, segment := range segments {
		last := n == len(segments)-1
		next := path.Join(at, segment)
		switch {
		case r.isPackage(next):
			regular = true
		case r.module(next) != "":
			if last {
				return internal(r.module(next)), true
			}
			return unresolved("%s is a module and no package, so that there is no %s", r.module(next), strings.Join(segments, ".")), true
		case r.repo.isFolder(next):
		case regular:
			return unresolved("%s holds no %s (generated, or compiled)", at, strings.Join(segments[n:], ".")), true
		default:
			return Resolution{}, false
		}
		at = next
	}
	if r.isPackage(at) {
		return r.member(at, strings.Join(segments, "."), name), true
	}
	if name == "" || name == "*" {
		return unresolved("%s is a folder without __init__.py, and names no file", at), regular
	}
	found := r.member(at, strings.Join(segments, "."), name)
	return found, regular || found.Verdict == Internal
}

// member gives what name is in the package of folder: a module or package in it, or something that its __init__.py says.
func (r *pythonResolver) member(folder, spec, name string) Resolution {
	if name != "" && name != "*" {
		at := path.Join(folder, name)
		if init := r.init(at); init != "" {
			return internal(init)
		}
		if module := r.module(at); module != "" {
			return internal(module)
		}
	}
	if init := r.init(folder); init != "" {
		return r.passedOn(init, name)
	}
	return unresolved("%s has neither a module %s nor an __init__.py that could say it (%s)", folder, name, spec)
}

// maxPassedOn bounds how often a name is followed from one __init__.py to the next.
const maxPassedOn = 4

// passedOn follows a name that an __init__.py only imports to the module that says it. The import means that module, and
// passes the package on the way.
func (r *pythonResolver) passedOn(init, name string) Resolution {
	found := internal(init)
	if name == "" || name == "*" {
		return found
	}
	for at := init; len(found.Also) < maxPassedOn; {
		next := r.sourceOf(at, name)
		if next == "" || next == at || slices.Contains(found.Also, next) {
			break
		}
		found.Files, found.Also = []string{next}, append(found.Also, at)
		at = next
	}
	slices.Sort(found.Also)
	return found
}

// sourceOf gives the module that a package's __init__.py imports a name from; "" where it does not import it by that name.
func (r *pythonResolver) sourceOf(init, name string) string {
	if path.Base(init) != "__init__.py" && path.Base(init) != "__init__.pyi" {
		return ""
	}
	folder := path.Dir(init)
	for _, i := range r.repo.facts[init].Imports {
		if i.Name != name {
			continue
		}
		spec := strings.TrimLeft(i.Spec, ".")
		level, root, segments := len(i.Spec)-len(spec), folder, strings.Split(spec, ".")
		switch {
		case level > 0:
			for range level - 1 {
				root = path.Dir(root)
			}
		default: // by its whole name: the folder above the package's first one
			for r.isPackage(root) {
				root = path.Dir(root)
			}
		}
		at := path.Join(append([]string{root}, segments...)...)
		if module := r.module(at); module != "" {
			return module
		}
		if module := r.init(at); module != "" {
			return module
		}
	}
	return ""
}

func (r *pythonResolver) init(folder string) string { return r.module(path.Join(folder, "__init__")) }

// module gives the file of a module by its path without extension; "" for none.
func (r *pythonResolver) module(at string) string {
	for _, extension := range []string{".py", ".pyx", ".pyi"} {
		if r.repo.isFile(at + extension) {
			return at + extension
		}
	}
	return ""
}

// manifest reads where the packages of a project stand, and what it requires.
func (r *pythonResolver) manifest(file, folder string) {
	declare := func(relative string) {
		if declared, ok := joinInside(folder, relative); ok && declared != folder && r.repo.isFolder(declared) {
			r.declared[folder] = append(r.declared[folder], declared)
		}
	}
	if _, known := r.declared[folder]; !known {
		r.declared[folder] = nil
		if !r.isPackage(path.Join(folder, "src")) {
			declare("src")
		}
	}
	text, ok := r.repo.manifest(file)
	if !ok {
		return
	}
	switch path.Base(file) {
	case "pyproject.toml":
		document, err := parseTOML(string(text))
		if err != nil {
			r.repo.skip(file, err.Error())
		}
		r.pyproject(document, declare)
	case "setup.cfg":
		setupCfg(string(text), declare)
	case "setup.py":
		for _, root := range setupPyRoots(string(text)) {
			declare(root)
		}
	}
}

// pyproject reads setuptools, poetry, hatch and pdm; and the requirements of the standard table.
func (r *pythonResolver) pyproject(document tomlTable, declare func(string)) {
	setuptools := document.table("tool", "setuptools")
	directories := setuptools.table("package-dir")
	for _, name := range slices.Sorted(maps.Keys(directories)) {
		declare(directories.string(name))
	}
	for _, where := range setuptools.table("packages", "find").strings("where") {
		declare(where)
	}
	for _, entry := range document.table("tool", "poetry").list("packages") {
		if t, ok := entry.(tomlTable); ok {
			declare(t.string("from"))
		}
	}
	for _, p := range document.table("tool", "hatch", "build", "targets", "wheel").strings("packages") {
		declare(path.Dir(p))
	}
	declare(document.table("tool", "pdm", "build").string("package-dir"))
	for _, p := range document.table("tool", "pytest", "ini_options").strings("pythonpath") {
		declare(p)
	}
	for _, requirement := range document.table("project").strings("dependencies") {
		r.require(requirement)
	}
	for _, group := range document.table("project", "optional-dependencies") {
		for _, requirement := range tomlStrings(group) {
			r.require(requirement)
		}
	}
	for name := range document.table("tool", "poetry", "dependencies") {
		r.require(name)
	}
}

// setupCfg reads package_dir and where.
func setupCfg(text string, declare func(string)) {
	key := ""
	for line := range strings.Lines(text) {
		name, value, assigned := strings.Cut(line, "=")
		if assigned && line[0] != ' ' && line[0] != '\t' {
			key = strings.TrimSpace(name)
		} else if !assigned {
			value = line
		}
		switch key {
		case "package_dir", "package-dir":
			if indented := line[0] == ' ' || line[0] == '\t'; assigned && !indented {
				_, value, _ = strings.Cut(value, "=")
			}
			declare(strings.TrimSpace(value))
		case "where":
			declare(strings.TrimSpace(value))
		}
	}
}

// setupPyRoots gives the folders that package_dir and find_packages name by literals.
func setupPyRoots(text string) []string {
	var out []string
	s := pythonScanner{text: text, line: 1, fresh: true}
	state := "" // the word whose literals are folders
	for token := s.next(); token.kind != pythonEnd; token = s.next() {
		switch {
		case token.kind == pythonName && (token.text == "package_dir" || token.text == "find_packages" || token.text == "find_namespace_packages"):
			state = token.text
		case token.kind == pythonName && token.text != "where":
			state = ""
		case token.kind == pythonString && state != "" && token.text != "":
			out = append(out, token.text)
		case token.kind == ')' || token.kind == '}':
			state = ""
		}
	}
	return out
}

// require notes the distribution of a requirement: "requests[socks] >= 2 ; python_version < '3'".
func (r *pythonResolver) require(requirement string) {
	name := strings.TrimSpace(requirement)
	if end := strings.IndexFunc(name, func(c rune) bool {
		return c >= 0x80 || !isNameByte(byte(c)) && c != '-' && c != '.' //nolint:gosec // c is below 0x80
	}); end >= 0 {
		name = name[:end]
	}
	if name != "" {
		r.required[normalName(name)] = true
	}
}

// normalName is the form of PEP 503, with underscores, so that it compares with names of modules too.
func normalName(name string) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToLower(name))
}
