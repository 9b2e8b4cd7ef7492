package bind

import (
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/drift/imports"
)

// sideFolders hold what is rarely meant by an element of the same name as something inside them.
var sideFolders = map[string]bool{
	"test": true, "tests": true, "__tests__": true, "spec": true, "specs": true, "e2e": true, "testing": true, "integration-tests": true,
	"example": true, "examples": true, "sample": true, "samples": true, "demo": true, "demos": true, "playground": true,
	"doc": true, "docs": true, "website": true, "script": true, "scripts": true, "benchmark": true, "benchmarks": true,
	"deploy": true, "deployment": true, "k8s": true, "helm": true, "charts": true, "terraform": true, "infra": true, "tasks": true, "plans": true, "specification": true,
}

// target is a folder or file that an element may be bound to.
type target struct {
	path  string
	file  bool
	twin  string // extension of the file beside a folder that bears its name: species.ex beside species/
	names []named
	count int // tracked files in it
	code  int // of them, code that is no test
	// languages of that code.
	languages map[imports.Language]int
	side      bool // in a folder of tests, examples or documents
	unit      bool // holds a manifest: it is built or deployed by itself
}

// named is a name that a target goes by.
type named struct {
	form
	because string // what says so, in words that follow "named like"
	kind    evidence
}

// evidence is a kind of name. Two kinds that agree are worth more than one.
type evidence int

const (
	byPath evidence = iota
	byManifest
	byCompose
	byTitle
)

// The qualities of what says a name.
const (
	ownName    = 1
	folderTail = 0.94 // the last folders together
	fileTail   = 0.9  // a folder and a file in it together
	titleName  = 0.9  // a title is written for people
)

// maxTail bounds how many parts of a path are read as one name: "internal/grpc/page/manager.go" as "page manager".
const maxTail = 3

// survey finds the folders and files of a project.
func survey(in Input) []*target {
	folders := map[string]*target{}
	files := map[string]*target{}
	var order []*target
	for _, name := range in.Files {
		inside := relative(in.Root, name)
		if imports.IsForeign(inside) {
			continue
		}
		language := imports.LanguageOf(name)
		code := imports.IsCode(language) && !imports.IsTest(name)
		for folder := path.Dir(inside); folder != "."; folder = path.Dir(folder) {
			t, ok := folders[folder]
			if !ok {
				t = &target{path: folder, languages: map[imports.Language]int{}, side: side(path.Dir(folder))}
				folders[folder] = t
				order = append(order, t)
			}
			t.count++
			if code {
				t.code++
				t.languages[language]++
			}
		}
		if !code {
			continue
		}
		stem := path.Join(path.Dir(inside), stemOf(inside))
		t, ok := files[stem]
		if !ok {
			t = &target{path: inside, file: true, languages: map[imports.Language]int{}, side: side(path.Dir(inside))}
			files[stem] = t
			order = append(order, t)
		} else {
			t.path = stem + ".*" // a header and its source, a component and its style
		}
		t.count++
		t.code++
		t.languages[language]++
	}
	order = slices.DeleteFunc(order, func(t *target) bool {
		stem := path.Join(path.Dir(t.path), stemOf(t.path))
		if !t.file || folders[stem] == nil || strings.HasSuffix(t.path, ".*") {
			return false
		}
		folders[stem].twin = t.path[len(stem):]
		return true
	})
	projects := in.prefixes()
	for _, t := range order {
		t.name(projects)
	}
	shared(folders)
	addManifests(in, folders, projects)
	slices.SortFunc(order, func(a, b *target) int { return strings.Compare(a.path, b.path) })
	return order
}

func relative(root, name string) string {
	if root == "" {
		return name
	}
	return strings.TrimPrefix(name, root+"/")
}

// stemOf is a file name up to its first dot that is not its first character.
func stemOf(name string) string {
	base := path.Base(name)
	if i := strings.IndexByte(base[1:], '.'); i >= 0 {
		return base[:i+1]
	}
	return base
}

// name gives a target the names that its path says.
func (t *target) name(projects [][]string) {
	base, tail := path.Base(t.path), folderTail
	because := "the folder"
	if t.file {
		base, tail, because = stemOf(t.path), fileTail, "the file"
	}
	t.add(words(base), projects, ownName, byPath, because)
	if i := strings.LastIndexByte(base, '.'); i > 0 && !t.file { // Company.Product.Api
		t.names = append(t.names, named{form{words(base[i+1:]), withoutProject}, because, byPath})
	}
	name, dir := words(base), path.Dir(t.path)
	const ending = "the end of the path"
	if dir != "." { // handler/token.go is the token handler
		t.names = append(t.names, named{form{append(slices.Clone(name), words(path.Base(dir))...), tail}, ending, byPath})
	}
	for range maxTail - 1 {
		if dir == "." {
			break
		}
		name = append(words(path.Base(dir)), name...)
		t.names = append(t.names, named{form{name, tail}, ending, byPath})
		dir = path.Dir(dir)
	}
}

func (t *target) add(name []string, projects [][]string, quality float64, kind evidence, because string) {
	for _, f := range spellings(name, projects, quality) {
		t.names = append(t.names, named{f, because, kind})
	}
}

// shared adds the names of folders without the first word that most of their siblings have too: fbs-api beside fbs-web and
// fbs-common is "api".
func shared(folders map[string]*target) {
	firsts := map[string]map[string]int{} // by parent folder
	siblings := map[string]int{}
	for _, t := range folders {
		dir := path.Dir(t.path)
		siblings[dir]++
		if w := words(path.Base(t.path)); len(w) > 1 {
			if firsts[dir] == nil {
				firsts[dir] = map[string]int{}
			}
			firsts[dir][w[0]]++
		}
	}
	for _, t := range folders {
		w, dir := words(path.Base(t.path)), path.Dir(t.path)
		const fewest = 2
		if n := firsts[dir]; len(w) > 1 && n[w[0]] >= fewest && 2*n[w[0]] >= siblings[dir] {
			t.add(w[1:], nil, withoutProject, byPath, "the folder")
		}
	}
}

func side(folder string) bool {
	for ; folder != "." && folder != "/"; folder = path.Dir(folder) {
		if sideFolders[strings.ToLower(path.Base(folder))] {
			return true
		}
	}
	return false
}

// below tells whether a path is a folder or inside it.
func below(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}
