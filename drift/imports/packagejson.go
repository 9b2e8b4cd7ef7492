package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml"
)

// npmPackage is what a package.json says, as far as it decides what an import means.
type npmPackage struct {
	folder       string
	manifest     string
	text         []byte
	name         string
	entries      []string          // files of import "name" by fields older than exports, the most telling first
	exports      any               // as decoded
	imports      map[string]any    // of #x, as decoded
	dependencies map[string]string // all kinds of them: name to version
	workspace    *npmWorkspace     // that it is a member of; nil for none
}

// npmWorkspace is a folder whose package manager links its member packages by name.
type npmWorkspace struct {
	folder  string
	members map[string]*npmPackage
}

// packageManifest is the part of package.json that is read. Fields of the wrong type are left out one by one.
type packageManifest map[string]json.RawMessage

func field[T any](m packageManifest, name string) (value T) {
	if raw, ok := m[name]; ok && json.Unmarshal(raw, &value) != nil {
		var none T
		return none
	}
	return value
}

// npmPackages reads every package.json outside node_modules, by folder.
func npmPackages(repo *repository) map[string]*npmPackage {
	packages := map[string]*npmPackage{}
	for _, file := range repo.named(func(base string) bool { return base == "package.json" }) {
		if strings.Contains("/"+file, "/node_modules/") {
			continue
		}
		text, ok := repo.manifest(file)
		if !ok {
			continue
		}
		var manifest packageManifest
		if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &manifest); err != nil {
			repo.skip(file, "it is no JSON object: "+err.Error())
			continue
		}
		p := &npmPackage{
			folder: path.Dir(file), manifest: file, text: text,
			name:    field[string](manifest, "name"),
			exports: field[any](manifest, "exports"),
			imports: field[map[string]any](manifest, "imports"),
		}
		for _, name := range []string{"source", "svelte", "types", "typings", "module", "main"} {
			if entry := field[string](manifest, name); entry != "" {
				p.entries = append(p.entries, entry)
			}
		}
		p.dependencies = map[string]string{}
		for _, kind := range []string{"peerDependencies", "optionalDependencies", "devDependencies", "dependencies"} {
			maps.Copy(p.dependencies, field[map[string]string](manifest, kind))
		}
		packages[p.folder] = p
	}
	for _, root := range slices.Sorted(maps.Keys(packages)) {
		joinWorkspace(packages, root, workspaceGlobs(repo, packages[root]))
	}
	// pnpm and lerna do not need a package.json at the root.
	for _, file := range repo.named(func(base string) bool { return base == "pnpm-workspace.yaml" }) {
		if folder := path.Dir(file); packages[folder] == nil {
			joinWorkspace(packages, folder, pnpmGlobs(repo, file))
		}
	}
	return packages
}

// workspaceGlobs gives the patterns of the folders of the members of a package's workspace; none for a package that is no
// root of one.
func workspaceGlobs(repo *repository, p *npmPackage) []string {
	if file := path.Join(p.folder, "pnpm-workspace.yaml"); repo.isFile(file) {
		return pnpmGlobs(repo, file)
	}
	var manifest packageManifest
	if json.Unmarshal(bytes.TrimPrefix(p.text, []byte("\xef\xbb\xbf")), &manifest) != nil {
		return nil
	}
	if globs := field[[]string](manifest, "workspaces"); len(globs) > 0 {
		return globs
	}
	if globs := field[struct{ Packages []string }](manifest, "workspaces").Packages; len(globs) > 0 { // yarn 1
		return globs
	}
	file := path.Join(p.folder, "lerna.json")
	if !repo.isFile(file) {
		return nil
	}
	text, ok := repo.manifest(file)
	if !ok {
		return nil
	}
	var lerna packageManifest
	if err := json.Unmarshal(plainJSON(text), &lerna); err != nil {
		repo.skip(file, "it is no JSON object: "+err.Error())
		return nil
	}
	if globs := field[[]string](lerna, "packages"); len(globs) > 0 {
		return globs
	}
	return []string{"packages/*"} // lerna's default
}

func pnpmGlobs(repo *repository, file string) []string {
	text, ok := repo.manifest(file)
	if !ok {
		return nil
	}
	var workspace struct {
		Packages []string `yaml:"packages"`
	}
	if err := yaml.Unmarshal(text, &workspace); err != nil {
		repo.skip(file, "its packages are no list of folders: "+err.Error())
		return nil
	}
	return workspace.Packages
}

// joinWorkspace makes the packages in the folders that match the patterns members of the workspace at root. A pattern with
// ! leaves out; the root is a member too.
func joinWorkspace(packages map[string]*npmPackage, root string, globs []string) {
	if len(globs) == 0 {
		return
	}
	workspace := &npmWorkspace{folder: root, members: map[string]*npmPackage{}}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		if !within(root, folder) {
			continue
		}
		p := packages[folder]
		relative := strings.TrimPrefix(strings.TrimPrefix(folder, root), "/")
		if root == "." {
			relative = folder
		}
		if folder != root && !matchesGlobs(globs, relative) {
			continue
		}
		if p.workspace == nil || len(root) > len(p.workspace.folder) {
			p.workspace = workspace
		}
		if p.name != "" && workspace.members[p.name] == nil {
			workspace.members[p.name] = p
		}
	}
}

func matchesGlobs(globs []string, folder string) bool {
	matched := false
	for _, glob := range globs {
		pattern, negated := strings.CutPrefix(glob, "!")
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		if ok, err := doublestar.Match(pattern, folder); err == nil && ok {
			matched = !negated
		}
	}
	return matched
}

// target is the folder of the same repository that a dependency names, by a path or as a member of the workspace.
func (p *npmPackage) target(packages map[string]*npmPackage, name string) *npmPackage {
	version, declared := p.dependencies[name]
	for _, protocol := range []string{"file:", "link:", "portal:"} {
		if folder, ok := strings.CutPrefix(version, protocol); ok {
			return packages[path.Join(p.folder, folder)]
		}
	}
	if declared && strings.HasPrefix(version, "npm:") { // another package under this name
		return nil
	}
	if p.workspace != nil {
		return p.workspace.members[name]
	}
	return nil
}

// line is the line of the manifest that declares the dependency; 0 if it cannot be told.
func (p *npmPackage) line(name string) int {
	quoted, err := json.Marshal(name)
	if err != nil {
		return 0
	}
	from := max(0, bytes.Index(p.text, []byte(`ependencies"`)))
	for pos := from; ; {
		i := bytes.Index(p.text[pos:], quoted)
		if i < 0 {
			return 0
		}
		pos += i + len(quoted)
		if bytes.HasPrefix(bytes.TrimLeft(p.text[pos:], " \t\r\n"), []byte(":")) {
			return bytes.Count(p.text[:pos], []byte{'\n'}) + 1
		}
	}
}

// manifestDependencies are the dependencies between packages of the repository.
func manifestDependencies(packages map[string]*npmPackage) []ManifestDependency {
	var out []ManifestDependency
	for _, p := range packages {
		for name := range p.dependencies {
			if to := p.target(packages, name); to != nil && to != p {
				out = append(out, ManifestDependency{Manifest: p.manifest, Line: p.line(name), From: p.folder, To: to.folder})
			}
		}
	}
	return out
}

// exported gives the files that exports or imports name for a key ("." or "./x", or "#x"), the most telling first.
func exported(table any, key string) []string {
	conditions, ok := table.(map[string]any)
	isTable := ok && slices.ContainsFunc(slices.Collect(maps.Keys(conditions)), func(k string) bool {
		return strings.HasPrefix(k, ".") || strings.HasPrefix(k, "#")
	})
	if !isTable { // a target for the package as a whole
		if key != "." {
			return nil
		}
		return exportTargets(table, "")
	}
	if target, ok := conditions[key]; ok {
		return exportTargets(target, "")
	}
	best, star := "", ""
	for pattern := range conditions {
		before, after, ok := strings.Cut(pattern, "*")
		if !ok && strings.HasSuffix(pattern, "/") { // a folder, as Node.js once had it
			before, ok = pattern, true
		}
		if ok && len(key) >= len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after) &&
			(len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, star = pattern, key[len(before):len(key)-len(after)]
		}
	}
	if best == "" {
		return nil
	}
	return exportTargets(conditions[best], star)
}

// conditionOrder has the conditions of exports that lead to sources before those that lead to what was built of them.
var conditionOrder = []string{"source", "development", "svelte", "types", "import", "module", "default", "require", "node", "browser"}

// exportTargets gives all targets of one entry, with star in the place of *.
func exportTargets(target any, star string) []string {
	switch target := target.(type) {
	case string:
		if strings.HasSuffix(target, "/") {
			target += star
		}
		return []string{strings.ReplaceAll(target, "*", star)}
	case []any:
		var out []string
		for _, t := range target {
			out = append(out, exportTargets(t, star)...)
		}
		return out
	case map[string]any:
		rank := func(condition string) int {
			if i := slices.Index(conditionOrder, condition); i >= 0 {
				return i
			}
			return 0 // a condition of the project's own, which mostly leads to its sources
		}
		conditions := slices.SortedFunc(maps.Keys(target), func(a, b string) int {
			return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
		})
		var out []string
		for _, condition := range conditions {
			out = append(out, exportTargets(target[condition], star)...)
		}
		return out
	}
	return nil
}
