package imports

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ManifestDependency is a dependency on a folder of the same repository that a manifest declares, whether or not a file
// imports it: go.mod's replace, Cargo's path, a project reference, a workspace package.
type ManifestDependency struct {
	Manifest string // path of the manifest
	Line     int    // 1-based; 0 where the manifest's reader keeps no lines
	From, To string // folders of the dependent and of what it depends on; "." is the root
}

// Unread is a manifest that could not be used. What it would have said is missing from the answers.
type Unread struct {
	Path   string
	Reason string
}

// A resolver says what imports of one family of languages mean. It is complete when made and safe for concurrent use.
type resolver interface {
	// resolve is called with the imports of files of the family only.
	resolve(file string, i Import) Resolution
	// dependencies gives the local dependencies of the family's manifests, in any order.
	dependencies() []ManifestDependency
}

// Family names the languages that import each other.
type Family string

// The families.
const (
	GoFamily         Family = "Go"
	PythonFamily     Family = "Python"
	RustFamily       Family = "Rust"
	DotNetFamily     Family = ".NET"
	JavaScriptFamily Family = "JavaScript"
	JVMFamily        Family = "JVM"
)

var families = []struct {
	name      Family
	languages []Language
	make      func(repo *repository) resolver
}{
	{GoFamily, []Language{Go}, newGoResolver},
	{PythonFamily, []Language{Python}, newPythonResolver},
	{RustFamily, []Language{Rust}, newRustResolver},
	{DotNetFamily, []Language{CSharp}, newCSharpResolver},
	{JavaScriptFamily, []Language{TypeScript, JavaScript, Svelte, Vue}, newTypeScriptResolver},
	{JVMFamily, []Language{Java, Kotlin, Scala}, newJVMResolver},
}

// FamilyOf gives the family of a language; "" for one whose imports are not resolved.
func FamilyOf(language Language) Family {
	for _, f := range families {
		if slices.Contains(f.languages, language) {
			return f.name
		}
	}
	return ""
}

// Resolver says what the imports of one commit mean. It is safe for concurrent use.
type Resolver struct {
	byLanguage   map[Language]resolver
	declarations []ManifestDependency
	unread       []Unread
}

// NewResolver reads the manifests of tree. facts are those of every extractable file, by path. The only error is that of a
// context that ended; a manifest that cannot be used is told by Unread.
func NewResolver(ctx context.Context, tree Tree, facts map[string]Facts) (*Resolver, error) {
	repo := newRepository(tree, facts)
	r := &Resolver{byLanguage: map[Language]resolver{}}
	for _, f := range families {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		made := f.make(repo)
		for _, language := range f.languages {
			r.byLanguage[language] = made
		}
		r.declarations = append(r.declarations, made.dependencies()...)
	}
	slices.SortFunc(r.declarations, compareDependencies)
	r.declarations = slices.Compact(r.declarations)
	slices.SortFunc(repo.unread, func(a, b Unread) int { return strings.Compare(a.Path, b.Path) })
	r.unread = slices.Compact(repo.unread)
	return r, nil
}

// Resolve says what an import of file means, file being a path of the tree and i one of its facts.
func (r *Resolver) Resolve(file string, i Import) Resolution {
	language := LanguageOf(file)
	family, ok := r.byLanguage[language]
	if !ok {
		return unresolved("imports of %s are not resolved", language)
	}
	return family.resolve(file, i)
}

// Dependencies are the dependencies between folders of the repository that its manifests declare, sorted by manifest,
// line and folders. They are evidence beside the imports.
func (r *Resolver) Dependencies() []ManifestDependency { return r.declarations }

// Unread are the manifests that could not be used, sorted by path.
func (r *Resolver) Unread() []Unread { return r.unread }

func internal(files ...string) Resolution { return Resolution{Verdict: Internal, Files: files} }

func external() Resolution { return Resolution{Verdict: External} }

func unresolved(format string, args ...any) Resolution {
	return Resolution{Verdict: Unresolved, Reason: fmt.Sprintf(format, args...)}
}

func compareDependencies(a, b ManifestDependency) int {
	return cmp.Or(
		strings.Compare(a.Manifest, b.Manifest), a.Line-b.Line, strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
}

// repository is the tree with the look-ups that resolvers share. Paths are slash-separated, and the root folder is ".".
type repository struct {
	tree    Tree
	facts   map[string]Facts
	present map[string]bool     // files
	content map[string][]string // files directly in a folder, as paths, sorted; folders that only hold folders have none
	folders map[string][]string // folders directly in a folder, as paths, in the order of their first files
	unread  []Unread
}

func newRepository(tree Tree, facts map[string]Facts) *repository {
	repo := &repository{tree: tree, facts: facts, present: map[string]bool{}, content: map[string][]string{}, folders: map[string][]string{}}
	for _, file := range tree.Files() {
		repo.present[file] = true
		folder := path.Dir(file)
		repo.enter(folder)
		repo.content[folder] = append(repo.content[folder], file)
	}
	return repo
}

// enter makes a folder and those above it known.
func (r *repository) enter(folder string) {
	for {
		if _, known := r.content[folder]; known {
			return
		}
		r.content[folder] = nil
		if folder == "." || folder == "/" {
			return
		}
		parent := path.Dir(folder)
		r.folders[parent] = append(r.folders[parent], folder)
		folder = parent
	}
}

// isFile tells whether file is tracked.
func (r *repository) isFile(file string) bool { return r.present[file] }

// isFolder tells whether a tracked file is in or below folder.
func (r *repository) isFolder(folder string) bool {
	_, known := r.content[folder]
	return known
}

// named gives the files of that base name, sorted.
func (r *repository) named(match func(base string) bool) []string {
	var out []string
	for _, file := range r.tree.Files() {
		if match(path.Base(file)) {
			out = append(out, file)
		}
	}
	return out
}

// manifest reads a manifest; false for one that cannot be read, which is remembered as unread.
func (r *repository) manifest(file string) ([]byte, bool) {
	text, err := r.tree.Read(file)
	if err != nil {
		r.skip(file, err.Error())
		return nil, false
	}
	return text, true
}

// skip remembers that a manifest could not be used, and why.
func (r *repository) skip(file, reason string) {
	r.unread = append(r.unread, Unread{Path: file, Reason: reason})
}

// within tells whether a path is folder or below it.
func within(folder, p string) bool {
	return folder == "." || p == folder || strings.HasPrefix(p, folder+"/")
}

// ancestors gives folder and every folder above it, nearest first, ending with ".".
func ancestors(folder string) []string {
	out := []string{folder}
	for folder != "." && folder != "/" {
		folder = path.Dir(folder)
		out = append(out, folder)
	}
	return out
}
